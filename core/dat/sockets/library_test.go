package sockets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/self"
)

// process is a library as it is in a process of its own, and memory of its program's.
type process struct {
	t      *testing.T
	l      *dat.Library
	ia     *dat.IA
	pz     *dat.PZ
	memory []byte
	lmr    *dat.LMR

	network *Network
	lane    *layout.DatLane // nil: there is none
}

func (p *process) Changed()            {}
func (p *process) Watch(int)           {}
func (p *process) Unwatch(int)         {}
func (p *process) Message(text string) { p.t.Log(text) }

func clock() int64 { return time.Now().UnixNano() }

const (
	memorySize = 1 << 22
	all        = dat.LocalRead | dat.LocalWrite | dat.RemoteRead | dat.RemoteWrite |
		dat.RemoteAtomic
)

// random is where the libraries' random numbers come from.
var random = rand.Uint64

// silence is after how long a peer that says nothing is gone.
const silence = 2 * time.Second

func newProcess(t *testing.T) *process { return newProcessWith(t, Config{}) }

// newLaneProcess is a process that has what the fast lane needs, but no C that uses it.
func newLaneProcess(t *testing.T) *process {
	return newProcessAs(t, Config{}, &layout.DatLane{})
}

// newProcessWith is a process whose network is opened with cfg, which needs no clock.
func newProcessWith(t *testing.T, cfg Config) *process { return newProcessAs(t, cfg, nil) }

func newProcessAs(t *testing.T, cfg Config, lane *layout.DatLane,
	wrap ...func(*Network) dat.Network) *process {
	memory.Guard()
	cfg.Clock, cfg.Timeout = clock, silence
	p := &process{t: t, lane: lane}
	p.l = dat.New(dat.Config{Host: p, Random: random, Clock: clock,
		Timeout: int64(silence), Lane: lane,
		Network: func() (dat.Network, error) {
			n, err := Open(cfg)
			p.network = n
			if len(wrap) > 0 && err == nil {
				return wrap[0](n), nil
			}
			return n, err
		},
		Interfaces: Interfaces,
		Self:       func() (transport.Link, error) { return self.New(clock) }})
	ia, ret := p.l.OpenIA(dat.OpenArgs{Name: "lapi-lo", Size: 8})
	must(t, "ia", ret)
	p.ia = ia
	p.pz, ret = ia.NewPZ()
	must(t, "pz", ret)
	b, err := arena.Map(memorySize)
	if err != nil {
		t.Fatal(err)
	}
	p.memory = b
	p.lmr, ret = ia.NewLMR(dat.LMRArgs{Region: [2]uint64{uint64(memory.AddrOf(b))},
		Length: memorySize,
		PZ:     p.pz.Handle(), Privileges: all})
	must(t, "lmr", ret)
	t.Cleanup(func() {
		if p.ia != nil {
			p.ia.Close(false)
			p.l.Shut()
		}
		arena.Unmap(b)
	})
	return p
}

func must(t *testing.T, what string, r codes.Return) {
	t.Helper()
	if r != codes.Success {
		t.Fatalf("%s: %#x (dat_error.h)", what, uint32(r))
	}
}

func (p *process) triplet(at int, n int) dat.Triplet {
	return dat.Triplet{Addr: uint64(memory.AddrOf(p.memory)) + uint64(at), N: uint32(n),
		Context: p.lmr.Context}
}

func (p *process) evd(flags dat.EVDFlags) *dat.EVD {
	e, r := p.ia.NewEVD(1000, 0, flags)
	must(p.t, "evd", r)
	return e
}

// end is an endpoint and its EVDs.
type end struct {
	p              *process
	ep             *dat.EP
	recv, req, con *dat.EVD
}

func (p *process) end(attr *dat.Attr, srq dat.Handle) *end {
	e := &end{p: p, recv: p.evd(dat.EVDDTO), req: p.evd(dat.EVDDTO), con: p.evd(dat.EVDConnection)}
	var r codes.Return
	e.ep, r = p.ia.NewEP(dat.EPArgs{PZ: p.pz.Handle(), Recv: e.recv.Handle(),
		Request: e.req.Handle(),
		Connect: e.con.Handle(), SRQ: srq, Attr: attr})
	must(p.t, "ep", r)
	return e
}

