package verbs

import (
	"encoding/binary"
	"errors"

	"lapi/transport"
	"lapi/transport/verbs/adapter"
)

// port is one port of an adapter with its queues.
type port struct {
	link     *Link
	index    int
	adapter  adapter.Adapter
	info     adapter.Info
	registry *registry
	state    PortState

	pairs    map[adapter.QP]*pair
	small    slots  // for datagrams, datagramsMax of them
	revived  uint64 // how often the datagram queue pair had failed
	receives int    // buffers of the shared receive queue
	wanted   int    // how many it should have
	limit    int    // how many it may have

	batch   [32]adapter.Completion // not looked at yet: [next:count]
	next    int
	count   int
	request adapter.Work // of Post
}

func newPort(l *Link, index int, a adapter.Adapter) *port {
	pt := &port{link: l, index: index, adapter: a, info: a.Info(),
		pairs: make(map[adapter.QP]*pair), registry: newRegistry(a, &l.cfg)}
	pt.limit = min(receivesMax, pt.info.MaxReceive, pt.info.MaxCQE/2)
	pt.small = slots{ports: []*port{pt}, size: datagramSize}
	return pt
}

// open makes the queues, and returns what peers must know of them.
func (pt *port) open(secret []byte) (place, error) {
	// The highest bit of a key for datagrams is the kernel's.
	qkey := binary.LittleEndian.Uint32(secret) >> 1
	qpn, err := pt.adapter.Open(pt.limit+pt.link.limitSend+pt.link.limitMove+2*datagramsMax,
		pt.limit, datagramsMax, qkey)
	if err != nil {
		return place{}, err
	}
	if err := pt.small.grow(); err != nil {
		return place{}, err
	}
	return place{qpn: qpn, qkey: qkey, mtu: uint16(pt.info.MTU), reads: uint16(pt.info.MaxReads),
		lid: pt.info.LID, gid: pt.info.GID}, pt.receiveDatagrams()
}

// close ends the port, whose queue pairs are gone and whose memory, but the datagrams', is
// deregistered.
func (pt *port) close() error {
	pt.registry.close()
	return errors.Join(pt.small.close(), pt.adapter.Close())
}

// poll looks for completions that were not looked at yet, at most max, and says whether there are.
func (pt *port) poll(max int) bool {
	if pt.next == pt.count {
		pt.next, pt.count = 0, pt.adapter.Poll(pt.batch[:min(len(pt.batch), max)])
		if pt.count < 0 {
			pt.count = 0
			pt.link.lose(pt)
		}
	}
	return pt.next < pt.count
}

// take handles completions, at most max of them, and returns how many there were.
func (pt *port) take(max int) (n int) {
	for ; n < max && pt.poll(max-n); n++ {
		c := pt.batch[pt.next]
		pt.next++
		pt.handle(&c)
	}
	return n
}

// drain handles all completions that there are.
func (pt *port) drain() {
	for pt.take(len(pt.batch)) > 0 {
	}
}

func (pt *port) handle(c *adapter.Completion) {
	l, value := pt.link, c.ID&^idMask
	q := pt.pairs[c.QP]
	switch c.ID & idMask {
	case idReceive:
		pt.receives--
		if c.State == adapter.OK {
			l.receive(q, l.slots.bytes(int32(value))[:c.N])
		} else if q != nil {
			l.fail(q)
		}
		if pt.receives < min(pt.wanted, pt.limit) && pt.state != PortGone && !l.closed {
			pt.giveBack(int32(value))
		} else {
			l.slots.put(int32(value))
		}
	case idDatagram:
		pt.datagram(c)
	case idSend:
		if q == nil {
			return // of a queue pair of before
		}
		if c.State != adapter.OK {
			l.fail(q)
		} else {
			l.packetsSent(q.peer, value)
		}
	case idMove:
		if q != nil {
			l.moved(q, l.calls[uint32(value)], int(value>>32), c.State)
		}
	}
}

