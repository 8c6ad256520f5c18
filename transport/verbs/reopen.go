package verbs

import (
	"crypto/rand"
	"errors"
	"fmt"

	"lapi/transport"
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

// reopenPorts looks for the adapters that are gone, each after a pause.
func (l *Link) reopenPorts(now int64) {
	for _, pt := range l.ports {
		if l.isSought(pt) && now >= pt.lookAt {
			l.reopen(pt, now)
		}
	}
}

// isSought says whether pt's adapter is looked for.
func (l *Link) isSought(pt *port) bool { return l.cfg.Reopen != nil && pt.state == PortGone }

// reopen opens pt again if its adapter is there.
func (l *Link) reopen(pt *port, now int64) {
	lost, all := l.lostSlots(pt)
	if len(pt.pairs) > 0 || !all {
		return // soon
	}
	pt.lookAt = now + pt.pause
	pt.pause = min(2*pt.pause, reopenLast)
	a, err := l.cfg.Reopen(pt.index)
	if err != nil {
		return
	}
	fresh, regions, err := l.openAgain(pt, a)
	if err != nil {
		l.refuse(pt, err)
		return
	}
	l.dispose(pt)
	for _, s := range lost {
		l.slots.put(s)
	}
	l.replace(pt, fresh, regions)
	l.announce(pt)
}

// refuse says why an adapter that is there again is not used, if that was not said before.
func (l *Link) refuse(pt *port, why error) {
	if text := why.Error(); text != pt.refused && l.cfg.Changed != nil {
		pt.refused = text
		l.cfg.Changed(PortChange{Index: pt.index, Name: pt.info.Name, State: pt.state,
			Refused: why})
	}
}

// lostSlots lists the receive buffers that went down with pt's adapter. False: it had others, which
// handlers look at just now.
func (l *Link) lostSlots(pt *port) (lost []int32, all bool) {
	used := make([]bool, len(l.slots.holder))
	for _, s := range l.slots.free[:*l.slots.n] {
		used[s] = true
	}
	for _, p := range l.peers {
		for i := range p.Ring.Count {
			used[p.ring().at(i).Slot] = true
		}
	}
	for s, holder := range l.slots.holder {
		if holder == pt.holder() && !used[s] {
			lost = append(lost, int32(s))
		}
	}
	return lost, len(lost) == int(pt.Receives)
}

// openAgain makes the queues of a, which is closed if that fails, and registers the slots. What it
// returns is a port only as far as the adapter goes.
func (l *Link) openAgain(pt *port, a ibv.Device) (*port, []ibv.Region, error) {
	fresh := &port{link: l, index: pt.index, VerbsPort: new(layout.VerbsPort)}
	fresh.use(a)
	var regions []ibv.Region
	err := fresh.allocate()
	if err == nil {
		regions, err = l.slots.registerWith(fresh)
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
func (pt *port) startAgain(old *port) error {
	if _, ok := pt.adapter.(Native); old.Cq != 0 && !ok {
		return ibv.ErrGone
	}
	if pt.info.MaxMessage < old.info.MaxMessage { // pieces were cut for that
		return fmt.Errorf("verbs: it moves %d bytes at once, and moved %d", pt.info.MaxMessage,
			old.info.MaxMessage)
	}
	var secret [4]byte
	_, err := rand.Read(secret[:])
	if err == nil {
		pt.place, err = pt.open(secret[:])
	}
	return err
}

// dispose ends all that there was with pt's adapter. Its queue pairs are gone.
func (l *Link) dispose(pt *port) {
	i := pt.index
	l.transfers.Drop(i)
	for _, p := range l.peers {
		for _, q := range p.allPairs() {
			if q.port == pt {
				q.freePath()
			}
		}
	}
	for k := range l.slots.chunks {
		if r := &l.slots.chunks[k].regions[i]; *r != (ibv.Region{}) {
			_ = pt.adapter.DeregMR(r.MR)
			*r = ibv.Region{}
		}
	}
	l.unwatch(pt)
	_ = pt.close() // the kernel may say once more that it is gone
}

// replace has pt be over the adapter that fresh has opened.
func (l *Link) replace(pt, fresh *port, regions []ibv.Region) {
	pt.adapter, pt.info = fresh.adapter, fresh.info
	pt.pd, pt.cq, pt.srq, pt.ud, pt.qkey = fresh.pd, fresh.cq, fresh.srq, fresh.ud, fresh.qkey
	pt.small, pt.revived = fresh.small, 0
	pt.buffers = pool.New(fresh.buffers.Limit(), pt.buffers.Wanted())
	pt.place, pt.refused = fresh.place, ""
	pt.small.ports = []*port{pt}
	l.transfers.Open(pt.index, pt.adapter, pt.pd)
	*pt.VerbsPort = layout.VerbsPort{Cq: fresh.Cq, Srq: fresh.Srq, Index: pt.Index,
		MaxInline: uint32(max(pt.info.MaxInline, 0))}
	pt.resize()
	for k, r := range regions {
		l.slots.chunks[k].regions[pt.index] = r
		l.shared.Chunks[k].Lkey[pt.index] = r.Local
	}
	l.watch(pt)
}

// announce: pt is up again, somewhere else. All peers are to be told.
func (l *Link) announce(pt *port) {
	pt.place.Opened = l.own.Places[pt.index].Opened + 1
	l.own.Places[pt.index] = pt.place
	l.reopened |= 1 << pt.index
	l.dead = nil
	for _, p := range l.peers {
		if p.gone {
			continue
		}
		p.untold |= 1 << pt.index
		for _, q := range p.lanes {
			if q != nil && q.port == pt {
				q.Wake()
			}
		}
		p.Attend()
	}
	l.onPort(pt, PortUp)
}

// tellPlaces tells p where ports are that were opened again. A packet that was made arrives.
func (p *peer) tellPlaces() {
	l := p.link
	for i := range l.own.Places {
		if p.untold&(1<<i) == 0 || !p.Works() {
			continue
		}
		var b [wire.MovedSize]byte
		b[0] = byte(i)
		l.own.Places[i].Encode(b[8:])
		if p.transmit(wire.KindPlace, 0, b[:], 0, 0) != nil {
			return // no room: p is looked at again
		}
		p.untold &^= 1 << i
	}
}

func (p *peer) onPlace(b []byte) {
	var at wire.Place
	at.Decode(b[8:])
	if int(b[0]) >= len(p.to.Places) {
		p.lost(transport.ErrUnreachable)
		return
	}
	p.movedTo(int(b[0]), &at)
}

// movedTo: that port of p's is at a place, maybe another than was known. Then what led to where it
// was is begun anew when it is wanted; keys for it are not valid any more.
func (p *peer) movedTo(his int, at *wire.Place) {
	l := p.link
	if !at.Follows(&p.to.Places[his]) {
		return
	}
	if at.MTU < wire.MTUMin || at.MTU > wire.MTUMax {
		p.lost(transport.ErrUnreachable)
		return
	}
	p.to.Places[his] = *at
	l.addresses[p.ep] = string(append(p.to.Encode(), p.to.Carrier...))
	p.transfers.Expired(his)
	for _, q := range p.allPairs() {
		if q.his != his {
			continue
		}
		q.freePath()
		if !q.packets() { // the packets' may be there already; else it fails by itself
			q.dropPair()
			q.Wake()
		}
		if p.gone {
			return
		}
	}
	if p.seeks() {
		p.beginLanes()
	}
	p.Attend()
}