// next waits for an event.
func next(t *testing.T, e *dat.EVD, ps ...*process) dat.Event {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		for _, p := range ps {
			p.l.Progress()
		}
		if ev, r := take(e); r == codes.Success {
			return ev
		}
	}
	t.Fatal("no event")
	return dat.Event{}
}

func expect(t *testing.T, e *dat.EVD, want dat.EventNumber, ps ...*process) dat.Event {
	t.Helper()
	ev := next(t, e, ps...)
	if ev.Number != want {
		t.Fatalf("event %#x, want %#x", uint32(ev.Number), uint32(want))
	}
	return ev
}

func status(ev *dat.Event) uint32 { return binary.LittleEndian.Uint32(ev.Data[16:]) }
func length(ev *dat.Event) uint32 { return binary.LittleEndian.Uint32(ev.Data[20:]) }
func cookie(ev *dat.Event) uint64 { return binary.LittleEndian.Uint64(ev.Data[8:]) }

func private(ev *dat.Event) []byte {
	n, at := binary.LittleEndian.Uint32(ev.Data[8:]), binary.LittleEndian.Uint64(ev.Data[16:])
	return bytes.Clone(memory.Bytes(transport.Addr(at), uint64(n)))
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// qualifier is one at whose port nobody on this machine listens; none that the kernel hands out.
func qualifier() uint64 {
	for {
		q := 20000 + rand.Uint64N(10000)
		c, err := net.ListenUDP("udp", &net.UDPAddr{Port: int(dat.PortOf(q))})
		if err == nil {
			c.Close()
			return q
		}
	}
}

// connect connects two ends, of which b accepts.
func connect(t *testing.T, a, b *end) {
	t.Helper()
	cr := b.p.evd(dat.EVDCR)
	q := qualifier()
	psp, r := b.p.ia.NewPSP(q, cr.Handle(), false)
	must(t, "psp", r)
	must(t, "connect", a.ep.Connect(loopback, q, int64(10*time.Second), []byte("hello")))
	ps := []*process{a.p, b.p}
	ev := expect(t, cr, dat.EventConnectionRequest, ps...)
	h := dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:]))
	request, r := dat.Find[*dat.CR](b.p.l, h, codes.InvalidHandleCR)
	must(t, "cr", r)
	if request.DataSize != 5 {
		t.Errorf("%d bytes of private data", request.DataSize)
	}
	must(t, "accept", request.Accept(b.ep.Handle(), []byte("welcome")))
	e := expect(t, a.con, dat.EventEstablished, ps...)
	if string(private(&e)) != "welcome" {
		t.Errorf("private data %q", private(&e))
	}
	expect(t, b.con, dat.EventEstablished, ps...)
	must(t, "psp_free", psp.Free())
	must(t, "evd_free", cr.Free())
}

// sides are two processes, by both ways that data may go between them, or one process connected to
// itself.
func sides(t *testing.T, f func(t *testing.T, a, b *process)) {
	for name, cfg := range map[string]Config{"shared memory": {}, "UDP": {NoShm: true}} {
		t.Run(name, func(t *testing.T) { f(t, newProcessWith(t, cfg), newProcessWith(t, cfg)) })
	}
	t.Run("one process", func(t *testing.T) { p := newProcess(t); f(t, p, p) })
}

