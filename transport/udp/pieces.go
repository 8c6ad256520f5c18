package udp

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// A packet that was cut when its path took more, or that goes by a narrower path than others, is sent in pieces. They are put together here, not by the
// kernel: it would cut by what it knows of the path, which may be too much, and routers need not cut at all.

// partial is a received packet of which pieces are missing.
type partial struct {
	seq   wire.Seq
	total int    // bytes behind the packet's header
	buf   []byte // of the pool
	got   [(wire.MaxPieceUnits + 63) / 64]uint64
	units int // that are missing
}

// maxPartials packets of a peer may be incomplete at a time. Of further ones those with the lowest numbers count: they are what holds up the window.
const maxPartials = 64

// length is how many bytes of a datagram k has.
func (k *packet) length() int { return k.n + k.dataN }

// emit hands k to the outlet, by r, in one piece or several. Fault: its data cannot be read.
func (p *peer) emit(k *packet, r *route, flags wire.Flags) Outcome {
	if k.length() > r.size {
		return p.sendPieces(k, r, flags)
	}
	r.fillHeader(p, k.buf, wire.KindData, flags, k.seq)
	if !p.seal(k.buf[:k.n], k.data, k.dataN) {
		return Fault
	}
	return p.m.give(p, r, k)
}

// sendPieces sends k in pieces that r takes, each as a transmission of its own; the last is the caller's to count. If the outlet becomes full all go again.
func (p *peer) sendPieces(k *packet, r *route, flags wire.Flags) Outcome {
	const front = wire.HeaderSize + wire.PieceSize
	m := p.m
	m.sendBefore()
	total := k.length() - wire.HeaderSize
	most := (r.size - front) &^ (wire.PieceUnit - 1)
	for at := 0; at < total; at += most {
		n := min(most, total-at)
		b := m.long(front + n)
		last := at+n == total
		var asks wire.Flags
		if last {
			asks = flags
		}
		r.fillHeader(p, b, wire.KindPiece, asks, k.seq)
		wire.PutPiece(b[wire.HeaderSize:], at, total)
		if !k.copyOut(b[front:], wire.HeaderSize+at) {
			return Fault
		}
		p.seal(b, 0, 0)
		if m.out.Transmit(r.path, r.addr, b, 0, 0) == Full {
			return Full
		}
		if !last {
			r.tx = r.nextNumber()
			m.stats.PacketsSent++
		}
	}
	return Sent
}

// copyOut copies the bytes of k from at on to b. False: the user's memory cannot be read.
func (k *packet) copyOut(b []byte, at int) bool {
	if at < k.n {
		n := copy(b, k.buf[at:k.n])
		b, at = b[n:], k.n
	}
	return len(b) == 0 || memory.CopyOut(b, k.data+transport.Addr(at-k.n)) == nil
}

// long is memory for a packet of so many bytes that is sent at once.
func (m *Machine) long(n int) []byte {
	if len(m.longest) < n {
		m.longest = make([]byte, m.cfg.PacketSize)
	}
	return m.longest[:n]
}

// onPiece takes in a part of a packet. The packet's messages are offered when all of it is there.
func (p *peer) onPiece(now int64, r *route, h *wire.Header, rest []byte) int {
	m := p.m
	var w wire.Piece
	if w.Decode(rest) != nil || !p.onAck(now, r, h, nil) {
		m.stats.GhostPackets++
		return 0
	}
	if !p.wanted(now, r, h) {
		return 0
	}
	whole := p.assemble(h.Seq, &w)
	if whole == nil {
		m.stats.PacketsReceived++
		if h.Flags&wire.FlagAckNow != 0 {
			p.sendAck(r, wire.KindAck, 0)
		}
		return 0
	}
	offered := 0
	if count, err := wire.Count(whole); err != nil || count > maxMessages {
		m.stats.GhostPackets++
	} else {
		offered = p.take(now, r, h, whole, count)
	}
	m.pool.wholes.put(whole[:wholeSize])
	return offered
}

// assemble adds a piece to the packet s. Not nil: now it is whole, and the memory the caller's to give back.
func (p *peer) assemble(s wire.Seq, w *wire.Piece) []byte {
	k := p.partialOf(s, w.Total)
	if k == nil {
		return nil
	}
	copy(k.buf[w.Offset:], w.Bytes)
	first := w.Offset / wire.PieceUnit
	for i := first; i < first+units(len(w.Bytes)); i++ {
		if k.got[i/64]>>(i%64)&1 == 0 {
			k.got[i/64] |= 1 << (i % 64)
			k.units--
		}
	}
	if k.units > 0 {
		return nil
	}
	whole := k.buf[:k.total]
	p.removePartial(k)
	return whole
}

func units(bytes int) int { return (bytes + wire.PieceUnit - 1) / wire.PieceUnit }

// partialOf is what there is of packet s, whose rest has so many bytes; nil: there is no room for it.
func (p *peer) partialOf(s wire.Seq, total int) *partial {
	var last *partial
	for i := range p.partials {
		k := &p.partials[i]
		if k.seq == s {
			if k.total != total { // data that became unreadable was left out meanwhile
				k.begin(s, total)
			}
			return k
		}
		if last == nil || last.seq.Before(k.seq) {
			last = k
		}
	}
	if len(p.partials) < maxPartials {
		if b := p.m.pool.wholes.get(); b != nil {
			p.partials = append(p.partials, partial{buf: b})
			k := &p.partials[len(p.partials)-1]
			k.begin(s, total)
			return k
		}
	}
	if last == nil || last.seq.Before(s) {
		return nil
	}
	last.begin(s, total)
	return last
}

func (k *partial) begin(s wire.Seq, total int) {
	*k = partial{seq: s, total: total, buf: k.buf, units: units(total)}
}

// removePartial takes k, whose memory is somebody else's now, off the list.
func (p *peer) removePartial(k *partial) {
	last := len(p.partials) - 1
	*k = p.partials[last]
	p.partials[last] = partial{}
	p.partials = p.partials[:last]
}

// forget drops what there is of packet s, as all of it has come in another way; of every packet, if all is set.
func (p *peer) forget(s wire.Seq, all bool) {
	for i := len(p.partials) - 1; i >= 0; i-- {
		if k := &p.partials[i]; all || k.seq == s {
			p.m.pool.wholes.put(k.buf)
			p.removePartial(k)
		}
	}
}
