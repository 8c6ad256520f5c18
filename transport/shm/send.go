package shm

import (
	"errors"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/layout"
)

const (
	sendMax   = layout.ChunkMax
	headerMax = 1016     // the longest that all kinds share; the lane's active messages have more
	gatherMax = 32 << 10 // a gathered message: both ends are to work at once
)

// The longest message and the padding in front of it must fit an empty ring, wherever it begins;
// header units must fit a byte and the data's length 16 bits of the head word.
// slotMax is header and data of the longest message without a chunk.
const slotMax = layout.MessageSlots*layout.SlotSize - 8

var (
	_ [layout.RingSlots - 2*layout.MessageSlots]struct{}
	_ [255 - headerMax/layout.HeaderUnit]struct{}
	_ [slotMax - layout.InlineMax - headerMax]struct{}
	_ [1<<16 - 1 - slotMax]struct{}
	_ [layout.NodeKindMax - transport.MaxMsgID]struct{}
	_ [len(layout.NodeLink{}.Out) - headerMax]struct{}
)

var errNonsense = errors.New("shm: the peer has written a value that cannot be")

// Send implements transport.Link. It never returns Queued.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	op *transport.Op) (transport.Status, error) {
	p, err := l.ready(ep, id, hdr, op.N)
	if err != nil {
		return transport.Done, err
	}
	return transport.Done,
		l.outcome(p, node.Send(l.node, p.ring, uint8(id), hdr, uint64(op.Local), op.N))
}

// SendGathered implements transport.Gathering.
func (l *Link) SendGathered(ep transport.Endpoint, id transport.MsgID, hdr []byte, n uint64,
	from transport.Gatherer) error {
	p, err := l.ready(ep, id, hdr, n)
	if err != nil {
		return err
	}
	if rc := node.Begin(l.node, p.ring, uint64(len(hdr)), n); rc != node.Sent {
		return l.outcome(p, rc)
	}
	copy(bytesAt(l.node.Event.Arrival.Body, uint64(len(hdr))), hdr)
	if n > 0 {
		if err := from.Gather(bytesAt(l.node.Event.Arrival.Bytes, n)); err != nil {
			return err // nothing was published: the slots are still free
		}
	}
	return l.outcome(p, node.End(l.node, p.ring, uint8(id), len(hdr)))
}

// GatherMax implements transport.Gathering.
func (l *Link) GatherMax(transport.Endpoint) int { return gatherMax }

// ready checks a message and finds its peer.
func (l *Link) ready(ep transport.Endpoint, id transport.MsgID, hdr []byte,
	n uint64) (*peer, error) {
	p, err := l.path(ep)
	if err != nil {
		return nil, err
	}
	if id == 0 || id > transport.MaxMsgID || len(hdr) > headerMax || len(hdr)%8 != 0 ||
		n > uint64(sendMax-len(hdr)) {
		return nil, transport.ErrBadParam
	}
	return p, l.announced(p)
}

// announced sees to it that the peer knows of this generation before anything else.
func (l *Link) announced(p *peer) error {
	if p.announced {
		return nil
	}
	return l.announce(p)
}

// outcome is the link's error for a result of C's.
func (l *Link) outcome(p *peer, rc node.Result) error {
	switch rc {
	case node.Sent:
		return nil
	case node.Busy:
		return transport.ErrBusy
	case node.BadLocal:
		return &transport.FaultError{Addr: transport.Addr(l.node.Event.Addr)}
	case node.BadRemote:
		return &transport.FaultError{Addr: transport.Addr(l.node.Event.Addr), Remote: true}
	case node.Denied:
		p.settle()
		return transport.ErrNotSupported
	case node.Nonsense:
		l.suspect(p, errNonsense)
	}
	return transport.ErrUnreachable
}
