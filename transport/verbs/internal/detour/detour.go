// Package detour is an adapter made of messages: its queue pairs and datagrams go over another link
// between the same tasks, which need no RDMA adapter for it. The link over verbs has it as a port
// that is used where no adapter leads to a peer.
//
//	detour.go  adapter.Adapter: buffers, completions, datagrams
//	pair.go    queue pairs
//	wire.go    the messages
//
// A queue pair is what adapters' are: packets arrive once and in order, each in a receive buffer; a
// request is complete when its packet has; there is no RDMA. The carrier loses nothing, but has no
// order, and takes messages that are shorter than packets. So packets go in numbered pieces, and
// the receiver tells how many packets it has taken. That the carrier has delivered a piece would
// not do: it delivers also what is for a queue pair that has just been destroyed.
//
// Environment variables: none. Nothing happens outside calls, among them the carrier's Progress,
// inside which messages come. What waits for the carrier to have room is tried again in Poll. The
// owner's lock, which is also the carrier's, protects all.
package detour

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/adapter"
)

// Carrier is what the adapter needs of the link that it goes over.
type Carrier interface {
	Limits() transport.Limits
	Handle(id transport.MsgID, h transport.MsgHandler)
	Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
		op *transport.Op) (transport.Status, error)
	Connect(ep transport.Endpoint, a transport.Address) error
	Reconnect(ep transport.Endpoint, a transport.Address) error
	Disconnect(ep transport.Endpoint, err error)
	AddressOf(ep transport.Endpoint) transport.Address
	// Progress is called only while the owner closes.
	Progress(max int) int
}

// MsgID is the kind of the carrier's messages that are the adapter's.
const MsgID = transport.MaxMsgID

const (
	mtu         = 4096
	completions = 1 << 14 // as many as an adapter has
	receives    = 1 << 12
	// piecesMax is how many pieces of a queue pair may be ahead of one that is missing: more than
	// peers send ahead.
	piecesMax = 1024
)

// Adapter is adapter.Adapter.
type Adapter struct {
	carrier Carrier
	pairs   map[uint32]*pair
	numbers uint32 // of the last queue pair: none comes twice
	most    int    // bytes of data in one message
	failed  map[transport.Endpoint]bool

	receives, datagrams []adapter.Buffer
	size                [2]uint32 // of these
	done                []adapter.Completion
	events              []adapter.Event
	closed              bool
	scratch             []byte
	op                  transport.Op // of messages: they have no data of their own
}

// New makes an adapter over c.
func New(c Carrier) *Adapter {
	a := &Adapter{carrier: c, pairs: map[uint32]*pair{}, failed: map[transport.Endpoint]bool{},
		most: min(c.Limits().HeaderMax-headSize, mtu) &^ 7}
	c.Handle(MsgID, a.receive)
	return a
}

// GID is what takes the place of a port's address, for a task.
func GID(ep transport.Endpoint) (g adapter.GID) {
	binary.BigEndian.PutUint32(g[12:], uint32(ep))
	return g
}

func endpointOf(g adapter.GID) transport.Endpoint {
	return transport.Endpoint(binary.BigEndian.Uint32(g[12:]))
}

// Reach has ep be at address: what Connect and Reconnect of links is, in one. Nothing is done if it
// is there already.
func (a *Adapter) Reach(ep transport.Endpoint, address []byte) error {
	at := transport.Address{Bytes: address}
	switch known := a.carrier.AddressOf(ep).Bytes; {
	case len(known) == 0:
		return a.carrier.Connect(ep, at)
	case slices.Equal(known, address):
		return nil
	}
	a.carrier.Disconnect(ep, transport.ErrUnreachable)
	delete(a.failed, ep)
	return a.carrier.Reconnect(ep, at)
}

// Failed is told when the carrier has given ep up. When something is to go there again, the carrier
// connects it anew.
func (a *Adapter) Failed(ep transport.Endpoint) {
	a.failed[ep] = true
	for _, p := range a.pairs {
		if p.ready && p.ep == ep {
			p.fail(adapter.RetryOver)
		}
	}
}

// Drive makes the carrier's progress, for an owner that closes.
func (a *Adapter) Drive() { a.carrier.Progress(1 << 10) }

// send sends a message. ErrBusy: later.
func (a *Adapter) send(ep transport.Endpoint, h *head, data []byte) error {
	if a.failed[ep] {
		err := a.carrier.Reconnect(ep, a.carrier.AddressOf(ep))
		if err != nil && err != transport.ErrBusy { // which says that there is a connection
			return err
		}
		delete(a.failed, ep)
	}
	a.scratch = h.encode(a.scratch, data)
	_, err := a.carrier.Send(ep, MsgID, a.scratch, &a.op)
	return err
}

// receive takes in a message of the carrier.
func (a *Adapter) receive(m *transport.Msg) transport.Verdict {
	var h head
	data, ok := h.decode(m.Hdr)
	if !ok || len(m.Data) > 0 || a.closed {
		return transport.Accept
	}
	if h.kind == kindDatagram {
		a.datagram(data)
		return transport.Accept
	}
	p := a.pairs[h.to]
	if p == nil || !p.ready || p.ep != m.From || p.remote != h.from {
		if h.kind == kindPiece { // no answer, if it cannot go: the next piece gets one
			_ = a.send(m.From, &head{kind: kindNone, to: h.from, from: h.to}, nil)
		}
		return transport.Accept
	}
	switch {
	case p.failed:
	case h.kind == kindPiece:
		return p.onPiece(&h, data)
	case h.kind == kindTaken:
		p.onTaken(h.number)
	default:
		p.fail(adapter.RetryOver)
	}
	return transport.Accept
}

