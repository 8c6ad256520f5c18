package verbs

import (
	"encoding/binary"
	"errors"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/pool"
	"lapi/transport/verbs/internal/wire"
)

// port is one port of an adapter with its queues.
type port struct {
	link    *Link
	index   int
	adapter ibv.Device
	info    ibv.Info
	pd      ibv.PD
	cq      ibv.CQ
	srq     ibv.SRQ
	ud      ibv.QP // for datagrams
	qkey    uint32 // of ud
	state   PortState

	lookAt  int64      // of one that is gone: when its adapter is looked for again
	pause   int64      // and how long after that
	place   wire.Place // where it was opened again
	refused string     // why it was not, as Changed was told last

	pairs   map[uint32]*queue // by the number of the queue pair
	small   slots             // for datagrams, datagramsMax of them
	revived uint64            // how often the datagram queue pair had failed
	buffers pool.Size         // of its shared receive queue

	// What C also uses: completions that were not looked at yet, and the receive buffers.
	*layout.VerbsPort
	found   [layout.VerbsBatch]ibv.Completion // of Poll
	given   [layout.VerbsBack]ibv.Recv        // of PostRecv
	into    [layout.VerbsBack]ibv.Segment
	request ibv.Work // of PostSend
	segment [1]ibv.Segment
	text    [datagramMax]byte // of a datagram
}

func newPort(l *Link, index int, a ibv.Device) *port {
	pt := &port{link: l, index: index, VerbsPort: l.newPort(index, a),
		pairs: make(map[uint32]*queue)}
	pt.use(a)
	return pt
}

// use has pt be over a, whose queues are not made yet.
func (pt *port) use(a ibv.Device) {
	pt.adapter, pt.info = a, a.Info()
	pt.buffers = pool.New(min(receivesMax, pt.info.MaxReceives, pt.info.MaxCQE/2),
		pt.buffers.Wanted())
	pt.small = slots{ports: []*port{pt}, size: datagramSize}
}

// open makes the queues, and returns what peers must know of them.
func (pt *port) open(secret []byte) (wire.Place, error) {
	// The highest bit of a key for datagrams is the kernel's.
	pt.qkey = binary.LittleEndian.Uint32(secret) >> 1
	qpn, err := pt.makeQueues()
	if err != nil {
		return wire.Place{}, err
	}
	if err := pt.small.grow(); err != nil {
		return wire.Place{}, err
	}
	return wire.Place{QPN: qpn, QKey: pt.qkey, MTU: uint16(pt.info.MTU), Reads: pt.reads(),
		LID: pt.info.LID, GID: pt.info.GID}, pt.receiveDatagrams()
}

// allocate makes the protection domain.
func (pt *port) allocate() (err error) {
	if pt.pd == 0 {
		pt.pd, err = pt.adapter.AllocPD()
	}
	return err
}

// makeQueues makes the queues. It returns the number of the queue pair for datagrams.
func (pt *port) makeQueues() (qpn uint32, err error) {
	a, l := pt.adapter, pt.link
	if err = pt.allocate(); err != nil {
		return 0, err
	}
	size := pt.buffers.Limit() + int(l.shared.LimitSend) + movingMost(l.ports) + 2*datagramsMax
	if pt.cq, err = a.CreateCQ(size); err != nil {
		return 0, err
	}
	if pt.srq, err = a.CreateSRQ(pt.pd, pt.buffers.Limit(), 1); err != nil {
		return 0, err
	}
	pt.ud, qpn, err = a.CreateQP(ibv.QPAttr{PD: pt.pd, SendCQ: pt.cq, RecvCQ: pt.cq,
		Datagrams: true, QKey: pt.qkey, MaxRequests: datagramsMax, MaxReceives: datagramsMax,
		RequestSegments: 1, ReceiveSegments: 1, MaxInline: datagramMax})
	if l.native() {
		pt.Cq, pt.Srq = uint64(pt.cq), uint64(pt.srq)
	}
	return qpn, err
}

// destroyQueues ends them, after the memory that is registered.
func (pt *port) destroyQueues() error {
	var errs []error
	if pt.srq != 0 {
		errs = append(errs, pt.adapter.DestroySRQ(pt.srq))
	}
	if pt.cq != 0 {
		errs = append(errs, pt.adapter.DestroyCQ(pt.cq))
	}
	if pt.pd != 0 {
		errs = append(errs, pt.adapter.DeallocPD(pt.pd))
	}
	return errors.Join(errs...)
}

// reads is how many RDMA reads the port takes at once, and has under way.
func (pt *port) reads() uint16 {
	return uint16(min(pt.info.MaxReadsIn, pt.info.MaxReadsOut, readsMax))
}

// holder is how slots name pt.
func (pt *port) holder() uint8 { return uint8(pt.index) + 1 }

// close ends the port, whose queue pairs are gone and whose memory, but the datagrams', is
// deregistered.
func (pt *port) close() error {
	if pt.ud != 0 {
		pt.adapter.DestroyQP(pt.ud)
	}
	return errors.Join(pt.small.close(), pt.destroyQueues(), pt.adapter.Close())
}

// register registers memory in the port's domain.
func (pt *port) register(b []byte) (ibv.Region, error) {
	a := uint64(memory.AddrOf(b))
	return pt.adapter.RegMR(pt.pd, a, uint64(len(b)), a, ibv.LocalWrite)
}

// poll looks for completions that were not looked at yet, at most max, and says whether there are.
func (pt *port) poll(max int) bool {
	if pt.Next == pt.Count {
		n := pt.adapter.PollCQ(pt.cq, pt.found[:min(len(pt.found), max)])
		if n < 0 || pt.Broken != 0 { // C has met the same
			n = 0
			pt.link.lose(pt)
		}
		for i, c := range pt.found[:n] {
			pt.Batch[i] = completion{Id: c.ID, Qpn: c.QPN, N: c.N, Status: uint8(c.Status),
				VendorErr: c.VendorErr}
		}
		pt.Next, pt.Count = 0, int32(n)
		pt.count(n, min(len(pt.found), max))
	}
	return pt.Next < pt.Count
}

