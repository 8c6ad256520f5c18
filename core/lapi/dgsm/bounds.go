package dgsm

import "math"

// add and times are a+b and a*b, false on overflow.
func add(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func times(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	product := a * b
	if product/b != a || (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		return 0, false
	}
	return product, true
}

// interval is the bytes from lo up to, not including, hi; empty if lo ≥ hi.
type interval struct{ lo, hi int64 }

func (v interval) empty() bool { return v.lo >= v.hi }

func (v interval) union(w interval) interval {
	switch {
	case v.empty():
		return w
	case w.empty():
		return v
	}
	return interval{min(v.lo, w.lo), max(v.hi, w.hi)}
}

// moved is v further by n bytes, false on overflow.
func (v interval) moved(n int64) (interval, bool) {
	if v.empty() {
		return v, true
	}
	lo, ok := add(v.lo, n)
	hi, ok2 := add(v.hi, n)
	return interval{lo, hi}, ok && ok2
}

// repeated is the union of count ≥ 1 copies of v, each stride bytes further than the one before;
// false on overflow.
func (v interval) repeated(count uint64, stride int64) (interval, bool) {
	if count == 1 || v.empty() {
		return v, true
	}
	if count > math.MaxInt64 {
		return v, false
	}
	distance, ok := times(int64(count-1), stride)
	if !ok {
		return v, false
	}
	last, ok := v.moved(distance)
	return v.union(last), ok
}

// bounds is what the operation touches, from its routine's base; false on overflow.
func (o *op) bounds() (interval, bool) {
	one := interval{0, int64(o.block)}
	if o.sub != nil {
		one = o.sub.bounds
	}
	all, ok := one.repeated(o.count, o.stride)
	if !ok {
		return all, false
	}
	return all.moved(o.offset)
}

// firstBytes is what the first n bytes of a pass touch, n at most its size; false on overflow.
func (r *routine) firstBytes(n uint64) (v interval, ok bool) {
	if n == r.size {
		return r.bounds, true
	}
	ok = true
	for i := 0; n > 0 && ok; i++ {
		o := &r.ops[i]
		var part interval
		if n >= o.total {
			part, ok = o.bounds()
			v, n = v.union(part), n-o.total
			continue
		}
		part, ok = o.firstBytes(n)
		v, n = v.union(part), 0
	}
	return v, ok
}

// firstBytes is what the first n bytes of the operation touch, n less than its total.
func (o *op) firstBytes(n uint64) (v interval, ok bool) {
	whole, rest := n/o.block, n%o.block
	if whole > 0 {
		some := *o
		some.count = whole
		if v, ok = some.bounds(); !ok {
			return v, false
		}
	}
	if rest == 0 {
		return v, true
	}
	last := interval{0, int64(rest)}
	if o.sub != nil {
		if last, ok = o.sub.firstBytes(rest); !ok {
			return v, false
		}
	}
	distance, ok := times(int64(whole), o.stride)
	if !ok {
		return v, false
	}
	if distance, ok = add(distance, o.offset); !ok {
		return v, false
	}
	last, ok = last.moved(distance)
	return v.union(last), ok
}

// Span returns the lowest byte that a transfer of n bytes touches and the one after the highest, as
// offsets from its base; both 0 for no bytes. False if the program cannot be used for n bytes, or
// the offsets do not fit 64 bits.
func (p *Program) Span(n uint64) (lo, hi int64, ok bool) {
	if p.usable(n) != nil {
		return 0, 0, false
	}
	if n == 0 {
		return 0, 0, true
	}
	all := op{sub: p.main, block: p.main.size, count: math.MaxInt64, stride: p.Extent}
	v, ok := all.firstBytes(n)
	return v.lo, v.hi, ok
}
