package cm

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
)

func TestConnect(t *testing.T) {
	n := newNetwork(t, 1)
	a, b := n.host("key"), n.host("key")
	b.listen(7)
	b.decide = func(c *Conn, private []byte) {
		if string(private) != "hello" || c.PeerCard != a.card {
			t.Errorf("the request has %q of %q", private, c.PeerCard)
		}
		_ = c.Accept(n.now, append([]byte("you said "), private...))
	}
	c := a.connect(b, 7, "hello", 10)
	n.run(5)
	d := b.other()
	if a.heard[c] != "established" || b.heard[d] != "established" {
		t.Fatalf("active %s, passive %s", a.heard[c], b.heard[d])
	}
	if string(a.private[c]) != "you said hello" || len(b.private[d]) != 0 {
		t.Errorf("private data %q and %q", a.private[c], b.private[d])
	}
	if c.Secret != d.Secret || c.Secret == (Secret{}) || c.PeerCard != b.card ||
		c.Pair != d.Pair || c.Pair == c.Secret {
		t.Error("the two ends do not agree")
	}
	if c.Remote() != d.Number() || d.Remote() != c.Number() {
		t.Error("the ends' numbers do not fit")
	}
	if a.m.NextTimeout() != 0 || b.m.NextTimeout() != 0 {
		t.Error("a timer runs on")
	}
	c.Close(n.now)
	d.Close(n.now)
	if a.m.Conns()+b.m.Conns() != 0 || len(b.m.requests) != 0 {
		t.Error("something is left")
	}
}

func TestReject(t *testing.T) {
	n := newNetwork(t, 2)
	a, b := n.host(""), n.host("")
	b.listen(7)
	b.decide = func(c *Conn, _ []byte) { _ = c.Reject(n.now, []byte("no")) }
	c := a.connect(b, 7, "", 10)
	n.run(30)
	if want := fmt.Sprintf("failed %d", Rejected); a.heard[c] != want ||
		string(a.private[c]) != "no" {
		t.Errorf("told %q with %q", a.heard[c], a.private[c])
	}
	if a.m.Conns()+b.m.Conns() != 0 {
		t.Error("the rejection is remembered for ever")
	}
}

// TestLateListener: a connection request succeeds if the listener starts soon after it.
func TestLateListener(t *testing.T) {
	for _, late := range []bool{true, false} {
		n := newNetwork(t, 3)
		a, b := n.host(""), n.host("")
		b.listen(8) // the kernel answers for other ports
		c := a.connect(b, 7, "", 100)
		n.run(0.1)
		want := fmt.Sprintf("failed %d", NobodyThere)
		if late {
			b.listen(7)
			want = "established"
		}
		n.run(10)
		if a.heard[c] != want {
			t.Errorf("late %v: told %q, want %q", late, a.heard[c], want)
		}
	}
}

// TestRefused: the same where a process answers for the port, but not the qualifier.
func TestRefused(t *testing.T) {
	n := newNetwork(t, 4)
	a, b := n.host(""), n.host("")
	l := b.listen(7)
	c, err := a.m.Connect(0, &Call{To: portOf(b.own, 7), Qualifier: 99, Card: a.card, Owner: a})
	if err != nil {
		t.Fatal(err)
	}
	n.run(10)
	if want := fmt.Sprintf("failed %d", NobodyThere); a.heard[c] != want {
		t.Errorf("told %q, want %q", a.heard[c], want)
	}
	b.m.Unlisten(l)
	if b.m.Listener(7) != nil {
		t.Error("listens on")
	}
}

