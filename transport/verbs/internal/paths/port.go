package paths

import (
	"crypto/rand"
	"encoding/binary"
	"errors"

	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/pool"
	"lapi/transport/verbs/internal/wire"
)

// Port is one port of an adapter with its queues.
type Port struct {
	set     *Set
	index   int
	adapter ibv.Device
	info    ibv.Info
	pd      ibv.PD
	cq      ibv.CQ
	srq     ibv.SRQ
	ud      ibv.QP // for datagrams
	qkey    uint32 // of ud
	state   State

	// After the adapter is gone:
	lookAt  int64  // when it is looked for again
	pause   int64  // and how long after that
	looks   int    // how often it was, in vain
	refused string // why it was not opened again, as it was reported last

	pairs   map[uint32]Pair // by the number of the queue pair
	small   slots           // for datagrams, datagramsMax of them
	revived uint64          // how often the datagram queue pair had failed
	buffers pool.Size       // of its shared receive queue
	kept    []completion    // that were taken from the adapter before a queue pair was destroyed

	// Fields that C also uses: completions that were not looked at yet, and the receive
	// buffers.
	*layout.VerbsPort
	found   [layout.VerbsBatch]ibv.Completion // of Poll
	given   [layout.VerbsBack]ibv.Recv        // of PostRecv
	into    [layout.VerbsBack]ibv.Segment
	request ibv.Work // of PostSend
	segment [1]ibv.Segment
	text    [datagramMax]byte // of a datagram
}

func newPort(s *Set, index int, a ibv.Device) *Port {
	pt := &Port{set: s, index: index, VerbsPort: s.cfg.Map(index), pairs: map[uint32]Pair{}}
	pt.use(a)
	pt.Index = uint32(index)
	return pt
}

// use has pt be over a, whose queues are not made yet.
func (pt *Port) use(a ibv.Device) {
	pt.adapter, pt.info = a, a.Info()
	pt.MaxInline = uint32(max(pt.info.MaxInline, 0))
	pt.buffers = pool.New(min(receivesMax, pt.info.MaxReceives, pt.info.MaxCQE/2),
		pt.buffers.Wanted())
	pt.small = slots{ports: []*Port{pt}, size: datagramSize}
}

// open makes the queues, and returns what peers must know of them.
func (pt *Port) open() (wire.Place, error) {
	var secret [4]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return wire.Place{}, err
	}
	// The highest bit of a key for datagrams is the kernel's.
	pt.qkey = binary.LittleEndian.Uint32(secret[:]) >> 1
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
func (pt *Port) allocate() (err error) {
	if pt.pd == 0 {
		pt.pd, err = pt.adapter.AllocPD()
	}
	return err
}

// makeQueues makes the queues. It returns the number of the queue pair for datagrams.
func (pt *Port) makeQueues() (qpn uint32, err error) {
	a, s := pt.adapter, pt.set
	if err = pt.allocate(); err != nil {
		return 0, err
	}
	size := pt.buffers.Limit() + s.Sends() + s.Moves() + 2*datagramsMax
	if pt.cq, err = a.CreateCQ(size); err != nil {
		return 0, err
	}
	if pt.srq, err = a.CreateSRQ(pt.pd, pt.buffers.Limit(), 1); err != nil {
		return 0, err
	}
	pt.ud, qpn, err = a.CreateQP(ibv.QPAttr{PD: pt.pd, SendCQ: pt.cq, RecvCQ: pt.cq,
		Datagrams: true, QKey: pt.qkey, MaxRequests: datagramsMax, MaxReceives: datagramsMax,
		RequestSegments: 1, ReceiveSegments: 1, MaxInline: datagramMax})
	if s.cfg.Native {
		pt.Cq, pt.Srq = uint64(pt.cq), uint64(pt.srq)
	}
	return qpn, err
}