func TestTransfers(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		a, b := p.end(nil, 0), q.end(nil, 0)
		const far = memorySize / 2 // q's part, where both are one
		must(t, "recv", b.ep.PostReceive([]dat.Triplet{q.triplet(far, 3000), q.triplet(far+5000,
			3000)}, 7, 0))
		connect(t, a, b)
		for i := range 5000 {
			p.memory[i] = byte(i * 7)
		}
		must(t, "send", a.ep.Post(dat.PostArgs{Op: rc.Send, Triplets: []dat.Triplet{p.triplet(0,
			5000)}, Cookie: 1}))
		ev := expect(t, b.recv, dat.EventDTO, p, q)
		if status(&ev) != 0 || length(&ev) != 5000 || cookie(&ev) != 7 ||
			!bytes.Equal(q.memory[far:far+3000], p.memory[:3000]) ||
			!bytes.Equal(q.memory[far+5000:far+7000], p.memory[3000:5000]) {
			t.Errorf("received %d bytes, status %d", length(&ev), status(&ev))
		}
		ev = expect(t, a.req, dat.EventDTO, p, q)
		if status(&ev) != 0 || length(&ev) != 5000 || cookie(&ev) != 1 {
			t.Errorf("sent %d bytes, status %d", length(&ev), status(&ev))
		}
		remote := q.triplet(far+100000, 1000000)
		must(t, "write", a.ep.Post(dat.PostArgs{Op: rc.Write, Triplets: []dat.Triplet{p.triplet(0,
			1000000)},
			Remote: remote, Cookie: 2}))
		must(t, "read", a.ep.Post(dat.PostArgs{Op: rc.Read,
			Triplets: []dat.Triplet{p.triplet(1000000, 1000000)},
			Remote:   remote, Cookie: 3}))
		binary.LittleEndian.PutUint64(q.memory[far+8:], 40)
		must(t, "add", a.ep.Post(dat.PostArgs{Op: rc.FetchAdd, Operand: 2, Cookie: 4,
			Triplets: []dat.Triplet{p.triplet(2000000, 8)}, Remote: q.triplet(far+8, 8)}))
		for i, number := range []dat.EventNumber{dat.EventDTO, dat.EventDTO, dat.EventExtendedDTO} {
			ev = expect(t, a.req, number, p, q)
			if cookie(&ev) != uint64(i+2) || status(&ev) != 0 {
				t.Errorf("completion %d: cookie %d, status %d", i, cookie(&ev), status(&ev))
			}
		}
		if !bytes.Equal(p.memory[:1000000], p.memory[1000000:2000000]) ||
			binary.LittleEndian.Uint64(p.memory[2000000:]) != 40 ||
			binary.LittleEndian.Uint64(q.memory[far+8:]) != 42 {
			t.Error("what was read is not what was written")
		}
		must(t, "recv", b.ep.PostReceive(nil, 9, 0))
		must(t, "disconnect", a.ep.Disconnect(true))
		expect(t, a.con, dat.EventDisconnected, p, q)
		expect(t, b.con, dat.EventDisconnected, p, q)
		if ev = expect(t, b.recv, dat.EventDTO, p, q); status(&ev) != 1 || cookie(&ev) != 9 {
			t.Errorf("the receive has status %d", status(&ev))
		}
		must(t, "reset", a.ep.Reset())
		must(t, "reset", b.ep.Reset())
		connect(t, a, b) // once more
		must(t, "free", a.ep.Free())
		expect(t, b.con, dat.EventDisconnected, p, q)
		must(t, "free", b.ep.Free())
	})
}

func TestRejected(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		a := p.end(nil, 0)
		cr := q.evd(dat.EVDCR)
		at := qualifier()
		_, r := q.ia.NewPSP(at, cr.Handle(), false)
		must(t, "psp", r)
		if _, r := p.ia.NewPSP(at, cr.Handle(), false); r == codes.Success {
			t.Error("two listen at one qualifier")
		}
		must(t, "connect", a.ep.Connect(loopback, at, int64(time.Second*10), nil))
		ev := expect(t, cr, dat.EventConnectionRequest, p, q)
		request, _ := dat.Find[*dat.CR](q.l, dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:])),
			0)
		must(t, "reject", request.Reject([]byte("no")))
		ev = expect(t, a.con, dat.EventPeerRejected, p, q)
		if string(private(&ev)) != "no" || a.ep.State != dat.Disconnected {
			t.Errorf("rejected with %q, state %d", private(&ev), a.ep.State)
		}
		must(t, "reset", a.ep.Reset())
		must(t, "connect", a.ep.Connect(loopback, at+1, int64(time.Second*10), nil))
		expect(t, a.con, dat.EventNonPeerRejected, p, q)
		must(t, "reset", a.ep.Reset())
		must(t, "connect", a.ep.Connect(netip.AddrFrom4([4]byte{192, 0, 2, 1}), at,
			int64(time.Second/5), nil))
		if ev := next(t, a.con, p, q); ev.Number != dat.EventTimedOut &&
			ev.Number != dat.EventNonPeerRejected {
			t.Errorf("event %#x", uint32(ev.Number))
		}
	})
}

