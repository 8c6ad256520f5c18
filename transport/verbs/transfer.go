package verbs

import (
	"lapi/transport"
	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/wire"
)

// Put implements transport.Link.
func (l *Link) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return transfer(l, ep, op, false, false)
}

// Get implements transport.Link.
func (l *Link) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return transfer(l, ep, op, true, false)
}

// PutNotice implements transport.Noticing. RouteSingleCopy is RDMA whatever the length, RouteAny
// from Config.BulkMin on. Done, and Op.Done, mean that the data is in place.
func (l *Link) PutNotice(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return transfer(l, ep, op, false, true)
}

// GetNotice implements transport.Noticing; the routes are those of PutNotice.
func (l *Link) GetNotice(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return transfer(l, ep, op, true, true)
}

func transfer(l *Link, ep transport.Endpoint, op *transport.Op, get, notices bool) (transport.Status,
	error) {
	p, err := l.usable(ep)
	if err != nil {
		return transport.Done, err
	}
	return p.transfers.Start(op, get, notices)
}

// Move implements transport.Mover.
func (l *Link) Move(ep transport.Endpoint, op *transport.VectorOp) error {
	p, err := l.usable(ep)
	if err != nil {
		return err
	}
	return p.transfers.StartList(op)
}

// HandleNotices implements transport.Noticing.
func (l *Link) HandleNotices(n transport.NoticeHandler, f transport.FaultHandler) {
	l.transfers.Handle(n, f)
}

// BulkMin is from how many bytes on RouteAny is RDMA.
func (l *Link) BulkMin() uint64 { return l.cfg.BulkMin }

var (
	_ transport.Noticing = (*Link)(nil)
	_ transport.Mover    = (*Link)(nil)
)

// A peer is bulk.Task.

func (p *peer) Endpoint() transport.Endpoint { return p.ep }
func (p *peer) Gone() bool                   { return p.gone }
func (p *peer) Packets() *bulk.Lane          { return &p.Lane }
func (p *peer) Lanes() int                   { return len(p.lanes) }

// Spread begins the lanes of p that it has not, for a long transfer. The way of the packets is as
// good as a lane.
func (p *peer) Spread() {
	if len(p.lanes) > 1 && p.Works() {
		p.beginLanes()
	}
}

func (p *peer) LaneAt(i int) *bulk.Lane {
	if p.lanes[i] == nil {
		return nil
	}
	return &p.lanes[i].Lane
}

// Control sends a packet of no message.
func (p *peer) Control(k wire.Kind, c *wire.Control, data transport.Addr, n uint64) error {
	var b [wire.GrantSize]byte
	return p.transmit(k, 0, b[:c.Encode(b[:], k)], data, n)
}

// Ports implements bulk.Task. Of the spare port there are no keys.
func (p *peer) Ports(lanes bool) uint32 {
	mask := uint32(1) << p.Far()
	if lanes {
		for k := range p.lanes {
			mask |= 1 << p.routes.At(k).Far()
		}
	}
	return mask
}

// A pair is bulk.Queue.

func (q *queue) Fail(refused bool) {
	q.refused = q.refused || refused
	q.fail()
}

// Contact implements bulk.Task.
func (p *peer) Contact() {
	if !p.Works() {
		p.queue.begin()
	}
}

// To implements bulk.Task.
func (p *peer) To() *wire.Address { return &p.to }

// regions is the part of transport.Link that registers memory.
type regions struct{ of *Link }

// Register implements transport.Link. The memory must stay where it is until Deregister: not
// unmapped, nor its pages given back.
func (r regions) Register(a transport.Addr, n uint64, access transport.Access) (transport.Region,
	error) {
	region := transport.Region{Addr: a, N: n}
	if r.of.closed {
		return region, transport.ErrClosed
	}
	keys := r.of.transfers.Register(a, n, access)
	if keys != (wire.Keys{}) {
		region.Key = r.address().EncodeKeys(&keys)
	}
	return region, nil
}

// Deregister implements transport.Link.
func (r regions) Deregister(region transport.Region) error {
	if !r.of.closed {
		r.of.transfers.Deregister(region.Addr, region.N, wire.RegionKeys(region.Key))
	}
	return nil
}

// address is that of this task now.
func (r regions) address() *wire.Address {
	own := &r.of.own
	own.Places = r.of.ports.Places()
	return own
}

// nonatomic is the part of transport.Link that this one does without.
type nonatomic struct{}

// Atomic implements transport.Link: not supported. An adapter's atomics are not the processor's;
// transport/emul makes them of messages.
func (nonatomic) Atomic(ep transport.Endpoint, _ transport.AtomicKind,
	_ *transport.Op) (transport.Status, error) {
	return transport.Done, transport.ErrNotSupported
}
