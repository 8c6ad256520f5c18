// Package vector describes data that lies in many blocks of one task's memory: it reads the user's
// descriptions and checks them, walks through the blocks, and copies from and to them.
//
//	vector.go       Vector and Cursor: walking, gathering, scattering
//	load.go         reading and checking the user's descriptions
//	header.go       what messages say of vectors
//	list_unsafe.go  a list as bytes
//
// User memory is accessed under guard: memory.Guard must have run on the goroutine.
package vector

import (
	"sort"

	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// block is one block of a list: where it lies and where the stream of all blocks is behind it.
type block struct {
	addr transport.Addr
	end  uint64
}

// keptBlocks is how many blocks' memory a Vector keeps for its next use.
const keptBlocks = 1 << 16

// Vector says where the bytes of a stream come from or go to: equal blocks at equal distances, or a
// list of blocks. It is a copy of the user's description, which the user may reuse at once. The
// zero Vector is empty.
type Vector struct {
	kind          uint32 // lapi_vectype_t
	count         uint64 // blocks
	total         uint64 // bytes
	base          transport.Addr
	block, stride uint64  // of a strided one
	list          []block // of the others
}

// Reset empties v and keeps its memory, unless that is much.
func (v *Vector) Reset() {
	list := v.list[:0]
	if cap(list) > keptBlocks {
		list = nil
	}
	*v = Vector{list: list}
}

// Total is the number of bytes in all blocks.
func (v *Vector) Total() uint64 { return v.total }

// Strided says whether v is equal blocks at equal distances.
func (v *Vector) Strided() bool { return v.kind == wire.VectorStrided }

// Pieces is how many separate ranges v consists of.
func (v *Vector) Pieces() uint64 {
	if v.Strided() && v.block == v.stride {
		return min(v.count, 1)
	}
	return v.count
}

// start is the offset at which block i of a list begins.
func (v *Vector) start(i int) uint64 {
	if i == 0 {
		return 0
	}
	return v.list[i-1].end
}

// OneBlock makes v the n bytes at a.
func (v *Vector) OneBlock(a transport.Addr, n uint64) {
	v.Reset()
	v.kind, v.count, v.total, v.base, v.block, v.stride = wire.VectorStrided, min(n, 1), n, a, n, n
}

// EmptyList makes v a list without blocks, for Append.
func (v *Vector) EmptyList() {
	v.Reset()
	v.kind = wire.VectorGeneric
}

// Append adds a block to a list.
func (v *Vector) Append(a transport.Addr, n uint64) {
	v.total += n
	v.count++
	v.list = append(v.list, block{a, v.total})
}

// Cursor walks through a Vector.
type Cursor struct {
	v      *Vector
	i      uint64 // block
	within uint64 // bytes of it that are done
}

// At is a Cursor at an offset of the stream; beyond the end it finds nothing.
func (v *Vector) At(offset uint64) Cursor {
	switch {
	case offset >= v.total:
		return Cursor{v: v, i: v.count}
	case v.Strided():
		return Cursor{v, offset / v.block, offset % v.block}
	case offset == 0:
		return Cursor{v: v}
	}
	i := sort.Search(len(v.list), func(i int) bool { return v.list[i].end > offset })
	return Cursor{v, uint64(i), offset - v.start(i)}
}

// nextBlocks is Next, and of a strided vector as many whole blocks as there are in most bytes:
// count blocks of n bytes.
func (c *Cursor) nextBlocks(most uint64) (a transport.Addr, n, count uint64) {
	v := c.v
	if v.Strided() && c.within == 0 && v.stride > v.block && v.block > 0 && most/2 >= v.block &&
		v.count-c.i >= 2 {
		a, count = v.base+transport.Addr(c.i*v.stride), min(v.count-c.i, most/v.block)
		c.i += count
		return a, v.block, count
	}
	a, n = c.Next(most)
	return a, n, 1
}

// Next is the following piece, of at most most bytes; n is 0 at the end of the vector.
func (c *Cursor) Next(most uint64) (a transport.Addr, n uint64) {
	v := c.v
	if v.Strided() {
		if c.i >= v.count {
			return 0, 0
		}
		left := v.block - c.within
		if v.stride == v.block { // no gaps: one piece
			left = v.total - c.i*v.block - c.within
		}
		a, n = v.base+transport.Addr(c.i*v.stride+c.within), min(left, most)
		c.within += n
		if c.within >= v.block {
			c.i += c.within / v.block
			c.within %= v.block
		}
		return a, n
	}
	for c.i < uint64(len(v.list)) {
		b := &v.list[c.i]
		if left := b.end - v.start(int(c.i)) - c.within; left > 0 {
			a, n = b.addr+transport.Addr(c.within), min(left, most)
			if n == left {
				c.i, c.within = c.i+1, 0
			} else {
				c.within += n
			}
			return a, n
		}
		c.i, c.within = c.i+1, 0
	}
	return 0, 0
}

// Ranges appends pieces from c on to list until that has transport.RangesMax entries, at most most
// bytes.
func (c *Cursor) Ranges(list []transport.Range, most uint64) []transport.Range {
	for len(list) < transport.RangesMax && most > 0 {
		a, n := c.Next(most)
		if n == 0 {
			break
		}
		list = append(list, transport.Range{Addr: a, N: n})
		most -= n
	}
	return list
}

// Gather copies len(dst) bytes of the stream, from offset on, to dst. Bytes beyond the stream's end
// stay as they are. The error is a *transport.FaultError.
func (v *Vector) Gather(dst []byte, offset uint64) error {
	for at := v.At(offset); len(dst) > 0; {
		a, n, count := at.nextBlocks(uint64(len(dst)))
		if n == 0 {
			return nil
		}
		if err := memory.CopyOutBlocks(dst[:n*count], a, n, v.stride); err != nil {
			return err
		}
		dst = dst[n*count:]
	}
	return nil
}

// Scatter copies src to its place in the stream, from offset on. Bytes beyond the stream's end are
// dropped. The error is a *transport.FaultError.
func (v *Vector) Scatter(offset uint64, src []byte) error {
	for at := v.At(offset); len(src) > 0; {
		a, n, count := at.nextBlocks(uint64(len(src)))
		if n == 0 {
			return nil
		}
		if err := memory.CopyInBlocks(a, src[:n*count], n, v.stride); err != nil {
			return err
		}
		src = src[n*count:]
	}
	return nil
}
