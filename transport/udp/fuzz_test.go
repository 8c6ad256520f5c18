package udp

import (
	"net/netip"
	"slices"
	"testing"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// FuzzAddress: an address that is accepted is written again as it was, and can be sent to.
func FuzzAddress(f *testing.F) {
	f.Add(EncodeAddress(netip.MustParseAddrPort("10.0.0.1:99")))
	f.Add(encodeAddress([]netip.AddrPort{netip.MustParseAddrPort("[fe80::1]:7"),
		netip.MustParseAddrPort("127.0.0.1:65535")}, 1))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		addrs, incarnation, err := DecodeAddress(b)
		if err != nil {
			return
		}
		if len(addrs) == 0 || len(addrs) > MaxPaths {
			t.Fatalf("%d addresses", len(addrs))
		}
		for _, a := range addrs {
			if !a.IsValid() || a.Port() == 0 || a.Addr().IsMulticast() || a.Addr().IsUnspecified() {
				t.Errorf("accepted %v", a)
			}
		}
		again, i, err := DecodeAddress(encodeAddress(addrs, incarnation))
		if err != nil || i != incarnation || len(again) != len(addrs) {
			t.Fatalf("%v becomes %v, %v", addrs, again, err)
		}
		for k := range again {
			if again[k].Port() != addrs[k].Port() ||
				again[k].Addr().Unmap() != addrs[k].Addr().Unmap() {
				t.Errorf("%v becomes %v", addrs, again)
			}
		}
	})
}

// FuzzOffPath gives a machine packets without the right check from its peer's address, at every
// level and before and after the session is open: they change nothing but the count of ghosts, and
// the session works afterwards.
func FuzzOffPath(f *testing.F) {
	header := make([]byte, wire.HeaderSize)
	for kind := wire.KindHello; kind <= wire.KindBye; kind++ {
		(&wire.Header{Kind: kind, Task: 1, Seq: firstSeq + 1, Ack: firstSeq + 1}).Put(header)
		f.Add(slices.Clone(header), true, byte(0))
	}
	hello := make([]byte, wire.HelloSize)
	(&wire.Hello{Task: 1, NumTasks: 2, Partition: wire.PartitionHash("test"), Incarnation: 1,
		Nonce: 2}).Put(hello, wire.HelloKey{})
	f.Add(hello, false, byte(1))
	f.Add(hello, true, byte(2))
	f.Fuzz(func(t *testing.T, b []byte, open bool, level byte) {
		told := 0
		p := newPair(t, 2, func(_ int, c *Config) {
			c.Level = levels[int(level)%len(levels)]
			c.Random = counter() // the same secrets in each run
			c.Disagreement = func(transport.Endpoint, wire.Level) { told++ }
		})
		m, peer := p.ms[0], p.ms[0].connected(1)
		got := 0
		m.Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
		if open {
			p.meet()
		}
		before, ghosts := summary(peer), m.stats.GhostPackets
		m.OnPacket(p.now, 0, pairAddr(1), p.buffer[:copy(p.buffer, b)])
		after := summary(peer)
		if m.stats.GhostPackets != ghosts+1 || got != 0 || len(p.wires[0]) != 0 || told != 0 &&
			(open || told > 1) {
			t.Errorf("%d ghosts, %d messages, %d answers, told %d times",
				m.stats.GhostPackets-ghosts, got, len(p.wires[0]), told)
		}
		if after != before {
			t.Errorf("the session has changed from %+v to %+v", before, after)
		}
		p.send(1, 0, 1, 8)
		p.settle()
		if got != 1 {
			t.Errorf("afterwards %d messages come through", got)
		}
	})
}

// peerSummary is what an attacker must not change.
type peerSummary struct {
	state        sessionState
	theirs       wire.Side
	in           *wire.Secret
	outstanding  bool
	base, expect wire.Seq
}

func summary(p *peer) peerSummary {
	w := &p.sender.window
	return peerSummary{p.session.state, p.session.theirs, p.session.in, w.Outstanding(), w.Base(),
		p.receiver.received.Expect()}
}

// counter is a source of random numbers that is none.
func counter() func() uint64 {
	n := uint64(0)
	return func() uint64 { n += 0x9e3779b97f4a7c15; return n }
}

// FuzzHello gives a machine Hellos with the right signature and anything in them: it takes them or
// not, and works on; a genuine Hello still opens the session afterwards, unless an earlier Hello
// signed with the key has opened another.
func FuzzHello(f *testing.F) {
	f.Add(byte(0), uint16(0), uint32(2), uint64(5), uint64(6), uint64(0), uint64(0), uint32(1<<20),
		uint32(0))
	f.Add(byte(4), uint16(0), uint32(2), uint64(5), uint64(6), uint64(1), uint64(2), uint32(0),
		uint32(7))
	f.Fuzz(func(t *testing.T, flags byte, instance uint16, tasks uint32, incarnation, nonce,
		targetIncarnation, targetNonce uint64, buffer, round uint32) {
		p := newPair(t, 2, nil)
		m, peer := p.ms[0], p.ms[0].connected(1)
		h := wire.Hello{Flags: wire.Flags(flags), Instance: instance, Task: 1, NumTasks: tasks,
			Partition: m.partition, Incarnation: incarnation, Nonce: nonce,
			TargetIncarnation: targetIncarnation ^ m.cfg.Incarnation,
			TargetNonce:       targetNonce ^ peer.session.nonce, ReceiveBuffer: buffer,
			Round: round}
		b := p.buffer[:wire.HelloSize]
		h.Put(b, wire.NewHelloKey(m.cfg.Key, m.cfg.Level, 1, 0))
		m.OnPacket(p.now, 0, pairAddr(1), b)
		fits := tasks == 2 && instance == 0 && round == 0 && incarnation != 0 && nonce != 0
		if (peer.session.state != idle) != fits {
			t.Errorf("%+v: state %d", h, peer.session.state)
		}
		if len(p.wires[0]) > 1 {
			t.Errorf("%d answers", len(p.wires[0]))
		}
		if peer.session.state != open {
			p.meet()
		} else if targetNonce != 0 || targetIncarnation != 0 {
			t.Errorf("%+v: open", h)
		}
	})
}
