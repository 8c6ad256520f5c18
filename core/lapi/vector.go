package lapi

import (
	"math/bits"
	"sort"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// vectorEntryMinData is the least data for which a fragment begins another block, bytes.
const vectorEntryMinData = 64

// block is one block of a list: where it lies and where the stream of all blocks is behind it.
type block struct {
	addr transport.Addr
	end  uint64
}

// vector says where the bytes of a stream come from or go to, in one task's memory: equal blocks at equal distances, or a list. It is a
// copy of the user's description, so that the user may reuse that at once.
type vector struct {
	kind          uint32 // lapi_vectype_t
	count         uint64 // blocks
	total         uint64 // bytes
	base          transport.Addr
	block, stride uint64  // of a strided one
	list          []block // of the others
}

// reset empties v and keeps its memory, unless that is much.
func (v *vector) reset() {
	list := v.list[:0]
	if cap(list) > 1<<16 {
		list = nil
	}
	*v = vector{list: list}
}

// cursor walks through a vector.
type cursor struct {
	v      *vector
	i      uint64 // block
	within uint64 // bytes of it that are done
}

// at is a cursor at an offset of the stream; beyond the end it finds nothing.
func (v *vector) at(offset uint64) cursor {
	switch {
	case offset >= v.total:
		return cursor{v: v, i: v.count}
	case v.kind == wire.VectorStrided:
		return cursor{v, offset / v.block, offset % v.block}
	case offset == 0:
		return cursor{v: v}
	}
	i := sort.Search(len(v.list), func(i int) bool { return v.list[i].end > offset })
	return cursor{v, uint64(i), offset - v.start(i)}
}

// nextBlocks is next, and of a strided vector as many whole blocks as there are in most bytes: count blocks of n bytes.
func (c *cursor) nextBlocks(most uint64) (a transport.Addr, n, count uint64) {
	v := c.v
	if v.kind == wire.VectorStrided && c.within == 0 && v.stride > v.block && v.block > 0 && most/2 >= v.block && v.count-c.i >= 2 {
		a, count = v.base+transport.Addr(c.i*v.stride), min(v.count-c.i, most/v.block)
		c.i += count
		return a, v.block, count
	}
	a, n = c.next(most)
	return a, n, 1
}

// start is the offset at which block i of a list begins.
func (v *vector) start(i int) uint64 {
	if i == 0 {
		return 0
	}
	return v.list[i-1].end
}

// next is the following piece, of at most most bytes; n is 0 at the end of the vector.
func (c *cursor) next(most uint64) (a transport.Addr, n uint64) {
	v := c.v
	if v.kind == wire.VectorStrided {
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

// gather copies len(dst) bytes of the stream, from offset on, to dst. Bytes beyond the stream's end stay as they are.
func (v *vector) gather(dst []byte, offset uint64) error {
	for at := v.at(offset); len(dst) > 0; {
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

// scatter copies src to its place in the stream, from offset on. Bytes beyond the stream's end are dropped.
func (v *vector) scatter(offset uint64, src []byte) error {
	for at := v.at(offset); len(src) > 0; {
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

// pieces is how many ranges v consists of.
func (v *vector) pieces() uint64 {
	if v.kind == wire.VectorStrided && v.block == v.stride {
		return min(v.count, 1)
	}
	return v.count
}

// ranges appends pieces from at on to list, which has room for RangesMax of them, at most most bytes.
func (c *cursor) ranges(list []transport.Range, most uint64) []transport.Range {
	for len(list) < transport.RangesMax && most > 0 {
		a, n := c.next(most)
		if n == 0 {
			break
		}
		list = append(list, transport.Range{Addr: a, N: n})
		most -= n
	}
	return list
}

// moveDirect copies n bytes straight between this task's memory and t's: to t, or (get) from it.
func (c *Context) moveDirect(t *task, get bool, local, remote *vector, n uint64) error {
	link, ok := t.link.(transport.Vectored)
	if !ok {
		return transport.ErrNotSupported
	}
	if c.here == nil {
		c.here, c.there = make([]transport.Range, 0, transport.RangesMax), make([]transport.Range, 0, transport.RangesMax)
	}
	near, far := local.at(0), remote.at(0)
	for n > 0 {
		from := near
		here := near.ranges(c.here[:0], min(n, directChunk))
		step := transport.Sum(here)
		there := far.ranges(c.there[:0], step)
		if got := transport.Sum(there); got < step { // so many small ranges over there that they fill the list first
			step, near = got, from
			here = near.ranges(c.here[:0], step)
		}
		if step == 0 {
			return nil
		}
		var err error
		if get {
			err = link.GetVector(t.ep, here, there)
		} else {
			err = link.PutVector(t.ep, here, there)
		}
		if err != nil {
			return err
		}
		n -= step
	}
	return nil
}

// worthDirect says whether blocks are so long that the kernel's work for each is less than that of copying them twice. far is the vector in
// the other task's memory, whose every block the kernel must find and hold; near is the one here.
func (c *Context) worthDirect(near, far *vector, n uint64) bool {
	return n/max(far.pieces(), near.pieces()/directLocal, 1) >= c.sizes.BlockDirect
}

// directLocal is how many blocks here cost the kernel as much as one over there; measured.
const directLocal = 8

// vectorCodes are the errors of one side's vector.
type vectorCodes struct{ null, kind, addr, length, extent, stride, base codes.Code }

var (
	originVector = vectorCodes{codes.ErrOrgVecNull, codes.ErrOrgVecType, codes.ErrOrgVecAddr, codes.ErrOrgVecLen, codes.ErrOrgExtent, codes.ErrOrgStride, codes.ErrStrideOrgVecAddrNull}
	targetVector = vectorCodes{codes.ErrTgtVecNull, codes.ErrTgtVecType, codes.ErrTgtVecAddr, codes.ErrTgtVecLen, codes.ErrTgtExtent, codes.ErrTgtStride, codes.ErrStrideTgtVecAddrNull}
)

// description is a lapi_vec_t or lapi_lvec_t of the user's.
type description struct {
	kind, count uint32
	info, len   transport.Addr
	width       int // bytes of an entry of info
}

// describe reads the description at a. long: it is a lapi_lvec_t, whose info has 64-bit entries in every task.
func (c *Context) describe(d *description, a transport.Addr, long bool, e *vectorCodes) codes.Code {
	if a == 0 {
		return e.null
	}
	var b [8 + 2*wordSize]byte
	if err := memory.CopyOut(b[:], a); err != nil {
		return c.badDescription(err, e.null)
	}
	d.kind, d.count = wire.Order.Uint32(b[0:]), wire.Order.Uint32(b[4:])
	d.info, d.len = transport.Addr(word(b[8:], wordSize)), transport.Addr(word(b[8+wordSize:], wordSize))
	d.width = wordSize
	if long {
		d.width = 8
	}
	return codes.Success
}

// wordSize is that of pointers and of ulong in this task.
const wordSize = bits.UintSize / 8

func word(b []byte, width int) uint64 {
	if width == 4 {
		return uint64(wire.Order.Uint32(b))
	}
	return wire.Order.Uint64(b)
}

// badDescription: the user's description lies in memory that cannot be read.
func (c *Context) badDescription(err error, code codes.Code) codes.Code {
	c.fault(err, code, IntErr, c.me)
	return code
}

// load fills v from d, whose type is valid for the call.
func (c *Context) load(v *vector, d *description, e *vectorCodes) codes.Code {
	v.reset()
	v.kind, v.count = d.kind, uint64(d.count)
	switch {
	case d.count == 0:
		return codes.Success
	case d.kind == wire.VectorStrided:
		return c.loadStrided(v, d, e)
	case d.info == 0:
		return e.addr
	case d.len == 0:
		return e.length
	case d.count > wire.BlocksMax:
		return codes.ErrMemoryExhausted
	}
	return c.loadList(v, d, e)
}

func (c *Context) loadStrided(v *vector, d *description, e *vectorCodes) codes.Code {
	if d.info == 0 {
		return e.base
	}
	var b [3 * 8]byte
	if err := memory.CopyOut(b[:3*d.width], d.info); err != nil {
		return c.badDescription(err, e.base)
	}
	v.base, v.block, v.stride = transport.Addr(word(b[0:], d.width)), word(b[d.width:], d.width), word(b[2*d.width:], d.width)
	if v.base == 0 && v.block > 0 {
		return e.base
	}
	if v.stride < v.block {
		return e.stride
	}
	if high, extent := bits.Mul64(v.stride, v.count); high != 0 || extent > wire.MaxMessageSize {
		return e.extent
	}
	v.total = v.block * v.count
	return codes.Success
}

// loadList reads the arrays a piece at a time: a wrong num_vecs meets the end of the user's memory before it costs memory here.
func (c *Context) loadList(v *vector, d *description, e *vectorCodes) codes.Code {
	var infos, lens [256 * 8]byte
	for i := 0; i < int(d.count); i += 256 {
		n := min(256, int(d.count)-i)
		if err := memory.CopyOut(infos[:n*d.width], d.info+transport.Addr(i*d.width)); err != nil {
			return c.badDescription(err, e.addr)
		}
		if err := memory.CopyOut(lens[:n*wordSize], d.len+transport.Addr(i*wordSize)); err != nil {
			return c.badDescription(err, e.length)
		}
		for k := range n {
			a, length := transport.Addr(word(infos[k*d.width:], d.width)), word(lens[k*wordSize:], wordSize)
			if length > wire.MaxMessageSize-v.total {
				return e.length
			}
			if a == 0 && length > 0 && c.errorCheck {
				return e.addr
			}
			v.total += length
			v.list = append(v.list, block{a, v.total})
		}
	}
	return codes.Success
}

// loadPair reads the vectors of a put or get, both described here, and checks Table 7's rules for them.
func (c *Context) loadPair(org, tgt *vector, orgVec, tgtVec transport.Addr, long bool) codes.Code {
	var o, t description
	if code := c.describe(&o, orgVec, false, &originVector); code != codes.Success {
		return code
	}
	if code := c.describe(&t, tgtVec, long, &targetVector); code != codes.Success {
		return code
	}
	switch { // the generic type is for active messages only
	case o.kind > wire.VectorStrided:
		return codes.ErrOrgVecType
	case t.kind > wire.VectorStrided:
		return codes.ErrTgtVecType
	case o.kind != t.kind:
		return codes.ErrVecTypeDiff
	case o.count != t.count:
		return codes.ErrVecNumDiff
	}
	if code := c.load(org, &o, &originVector); code != codes.Success {
		return code
	}
	if code := c.load(tgt, &t, &targetVector); code != codes.Success {
		return code
	}
	if org.block != tgt.block || c.errorCheck && !sameLengths(org.list, tgt.list) {
		return codes.ErrVecLenDiff
	}
	return codes.Success
}

// sameLengths: equally many blocks that end at the same places of the stream have the same lengths.
func sameLengths(a, b []block) bool {
	for i := range a {
		if a[i].end != b[i].end {
			return false
		}
	}
	return len(a) == len(b)
}

// strided makes v the target's vector that h names, if there are no entries. Its extent may be anything: addresses wrap, and
// are checked when used.
func (v *vector) strided(h *wire.Vector) {
	v.reset()
	v.kind, v.base, v.block, v.stride, v.total = wire.VectorStrided, h.Base, h.Block, h.Stride, h.Total
	if h.Block > 0 {
		v.count = (h.Total + h.Block - 1) / h.Block
	}
}
