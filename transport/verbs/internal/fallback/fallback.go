// Package fallback is an adapter made of messages: its queue pairs and datagrams go over another link
// between the same tasks, which need no RDMA adapter for it. The link over verbs has it as a port
// that is used where no adapter leads to a peer.
//
//	fallback.go  ibv.Device: buffers, completions, datagrams
//	pair.go      queue pairs
//	wire.go      the messages
//
// A queue pair is what adapters' are: packets arrive once and in order, each in a receive buffer; a
// request is complete when its packet has; there is no RDMA. The carrier loses nothing, but has no
// order, and takes messages that are shorter than packets. So packets go in numbered pieces, and
// the receiver reports how many packets it has taken. That the carrier has delivered a piece would
// not do: it delivers also packets for a queue pair that has just been destroyed.
//
// Environment variables: none. Nothing happens outside calls, among them the carrier's Progress,
// inside which messages come. Messages that wait for room of the carrier are tried again in Poll.
// The owner's lock, which is also the carrier's, protects all.
package fallback

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
)

// Carrier is the part that the adapter needs of the link that it goes over.
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
	// piecesMax is how many pieces of a queue pair may be ahead of a missing one: more than
	// peers send ahead.
	piecesMax = 1024
)

// Adapter is ibv.Device, as far as the spare port uses one: there is no memory that an adapter would
// have to reach, one queue of each kind, and nothing to sleep on, as the carrier has its own.
type Adapter struct {
	ibv.Device // nil

	carrier Carrier
	pairs   map[uint32]*pair
	numbers uint32 // of the last queue pair: none comes twice
	most    int    // bytes of data in one message
	failed  map[transport.Endpoint]bool

	receives, datagrams []buffer
	done                []ibv.Completion
	events              []ibv.Event
	closed              bool
	scratch             []byte
	op                  transport.Op // of messages: they have no data of their own
}

// buffer is memory of a receive or of a request.
type buffer struct {
	id uint64
	ibv.Segment
}

func (b *buffer) bytes() []byte { return memory.Bytes(transport.Addr(b.Addr), uint64(b.N)) }

// only is the memory of a receive or of a request, which has one segment.
func only(id uint64, segments []ibv.Segment) buffer { return buffer{id, segments[0]} }

// New makes an adapter over c.
func New(c Carrier) *Adapter {
	a := &Adapter{carrier: c, pairs: map[uint32]*pair{}, failed: map[transport.Endpoint]bool{},
		most: min(c.Limits().HeaderMax-headSize, mtu) &^ 7}
	c.Handle(MsgID, a.receive)
	return a
}

// GID is what takes the place of a port's address, for a task.
func GID(ep transport.Endpoint) (g ibv.GID) {
	binary.BigEndian.PutUint32(g[12:], uint32(ep))
	return g
}

func endpointOf(g ibv.GID) transport.Endpoint {
	return transport.Endpoint(binary.BigEndian.Uint32(g[12:]))
}

// Reach makes the carrier reach ep at address: Connect and Reconnect of links in one. Nothing is
// done if ep is there already.
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