// TestPeerDies: posted requests complete, and the connection is reported as broken.
func TestPeerDies(t *testing.T) {
	p, q := newProcess(t), newProcess(t)
	a, b := p.end(nil, 0), q.end(nil, 0)
	connect(t, a, b)
	must(t, "recv", a.ep.PostReceive(nil, 5, 0))
	must(t, "send", a.ep.Post(dat.PostArgs{Op: rc.Send, Cookie: 6})) // no receive there, and nobody
	ev := expect(t, a.con, dat.EventBroken, p)
	if a.ep.State != dat.Disconnected {
		t.Errorf("state %d", a.ep.State)
	}
	if ev = expect(t, a.recv, dat.EventDTO, p); status(&ev) != 1 {
		t.Errorf("status %d of the receive", status(&ev))
	}
	if ev = expect(t, a.req, dat.EventDTO, p); status(&ev) != 1 {
		t.Errorf("status %d of the send", status(&ev))
	}
}

// TestPeerCloses: an adapter that is closed with its connections ends them in good order, at once.
func TestPeerCloses(t *testing.T) {
	for range 20 {
		p, q := newProcess(t), newProcess(t)
		a, b := p.end(nil, 0), q.end(nil, 0)
		connect(t, a, b)
		must(t, "recv", b.ep.PostReceive(nil, 5, 0))
		done := make(chan struct{})
		go func() {
			defer close(done)
			memory.Guard()
			must(t, "close", p.ia.Close(false))
			p.ia = nil
			p.l.Shut()
		}()
		began := time.Now()
		expect(t, b.con, dat.EventDisconnected, q)
		if time.Since(began) >= silence {
			t.Error("only its silence told")
		}
		if ev := expect(t, b.recv, dat.EventDTO, q); status(&ev) != 1 {
			t.Errorf("the receive has status %d", status(&ev))
		}
		<-done
	}
}

func TestManyConnections(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		for i := range 200 {
			a, b := p.end(nil, 0), q.end(nil, 0)
			connect(t, a, b)
			must(t, "disconnect", a.ep.Disconnect(i%2 == 0))
			expect(t, a.con, dat.EventDisconnected, p, q)
			expect(t, b.con, dat.EventDisconnected, p, q)
			for _, e := range []*end{a, b} {
				must(t, "ep_free", e.ep.Free())
				for _, evd := range []*dat.EVD{e.recv, e.req, e.con} {
					must(t, "evd_free", evd.Free())
				}
			}
		}
		if r := p.ia.Close(true); r.Type() != codes.InvalidState {
			t.Error("closed with objects left")
		}
	})
}

func TestDatagrams(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		attr := dat.DefaultAttr
		attr.Service = dat.ServiceUD
		a, b := p.end(&attr, 0), q.end(&attr, 0)
		cr := q.evd(dat.EVDCR)
		at := qualifier()
		_, r := q.ia.NewPSP(at, cr.Handle(), false)
		must(t, "psp", r)
		must(t, "connect", a.ep.Connect(loopback, at, int64(time.Second*10), []byte("x")))
		ev := expect(t, cr, dat.EventUDRequest, p, q)
		request, _ := dat.Find[*dat.CR](q.l, dat.Handle(binary.LittleEndian.Uint64(ev.Data[24:])),
			0)
		must(t, "accept", request.Accept(b.ep.Handle(), []byte("y")))
		ev = expect(t, a.con, dat.EventUDEstablished, p, q)
		ah, qpn := binary.LittleEndian.Uint64(ev.Extension[16:]),
			binary.LittleEndian.Uint32(ev.Extension[24:])
		expect(t, b.con, dat.EventUDEstablished, p, q)
		const far = memorySize / 2
		must(t, "recv", b.ep.PostReceive([]dat.Triplet{q.triplet(far, 1000)}, 3, 0))
		copy(p.memory, "datagram")
		must(t, "send", a.ep.PostUD([]dat.Triplet{p.triplet(0, 8)}, dat.Handle(ah), qpn, 4, 0))
		ev = expect(t, b.recv, dat.EventExtendedDTO, p, q)
		if length(&ev) != 48 || string(q.memory[far+40:far+48]) != "datagram" {
			t.Errorf("%d bytes, %q", length(&ev), q.memory[far+40:far+48])
		}
		ev = expect(t, a.req, dat.EventExtendedDTO, p, q)
		if status(&ev) != 0 || cookie(&ev) != 4 {
			t.Errorf("status %d", status(&ev))
		}
	})
}

