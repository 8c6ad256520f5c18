package dat

import (
	"bytes"
	"encoding/binary"
	"testing"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/simnet"
)

// TestShared: memory is registered by a cookie, several times, with one length; queries show the
// library's copy of the cookie.
func TestShared(t *testing.T) {
	w := newWorld(t, 6, 1, simnet.Way{})
	p := w.procs[0]
	cookie := bytes.Repeat([]byte{7}, CookieSize)
	args := LMRArgs{Type: MemShared, Region: [2]uint64{p.part(0, 1).Addr, 1}, Length: 4096,
		PZ: p.pz.Handle(), Privileges: simAll, Cookie: cookie}
	one, r := p.ia.NewLMR(args)
	w.must("lmr", r)
	args.Region[0] += 8192 // the same memory, mapped elsewhere
	two, r := p.ia.NewLMR(args)
	w.must("lmr", r)
	if one.Context == two.Context || two.Address() != args.Region[0] ||
		!bytes.Equal(memory.Bytes(transport.Addr(two.Region[1]), CookieSize), cookie) {
		t.Errorf("contexts %#x and %#x, at %#x", one.Context, two.Context, two.Address())
	}
	args.Length = 100
	if _, r = p.ia.NewLMR(args); r.Type() != codes.LengthError {
		t.Errorf("another length: %#x", uint32(r))
	}
	args.Cookie = nil
	if _, r = p.ia.NewLMR(args); r != codes.Arg(3) {
		t.Errorf("no cookie: %#x", uint32(r))
	}
	w.must("lmr_free", one.Free())
	w.must("lmr_free", two.Free())
	args.Cookie = cookie
	again, r := p.ia.NewLMR(args) // the cookie is free for anything
	w.must("lmr", r)
	w.must("lmr_free", again.Free())
	if len(p.l.shared) != 0 {
		t.Error("a cookie is left")
	}
}

// TestNarrower: a region of a region grants what it was given, and not more than the other.
func TestNarrower(t *testing.T) {
	w := newWorld(t, 7, 2, simnet.Way{})
	p, q := w.procs[0], w.procs[1]
	a, b := p.end(nil), q.end(nil)
	w.connect(a, b)
	narrow, r := q.ia.NewLMR(LMRArgs{Type: MemLMR, Region: [2]uint64{uint64(q.lmr.Handle())},
		PZ: q.pz.Handle(), Privileges: RemoteRead | LocalRead})
	w.must("lmr", r)
	if _, r := q.ia.NewLMR(LMRArgs{Type: MemLMR, Region: [2]uint64{uint64(narrow.Handle())},
		PZ: q.pz.Handle(), Privileges: RemoteWrite}); r.Type() != codes.PrivilegesViolation {
		t.Errorf("more than it has: %#x", uint32(r))
	}
	for _, c := range []struct {
		op     rc.Op
		status uint32
	}{{rc.Read, 0}, {rc.Write, uint32(rc.RemoteAccess)}} {
		remote := q.part(0, 8)
		remote.Context = narrow.Context
		w.must("post", a.ep.Post(PostArgs{Op: c.op, Triplets: []Triplet{p.part(0, 8)},
			Remote: remote}))
		ev := w.expect(a.req, EventDTO)
		if s := binary.LittleEndian.Uint32(ev.Data[16:]); s != c.status {
			t.Errorf("operation %d: status %d", c.op, s)
		}
	}
}

// TestLimits: endpoints are refused beyond the adapter's limits; datagrams have a limit of their
// own.
func TestLimits(t *testing.T) {
	w := newWorld(t, 8, 1, simnet.Way{})
	p := w.procs[0]
	attr := DefaultAttr
	attr.MaxReadsIn = MaxReads + 1
	e := p.end(nil)
	if _, r := p.ia.NewEP(EPArgs{PZ: p.pz.Handle(), Recv: e.recv.Handle(), Request: e.req.Handle(),
		Connect: e.con.Handle(), Attr: &attr}); r != codes.Arg(6) {
		t.Errorf("too many reads: %#x", uint32(r))
	}
	attr = DefaultAttr
	attr.Service = ServiceUD
	if ud := p.end(&attr); ud.ep.Attr.MaxMessage != MaxDatagram {
		t.Errorf("datagrams of %d bytes", ud.ep.Attr.MaxMessage)
	}
}
