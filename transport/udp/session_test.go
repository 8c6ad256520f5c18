package udp

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/internal/rtt"
	"lapi/transport/udp/wire"
)

// Either side may begin, both may at once, and each Hello may be lost.
func TestHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		begin []int
		lost  int // of the first packets
	}{
		"one": {[]int{0}, 0}, "other": {[]int{1}, 0}, "crossing": {[]int{0, 1}, 0},
		"first lost": {[]int{0}, 1}, "answer lost": {[]int{0}, 2}, "third lost": {[]int{0}, 3},
		"crossing, lost": {[]int{0, 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 2, nil)
			got := 0
			for _, m := range p.ms {
				m.Handle(1, func(*transport.Msg) transport.Verdict {
					got++
					return transport.Accept
				})
			}
			n := 0
			p.lose = func(int, []byte) bool { n++; return n <= c.lost }
			for _, i := range c.begin {
				p.send(i, 1-i, 1, 8)
				p.send(i, 1-i, 1, 8)
			}
			p.pass(50 * time.Millisecond)
			p.want("messages", got, 2*len(c.begin))
			for i, m := range p.ms {
				if m.connected(transport.Endpoint(1-i)).session.state != open || m.connected(transport.Endpoint(1-i)).sender.window.Outstanding() {
					t.Errorf("task %d: state %d", i, m.connected(transport.Endpoint(1-i)).session.state)
				}
				p.want("ghosts", int(m.Stats().GhostPackets), 0)
			}
		})
	}
}

// A task of another job, partition, instance or round, or at another address, gets no session and
// no message through.
func TestStrangers(t *testing.T) {
	for name, set := range map[string]func(*Config){
		"key":       func(c *Config) { c.Key = []byte("other") },
		"no key":    func(c *Config) { c.Key = nil },
		"partition": func(c *Config) { c.Partition = "other" },
		"instance":  func(c *Config) { c.Instance = 2 },
		"round":     func(c *Config) { c.Round = 2 },
		"tasks":     func(c *Config) { c.NumTasks = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 2, nil)
			p.ms[0].Handle(1, func(*transport.Msg) transport.Verdict {
				t.Error("an attacker's message")
				return transport.Accept
			})
			p.ms[1].Close()
			p.ms[1] = p.machine(1, 2, func(_ int, c *Config) { set(c) })
			s := p.send(1, 0, 1, 8)
			p.pass(time.Second)
			if p.ms[0].connected(1).session.state != idle || s.done != 0 {
				t.Errorf("state %d", p.ms[0].connected(1).session.state)
			}
			if p.ms[0].Stats().GhostPackets == 0 {
				t.Error("nothing was counted")
			}
		})
	}
	p := newPair(t, 2, nil)
	p.send(1, 0, 1, 8)
	f := p.wires[1][0]
	p.hand(netip.MustParseAddrPort("10.0.0.1:100"), f)
	p.hand(netip.MustParseAddrPort("10.0.0.7:99"), f)
	p.want("ghosts from wrong addresses", int(p.ms[0].Stats().GhostPackets), 2)
	p.hand(pairAddr(1), f)
	p.want("the same from the right one", int(p.ms[0].connected(1).session.state), int(handshaking))
}

// An address that names a generation admits no other.
func TestExpectedIncarnation(t *testing.T) {
	p := newPair(t, 2, nil)
	p.ms[0].Disconnect(1, transport.ErrUnreachable)
	another := p.ms[1].cfg.Incarnation + 1
	if err := p.ms[0].Connect(1, transport.Address{
		Bytes: encodeAddress([]netip.AddrPort{pairAddr(1)}, another)}); err != nil {
		t.Fatal(err)
	}
	p.send(0, 1, 1, 8)
	p.send(1, 0, 1, 8)
	p.pass(time.Second)
	if p.ms[0].connected(1).session.state == open {
		t.Error("a session with another incarnation")
	}
}

