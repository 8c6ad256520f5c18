package dat

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/progress"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
	"lapi/transport/self"
	"lapi/transport/simnet"
	"lapi/transport/udp"
	"lapi/transport/udp/wire"
)

// world is a simulated network with processes that have opened an adapter each. The connection
// manager's datagrams are lost, doubled and delayed as the packets of data are.
type world struct {
	t      testing.TB
	net    *simnet.Net
	random *rand.Rand
	way    simnet.Way
	procs  []*proc
	memory [][]byte   // of all processes there ever were
	libs   []*Library // likewise
	flying map[int32]flying
	number int32    // of the next datagram
	seen   [][]byte // the newest datagrams
	// cards are made up: packets may go to an address that nobody has
	anywhere bool
	// RDMA adapters, which the processes open; nil: there are none
	fabric *fake.Fabric
}

// flying is a datagram of the connection manager on its way.
type flying struct {
	to       *proc
	at       cm.Port
	from     netip.AddrPort
	refusing netip.AddrPort // it is the kernel's word that nobody is there
	b        []byte
}

// proc is a process: a library, its adapter, memory of the program's. It is the library's Host and
// Network.
type proc struct {
	w          *world
	node       *simnet.Node
	addr       netip.Addr
	l          *Library
	ia         *IA
	pz         *PZ
	lmr        *LMR
	memory     []byte
	ports      map[cm.Port]int
	everywhere int // how often it has listened at all its addresses
	inbox      []flying
	open       bool
	refuses    bool // its node does, as nobody listens there any more
	closing    bool
}

const (
	nobody     = 1 << 29 // of no datagram: it lets time pass
	ownPort    = 9000
	simTimeout = 5 * time.Second
	simMemory  = 1 << 18
	simPacket  = 1472 // bytes; longer datagrams vanish
	simAll     = allPrivileges
)

// newWorld makes a network with n processes. way says how bad it is.
func newWorld(t testing.TB, seed uint64, n int, way simnet.Way) *world {
	return newWorldOver(t, nil, seed, n, way)
}

// newWorldOver is newWorld; the processes open adapters of a fabric, if there is one.
func newWorldOver(t testing.TB, fabric *fake.Fabric, seed uint64, n int, way simnet.Way) *world {
	memory.Guard()
	sc := &simnet.Scenario{Seed: seed, Tasks: n, Level: wire.LevelCookie, PacketSize: simPacket,
		CopyMax: 128, RexmitBufCount: 32, AckThreshold: 2, ReceiveBuffer: 1 << 20,
		PollingInterval: 100 * time.Millisecond, Timeout: simTimeout}
	way.MTU = sc.PacketSize
	if way.DelayMin == 0 {
		way.DelayMin, way.DelayMax = time.Microsecond, 100*time.Microsecond
	}
	for i := range sc.Ways {
		sc.Ways[i] = way
	}
	for range n {
		sc.Addresses = append(sc.Addresses, 1)
	}
	w := &world{t: t, net: simnet.New(sc, nil), way: way, fabric: fabric,
		random: rand.New(rand.NewPCG(seed, 9))}
	w.net.Happen = w.happen
	w.flying = map[int32]flying{}
	for i := range n {
		w.start(i)
	}
	t.Cleanup(w.close)
	return w
}

