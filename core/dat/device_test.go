package dat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"lapi/core/dat/adapter"
	"lapi/core/dat/codes"
	"lapi/core/dat/internal/fabric"
	"lapi/core/dat/rc"
	"lapi/core/dat/registry"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
	"lapi/transport/self"
)

// lab is processes with an RDMA adapter each, on one fabric and clock.
type lab struct {
	t     *testing.T
	f     *fabric.Fabric
	now   int64
	hosts []*labHost
}

// labHost is a process: its library's Host, and its objects.
type labHost struct {
	lab *lab
	d   *fabric.Device
	l   *Library
	ia  *IA
	pz  *PZ
	lmr *LMR
	b   []byte
	psp *PSP
	crs *EVD
}

func (h *labHost) Changed()                {}
func (h *labHost) CallAgent(Agent, Handle) {}
func (h *labHost) SignalFD(int, bool)      {}
func (h *labHost) CloseFD(int)             {}
func (h *labHost) Message(text string)     { h.lab.t.Log(text) }
func (h *labHost) Watch(int)               {}
func (h *labHost) Unwatch(int)             {}

const labMemory = 1 << 14

func newLab(t *testing.T, n int) *lab {
	memory.Guard()
	lab := &lab{t: t, f: fabric.New(), now: 1}
	for i := range n {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		h := &labHost{lab: lab, d: lab.f.Add(addr)}
		random := rand.New(rand.NewPCG(uint64(i), 5))
		h.l = New(Config{Host: h, Random: random.Uint64, Clock: func() int64 { return lab.now },
			Registry: registry.New([]registry.Entry{{Name: "dev", Major: 2, Default: true,
				Params: addr.String() + " 0"}}, nil),
			Network: func() (Network, error) {
				t.Error("sockets are opened")
				return nil, errors.New("none")
			},
			Self: func() (transport.Link, error) {
				return self.New(func() int64 { return lab.now })
			},
			Adapters: lab.f, Timeout: int64(10 * time.Second)})
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
	h.ia, r = h.l.OpenIA(OpenArgs{Name: "dev", Size: 10, Major: 2})
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
			for _, d := range h.l.devices {
				d.turns = 0
			}
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
	if !bytes.Equal(cr.data[:5], []byte("hello")) || cr.DataSize != privateConnect {
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

// TestDeviceTransfers: each operation is the adapter's own.
func TestDeviceTransfers(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	p, q := l.hosts[0], l.hosts[1]
	a, b := l.pair(nil)
	copy(p.b, "data of the first")
	post := func(op rc.Op, n uint32, change func(x *PostArgs)) {
		t.Helper()
		x := PostArgs{Op: op, Triplets: p.local(0, n), Remote: q.remote(512, n)}
		if change != nil {
			change(&x)
		}
		l.must("post", a.Post(x))
	}
	l.must("receive", b.PostReceive(q.local(0, 100), 1, 0))
	post(rc.Send, 17, nil)
	l.wantDTO(a.req, rc.Success, 17, dtoSend)
	l.wantDTO(b.recv, rc.Success, 17, dtoReceive)
	post(rc.Write, 17, nil)
	l.wantDTO(a.req, rc.Success, 17, dtoWrite)
	if string(q.b[:17]) != "data of the first" || string(q.b[512:529]) != "data of the first" {
		t.Errorf("%q, %q", q.b[:17], q.b[512:529])
	}
	copy(q.b[512:], "data of the other")
	post(rc.Read, 17, nil)
	l.wantDTO(a.req, rc.Success, 17, dtoRead)
	if string(p.b[:17]) != "data of the other" {
		t.Errorf("read %q", p.b[:17])
	}
	l.must("receive", b.PostReceive(q.local(0, 100), 1, 0))
	post(rc.Write, 8, func(x *PostArgs) { x.Immediate, x.Data = true, 0x1234 })
	l.wantDTO(a.req, rc.Success, 8, dtoWriteImmed)
	l.turn()
	if ev := b.recv.take(); binary.LittleEndian.Uint32(ev.Extension[8:]) != 0x1234 ||
		binary.LittleEndian.Uint32(ev.Data[20:]) != 8 || ev.Number != EventExtendedDTO {
		t.Errorf("immediate data: %+v", ev)
	}
	binary.NativeEndian.PutUint64(q.b[512:], 40)
	post(rc.FetchAdd, 8, func(x *PostArgs) { x.Operand = 2 })
	l.wantDTO(a.req, rc.Success, 8, dtoFetchAdd)
	post(rc.CompareSwap, 8, func(x *PostArgs) { x.Compare, x.Operand = 42, 7 })
	l.wantDTO(a.req, rc.Success, 8, dtoCompareSwap)
	if v := binary.NativeEndian.Uint64(q.b[512:]); v != 7 ||
		binary.NativeEndian.Uint64(p.b) != 42 {
		t.Errorf("%d, of which the old value was %d", v, binary.NativeEndian.Uint64(p.b))
	}
	post(rc.Write, 8, func(x *PostArgs) { x.Flags = Suppress })
	l.expect(a.req, 0)
}

// TestDeviceEnds: each way in which a connection ends.
func TestDeviceEnds(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	l.must("receive", b.PostReceive(b.h.local(0, 1), 9, 0))
	l.must("disconnect", a.Disconnect(true))
	l.expect(a.con, EventDisconnected)
	l.expect(b.con, EventDisconnected)
	l.wantDTO(b.recv, rc.Flushed, 0, dtoReceive)
	l.must("reset", a.Reset())
	l.must("again", a.Connect(b.h.ia.Addr, 7, 1e9, nil))
	cr := l.request(b.h)
	l.must("reject", cr.Reject([]byte("no")))
	ev := l.expect(a.con, EventPeerRejected)
	got := make([]byte, 2)
	if memory.CopyOut(got, transport.Addr(binary.LittleEndian.Uint64(ev.Data[16:]))) != nil ||
		string(got) != "no" {
		t.Errorf("rejected with %q", got)
	}

	a, b = l.pair(nil) // a graceful end waits for a send, which waits for a receive
	l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	l.must("disconnect", a.Disconnect(true))
	l.expect(a.con, 0)
	l.must("receive", b.PostReceive(b.h.local(0, 4), 9, 0))
	l.wantDTO(b.recv, rc.Success, 4, dtoReceive)
	l.wantDTO(a.req, rc.Success, 4, dtoSend)
	l.expect(a.con, EventDisconnected)

	a, b = l.pair(nil) // an abrupt one does not; and the peer's endpoint is freed meanwhile
	l.must("send", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	l.must("disconnect", a.Disconnect(false))
	l.must("free", b.Free())
	l.wantDTO(a.req, rc.Flushed, 0, dtoSend)
	l.expect(a.con, EventDisconnected)
	l.must("late", a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 4)}))
	l.wantDTO(a.req, rc.Flushed, 0, dtoSend)

	a, b = l.pair(nil) // a peer that does not answer
	l.f.Silent[b.h.ia.Addr] = true
	l.must("disconnect", a.Disconnect(false))
	l.expect(a.con, 0)
	l.now += abruptTimeout
	l.expect(a.con, EventDisconnected)
	delete(l.f.Silent, b.h.ia.Addr)
}

// TestDeviceNobody: who does not listen yet is asked again, who never does, not for ever.
func TestDeviceNobody(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, q := l.hosts[0].end(nil), l.hosts[1]
	l.must("connect", a.Connect(q.ia.Addr, 8, 100e9, nil))
	l.expect(a.con, 0)
	psp, r := q.ia.NewPSP(8, q.crs.Handle(), false)
	l.must("psp", r)
	for range 10 {
		l.now += 100e6
		l.turn()
	}
	l.must("reject", l.request(q).Reject(nil))
	l.expect(a.con, EventPeerRejected)
	l.must("free", psp.Free())
	l.must("reset", a.Reset())
	l.must("connect", a.Connect(q.ia.Addr, 8, 100e9, nil))
	for range 100 {
		l.now += 100e6
		l.turn()
	}
	l.expect(a.con, EventNonPeerRejected)

	for silent, want := range map[bool]EventNumber{true: EventTimedOut, false: EventUnreachable} {
		l.must("reset", a.Reset())
		l.f.Silent[q.ia.Addr] = silent
		to := q.ia.Addr
		if !silent {
			to = netip.AddrFrom4([4]byte{10, 9, 9, 9})
		}
		l.must("connect", a.Connect(to, 7, 1e9, nil))
		l.turn()
		l.now += 1e9
		l.expect(a.con, want)
	}
	delete(l.f.Silent, q.ia.Addr)
}

// TestDeviceBroken: a request that fails ends its connection, and so do failures of the adapter.
func TestDeviceBroken(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	for name, c := range map[string]struct {
		post   func(a, b *labEnd)
		status rc.Status
	}{
		"key": {func(a, b *labEnd) {
			_ = a.Post(PostArgs{Op: rc.Write, Triplets: a.h.local(0, 8),
				Remote: Triplet{Addr: 1, N: 8, Context: 77}})
		}, rc.RemoteAccess},
		"local": {func(a, b *labEnd) {
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: []Triplet{{Addr: 1, N: 8, Context: 77}}})
		}, rc.LocalProtection},
		"long": {func(a, b *labEnd) {
			_ = b.PostReceive(b.h.local(0, 1), 0, 0)
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8)})
		}, rc.RemoteResponder},
		"adapter": {func(a, b *labEnd) {
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8)})
			a.h.d.Tell(adapter.Async{Kind: adapter.QPBroken, QPN: a.way.(*pair).number})
		}, rc.Flushed},
		"refused": {func(a, b *labEnd) {
			a.h.d.Refuse["Post"] = errors.New("full")
			_ = a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 8)})
			delete(a.h.d.Refuse, "Post")
		}, rc.Transport},
	} {
		a, b := l.pair(nil)
		c.post(a, b)
		if s, _, _ := l.dto(a.req); s != c.status {
			t.Errorf("%s: status %d, not %d", name, s, c.status)
		}
		l.expect(a.con, EventBroken)
		l.turn()
		if ev := b.con.take(); ev.Number != EventDisconnected && ev.Number != EventBroken {
			t.Errorf("%s: event %#x at the peer", name, ev.Number)
		}
		l.must("free", a.Free())
		l.must("free", b.Free())
	}
	a, _ := l.pair(nil)
	a.h.d.Tell(adapter.Async{Kind: adapter.Broken})
	l.expect(a.con, EventBroken)
	l.expect(a.h.ia.Async, EventIACatastrophic)
	l.now += int64(20 * time.Second) // what was remembered for the peer's answer is forgotten
	l.turn()
}

