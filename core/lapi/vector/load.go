package vector

import (
	"math/bits"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// side is the errors of one side's vector.
type side struct{ null, kind, addr, length, extent, stride, base codes.Code }

var (
	origin = side{codes.ErrOrgVecNull, codes.ErrOrgVecType, codes.ErrOrgVecAddr, codes.ErrOrgVecLen,
		codes.ErrOrgExtent, codes.ErrOrgStride, codes.ErrStrideOrgVecAddrNull}
	target = side{codes.ErrTgtVecNull, codes.ErrTgtVecType, codes.ErrTgtVecAddr, codes.ErrTgtVecLen,
		codes.ErrTgtExtent, codes.ErrTgtStride, codes.ErrStrideTgtVecAddrNull}
)

// Error is why a vector cannot be used.
type Error struct {
	Code  codes.Code
	Fault error // of the user's description, which lies in memory that cannot be read; or nil
}

func bad(code codes.Code) *Error { return &Error{Code: code} }

// Loader reads descriptions of vectors from this task's memory.
type Loader struct {
	Check bool // with the checks of ERROR_CHK
}

// description is a lapi_vec_t or lapi_lvec_t of the user's.
type description struct {
	*side
	kind, count uint32
	info, len   transport.Addr
	width       int // bytes of an entry of info
}

// WordSize is that of pointers and of ulong in this task, bytes.
const WordSize = bits.UintSize / 8

// Word reads a word of that width.
func Word(b []byte, width int) uint64 {
	if width == 4 {
		return uint64(wire.Order.Uint32(b))
	}
	return wire.Order.Uint64(b)
}

// describe reads the description at a. long: it is a lapi_lvec_t, whose info has 64-bit entries in
// every task.
func (d *description) describe(a transport.Addr, long bool, s *side) *Error {
	if a == 0 {
		return bad(s.null)
	}
	var b [8 + 2*WordSize]byte
	if err := memory.CopyOut(b[:], a); err != nil {
		return &Error{s.null, err}
	}
	*d = description{s, wire.Order.Uint32(b[0:]), wire.Order.Uint32(b[4:]),
		transport.Addr(Word(b[8:], WordSize)), transport.Addr(Word(b[8+WordSize:], WordSize)),
		WordSize}
	if long {
		d.width = 8
	}
	return nil
}

// load fills v from d, whose type is valid for the call.
func (l Loader) load(v *Vector, d *description) *Error {
	v.Reset()
	v.kind, v.count = d.kind, uint64(d.count)
	switch {
	case d.count == 0:
		return nil
	case d.kind == wire.VectorStrided:
		return v.loadStrided(d)
	case d.info == 0:
		return bad(d.addr)
	case d.len == 0:
		return bad(d.length)
	case d.count > wire.BlocksMax:
		return bad(codes.ErrMemoryExhausted)
	}
	return l.loadList(v, d)
}

func (v *Vector) loadStrided(d *description) *Error {
	if d.info == 0 {
		return bad(d.base)
	}
	var b [3 * 8]byte
	if err := memory.CopyOut(b[:3*d.width], d.info); err != nil {
		return &Error{d.base, err}
	}
	v.base, v.block, v.stride = transport.Addr(Word(b[0:], d.width)), Word(b[d.width:], d.width),
		Word(b[2*d.width:], d.width)
	if v.base == 0 && v.block > 0 {
		return bad(d.base)
	}
	if v.stride < v.block {
		return bad(d.stride)
	}
	if high, extent := bits.Mul64(v.stride, v.count); high != 0 || extent > wire.MaxMessageSize {
		return bad(d.extent)
	}
	v.total = v.block * v.count
	return nil
}

// loadList reads the arrays a piece at a time: a wrong num_vecs meets the end of the user's memory
// before it costs memory here.
func (l Loader) loadList(v *Vector, d *description) *Error {
	var infos, lens [256 * 8]byte
	for i := 0; i < int(d.count); i += 256 {
		n := min(256, int(d.count)-i)
		if err := memory.CopyOut(infos[:n*d.width], d.info+transport.Addr(i*d.width)); err != nil {
			return &Error{d.addr, err}
		}
		if err := memory.CopyOut(lens[:n*WordSize], d.len+transport.Addr(i*WordSize)); err != nil {
			return &Error{d.length, err}
		}
		for k := range n {
			a := transport.Addr(Word(infos[k*d.width:], d.width))
			length := Word(lens[k*WordSize:], WordSize)
			if length > wire.MaxMessageSize-v.total {
				return bad(d.length)
			}
			if a == 0 && length > 0 && l.Check {
				return bad(d.addr)
			}
			v.total += length
			v.list = append(v.list, block{a, v.total})
		}
	}
	return nil
}

// Pair reads the vectors of a put or get, both described here, and checks Table 7's rules for them.
// long: the target's is a lapi_lvec_t.
func (l Loader) Pair(org, tgt *Vector, orgAt, tgtAt transport.Addr, long bool) *Error {
	var o, t description
	if err := o.describe(orgAt, false, &origin); err != nil {
		return err
	}
	if err := t.describe(tgtAt, long, &target); err != nil {
		return err
	}
	switch { // the generic type is for active messages only
	case o.kind > wire.VectorStrided:
		return bad(codes.ErrOrgVecType)
	case t.kind > wire.VectorStrided:
		return bad(codes.ErrTgtVecType)
	case o.kind != t.kind:
		return bad(codes.ErrVecTypeDiff)
	case o.count != t.count:
		return bad(codes.ErrVecNumDiff)
	}
	if err := l.load(org, &o); err != nil {
		return err
	}
	if err := l.load(tgt, &t); err != nil {
		return err
	}
	if org.block != tgt.block || l.Check && !sameLengths(org.list, tgt.list) {
		return bad(codes.ErrVecLenDiff)
	}
	return nil
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

// One reads the vector of an active message's origin.
func (l Loader) One(v *Vector, at transport.Addr) *Error {
	var d description
	if err := d.describe(at, false, &origin); err != nil {
		return err
	}
	if d.kind > wire.VectorGeneric {
		return bad(codes.ErrOrgVecType)
	}
	return l.load(v, &d)
}

// Returned reads the vector that a header handler returned and checks it against the origin's
// (guide, Table 7). lengths are those of the origin's blocks.
func (l Loader) Returned(v *Vector, at transport.Addr, org *wire.Amv, lengths []byte) *Error {
	var d description
	if err := d.describe(at, false, &target); err != nil {
		return err
	}
	switch {
	case d.kind > wire.VectorGeneric:
		return bad(codes.ErrTgtVecType)
	case d.kind != org.Kind:
		return bad(codes.ErrVecTypeDiff)
	case d.kind != wire.VectorGeneric && d.count != org.Count:
		return bad(codes.ErrVecNumDiff)
	}
	if err := l.load(v, &d); err != nil {
		return err
	}
	if v.block != org.Block || l.Check && d.kind == wire.VectorIO && !v.HasLengths(lengths) {
		return bad(codes.ErrVecLenDiff)
	}
	return nil
}