func TestTimeout(t *testing.T) {
	for _, undecided := range []bool{true, false} {
		n := newNetwork(t, 5)
		a, b := n.host(""), n.host("")
		b.listen(7)
		b.decide = func(*Conn, []byte) {}
		if !undecided {
			n.lose = 1
		}
		c := a.connect(b, 7, "", 2)
		n.run(1.9)
		if a.heard[c] != "" {
			t.Fatalf("told %q too soon", a.heard[c])
		}
		n.run(1)
		if want := fmt.Sprintf("failed %d", TimedOut); a.heard[c] != want {
			t.Errorf("undecided %v: told %q, want %q", undecided, a.heard[c], want)
		}
		n.run(30)
		if undecided && b.heard[b.other()] != fmt.Sprintf("failed %d", Cancelled) {
			t.Errorf("the passive side was told %q", b.heard[b.other()])
		}
		if a.m.Conns()+b.m.Conns() != 0 {
			t.Error("something is left")
		}
	}
}

// TestLongWait: a side that waits long for the decision is connected in the end, and asks rarely.
func TestLongWait(t *testing.T) {
	n := newNetwork(t, 6)
	a, b := n.host(""), n.host("")
	b.listen(7)
	var request *Conn
	b.decide = func(c *Conn, _ []byte) { request = c }
	c := a.connect(b, 7, "", 100)
	n.run(50)
	if n.carried > 120 {
		t.Errorf("%d datagrams while it waits", n.carried)
	}
	if err := request.Accept(n.now, nil); err != nil {
		t.Fatal(err)
	}
	if request.Accept(n.now, nil) != ErrState || request.Reject(n.now, nil) != ErrState {
		t.Error("decided twice")
	}
	n.run(1)
	if a.heard[c] != "established" {
		t.Errorf("told %q", a.heard[c])
	}
}

func TestPrivateTooLong(t *testing.T) {
	n := newNetwork(t, 7)
	a, b := n.host(""), n.host("")
	if _, err := a.m.Connect(0, &Call{To: b.own, Qualifier: 7, Card: a.card,
		Private: make([]byte, PrivateMax+1), Owner: a}); err != ErrPrivate {
		t.Errorf("Connect: %v", err)
	}
	b.listen(7)
	b.decide = func(c *Conn, _ []byte) {
		if c.Accept(n.now, make([]byte, PrivateMax+1)) != ErrPrivate {
			t.Error("Accept takes it")
		}
		if c.Accept(n.now, make([]byte, PrivateMax)) != nil {
			t.Error("Accept takes less than it may")
		}
	}
	c := a.connect(b, 7, string(make([]byte, PrivateMax)), 0)
	n.run(1)
	if len(a.private[c]) != PrivateMax {
		t.Errorf("%d bytes have come", len(a.private[c]))
	}
}

// TestKeys: processes with different keys do not connect, and get an error that says why.
func TestKeys(t *testing.T) {
	n := newNetwork(t, 8)
	a, b := n.host("one"), n.host("other")
	b.listen(7)
	c := a.connect(b, 7, "", 3)
	n.run(10)
	if a.heard[c] != fmt.Sprintf("failed %d", TimedOut) || len(b.heard) != 0 || b.m.Conns() != 0 {
		t.Errorf("told %q, and %d there", a.heard[c], len(b.heard))
	}
	if b.m.Dropped == 0 {
		t.Error("nothing was dropped")
	}
}

// request gives b a request from an address, made up without a machine.
func (n *network) request(b *host, from netip.AddrPort, number, cookie uint64) {
	msg := Message{Kind: Request, From: number, Qualifier: 7, Cookie: cookie}
	copy(msg.Key[:], NewKey(n.random.Uint64).PublicKey().Bytes())
	d := make([]byte, MessageSize)
	msg.put(d)
	seal(nil, d)
	b.m.OnPacket(n.now, Port(portOf(b.own, 7).Port()), b.own.Addr(), from, d)
}

