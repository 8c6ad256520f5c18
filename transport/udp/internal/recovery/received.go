package recovery

import "lapi/transport/udp/wire"

// The blocks of the receive window must fit the header's field.
const _ = uint(wire.MaxAckBlock - (Numbers/wire.BlockSpan - 1))

// Received is which packets of a session have arrived and were accepted.
//
//	expect                    highest
//	  │ some received, some not  │  nothing from here on
type Received struct {
	expect  wire.Seq // the first not received
	highest wire.Seq // behind the last received
	latest  wire.Seq // received last
	bits    [Numbers / wire.BlockSpan]uint64
}

// Init makes it empty; first is the session's first number.
func (r *Received) Init(first wire.Seq) { *r = Received{expect: first, highest: first} }

// Expect is the first number that has not been received.
func (r *Received) Expect() wire.Seq { return r.expect }

// FitsHeader says whether a packet's header can acknowledge all that has arrived.
func (r *Received) FitsHeader() bool { return uint32(r.highest-r.expect) <= wire.BlockSpan }

// InWindow says whether s may come.
func (r *Received) InWindow(s wire.Seq) bool { return s.InWindow(r.expect, Numbers) }

// Has says whether s, at most Numbers behind Expect, was received.
func (r *Received) Has(s wire.Seq) bool { return s.Before(r.expect) || r.hasAhead(s) }

func (r *Received) hasAhead(s wire.Seq) bool {
	return s.Before(r.highest) && r.bits[s%Numbers/wire.BlockSpan]>>(s%wire.BlockSpan)&1 != 0
}

// Mark notes that s was received and accepted.
func (r *Received) Mark(s wire.Seq) {
	r.latest = s
	if s == r.expect && s == r.highest { // in order, as almost always
		r.expect++
		r.highest++
		return
	}
	r.bits[s%Numbers/wire.BlockSpan] |= 1 << (s % wire.BlockSpan)
	if !s.Before(r.highest) {
		r.highest = s + 1
	}
	for r.expect != r.highest && r.hasAhead(r.expect) {
		r.bits[r.expect%Numbers/wire.BlockSpan] &^= 1 << (r.expect % wire.BlockSpan)
		r.expect++
	}
}

// from is the 64 bits from s on: which of them were received.
func (r *Received) from(s wire.Seq) uint64 {
	i, shift := s%Numbers/wire.BlockSpan, s%wire.BlockSpan
	b := r.bits[i] >> shift
	if shift != 0 {
		b |= r.bits[(i+1)%wire.Seq(len(r.bits))] << (wire.BlockSpan - shift)
	}
	// behind highest the ring holds nothing of this round
	if n := uint32(r.highest - s); n < wire.BlockSpan {
		b &= 1<<n - 1
	}
	return b
}

// PutHeader writes the acknowledgement of a header to h: the block with the packet received last.
func (r *Received) PutHeader(h *wire.Header) {
	h.Ack = r.expect
	if r.highest == r.expect {
		return
	}
	if d := uint32(r.latest - r.expect); d < Numbers {
		h.AckBlock = uint8(d / wire.BlockSpan)
	}
	h.Bits = r.from(h.AckFirst())
}

// PutBlocks writes to b a block for each 64 numbers of which some were received, as many as fit,
// and returns their length. The origin learns of the others when these are no longer needed.
func (r *Received) PutBlocks(b []byte) (n int) {
	for s := r.expect; s.Before(r.highest) && n+wire.BlockSize <= len(b); s += wire.BlockSpan {
		if k := (wire.Block{First: s, Received: r.from(s)}); k.Received != 0 {
			k.Put(b[n:])
			n += wire.BlockSize
		}
	}
	return n
}

// Arrivals is what came by one path.
type Arrivals struct {
	newest uint16 // transmission number
	// this number of the next packets are acknowledged soon: a packet before them is missing
	tellSoon uint8
}

// Newest is the newest transmission number that came.
func (a *Arrivals) Newest() uint16 { return a.newest }

// Heard notes the transmission number of a packet. If some before it have not come, the next few
// are acknowledged soon, so that the origin learns of it.
func (a *Arrivals) Heard(tx uint16) {
	ahead := int16(tx - a.newest)
	if ahead > 0 {
		a.newest = tx
	}
	if ahead > 1 {
		a.tellSoon = reorderPackets + 1
	}
}

// TellSoon says whether the packet at hand, which was accepted, is to be acknowledged soon.
func (a *Arrivals) TellSoon() bool {
	if a.tellSoon == 0 {
		return false
	}
	a.tellSoon--
	return true
}
