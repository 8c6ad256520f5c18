package dat

import (
	"encoding/binary"
	"errors"
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
)

// windowLab is two hosts with a connection, of which the second has windows.
type windowLab struct {
	*lab
	a, b *labEnd
}

func newWindowLab(t *testing.T, change func(a *Attr, p *EPArgs)) *windowLab {
	return newLab(t, 2).windows(change)
}

func (l *lab) windows(change func(a *Attr, p *EPArgs)) *windowLab {
	l.t.Helper()
	a, b := l.pair(change)
	return &windowLab{l, a, b}
}

func (l *windowLab) rmr(forEP bool) *RMR {
	l.t.Helper()
	m, r := l.b.h.ia.NewRMR(l.b.h.pz.Handle(), forEP)
	l.must("rmr", r)
	return m
}

// post posts a bind of n bytes at an offset.
func (l *windowLab) post(m *RMR, e *labEnd, at int, n uint32, p Privileges) uint32 {
	l.t.Helper()
	context, r := m.Bind(BindArgs{LMR: e.h.lmr.Handle(), Triplet: e.h.local(at, n)[0],
		Privileges: p, EP: e.Handle()})
	l.must("bind", r)
	return context
}

// told returns the status of a bind that is over.
func (l *windowLab) told(e *labEnd) rc.Status {
	l.t.Helper()
	ev := l.expect(e.req, EventBind)
	return rc.Status(binary.LittleEndian.Uint32(ev.Data[16:]))
}

func (l *windowLab) bind(m *RMR, at int, n uint32, p Privileges) uint32 {
	l.t.Helper()
	context := l.post(m, l.b, at, n, p)
	if s := l.told(l.b); s != rc.Success || m.Context != context {
		l.t.Fatalf("status %d, context %#x of %#x", s, m.Context, context)
	}
	return context
}

// reach accesses n bytes by a context. It breaks the connection if that fails.
func (l *windowLab) reach(by *labEnd, op rc.Op, context uint32, at int, n uint32, want rc.Status) {
	l.t.Helper()
	x := l.b.h.remote(at, n)
	x.Context = context
	l.must("access", by.Post(PostArgs{Op: op, Triplets: by.h.local(0, n), Remote: x}))
	if s, _, _ := l.dto(by.req); s != want {
		l.t.Errorf("access to %d bytes at %d: status %d, not %d", n, at, s, want)
	}
	if want != rc.Success {
		l.expect(by.con, EventBroken)
	}
}

// denied is an access by a connection of its own.
func (l *windowLab) denied(op rc.Op, context uint32, at int, n uint32) {
	l.t.Helper()
	a, _ := l.pair(nil)
	l.reach(a, op, context, at, n, rc.RemoteAccess)
}

// TestWindowRights: a window grants what it is bound to, by any connection, and nothing else; its
// context ends with the next bind.
func TestWindowRights(t *testing.T) {
	l := newWindowLab(t, nil)
	defer l.close()
	m := l.rmr(false)
	first := l.bind(m, 64, 32, RemoteRead|RemoteWrite)
	if first == l.b.h.lmr.RemoteContext() || m.ForEP {
		t.Errorf("context %#x, for an endpoint: %v", first, m.ForEP)
	}
	l.reach(l.a, rc.Read, first, 64, 32, rc.Success)
	l.reach(l.a, rc.Write, first, 64, 8, rc.Success)
	l.denied(rc.Read, first, 64, 33)
	l.denied(rc.Read, first, 63, 1)
	if r := l.b.h.lmr.Free(); r != codes.InvalidState.With(codes.InvalidStateLMRInUse) {
		t.Errorf("the LMR of a window is freed: %#x", uint32(r))
	}
	objects := l.b.h.d.Left()
	second := l.bind(m, 128, 8, RemoteRead)
	if l.b.h.d.Left() != objects {
		t.Error("a window is not bound anew, but made anew")
	}
	l.reach(l.a, rc.Read, second, 128, 8, rc.Success)
	l.denied(rc.Read, first, 64, 8)
	l.denied(rc.Write, second, 128, 8)
	l.post(m, l.b, 0, 0, 0)
	if s := l.told(l.b); s != rc.Success || m.Context != 0 {
		t.Errorf("unbound: status %d, context %#x", s, m.Context)
	}
	l.denied(rc.Read, second, 128, 8)
	third := l.bind(m, 64, 8, RemoteRead)
	l.must("free", m.Free())
	l.denied(rc.Read, third, 64, 8)
}

