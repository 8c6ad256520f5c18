package cm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// network carries datagrams between machines in virtual time, as badly as the test asks.
type network struct {
	t       *testing.T
	random  *rand.Rand
	now     int64
	hosts   map[netip.AddrPort]*host
	flying  []datagram
	lose    float64
	double  float64
	delay   int64 // at most
	carried int
	seen    [][]byte   // copies of all that was sent, for attackers
	kept    []datagram // the same, with their ways
}

type datagram struct {
	at       int64
	from, to netip.AddrPort
	b        []byte
}

// host is one process: a machine, and the notifications its owner got.
type host struct {
	net     *network
	m       *Machine
	own     netip.AddrPort
	card    [CardSize]byte
	decide  func(c *Conn, private []byte)
	private map[*Conn][]byte
	heard   map[*Conn]string
	times   map[*Conn]int // outcomes notified
	held    map[Port]int

	stats       Stats // of what it connects and listens for from now on
	useless     bool  // what is established is closed at once
	slow        int64 // how long Accepted takes, ns
	unconfirmed []unconfirmed
	accepted    map[*Conn]int
}

type unconfirmed struct {
	c  *Conn
	at int64
}

var hostIP = netip.MustParseAddr("10.0.0.1")

// portOf is where a qualifier of a host listens.
func portOf(own netip.AddrPort, qualifier uint64) netip.AddrPort {
	return netip.AddrPortFrom(own.Addr(), uint16(30000+qualifier))
}

func newNetwork(t *testing.T, seed uint64) *network {
	return &network{t: t, random: rand.New(rand.NewPCG(seed, 1)), delay: 1e6,
		hosts: map[netip.AddrPort]*host{}}
}

func (n *network) host(shared string) *host {
	ip := hostIP
	for range n.hosts {
		ip = ip.Next()
	}
	h := &host{net: n, own: netip.AddrPortFrom(ip, 20000), private: map[*Conn][]byte{},
		held:  map[Port]int{},
		heard: map[*Conn]string{}, times: map[*Conn]int{}, accepted: map[*Conn]int{}}
	copy(h.card[:], ip.String())
	h.m = New(Config{Outlet: h, Key: NewKey(n.random.Uint64), Shared: []byte(shared),
		Random: n.random.Uint64})
	h.decide = func(c *Conn, private []byte) { _ = c.Accept(n.now, private) }
	n.hosts[h.own] = h
	return h
}

// Send implements Outlet.
func (h *host) Send(by Port, local netip.Addr, to netip.AddrPort, b []byte) {
	source := h.own
	if by != Own && local != h.own.Addr() {
		h.net.t.Errorf("an answer from %v", local)
	}
	if by != Own {
		source = netip.AddrPortFrom(h.own.Addr(), uint16(by))
	}
	h.net.send(source, to, b)
}

func (n *network) send(from, to netip.AddrPort, b []byte) {
	n.seen = append(n.seen, bytes.Clone(b))
	n.kept = append(n.kept, datagram{n.now, from, to, bytes.Clone(b)})
	for copies := 1; copies > 0; copies-- {
		if n.random.Float64() < n.double {
			copies++
		}
		if n.random.Float64() < n.lose {
			continue
		}
		n.flying = append(n.flying,
			datagram{n.now + 1 + n.random.Int64N(n.delay), from, to, bytes.Clone(b)})
	}
}

// Hold implements Outlet.
func (h *host) Hold(by Port) { h.held[by]++ }

// Release implements Outlet.
func (h *host) Release(by Port) {
	if h.held[by]--; h.held[by] < 0 {
		h.net.t.Error("a port is released that was not held")
	}
}

// Requested implements Service.
func (h *host) Requested(c *Conn, private []byte) {
	c.Card, c.Owner = h.card, h
	h.decide(c, private)
}

