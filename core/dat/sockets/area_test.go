package sockets

import (
	"runtime"
	"testing"

	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/shm"
)

// TestNodeArea: a link to a process of the node begins with as much of its chunk area as one of
// LAPI's, and may use as much.
func TestNodeArea(t *testing.T) {
	p := newProcess(t)
	l, err := p.network.NodeLink(0, func() bool { return true },
		func(transport.Endpoint, error) {})
	if err != nil {
		t.Fatal(err)
	}
	defer p.network.CloseLink(l)
	n := l.(interface{ Node() *layout.NodeLink }).Node()
	first, most := shm.Area(2, runtime.NumCPU() < 2)
	if got := uint64(n.ChunkLimit) * layout.ChunkUnit; got != first {
		t.Errorf("it begins with %d bytes, want %d", got, first)
	}
	if got := uint64(n.ChunkUnits) * layout.ChunkUnit; got != most {
		t.Errorf("it may use %d bytes, want %d", got, most)
	}
}