// TestWindowOfRMRs: a window's bytes are where a read goes to by its context.
func TestWindowOfRMRs(t *testing.T) {
	l := newWindowLab(t, nil)
	defer l.close()
	context := l.bind(l.rmr(false), 64, 8, RemoteWrite|LocalWrite)
	copy(l.a.h.b[512:], "by a RMR")
	x := PostArgs{Op: rc.Read, ToRMR: true, Remote: l.a.h.remote(512, 8),
		Triplets: []Triplet{{Addr: l.b.h.local(64, 8)[0].Addr, N: 8, Context: context}}}
	l.must("read", l.b.Post(x))
	l.wantDTO(l.b.req, rc.Success, 8, dtoRead)
	if string(l.b.h.b[64:72]) != "by a RMR" {
		t.Errorf("%q", l.b.h.b[64:72])
	}
}

// zeroBased binds bytes of an LMR, from 0 on. at is an address as the LMR has it.
func (l *windowLab) zeroBased(m *RMR, of *LMR, at uint64, n uint32, p Privileges) uint32 {
	l.t.Helper()
	context, r := m.Bind(BindArgs{LMR: of.Handle(), Privileges: p, EP: l.b.Handle(), ZeroBased: true,
		Triplet: Triplet{Addr: at, N: n, Context: of.Context}})
	l.must("bind", r)
	if s := l.told(l.b); s != rc.Success || m.Context != context {
		l.t.Fatalf("status %d, context %#x of %#x", s, m.Context, context)
	}
	return context
}

// fromZero accesses n bytes that a peer names from at on.
func (l *windowLab) fromZero(by *labEnd, op rc.Op, context uint32, at uint64, n uint32,
	want rc.Status) {
	l.t.Helper()
	l.must("access", by.Post(PostArgs{Op: op, Triplets: by.h.local(0, n),
		Remote: Triplet{Addr: at, N: n, Context: context}}))
	if s, _, _ := l.dto(by.req); s != want {
		l.t.Errorf("access to %d bytes at %d: status %d, not %d", n, at, s, want)
	}
	if want != rc.Success {
		l.expect(by.con, EventBroken)
	}
}