// start starts a process at node i.
func (w *world) start(i int) *proc {
	p := &proc{w: w, node: w.net.Node(i), ports: map[cm.Port]int{}, open: true}
	p.addr = p.node.Locals()[0].Addr.Addr()
	var adapters Adapters
	params := ""
	if w.fabric != nil {
		w.fabric.Add(p.addr)
		adapters, params = w.fabric, p.addr.String()+" 0"
	}
	p.l = New(Config{Host: p, Network: func() (Network, error) { return p, nil }, Adapters: adapters,
		Interfaces: func() []Interface { return []Interface{{Name: "sim", Addr: p.addr}} },
		Self:       func() (transport.Link, error) { return self.New(p.clock) },
		Kernel:     simKernel{}, Random: w.random.Uint64, Clock: p.clock, Timeout: int64(simTimeout)})
	w.libs = append(w.libs, p.l)
	var r codes.Return
	p.ia, r = p.l.OpenIA(OpenArgs{Name: "lapi-sim", Size: 100, Params: params})
	w.must("ia", r)
	p.pz, r = p.ia.NewPZ()
	w.must("pz", r)
	b, err := arena.Map(simMemory)
	if err != nil {
		w.t.Fatal(err)
	}
	p.memory = b
	w.memory = append(w.memory, b)
	p.lmr, r = p.ia.NewLMR(LMRArgs{Region: [2]uint64{uint64(memory.AddrOf(b))}, Length: simMemory,
		PZ: p.pz.Handle(), Privileges: simAll})
	w.must("lmr", r)
	p.node.Attach(p.turn, p.next)
	if w.fabric == nil {
		p.take()
	}
	for len(w.procs) <= i {
		w.procs = append(w.procs, nil)
	}
	w.procs[i] = p
	return p
}

// take has the process take the packets that come to its node: the simulation counts those that
// nobody takes as errors.
func (p *proc) take() {
	if _, err := p.l.peers.dataLinkAt(p.addr); err != nil {
		p.w.t.Fatal(err)
	}
}

// close ends everything; it runs at the end of a test.
func (w *world) close() {
	if w.net == nil {
		return
	}
	for _, p := range w.procs {
		if p.open {
			p.kill()
		}
	}
	for _, b := range w.memory {
		arena.Unmap(b)
	}
	if err := w.net.Err(); err != nil && !w.anywhere {
		w.t.Error(err)
	}
	w.net.Close()
	w.net = nil
	for _, l := range w.libs {
		l.unmap()
	}
}

// kill ends a process without a word to anybody.
func (p *proc) kill() {
	p.open = false
	for _, d := range p.l.peers.links {
		d.link.(*simnet.Link).Abandon()
	}
	p.l.peers.links = nil // what it still calls goes nowhere
	p.node.Detach(false)
}

// die is kill, where the node lives: its kernel refuses what comes for the process.
func (p *proc) die() {
	p.kill()
	p.refuses = true
}

// leave ends it in good order.
func (p *proc) leave() {
	p.closing = true
	p.ia.Close(false)
	p.l.Shut()
	p.open = false
	p.node.Detach(false)
}

// clock lets time pass while the library notifies its peers of its end.
func (p *proc) clock() int64 {
	if p.closing {
		p.w.net.Schedule(time.Millisecond, nobody)
		p.w.net.Step()
	}
	return p.w.net.Now()
}

func (p *proc) turn() {
	if !p.open {
		return
	}
	if p.closing {
		for _, d := range p.l.peers.links {
			d.link.Progress(progressBatch)
		}
		return
	}
	p.l.Progress()
}

func (p *proc) next() int64 {
	if p.closing || !p.open {
		next := int64(0)
		for _, d := range p.l.peers.links {
			next = progress.Earlier(next, d.link.(transport.Waiter).NextTimeout())
		}
		return next
	}
	if len(p.inbox) > 0 {
		return p.w.net.Now()
	}
	return p.l.NextTimeout()
}

// happen lets datagram number code arrive.
func (w *world) happen(code int32) {
	f := w.flying[code]
	delete(w.flying, code)
	if f.to != nil && f.to.open {
		f.to.inbox = append(f.to.inbox, f)
		f.to.node.Touch()
	}
}

func (w *world) fly(f flying) {
	if w.seen = append(w.seen, f.b); len(w.seen) > 100 {
		w.seen = w.seen[1:]
	}
	for copies := 1; copies > 0; copies-- {
		if w.random.Float64() < w.way.Duplicate {
			copies++
		}
		if w.random.Float64() < w.way.Loss {
			continue
		}
		w.number = (w.number + 1) % nobody
		w.flying[w.number] = f
		delay := w.way.DelayMin
		if d := w.way.DelayMax - w.way.DelayMin; d > 0 {
			delay += time.Duration(w.random.Int64N(int64(d)))
		}
		w.net.Schedule(delay, w.number)
	}
}

// Changed implements Host.
func (p *proc) Changed() {}

