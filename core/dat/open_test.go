package dat

import (
	"testing"

	"lapi/core/dat/codes"
	"lapi/transport/simnet"
)

// TestOpenForQueries: it takes no sockets.
func TestOpenForQueries(t *testing.T) {
	p := newWorld(t, 1, 1, simnet.Way{}).procs[0]
	cfg := p.ia.library.cfg
	cfg.Network = func() (Network, error) {
		t.Error("sockets are opened")
		return p, nil
	}
	l := New(cfg)
	ia, r := l.OpenIA(OpenArgs{Name: p.ia.Name, Size: 1, Query: true})
	if r != codes.Success {
		t.Fatalf("%#x", r)
	}
	if r := ia.Close(true); r != codes.Success {
		t.Errorf("%#x", r)
	}
}

// TestAsyncExists: an adapter that is opened again shares the first one's asynchronous EVD, which
// stays as long.
func TestAsyncExists(t *testing.T) {
	w := newWorld(t, 1, 1, simnet.Way{})
	p := w.procs[0]
	again, r := p.ia.library.OpenIA(OpenArgs{Name: p.ia.Name, Size: 1, Async: AsyncExists})
	w.must("open", r)
	if again.Async != p.ia.Async {
		t.Error("another EVD")
	}
	if r := p.ia.Close(false); r.Type() != codes.InvalidState {
		t.Errorf("closed under the other: %#x", r)
	}
	w.must("close", again.Close(true))
	hidden, r := p.ia.library.OpenIA(OpenArgs{Name: p.ia.Name, Size: 1,
		Async: AsyncOutOfScope})
	w.must("open", r)
	if hidden.Async == p.ia.Async {
		t.Error("DAT_EVD_OUT_OF_SCOPE shares")
	}
}
