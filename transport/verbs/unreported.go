package verbs

import (
	"math/rand/v2"
	"slices"

	"lapi/transport"
	"lapi/transport/verbs/internal/wire"
)

// A completion queue that fails, or whose adapter does, loses the completions of packets that the
// adapter has acknowledged: their sender does not have them any more. They lie in receive buffers,
// and a packet's number says whose it is. Hello says which the sender still has. The others are
// complete, so they are taken in from there when the next two queue pairs are joined.

// unreported are packets of a peer that lie in buffers without a completion.
type unreported struct{ buffers []unreportedPacket }

type unreportedPacket struct {
	number uint64
	slot   int32
}

// firstNumber is the number of a connection's first packet. Those of two peers do not meet.
func firstNumber() uint64 { return 1<<32 + rand.Uint64()>>1 }

// claim says whether a buffer has a packet of p's that has not come, and keeps it then.
func (p *peer) claim(slot int32, h *wire.Head) bool {
	same := func(u unreportedPacket) bool { return u.number == h.Number }
	if p.gone || h.Kind == wire.KindCredit || !p.Misses(h.Number) ||
		slices.ContainsFunc(p.buffers, same) {
		return false
	}
	p.buffers = append(p.buffers, unreportedPacket{h.Number, slot})
	return true
}

// headOf reads the head of the packet that may be in a buffer. b is its bytes; nil: there is none.
func headOf(buffer []byte) (h wire.Head, b []byte) {
	b = buffer
	n := wire.PacketLength(b)
	if n > len(b) || !h.Decode(b[:n]) {
		return h, nil
	}
	return h, b[:n]
}

// Claim implements paths.Link.
func (w watcher) Claim(slot int32) bool {
	h, b := headOf(w.l.ports.Bytes(slot))
	if b == nil {
		return false
	}
	for _, p := range w.l.peers {
		if p.claim(slot, &h) {
			return true
		}
	}
	return false
}

// recover takes in the packets before first that have not come. False: q, which is joined, has
// ended meanwhile, or the peer is lost, as a packet is.
func (q *queue) recover(first uint64) bool {
	p, l := q.peer, q.peer.link
	defer p.discard()
	if first > p.Expected && first-p.Expected <= wire.Window {
		l.ports.Claim(func(slot int32) bool {
			h, b := headOf(l.ports.Bytes(slot))
			return b != nil && p.claim(slot, &h)
		})
	}
	round := q.Round()
	for first > p.Expected {
		i := slices.IndexFunc(p.buffers, func(u unreportedPacket) bool { return u.number == p.Expected })
		if i < 0 {
			p.lost(transport.ErrUnreachable)
			return false
		}
		slot := p.buffers[i].slot
		p.buffers = slices.Delete(p.buffers, i, i+1)
		h, b := headOf(l.ports.Bytes(slot))
		p.Window.Grant(h.Credit)
		p.arrived(&h, b, 0)
		l.ports.Discard(slot)
		if p.gone || !q.Exists() || q.Round() != round { // by a handler
			return false
		}
	}
	return true
}

// discard gives back packets that were not taken in: the peer resends them.
func (p *peer) discard() {
	for _, u := range p.buffers {
		p.link.ports.Discard(u.slot)
	}
	p.buffers = nil
}
