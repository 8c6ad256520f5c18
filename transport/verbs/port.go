package verbs

import (
	"encoding/binary"
	"errors"

	"lapi/transport"
	"lapi/transport/layout"
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

	lookAt  int64  // of one that is gone: when its adapter is looked for again
	pause   int64  // and how long after that
	place   place  // where it was opened again
	refused string // why it was not, as Changed was told last

	pairs   map[adapter.QP]*pair
	small   slots  // for datagrams, datagramsMax of them
	revived uint64 // how often the datagram queue pair had failed
	wanted  int    // how many receive buffers its peers may fill
	limit   int    // how many it may have

	// What C also uses: completions that were not looked at yet, and the receive buffers.
	*layout.VerbsPort
	found   [layout.VerbsBatch]adapter.Completion // of Poll
	given   [layout.VerbsBack]adapter.Buffer      // of Receive
	request adapter.Work                          // of Post
}

func newPort(l *Link, index int, a adapter.Adapter) *port {
	pt := &port{link: l, index: index, VerbsPort: l.newPort(index, a),
		pairs: make(map[adapter.QP]*pair)}
	pt.use(a)
	return pt
}

// use has pt be over a, whose queues are not made yet.
func (pt *port) use(a adapter.Adapter) {
	pt.adapter, pt.info, pt.registry = a, a.Info(), newRegistry(a, &pt.link.cfg)
	pt.limit = min(receivesMax, pt.info.MaxReceive, pt.info.MaxCQE/2)
	pt.small = slots{ports: []*port{pt}, size: datagramSize}
}

// open makes the queues, and returns what peers must know of them.
func (pt *port) open(secret []byte) (place, error) {
	// The highest bit of a key for datagrams is the kernel's.
	qkey := binary.LittleEndian.Uint32(secret) >> 1
	qpn, err := pt.adapter.Open(pt.limit+int(pt.link.shared.LimitSend)+pt.link.limitMove+2*datagramsMax,
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

// holder is how slots name pt.
func (pt *port) holder() uint8 { return uint8(pt.index) + 1 }

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
	if pt.Next == pt.Count {
		n := pt.adapter.Poll(pt.found[:min(len(pt.found), max)])
		if n < 0 || pt.Broken != 0 { // C has met the same
			n = 0
			pt.link.lose(pt)
		}
		for i, c := range pt.found[:n] {
			pt.Batch[i] = completion{Id: c.ID, Qpn: uint32(c.QP), N: c.N, State: uint8(c.State)}
			if c.Datagram {
				pt.Batch[i].Datagram = 1
			}
		}
		pt.Next, pt.Count = 0, int32(n)
	}
	return pt.Next < pt.Count
}

// take handles completions, at most max of them, and returns how many there were.
func (pt *port) take(max int) (n int) {
	for n < max && pt.poll(max-n) {
		last := int(pt.Count) < min(len(pt.Batch), max-n)
		for ; n < max && pt.Next < pt.Count; n++ {
			c := pt.Batch[pt.Next]
			pt.Next++
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
	for pt.take(len(pt.Batch)) > 0 {
	}
}

type completion = layout.VerbsCompletion

func (pt *port) handle(c *completion) {
	l, value, state := pt.link, c.Id&^idMask, adapter.State(c.State)
	q := pt.pairs[adapter.QP(c.Qpn)]
	switch c.Id & idMask {
	case idReceive:
		taken := int(pt.Taken)
		pt.Receives--
		pt.Taken = 0
		if state == adapter.OK {
			l.receive(q, l.slots.bytes(int32(value))[:c.N], taken)
		} else if q != nil {
			l.fail(q)
		}
		pt.giveBack(int32(value))
	case idDatagram:
		pt.datagram(c)
	case idSend:
		if q == nil {
			return // of a queue pair of before
		}
		if state != adapter.OK {
			l.fail(q)
		} else {
			l.packetsSent(q.peer, value)
		}
	case idMove:
		if q != nil {
			l.moved(q, l.calls[uint32(value)], int(value>>32), state)
		}
	}
}

// want notes that peers may fill n buffers more. What follows from it is how many there should be,
// and how many go back in one call: those that wait for others come on top of what peers may fill;
// where there is no room for that, none waits.
func (pt *port) want(n int) {
	pt.wanted += n
	pt.Target, pt.Together = 0, backEach
	if pt.wanted > 0 {
		pt.Target = int32(min(pt.wanted+backEach, pt.limit))
	}
	if pt.wanted+backEach > pt.limit {
		pt.Together = 1
	}
}

// fillReceives gives the shared receive queue what the connected peers need, as far as its limit
// goes. Beyond that peers wait: the adapter tells them that it is not ready.
func (pt *port) fillReceives() {
	for pt.Receives < pt.Target {
		s, ok := pt.link.slots.get()
		if !ok {
			break
		}
		pt.keepBack(s)
		if int(pt.NumBack) == len(pt.Back) && !pt.postBack() {
			return
		}
	}
	pt.postBack()
}

// giveBack has a slot that was received into go to the shared receive queue, with others.
func (pt *port) giveBack(s int32) {
	if pt.Receives >= pt.Target || pt.state == PortGone || pt.link.closed {
		pt.link.slots.put(s)
		return
	}
	if pt.keepBack(s); pt.NumBack >= pt.Together {
		pt.postBack()
	}
}

// keepBack has a slot go to the shared receive queue with the next postBack.
func (pt *port) keepBack(s int32) {
	l := pt.link
	l.slots.holder[s] = pt.holder()
	pt.Back[pt.NumBack] = layout.VerbsBuffer{Id: idReceive | uint64(s),
		Addr: uint64(l.slots.addr(s)), Lkey: l.slots.key(s, pt)}
	pt.NumBack++
	pt.Receives++
}

// postBack gives to the shared receive queue what waits for that. False: it does not take all.
func (pt *port) postBack() bool {
	all := pt.given[:pt.NumBack]
	for i, b := range pt.Back[:pt.NumBack] {
		all[i] = adapter.Buffer{ID: b.Id, Addr: transport.Addr(b.Addr), LKey: b.Lkey}
	}
	n, _ := pt.adapter.Receive(false, slotSize, all) // it tells of what fails by taking less
	for _, b := range all[n:] {
		pt.link.slots.put(int32(b.ID &^ idMask))
		pt.Receives--
	}
	pt.NumBack = 0
	return n == len(all)
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
func (pt *port) datagram(c *completion) {
	s := int32(c.Id & 0xffff)
	if c.Id&^idMask>>16 != pt.revived {
		return // the buffer was given to it again when it was revived
	}
	if adapter.State(c.State) == adapter.OK && c.N >= adapter.DatagramHead {
		pt.link.onDatagram(pt.small.bytes(s)[adapter.DatagramHead:c.N])
	}
	var err error
	switch {
	case pt.state == PortGone || pt.link.closed:
	case adapter.State(c.State) == adapter.OK:
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

// lose: an adapter is gone, and everything over it. With the last of them all ends, but what the
// spare carrier reaches.
func (l *Link) lose(pt *port) {
	if pt.state == PortGone {
		return
	}
	l.onPort(pt, PortGone)
	l.unwatch(pt)
	pt.lookAt, pt.pause = l.cfg.Clock()+reopenFirst, 2*reopenFirst
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
