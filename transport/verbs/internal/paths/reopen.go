package paths

import (
	"errors"
	"fmt"

	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/pool"
	"lapi/transport/verbs/internal/wire"
)

// An adapter that is gone may be there again: its driver has begun anew after a fault, or the card
// was plugged in again. Then the port is opened again, in its old place. For peers it is somewhere
// else now: another datagram queue pair, maybe another GID. Each Hello says where the port is that
// it comes from; and a packet, kindPlace, says so once to each peer, who may be the first to want a
// queue pair there. Nothing else of the port lasts: keys, registrations, queue pairs are made anew.

// Look looks for the adapters that are gone, each after a pause.
func (s *Set) Look(now int64) {
	for _, pt := range s.ports {
		if s.isSought(pt) && now >= pt.lookAt {
			s.reopen(pt, now)
		}
	}
}

// isSought says whether pt's adapter is looked for.
func (s *Set) isSought(pt *Port) bool { return s.cfg.Reopen != nil && pt.state == Gone }

// reopen opens pt again if its adapter is there.
func (s *Set) reopen(pt *Port, now int64) {
	lost, all := s.lostSlots(pt)
	if len(pt.pairs) > 0 || !all {
		if pt.works {
			pt.lookAt = now + reopenSoon
		}
		return
	}
	pt.lookAt = now + pt.pause
	pt.pause = min(2*pt.pause, reopenLast)
	if pt.works {
		pt.works = false
		defer s.die()
	}
	a, err := s.cfg.Reopen(pt.index)
	if err != nil {
		s.release(pt, lost)
		return
	}
	fresh, regions, err := s.openAgain(pt, a)
	if err != nil {
		s.refuse(pt, err)
		return
	}
	s.dispose(pt)
	s.putLost(lost)
	s.replace(pt, fresh, regions)
	s.announce(pt)
}

// refuse says why an adapter that is there again is not used, if that was not said before.
func (s *Set) refuse(pt *Port, why error) {
	if text := why.Error(); text != pt.refused && s.cfg.Changed != nil {
		pt.refused = text
		s.cfg.Changed(Change{Index: pt.index, Name: pt.info.Name, State: pt.state,
			Refused: why})
	}
}

// lostSlots lists the receive buffers that went down with pt's adapter. False: it had others, which
// handlers look at just now.
func (s *Set) lostSlots(pt *Port) (lost []int32, all bool) {
	used := s.used()
	for slot, holder := range s.slots.holder {
		if holder == pt.holder() && !used[slot] {
			lost = append(lost, int32(slot))
		}
	}
	return lost, len(lost) == int(pt.Receives)
}

// used marks the slots that no adapter receives into.
func (s *Set) used() []bool {
	used := make([]bool, len(s.slots.holder))
	for _, slot := range s.slots.free[:*s.slots.n] {
		used[slot] = true
	}
	s.link.Sending(used)
	return used
}

// Claim takes receive buffers from the adapters whose completions are lost: wanted says of each buffer
// that an adapter has whether it is one.
func (s *Set) Claim(wanted func(slot int32) bool) {
	used := s.used()
	for slot, holder := range s.slots.holder {
		if holder > 0 && int(holder) <= len(s.ports) && !used[slot] && wanted(int32(slot)) {
			s.slots.holder[slot] = 0
			s.ports[holder-1].Receives--
		}
	}
}

// Discard gives a buffer back whose content is of no use, so that it is not claimed later.
func (s *Set) Discard(slot int32) {
	clear(s.slots.bytes(slot)[:wire.HeadSize])
	s.slots.put(slot)
}

// openAgain makes the queues of a, which is closed if that fails, and registers the slots. The
// result is a port only as far as the adapter goes.
func (s *Set) openAgain(pt *Port, a ibv.Device) (*Port, []ibv.Region, error) {
	fresh := &Port{set: s, index: pt.index, VerbsPort: new(layout.VerbsPort)}
	fresh.use(a)
	var regions []ibv.Region
	err := fresh.allocate()
	if err == nil {
		regions, err = s.slots.registerWith(fresh)
	}
	if err == nil {
		err = fresh.startAgain(pt)
	}
	if err != nil {
		for _, r := range regions {
			if r != (ibv.Region{}) { // of a chunk that was given back
				_ = a.DeregMR(r.MR)
			}
		}
		return nil, nil, errors.Join(err, fresh.close())
	}
	return fresh, regions, nil
}

// startAgain makes the queues of a port that is to take another's place.
func (pt *Port) startAgain(old *Port) error {
	if _, ok := pt.adapter.(Native); old.Cq != 0 && !ok {
		return ibv.ErrGone
	}
	if pt.info.MaxMessage < old.info.MaxMessage { // pieces were cut for that
		return fmt.Errorf("verbs: it moves %d bytes at once, and moved %d", pt.info.MaxMessage,
			old.info.MaxMessage)
	}
	var err error
	pt.place, err = pt.open()
	return err
}

// dispose ends all that there was with pt's adapter. Its queue pairs are gone.
func (s *Set) dispose(pt *Port) {
	i := pt.index
	s.link.Disposed(pt)
	for k := range s.slots.chunks {
		if r := &s.slots.chunks[k].regions[i]; *r != (ibv.Region{}) {
			_ = pt.adapter.DeregMR(r.MR)
			*r = ibv.Region{}
		}
	}
	s.unwatch(pt)
	_ = pt.close() // the kernel may say once more that it is gone
}

// replace has pt be over the adapter that fresh has opened.
func (s *Set) replace(pt, fresh *Port, regions []ibv.Region) {
	pt.adapter, pt.info = fresh.adapter, fresh.info
	pt.pd, pt.cq, pt.srq, pt.ud, pt.qkey = fresh.pd, fresh.cq, fresh.srq, fresh.ud, fresh.qkey
	pt.small, pt.revived = fresh.small, 0
	pt.buffers = pool.New(fresh.buffers.Limit(), pt.buffers.Wanted())
	pt.place, pt.refused, pt.kept = fresh.place, "", nil
	pt.small.ports = []*Port{pt}
	*pt.VerbsPort = layout.VerbsPort{Cq: fresh.Cq, Srq: fresh.Srq, Index: pt.Index,
		MaxInline: uint32(max(pt.info.MaxInline, 0))}
	pt.resize()
	for k, r := range regions {
		s.slots.chunks[k].regions[pt.index] = r
		s.cfg.Shared.Chunks[k].Lkey[pt.index] = r.Local
	}
	s.watch(pt)
	s.link.Replaced(pt)
}

// announce: pt is up again, somewhere else. All peers are to learn that.
func (s *Set) announce(pt *Port) {
	pt.place.Opened = s.places[pt.index].Opened + 1
	s.places[pt.index] = pt.place
	s.reopened |= 1 << pt.index
	s.dead = false
	s.link.MovedElsewhere(pt.index)
	s.turn(pt, Up)
}

// NextLook is when Look is to be called, not before at; 0: never.
func (s *Set) NextLook(at int64) (due int64) {
	for _, pt := range s.ports {
		look := max(pt.lookAt, at, 1)
		if pt.works {
			look = pt.lookAt
		}
		if s.isSought(pt) && (due == 0 || look < due) {
			due = look
		}
	}
	return due
}