var _ = fmt.Sprint

// TestWindows: a window grants what it was bound to, by handle or, as in DAT 1.x, by context, until
// it is bound to something else.
func TestWindows(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		const far = memorySize / 2
		for _, byHandle := range []bool{true, false} {
			a, b := p.end(nil, 0), q.end(nil, 0)
			connect(t, a, b)
			w, r := q.ia.NewRMR(q.pz.Handle(), false)
			must(t, "rmr", r)
			bind := dat.BindArgs{Triplet: q.triplet(far, 100), Privileges: dat.RemoteWrite,
				EP: b.ep.Handle(), Cookie: 8}
			if byHandle {
				bind.LMR = q.lmr.Handle()
			}
			context, r := w.Bind(bind)
			must(t, "bind", r)
			expect(t, b.req, dat.EventBind, p, q)
			remote := q.triplet(far, 100)
			remote.Context = context
			write := dat.PostArgs{Op: rc.Write, Triplets: []dat.Triplet{p.triplet(0, 100)},
				Remote: remote}
			must(t, "write", a.ep.Post(write))
			if ev := expect(t, a.req, dat.EventDTO, p, q); status(&ev) != 0 {
				t.Errorf("within the window: status %d", status(&ev))
			}
			write.Remote.Addr++
			must(t, "write", a.ep.Post(write))
			if ev := expect(t, a.req, dat.EventDTO, p, q); status(&ev) != 6 {
				t.Errorf("beyond the window: status %d", status(&ev))
			}
			must(t, "rmr_free", w.Free())
		}
	})
}

// TestZones: a peer reaches only memory of the zone of the endpoint that it is connected to.
func TestZones(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		const far = memorySize / 2
		other, r := q.ia.NewPZ()
		must(t, "pz", r)
		lmr, r := q.ia.NewLMR(dat.LMRArgs{Region: [2]uint64{uint64(memory.AddrOf(q.memory)) + far},
			Length: 100, PZ: other.Handle(), Privileges: all})
		must(t, "lmr", r)
		a, b := p.end(nil, 0), q.end(nil, 0)
		connect(t, a, b)
		remote := q.triplet(far, 100)
		remote.Context = lmr.Context
		must(t, "write", a.ep.Post(dat.PostArgs{Op: rc.Write,
			Triplets: []dat.Triplet{p.triplet(0, 100)}, Remote: remote}))
		if ev := expect(t, a.req, dat.EventDTO, p, q); status(&ev) != 6 {
			t.Errorf("status %d", status(&ev))
		}
	})
}

// TestOverflow: events beyond an EVD's length are dropped, and the asynchronous EVD gets one event.
func TestOverflow(t *testing.T) {
	p := newProcess(t)
	e, r := p.ia.NewEVD(2, 0, dat.EVDDTO)
	must(t, "evd", r)
	a := p.end(nil, 0)
	ep, r := p.ia.NewEP(dat.EPArgs{PZ: p.pz.Handle(), Recv: e.Handle(), Request: e.Handle(),
		Connect: a.con.Handle()})
	must(t, "ep", r)
	for i := range 5 {
		must(t, "recv", ep.PostReceive(nil, uint64(i), 0))
	}
	must(t, "free", ep.Free()) // flushes all
	for i := range uint64(2) {
		if ev := expect(t, e, dat.EventDTO, p); cookie(&ev) != i {
			t.Errorf("event of receive %d", cookie(&ev))
		}
	}
	if _, r := take(e); r != codes.QueueEmpty.Raw() {
		t.Errorf("a third event: %#x", uint32(r))
	}
	expect(t, p.ia.Async, dat.EventEVDOverflow, p)
	if _, r := take(p.ia.Async); r == codes.Success {
		t.Error("told twice")
	}
}
