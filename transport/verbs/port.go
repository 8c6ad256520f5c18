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
	small    slots            // for datagrams, datagramsMax of them
	revived  uint64           // how often the datagram queue pair had failed
	receives int              // buffers of the shared receive queue, those that go back to it included
	wanted   int              // how many its peers may fill
	limit    int              // how many it may have
	back     []adapter.Buffer // that go back to it together

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
	if pt.registry != nil {
		pt.registry.close()
	}
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
	for n < max && pt.poll(max-n) {
		last := pt.count < min(len(pt.batch), max-n)
		for ; n < max && pt.next < pt.count; n++ {
			c := pt.batch[pt.next]
			pt.next++
			pt.handle(&c)
		}
		if last { // the adapter had no more: to ask it again is for the next turn
			break
		}
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
		if pt.receives < pt.target() && pt.state != PortGone && !l.closed {
			pt.giveBack(int32(value))
			if len(pt.back) >= pt.together() {
				pt.postBack()
			}
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
	for pt.receives < pt.target() {
		s, ok := pt.link.slots.get()
		if !ok {
			break
		}
		pt.giveBack(s)
	}
	pt.postBack()
}

// together is how many buffers go back to the shared receive queue in one call. Those that wait for
// others come on top of what peers may fill; where there is no room for that, none waits.
func (pt *port) together() int {
	if pt.wanted+backEach > pt.limit {
		return 1
	}
	return backEach
}

// target is how many buffers the shared receive queue should have.
func (pt *port) target() int {
	if pt.wanted == 0 {
		return 0
	}
	return min(pt.wanted+backEach, pt.limit)
}

// giveBack has a slot go to the shared receive queue with the next postBack.
func (pt *port) giveBack(s int32) {
	l := pt.link
	pt.back = append(pt.back, adapter.Buffer{ID: idReceive | uint64(s), Addr: l.slots.addr(s),
		LKey: l.slots.key(s, pt)})
	pt.receives++
}

// postBack gives to the shared receive queue what waits for that.
func (pt *port) postBack() {
	n, _ := pt.adapter.Receive(false, slotSize, pt.back) // it tells of what fails by taking less
	for _, b := range pt.back[n:] {
		pt.link.slots.put(int32(b.ID &^ idMask))
		pt.receives--
	}
	pt.back = pt.back[:0]
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
	_, err := pt.adapter.Receive(true, datagramSize, []adapter.Buffer{{
		ID: idDatagram | pt.revived<<16 | uint64(s), Addr: pt.small.addr(s),
		LKey: pt.small.key(s, pt)}})
	return err
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
	if state == PortUp {
		l.hasten(pt)
		return
	}
	up := l.anyUp()
	for _, q := range pt.pairs {
		if up || q.peer.sparable() {
			l.fail(q)
		}
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

// lose: an adapter is gone for good, and everything over it. With the last of them all ends, but
// what the spare carrier reaches.
func (l *Link) lose(pt *port) {
	if pt.state == PortGone {
		return
	}
	l.onPort(pt, PortGone)
	for _, q := range pt.pairs {
		l.fail(q)
	}
	for _, other := range l.ports {
		if other.state != PortGone {
			return
		}
	}
	l.dead = transport.ErrAdaptersDown
	for _, p := range l.peers {
		if !p.gone && !p.sparable() {
			l.lost(p, l.dead)
		}
	}
}
