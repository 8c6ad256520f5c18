package shm

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"lapi/transport"
	"lapi/transport/calibration"
	"lapi/transport/layout"
)

// This file is chunks: data too long for slots. cshim/segment.h has the protocol; cshim/lane_chunk.c is the same in C.

// tabulate writes the sizes of chunks where the lane looks for them.
func tabulate(table *[layout.ChunkClasses]uint32, sizes *calibration.Table) {
	for class := range table {
		table[class] = uint32(sizes.ChunkOf(1 << class))
	}
}

// chunkUnits is how many units of an area to use if area bytes are wanted: a power of two, what the area has at most, and a longest message at least.
func chunkUnits(rings int, area uint64) uint64 {
	units := chunkArea(rings) / layout.ChunkUnit
	for area != 0 && units*layout.ChunkUnit > area && units/2*layout.ChunkUnit >= layout.ChunkMax {
		units /= 2
	}
	return units
}

// PartSize is in parts of how many bytes n bytes are best sent.
func (l *Link) PartSize(n uint64) int {
	return int(l.paths.ChunkOf[min(bits.Len64(n|1)-1, layout.ChunkClasses-1)])
}

// Attends says whether ep looks at its messages now or soon: then data is best sent to it in messages, and both ends copy.
func (l *Link) Attends(ep transport.Endpoint) bool {
	p, err := l.path(ep)
	return err == nil && atomic.LoadUint64(&p.outHead.Armed)|uint64(atomic.LoadUint32(&p.outHead.Away)) == layout.Awake
}

// SetAway tells all peers whether this task's user polls; see cshim_segment_head.away.
func (l *Link) SetAway(away bool) {
	value := uint32(0)
	if away {
		value = 1
	}
	if !l.closed {
		atomic.StoreUint32(&l.own.head().Away, value)
	}
}

// chunks is the memory of one chunk area.
type chunks struct{ base unsafe.Pointer }

// at is n bytes from an offset on, which the caller keeps inside the area.
func (c chunks) at(offset, n uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(c.base, offset)), n)
}

// chunk is what a message takes of the area.
type chunk struct{ skipped, offset, units uint64 }

// chunkRoom finds room for n bytes.
func (l *Link) chunkRoom(p *peer, n uint64) (c chunk, err error) {
	units := l.paths.ChunkUnits
	c.units = (n + layout.ChunkUnit - 1) / layout.ChunkUnit
	at := p.path.Chunks.Tail % units
	if at+c.units > units {
		c.skipped, at = units-at, 0
	}
	c.offset = at * layout.ChunkUnit
	until := p.path.Chunks.Until[at+c.units-1] // of all these the last to become free
	if p.sender.Consumed < until {
		err = l.consumed(p, until)
	}
	return c, err
}

// take makes c part of the message that ends in front of the slot with that index.
func (c chunk) take(paths *layout.Paths, s *layout.Chunks, end uint64) {
	for range c.skipped + c.units {
		s.Until[s.Tail%paths.ChunkUnits] = end
		s.Tail++
	}
}

// place is cshim_place.
func (c chunk) place(n uint64) uint64 { return c.offset | n<<32 }

// fill copies a message's header and data to the slots at position and the chunk.
func (c chunk) fill(p *peer, position uint64, hdr []byte, data *source) error {
	binary.LittleEndian.PutUint64(p.outSlots.body(position, 0, placeSize), c.place(data.n))
	copy(p.outSlots.body(position, placeSize, uint64(len(hdr))), hdr)
	return data.write(p.outChunks.at(c.offset, data.n))
}

// arrived finds the data of a message at position whose data lies in a chunk. False: it says what cannot be.
func (p *peer) arrived(a *arrival) bool {
	place := atomic.LoadUint64((*uint64)(unsafe.Pointer(&p.inSlots.body(a.position, 0, placeSize)[0]))) // once: the peer may write there
	offset, n := place&(1<<32-1), place>>32
	if a.n != 0 || a.header+n > uint64(sendMax) || offset+n > uint64(p.path.ChunkArea) {
		return false
	}
	a.n = n
	a.hdr = p.inSlots.body(a.position, placeSize, a.header)
	a.data = p.inChunks.at(offset, n)
	return true
}
