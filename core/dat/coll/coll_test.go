package coll

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// call is one operation at all members, with the buffers that each must have at its end.
type call struct {
	args []Args
	bufs [][]byte // that are looked at
	want [][]byte // nil: anything
}

// sizes of parts, bytes; multiples of 8.
var sizes = []uint64{0, 8, 24, 1000, 4096, 70 << 10}

// reduces says whether operations of that kind reduce.
func (k Kind) reduces() bool { return k >= Reduce && k <= Scan }

// newCall makes an operation with random arguments.
func newCall(n *net, kind Kind, size uint64) *call {
	c := &call{args: make([]Args, len(n.members)), bufs: make([][]byte, len(n.members)),
		want: make([][]byte, len(n.members))}
	root := n.random.IntN(len(n.members))
	inPlace := n.random.IntN(3) == 0
	op, typ := 2*n.random.IntN(2), 5+4*n.random.IntN(2)
	for i := range c.args {
		c.args[i] = Args{Kind: kind, Root: root, Op: op, Type: typ, Context: n.random.Uint64()}
	}
	switch {
	case kind.reduces():
		c.reduction(n, size, inPlace)
	case kind == Broadcast:
		c.broadcast(n, size)
	case kind == Barrier:
	case kind == Scatter || kind == Scatterv:
		c.scatter(n, size, inPlace)
	case kind == Gather || kind == Gatherv:
		c.gather(n, size, inPlace)
	case kind == Allgather || kind == Allgatherv:
		c.allgather(n, size, inPlace)
	default:
		c.alltoall(n, size, inPlace)
	}
	for i := range c.args {
		c.args[i].judge()
	}
	return c
}

// judge settles what C does when it reads a call: the length of a reduction in place, and what all
// members' calls must have in common.
func (a *Args) judge() *Args {
	if a.Kind.reduces() && a.Send.Null() && (a.Kind == ReduceScatter || a.Send.One.N == 0) {
		a.Send.One.N = a.Recv.One.N
		if a.Kind == ReduceScatter {
			a.Send.One.N = 0
			for _, s := range a.Recv.List {
				a.Send.One.N += s.N
			}
		}
	}
	a.Check = uint64(a.Kind) | uint64(a.Op)<<8 | uint64(a.Type)<<16 | uint64(a.Root)<<24
	if a.Kind.reduces() || a.Kind == Broadcast {
		a.Check |= a.Send.One.N << 32
	}
	return a
}

func (c *call) broadcast(n *net, size uint64) {
	for i := range c.args {
		c.bufs[i] = n.buffer(size)
		c.args[i].Send.One = spanOf(c.bufs[i])
	}
	for i := range c.want {
		c.want[i] = bytes.Clone(c.bufs[c.args[0].Root])
	}
}

// parts are buffers of n ranks in a row, with equal sizes or not.
func (c *call) parts(n *net, size uint64, equal bool) (buffer []byte, p Parts) {
	var list []Span
	total := uint64(0)
	for i := range n.members {
		s := size
		if !equal {
			s = size * uint64(i%3) / 2 &^ 7
		}
		list = append(list, Span{0, s})
		total += s
	}
	buffer = n.buffer(total)
	at := uint64(0)
	for i := range list {
		list[i] = spanOf(buffer[at : at+list[i].N])
		at += list[i].N
	}
	if equal {
		return buffer, Parts{One: list[0]}
	}
	one := Span{}
	if total > 0 {
		one = spanOf(buffer)
	}
	return buffer, Parts{One: one, List: list}
}

func partBytes(buffer []byte, p *Parts, rank int) []byte {
	at := uint64(0)
	for i := range rank {
		at += p.of(i).N
	}
	return buffer[at : at+p.of(rank).N]
}

func (c *call) scatter(n *net, size uint64, inPlace bool) {
	root := c.args[0].Root
	from, parts := c.parts(n, size, c.args[0].Kind == Scatter)
	c.args[root].Send = parts
	for i := range c.args {
		part := partBytes(from, &parts, i)
		if i == root && inPlace {
			continue
		}
		c.bufs[i] = n.buffer(uint64(len(part)) + 8) // more room than needed
		c.args[i].Recv.One = spanOf(c.bufs[i])
		c.want[i] = append(bytes.Clone(part), c.bufs[i][len(part):]...)
	}
}

func (c *call) gather(n *net, size uint64, inPlace bool) {
	root := c.args[0].Root
	to, parts := c.parts(n, size, c.args[0].Kind == Gather)
	c.args[root].Recv = parts
	c.bufs[root], c.want[root] = to, bytes.Clone(to)
	for i := range c.args {
		if i == root && inPlace {
			continue
		}
		b := n.buffer(parts.of(i).N)
		if i != root && len(b) > 8 && i%2 == 0 {
			b = b[:len(b)-8] // less than there is room
		}
		c.args[i].Send.One = spanOf(b)
		copy(partBytes(c.want[root], &parts, i), b)
	}
}

