package udp

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"lapi/transport"
)

// A peer that nothing was done with yet costs little more than its address.
func TestMemoryOfPeers(t *testing.T) {
	const n = 16384
	m, err := NewMachine(Config{NumTasks: n, Clock: func() int64 { return 1 },
		Random: func() uint64 { return 77 }, Locals: []Local{{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := transport.Address{Bytes: EncodeAddress(netip.MustParseAddrPort("10.0.0.1:5000"))}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // what has finalizers goes by the second
	runtime.ReadMemStats(&before)
	for i := 1; i < n; i++ {
		if err := m.Connect(transport.Endpoint(i), a); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n; each > 64 {
		t.Errorf("%d bytes each", each)
	}
	t.Logf("%d bytes each", (int64(after.HeapAlloc)-int64(before.HeapAlloc))/n)
	if m.Connect(1, a) == nil {
		t.Error("a task is connected twice")
	}
	if m.connected(1) == nil || m.connected(0) != nil {
		t.Error("the wrong one is known")
	}
}

// A peer that this task has talked to costs what is under way to it and a small constant.
func TestMemoryOfSessions(t *testing.T) {
	const n, most = 32, 6 << 10
	p := newPair(t, n, nil)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, m := range p.ms {
		m.Handle(1, func(*transport.Msg) transport.Verdict { return transport.Accept })
	}
	before := heap()
	for from := range n {
		for to := range n {
			if from != to {
				p.send(from, to, 1, 0)
			}
		}
	}
	p.pass(10 * time.Millisecond)
	each := (heap() - before) / (n * (n - 1))
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
