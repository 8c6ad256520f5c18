package packet

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// A packet that was cut when its path took more is cut again. Each part is the message of a packet
// of its own, with a sequence number like any other: the first takes the long packet's number, and
// the rest goes behind all that waits. So a part arrives exactly once, and the receiver has bytes
// to count, no more. Parts are so short that every path takes them.

// partFront is what stands before a part's bytes in its packet.
const partFront = wire.HeaderSize + wire.MessageSize + wire.PartSize

// cut is how far a packet has been taken apart.
type cut struct {
	part wire.Part // its next part; Total is 0 if it was never cut
	rest bool      // parts were taken off: the rest must be cut, too
}

// FirstCut says that k, which has number s, is to be cut. It does nothing if that was said before.
func (k *Content) FirstCut(s wire.Seq) {
	if k.part.Total == 0 {
		n := k.Length() - wire.HeaderSize
		k.part = wire.Part{Of: s, Total: n, Keep: n}
	}
}

// MustCut says whether k cannot go as it is where packets may have size bytes.
func (k *Content) MustCut(size int) bool { return k.Length() > size || k.rest }

// IsLastPart says whether all that is left of k fits a packet of size bytes.
func (k *Content) IsLastPart(size int) bool { return k.part.Total-k.part.Offset <= size-partFront }

// MovePart takes the next part off k and makes small, which is empty, its packet of at most size
// bytes. again: k was sent before. False: the user's memory cannot be read, nothing was done.
func (k *Content) MovePart(small *Content, size int, again bool) bool {
	n := min(k.part.Total-k.part.Offset, size-partFront)
	if !k.copyOut(small.buf[partFront:partFront+n], wire.HeaderSize+k.part.Offset) {
		return false
	}
	wire.PutMessage(small.buf[wire.HeaderSize:], wire.PartID, wire.PartSize, n)
	k.part.Put(small.buf[wire.HeaderSize+wire.MessageSize:])
	small.n, small.messages, small.last, small.single = partFront+n, 1, wire.HeaderSize, k.single
	if !again {
		small.counts = k.counts
	}
	k.part.Offset += n
	k.counts, k.rest, k.open = 0, true, false
	return true
}

// copyOut copies the bytes of k from at on to b, and zeros in place of bytes that are not there any
// more. False: the user's memory cannot be read.
func (k *Content) copyOut(b []byte, at int) bool {
	if at < k.n {
		n := copy(b, k.buf[at:k.n])
		b, at = b[n:], k.n
	}
	n := min(max(k.Length()-at, 0), len(b))
	clear(b[n:])
	return n == 0 || memory.CopyOut(b[:n], k.data+transport.Addr(at-k.n)) == nil
}
