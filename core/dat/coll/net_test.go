package coll

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// net is a network of the members of a group. Messages arrive in any order; links have no room now
// and then, and keep memory for a while.
type net struct {
	t       testing.TB
	random  *rand.Rand
	members []*end
	flying  []packet
	now     int64
	calm    bool // order and room are as good as can be
	sent    int
	between int   // messages of data between nodes
	places  []int // the node of each member; nil: it is not counted
	buffers [][]byte
}

type packet struct {
	from, to int
	h        Header
	data     []byte
	op       *transport.Op // still has memory
}

// end is one member: its group and its completions.
type end struct {
	n    *net
	rank int
	g    *Group
	dead bool
	done []*Operation
	held int // buffers that the group has taken
}

func newNet(t testing.TB, seed uint64, size int, nodes []int, window uint64) *net {
	memory.Guard()
	n := &net{t: t, random: rand.New(rand.NewPCG(seed, 1))}
	for i := range size {
		e := &end{n: n, rank: i}
		e.g = New(Config{Self: i, Size: size, Owner: e, Kernel: goKernel{}, Memory: e,
			Clock: func() int64 { return n.now }, Window: window})
		for k := range size {
			e.g.Join(k, uint32(k), 7)
		}
		n.members = append(n.members, e)
	}
	if nodes != nil {
		for i, e := range n.members {
			lowest := 0
			for nodes[lowest] != nodes[i] {
				lowest++
			}
			e.g.ExchangePlaces(Place{Node: lowest, Lead: (i+size)%3 == 0}, 0) // some lead by group_info
		}
		n.run()
		for _, e := range n.members {
			if len(e.done) != 1 || e.done[0].Failed || e.g.Nodes() == 0 {
				t.Fatal("the members have not exchanged their places")
			}
			e.done = nil
		}
	}
	t.Cleanup(n.close)
	return n
}

func (n *net) close() {
	for _, b := range n.buffers {
		arena.Unmap(b)
	}
	for _, e := range n.members {
		if !e.dead && e.held != 0 {
			n.t.Errorf("member %d has kept %d buffers", e.rank, e.held)
		}
	}
}

// Get implements Memory.
func (e *end) Get(n uint64) ([]byte, transport.Addr, error) {
	b, err := arena.Map(int(n))
	if err != nil {
		return nil, 0, err
	}
	e.held++
	return b, memory.AddrOf(b), nil
}

// Put implements Memory.
func (e *end) Put(b []byte) {
	e.held--
	arena.Unmap(b)
}

// SendMax implements Owner.
func (e *end) SendMax(int) int { return HeaderSize + 1024 }

// Touched implements Owner.
func (e *end) Touched() {}

// Woken implements Owner.
func (e *end) Woken(int) {}

// Completed implements Owner.
func (e *end) Completed(o *Operation) { e.done = append(e.done, o) }

// Send implements Owner.
func (e *end) Send(to int, header []byte, op *transport.Op) (transport.Status, error) {
	if !e.n.calm && e.n.random.IntN(10) == 0 {
		return transport.Done, transport.ErrBusy
	}
	p := packet{from: e.rank, to: to}
	if !p.h.Decode(header) {
		e.n.t.Fatal("a header that is none")
	}
	e.n.sent++
	if at := e.n.places; at != nil && p.h.What == sayData && at[e.rank] != at[to] {
		e.n.between++
	}
	queued := op.N > 0 && e.n.random.IntN(3) == 0
	if queued {
		p.op = op
	} else if !p.take(op) {
		return transport.Done, &transport.FaultError{Addr: op.Local}
	}
	e.n.flying = append(e.n.flying, p)
	if queued {
		return transport.Queued, nil
	}
	return transport.Done, nil
}

func (p *packet) take(op *transport.Op) bool {
	p.data = make([]byte, op.N)
	return op.N == 0 || memory.CopyOut(p.data, op.Local) == nil
}

