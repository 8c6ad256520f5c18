package sockets

import (
	"os/exec"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/transport/layout"
)

// tableAt is a protection table as C sees it.
func tableAt(address uint64) *layout.DatTable {
	at := uintptr(address)
	return *(**layout.DatTable)(unsafe.Pointer(&at))
}

// TestTakenAway: freeing memory, its window or its connection waits for copies of peers that are
// under way, and no peer finds it any more.
func TestTakenAway(t *testing.T) {
	for name, take := range map[string]func(q *process, b *end, w *dat.RMR) codes.Return{
		"lmr": func(q *process, _ *end, _ *dat.RMR) codes.Return { return q.lmr.Free() },
		"rmr": func(_ *process, _ *end, w *dat.RMR) codes.Return { return w.Free() },
		"connection": func(_ *process, b *end, _ *dat.RMR) codes.Return {
			return b.ep.Disconnect(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, q := newLaneProcess(t), newLaneProcess(t)
			a, b := p.end(nil, 0), q.end(nil, 0)
			connect(t, a, b)
			byShm(t, 1, p, q)
			w, r := q.ia.NewRMR(q.pz.Handle(), false)
			must(t, "rmr", r)
			if name == "rmr" {
				_, r = w.Bind(dat.BindArgs{LMR: q.lmr.Handle(), Triplet: q.triplet(0, 64),
					Privileges: dat.RemoteRead, EP: b.ep.Handle()})
				must(t, "bind", r)
				expect(t, b.req, dat.EventBind, p, q)
			}
			mine, theirs := tableAt(p.lane.Table), tableAt(q.lane.Table)
			before := entries(theirs)
			mine.Copies++ // p is at a copy
			var over atomic.Bool
			time.AfterFunc(30*time.Millisecond, func() {
				over.Store(true)
				atomic.AddUint64(&mine.Copies, 1)
			})
			must(t, "take away", take(q, b, w))
			if !over.Load() {
				t.Error("it is taken away during a copy")
			}
			if n := entries(theirs); n != before-1 {
				t.Errorf("%d entries in the table, %d before", n, before)
			}
		})
	}
}

// entries is how much a table grants.
func entries(table *layout.DatTable) (n int) {
	for i := range table.Names {
		if table.Names[i].Context != 0 {
			n++
		}
	}
	for i := range table.Ends {
		n += int(table.Ends[i].Open)
	}
	return n
}

// TestStuckCopy: a peer that is stopped at a copy is waited for once, and not for ever.
func TestStuckCopy(t *testing.T) {
	p, q := newLaneProcess(t), newLaneProcess(t)
	connect(t, p.end(nil, 0), q.end(nil, 0))
	var more [5]*dat.LMR
	for i := range more {
		var r codes.Return
		more[i], r = q.ia.NewLMR(dat.LMRArgs{Region: [2]uint64{q.lmr.Address()}, Length: 64,
			PZ: q.pz.Handle(), Privileges: all})
		must(t, "lmr", r)
	}
	tableAt(p.lane.Table).Copies++
	start := time.Now()
	must(t, "free", q.lmr.Free())
	if waited := time.Since(start); waited < silence {
		t.Errorf("given up after %v, want %v", waited, silence)
	}
	for _, m := range more {
		must(t, "free", m.Free())
	}
	if waited := time.Since(start); waited >= time.Duration(1+len(more))*silence {
		t.Errorf("waited for %v: each time", waited)
	}
}

// blindNetwork cannot map the tables of others.
type blindNetwork struct{ *Network }

func (blindNetwork) PeerTable(int, int) ([]byte, error) { return nil, unix.ENOMEM }

// TestOneTable: only if both processes have each other's table may one copy. Where there is no lane
// there is no table, and data goes by messages.
func TestOneTable(t *testing.T) {
	without := func(t *testing.T) *process { return newProcess(t) }
	blind := func(t *testing.T) *process {
		return newProcessAs(t, Config{}, &layout.DatLane{},
			func(n *Network) dat.Network { return blindNetwork{n} })
	}
	for _, k := range []struct {
		a, b func(t *testing.T) *process
		want bool
	}{{newLaneProcess, newLaneProcess, true}, {newLaneProcess, without, false},
		{without, newLaneProcess, false}, {newLaneProcess, blind, false}} {
		p, q := k.a(t), k.b(t)
		a, b := p.end(nil, 0), q.end(nil, 0)
		connect(t, a, b)
		exchange(t, a, b)
		exchange(t, b, a)
		byShm(t, 1, p, q)
		for _, x := range []*process{p, q} {
			if x.lane != nil && x.mapped() != k.want {
				t.Errorf("the peer's table is mapped: %v, want %v", x.mapped(), k.want)
			}
		}
	}
}

// mapped says whether the process has its peer's table.
func (p *process) mapped() bool { return p.l.Tables() > 0 }

// TestGone: a process has ended once it has been killed, though nobody has collected it.
func TestGone(t *testing.T) {
	n := new(Network)
	if n.Gone(unix.Getpid()) {
		t.Error("this process is gone")
	}
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	if n.Gone(pid) {
		t.Error("the child is gone")
	}
	_ = child.Process.Kill()
	for end := time.Now().Add(10 * time.Second); !n.Gone(pid); {
		if time.Now().After(end) {
			t.Fatal("a process that was killed is not gone")
		}
	}
	_ = child.Wait()
	if !n.Gone(pid) {
		t.Error("one that was collected is not gone")
	}
}

// TestTableFile: nobody but its owner can write a table, or change its size; a file of another
// size, or without seals, is not mapped.
func TestTableFile(t *testing.T) {
	n := new(Network)
	b, file, err := n.Table(8192)
	if err != nil {
		t.Fatal(err)
	}
	defer n.CloseTable(b, file)
	b[5000] = 7
	peer, err := n.PeerTable(file, 8192)
	if err != nil || peer[5000] != 7 {
		t.Fatalf("the peer's: %v", err)
	}
	n.CloseTable(peer, -1)
	if w, err := unix.Mmap(file, 0, 8192, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED); err == nil {
		unix.Munmap(w)
		t.Error("it can be mapped to write")
	}
	if unix.Ftruncate(file, 0) == nil {
		t.Error("it can be truncated")
	}
	if _, err := n.PeerTable(file, 4096); err == nil {
		t.Error("a table of another size is mapped")
	}
	loose, err := unix.MemfdCreate("loose", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(loose)
	_ = unix.Ftruncate(loose, 8192)
	if _, err := n.PeerTable(loose, 8192); err == nil {
		t.Error("one that can be truncated is mapped")
	}
}
