package dat

import (
	"runtime"
	"testing"

	"lapi/core/dat/cm"
	"lapi/core/dat/rc"
	fixture "lapi/tests/lasting"
	"lapi/transport/arena"
	"lapi/transport/simnet"
)

// TestNothingLeft: after thousands of connections that were made, used and ended in different ways
// there is as much of everything as before them. tests/c/dat/programs/leaks.c looks at the process.
func TestNothingLeft(t *testing.T) {
	w := newWorld(t, 10, 2, simnet.Way{Loss: 0.01})
	p, q := w.procs[0], w.procs[1]
	cycle := func(i int) {
		a, b := p.end(nil), q.end(nil)
		w.must("recv", b.ep.PostReceive(nil, 0, 0))
		w.connect(a, b)
		w.must("send", a.ep.Post(PostArgs{Op: rc.Send}))
		w.next(b.recv)
		switch i % 3 {
		case 0:
			w.must("disconnect", a.ep.Disconnect(true))
			w.expect(a.con, EventDisconnected)
			w.expect(b.con, EventDisconnected)
		case 1:
			w.must("disconnect", b.ep.Disconnect(false))
			w.expect(a.con, EventDisconnected)
			w.must("reset", a.ep.Reset())
		}
		a.free()
		b.free()
	}
	type amounts struct {
		handles, conns, attempts, contexts, peers, blocks int
	}
	count := func() (n [2]amounts, heap uint64) {
		w.until(func() bool { return p.l.machine.Conns()+q.l.machine.Conns() == 0 })
		for i, l := range []*Library{p.l, q.l} {
			n[i] = amounts{handles: l.handles.inUse, attempts: l.machine.Conns(),
				conns: l.engine.Conns(), contexts: len(l.ias[0].contexts.places),
				peers:  len(l.peers.known),
				blocks: int(l.ias[0].counters[iaMemAlloc] - l.ias[0].counters[iaMemFree])}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return n, m.HeapAlloc
	}
	// Then the memory of requests that are over is full; 600 cycles have all kinds of ends.
	for i := range (cm.EndedMax/600 + 1) * 600 {
		cycle(i)
	}
	before, heap := count()
	const cycles = 2400
	for i := range cycles {
		cycle(i)
	}
	after, heapAfter := count()
	if before != after {
		t.Errorf("there was %+v, and is %+v", before, after)
	}
	if heapAfter > heap+64*cycles {
		t.Errorf("%d bytes of each connection are left", (heapAfter-heap)/cycles)
	}
}

// lasting is worlds of n processes for a fuzz target.
func lasting(f *testing.F, n int) *fixture.Fixture[*world] {
	return fixture.New(f, 500, func(t testing.TB) *world {
		return newWorld(t, 1, n, simnet.Way{})
	})
}

// unmap gives back the memory that a library keeps for its process's life.
func (l *Library) unmap() {
	l.rings.arena.Release()
	l.memory.Release()
	l.groups.close()
	for _, a := range l.handles.areas {
		arena.Unmap(a.mapped)
	}
}
