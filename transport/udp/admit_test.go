package udp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// sealed gives b the check that its session wants, if the lengths in b let it have one.
func sealed(s *wire.Secret, b []byte) {
	defer func() { _ = recover() }() // Seal's, of a malformed packet
	s.Seal(b, nil, len(b))
}

var levels = []wire.Level{wire.LevelCookie, wire.LevelMAC, wire.LevelNone}

func atLevel(l wire.Level) func(int, *Config) { return func(_ int, c *Config) { c.Level = l } }

// TestFlippedBits: at every level a packet whose header, or a message's header, has changed on its
// way is a ghost; at mac its data may not change either. Packets lost that way are resent.
func TestFlippedBits(t *testing.T) {
	for _, level := range levels {
		t.Run(level.String(), func(t *testing.T) {
			p := newPair(t, 2, atLevel(level))
			p.meet()
			intact, got := true, 0
			p.ms[1].Handle(1, func(msg *transport.Msg) transport.Verdict {
				got++
				for i, b := range msg.Data {
					intact = intact && b == byte(i)
				}
				return transport.Accept
			})
			random := rand.New(rand.NewPCG(1, 2))
			p.lose = func(_ int, b []byte) bool {
				covered := min(len(b), wire.HeaderSize+wire.MessageSize)
				if level == wire.LevelMAC {
					covered = len(b)
				}
				if random.IntN(2) == 0 {
					bit := random.IntN(8 * covered)
					b[bit/8] ^= 1 << (bit % 8)
				}
				return false
			}
			const messages = 40
			for range messages {
				s := &sent{data: userMemory(t, 700)}
				for i := range s.data {
					s.data[i] = byte(i)
				}
				s.op.Local = memory.AddrOf(s.data)
				if err := p.begin(0, 1, 1, 700, s); err != nil {
					t.Fatal(err)
				}
				p.pass(500 * time.Millisecond)
			}
			p.lose = nil
			p.pass(time.Second)
			p.want("messages", got, messages)
			if ghosts := p.ms[1].Stats().GhostPackets; !intact || ghosts == 0 ||
				p.ms[0].connected(1).sender.window.Outstanding() {
				t.Errorf("intact: %v; %d ghosts", intact, ghosts)
			}
		})
	}
}

// TestReplay: packets of the session, given again in any order, reach no handler, and each gets one
// answer at the most.
func TestReplay(t *testing.T) {
	for _, level := range levels {
		p := newPair(t, 2, atLevel(level))
		var seen []datagram
		p.lose = func(from int, b []byte) bool {
			seen = append(seen, datagram{pairAddr(1 - from), append([]byte(nil), b...)})
			return false
		}
		p.meet()
		got := 0
		p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
		for range 20 {
			p.send(0, 1, 1, 300)
		}
		p.pass(50 * time.Millisecond)
		p.want("messages", got, 20)
		p.lose = func(int, []byte) bool { return true } // their answers go nowhere
		for i := range seen {
			f := seen[(i*7)%len(seen)]
			for j := range p.ms {
				before := p.ms[j].Stats().PacketsSent
				p.hand(pairAddr(1-j), f)
				if n := p.ms[j].Stats().PacketsSent - before; n > 1 {
					t.Errorf("%d answers to one packet", n)
				}
			}
		}
		p.lose = nil
		p.send(0, 1, 1, 300)
		p.pass(50 * time.Millisecond)
		p.want("messages after the replay", got, 21)
	}
}

// TestReflected: a task's own packets, sent back to it from the peer's address, are ghosts.
func TestReflected(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	p.send(0, 1, 1, 8)
	for _, f := range p.wires[0] {
		before := p.ms[0].Stats().GhostPackets
		p.hand(pairAddr(1), datagram{pairAddr(0), f.b})
		p.want("ghosts", int(p.ms[0].Stats().GhostPackets-before), 1)
	}
	p.want("packets", len(p.wires[0]), 1)
}