// Accepted implements Owner.
func (h *host) Accepted(c *Conn) bool {
	if h.slow == 0 {
		return true
	}
	if h.accepted[c]++; h.accepted[c] > 1 {
		h.net.t.Errorf("%v told twice that it was accepted", h.own)
	}
	h.unconfirmed = append(h.unconfirmed, unconfirmed{c, h.net.now + h.slow})
	return false
}

// Established implements Owner.
func (h *host) Established(c *Conn, private []byte) {
	h.hear(c, "established", private)
	if h.useless {
		c.Close(h.net.now)
	}
}

// Failed implements Owner.
func (h *host) Failed(c *Conn, why Reason, private []byte) {
	h.hear(c, fmt.Sprintf("failed %d", why), private)
}

func (h *host) hear(c *Conn, what string, private []byte) {
	if h.times[c]++; h.times[c] > 1 && h.heard[c] != "established" {
		h.net.t.Errorf("%v told of %s after %s", h.own, what, h.heard[c])
	}
	h.heard[c], h.private[c] = what, bytes.Clone(private)
}

// step does the next thing that happens until a time; false: nothing does.
func (n *network) step(until int64) bool {
	at, next := until+1, -1
	for i, d := range n.flying {
		if d.at < at {
			at, next = d.at, i
		}
	}
	var timer, confirms *host
	for _, h := range n.hosts {
		if len(h.unconfirmed) > 0 && h.unconfirmed[0].at < at {
			at, next, confirms = h.unconfirmed[0].at, -1, h
		}
	}
	for _, h := range n.hosts {
		if t := h.m.NextTimeout(); t != 0 && t < at {
			at, next, timer = t, -1, h
		}
	}
	if at > until {
		n.now = until
		return false
	}
	n.now = max(n.now, at)
	if timer == nil && confirms != nil {
		c := confirms.unconfirmed[0].c
		confirms.unconfirmed = confirms.unconfirmed[1:]
		c.Proceed()
		return true
	}
	if timer != nil {
		timer.m.OnTimeout(n.now)
		return true
	}
	d := n.flying[next]
	n.flying = append(n.flying[:next], n.flying[next+1:]...)
	n.deliver(d)
	return true
}

func (n *network) deliver(d datagram) {
	n.carried++
	for _, h := range n.hosts {
		switch {
		case h.own == d.to:
			h.m.OnPacket(n.now, Own, d.to.Addr(), d.from, d.b)
		case h.own.Addr() == d.to.Addr():
			for q := range h.m.listeners {
				if portOf(h.own, q) == d.to {
					h.m.OnPacket(n.now, Port(d.to.Port()), d.to.Addr(), d.from, d.b)
					return
				}
			}
			if h.held[Port(d.to.Port())] > 0 {
				h.m.OnPacket(n.now, Port(d.to.Port()), d.to.Addr(), d.from, d.b)
				return
			}
			if sender := n.hosts[d.from]; sender != nil { // as the kernel does
				sender.m.Refused(n.now, d.to)
			}
		}
	}
}

func (n *network) run(seconds float64) {
	for end := n.now + int64(seconds*1e9); n.step(end); {
	}
}

// connect connects to a qualifier of a peer.
func (h *host) connect(to *host, qualifier uint64, private string, timeout float64) *Conn {
	c, err := h.m.Connect(h.net.now, &Call{To: portOf(to.own, qualifier), Qualifier: qualifier,
		Card: h.card, Private: []byte(private), Timeout: int64(timeout * 1e9), Owner: h,
		Stats: h.stats})
	if err != nil {
		h.net.t.Fatal(err)
	}
	return c
}

func (h *host) listen(qualifier uint64) *Listener {
	l, err := h.m.Listen(qualifier, h, h.stats)
	if err != nil {
		h.net.t.Fatal(err)
	}
	return l
}

// other is the one connection of h's.
func (h *host) other() *Conn {
	for c := range h.heard {
		return c
	}
	h.net.t.Fatalf("%v was told of nothing", h.own)
	return nil
}