func (c *call) allgather(n *net, size uint64, inPlace bool) {
	var whole []byte
	for i := range c.args {
		c.bufs[i], c.args[i].Recv = c.parts(n, size, c.args[0].Kind == Allgather)
		own := partBytes(c.bufs[i], &c.args[i].Recv, i)
		if !inPlace {
			own = n.buffer(uint64(len(own)))
			c.args[i].Send.One = spanOf(own)
		}
		whole = append(whole, own...)
	}
	for i := range c.want {
		c.want[i] = whole
	}
}

func (c *call) alltoall(n *net, size uint64, inPlace bool) {
	equal := c.args[0].Kind == Alltoall
	from := make([][]byte, len(c.args))
	for i := range c.args {
		c.bufs[i], c.args[i].Recv = c.parts(n, size, equal)
		from[i] = c.bufs[i]
		if equal && !inPlace {
			from[i], c.args[i].Send = c.parts(n, size, true)
		}
		if !equal { // what i gets from k is as long as parts(k); so k sends that to all
			one := n.buffer(c.args[i].Recv.List[i].N)
			c.args[i].Send.List = nil
			for range c.args {
				c.args[i].Send.List = append(c.args[i].Send.List, spanOf(one))
			}
			c.args[i].Send.One = Span{Addr: 1}
			from[i] = one
		}
	}
	for i := range c.want {
		for k := range c.args {
			if equal {
				c.want[i] = append(c.want[i], partBytes(from[k], &c.args[i].Recv, i)...)
			} else {
				c.want[i] = append(c.want[i], from[k]...)
			}
		}
	}
}

// reduction: numbers are small whole ones, so that the naive order gives the same.
func (c *call) reduction(n *net, size uint64, inPlace bool) {
	a := c.args[0]
	var in [][]byte
	total := size
	var counts []Span
	if a.Kind == ReduceScatter {
		total = 0
		for i := range c.args {
			counts = append(counts, Span{N: size * uint64(i%3) / 2 &^ 7})
			total += counts[i].N
		}
	}
	for range c.args {
		b := n.buffer(total)
		for k := 0; k+8 <= len(b); k += 8 {
			v := uint64(n.random.IntN(1000))
			if a.Type == 9 {
				v = math.Float64bits(float64(v))
			}
			binary.LittleEndian.PutUint64(b[k:], v)
		}
		in = append(in, bytes.Clone(b))
		c.bufs = append(c.bufs, b)
	}
	sends := c.bufs[len(c.args):]
	c.bufs = make([][]byte, len(c.args))
	at := uint64(0)
	for i := range c.args {
		has := a.Kind != Reduce || a.Root == i
		place := inPlace && has
		if has {
			c.bufs[i] = n.buffer(total + 8)
			if place && total > 0 {
				c.bufs[i] = sends[i]
			}
			c.args[i].Recv.One = spanOf(c.bufs[i])
		}
		switch {
		case total == 0:
			c.args[i].Send.One = Span{Addr: 8} // nothing, and not in place
		case !place:
			c.args[i].Send.One = spanOf(sends[i])
		}
		last := len(c.args) - 1
		if a.Kind == Scan {
			last = i
		}
		sum := bytes.Clone(in[last])
		for k := last - 1; k >= 0; k-- {
			reduceBytes(a.Op, a.Type, sum, in[k])
		}
		if a.Kind == ReduceScatter {
			c.args[i].Recv.List = counts
			c.args[i].Recv.One.N = counts[i].N
			sum = sum[at : at+counts[i].N]
			at += counts[i].N
		}
		if has {
			c.want[i] = append(sum, c.bufs[i][len(sum):]...)
		}
	}
}

// check compares the results with the wanted ones.
func (c *call) check(n *net, what string) {
	n.t.Helper()
	for i, want := range c.want {
		if c.args[i].Kind == ReduceScatter { // what follows the part of one in place is spoilt
			want = want[:c.args[i].Recv.One.N]
		}
		if c.bufs[i] != nil && !bytes.Equal(c.bufs[i][:len(want)], want) {
			n.t.Fatalf("%s: member %d of %d has the wrong data (root %d)", what, i, len(c.want),
				c.args[i].Root)
		}
	}
}

var kinds = []Kind{Scatter, Scatterv, Gather, Gatherv, Allgather, Allgatherv, Alltoall, Alltoallv,
	Reduce, Allreduce, ReduceScatter, Scan, Broadcast, Barrier}

// nodesOf places members on nodes.
func nodesOf(size, perNode int) (nodes []int) {
	for i := range size {
		nodes = append(nodes, i/perNode)
	}
	return nodes
}

// largest is how many members groups have at the most.
var largest = 17

// TestOperations: every operation, group size, data size and layout of nodes against a naive
// reference.
func TestOperations(t *testing.T) {
	for size := 1; size <= largest; size++ {
		for layout, nodes := range map[string][]int{"flat": nil, "by three": nodesOf(size, 3),
			"alternating": alternating(size, 3), "uneven": uneven(size)} {
			t.Run(fmt.Sprint(size, " ", layout), func(t *testing.T) {
				n := newNet(t, uint64(size), size, nodes, 8192)
				for _, kind := range kinds {
					for _, bytes := range sizes[:len(sizes)-size/9] {
						c := newCall(n, kind, bytes)
						for i, e := range n.members {
							e.g.Post(&c.args[i])
						}
						n.run()
						what := fmt.Sprint("kind ", kind, " size ", bytes)
						n.allDone(1, what)
						c.check(n, what)
						n.forget()
					}
				}
			})
		}
	}
}