// TestFloodForged: nothing is kept of a request from an address that does not answer, no secret is
// made for it, and it gets no more than it brings. A sender that answers is served meanwhile.
func TestFloodForged(t *testing.T) {
	n := newNetwork(t, 9)
	a, b := n.host(""), n.host("")
	b.listen(7)
	b.decide = func(c *Conn, _ []byte) { _ = c.Reject(n.now, nil) }
	for i := range 5000 {
		n.request(b, netip.AddrPortFrom(hostIP.Prev(), uint16(i)), n.random.Uint64()|1,
			n.random.Uint64())
	}
	if len(b.heard) > 0 || b.m.Conns() != 0 || len(b.m.requests) != 0 {
		t.Fatalf("%d requests are kept", b.m.Conns())
	}
	if len(n.seen) != 5000 {
		t.Errorf("%d answers to 5000 requests", len(n.seen))
	}
	b.decide = func(c *Conn, _ []byte) { _ = c.Accept(n.now, nil) }
	c := a.connect(b, 7, "", 10)
	n.run(1)
	if a.heard[c] != "established" {
		t.Errorf("the honest one was told %q", a.heard[c])
	}
}

// TestFloodRejected: however many requests are rejected, the memory of them is bounded, and a
// rejection is said again as long as it is remembered.
func TestFloodRejected(t *testing.T) {
	n := newNetwork(t, 15)
	b := n.host("")
	b.listen(7)
	decided := 0
	b.decide = func(c *Conn, _ []byte) { decided++; _ = c.Reject(n.now, nil) }
	ask := func(i int) {
		from := netip.AddrPortFrom(hostIP.Prev(), uint16(i))
		n.request(b, from, uint64(i)+1, b.m.cookie(n.now, from))
	}
	for i := range 3 * RejectedMax {
		ask(i)
	}
	if decided != 3*RejectedMax || b.m.Conns() != RejectedMax ||
		len(b.m.requests) != RejectedMax || len(b.m.rejected) != RejectedMax {
		t.Errorf("of %d rejections %d, %d and %d are remembered", decided, b.m.Conns(),
			len(b.m.requests), len(b.m.rejected))
	}
	before := len(n.seen)
	ask(3*RejectedMax - 1)
	if decided != 3*RejectedMax || len(n.seen) != before+1 ||
		Kind(n.seen[before][8]) != Reject {
		t.Error("a rejection that is remembered is not said again")
	}
	n.run(30)
	if b.m.Conns() != 0 || b.m.NextTimeout() != 0 {
		t.Errorf("%d rejections are remembered for ever", b.m.Conns())
	}
}

// TestCookie: a cookie is good for its address, and not for ever.
func TestCookie(t *testing.T) {
	n := newNetwork(t, 16)
	b := n.host("")
	b.listen(7)
	b.decide = func(*Conn, []byte) {}
	from, other := netip.AddrPortFrom(hostIP, 1), netip.AddrPortFrom(hostIP, 2)
	cookie := b.m.cookie(n.now, from)
	n.request(b, other, 5, cookie)
	n.now += 2 * cookieLife
	n.request(b, from, 5, cookie)
	if b.m.Conns() != 0 {
		t.Fatalf("%d requests with another's cookie, or an old one", b.m.Conns())
	}
	cookie = b.m.cookie(n.now, from)
	n.now += cookieLife
	if n.request(b, from, 5, cookie); b.m.Conns() != 1 {
		t.Error("a cookie is not good for long enough")
	}
}

// TestCookieIsUsedAgain: the second connection to a peer needs no Challenge; a cookie that
// is no good any more costs one.
func TestCookieIsUsedAgain(t *testing.T) {
	n := newNetwork(t, 18)
	a, b := n.host(""), n.host("")
	b.listen(7)
	connect := func() (challenges int) {
		before := len(n.seen)
		c := a.connect(b, 7, "", 10)
		n.run(1)
		if a.heard[c] != "established" {
			t.Fatalf("%q", a.heard[c])
		}
		for _, m := range n.seen[before:] {
			if Kind(m[8]) == Challenge {
				challenges++
			}
		}
		return challenges
	}
	for i, want := range []int{1, 0, 0, 1, 0} {
		if i == 3 {
			n.now += 2 * cookieLife
		}
		if got := connect(); got != want {
			t.Errorf("connection %d: %d times Challenge, not %d", i, got, want)
		}
	}
	for i := range 3 * cookiesMax {
		a.m.keepCookie(netip.AddrPortFrom(hostIP, uint16(i)), 1)
	}
	if len(a.m.cookies) > cookiesMax {
		t.Errorf("%d cookies are kept", len(a.m.cookies))
	}
}