// TestDisagreement: a peer of another level or key gets no session, and the owner is notified once,
// and not at all once there is a session.
func TestDisagreement(t *testing.T) {
	for name, set := range map[string]func(*Config){
		"mac":    func(c *Config) { c.Level = wire.LevelMAC },
		"none":   func(c *Config) { c.Level = wire.LevelNone },
		"cookie": func(c *Config) { c.Key = []byte("other") },
	} {
		var told []string
		p := newPair(t, 2, func(i int, c *Config) {
			c.Disagreement = func(ep transport.Endpoint,
				theirs wire.Level) {
				told = append(told, fmt.Sprint(i, ep, theirs))
			}
			if i == 1 {
				set(c)
			}
		})
		p.send(0, 1, 1, 8)
		p.send(1, 0, 1, 8)
		p.pass(time.Second)
		ours, theirs := "0 1 "+name, "1 0 cookie"
		if len(told) != 2 || told[0] != theirs && told[1] != theirs || told[0] != ours &&
			told[1] != ours {
			t.Errorf("%s: told %q", name, told)
		}
		if p.ms[0].connected(1).session.state != handshaking ||
			p.ms[1].connected(0).session.state != handshaking {
			t.Errorf("%s: there is a session", name)
		}
	}
	told := 0
	p := newPair(t, 2, func(_ int, c *Config) {
		c.Disagreement = func(transport.Endpoint,
			wire.Level) {
			told++
		}
	})
	p.meet()
	b := make([]byte, wire.HelloSize)
	h := wire.Hello{Level: wire.LevelMAC, Task: 1, Target: 0, NumTasks: 2,
		Partition: p.ms[0].partition, Incarnation: 5, Nonce: 6}
	h.Put(b, wire.HelloKey{})
	p.hand(pairAddr(1), datagram{pairAddr(0), b})
	p.want("told of a forged Hello", told, 0)
	p.want("ghosts", int(p.ms[0].Stats().GhostPackets), 1)
}

// TestLevelMACFault: at mac borrowed data is read before it is sent; data that cannot be read ends
// the operation, not the session.
func TestLevelMACFault(t *testing.T) {
	p := newPair(t, 2, atLevel(wire.LevelMAC))
	p.meet()
	s := &sent{}
	s.op.Local = unmapped(t)
	if err := p.begin(0, 1, 1, 4096, s); err != nil || s.status != transport.Queued {
		t.Fatal(s.status, err)
	}
	p.pass(50 * time.Millisecond)
	var fault *transport.FaultError
	if s.done != 1 || !errors.As(s.err, &fault) || fault.Addr != s.op.Local {
		t.Errorf("done %d, %v", s.done, s.err)
	}
	after := p.send(0, 1, 1, 4096)
	p.pass(50 * time.Millisecond)
	if !after.over() || after.err != nil {
		t.Errorf("afterwards: %v", after.err)
	}
}

func TestLevelErrors(t *testing.T) {
	for _, c := range []Config{{NumTasks: 2, Level: wire.LevelMAC},
		{NumTasks: 2, Level: wire.LevelNone + 1, Key: []byte("k")}} {
		if _, err := NewMachine(c, nil); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("%v with a key of %d bytes: %v", c.Level, len(c.Key), err)
		}
	}
}

// TestSendingAllocatesNothing, at each level, once the session is open; borrowed data is read where it
// is.
func TestSendingAllocatesNothing(t *testing.T) {
	for _, level := range levels {
		p := newPair(t, 2, atLevel(level))
		p.meet()
		peer := p.ms[0].connected(1)
		data := userMemory(t, 4096)
		b := userMemory(t, 4096)
		peer.putHeader(b, peer.paths.At(0), wire.KindData, 0, peer.sender.window.End())
		wire.PutMessage(b[wire.HeaderSize:], 1, 8, len(data))
		head := b[:wire.HeaderSize+wire.MessageSize+8]
		if n := testing.AllocsPerRun(100, func() {
			peer.session.seal(head, memory.AddrOf(data),
				len(data))
		}); n != 0 {
			t.Errorf("%v: %v allocations", level, n)
		}
	}
}
