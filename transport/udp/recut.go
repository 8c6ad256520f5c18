package udp

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// A packet that was cut when its path took more is cut again. Each part is the message of a packet
// of its own, with a sequence number like any other: the first takes the long packet's number, and
// what is left goes behind all that waits. So a part arrives exactly once, and the receiver has
// bytes to count, no more. Parts are so short that every path takes them.

// partFront is what stands before a part's bytes in its packet.
const partFront = wire.HeaderSize + wire.MessageSize + wire.PartSize

// cut is how far a packet has been taken apart.
type cut struct {
	part wire.Part // what its next part is; Total is 0 if it was never cut
	rest bool      // parts were taken off: what is left must be cut, too
}

// length is how many bytes of a datagram k has.
func (k *packet) length() int { return k.n + k.dataN }

// recut puts a packet with the next part of k in k's place. What is left of k gets a number behind
// all others. Nil: there is no memory, or no number, now.
func (p *peer) recut(k *packet) *packet {
	if k.part.Total == 0 {
		n := k.length() - wire.HeaderSize
		k.part = wire.Part{Of: k.seq, Total: n, Keep: n}
	}
	small := p.m.pool.get()
	if small == nil {
		return nil
	}
	left := k.part.Total - k.part.Offset
	n := min(left, p.leastSize()-partFront)
	if n < left && !p.hasNumber(k) {
		p.m.pool.put(small)
		return nil
	}
	if at := wire.HeaderSize + k.part.Offset; !k.copyOut(small.buf[partFront:partFront+n], at) {
		p.void(k)
		k.copyOut(small.buf[partFront:partFront+n], at)
	}
	small.fillPart(&k.part, n)
	small.single, small.sends = k.single, k.sends
	if k.sends == 0 {
		small.counts = k.counts
	}
	k.counts = 0
	p.replace(k, small)
	if n == left {
		if k.op != nil {
			p.m.done.add(k.op, nil)
		}
		p.m.pool.put(k)
		return small
	}
	k.part.Offset += n
	k.rest, k.open, k.sends, k.refusals, k.overtaken = true, false, 0, 0, false
	for op := p.flushes.first; op != nil; op = op.Link.Next { // it waits for what is left, too
		op.Link.Mark = uint64(p.nextSeq + 1)
	}
	p.push(k)
	p.flushSeq = p.nextSeq
	return small
}

// hasNumber says whether what is left of k may have another number. The last one is for the oldest
// packet: else nothing might move.
func (p *peer) hasNumber(k *packet) bool {
	used := int(p.nextSeq - p.base)
	return used < seqWindow-1 || used < seqWindow && k.seq == p.base
}

// replace puts small where k is among the packets on their way.
func (p *peer) replace(k, small *packet) {
	p.moved(k, packetWaiting)
	small.seq, small.path = k.seq, k.path
	*p.slot(k.seq) = small
	if k.seq != p.sendNext {
		p.moved(small, packetMissing)
	}
}

// fillPart makes k, whose bytes are there, the packet of a part of n bytes.
func (k *packet) fillPart(w *wire.Part, n int) {
	k.n = partFront + n
	k.messages, k.last = 1, wire.HeaderSize
	wire.PutMessage(k.buf[wire.HeaderSize:], wire.PartID, wire.PartSize, n)
	w.Put(k.buf[wire.HeaderSize+wire.MessageSize:])
}

// copyOut copies the bytes of k from at on to b, and zeros for what is not there any more. False:
// the user's memory cannot be read.
func (k *packet) copyOut(b []byte, at int) bool {
	if at < k.n {
		n := copy(b, k.buf[at:k.n])
		b, at = b[n:], k.n
	}
	n := min(max(k.length()-at, 0), len(b))
	clear(b[n:])
	return n == 0 || memory.CopyOut(b[:n], k.data+transport.Addr(at-k.n)) == nil
}

// partial is a received packet of which parts are missing.
type partial struct {
	of               wire.Seq
	buf              []byte // of the pool
	total, got, keep int    // bytes: of the whole, received, of use
}

// takePart takes in a part, which packet s holds, of a packet that is taken in once all of it is
// there. Not accepted: a handler, or lack of memory, refuses it for now.
func (p *peer) takePart(s wire.Seq, content []byte) (offered int, accepted bool) {
	var w wire.Part
	_, header, _ := wire.Split(content)
	bytes := content[header:]
	if w.Decode(content[wire.MessageSize:header], len(bytes)) != nil {
		p.m.stats.GhostPackets++
		return 0, true
	}
	k, wanted := p.partialOf(s, &w)
	if k == nil {
		return 0, !wanted
	}
	if k.got < k.total { // else the last one comes again, as it was refused
		copy(k.buf[w.Offset:], bytes)
		k.got += len(bytes)
		k.keep = min(k.keep, w.Keep)
	}
	if k.got < k.total {
		return 0, true
	}
	whole := k.buf[:k.keep]
	count, err := wire.Count(whole)
	if err != nil || count > maxMessages {
		p.m.stats.GhostPackets++
		count = 0
	}
	if offered, accepted = p.offer(w.Of, whole, count); accepted && p.alive() {
		p.forget(w.Of)
	}
	return offered, accepted
}

// partialOf is what there is of the packet that the part w in packet s belongs to. Nil: there is no
// memory for it, or it is not wanted, as the whole had arrived before it was cut.
func (p *peer) partialOf(s wire.Seq, w *wire.Part) (k *partial, wanted bool) {
	if k = p.found(w.Of); k != nil {
		return k, true
	}
	if w.Of != s && (w.Of.Before(p.expect) || p.has(w.Of)) {
		return nil, false
	}
	buf := p.m.pool.wholes.get()
	if buf == nil {
		return nil, true
	}
	p.partials = append(p.partials, partial{w.Of, buf, w.Total, 0, w.Total})
	return &p.partials[len(p.partials)-1], true
}

func (p *peer) found(of wire.Seq) *partial {
	for i := range p.partials {
		if p.partials[i].of == of {
			return &p.partials[i]
		}
	}
	return nil
}

// forget drops what there is of packet s, if there is something.
func (p *peer) forget(s wire.Seq) {
	if k := p.found(s); k != nil {
		p.m.pool.wholes.put(k.buf)
		last := len(p.partials) - 1
		*k = p.partials[last]
		p.partials = p.partials[:last]
	}
}