// deliver lets one message arrive.
func (n *net) deliver() {
	i := 0
	if !n.calm {
		i = n.random.IntN(len(n.flying))
	}
	p := n.flying[i]
	n.flying = append(n.flying[:i], n.flying[i+1:]...)
	n.now += 1000
	from, to := n.members[p.from], n.members[p.to]
	if p.op != nil {
		op := p.op
		var err error
		if from.dead {
			return
		}
		if !p.take(op) {
			err = &transport.FaultError{Addr: op.Local}
		}
		op.Done(op, err)
		if err != nil {
			return
		}
	}
	if !to.dead {
		to.g.OnMessage(p.from, &p.h, p.data)
	}
}

// run runs until nothing happens any more.
func (n *net) run() {
	for {
		busy := false
		for _, k := range n.random.Perm(len(n.members)) {
			if e := n.members[k]; !e.dead {
				_, waiting := e.g.Pump()
				busy = busy || waiting
			}
		}
		if len(n.flying) == 0 && !busy {
			return
		}
		for range 1 + n.random.IntN(2*len(n.members)) {
			if len(n.flying) > 0 {
				n.deliver()
			}
		}
	}
}

// kill ends a member; the others are notified.
func (n *net) kill(rank int) {
	n.members[rank].dead = true
	for _, e := range n.members {
		if !e.dead {
			e.g.Lost(rank)
		}
	}
}

// leave ends the process of a member without a notice. Messages it has sent arrive, as links see to
// that; then the other members are notified of its end.
func (n *net) leave(rank int) {
	for again := true; again; {
		again = false
		for i, p := range n.flying {
			if p.from == rank {
				last := len(n.flying) - 1
				n.flying[i], n.flying[last] = n.flying[last], n.flying[i]
				calm, before := n.calm, n.flying
				n.calm, n.flying = true, append([]packet{n.flying[last]}, before[:last]...)
				n.deliver()
				n.calm, again = calm, true
				break
			}
		}
	}
	n.kill(rank)
}

// buffer is memory of a program's, with some content.
func (n *net) buffer(size uint64) []byte {
	if size == 0 {
		return nil
	}
	b, err := arena.Map(int(size))
	if err != nil {
		n.t.Fatal(err)
	}
	n.buffers = append(n.buffers, b)
	for i := range b {
		b[i] = byte(n.random.Uint32())
	}
	return b
}

func spanOf(b []byte) Span {
	if len(b) == 0 {
		return Span{}
	}
	return Span{memory.AddrOf(b), uint64(len(b))}
}

// goKernel reduces a few types: 5 unsigned 32 bits, 9 float64; operations 0 max, 2 sum, and 20,
// which uDAPL does not have: the result is the left operand.
type goKernel struct{}

func (goKernel) Size(op, typ int) int {
	if op != 0 && op != 2 && op != 20 {
		return 0
	}
	return map[int]int{5: 4, 9: 8}[typ]
}

func (k goKernel) Reduce(op, typ int, inout, in transport.Addr, count uint64) {
	size := uint64(k.Size(op, typ))
	reduceBytes(op, typ, memory.Bytes(inout, count*size), memory.Bytes(in, count*size))
}

// reduceBytes makes inout in op inout.
func reduceBytes(op, typ int, inout, in []byte) {
	if op == 20 {
		copy(inout, in)
		return
	}
	le := binary.LittleEndian
	for i := 0; i < len(inout); {
		if typ == 5 {
			x, y := le.Uint32(in[i:]), le.Uint32(inout[i:])
			if op == 2 {
				y = x + y
			} else {
				y = max(x, y)
			}
			le.PutUint32(inout[i:], y)
			i += 4
			continue
		}
		x, y := math.Float64frombits(le.Uint64(in[i:])), math.Float64frombits(le.Uint64(inout[i:]))
		if op == 2 {
			y = x + y
		} else {
			y = max(x, y)
		}
		le.PutUint64(inout[i:], math.Float64bits(y))
		i += 8
	}
}
