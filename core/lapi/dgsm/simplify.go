package dgsm

import "math"

// simplify rewrites a routine, and those it calls, as fewer and longer steps that move the same
// bytes in the same order. A program's makers build vectors of vectors; what arrives at memory
// should be long blocks and regular strides.
func (r *routine) simplify() {
	if r.simplified {
		return
	}
	r.simplified = true
	var ops []op
	for _, o := range r.ops {
		if o.sub != nil {
			o.sub.simplify()
			o = o.inlined()
		}
		o = o.joined()
		if n := len(ops); n == 0 || !ops[n-1].absorb(&o) {
			ops = append(ops, o)
		}
	}
	var size uint64
	for i := range ops {
		ops[i].start = size
		ops[i].total = ops[i].block * ops[i].count
		size += ops[i].total
	}
	r.ops = ops
}

// inlined is a call as the one step of its routine, if that can be said as one.
func (o op) inlined() op {
	if len(o.sub.ops) != 1 {
		return o
	}
	inner := o.sub.ops[0]
	// addresses wrap: a sum that does not fit still leads to the same bytes
	inner.offset += o.offset
	step, ok := times(int64(inner.count), inner.stride)
	switch {
	case o.count == 1:
	case inner.sub == nil && inner.count == 1:
		inner.count, inner.stride = o.count, o.stride
	case inner.sub == nil && ok && step == o.stride:
		inner.count *= o.count
	default:
		return o
	}
	return inner
}

// joined is o with blocks that touch each other made one.
func (o op) joined() op {
	if o.sub == nil && o.count > 1 && o.stride == int64(o.block) {
		o.block, o.count = o.block*o.count, 1
	}
	return o
}

// absorb makes next a part of o if the two are one block, or equal blocks at equal distances.
func (o *op) absorb(next *op) bool {
	if o.sub != nil || next.sub != nil || next.count > 1 {
		return false
	}
	if o.count == 1 && o.offset+int64(o.block) == next.offset {
		o.block += next.block
		return true
	}
	distance := next.offset - o.offset
	switch {
	case o.block != next.block || (distance < 0) != (next.offset < o.offset):
		return false
	case o.count == 1:
		o.stride = distance
	case distance != int64(o.count)*o.stride:
		return false
	}
	o.count++
	return true
}

// flatten says whether repetitions of the program are one run of equal blocks, and makes flat that
// run.
func (p *Program) flatten() bool {
	if len(p.main.ops) != 1 || p.main.ops[0].sub != nil {
		return false
	}
	o := p.main.ops[0]
	step, ok := times(int64(o.count), o.stride)
	switch {
	case o.count == 1:
		o.stride = p.Extent
	case !ok || step != p.Extent:
		return false
	}
	o.count = math.MaxInt64
	if o.stride == int64(o.block) {
		o.block, o.count = math.MaxInt64, 1
	}
	p.flat = o
	return true
}