// count notes that n completions were there when the adapter was asked for most.
func (pt *port) count(n, most int) {
	pt.Burst += int32(n)
	pt.Most = max(pt.Most, pt.Burst)
	if n < most {
		pt.Burst = 0
	}
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
	l, value, state := pt.link, c.Id&^idMask, ibv.Status(c.Status)
	q := pt.pairs[c.Qpn]
	pt.noteFailure(q, c)
	switch c.Id & idMask {
	case idReceive:
		taken := int(pt.Taken)
		pt.Receives--
		pt.Taken = 0
		if q == nil {
			if state == ibv.Success {
				l.stats.GhostPackets++
			}
		} else if state == ibv.Success {
			q.receive(l.slots.bytes(int32(value))[:c.N], taken)
		} else {
			q.fail()
		}
		pt.giveBack(int32(value))
	case idDatagram:
		pt.datagram(c)
	case idSend:
		if q == nil {
			return // of a queue pair of before
		}
		if state != ibv.Success {
			q.fail()
		} else {
			q.peer.packetsSent(value)
		}
	case idMove:
		if q != nil {
			l.transfers.Moved(&q.Lane, value, state)
		}
	}
}

// want notes that peers may fill n buffers more.
func (pt *port) want(n int) {
	pt.buffers.Want(n)
	pt.resize()
}

// resize tells C, and giveBack, how many receive buffers there are to be.
func (pt *port) resize() {
	s := &pt.buffers
	pt.Target, pt.Room, pt.Together = int32(s.Target()), int32(s.Room()), int32(s.Together())
}

// adapt gives the queue more buffers where many packets had come at once, which C has seen, too.
func (pt *port) adapt() {
	most := int(pt.Most)
	pt.Most = 0
	if pt.buffers.Came(most) {
		pt.resize()
	}
	if pt.Receives < pt.Target && pt.state != PortGone {
		pt.fillReceives()
	}
}

// shrink has the queue have fewer buffers where few packets come. Buffers above that go to the free
// slots as they are filled.
func (pt *port) shrink() {
	if pt.buffers.Shrink() {
		pt.resize()
	}
}

// fillReceives gives the shared receive queue what it is to have. Where packets find no buffer their
// senders wait: the adapter tells theirs that it is not ready.
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
	if pt.Receives >= pt.Target || s >= pt.link.shared.Used || pt.state == PortGone ||
		pt.link.closed {
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
		pt.into[i] = ibv.Segment{Addr: b.Addr, N: slotSize, Key: b.Lkey}
		all[i] = ibv.Recv{ID: b.Id, Segments: pt.into[i : i+1]}
	}
	n, _ := pt.adapter.PostRecv(0, pt.srq, all) // what cannot be posted makes n smaller
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
	_, err := pt.adapter.PostRecv(pt.ud, 0, []ibv.Recv{{
		ID: idDatagram | pt.revived<<16 | uint64(s),
		Segments: []ibv.Segment{{Addr: uint64(pt.small.addr(s)), N: datagramSize,
			Key: pt.small.key(s, pt)}}}})
	return err
}

// sendDatagram sends b, which it copies, to a queue pair for datagrams.
func (pt *port) sendDatagram(ah ibv.AH, qpn, qkey uint32, b []byte) error {
	n := copy(pt.text[:], b)
	pt.segment[0] = ibv.Segment{Addr: uint64(memory.AddrOf(pt.text[:])), N: uint32(n)}
	pt.request = ibv.Work{ID: idMask, Op: ibv.OpSend, Signaled: true, Inline: true,
		Segments: pt.segment[:], AH: ah, QPN: qpn, QKey: qkey}
	return pt.adapter.PostSend(pt.ud, &pt.request)
}

// datagram takes in what the datagram queue pair has completed.
func (pt *port) datagram(c *completion) {
	s := int32(c.Id & 0xffff)
	if c.Id&^idMask>>16 != pt.revived {
		return // the buffer was given to it again when it was revived
	}
	if ibv.Status(c.Status) == ibv.Success && c.N >= ibv.DatagramHead {
		pt.link.onDatagram(pt.small.bytes(s)[ibv.DatagramHead:c.N])
	}
	var err error
	switch {
	case pt.state == PortGone || pt.link.closed:
	case ibv.Status(c.Status) == ibv.Success:
		err = pt.receiveDatagram(s)
	default:
		pt.revived++
		if err = pt.adapter.ReviveQP(pt.ud, pt.qkey); err == nil {
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
		if l.cfg.Event != nil && e.Kind != ibv.NoEvent {
			l.cfg.Event(e, pt.info)
		}
		switch e.Kind {
		case ibv.NoEvent:
			return
		case ibv.QPFailed:
			if q := pt.pairs[e.QPN]; q != nil {
				q.fail()
			}
		case ibv.PortDown:
			l.onPort(pt, PortDown)
		case ibv.PortUp:
			l.onPort(pt, PortUp)
		case ibv.Fatal:
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
			q.fail()
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
	l.transfers.Lose(pt.index)
	pt.lookAt, pt.pause = l.cfg.Clock()+reopenFirst, 2*reopenFirst
	for _, q := range pt.pairs {
		q.fail()
	}
	for _, other := range l.ports {
		if other.state != PortGone {
			return
		}
	}
	l.dead = transport.ErrAdaptersDown
	for _, p := range l.peers {
		if !p.gone && !p.sparable() {
			p.lost(l.dead)
		}
	}
}
