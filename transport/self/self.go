// Package self is the link from a task to itself.
//
// Abilities: put, get and atomics on the spot (they are memory accesses), messages in the order
// sent. Limits: a message of 16 KiB, any length of put and get, any alignment. Progress: messages
// are copied and offered to their handlers by Progress, never by Send, so that handlers do not
// nest; a refused one is offered again in a later Progress. At most roomMax bytes wait; beyond that
// Send says ErrBusy. Environment variables: none.
//
// Addresses are user memory: memory.Guard must have run on the calling goroutine.
package self

import (
	"crypto/rand"
	"fmt"

	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/memory"
)

const (
	sendMax   = 16 << 10 // bytes of header and data
	headerMax = 1 << 10
	roomMax   = 4 << 20 // bytes of messages that wait, refused ones included
	cookie    = 16      // bytes of the address
)

// Link is the link of a task to itself. See transport.Link for what its methods do and their
// locking.
type Link struct {
	clock    transport.Clock
	address  [cookie]byte
	ep       transport.Endpoint
	open     bool // connected
	closed   bool
	handlers [transport.MaxMsgID + 1]transport.MsgHandler
	pool     hold.Pool
	queue    hold.Queue
	sent     uint64        // messages so far; the mark of the next
	flushes  *transport.Op // waiting, in the order of their marks
	lastOp   *transport.Op
	stats    transport.Stats
}

// New makes the link. clock paces the repetition of refused messages. Connect, with the link's own
// address, says under which number the task knows itself.
func New(clock transport.Clock) (*Link, error) {
	l := &Link{clock: clock}
	if _, err := rand.Read(l.address[:]); err != nil {
		return nil, fmt.Errorf("self: %w", err)
	}
	l.queue.Init(&l.pool, l.deliver)
	return l, nil
}

// Limits implements transport.Link.
func (l *Link) Limits() transport.Limits {
	return transport.Limits{
		Caps: transport.CapPut | transport.CapGet | transport.CapAtomicCPU |
			transport.CapOrdered,
		SendMax: sendMax, HeaderMax: headerMax,
		PutMax: 1<<63 - 1, GetMax: 1<<63 - 1,
		PutAlign: 1, GetAlign: 1,
		Atomics: transport.AllAtomics,
	}
}

// Address implements transport.Link.
func (l *Link) Address() transport.Address { return transport.Address{Bytes: l.address[:]} }

// Connect implements transport.Link. The only address it accepts is the link's own.
func (l *Link) Connect(ep transport.Endpoint, a transport.Address) error {
	if l.closed {
		return transport.ErrClosed
	}
	if l.open || string(a.Bytes) != string(l.address[:]) {
		return fmt.Errorf("self: not the link's own address, or connected already: %w",
			transport.ErrBadParam)
	}
	l.ep, l.open = ep, true
	return nil
}

// Disconnect implements transport.Link: messages that wait are dropped.
func (l *Link) Disconnect(ep transport.Endpoint, err error) {
	if !l.open || ep != l.ep {
		return
	}
	l.open = false
	l.queue.Clear()
	l.finishFlushes(^uint64(0), err)
}

// Handle implements transport.Link.
func (l *Link) Handle(id transport.MsgID, h transport.MsgHandler) { l.handlers[id] = h }

// Register implements transport.Link; no registration is needed.
func (l *Link) Register(a transport.Addr, n uint64, _ transport.Access) (transport.Region, error) {
	return transport.Region{Addr: a, N: n}, nil
}

// Deregister implements transport.Link.
func (l *Link) Deregister(transport.Region) error { return nil }

// check says whether an operation to ep is possible at all.
func (l *Link) check(ep transport.Endpoint) error {
	switch {
	case l.closed:
		return transport.ErrClosed
	case !l.open || ep != l.ep:
		return transport.ErrUnreachable
	}
	return nil
}

// Send implements transport.Link. It never returns Queued.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	m, err := l.message(ep, id, hdr, op.N)
	if err != nil {
		return transport.Done, err
	}
	return transport.Done, l.append(m, memory.CopyOut(m.Data, op.Local))
}

// SendGathered implements transport.Gathering.
func (l *Link) SendGathered(ep transport.Endpoint, id transport.MsgID, hdr []byte, n uint64,
	from transport.Gatherer) error {
	m, err := l.message(ep, id, hdr, n)
	if err != nil {
		return err
	}
	if n > 0 {
		err = from.Gather(m.Data)
	}
	return l.append(m, err)
}

// GatherMax implements transport.Gathering.
func (l *Link) GatherMax(transport.Endpoint) int { return sendMax - headerMax }

// message makes a message with room for n bytes of data.
func (l *Link) message(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	n uint64) (*hold.Message, error) {
	if err := l.check(ep); err != nil {
		return nil, err
	}
	if id == 0 || id > transport.MaxMsgID || len(hdr) > headerMax || len(hdr)%8 != 0 ||
		n > uint64(sendMax-len(hdr)) {
		return nil, transport.ErrBadParam
	}
	if l.queue.Bytes() >= roomMax {
		return nil, transport.ErrBusy
	}
	m, err := l.queue.New(ep, id, hdr, int(n))
	if err != nil {
		// the kernel has no memory: there may be some when messages have gone
		return nil, transport.ErrBusy
	}
	return m, nil
}