// TestWindowZeroBasedOfEndpoint: an endpoint's RMR that counts from 0 is a window, of an LMR that has
// addresses and of an LMR from 0: its bytes, no others, no other connection, until it is
// bound anew or invalidated.
func TestWindowZeroBasedOfEndpoint(t *testing.T) {
	for _, ofZero := range []bool{false, true} {
		l := newWindowLab(t, nil)
		of, at := l.b.h.lmr, l.b.h.local(64, 0)[0].Addr
		if ofZero {
			var r codes.Return
			of, r = l.b.h.ia.NewLMR(LMRArgs{Region: [2]uint64{l.b.h.local(0, 0)[0].Addr}, Length: 512,
				PZ: l.b.h.pz.Handle(), Privileges: allPrivileges, ZeroBased: true})
			l.must("lmr", r)
			at = 64
		}
		m, regions := l.rmr(true), l.b.h.d.Regions()
		first := l.zeroBased(m, of, at, 16, RemoteRead|RemoteWrite)
		if m.region.window == nil || l.b.h.d.Regions() != regions {
			t.Errorf("of an LMR from 0 %v: an RMR is a region", ofZero)
		}
		copy(l.a.h.b, "of a peer")
		l.fromZero(l.a, rc.Write, first, 4, 8, rc.Success)
		if string(l.b.h.b[68:76]) != "of a pee" {
			t.Errorf("%q", l.b.h.b[64:80])
		}
		a, _ := l.pair(nil)
		l.fromZero(a, rc.Read, first, 0, 8, rc.RemoteAccess)
		second := l.zeroBased(m, of, at+16, 16, RemoteRead|RemoteWrite)
		l.fromZero(l.a, rc.Read, second, 0, 16, rc.Success)
		l.must("receive", l.b.PostReceive(l.b.h.local(0, 8), 7, 0))
		l.must("send", l.a.Post(PostArgs{Op: rc.Send, Invalidate: true,
			Remote: Triplet{Context: second}}))
		l.wantDTO(l.b.recv, rc.Success, 0, dtoReceiveWithInvalidate)
		l.wantDTO(l.a.req, rc.Success, 0, dtoSend)
		if m.Context != 0 || of.users != 0 {
			t.Errorf("bound after it was invalidated: context %#x, %d users", m.Context, of.users)
		}
		third := l.zeroBased(m, of, at, 8, RemoteRead|RemoteWrite)
		copy(l.a.h.b[512:], "by a RMR")
		l.must("read", l.b.Post(PostArgs{Op: rc.Read, ToRMR: true, Remote: l.a.h.remote(512, 8),
			Triplets: []Triplet{{N: 8, Context: third}}}))
		l.wantDTO(l.b.req, rc.Success, 8, dtoRead)
		if string(l.b.h.b[64:72]) != "by a RMR" {
			t.Errorf("a read to an RMR: %q", l.b.h.b[64:72])
		}
		l.fromZero(l.a, rc.Read, third, 1, 8, rc.RemoteAccess)
		l.expect(l.b.con, EventDisconnected)
		l.a, l.b = l.pair(nil)
		fourth := l.zeroBased(m, of, at, 8, RemoteRead)
		l.fromZero(l.a, rc.Read, fourth, at, 8, rc.RemoteAccess)
		l.must("free", m.Free())
		l.close()
	}
}

// TestWindowOfZeroBasedLMR: an RMR with addresses, of an LMR that counts from 0, is a region.
func TestWindowOfZeroBasedLMR(t *testing.T) {
	l := newWindowLab(t, nil)
	defer l.close()
	of, r := l.b.h.ia.NewLMR(LMRArgs{Region: [2]uint64{l.b.h.local(0, 0)[0].Addr}, Length: 512,
		PZ: l.b.h.pz.Handle(), Privileges: allPrivileges, ZeroBased: true})
	l.must("lmr", r)
	for _, forEP := range []bool{false, true} {
		context, r := l.rmr(forEP).Bind(BindArgs{LMR: of.Handle(), Triplet: Triplet{Addr: 64, N: 8},
			Privileges: RemoteRead, EP: l.b.Handle()})
		l.must("bind", r)
		if s := l.told(l.b); s != rc.Success {
			t.Fatalf("status %d", s)
		}
		l.reach(l.a, rc.Read, context, 64, 8, rc.Success)
	}
}

// TestWindowZeroBased: an RMR that counts from 0 and is not an endpoint's is a region of its own,
// before and after windows.
func TestWindowZeroBased(t *testing.T) {
	l := newWindowLab(t, nil)
	defer l.close()
	m := l.rmr(false)
	for range 2 {
		old := l.bind(m, 64, 8, RemoteRead)
		context, r := m.Bind(BindArgs{LMR: l.b.h.lmr.Handle(), Triplet: l.b.h.local(64, 8)[0],
			Privileges: RemoteRead, EP: l.b.Handle(), ZeroBased: true})
		l.must("bind", r)
		if s := l.told(l.b); s != rc.Success {
			t.Fatalf("status %d", s)
		}
		l.must("read", l.a.Post(PostArgs{Op: rc.Read, Triplets: l.a.h.local(0, 8),
			Remote: Triplet{N: 8, Context: context}}))
		l.wantDTO(l.a.req, rc.Success, 8, dtoRead)
		l.denied(rc.Read, old, 64, 8)
	}
	l.bind(m, 64, 8, RemoteRead)
	l.post(m, l.b, 64, 8, RemoteRead) // each waits for the one before
	_, r := m.Bind(BindArgs{LMR: l.b.h.lmr.Handle(), Triplet: l.b.h.local(64, 8)[0],
		Privileges: RemoteRead, EP: l.b.Handle(), ZeroBased: true})
	l.must("bind", r)
	context := l.post(m, l.b, 64, 16, RemoteRead)
	for range 3 {
		if s := l.told(l.b); s != rc.Success {
			t.Fatalf("status %d", s)
		}
	}
	l.reach(l.a, rc.Read, context, 64, 16, rc.Success)
}