// Message implements Host.
func (p *proc) Watch(int)   {}
func (p *proc) Unwatch(int) {}

func (p *proc) Message(text string) { p.w.t.Log(text) }

// Send implements cm.Outlet.
func (p *proc) Send(by cm.Port, local netip.Addr, to netip.AddrPort, b []byte) {
	source := netip.AddrPortFrom(p.addr, ownPort)
	if by != cm.Own {
		source = netip.AddrPortFrom(p.addr, uint16(by))
	}
	for _, q := range p.w.procs {
		if q == nil || q.addr != to.Addr() {
			continue
		}
		if !q.open {
			if q.refuses {
				p.w.fly(flying{to: p, refusing: to})
			}
			continue
		}
		switch at := cm.Port(to.Port()); {
		case to.Port() == ownPort:
			p.w.fly(flying{to: q, at: cm.Own, from: source, b: bytes.Clone(b)})
		case q.ports[at] > 0:
			p.w.fly(flying{to: q, at: at, from: source, b: bytes.Clone(b)})
		default:
			p.w.fly(flying{to: p, refusing: to})
		}
	}
}

// Listen implements Network.
func (p *proc) Listen(port cm.Port, at netip.Addr) error {
	if p.ports[port]++; !at.IsValid() {
		p.everywhere++
	}
	return nil
}

// Unlisten implements Network.
func (p *proc) Unlisten(port cm.Port) { p.ports[port]-- }

// Hold implements cm.Outlet.
func (p *proc) Hold(port cm.Port) { p.ports[port]++ }

// Release implements cm.Outlet.
func (p *proc) Release(port cm.Port) { p.ports[port]-- }

// Receive implements Network.
func (p *proc) Receive(max int, m Arrivals) (n int) {
	for ; n < max && len(p.inbox) > 0; n++ {
		f := p.inbox[0]
		p.inbox = p.inbox[1:]
		if f.refusing.IsValid() {
			m.OnRefused(f.refusing)
		} else {
			m.OnPacket(f.at, p.addr, f.from, f.b)
		}
	}
	return n
}

// LocalFor implements Network.
func (p *proc) LocalFor(netip.Addr) (netip.Addr, error) { return p.addr, nil }

// Link implements Network.
func (p *proc) Link(local netip.Addr, c LinkConfig) (transport.Link, netip.AddrPort, error) {
	l, err := simnet.NewLink(p.node, udp.Config{NumTasks: c.Peers, Level: wire.LevelCookie,
		Partition: "dat", Timeout: simTimeout, Pair: c.Pair, PeerFailed: c.Failed,
		PacketSize:      simPacket,
		PollingInterval: 100 * time.Millisecond})
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	return l, l.Locals()[0], nil
}

// Woken implements Network: Receive looks each time.
func (p *proc) Woken() {}

// Descriptors implements Network.
func (p *proc) Descriptors() []int { return nil }

// Close implements Network.
func (p *proc) Close() {}

// Door implements Network: each process is on a node of its own.
func (p *proc) Door([16]byte) error { return transport.ErrNotSupported }

// Dial implements Network.
func (p *proc) Dial([16]byte) (Line, error) { return nil, transport.ErrNotSupported }

// NodeLink implements Network.
func (p *proc) NodeLink(int, func() bool, func(transport.Endpoint, error)) (transport.Link, error) {
	return nil, transport.ErrNotSupported
}

// Within implements Network.
func (p *proc) Within(func(int)) (ends [2]transport.Link, err error) {
	return ends, transport.ErrNotSupported
}

// CloseLink implements Network.
func (p *proc) CloseLink(transport.Link) {}

var _ Network = (*proc)(nil)

func (w *world) must(what string, r codes.Return) {
	w.t.Helper()
	if r != codes.Success {
		w.t.Fatalf("%s: %#x (dat_error.h)", what, uint32(r))
	}
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	for end := w.net.Now() + int64(d); w.net.Now() < end; {
		for _, p := range w.procs {
			p.node.Touch()
		}
		w.net.Schedule(min(d, 10*time.Millisecond), nobody)
		if !w.net.Step() {
			w.t.Fatal(w.net.Err())
		}
	}
}