// append puts a filled message at the end of the queue, or drops it if filling it failed with err,
// which it returns.
func (l *Link) append(m *hold.Message, err error) error {
	if err != nil {
		l.queue.Drop(m)
		return err
	}
	n := uint64(len(m.Data))
	l.queue.Append(m, l.sent)
	l.sent++
	l.stats.PacketsSent++
	l.stats.DataSent += n
	return nil
}

// Put implements transport.Link: a copy.
func (l *Link) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return l.copy(ep, op, op.Remote, op.Local)
}

// Get implements transport.Link: a copy.
func (l *Link) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return l.copy(ep, op, op.Local, op.Remote)
}

func (l *Link) copy(ep transport.Endpoint, op *transport.Op,
	dst, src transport.Addr) (transport.Status, error) {
	if err := l.check(ep); err != nil {
		return transport.Done, err
	}
	if op.N > 1<<63-1 {
		return transport.Done, transport.ErrBadParam
	}
	if err := memory.Copy(dst, src, op.N); err != nil {
		return transport.Done, side(op, err)
	}
	if op.N > 0 {
		l.stats.PacketsSent++
		l.stats.PacketsReceived++
		l.stats.DataSent += op.N
		l.stats.DataReceived += op.N
	}
	return transport.Done, nil
}

// side marks a fault as remote if it is not in the local range; local and remote are one memory
// here.
func side(op *transport.Op, err error) error {
	f, ok := err.(*transport.FaultError)
	if !ok {
		return err
	}
	f.Remote = f.Addr-op.Local >= transport.Addr(op.N)
	return f
}

// Atomic implements transport.Link. Unaligned words work too, under a lock of this process.
func (l *Link) Atomic(ep transport.Endpoint, kind transport.AtomicKind,
	op *transport.Op) (transport.Status, error) {
	if err := l.check(ep); err != nil {
		return transport.Done, err
	}
	if !transport.AllAtomics.Has(kind) || op.Width != 4 && op.Width != 8 {
		return transport.Done, transport.ErrNotSupported
	}
	old, err := memory.Atomic(kind, op.Remote, op.Width, op.Operand, op.Compare)
	if err != nil {
		if f, ok := err.(*transport.FaultError); ok {
			f.Remote = true
		}
		return transport.Done, err
	}
	op.Result = old
	return transport.Done, nil
}

// Flush implements transport.Link.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	if err := l.check(ep); err != nil {
		return transport.Done, err
	}
	if l.accepted() >= l.sent {
		return transport.Done, nil
	}
	op.Link = transport.OpState{Ep: ep, Mark: l.sent}
	if l.flushes == nil {
		l.flushes = op
	} else {
		l.lastOp.Link.Next = op
	}
	l.lastOp = op
	return transport.Queued, nil
}

// accepted is the mark below which every message was accepted.
func (l *Link) accepted() uint64 {
	if oldest, ok := l.queue.Oldest(); ok {
		return oldest
	}
	return l.sent
}

// finishFlushes completes those flushes whose mark is at most upTo.
func (l *Link) finishFlushes(upTo uint64, err error) (n int) {
	for l.flushes != nil && l.flushes.Link.Mark <= upTo {
		op := l.flushes
		l.flushes = op.Link.Next
		op.Link.Next = nil
		op.Done(op, err)
		n++
	}
	return n
}

// Progress implements transport.Link.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	n := l.queue.Offer(max, l.clock)
	if l.flushes != nil {
		n += l.finishFlushes(l.accepted(), nil)
	}
	return n
}

// deliver offers one message to its handler.
func (l *Link) deliver(m *hold.Message) transport.Verdict {
	if m.Refused {
		l.stats.RetransmittedPackets++
	}
	h := l.handlers[m.ID]
	if h == nil {
		l.stats.GhostPackets++
		return transport.Accept
	}
	n := uint64(len(m.Data)) // the handler may change m
	if h(&m.Msg) == transport.Refuse {
		return transport.Refuse
	}
	l.stats.PacketsReceived++
	l.stats.DataReceived += n
	return transport.Accept
}

// Stats implements transport.Link.
func (l *Link) Stats() *transport.Stats { return &l.stats }

// Close implements transport.Link. It must not be called from a handler.
func (l *Link) Close() error {
	if l.closed {
		return nil
	}
	l.closed, l.open = true, false
	l.queue.Clear()
	l.finishFlushes(^uint64(0), transport.ErrClosed)
	l.pool.Release()
	return nil
}

// Descriptors implements transport.Waiter: nobody but the task itself can have news, so there are
// none.
func (l *Link) Descriptors() []int { return nil }

// Arm implements transport.Waiter.
func (l *Link) Arm() bool {
	due := l.queue.Due()
	return due != 0 && (due == 1 || due <= l.clock())
}

// Disarm implements transport.Waiter.
func (l *Link) Disarm() {}

// NextTimeout implements transport.Waiter: when a refused message is to be offered again.
func (l *Link) NextTimeout() int64 { return l.queue.Due() }

var (
	_ transport.Link   = (*Link)(nil)
	_ transport.Waiter = (*Link)(nil)
)