func alternating(size, nodes int) (list []int) {
	for i := range size {
		list = append(list, i%nodes)
	}
	return list
}

// uneven is one small node amid the ranks of a large one, and one at the end.
func uneven(size int) (nodes []int) {
	for i := range size {
		switch {
		case i == 1:
			nodes = append(nodes, 1)
		case i > 2*size/3:
			nodes = append(nodes, 2)
		default:
			nodes = append(nodes, 0)
		}
	}
	return nodes
}

func (n *net) forget() {
	for _, e := range n.members {
		e.done = nil
	}
}

// allDone fails unless each living member has count completions, all good.
func (n *net) allDone(count int, what string) {
	n.t.Helper()
	for _, e := range n.members {
		if e.dead {
			continue
		}
		if len(e.done) != count {
			n.t.Fatalf("%s: member %d has %d completions of %d", what, e.rank, len(e.done), count)
		}
		for _, o := range e.done {
			if o.Failed {
				n.t.Fatalf("%s: failed at member %d", what, e.rank)
			}
		}
	}
}

// TestMany: many operations under way, begun at different times, complete in the order of posting.
func TestMany(t *testing.T) {
	for seed := range uint64(30) {
		size := 1 + int(seed)%9
		nodes := [][]int{nil, nodesOf(size, 2)}[seed%2]
		n := newNet(t, seed, size, nodes, 2048)
		var calls []*call
		for range 40 {
			calls = append(calls, newCall(n, kinds[n.random.IntN(len(kinds))],
				sizes[n.random.IntN(len(sizes)-1)]))
		}
		next := make([]int, size)
		for left := size * len(calls); left > 0; left-- {
			i := n.random.IntN(size)
			for next[i] == len(calls) {
				i = (i + 1) % size
			}
			n.members[i].g.Post(&calls[next[i]].args[i])
			if next[i]++; n.random.IntN(4) == 0 {
				n.run()
			}
		}
		n.run()
		n.allDone(len(calls), fmt.Sprint("seed ", seed))
		for k, c := range calls {
			c.check(n, fmt.Sprint("seed ", seed, " call ", k, " kind ", c.args[0].Kind))
			for i, e := range n.members {
				if e.done[k].Context != c.args[i].Context {
					t.Fatalf("seed %d: completion %d of member %d is another's", seed, k, i)
				}
			}
		}
	}
}

// TestSameBits: sums whose order matters are the same at all members, and in each run.
func TestSameBits(t *testing.T) {
	for _, size := range []int{2, 3, 5, 8, 13} {
		for _, bytesN := range []uint64{8, 4096, 64 << 10} {
			var first []byte
			for run := range uint64(3) {
				n := newNet(t, run, size, [][]int{nil, nodesOf(size, 3)}[size%2], 8192)
				bufs := make([][]byte, size)
				for i, e := range n.members {
					in := n.buffer(bytesN)
					for k := 0; k < len(in); k += 8 {
						v := math.Sin(float64(k+1)) * math.Pow(10, float64((i*7+k)%15))
						binary.LittleEndian.PutUint64(in[k:], math.Float64bits(v))
					}
					bufs[i] = n.buffer(bytesN)
					a := Args{Kind: Allreduce, Op: 2, Type: 9, Send: Parts{One: spanOf(in)},
						Recv: Parts{One: spanOf(bufs[i])}}
					e.g.Post(a.judge())
				}
				n.run()
				n.allDone(1, "allreduce")
				if first == nil {
					first = bytes.Clone(bufs[0])
				}
				for i, b := range bufs {
					if !bytes.Equal(b, first) {
						t.Fatalf("%d members, %d bytes, run %d: member %d has other bits", size,
							bytesN, run, i)
					}
				}
			}
		}
	}
}

// TestOrder: lower ranks stand on the left, where a reduction is made as a whole.
func TestOrder(t *testing.T) {
	for size := 1; size <= 9; size++ {
		n := newNet(t, uint64(size), size, nil, 8192)
		for _, kind := range []Kind{Allreduce, Scan, Reduce} {
			var first []byte
			outs := make([][]byte, size)
			for i, e := range n.members {
				in := n.buffer(400)
				if i == 0 {
					first = bytes.Clone(in)
				}
				outs[i] = n.buffer(400)
				a := Args{Kind: kind, Op: 20, Type: 9, Send: Parts{One: spanOf(in)},
					Recv: Parts{One: spanOf(outs[i])}}
				e.g.Post(a.judge())
			}
			n.run()
			n.allDone(1, "all")
			n.forget()
			for i, out := range outs {
				if (kind != Reduce || i == 0) && !bytes.Equal(out, first) {
					t.Errorf("kind %d of %d: the result of member %d is not the left one", kind,
						size, i)
				}
			}
		}
	}
}