// fillReceives gives the shared receive queue what the connected peers need, as far as its limit
// goes. Beyond that peers wait: the adapter tells them that it is not ready.
func (pt *port) fillReceives() {
	for pt.receives < min(pt.wanted, pt.limit) {
		s, ok := pt.link.slots.get()
		if !ok {
			return
		}
		if !pt.giveBack(s) {
			return
		}
	}
}

// giveBack posts a slot to the shared receive queue.
func (pt *port) giveBack(s int32) bool {
	l := pt.link
	err := pt.adapter.Receive(false, idReceive|uint64(s), l.slots.addr(s), slotSize,
		l.slots.key(s, pt))
	if err != nil {
		l.slots.put(s)
		return false
	}
	pt.receives++
	return true
}

// receiveDatagrams gives all its buffers to the datagram queue pair.
func (pt *port) receiveDatagrams() error {
	for s := range int32(datagramsMax) {
		if err := pt.receiveDatagram(s); err != nil {
			return err
		}
	}
	return nil
}

// receiveDatagram gives one. The ID also says how often the queue pair was revived before.
func (pt *port) receiveDatagram(s int32) error {
	return pt.adapter.Receive(true, idDatagram|pt.revived<<16|uint64(s), pt.small.addr(s),
		datagramSize, pt.small.key(s, pt))
}

// datagram takes in what the datagram queue pair has completed.
func (pt *port) datagram(c *adapter.Completion) {
	s := int32(c.ID & 0xffff)
	if c.ID&^idMask>>16 != pt.revived {
		return // the buffer was given to it again when it was revived
	}
	if c.State == adapter.OK && c.N >= adapter.DatagramHead {
		pt.link.onDatagram(pt.small.bytes(s)[adapter.DatagramHead:c.N])
	}
	var err error
	switch {
	case pt.state == PortGone || pt.link.closed:
	case c.State == adapter.OK:
		err = pt.receiveDatagram(s)
	default:
		pt.revived++
		if err = pt.adapter.Revive(); err == nil {
			err = pt.receiveDatagrams()
		}
	}
	if err != nil {
		pt.link.lose(pt)
	}
}

// events asks the adapter what it has to tell.
func (pt *port) events() {
	l := pt.link
	for pt.state != PortGone {
		e := pt.adapter.Event()
		switch e.Kind {
		case adapter.NoEvent:
			return
		case adapter.QueuePairFailed:
			if q := pt.pairs[e.QP]; q != nil {
				l.fail(q)
			}
		case adapter.PortDown:
			l.onPort(pt, PortDown)
		case adapter.PortUp:
			l.onPort(pt, PortUp)
		case adapter.Fatal:
			l.lose(pt)
		}
	}
}

// onPort notes what an adapter has told of its port. What goes over one that is down goes over
// another, if there is one; else it waits: the port may be up again before a queue pair fails.
func (l *Link) onPort(pt *port, state PortState) {
	if pt.state == state || l.closed {
		return
	}
	pt.state = state
	if l.cfg.Changed != nil {
		l.cfg.Changed(PortChange{Index: pt.index, Name: pt.info.Name, State: state})
	}
	if state == PortUp || !l.anyUp() {
		return
	}
	for _, q := range pt.pairs {
		l.fail(q)
	}
}

func (l *Link) anyUp() bool {
	for _, pt := range l.ports {
		if pt.state == PortUp {
			return true
		}
	}
	return false
}

// lose: an adapter is gone for good, and everything over it. With the last of them all ends.
func (l *Link) lose(pt *port) {
	if pt.state == PortGone {
		return
	}
	l.onPort(pt, PortGone)
	for _, other := range l.ports {
		if other.state != PortGone {
			for _, q := range pt.pairs {
				l.fail(q)
			}
			return
		}
	}
	l.dead = transport.ErrAdaptersDown
	for _, p := range l.peers {
		if !p.gone {
			l.lost(p, l.dead)
		}
	}
}