// TestDropped: a request that the owner drops comes again, also when its cookie has become too old.
func TestDropped(t *testing.T) {
	n := newNetwork(t, 17)
	a, b := n.host(""), n.host("")
	b.listen(7)
	times := 0
	b.decide = func(c *Conn, _ []byte) {
		if c.Keep(); times == 2 {
			_ = c.Accept(n.now, nil)
			return
		}
		times++
	}
	c := a.connect(b, 7, "", 1000)
	for want := range 2 {
		n.run(float64(1 + 130*want))
		if times != want+1 || b.m.Conns() != 1 {
			t.Fatalf("requested %d times, %d are kept", times, b.m.Conns())
		}
		b.accepting().Drop()
		if b.m.Conns() != 0 || len(b.m.requests) != 0 || a.heard[c] != "" {
			t.Fatal("not dropped")
		}
	}
	if n.run(3); a.heard[c] != "established" {
		t.Errorf("told %q", a.heard[c])
	}
}

// TestLinger: a connection that its owner has done with answers repetitions, and is forgotten.
func TestLinger(t *testing.T) {
	n := newNetwork(t, 18)
	a, b := n.host(""), n.host("")
	b.listen(7)
	c := a.connect(b, 7, "", 10)
	n.run(1)
	b.other().Linger(n.now)
	c.send(Request)
	n.run(1)
	if b.times[b.other()] != 1 || len(b.heard) != 1 {
		t.Error("a late repetition is a new request")
	}
	if n.run(30); b.m.Conns() != 0 || b.times[b.other()] != 1 {
		t.Errorf("%d connections are left, told %d times", b.m.Conns(), b.times[b.other()])
	}
}

// TestForged: no message of a third party's changes what two others do, be it made up from what it
// has seen of others or a replay of theirs.
func TestForged(t *testing.T) {
	for seed := range uint64(200) {
		n := newNetwork(t, seed)
		a, b := n.host("k"), n.host("k")
		b.listen(7)
		c := a.connect(b, 7, "x", 10)
		for n.step(n.now + 5e6) {
			for range 3 { // the attacker replays, and turns a few bits
				d := bytes.Clone(n.seen[n.random.IntN(len(n.seen))])
				if n.random.IntN(4) > 0 {
					d[8+n.random.IntN(len(d)-8)] ^= 1 << n.random.IntN(8)
				}
				switch n.random.IntN(2) {
				case 0:
					a.m.OnPacket(n.now, Own, a.own.Addr(), portOf(b.own, 7), d)
				case 1:
					b.m.OnPacket(n.now, Port(portOf(b.own, 7).Port()), b.own.Addr(), a.own, d)
				}
			}
		}
		n.run(30)
		if a.heard[c] != "established" || len(b.heard) != 1 ||
			b.heard[b.other()] != "established" ||
			a.m.Conns() != 1 || b.m.Conns() != 1 {
			t.Fatalf("seed %d: told %q and %v, %d and %d connections", seed, a.heard[c], b.heard,
				a.m.Conns(), b.m.Conns())
		}
	}
}

