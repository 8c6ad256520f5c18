package udp

import (
	"net/netip"
	"testing"
	"time"

	"lapi/tests/heap"
	"lapi/transport"
)

// A peer that nothing was done with yet costs little more than its address.
func TestMemoryOfPeers(t *testing.T) {
	if !heap.Alone(t) {
		return
	}
	const n = 16384
	m, err := NewMachine(Config{NumTasks: n, Clock: func() int64 { return 1 },
		Random: func() uint64 { return 77 }, Locals: []Local{{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := transport.Address{Bytes: EncodeAddress(netip.MustParseAddrPort("10.0.0.1:5000"))}
	before := heap.InUse()
	for i := 1; i < n; i++ {
		if err := m.Connect(transport.Endpoint(i), a); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap.InUse() - before) / n
	t.Logf("%d bytes each", each)
	if each > 64 {
		t.Errorf("%d bytes each", each)
	}
	if m.Connect(1, a) == nil {
		t.Error("a task is connected twice")
	}
	if m.connected(1) == nil || m.connected(0) != nil {
		t.Error("the wrong one is known")
	}
}

// A peer that this task has talked to costs the memory of the packets under way to it and a small
// constant.
func TestMemoryOfSessions(t *testing.T) {
	if !heap.Alone(t) {
		return
	}
	const n, most = 32, 6 << 10
	p := newPair(t, n, nil)
	for _, m := range p.ms {
		m.Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	}
	before := heap.InUse()
	for from := range n {
		for to := range n {
			if from != to {
				p.send(from, to, 1, 0)
			}
		}
	}
	p.pass(10 * time.Millisecond)
	each := (heap.InUse() - before) / (n * (n - 1))
	t.Logf("%d bytes each", each)
	if each > most {
		t.Errorf("%d bytes each", each)
	}
	for i, m := range p.ms {
		for j := range n {
			if i != j && m.connected(transport.Endpoint(j)).session.state != open {
				t.Fatalf("%d has no session with %d", i, j)
			}
		}
	}
}