// TestDeviceReads: without reads that may be under way none can be posted; the connection ends.
func TestDeviceReads(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(func(x *Attr, _ *EPArgs) { x.MaxReadsIn, x.MaxReadsOut = 0, 0 })
	l.must("read", a.Post(PostArgs{Op: rc.Read, Triplets: a.h.local(0, 8), Remote: b.h.remote(0, 8)}))
	l.wantDTO(a.req, localEP, 0, dtoRead)
	l.expect(a.con, EventBroken)
}

// TestDeviceShared: receives of an SRQ are taken in order, by any endpoint.
func TestDeviceShared(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	q := l.hosts[1]
	srq, r := q.ia.NewSRQ(q.pz.Handle(), 8, 1, 0)
	l.must("srq", r)
	var ends [2][2]*labEnd
	for i := range ends {
		a, b := l.hosts[0].end(nil), q.end(func(x *Attr, p *EPArgs) { p.SRQ = srq.Handle() })
		l.must("connect", a.Connect(q.ia.Addr, 7, 1e9, nil))
		l.must("accept", l.request(q).Accept(b.Handle(), nil))
		l.expect(a.con, EventEstablished)
		l.expect(b.con, EventEstablished)
		ends[i] = [2]*labEnd{a, b}
	}
	for i := range 4 {
		l.must("post", srq.Post(q.local(i*16, 16), uint64(i)))
	}
	for i := range 4 {
		e := ends[i%2]
		l.must("send", e[0].Post(PostArgs{Op: rc.Send, Triplets: e[0].h.local(0, 4)}))
		l.wantDTO(e[1].recv, rc.Success, 4, dtoReceive)
	}
	if n, _ := srq.Counts(); n != 0 {
		t.Errorf("%d receives are left", n)
	}
	l.must("disconnect", ends[0][0].Disconnect(false))
	l.expect(ends[0][1].con, EventDisconnected)
	l.expect(q.ia.Async, EventEPBroken)
	l.must("resize", srq.Resize(9))
}