// datagram brings data to a buffer; without one it is lost, as datagrams may be.
func (a *Adapter) datagram(data []byte) {
	if len(a.datagrams) == 0 || adapter.DatagramHead+len(data) > int(a.size[1]) {
		return
	}
	b := a.datagrams[0]
	a.datagrams = a.datagrams[1:]
	copy(memory.Bytes(b.Addr, uint64(a.size[1]))[adapter.DatagramHead:], data)
	a.done = append(a.done, adapter.Completion{ID: b.ID, Datagram: true,
		N: uint32(adapter.DatagramHead + len(data))})
}

// Info implements adapter.Adapter.
func (a *Adapter) Info() adapter.Info {
	return adapter.Info{Name: "UDP/IP", MTU: mtu, MaxMessage: mtu, MaxCQE: completions,
		MaxReceive: receives}
}

// Register implements adapter.Adapter: there is nothing that an adapter would have to reach.
func (a *Adapter) Register(transport.Addr, uint64, transport.Access) (adapter.Region, error) {
	return adapter.Region{}, unix.EOPNOTSUPP
}

// Deregister implements adapter.Adapter.
func (a *Adapter) Deregister(adapter.Region) error { return unix.EOPNOTSUPP }

// Open implements adapter.Adapter. Tasks, not numbers, say whose datagrams are.
func (a *Adapter) Open(int, int, int, uint32) (uint32, error) { return 0, nil }

// Create implements adapter.Adapter.
func (a *Adapter) Create(depth int) (adapter.QP, error) {
	a.numbers++
	a.pairs[a.numbers] = &pair{a: a, number: a.numbers, depth: depth}
	return adapter.QP(a.numbers), nil
}

// Connect implements adapter.Adapter.
func (a *Adapter) Connect(qp adapter.QP, _ uint32, r adapter.Remote) error {
	p := a.pairs[uint32(qp)]
	p.ep, p.remote, p.ready = endpointOf(r.GID), r.QPN, true
	return nil
}

// Reset implements adapter.Adapter. The number may be known to the peer, so it stays.
func (a *Adapter) Reset(qp adapter.QP) error {
	p := a.pairs[uint32(qp)]
	*p = pair{a: a, number: p.number, depth: p.depth}
	return nil
}

// Fail implements adapter.Adapter.
func (a *Adapter) Fail(qp adapter.QP) { a.pairs[uint32(qp)].end(adapter.Flushed) }

// Destroy implements adapter.Adapter.
func (a *Adapter) Destroy(qp adapter.QP) {
	p := a.pairs[uint32(qp)]
	p.giveBack()
	delete(a.pairs, uint32(qp))
}

// Post implements adapter.Adapter. The packet's memory is read until the request is complete, or
// the queue pair destroyed.
func (a *Adapter) Post(qp adapter.QP, w *adapter.Work) error {
	p := a.pairs[uint32(qp)]
	switch {
	case w.Op != adapter.Send || w.N > mtu || !p.ready:
		return unix.EINVAL
	case len(p.works) == p.depth:
		return unix.ENOMEM
	}
	p.works = append(p.works, *w)
	if p.failed {
		p.end(adapter.Flushed)
		return nil
	}
	p.push()
	return nil
}

// Receive implements adapter.Adapter.
func (a *Adapter) Receive(datagram bool, n uint32, buffers []adapter.Buffer) (int, error) {
	if datagram {
		a.size[1], a.datagrams = n, append(a.datagrams, buffers...)
		return len(buffers), nil
	}
	a.size[0], a.receives = n, append(a.receives, buffers...)
	for _, p := range a.pairs {
		if len(p.early) > 0 {
			p.assemble()
		}
	}
	return len(buffers), nil
}

// Path implements adapter.Adapter. It is the task and 1, since 0 is none.
func (a *Adapter) Path(r adapter.Remote) (adapter.Path, error) {
	return adapter.Path(endpointOf(r.GID)) + 1, nil
}

// Free implements adapter.Adapter.
func (a *Adapter) Free(adapter.Path) {}

// Datagram implements adapter.Adapter.
func (a *Adapter) Datagram(p adapter.Path, _, _ uint32, b []byte) error {
	return a.send(transport.Endpoint(p-1), &head{kind: kindDatagram}, b)
}

// Revive implements adapter.Adapter: there is nothing that could have failed.
func (a *Adapter) Revive() error { return nil }

// Poll implements adapter.Adapter.
func (a *Adapter) Poll(out []adapter.Completion) int {
	for _, p := range a.pairs {
		p.push()
	}
	n := copy(out, a.done)
	a.done = append(a.done[:0], a.done[n:]...)
	return n
}

// Files implements adapter.Adapter: the carrier has its own.
func (a *Adapter) Files() []int { return nil }

// Arm implements adapter.Adapter.
func (a *Adapter) Arm() error { return nil }

// Quiet implements adapter.Adapter.
func (a *Adapter) Quiet() {}

// Event implements adapter.Adapter.
func (a *Adapter) Event() (e adapter.Event) {
	if len(a.events) > 0 {
		e = a.events[0]
		a.events = a.events[1:]
	}
	return e
}

// Close implements adapter.Adapter. The carrier is another's, and may go on: what it brings then is
// dropped, as the buffers' memory is gone.
func (a *Adapter) Close() error {
	a.closed, a.receives, a.datagrams, a.done = true, nil, nil, nil
	clear(a.pairs)
	return nil
}

var _ adapter.Adapter = (*Adapter)(nil)
