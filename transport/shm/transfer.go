package shm

import (
	"math/bits"
	"sync/atomic"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
)

// The route of a transfer (RouteAny). A peer that polls gets data in messages: both ends copy at
// once. This task does not wait for a peer that computes or sleeps: it copies to or from that
// peer's memory, where the kernel permits that.

// putDirectMin is from how many bytes on a put to a peer that does not poll is a single copy: equal
// at 2 to 4 KiB.
const putDirectMin = 4 << 10

// getAskMin is from how many bytes on a get is answered by a peer that polls: reading less costs
// less than asking.
const getAskMin = 4 << 10

// states of OpState.Kind: the next step of an operation
const (
	doMessages = uint8(node.InMessages)
	doCopyTo   = transport.CopiedTo   // node.CopyTo
	doCopyFrom = transport.CopiedFrom // node.CopyFrom
	doGet      = uint8(node.AskGet)
	doAtomic   = uint8(node.Operate)
)

var (
	_ [node.CopyTo - doCopyTo]struct{}
	_ [doCopyTo - node.CopyTo]struct{}
	_ [node.CopyFrom - doCopyFrom]struct{}
	_ [doCopyFrom - node.CopyFrom]struct{}
)

// Polls says whether ep looks at its messages now or soon.
func (l *Link) Polls(ep transport.Endpoint) bool {
	p, err := l.path(ep)
	return err == nil && p.polls()
}

func (p *peer) polls() bool {
	return atomic.LoadUint64(&p.outHead.Armed)|uint64(atomic.LoadUint32(&p.outHead.Away)) ==
		layout.Awake
}

// PartSize is in parts of how many bytes n bytes are best sent.
func (l *Link) PartSize(n uint64) int {
	return int(l.node.ChunkOf[min(bits.Len64(n|1)-1, layout.ChunkClasses-1)])
}

// SetAway tells all peers whether this task's user polls; see node_segment_head.away.
func (l *Link) SetAway(away bool) {
	if !l.closed {
		atomic.StoreUint32(&l.own.head().Away, flag(away))
	}
}

// CanDirect says whether Put and Get work to ep.
func (l *Link) CanDirect(ep transport.Endpoint) bool {
	p, err := l.transferPath(ep)
	return err == nil && p.node.Direct != 0
}

// Put implements transport.Link: a single copy. It never returns Queued.
func (l *Link) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return transport.Done, l.copy(ep, op, node.BareTo)
}

// Get implements transport.Link: a single copy. It never returns Queued.
func (l *Link) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return transport.Done, l.copy(ep, op, node.BareFrom)
}

// copy moves all of op.
func (l *Link) copy(ep transport.Endpoint, op *transport.Op, how int) error {
	p, err := l.transferPath(ep)
	if err != nil {
		return err
	}
	if op.N > 1<<63-1 {
		return transport.ErrBadParam
	}
	l.node.Transfer = [6]uint64{uint64(op.Local), uint64(op.Remote), op.N}
	return l.outcome(p, node.Transfer(l.node, p.ring, how))
}

// PutVector implements transport.Vectored.
func (l *Link) PutVector(ep transport.Endpoint, local, remote []transport.Range) error {
	return l.copyRanges(ep, local, remote, false)
}

// GetVector implements transport.Vectored.
func (l *Link) GetVector(ep transport.Endpoint, local, remote []transport.Range) error {
	return l.copyRanges(ep, local, remote, true)
}

// transferPath is path for operations on the peer's memory.
func (l *Link) transferPath(ep transport.Endpoint) (*peer, error) {
	if l.config.MessagesOnly {
		return nil, transport.ErrNotSupported
	}
	return l.path(ep)
}

// PutNotice implements transport.Noticing.
func (l *Link) PutNotice(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	p, err := l.transferPath(ep)
	if err == nil && op.N > 1<<62 {
		err = transport.ErrBadParam
	}
	if err == nil {
		err = l.announced(p)
	}
	if err != nil {
		return transport.Done, err
	}
	if p.ops.head != nil {
		return transport.Done, transport.ErrBusy // others wait for room in front
	}
	op.Link = transport.OpState{Ep: ep, Kind: doMessages}
	if op.N > 0 && (op.Route == transport.RouteSingleCopy ||
		op.Route == transport.RouteAny && p.node.Direct != 0 && op.N >= putDirectMin &&
			!p.polls()) {
		op.Link.Kind = doCopyTo
	}
	return l.begin(p, op)
}