// A task that starts again at its address is not taken for the one before, nor are late packets of
// that one taken for its own.
func TestRestart(t *testing.T) {
	p := newPair(t, 2, nil)
	got := 0
	count := func(*transport.Msg) transport.Verdict { got++; return transport.Accept }
	p.meet()
	var late []datagram
	p.lose = func(from int, b []byte) bool {
		late = append(late, datagram{pairAddr(1 - from), append([]byte(nil), b...)})
		return false
	}
	p.send(0, 1, 1, 8)
	p.send(0, 1, 1, 8)
	p.pass(10 * time.Millisecond)
	p.ms[1].Close()
	p.ms[1] = p.machine(1, 2, nil)
	p.ms[1].Handle(1, count)
	p.ms[0].Handle(1, count)
	p.lose = nil

	p.send(1, 0, 1, 8) // the other side still has the old session: nothing may come through
	p.send(0, 1, 1, 8)
	p.pass(time.Second)
	for _, f := range late {
		p.hand(pairAddr(0), f)
	}
	p.want("messages between an old and a new incarnation", got, 0)
	if p.ms[0].Stats().GhostPackets == 0 || p.ms[1].Stats().GhostPackets == 0 {
		t.Error("nothing was counted")
	}

	p.ms[0].Close()
	p.ms[0] = p.machine(0, 2, nil)
	p.ms[0].Handle(1, count)
	for _, f := range late { // while they do not know each other yet
		p.hand(pairAddr(0), f)
		p.hand(pairAddr(1), f)
	}
	p.send(0, 1, 1, 8)
	p.pass(time.Second)
	p.want("messages between new incarnations", got, 2)
	for _, f := range late { // and when they do
		p.hand(pairAddr(0), f)
	}
	p.want("messages after late packets", got, 2)
}

// A peer that never answers, or falls silent, fails after TIMEOUT, once; MP_DEBUG_NOTIMEOUT
// prevents that; TIMEOUT changes at run time.
func TestTimeout(t *testing.T) {
	for name, open := range map[string]bool{"never there": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 2, func(_ int, c *Config) { c.Timeout = 900 * time.Second })
			if open {
				p.meet()
			}
			p.ms[0].SetTimeout(20 * time.Second)
			p.lose = func(int, []byte) bool { return true }
			borrowed := p.send(0, 1, 1, 8000)
			flush := p.flush(0, 1)
			p.pass(19 * time.Second)
			if len(p.failed) != 0 || borrowed.over() || flush.over() {
				t.Fatalf("failed too early: %v", p.failed)
			}
			p.pass(4 * time.Second)
			if len(p.failed) != 1 || p.failed[0] != "1 of 0: "+transport.ErrTimeout.Error() {
				t.Errorf("PeerFailed: %q", p.failed)
			}
			if borrowed.done != 1 || flush.done != 1 || borrowed.err != transport.ErrUnreachable ||
				flush.err != transport.ErrUnreachable {
				t.Errorf("operations end with %v, %v", borrowed.err, flush.err)
			}
			if _, err := p.trySend(0, 1, 1, 8); err != transport.ErrUnreachable {
				t.Errorf("Send to a failed peer: %v", err)
			}
			p.pass(100 * time.Second)
			p.want("failures", len(p.failed), 1)
		})
	}
	p := newPair(t, 2, func(_ int, c *Config) { c.Timeout = time.Second; c.NoTimeout = true })
	got := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	p.lose = func(int, []byte) bool { return true }
	p.send(0, 1, 1, 8)
	p.pass(time.Hour)
	p.lose = nil
	p.pass(time.Second)
	p.want("failures without timeout", len(p.failed), 0)
	p.want("messages to a peer that came late", got, 1)
}

// A task that makes no call for longer than TIMEOUT does not blame its peers: their answers wait at
// its socket.
func TestOwnAbsence(t *testing.T) {
	for name, open := range map[string]bool{"greeting": false, "open": true} {
		p := newPair(t, 2, func(_ int, c *Config) { c.Timeout = 10 * time.Second })
		got := 0
		if open {
			p.meet()
		}
		p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
		p.send(0, 1, 1, 8)
		flush := p.flush(0, 1)
		p.deliver(0) // the peer answers; task 0 is away
		p.now += int64(time.Hour)
		p.ms[0].OnTimeout(p.now, true)
		p.pass(time.Second)
		if len(p.failed) != 0 || !flush.over() || got != 1 {
			t.Errorf("%s: failed: %v, %d messages", name, p.failed, got)
		}
		if r := p.ms[0].connected(1).paths.At(0).RTT().Smooth(); r > int64(rtt.Longest) {
			t.Errorf("%s: a round trip of %v", name, time.Duration(r))
		}
	}
}

// A peer that answers is not timed out, however long its handler refuses.
func TestRefusalIsNoTimeout(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.Timeout = time.Second })
	p.meet()
	offers, accept := 0, false
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict {
		if offers++; accept {
			return transport.Accept
		}
		return transport.Refuse
	})
	before := p.ms[0].Stats().RetransmittedPackets
	p.send(0, 1, 1, 8)
	for range 10 {
		p.pass(time.Second)
	}
	again := int(p.ms[0].Stats().RetransmittedPackets - before)
	p.want("offers", offers, again+1)
	if offers < 100 {
		t.Errorf("%d offers in 10 s", offers)
	}
	others := 0
	p.ms[1].Handle(2, func(*transport.Msg) transport.Verdict { others++; return transport.Accept })
	for range 300 { // others pass, many more than the window holds
		p.send(0, 1, 2, 8)
		p.settle()
	}
	p.pass(time.Millisecond)
	p.want("others", others, 300)
	accept = true
	p.pass(time.Second)
	if p.ms[0].connected(1).sender.window.Outstanding() {
		t.Error("the message does not get through when it may")
	}
	p.want("failures", len(p.failed), 0)
}