// TestBadNetwork: many connections over a network that loses, doubles and reorders. Each attempt
// has one outcome on each side, and the outcomes fit.
func TestBadNetwork(t *testing.T) {
	for seed := range uint64(40) {
		n := newNetwork(t, seed)
		n.lose, n.double = 0.3*n.random.Float64(), 0.3*n.random.Float64()
		n.delay = 1 + n.random.Int64N(200e6)
		hosts := []*host{n.host("k"), n.host("k"), n.host("k")}
		for _, h := range hosts {
			h.listen(7)
			h.slow = int64(seed%3) * 1e8
			h.decide = func(c *Conn, private []byte) {
				if private[0]%3 == 0 {
					_ = c.Reject(n.now, private)
					return
				}
				_ = c.Accept(n.now, private)
			}
		}
		attempts := map[*Conn]byte{}
		for i := range 60 {
			from, to := hosts[i%3], hosts[(i+1+i/3%2)%3]
			attempts[from.connect(to, 7, string([]byte{byte(i)}), 60)] = byte(i)
			n.run(0.02)
		}
		n.run(120)
		for c, i := range attempts {
			h := n.hosts[c.m.out2own()]
			want := "established"
			if i%3 == 0 {
				want = fmt.Sprintf("failed %d", Rejected)
			}
			if h.heard[c] != want || h.times[c] != 1 || !bytes.Equal(h.private[c], []byte{i}) {
				t.Fatalf("seed %d: attempt %d was told %q, %d times, %q", seed, i, h.heard[c],
					h.times[c], h.private[c])
			}
		}
		passive := 0
		for _, h := range hosts {
			for c := range h.heard {
				if !c.Active {
					passive++
				}
			}
		}
		if passive != 40 {
			t.Fatalf("seed %d: %d of 40 were established on the passive side", seed, passive)
		}
	}
}

// out2own is the address of the host that a machine is of.
func (m *Machine) out2own() netip.AddrPort { return m.cfg.Outlet.(*host).own }

func FuzzOnPacket(f *testing.F) {
	var b [MessageSize]byte
	msg := Message{Kind: Request, From: 5, Qualifier: 7, Private: []byte("private")}
	msg.put(b[:])
	f.Add(b[:], true)
	f.Add(b[:], false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, b []byte, listens bool) {
		n := newNetwork(t, 1)
		h := n.host("")
		h.listen(7)
		c := h.connect(h, 7, "", 1)
		at := Own
		if listens {
			at = Port(portOf(h.own, 7).Port())
		}
		h.m.OnPacket(0, at, h.own.Addr(), portOf(h.own, 7), b)
		if h.heard[c] != "" && !listens && len(b) == MessageSize && Kind(b[8]) != Refuse {
			t.Errorf("%x tells of %q", b, h.heard[c])
		}
		if len(h.m.conns) > 2 {
			t.Errorf("%d connections", len(h.m.conns))
		}
	})
}

// TestClaimedKey: a process that claims the key of another, which it does not have, is never
// connected, and does not keep that one out, on either side.
func TestClaimedKey(t *testing.T) {
	for _, active := range []bool{true, false} {
		n := newNetwork(t, 10)
		alice, server, thief := n.host(""), n.host(""), n.host("")
		for _, h := range []*host{alice, server, thief} {
			h.listen(7)
		}
		thief.m.public = alice.m.public
		from, to := thief, server
		if !active {
			from, to = server, thief
		}
		c := from.connect(to, 7, "thief", 30)
		n.run(1)
		honest := alice.connect(server, 7, "alice", 10)
		n.run(60)
		if alice.heard[honest] != "established" {
			t.Errorf("active %v: the honest one was told %q", active, alice.heard[honest])
		}
		if from.heard[c] == "established" {
			t.Errorf("active %v: a peer that claims another's key is connected", active)
		}
		for d, what := range server.heard {
			if what == "established" && d != c && d.Peer.Addr() != alice.own.Addr() {
				t.Errorf("active %v: the server is connected to %v", active, d.Peer)
			}
		}
	}
}

// TestKeyForms: a key that was changed on the way to another form of the same number, as X25519 has
// them, connects nobody: one process has one identity.
func TestKeyForms(t *testing.T) {
	n := newNetwork(t, 14)
	a, b := n.host(""), n.host("")
	b.listen(7)
	c := a.connect(b, 7, "", 3)
	for range 200 {
		for _, d := range n.flying {
			if Kind(d.b[8]) == Request {
				d.b[64+keySize-1] |= 0x80
				seal(nil, d.b)
			}
		}
		n.step(n.now + 1e9)
	}
	if len(b.heard) == 0 || a.heard[c] == "established" || b.heard[b.other()] == "established" {
		t.Errorf("told %q and %v", a.heard[c], b.heard)
	}
}
