package udp

import (
	"net/netip"
	"runtime"
	"testing"

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
	runtime.ReadMemStats(&before)
	for i := 1; i < n; i++ {
		if err := m.Connect(transport.Endpoint(i), a); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 100 {
		t.Errorf("%d bytes each", each)
	}
	if m.Connect(1, a) == nil {
		t.Error("a task is connected twice")
	}
	if m.connected(1) == nil || m.connected(0) != nil {
		t.Error("the wrong one is known")
	}
}