// Failed is called when the carrier has given ep up. When something is to go there again, the carrier
// connects it anew.
func (a *Adapter) Failed(ep transport.Endpoint) {
	a.failed[ep] = true
	for _, p := range a.pairs {
		if p.ready && p.ep == ep {
			p.fail(ibv.RetryExcErr)
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
		p.fail(ibv.RetryExcErr)
	}
	return transport.Accept
}

// datagram brings data to a buffer; without one it is lost, as datagrams may be.
func (a *Adapter) datagram(data []byte) {
	if len(a.datagrams) == 0 || ibv.DatagramHead+len(data) > len(a.datagrams[0].bytes()) {
		return
	}
	b := a.datagrams[0]
	a.datagrams = a.datagrams[1:]
	copy(b.bytes()[ibv.DatagramHead:], data)
	a.done = append(a.done, ibv.Completion{ID: b.id, N: uint32(ibv.DatagramHead + len(data))})
}

// Info implements ibv.Device.
func (a *Adapter) Info() ibv.Info {
	return ibv.Info{Name: "UDP/IP", MTU: mtu, MaxMessage: mtu, MaxCQE: completions,
		MaxReceives: receives, Active: true}
}

// CreateSRQ implements ibv.Device.
func (a *Adapter) CreateSRQ(ibv.PD, int, int) (ibv.SRQ, error) { return 1, nil }

// DestroySRQ implements ibv.Device.
func (a *Adapter) DestroySRQ(ibv.SRQ) error { return nil }

// CreateQP implements ibv.Device. That for datagrams is 0: tasks, not numbers, say whose they are.
func (a *Adapter) CreateQP(attr ibv.QPAttr) (ibv.QP, uint32, error) {
	if attr.Datagrams {
		return 0, 0, nil
	}
	a.numbers++
	a.pairs[a.numbers] = &pair{a: a, number: a.numbers, depth: attr.MaxRequests}
	return ibv.QP(a.numbers), a.numbers, nil
}

// ConnectQP implements ibv.Device.
func (a *Adapter) ConnectQP(qp ibv.QP, _ uint32, r ibv.Remote) error {
	p := a.pairs[uint32(qp)]
	p.ep, p.remote, p.ready = endpointOf(r.GID), r.QPN, true
	return nil
}

// ResetQP implements ibv.Device. The number may be known to the peer, so it stays.
func (a *Adapter) ResetQP(qp ibv.QP) error {
	p := a.pairs[uint32(qp)]
	*p = pair{a: a, number: p.number, depth: p.depth}
	return nil
}

// ReviveQP implements ibv.Device: there is nothing that could have failed.
func (a *Adapter) ReviveQP(ibv.QP, uint32) error { return nil }

// FailQP implements ibv.Device.
func (a *Adapter) FailQP(qp ibv.QP) { a.pairs[uint32(qp)].end(ibv.WRFlushErr) }

// DestroyQP implements ibv.Device.
func (a *Adapter) DestroyQP(qp ibv.QP) {
	p := a.pairs[uint32(qp)]
	p.giveBack()
	delete(a.pairs, uint32(qp))
}

// PostSend implements ibv.Device. The packet's memory is read until the request is complete, or the
// queue pair destroyed.
func (a *Adapter) PostSend(qp ibv.QP, w *ibv.Work) error {
	b := only(w.ID, w.Segments)
	if w.AH != 0 {
		return a.send(transport.Endpoint(w.AH-1), &head{kind: kindDatagram}, b.bytes())
	}
	p := a.pairs[uint32(qp)]
	switch {
	case w.Op != ibv.OpSend || b.N > mtu || !p.ready:
		return unix.EINVAL
	case len(p.works) == p.depth:
		return unix.ENOMEM
	}
	p.works = append(p.works, work{b, w.Signaled})
	if p.failed {
		p.end(ibv.WRFlushErr)
		return nil
	}
	p.push()
	return nil
}

// PostRecv implements ibv.Device.
func (a *Adapter) PostRecv(_ ibv.QP, srq ibv.SRQ, list []ibv.Recv) (int, error) {
	for _, r := range list {
		b := only(r.ID, r.Segments)
		if srq == 0 {
			a.datagrams = append(a.datagrams, b)
		} else {
			a.receives = append(a.receives, b)
		}
	}
	for _, p := range a.pairs {
		if len(p.early) > 0 {
			p.assemble()
		}
	}
	return len(list), nil
}

// CreateAH implements ibv.Device. It is the task and 1, since 0 is none.
func (a *Adapter) CreateAH(_ ibv.PD, gid ibv.GID, _ uint16) (ibv.AH, error) {
	return ibv.AH(endpointOf(gid)) + 1, nil
}

// DestroyAH implements ibv.Device.
func (a *Adapter) DestroyAH(ibv.AH) {}

// PollCQ implements ibv.Device.
func (a *Adapter) PollCQ(_ ibv.CQ, out []ibv.Completion) int {
	for _, p := range a.pairs {
		p.push()
	}
	n := copy(out, a.done)
	a.done = append(a.done[:0], a.done[n:]...)
	return n
}

// Event implements ibv.Device.
func (a *Adapter) Event() (e ibv.Event) {
	if len(a.events) > 0 {
		e = a.events[0]
		a.events = a.events[1:]
	}
	return e
}

// Close implements ibv.Device. The carrier has another owner, and may go on: packets that it brings
// then are dropped, as the buffers' memory is gone.
func (a *Adapter) Close() error {
	a.closed, a.receives, a.datagrams, a.done = true, nil, nil, nil
	clear(a.pairs)
	return nil
}

var _ ibv.Device = (*Adapter)(nil)
