package device

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"unsafe"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/cshim/ctest/evd"
	"lapi/cshim/ctest/verbs"
	"lapi/cshim/dat/dev"
	cevd "lapi/cshim/dat/evd"
	"lapi/transport/arena"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

// lab is processes with an RDMA adapter each, on one fabric and clock.
type lab struct {
	t     *testing.T
	f     *fake.Fabric
	now   int64
	asked int // how often the time was asked for
	hosts []*host
}

// host is a process: what its Device needs of it, and the service of its listener.
type host struct {
	l       *lab
	addr    netip.Addr
	d       *fake.Device
	k       *Device
	zone    *Zone
	counts  [NumCounters]int
	broken  int
	silent  []string
	reports []string
	arrived []Arrival
}

func (h *host) Now() int64 {
	h.l.asked++
	return h.l.now
}

func (h *host) Random() uint64  { return 5 }
func (h *host) Count(c Counter) { h.counts[c]++ }
func (h *host) Broken()         { h.broken++ }

func (h *host) Report(text string) { h.reports = append(h.reports, text) }

func (h *host) Silent(qualifier uint64, to netip.Addr, text string) {
	h.silent = append(h.silent, fmt.Sprintf("%d %v: %s", qualifier, to, text))
}

func (h *host) Requested(a Arrival, _ []byte) { h.arrived = append(h.arrived, a) }

func newLab(t *testing.T, n int) *lab {
	l := &lab{t: t, f: fake.New(), now: 1}
	for i := range n {
		h := &host{l: l, addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}
		h.d = l.f.Add(h.addr)
		d, err := verbs.Fabric{Fabric: l.f}.Open(h.addr)
		if err == nil {
			h.k, err = New(d, h, 10e9)
		}
		if err != nil {
			t.Fatal(err)
		}
		zone, r := h.k.NewZone()
		l.must("zone", r)
		h.zone = zone
		l.hosts = append(l.hosts, h)
	}
	return l
}

func (l *lab) must(what string, r codes.Return) {
	l.t.Helper()
	if r != codes.Success {
		l.t.Fatalf("%s: %#x", what, uint32(r))
	}
}

// turn lets everything happen that can without time passing.
func (l *lab) turn() {
	for range 4 {
		for _, h := range l.hosts {
			h.k.Progress(true)
		}
	}
}

// close ends everything. Nothing may be left of the adapters.
func (l *lab) close() {
	l.t.Helper()
	for _, h := range l.hosts {
		h.zone.Close()
		h.k.Close()
		if n := h.d.Left(); n != 0 {
			l.t.Errorf("%d objects of the adapter are left", n)
		}
	}
}

// end is an endpoint with an EVD for its receives, and one for its requests.
type end struct {
	h              *host
	pair           *Pair
	recv, request  uint64
	binds          []*rc.Request
	events         []string
	sent, received []rc.Status // of completions that were taken
}

func (e *end) Pair() *Pair             { return e.pair }
func (e *end) Abandoned() bool         { return false }
func (e *end) Completed(r *rc.Request) { e.binds = append(e.binds, r) }

// newEVD makes an EVD without an adapter.
func (l *lab) newEVD() uint64 {
	l.t.Helper()
	b, err := arena.Map(1)
	if err != nil {
		l.t.Fatal(err)
	}
	at := uint64(memory.AddrOf(b))
	if !cevd.Open(at, 64, layout.QueueDTO, 0) {
		l.t.Fatal("no memory")
	}
	l.t.Cleanup(func() {
		cevd.Close(at)
		arena.Unmap(b)
	})
	return at
}

// take takes the events of the endpoint.
func (e *end) take() {
	for _, f := range []struct {
		evd uint64
		to  *[]rc.Status
	}{{e.request, &e.sent}, {e.recv, &e.received}} {
		var b [cevd.EventSize]byte
		for evd.Take(f.evd, unsafe.Pointer(&b)) == 0 {
			*f.to = append(*f.to, rc.Status(binary.NativeEndian.Uint32(b[32:])))
		}
	}
}

func (e *end) Established(bool, []byte) { e.events = append(e.events, "established") }

func (e *end) Reached(*Call, *Path, []byte) bool { return false }

func (e *end) Failed(_ *Call, why Failure, _ []byte) {
	e.events = append(e.events, fmt.Sprintf("failed %d", why))
}

func (e *end) Ended(how rc.Ending) { e.events = append(e.events, fmt.Sprintf("ended %d", how)) }

// end makes an endpoint with a pair.
func (h *host) end(change func(c *PairConfig)) *end {
	h.l.t.Helper()
	c := PairConfig{Zone: h.zone, Requests: 8, Receives: 8, RequestSegments: 1, ReceiveSegments: 1,
		ReadsIn: 1, ReadsOut: 1}
	if change != nil {
		change(&c)
	}
	e := &end{h: h, recv: h.l.newEVD(), request: h.l.newEVD()}
	var r codes.Return
	e.pair, r = h.k.NewPair(c, e)
	h.l.must("pair", r)
	e.pair.SetOwner(dev.Owner{Receives: e.recv, Requests: e.request})
	return e
}

// connect connects a to b.
func (l *lab) connect(a, b *end) {
	l.t.Helper()
	listener, r := b.h.k.Listen(7, b.h)
	l.must("listen", r)
	_, r = a.h.k.Connect(a, b.h.addr, 7, 0, nil)
	l.must("connect", r)
	l.turn()
	if len(b.h.arrived) != 1 {
		l.t.Fatalf("%d requests", len(b.h.arrived))
	}
	c := b.h.arrived[0].Call
	b.h.arrived = nil
	c.SetEndpoint(b)
	if err := c.Accept(nil); err != nil {
		l.t.Fatal(err)
	}
	l.turn()
	if len(a.events) != 1 || len(b.events) != 1 {
		l.t.Fatalf("events %q and %q", a.events, b.events)
	}
	listener.Close()
}

// disconnect ends the connection of two endpoints.
func (l *lab) disconnect(a *end) {
	a.pair.Disconnect(false)
	l.turn()
	l.now += AbruptTimeout + 1
	l.turn()
}

// send posts a send of no bytes.
func (e *end) send(flags uint32) {
	e.h.l.t.Helper()
	e.h.l.must("send", e.pair.Post(&dev.Request{Op: dev.OpSend, Completion: flags}))
}