// Of messages that share a packet only the refused one is offered again.
func TestRefusalInSharedPacket(t *testing.T) {
	p := newPair(t, 2, nil)
	var got []int
	refuse := 3
	p.ms[1].Handle(1, func(m *transport.Msg) transport.Verdict {
		got = append(got, len(m.Data))
		if len(m.Data) == 3 && refuse > 0 {
			refuse--
			return transport.Refuse
		}
		return transport.Accept
	})
	for n := 1; n <= 5; n++ {
		p.send(0, 1, 1, n) // no session yet: they wait and share
	}
	flush := p.flush(0, 1)
	p.settle()
	p.want("data packets", int(p.ms[0].connected(1).paths.At(0).Transmissions()), 1)
	if flush.over() {
		t.Error("flushed although a message is refused")
	}
	p.pass(100 * time.Millisecond)
	want := []int{1, 2, 3, 4, 5, 3, 3, 3}
	if len(got) != len(want) {
		t.Fatalf("offered %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("offered %v, want %v", got, want)
		}
	}
	if !flush.over() || len(p.ms[1].connected(0).receiver.accepted) != 0 {
		t.Error("something is left over")
	}
}

// Data that cannot be read ends its own operation and harms nothing else, at once or on
// retransmission.
func TestFault(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	got := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	bad := unmapped(t)
	for _, n := range []int{8, 8000} { // copied, borrowed
		s := &sent{}
		s.op.Local = bad
		err := p.begin(0, 1, 1, n, s)
		p.settle()
		if err == nil {
			err = s.err
		}
		var fault *transport.FaultError
		if !errors.As(err, &fault) || fault.Remote || fault.Addr < bad ||
			fault.Addr >= bad+transport.Addr(n) {
			t.Errorf("%d bytes that cannot be read: %v", n, err)
		}
	}
	p.lose = func(from int, _ []byte) bool { return from == 0 }
	gone, err := syscall.Mmap(-1, 0, 8192, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	borrowed := &sent{}
	borrowed.op.Local = memory.AddrOf(gone)
	if err := p.begin(0, 1, 1, 8000, borrowed); err != nil || borrowed.status != transport.Queued {
		t.Fatalf("Send: %v, %v", borrowed.status, err)
	}
	if err := syscall.Mprotect(gone, syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(gone)
	p.send(0, 1, 1, 8)
	p.lose = nil
	p.pass(time.Second)
	var fault *transport.FaultError
	if !errors.As(borrowed.err, &fault) {
		t.Errorf("memory gone after Send: %v", borrowed.err)
	}
	p.want("good messages", got, 1)
	if w, r := &p.ms[0].connected(1).sender.window, p.ms[0].connected(1).paths.At(0); w.Outstanding() ||
		r.BytesInFlight() != 0 || w.InFlight() != 0 {
		t.Errorf("%d packets, %d bytes are still in flight", w.InFlight(), r.BytesInFlight())
	}
}

// The loss of every acknowledgement fails nobody: Bye carries them.
func TestLastAcknowledgementLost(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.Timeout = time.Second })
	p.meet()
	byes := 0
	p.lose = func(from int, b []byte) bool {
		if k, _ := wire.KindOf(b); from == 1 && k == wire.KindBye {
			byes++
			return byes < closeCount // only the last gets through
		}
		return from == 1
	}
	borrowed := p.send(0, 1, 1, 8000)
	flush := p.flush(0, 1)
	p.settle()
	p.ms[1].Leave(p.now)
	p.pass(100 * time.Millisecond)
	if !p.ms[1].Left() {
		t.Error("leaving does not end")
	}
	p.ms[1].Close()
	p.pass(10 * time.Second)
	if borrowed.done != 1 || borrowed.err != nil || flush.done != 1 || flush.err != nil ||
		len(p.failed) != 0 {
		t.Errorf("borrowed: %d %v, flush: %d %v, failed: %v", borrowed.done, borrowed.err, flush.done,
			flush.err, p.failed)
	}
}

