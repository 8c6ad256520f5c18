package shm

import (
	"encoding/binary"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/layout"
)

// A message whose data is gathered from many pieces goes through a chunk if slots cannot hold it: of this task's segment, where its
// receiver reads it (see cshim/segment.h). So there are two copies, each by a processor that has the data in its cache, and few messages;
// the kernel, which would be asked to find each piece, has no part.

const (
	kindChunk = layout.KindChunk
	chunkSize = layout.ChunkSize
	numChunks = layout.Chunks

	chunkPrefix = 8             // bytes in front of the header: kind and chunk
	chunksMax   = numChunks / 2 // for one receiver, so that others find some when it does not look
)

// The head word has room for a chunk's length and for the longest header behind the prefix.
var (
	_ [1<<16 - 1 - chunkSize]struct{}
	_ [255 - (headerMax+chunkPrefix)/layout.HeaderUnit]struct{}
)

// chunk is one of this task's: whom it is lent to, nil if nobody has it, until that peer has consumed the slots before mark.
type chunk struct {
	p    *peer
	mark uint64
}

// GatherMax implements transport.Gathering. A peer that has chunks already waits for them rather than sending by slots.
func (l *Link) GatherMax(ep transport.Endpoint) int {
	p, err := l.path(ep)
	if err != nil {
		return sendMax - headerMax
	}
	if _, lent, free := l.freeChunk(p); !free && lent == 0 {
		return sendMax - headerMax
	}
	return chunkSize
}

// SendGathered implements transport.Gathering.
func (l *Link) SendGathered(ep transport.Endpoint, id transport.MsgID, hdr []byte, n uint64, from transport.Gatherer) error {
	if n+uint64(len(hdr)) <= uint64(sendMax) {
		return l.send(ep, id, hdr, n, 0, from)
	}
	p, err := l.path(ep)
	if err != nil {
		return err
	}
	if !valid(id, hdr) || n > chunkSize {
		return transport.ErrBadParam
	}
	i, lent, free := l.freeChunk(p)
	if !free || lent >= chunksMax {
		if err := l.room(p, 0); err != nil { // what it notes as consumed is older than what freeChunk sees: no wake-up is lost
			return err
		}
		if i, lent, free = l.freeChunk(p); !free || lent >= chunksMax {
			p.blocked = true
			return transport.ErrBusy
		}
	}
	length := uint64(chunkPrefix + len(hdr))
	slots := slotsOf(length, 0)
	at, err := l.reserve(p, slots)
	if err != nil {
		return err
	}
	if err := from.Gather(l.own.chunk(i, len(l.tasks))[:n]); err != nil {
		return err
	}
	body := p.outSlots.body(at, 0, length)
	binary.LittleEndian.PutUint64(body, uint64(id)|uint64(i)<<32)
	copy(body[chunkPrefix:], hdr)
	l.chunks[i] = chunk{p, p.sender.Tail + (at-p.sender.Tail)&ringMask + slots}
	return l.publish(p, at, slots, kindChunk, int(length), n)
}

// freeChunk returns the first chunk that nobody has, and how many p has.
func (l *Link) freeChunk(p *peer) (i, lent int, free bool) {
	for k := range l.chunks {
		c := &l.chunks[k]
		if c.p != nil && l.returned(c) {
			c.p = nil
		}
		switch {
		case c.p == p:
			lent++
		case c.p == nil && !free:
			i, free = k, true
		}
	}
	return i, lent, free
}

// returned says whether a chunk that was lent will not be read any more. A peer that is merely disconnected may still read it.
func (l *Link) returned(c *chunk) bool {
	p := c.p
	switch {
	case l.rings[p.ring] != p: // forgotten
		return true
	case int64(atomic.LoadUint64(&p.outControl.Consumed)-c.mark) >= 0: // acquire: the receiver has finished reading
		return true
	case atomic.LoadUint32(&p.outHead.Armed) == layout.Closed:
		return true
	}
	return p.gone && p.direct && unix.Kill(p.pid, 0) == unix.ESRCH // direct: its pid means it here, too
}

// openChunk reads what a message of kindChunk says. False: it cannot be.
func (p *peer) openChunk(position, header, data uint64, tasks int) (id transport.MsgID, hdr, body []byte, ok bool) {
	if header < chunkPrefix || header > uint64(chunkPrefix+headerMax) || data > chunkSize {
		return 0, nil, nil, false
	}
	hdr = p.inSlots.body(position, 0, header)
	prefix := binary.LittleEndian.Uint64(hdr) // once: the peer may change it
	i := prefix >> 32
	kind := uint32(prefix)
	if kind == 0 || kind > uint32(transport.MaxMsgID) || i >= numChunks {
		return 0, nil, nil, false
	}
	return transport.MsgID(kind), hdr[chunkPrefix:], p.out.chunk(int(i), tasks)[:data], true
}