// TestWindowInvalidated: a peer's send takes an endpoint's window back, and its receive says which;
// then the window can be bound again. No other connection may use it.
func TestWindowInvalidated(t *testing.T) {
	for _, vague := range []bool{false, true} {
		l := newWindowLab(t, func(a *Attr, _ *EPArgs) {
			if vague { // also when the send is reported before the bind
				a.RecvFlags = Solicited
			}
		})
		l.b.h.d.Vague = vague
		m := l.rmr(true)
		l.b.h.d.Refuse["AllocMW"] = errors.New("one is enough")
		for i := range 3 {
			context := l.post(m, l.b, 64, 8, RemoteRead)
			if i < 2 { // else nobody has taken its completion yet
				l.told(l.b)
				l.reach(l.a, rc.Read, context, 64, 8, rc.Success)
			}
			l.must("receive", l.b.PostReceive(l.b.h.local(0, 8), 7, 0))
			l.must("send", l.a.Post(PostArgs{Op: rc.Send, Triplets: l.a.h.local(0, 4),
				Invalidate: true, Remote: Triplet{Context: context}}))
			l.turn()
			ev := l.b.recv.take()
			u := func(at int) uint32 { return binary.LittleEndian.Uint32(ev.Data[at:]) }
			if u(16) != 0 || u(20) != 4 || u(24) != dtoReceiveWithInvalidate || u(28) != context {
				t.Fatalf("%v: status %d, %d bytes, operation %d, context %#x of %#x", vague, u(16),
					u(20), u(24), u(28), context)
			}
			if i == 2 {
				l.told(l.b)
			}
			if m.Context != 0 || m.LMR != nil || l.b.h.lmr.users != 0 {
				t.Fatalf("round %d: bound: context %#x", i, m.Context)
			}
			l.wantDTO(l.a.req, rc.Success, 4, dtoSend)
		}
		delete(l.b.h.d.Refuse, "AllocMW")
		first := l.bind(m, 64, 8, RemoteRead)
		second := l.bind(m, 64, 16, RemoteRead)
		l.denied(rc.Read, second, 64, 8)
		l.reach(l.a, rc.Read, second, 64, 16, rc.Success)
		l.reach(l.a, rc.Read, first, 64, 8, rc.RemoteAccess)
		l.turn()
		if m.Context != 0 || m.window != nil || l.b.h.lmr.users != 0 {
			t.Errorf("context %#x outlives its endpoint's queue pair", m.Context)
		}
		l.close()
	}
}

// TestWindowPlain: what only seems to have been invalidated was not; what was, is said to be even
// if its RMR is gone.
func TestWindowPlain(t *testing.T) {
	l := newWindowLab(t, nil)
	defer l.close()
	_, other := l.pair(nil)
	zone, own := l.rmr(false), l.rmr(true)
	contexts := []uint32{77, l.bind(zone, 64, 8, RemoteRead), l.post(own, other, 64, 8, RemoteRead)}
	l.told(other)
	for _, context := range contexts {
		l.must("receive", l.b.PostReceive(l.b.h.local(0, 8), 7, 0))
		l.b.h.d.Invent(l.b.way.(deviceWay).Number(),
			ibv.Completion{Invalidated: true, Perhaps: true, Key: context})
		l.wantDTO(l.b.recv, rc.Success, 0, dtoReceive)
	}
	if zone.Context == 0 || own.Context == 0 {
		t.Error("a window was closed")
	}
	l.must("receive", l.b.PostReceive(l.b.h.local(0, 8), 7, 0))
	m := l.rmr(true)
	l.must("send", l.a.Post(PostArgs{Op: rc.Send, Invalidate: true,
		Remote: Triplet{Context: l.bind(m, 64, 8, RemoteRead)}}))
	l.must("free", m.Free())
	l.wantDTO(l.b.recv, rc.Success, 0, dtoReceiveWithInvalidate)
}

