package paths

import (
	"fmt"

	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/wire"
)

// An adapter that is gone may be there again: its driver has begun anew after a fault, or the card
// was plugged in again. Then the port is opened again, in its old place. For peers it is somewhere
// else now: another datagram queue pair, maybe another GID. Each Hello says where the port is that
// it comes from; and the owner lets all peers know (Link.MovedElsewhere), since all that a peer knows
// of this task may be where its only port was. Nothing else of the port lasts: keys, registrations,
// queue pairs are made anew.
//
// An adapter that the kernel takes away may not go, nor come back, before the last process has closed
// it: soft-RoCE's driver waits for that. So what the port had is given back before the adapter is
// looked for.

// Look looks for the adapters that are gone, each after a pause.
func (s *Set) Look(now int64) {
	for _, pt := range s.ports {
		if s.isSought(pt) && now >= pt.lookAt {
			s.reopen(pt, now)
		}
	}
}

// isSought says whether pt's adapter is looked for.
func (s *Set) isSought(pt *Port) bool { return s.cfg.Reopen != nil && pt.gone() }

// reopen opens pt again if its adapter is there.
func (s *Set) reopen(pt *Port, now int64) {
	if pt.state != released && !s.release(pt) {
		if pt.state == failed {
			pt.lookAt = now + reopenSoon
		}
		return
	}
	pt.lookAt = now + pt.pause
	if pt.looks++; pt.looks >= looksMax {
		pt.pause = min(2*pt.pause, reopenLast)
	}
	a, err := s.cfg.Reopen(pt.index)
	if err == nil {
		if err = s.openAgain(pt, a); err != nil {
			s.refuse(pt, err)
		}
	}
	if err != nil {
		s.die()
	}
}

// refuse says why an adapter that is there again is not used, if that was not said before.
func (s *Set) refuse(pt *Port, why error) {
	if text := why.Error(); text != pt.refused && s.cfg.Changed != nil {
		pt.refused = text
		s.cfg.Changed(Change{Index: pt.index, Name: pt.info.Name, State: Gone, Refused: why})
	}
}

// release gives back what pt had of its adapter. False: not yet, as it has queue pairs, or handlers
// look at its receive buffers.
func (s *Set) release(pt *Port) bool {
	lost, all := s.lostSlots(pt)
	if len(pt.pairs) > 0 || !all {
		return false
	}
	s.link.Disposed(pt)
	s.unwatch(pt)
	s.empty(pt)
	for _, slot := range lost {
		if s.slots.holder[slot] = 0; !s.link.Claim(slot) {
			s.slots.put(slot)
		}
	}
	return true
}

// empty closes pt's adapter, with all that pt has of it.
func (s *Set) empty(pt *Port) {
	s.slots.leave(pt)
	_ = pt.close() // the kernel may say once more that it is gone
	pt.step(emptied)
	pt.pd, pt.cq, pt.srq, pt.ud, pt.revived = 0, 0, 0, 0, 0
	pt.small, pt.kept = slots{}, nil
	*pt.VerbsPort = layout.VerbsPort{Index: pt.Index, Most: pt.Most}
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

// Claim takes receive buffers from the adapters whose completions are lost: wanted says of each
// buffer that an adapter has whether to take it.
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

// openAgain has pt, which is released, be over a, and lets all know; a is closed if that fails.
func (s *Set) openAgain(pt *Port, a ibv.Device) error {
	before := pt.info
	pt.use(a)
	pt.step(reopened)
	err := pt.replaces(before)
	if err == nil {
		err = pt.allocate()
	}
	if err == nil {
		err = s.slots.registerWith(pt)
	}
	var at wire.Place
	if err == nil {
		at, err = pt.open()
	}
	if err != nil {
		pt.step(lost)
		s.empty(pt)
		pt.info = before
		return err
	}
	pt.resize()
	pt.refused, s.dead = "", false
	at.Opened = s.places[pt.index].Opened + 1
	s.places[pt.index] = at
	s.watch(pt)
	s.link.Replaced(pt)
	s.link.MovedElsewhere(pt.index)
	s.report(pt)
	return nil
}

// replaces says why pt's adapter cannot take the place of the earlier one; nil: it can.
func (pt *Port) replaces(before ibv.Info) error {
	if _, ok := pt.adapter.(Native); pt.set.cfg.Native && !ok {
		return ibv.ErrGone
	}
	if pt.info.MaxMessage < before.MaxMessage { // pieces were cut for that
		return fmt.Errorf("verbs: it moves %d bytes at once, and moved %d", pt.info.MaxMessage,
			before.MaxMessage)
	}
	return nil
}

// NextLook is when Look is to be called, not before at; 0: never.
func (s *Set) NextLook(at int64) (due int64) {
	for _, pt := range s.ports {
		look := max(pt.lookAt, at, 1)
		if pt.state == failed {
			look = pt.lookAt
		}
		if s.isSought(pt) && (due == 0 || look < due) {
			due = look
		}
	}
	return due
}
