package dat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/cshim/ctest/verbs"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
	"lapi/transport/self"
)

// lab is processes with an RDMA adapter each, on one fabric and clock.
type lab struct {
	t     *testing.T
	f     *fake.Fabric
	now   int64
	hosts []*labHost
}

// labHost is a process: its library's Host, and its objects.
type labHost struct {
	lab    *lab
	d      *fake.Device
	params string // by which the adapter is opened
	l      *Library
	ia     *IA
	pz     *PZ
	lmr    *LMR
	b      []byte
	psp    *PSP
	crs    *EVD
}

func (h *labHost) Changed()            {}
func (h *labHost) Message(text string) { h.lab.t.Log(text) }
func (h *labHost) Watch(int)           {}
func (h *labHost) Unwatch(int)         {}

const labMemory = 1 << 14

// newLab makes n processes. before may change the adapter of each, by number, before it is opened.
func newLab(t *testing.T, n int, before ...func(i int, d *fake.Device)) *lab {
	memory.Guard()
	lab := &lab{t: t, f: fake.New(), now: 1}
	for i := range n {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		h := &labHost{lab: lab, d: lab.f.Add(addr), params: addr.String() + " 0"}
		for _, f := range before {
			f(i, h.d)
		}
		random := rand.New(rand.NewPCG(uint64(i), 5))
		h.l = New(Config{Host: h, Random: random.Uint64, Clock: func() int64 { return lab.now },
			Network: func() (Network, error) {
				t.Error("sockets are opened")
				return nil, errors.New("none")
			},
			Self: func() (transport.Link, error) {
				return self.New(func() int64 { return lab.now })
			},
			Adapters: verbs.Fabric{Fabric: lab.f}, Timeout: int64(10 * time.Second)})
		lab.hosts = append(lab.hosts, h)
		h.open()
	}
	return lab
}

func (l *lab) must(what string, r codes.Return) {
	l.t.Helper()
	if r != codes.Success {
		l.t.Fatalf("%s: %#x", what, uint32(r))
	}
}

func (h *labHost) open() {
	var r codes.Return
	h.ia, r = h.l.OpenIA(OpenArgs{Name: "dev", Size: 10, Params: h.params})
	h.lab.must("open", r)
	h.pz, r = h.ia.NewPZ()
	h.lab.must("pz", r)
	b, err := arena.Map(labMemory)
	if err != nil {
		h.lab.t.Fatal(err)
	}
	h.lab.t.Cleanup(func() { arena.Unmap(b) })
	h.b = b
	h.lmr, r = h.ia.NewLMR(LMRArgs{Region: [2]uint64{uint64(memory.AddrOf(b))},
		Length: labMemory, PZ: h.pz.Handle(), Privileges: allPrivileges})
	h.lab.must("lmr", r)
	h.crs, r = h.ia.NewEVD(10, 0, EVDCR)
	h.lab.must("evd", r)
	h.psp, r = h.ia.NewPSP(7, h.crs.Handle(), false)
	h.lab.must("psp", r)
}

// local is n bytes of h's memory at an offset; remote as a peer names them.
func (h *labHost) local(at int, n uint32) []Triplet {
	return []Triplet{{Addr: uint64(memory.AddrOf(h.b)) + uint64(at), N: n, Context: h.lmr.Context}}
}

func (h *labHost) remote(at int, n uint32) Triplet {
	return Triplet{Addr: uint64(memory.AddrOf(h.b)) + uint64(at), N: n,
		Context: h.lmr.RemoteContext()}
}

// labEnd is an endpoint with EVDs of its own.
type labEnd struct {
	*EP
	h              *labHost
	recv, req, con *EVD
}

func (h *labHost) end(change func(a *Attr, p *EPArgs)) *labEnd {
	h.lab.t.Helper()
	e := &labEnd{h: h}
	for _, f := range []struct {
		to    **EVD
		flags EVDFlags
	}{{&e.recv, EVDDTO}, {&e.req, EVDDTO}, {&e.con, EVDConnection}} {
		var r codes.Return
		*f.to, r = h.ia.NewEVD(64, 0, f.flags)
		h.lab.must("evd", r)
	}
	attr := DefaultAttr
	a := EPArgs{PZ: h.pz.Handle(), Recv: e.recv.Handle(), Request: e.req.Handle(),
		Connect: e.con.Handle(), Attr: &attr}
	if change != nil {
		change(&attr, &a)
	}
	var r codes.Return
	e.EP, r = h.ia.NewEP(a)
	h.lab.must("ep", r)
	return e
}

// turn lets everything happen that can without time passing.
func (l *lab) turn() {
	for range 4 {
		for _, h := range l.hosts {
			h.l.Progress()
		}
	}
}

// expect is the next event of an EVD, of that number; 0: there is none.
func (l *lab) expect(e *EVD, number EventNumber) Event {
	l.t.Helper()
	l.turn()
	switch {
	case number == 0 && e.Len() == 0:
		return Event{}
	case e.Len() == 0:
		l.t.Fatalf("no event, not %#x", number)
	}
	ev := e.take()
	if ev.Number != number {
		l.t.Fatalf("event %#x, not %#x", ev.Number, number)
	}
	return ev
}

// dto is the status, length and operation of a completion.
func (l *lab) dto(e *EVD) (status rc.Status, n, operation uint32) {
	l.t.Helper()
	l.turn()
	if e.Len() == 0 {
		l.t.Fatal("no completion")
	}
	ev := e.take()
	u := func(at int) uint32 { return binary.LittleEndian.Uint32(ev.Data[at:]) }
	return rc.Status(u(16)), u(20), u(24)
}

func (l *lab) wantDTO(e *EVD, status rc.Status, n, operation uint32) {
	l.t.Helper()
	s, m, o := l.dto(e)
	if s != status || m != n || o != operation {
		l.t.Fatalf("status %d, %d bytes, operation %d, not %d, %d, %d", s, m, o, status, n, operation)
	}
}

// request is the request that has come to h.
func (l *lab) request(h *labHost) *CR {
	l.t.Helper()
	ev := l.expect(h.crs, EventConnectionRequest)
	cr, r := find[*CR](h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
	l.must("request", r)
	return cr
}

// pair connects two endpoints.
func (l *lab) pair(change func(a *Attr, p *EPArgs)) (a, b *labEnd) {
	l.t.Helper()
	a, b = l.hosts[0].end(change), l.hosts[1].end(change)
	l.must("connect", a.Connect(l.hosts[1].ia.Addr, 7, 1e9, []byte("hello")))
	cr := l.request(b.h)
	if !bytes.Equal(cr.data[:5], []byte("hello")) || cr.DataSize != device.PrivateConnect {
		l.t.Fatalf("private data %q", cr.data)
	}
	l.must("accept", cr.Accept(b.Handle(), []byte("welcome")))
	ev := l.expect(a.con, EventEstablished)
	at := binary.LittleEndian.Uint64(ev.Data[16:])
	got := make([]byte, 7)
	if memory.CopyOut(got, transport.Addr(at)) != nil || string(got) != "welcome" {
		l.t.Fatalf("private data %q", got)
	}
	l.expect(b.con, EventEstablished)
	return a, b
}

// close ends everything. Nothing may be left of the adapters.
func (l *lab) close() {
	l.t.Helper()
	for _, h := range l.hosts {
		l.must("close", h.ia.Close(false))
		if n := h.d.Left(); n != 0 {
			l.t.Errorf("%d objects of the adapter are left", n)
		}
		h.l.Shut()
	}
}