// until runs until what returns true; false: it has not within a minute.
func (w *world) until(what func() bool) bool {
	for end := w.net.Now() + int64(time.Minute); w.net.Now() < end; {
		if what() {
			return true
		}
		for _, p := range w.procs {
			p.node.Touch() // calls may have set timers
		}
		if !w.net.Step() {
			break
		}
	}
	return what()
}

// next waits for an event.
func (w *world) next(e *EVD) Event {
	w.t.Helper()
	if !w.until(func() bool { return e.Len() > 0 }) {
		w.t.Fatal("no event")
	}
	ev, r := e.Dequeue()
	w.must("dequeue", r)
	return ev
}

func (w *world) expect(e *EVD, number EventNumber) Event {
	w.t.Helper()
	ev := w.next(e)
	if ev.Number != number {
		w.t.Fatalf("event %#x, want %#x", uint32(ev.Number), uint32(number))
	}
	return ev
}

// part is n bytes of the process's memory.
func (p *proc) part(at, n int) Triplet {
	return Triplet{Addr: uint64(memory.AddrOf(p.memory)) + uint64(at), N: uint32(n),
		Context: p.lmr.Context}
}

func (p *proc) evd(flags EVDFlags) *EVD {
	e, r := p.ia.NewEVD(1000, 0, flags)
	p.w.must("evd", r)
	return e
}

// simEnd is an endpoint and its EVDs.
type simEnd struct {
	p              *proc
	ep             *EP
	recv, req, con *EVD
}

func (p *proc) end(attr *Attr) *simEnd {
	e := &simEnd{p: p, recv: p.evd(EVDDTO), req: p.evd(EVDDTO), con: p.evd(EVDConnection)}
	var r codes.Return
	e.ep, r = p.ia.NewEP(EPArgs{PZ: p.pz.Handle(), Recv: e.recv.Handle(), Request: e.req.Handle(),
		Connect: e.con.Handle(), Attr: attr})
	p.w.must("ep", r)
	return e
}

// free frees the endpoint and its EVDs.
func (e *simEnd) free() {
	e.p.w.must("ep_free", e.ep.Free())
	for _, evd := range []*EVD{e.recv, e.req, e.con} {
		e.p.w.must("evd_free", evd.Free())
	}
}

// request waits for a connection request.
func (w *world) request(p *proc, cr *EVD) *CR {
	w.t.Helper()
	ev := w.next(cr)
	c, r := Find[*CR](p.l, Handle(binary.LittleEndian.Uint64(ev.Data[24:])), codes.InvalidHandleCR)
	w.must("cr", r)
	return c
}

// connect connects two ends, of which b accepts.
func (w *world) connect(a, b *simEnd) {
	w.t.Helper()
	cr := b.p.evd(EVDCR)
	psp, r := b.p.ia.NewPSPAny(cr.Handle(), false)
	w.must("psp", r)
	w.must("connect", a.ep.Connect(b.p.addr, psp.Qualifier, 0, nil))
	w.must("accept", w.request(b.p, cr).Accept(b.ep.Handle(), nil))
	w.expect(a.con, EventEstablished)
	w.expect(b.con, EventEstablished)
	w.must("psp_free", psp.Free())
	w.must("evd_free", cr.Free())
}

// connectUD has a learn by what b is reached.
func (w *world) connectUD(a, b *simEnd) (ah Handle, qpn uint32) {
	w.t.Helper()
	cr := b.p.evd(EVDCR)
	psp, r := b.p.ia.NewPSPAny(cr.Handle(), false)
	w.must("psp", r)
	w.must("connect", a.ep.Connect(b.p.addr, psp.Qualifier, 0, nil))
	w.must("accept", w.request(b.p, cr).Accept(b.ep.Handle(), nil))
	ev := w.expect(a.con, EventUDEstablished)
	w.expect(b.con, EventUDEstablished)
	w.must("psp_free", psp.Free())
	w.must("evd_free", cr.Free())
	return Handle(binary.LittleEndian.Uint64(ev.Extension[16:])),
		binary.LittleEndian.Uint32(ev.Extension[24:])
}