// A peer that left in good order is no failure; messages that it did not take are dropped, and
// fail.
func TestPeerLeft(t *testing.T) {
	p := newPair(t, 2, func(_ int, c *Config) { c.Timeout = time.Second })
	p.meet()
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict {
		t.Error("a handler runs after Leave")
		return transport.Accept
	})
	borrowed := p.send(0, 1, 1, 8000)
	flush := p.flush(0, 1)
	p.ms[1].Leave(p.now)
	p.pass(10 * time.Millisecond)
	if borrowed.done != 1 || borrowed.err != transport.ErrUnreachable || flush.done != 1 ||
		flush.err != transport.ErrUnreachable {
		t.Errorf("borrowed: %d %v, flush: %d %v", borrowed.done, borrowed.err, flush.done, flush.err)
	}
	if _, err := p.trySend(0, 1, 1, 8); err != transport.ErrUnreachable {
		t.Errorf("Send: %v", err)
	}
	if s, err := p.ms[0].Flush(p.now, 1, &transport.Op{}); s != transport.Done ||
		err != transport.ErrUnreachable || !p.ms[0].HasLeft(1) {
		t.Errorf("a flush of a peer that left: %v, %v", s, err)
	}
	if _, err := p.ms[1].Send(p.now, 0, 1, nil, &transport.Op{}); err != transport.ErrUnreachable {
		t.Errorf("Send after Leave: %v", err)
	}
	if !p.ms[1].Left() {
		t.Error("an answered Bye is still repeated")
	}
	p.pass(10 * time.Second)
	p.want("failures", len(p.failed), 0)
}

// While the outlet is full nothing is lost and nothing spins.
func TestFullOutlet(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	got := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	p.full[0] = true
	for range 20 {
		p.send(0, 1, 1, 500)
	}
	if due := p.ms[0].NextTimeout(); due <= p.now {
		t.Error("a full outlet is tried without a pause")
	}
	p.pass(10 * time.Millisecond)
	p.full[0] = false
	p.pass(10 * time.Millisecond)
	p.want("messages", got, 20)
	p.want("retransmissions", int(p.ms[0].Stats().RetransmittedPackets), 0)
}

// FuzzPacket gives an open session packets with the right check and anything else: the machine
// counts or takes them, and lives. Afterwards it still works.
func FuzzPacket(f *testing.F) {
	f.Add(byte(wire.KindData), byte(0), byte(0), uint16(1), uint16(0), uint32(0), uint32(0),
		uint64(0), []byte("\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(byte(wire.KindAck), byte(1), byte(0), uint16(1), uint16(0), uint32(0), uint32(1),
		uint64(5), make([]byte, 2*wire.BlockSize))
	f.Add(byte(wire.KindData), byte(3), byte(1), uint16(5), uint16(1), uint32(511),
		uint32(0xffffffff), ^uint64(0), []byte("\x02\x00\x08\x00\x00\x00\x00\x0012345678"))
	f.Fuzz(func(t *testing.T, kind, flags, block byte, tx, echo uint16, seq, ack uint32,
		bits uint64, rest []byte) {
		p := newPair(t, 2, nil)
		p.meet()
		for range 5 {
			p.send(0, 1, 1, 200) // something to acknowledge
		}
		m, peer := p.ms[0], p.ms[0].connected(1)
		h := wire.Header{
			Kind: wire.Kind(kind & 15), Flags: wire.Flags(flags), AckBlock: uint8(block & 15),
			Task: 1, Tx: tx, Echo: uint16(peer.paths.At(0).Transmissions()) + echo,
			Seq: peer.receiver.received.Expect() + wire.Seq(seq),
			Ack: peer.sender.window.Base() + wire.Seq(ack), Bits: bits,
		}
		b := p.buffer[:wire.HeaderSize+copy(p.buffer[wire.HeaderSize:], rest)]
		h.Put(b)
		sealed(p.ms[1].connected(0).session.out, b)
		m.Handle(1, func(msg *transport.Msg) transport.Verdict {
			return transport.Verdict(len(msg.Data) & 1)
		})
		m.OnPacket(p.now, 0, pairAddr(1), b)
		m.OnPacket(p.now, 0, pairAddr(1), p.buffer[:copy(p.buffer, rest)])
		m.OnTimeout(p.now+int64(time.Second), true)
		m.Complete()
		w, bytes := &peer.sender.window, peer.paths.At(0).BytesInFlight()
		if w.InFlight() < 0 || w.LostPackets() < 0 || bytes < 0 ||
			uint32(w.End()-w.Base()) > recovery.Numbers {
			t.Errorf("the window is inconsistent: %d in flight, %d lost, %d bytes", w.InFlight(),
				w.LostPackets(), bytes)
		}
	})
}
