package udp

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// pair is machines joined by wires that a test controls: nothing moves and no time passes unless
// the test says so.
type pair struct {
	t      testing.TB
	now    int64
	ms     []*Machine
	wires  [][]datagram // by sender: packets on their way
	lose   func(from int, b []byte) bool
	full   []bool
	failed []string
	buffer []byte
}

type datagram struct {
	to netip.AddrPort
	b  []byte
}

type pairOutlet struct {
	p *pair
	i int
}

func pairAddr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 99)
}

func (o pairOutlet) Transmit(_ Path, to netip.AddrPort, head []byte, data transport.Addr,
	n int) Outcome {
	if o.p.full[o.i] {
		return Full
	}
	b := make([]byte, len(head)+n)
	copy(b, head)
	if memory.CopyOut(b[len(head):], data) != nil {
		return Fault
	}
	if o.p.lose == nil || !o.p.lose(o.i, b) {
		o.p.wires[o.i] = append(o.p.wires[o.i], datagram{to, b})
	}
	return Sent
}

// newPair makes n connected machines; set changes the configuration of each.
func newPair(t testing.TB, n int, set func(i int, c *Config)) *pair {
	t.Helper()
	memory.Guard()
	p := &pair{t: t, now: 1000, wires: make([][]datagram, n), full: make([]bool, n),
		buffer: userMemory(t, 1<<17)}
	for i := range n {
		p.ms = append(p.ms, p.machine(i, n, set))
	}
	t.Cleanup(func() {
		for _, m := range p.ms {
			m.Close()
		}
	})
	return p
}

func (p *pair) machine(i, n int, set func(i int, c *Config)) *Machine {
	p.t.Helper()
	c := Config{Task: i, NumTasks: n, Key: []byte("key"), Partition: "test", PacketSize: 8192,
		ReceiveBuffer: 1 << 22, CopyMax: 128}
	c.PeerFailed = func(ep transport.Endpoint, err error) {
		p.failed = append(p.failed, fmt.Sprintf("%d of %d: %v", ep, i, err))
	}
	if set != nil {
		set(i, &c)
	}
	m, err := NewMachine(c, pairOutlet{p, i})
	if err != nil {
		p.t.Fatal(err)
	}
	for j := range n {
		if j != i {
			if err := m.Connect(transport.Endpoint(j),
				transport.Address{Bytes: EncodeAddress(pairAddr(j))}); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	return m
}

// deliver hands over all packets that i has on their way now and returns how many these were.
// Packets that the receivers send stay on their way.
func (p *pair) deliver(i int) int {
	p.ms[i].Push()
	batch := p.wires[i]
	p.wires[i] = nil
	for _, f := range batch {
		p.hand(pairAddr(i), f)
	}
	return len(batch)
}

func (p *pair) hand(from netip.AddrPort, f datagram) {
	for j, m := range p.ms {
		if pairAddr(j) == f.to {
			b := p.buffer[:copy(p.buffer, f.b)]
			m.OnPacket(p.now, 0, from, b)
		}
	}
}

// settle moves everything until nothing is on its way; no time passes.
func (p *pair) settle() {
	for moved := 1; moved > 0; {
		moved = 0
		for i := range p.ms {
			moved += p.deliver(i)
		}
	}
	for _, m := range p.ms {
		m.Complete()
	}
}

// pass lets d go by in small steps, with everything moving.
func (p *pair) pass(d time.Duration) {
	const steps = 100
	for range steps {
		p.now += int64(d) / steps
		for _, m := range p.ms {
			m.OnTimeout(p.now, true)
		}
		p.settle()
	}
}

// meet opens the session between 0 and 1.
func (p *pair) meet() {
	p.t.Helper()
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	p.send(0, 1, 1, 0)
	p.pass(10 * time.Millisecond)
	if p.ms[0].connected(1).session.state != open || p.ms[1].connected(0).session.state != open {
		p.t.Fatal("no session comes about")
	}
}

// sent is a Send and what became of it.
type sent struct {
	op     transport.Op
	data   []byte
	status transport.Status
	done   int
	err    error
}

func (p *pair) send(from, to int, id transport.MsgID, n int) *sent {
	p.t.Helper()
	s, err := p.trySend(from, to, id, n)
	if err != nil {
		p.t.Fatalf("Send: %v", err)
	}
	return s
}

func (p *pair) trySend(from, to int, id transport.MsgID, n int) (*sent, error) {
	s := &sent{}
	if n > 0 {
		s.data = userMemory(p.t, n)
		s.op.Local = memory.AddrOf(s.data)
	}
	return s, p.begin(from, to, id, n, s)
}

func (p *pair) begin(from, to int, id transport.MsgID, n int, s *sent) (err error) {
	s.op.N = uint64(n)
	s.op.Done = func(_ *transport.Op, err error) { s.done++; s.err = err }
	s.status, err = p.ms[from].Send(p.now, transport.Endpoint(to), id, nil, &s.op)
	return err
}

func (p *pair) flush(from, to int) *sent {
	p.t.Helper()
	s := &sent{}
	s.op.Done = func(_ *transport.Op, err error) { s.done++; s.err = err }
	var err error
	if s.status, err = p.ms[from].Flush(p.now, transport.Endpoint(to), &s.op); err != nil {
		p.t.Fatalf("Flush: %v", err)
	}
	return s
}

// over says whether the operation has ended, one way or the other.
func (s *sent) over() bool { return s.status == transport.Done || s.done == 1 }

// count is how many packets of a kind i has on its way.
func (p *pair) count(i int, kind wire.Kind) (n int) {
	for _, f := range p.wires[i] {
		if k, _ := wire.KindOf(f.b); k == kind {
			n++
		}
	}
	return n
}

func (p *pair) want(what string, got, want int) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// unmapped is the address of memory that is gone.
func unmapped(t testing.TB) transport.Addr {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(b) })
	return memory.AddrOf(b)
}