// TestWindowUntold: a bind that the adapter may have done, and does not report, leaves nothing.
func TestWindowUntold(t *testing.T) {
	for _, forEP := range []bool{false, true} {
		l := newWindowLab(t, nil)
		m := l.rmr(forEP)
		l.bind(m, 64, 8, RemoteRead)
		l.b.h.d.Unreported = true
		l.post(m, l.b, 64, 16, RemoteRead)
		l.must("disconnect", l.b.Disconnect(false))
		if s := l.told(l.b); s != rc.Flushed || m.Context != 0 || l.b.h.lmr.users != 0 {
			t.Errorf("status %d, context %#x, %d users", s, m.Context, l.b.h.lmr.users)
		}
		l.must("free", l.b.h.lmr.Free())
		l.close()
	}
}

// TestWindowNotInvalidated: a peer can invalidate nothing but an endpoint's window; an attempt ends
// the connection.
func TestWindowNotInvalidated(t *testing.T) {
	l := newWindowLab(t, nil)
	defer l.close()
	zone, closed := l.rmr(false), l.rmr(true)
	contexts := []uint32{l.bind(zone, 64, 8, RemoteRead), l.b.h.lmr.RemoteContext(),
		l.bind(closed, 64, 8, RemoteRead)}
	l.post(closed, l.b, 0, 0, 0)
	if l.told(l.b) != rc.Success || closed.Context != 0 {
		t.Fatal("not unbound")
	}
	for _, context := range contexts {
		a, b := l.pair(nil)
		l.must("receive", b.PostReceive(b.h.local(0, 8), 7, 0))
		l.must("send", a.Post(PostArgs{Op: rc.Send, Invalidate: true,
			Remote: Triplet{Context: context}}))
		l.wantDTO(a.req, rc.RemoteResponder, 0, dtoSend)
		l.expect(a.con, EventBroken)
		l.wantDTO(b.recv, rc.Flushed, 0, dtoReceive)
	}
	if zone.Context == 0 {
		t.Error("a zone's window is closed by a peer")
	}
}

// TestWindowFailures: a bind that an adapter refuses, or that fails, is reported, ends the
// connection and closes the window. A bind posted when the connection is over changes nothing.
func TestWindowFailures(t *testing.T) {
	for _, forEP := range []bool{false, true} {
		l := newWindowLab(t, nil)
		m := l.rmr(forEP)
		old := l.bind(m, 64, 8, RemoteRead)
		l.b.h.d.Refuse["BindMW"] = errors.New("no room")
		l.post(m, l.b, 64, 16, RemoteRead)
		if s := l.told(l.b); s != rc.BindFailed {
			t.Errorf("refused: status %d", s)
		}
		l.expect(l.b.con, EventBroken)
		delete(l.b.h.d.Refuse, "BindMW")
		if bound := m.Context == old; bound == forEP {
			t.Errorf("for an endpoint %v: still bound %v", forEP, bound)
		}
		l.post(m, l.b, 64, 16, RemoteRead) // the connection is over
		if s := l.told(l.b); s != rc.Flushed || l.b.h.lmr.users > 1 {
			t.Errorf("late: status %d, %d users of the LMR", s, l.b.h.lmr.users)
		}
		l.a, l.b = l.pair(nil)
		l.bind(m, 64, 8, RemoteRead)
		l.b.h.d.Fail = func(w *ibv.Work) ibv.Status {
			if w.Op == ibv.OpBind {
				return ibv.LocQPOpErr
			}
			return 0
		}
		l.post(m, l.b, 64, 16, RemoteRead)
		l.post(m, l.b, 64, 24, RemoteRead)
		if s := l.told(l.b); s != rc.BindFailed {
			t.Errorf("failed: status %d", s)
		}
		if s := l.told(l.b); s != rc.Flushed || m.Context != 0 || m.pending != 0 ||
			l.b.h.lmr.users != 0 {
			t.Errorf("behind one that failed: status %d, context %#x, %d pending, %d users", s,
				m.Context, m.pending, l.b.h.lmr.users)
		}
		l.expect(l.b.con, EventBroken)
		l.b.h.d.Fail = nil
		l.a, l.b = l.pair(nil)
		l.reach(l.a, rc.Read, l.bind(m, 64, 8, RemoteRead), 64, 8, rc.Success)
		l.close()
	}
}