// TestDeviceDatagrams: a UD endpoint gets address handles by connecting, and sends by them.
func TestDeviceDatagrams(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	ud := func(x *Attr, _ *EPArgs) { x.Service, x.MaxReadsIn, x.MaxReadsOut = ServiceUD, 0, 0 }
	a, b := l.hosts[0].end(ud), l.hosts[1].end(ud)
	l.must("connect", a.Connect(b.h.ia.Addr, 7, 1e9, []byte("me")))
	ev := l.expect(b.h.crs, EventUDRequest)
	cr, r := find[*CR](b.h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
	l.must("request", r)
	if string(cr.data[:2]) != "me" {
		t.Errorf("private data %q", cr.data)
	}
	l.must("accept", cr.Accept(b.Handle(), []byte("you")))
	for _, e := range [][2]*labEnd{{a, b}, {b, a}} {
		ev := l.expect(e[0].con, EventUDEstablished)
		ah := Handle(binary.LittleEndian.Uint64(ev.Extension[16:]))
		qpn := binary.LittleEndian.Uint32(ev.Extension[24:])
		l.must("receive", e[1].PostReceive(e[1].h.local(0, 100), 3, 0))
		l.must("send", e[0].PostUD(e[0].h.local(0, 10), ah, qpn, 1, 0))
		l.wantDTO(e[0].req, rc.Success, 10, dtoSendUD)
		l.wantDTO(e[1].recv, rc.Success, 50, dtoReceiveUD)
		l.must("free", e[0].FreeAH(ah))
	}
	l.must("receive", b.PostReceive(b.h.local(0, 100), 3, 0))
	l.must("free", b.Free())
	l.wantDTO(b.recv, rc.Flushed, 0, dtoReceiveUD)
	l.must("connect", a.Connect(b.h.ia.Addr, 7, 1e9, nil))
	ev = l.expect(b.h.crs, EventUDRequest)
	cr, r = find[*CR](b.h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
	l.must("request", r)
	l.must("reject", cr.Reject([]byte("no")))
	l.expect(a.con, EventUDReject)
	l.must("connect", a.Connect(b.h.ia.Addr, 9, 100e9, nil))
	for range 100 {
		l.now += 100e6
		l.turn()
	}
	l.expect(a.con, EventUDError)
}

// TestDeviceWindows: an RMR is a key of its own, which ends with it.
func TestDeviceWindows(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	m, r := b.h.ia.NewRMR(b.h.pz.Handle())
	l.must("rmr", r)
	bind := func(n uint32) uint32 {
		tr := b.h.local(64, n)
		context, r := m.Bind(BindArgs{LMR: b.h.lmr.Handle(), Triplet: tr[0],
			Privileges: RemoteRead, EP: b.Handle()})
		l.must("bind", r)
		l.expect(b.req, EventBind)
		return context
	}
	context := bind(32)
	read := func(n uint32) {
		x := b.h.remote(64, n)
		x.Context = context
		l.must("read", a.Post(PostArgs{Op: rc.Read, Triplets: a.h.local(0, n), Remote: x}))
	}
	read(32)
	l.wantDTO(a.req, rc.Success, 32, dtoRead)
	bind(0)
	read(32)
	l.wantDTO(a.req, rc.RemoteAccess, 0, dtoRead)
	l.expect(a.con, EventBroken)
}

// TestDeviceRefused: whatever an adapter refuses is an error of the call, or of the connection, and
// leaves nothing behind.
func TestDeviceRefused(t *testing.T) {
	for _, call := range []string{"Open", "NewZone", "Register", "NewCompletions", "NewQueue", "NewQP",
		"Receive", "NewPath", "NewID", "Listen", "FindAddress", "FindRoute", "Connect", "Ready",
		"Accept", "Establish", "Reject", "Disconnect", "Post"} {
		l := newLab(t, 2)
		for _, h := range l.hosts {
			h.d.Refuse[call] = errors.New("the adapter does not want to")
		}
		for i, h := range l.hosts {
			o := l.hosts[1-i]
			_, _ = h.l.OpenIA(OpenArgs{Name: "dev", Size: 1, Major: 2})
			if pz, r := h.ia.NewPZ(); r == codes.Success {
				_ = pz.Free()
			}
			lmr, r := h.ia.NewLMR(LMRArgs{Region: [2]uint64{uint64(memory.AddrOf(h.b))},
				Length: 10, PZ: h.pz.Handle(), Privileges: LocalRead})
			if (r == codes.Success) == (call == "Register") || lmr == nil && r == codes.Success {
				t.Errorf("%s: registration gives %#x", call, uint32(r))
			}
			_, _ = h.ia.NewSRQ(h.pz.Handle(), 1, 1, 0)
			_, _ = h.ia.NewPSP(9, h.crs.Handle(), false)
			for _, service := range []uint32{ServiceRC, ServiceUD} {
				evd, r := h.ia.NewEVD(64, 0, EVDDTO)
				l.must("evd", r)
				con, r := h.ia.NewEVD(64, 0, EVDConnection)
				l.must("evd", r)
				attr := DefaultAttr
				attr.Service = service
				x := EPArgs{PZ: h.pz.Handle(), Recv: evd.Handle(), Request: evd.Handle(),
					Connect: con.Handle(), Attr: &attr}
				ep, r := h.ia.NewEP(x)
				if r != codes.Success {
					continue
				}
				there, r := o.ia.NewEVD(64, 0, EVDConnection)
				l.must("evd", r)
				_ = ep.PostReceive(h.local(0, 1), 0, 0)
				_ = ep.Connect(o.ia.Addr, 7, 1e9, nil)
				l.turn()
				if o.crs.Len() > 0 {
					ev := o.crs.take()
					cr, _ := find[*CR](o.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
					x := EPArgs{PZ: o.pz.Handle(), Connect: there.Handle(),
						Attr: &Attr{Service: service}}
					peer, r := o.ia.NewEP(x)
					if cr == nil || r != codes.Success || call == "Reject" {
						if cr != nil {
							_ = cr.Reject(nil)
						}
						continue
					}
					_ = cr.Accept(peer.Handle(), nil)
				}
				l.turn()
				_ = ep.Post(PostArgs{Op: rc.Send, Triplets: h.local(0, 1)})
				l.turn()
				_ = ep.Disconnect(false)
				l.now += 2e9
				l.turn()
			}
		}
		for _, h := range l.hosts {
			clear(h.d.Refuse)
		}
		for _, h := range l.hosts {
			for len(h.l.ias) > 0 {
				_ = h.l.ias[len(h.l.ias)-1].Close(false)
			}
			if n := h.d.Left(); n != 0 {
				t.Errorf("%s: %d objects are left", call, n)
			}
		}
	}
}

// TestDeviceRandom: whatever happens in whatever order, each request and receive ends once, each
// connection with one event, and nothing is left.
func TestDeviceRandom(t *testing.T) {
	for seed := range uint64(100) {
		l := newLab(t, 2)
		random := rand.New(rand.NewPCG(seed, 1))
		posted, over := 0, 0
		var ends []*labEnd
		drain := func(e *labEnd) {
			for _, q := range []*EVD{e.req, e.recv} {
				for q.Len() > 0 {
					q.take()
					over++
				}
			}
		}
		for range 120 {
			h := l.hosts[random.IntN(2)]
			if len(ends) == 0 || random.IntN(20) == 0 {
				ends = append(ends, h.end(nil))
			}
			e := ends[random.IntN(len(ends))]
			switch random.IntN(10) {
			case 0:
				o := l.hosts[0]
				if e.h == o {
					o = l.hosts[1]
				}
				_ = e.Connect(o.ia.Addr, 7, 1e9, nil)
			case 1, 2:
				if e.h.crs.Len() > 0 {
					ev := e.h.crs.take()
					cr, _ := find[*CR](e.h.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), 0)
					if cr.Accept(e.Handle(), nil) != codes.Success {
						_ = cr.Reject(nil)
					}
				}
			case 3:
				_ = e.Disconnect(random.IntN(2) == 0)
			case 4:
				_ = e.Reset()
			case 5, 6:
				if e.PostReceive(e.h.local(0, 64), 0, 0) == codes.Success {
					posted++
				}
			case 7, 8:
				if e.Post(PostArgs{Op: rc.Send, Triplets: e.h.local(0, uint32(random.IntN(70)))}) ==
					codes.Success {
					posted++
				}
			case 9:
				l.now += random.Int64N(2e9)
			}
			if random.IntN(2) == 0 {
				l.turn()
			}
			drain(e)
		}
		for _, e := range ends {
			l.must("free", e.Free())
		}
		l.turn()
		for _, e := range ends {
			drain(e)
		}
		if posted != over {
			t.Errorf("seed %d: %d of %d ended", seed, over, posted)
		}
		l.close()
		if t.Failed() {
			return
		}
	}
}

// FuzzDatagramEnd: what a peer says of its queue pair is taken as it is written, or not at all.
func FuzzDatagramEnd(f *testing.F) {
	f.Add(datagramEnd{qpn: 7, lid: 3, gid: [16]byte{15: 1}}.bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, again datagramEnd
		if d.read(b) && (!again.read(d.bytes()) || d != again || d.qpn >= 1<<24) {
			t.Errorf("%x: %+v", b, d)
		}
	})
}

// TestDeviceIdentity: what queries tell is the adapter's own; what it cannot do is refused.
func TestDeviceIdentity(t *testing.T) {
	l := newLab(t, 2)
	defer l.close()
	a, b := l.pair(nil)
	attributes := map[string]string{}
	for _, kv := range a.h.ia.Attributes() {
		attributes[kv[0]] = kv[1]
	}
	for name, want := range map[string]string{"DAT_IB_DEVICE_NAME": "fake0",
		"DAT_IB_GID":           "0000:0000:0000:0000:0000:ffff:0a00:0001",
		"DAT_IB_PORT_STATUS":   "ACTIVE",
		"DAT_IB_FETCH_AND_ADD": "TRUE", "DAT_IB_TRANSPORT_MTU": "1024", "DAT_COLL_BARRIER": ""} {
		if got := attributes[name]; got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	if n := a.h.ia.Limits(); n.PrivateConnect != privateConnect || n.ReadsIn != 8 {
		t.Errorf("limits %+v", n)
	}
	if _, _, r := a.h.ia.NewMember(); r != codes.NotImplemented.Raw() {
		t.Errorf("a member: %#x", uint32(r))
	}
	for what, x := range map[string]PostArgs{
		"invalidate": {Op: rc.Send, Triplets: a.h.local(0, 1), Invalidate: true},
	} {
		if r := a.Post(x); r.Type() != codes.ModelNotSupported {
			t.Errorf("%s: %#x", what, uint32(r))
		}
	}
	if r := a.Post(PostArgs{Op: rc.Send, Triplets: a.h.local(0, 1<<13), Flags: 0}); r != codes.Success {
		t.Errorf("%#x", uint32(r))
	}
	if r := b.Connect(a.h.ia.Addr, 7, 1, make([]byte, privateConnect+1)); r != codes.Arg(5) {
		t.Errorf("too much private data: %#x", uint32(r))
	}
}