// destroyQueues ends them, after the memory that is registered.
func (pt *Port) destroyQueues() error {
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
func (pt *Port) reads() uint16 {
	return uint16(min(pt.info.MaxReadsIn, pt.info.MaxReadsOut, readsMax))
}

// holder is how slots name pt.
func (pt *Port) holder() uint8 { return uint8(pt.index) + 1 }

// close ends the port, whose queue pairs are gone and whose memory, but the datagrams', is
// deregistered.
func (pt *Port) close() error {
	if pt.state == released {
		return nil
	}
	if pt.ud != 0 {
		pt.adapter.DestroyQP(pt.ud)
	}
	return errors.Join(pt.small.close(), pt.destroyQueues(), pt.adapter.Close())
}

// register registers memory in the port's domain.
func (pt *Port) register(b []byte) (ibv.Region, error) {
	a := uint64(memory.AddrOf(b))
	return pt.adapter.RegMR(pt.pd, a, uint64(len(b)), a, ibv.LocalWrite)
}

// poll looks for completions that were not looked at yet, at most max, and says whether there are.
func (pt *Port) poll(max int) bool {
	if pt.Next == pt.Count && len(pt.kept) > 0 {
		pt.Next, pt.Count = 0, int32(copy(pt.Batch[:min(len(pt.Batch), max)], pt.kept))
		pt.kept = pt.kept[pt.Count:]
		pt.noteKept()
	}
	if pt.Next == pt.Count && pt.state != released {
		n := pt.adapter.PollCQ(pt.cq, pt.found[:min(len(pt.found), max)])
		if n < 0 || pt.Broken != 0 { // C has met the same
			n = 0
			pt.set.lose(pt, lost)
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

// keep takes all completions from the adapter, for later turns: those of a queue pair go with it. From
// now on they are of none, as another may get its number.
func (pt *Port) keep(qpn uint32) {
	for !pt.gone() {
		n := pt.adapter.PollCQ(pt.cq, pt.found[:])
		for _, c := range pt.found[:max(n, 0)] {
			pt.kept = append(pt.kept, completion{Id: c.ID, Qpn: c.QPN, N: c.N,
				Status: uint8(c.Status), VendorErr: c.VendorErr})
		}
		if n < len(pt.found) {
			break
		}
	}
	for _, some := range [][]completion{pt.Batch[pt.Next:pt.Count], pt.kept} {
		for i := range some {
			if some[i].Qpn == qpn {
				some[i].Qpn = 0
			}
		}
	}
	pt.noteKept()
}

// noteKept has C leave the adapter's completions alone while there are earlier ones.
func (pt *Port) noteKept() { pt.Kept = uint32(min(len(pt.kept), 1)) }

// count notes that n completions were there when the adapter was asked for most.
func (pt *Port) count(n, most int) {
	pt.Burst += int32(n)
	pt.Most = max(pt.Most, pt.Burst)
	if n < most {
		pt.Burst = 0
	}
}

// take handles completions, at most max of them, and returns how many there were.
func (pt *Port) take(max int) (n int) {
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

type completion = layout.VerbsCompletion

// Request is the ID of a request or receive. Its upper byte says its kind.
type Request uint64

const (
	idSend     = uint64(iota+1) << 56 // the number of posted packets
	idMove                            // bulk's
	idReceive                         // a slot
	idDatagram                        // a slot of Port.small; above 16 bits Port.revived
	idMask     = uint64(0xff) << 56
)

func (r Request) kind() uint64 { return uint64(r) & idMask }

// Value is what else there is in it.
func (r Request) Value() uint64 { return uint64(r) &^ idMask }

// IsSend says whether r sent a packet; Value is how many were posted then.
func (r Request) IsSend() bool { return r.kind() == idSend }

// IsMove says whether r is an RDMA request.
func (r Request) IsMove() bool { return r.kind() == idMove }

// IsReceive says whether r is a receive; Value is its slot.
func (r Request) IsReceive() bool { return r.kind() == idReceive }

func (pt *Port) handle(c *completion) {
	s, r, state := pt.set, Request(c.Id), ibv.Status(c.Status)
	q := pt.pairs[c.Qpn]
	done := ibv.Completion{ID: c.Id, QPN: c.Qpn, Status: state, VendorErr: c.VendorErr}
	if q != nil && done.Failed() {
		q.Note(pt.info.Report(&done), r)
	}
	switch r.kind() {
	case idReceive:
		taken := int(pt.Taken)
		pt.Receives--
		pt.Taken = 0
		switch {
		case q == nil && state == ibv.Success:
			s.link.Ghost()
		case q != nil && state == ibv.Success:
			q.Received(s.slots.bytes(int32(r.Value()))[:c.N], taken)
		case q != nil:
			q.Broke()
		}
		if state != ibv.Success { // a packet may have come in part
			clear(s.slots.bytes(int32(r.Value()))[:wire.HeadSize])
		}
		pt.giveBack(int32(r.Value()))
	case idDatagram:
		pt.datagram(c)
	case idSend:
		if q == nil {
			return // of an earlier queue pair
		}
		if state != ibv.Success {
			q.Broke()
		} else {
			q.Sent(r.Value())
		}
	case idMove:
		if q != nil {
			q.Moved(r.Value(), state)
		}
	}
}

// receiveDatagrams gives all its buffers to the datagram queue pair.
func (pt *Port) receiveDatagrams() error {
	for s := range int32(datagramsMax) {
		if err := pt.receiveDatagram(s); err != nil {
			return err
		}
	}
	return nil
}

// receiveDatagram gives one. The ID also says how often the queue pair was revived before.
func (pt *Port) receiveDatagram(s int32) error {
	_, err := pt.adapter.PostRecv(pt.ud, 0, []ibv.Recv{{
		ID: idDatagram | pt.revived<<16 | uint64(s),
		Segments: []ibv.Segment{{Addr: uint64(pt.small.addr(s)), N: datagramSize,
			Key: pt.small.key(s, pt)}}}})
	return err
}

// sendDatagram sends b, which it copies, to a queue pair for datagrams.
func (pt *Port) sendDatagram(ah ibv.AH, qpn, qkey uint32, b []byte) error {
	n := copy(pt.text[:], b)
	pt.segment[0] = ibv.Segment{Addr: uint64(memory.AddrOf(pt.text[:])), N: uint32(n)}
	pt.request = ibv.Work{ID: idMask, Op: ibv.OpSend, Signaled: true, Inline: true,
		Segments: pt.segment[:], AH: ah, QPN: qpn, QKey: qkey}
	return pt.adapter.PostSend(pt.ud, &pt.request)
}

// datagram takes in completions of the datagram queue pair.
func (pt *Port) datagram(c *completion) {
	s := int32(c.Id & 0xffff)
	if c.Id&^idMask>>16 != pt.revived {
		return // the buffer was given to it again when it was revived
	}
	if ibv.Status(c.Status) == ibv.Success && c.N >= ibv.DatagramHead {
		pt.set.link.Datagram(pt.small.bytes(s)[ibv.DatagramHead:c.N])
	}
	var err error
	switch {
	case pt.gone() || pt.set.closed:
	case ibv.Status(c.Status) == ibv.Success:
		err = pt.receiveDatagram(s)
	default:
		pt.revived++
		if err = pt.adapter.ReviveQP(pt.ud, pt.qkey); err == nil {
			err = pt.receiveDatagrams()
		}
	}
	if err != nil {
		pt.set.lose(pt, lost)
	}
}

// events takes the adapter's events.
func (pt *Port) events() {
	s := pt.set
	for !pt.gone() {
		e := pt.adapter.Event()
		if s.cfg.Event != nil && e.Kind != ibv.NoEvent {
			s.cfg.Event(e, pt.info)
		}
		switch e.Kind {
		case ibv.NoEvent:
			return
		case ibv.QPFailed:
			if q := pt.pairs[e.QPN]; q != nil {
				q.Broke()
			}
		case ibv.PortDown:
			s.turn(pt, wentDown)
		case ibv.PortUp:
			s.turn(pt, wentUp)
		case ibv.Fatal:
			by := lost
			if e.OfQueue() {
				by = queueDied
			}
			s.lose(pt, by)
		}
	}
}

func (pt *Port) Number() int    { return pt.index }      // the port's number
func (pt *Port) Queues() int    { return len(pt.pairs) } // how many queue pairs are over it
func (pt *Port) Info() ibv.Info { return pt.info }       // the adapter's port

// Adapter is the port's adapter, with the domain of its memory.
func (pt *Port) Adapter() (ibv.Device, ibv.PD) { return pt.adapter, pt.pd }