// TestWindowOrder: binds of one RMR are requests of one endpoint at a time; an RMR that is freed
// meanwhile ends when its binds are over, and so does its use of the zone.
func TestWindowOrder(t *testing.T) {
	for _, forEP := range []bool{false, true} {
		for _, bound := range []bool{false, true} {
			windowOrder(t, forEP, bound)
		}
	}
}

func windowOrder(t *testing.T, forEP, bound bool) {
	l := newWindowLab(t, nil)
	defer l.close()
	_, other := l.pair(nil)
	m := l.rmr(forEP)
	old := uint32(0)
	if bound {
		old = l.bind(m, 64, 8, RemoteRead)
	}
	users := l.b.h.pz.users
	l.must("send", l.b.Post(PostArgs{Op: rc.Send, Triplets: l.b.h.local(0, 4)})) // waits
	l.post(m, l.b, 64, 16, RemoteRead)
	l.post(m, l.b, 64, 24, RemoteRead)
	_, r := m.Bind(BindArgs{LMR: l.b.h.lmr.Handle(), Triplet: l.b.h.local(64, 8)[0],
		EP: other.Handle()})
	if r.Type() != codes.InvalidState {
		t.Errorf("a bind on another endpoint: %#x", uint32(r))
	}
	l.turn()
	if m.Context != old || m.Triplet.N == 16 {
		t.Error("a bind takes effect before its turn")
	}
	l.must("receive", l.a.PostReceive(l.a.h.local(0, 4), 0, 0))
	l.wantDTO(l.b.req, rc.Success, 4, dtoSend)
	for range 2 {
		if s := l.told(l.b); s != rc.Success {
			t.Errorf("status %d", s)
		}
	}
	if m.Triplet.N != 24 {
		t.Errorf("bound to %d bytes", m.Triplet.N)
	}
	l.post(m, l.b, 64, 16, RemoteRead)
	l.must("free", m.Free())
	if l.b.h.pz.users != users {
		t.Error("the zone is free before the window is")
	}
	if s := l.told(l.b); s != rc.BindFailed || l.b.h.pz.users != users-1 || l.b.h.lmr.users != 0 {
		t.Errorf("status %d, %d users of the zone, not %d", s, l.b.h.pz.users, users-1)
	}
	l.expect(l.b.con, EventBroken)
}

// TestWindowsLacking: without windows an RMR is a region; without those of endpoints all are of the
// zone; and a send cannot invalidate.
func TestWindowsLacking(t *testing.T) {
	for _, lacks := range [][]string{{"Windows"}, {"OwnWindows"}, {"Windows", "OwnWindows"}} {
		l := newLab(t, 2, func(i int, d *fake.Device) {
			d.Lacks["Invalidates"] = i == 0
			for _, what := range lacks {
				d.Lacks[what] = i == 1
			}
		}).windows(nil)
		for _, forEP := range []bool{false, true} {
			m := l.rmr(forEP)
			if m.ForEP != (forEP && len(lacks) == 1 && lacks[0] == "Windows") {
				t.Errorf("without %v: for an endpoint: %v", lacks, m.ForEP)
			}
			context := l.bind(m, 64, 8, RemoteRead)
			l.reach(l.a, rc.Read, context, 64, 8, rc.Success)
			l.post(m, l.b, 0, 0, 0)
			if l.told(l.b) != rc.Success || m.Context != 0 {
				t.Error("not unbound")
			}
			l.denied(rc.Read, context, 64, 8)
			context = l.zeroBased(m, l.b.h.lmr, l.b.h.local(64, 0)[0].Addr, 8, RemoteRead)
			l.fromZero(l.a, rc.Read, context, 0, 8, rc.Success)
		}
		if r := l.a.Post(PostArgs{Op: rc.Send, Invalidate: true}); r.Type() !=
			codes.ModelNotSupported {
			t.Errorf("a send that invalidates: %#x", uint32(r))
		}
		l.close()
	}
}