// GetNotice implements transport.Noticing.
func (l *Link) GetNotice(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	p, err := l.transferPath(ep)
	if err == nil && (op.N > 1<<62 || op.N == 0) {
		err = transport.ErrBadParam
	}
	op.Link = transport.OpState{Ep: ep, Kind: doGet}
	if err != nil {
		return l.await(ep, op, err)
	}
	if op.Route == transport.RouteSingleCopy ||
		op.Route == transport.RouteAny && p.node.Direct != 0 && (op.N < getAskMin || !p.polls()) {
		op.Link.Kind = doCopyFrom
	}
	return l.begin(p, op)
}

// Atomic implements transport.Link.
func (l *Link) Atomic(ep transport.Endpoint, kind transport.AtomicKind,
	op *transport.Op) (transport.Status, error) {
	p, err := l.transferPath(ep)
	if err == nil && (!transport.AllAtomics.Has(kind) || op.Width != 4 && op.Width != 8) {
		err = transport.ErrNotSupported
	}
	op.Link = transport.OpState{Ep: ep, Kind: doAtomic, Mark: uint64(kind)}
	if err != nil {
		return l.await(ep, op, err)
	}
	return l.begin(p, op)
}

// await makes op, to an endpoint for which path said err, wait if that is awaited.
func (l *Link) await(ep transport.Endpoint, op *transport.Op, err error) (transport.Status, error) {
	if q := l.awaited[ep]; err == transport.ErrBusy && q != nil {
		q.push(op)
		return transport.Queued, nil
	}
	return transport.Done, err
}

// ContinuePut takes over a put of which the first at bytes went, or, of a single copy, all of them.
func (l *Link) ContinuePut(ep transport.Endpoint, op *transport.Op,
	at uint64) (transport.Status, error) {
	p, err := l.path(ep)
	if err != nil {
		return transport.Done, err
	}
	op.Link = transport.OpState{Ep: ep, Kind: doMessages, Offset: at}
	l.enqueue(p, op)
	return transport.Queued, nil
}

// begin does what there is room for; the rest waits.
func (l *Link) begin(p *peer, op *transport.Op) (transport.Status, error) {
	if p.ops.head == nil {
		status, err := l.advance(p, op)
		if err == transport.ErrNotSupported && op.Route == transport.RouteAny &&
			op.Link.Offset == 0 {
			// the kernel forbids it now
			op.Link.Kind = map[uint8]uint8{doCopyTo: doMessages, doCopyFrom: doGet}[op.Link.Kind]
			status, err = l.advance(p, op)
		}
		if err != transport.ErrBusy || op.Link.Kind == doMessages && op.Link.Offset == 0 {
			return status, err
		}
	}
	l.enqueue(p, op)
	return transport.Queued, nil
}

// advance goes on with op. ErrBusy: it waits for room.
func (l *Link) advance(p *peer, op *transport.Op) (transport.Status, error) {
	if err := l.announced(p); err != nil {
		return transport.Done, err
	}
	l.node.Transfer = [6]uint64{uint64(op.Local), uint64(op.Remote), op.N, op.Link.Offset,
		op.Notice[0], op.Notice[1]}
	if op.Link.Kind == doAtomic {
		l.node.Transfer = [6]uint64{0, uint64(op.Remote), uint64(op.Width), op.Link.Mark,
			op.Operand, op.Compare}
	}
	rc := node.Transfer(l.node, p.ring, int(op.Link.Kind))
	if rc == node.Issued {
		l.inFlight[l.node.Event.Done] = op
		return transport.Queued, nil
	}
	op.Link.Offset = l.node.Transfer[3]
	return transport.Done, l.outcome(p, rc)
}
