package udp

import (
	"net/netip"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

func (p *pair) reconnect(i, to int, addr netip.AddrPort) error {
	return p.ms[i].Reconnect(p.now, transport.Endpoint(to),
		transport.Address{Bytes: EncodeAddress(addr)})
}

// counted makes machine i count the messages of kind 1.
func (p *pair) counted(i int) *int {
	got := new(int)
	p.ms[i].Handle(1, func(*transport.Msg) transport.Verdict { *got++; return transport.Accept })
	return got
}

// A task that starts again, in the first round of its address while the others are in a later one,
// gets a session with each task that reconnects, whichever of the two sends first. No message of
// its former session comes through.
func TestReconnectToRestarted(t *testing.T) {
	for name, first := range map[string]int{"survivor speaks first": 0,
		"newcomer speaks first": 1} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 2, func(_ int, c *Config) { c.Round = 3 })
			p.meet()
			got := p.counted(0)
			var late []datagram
			p.lose = func(from int, b []byte) bool {
				late = append(late, datagram{pairAddr(1 - from), append([]byte(nil), b...)})
				return true
			}
			lost := p.send(0, 1, 1, 8000)
			p.send(1, 0, 1, 8)
			p.pass(time.Millisecond)
			p.lose = nil
			p.ms[1].Close()
			if err := p.reconnect(0, 1, pairAddr(1)); err != transport.ErrBusy {
				t.Errorf("Reconnect of an open session: %v", err)
			}
			p.ms[0].Disconnect(1, transport.ErrUnreachable)
			if lost.done != 1 || lost.err != transport.ErrUnreachable {
				t.Errorf("what was under way: done %d, %v", lost.done, lost.err)
			}
			p.ms[1] = p.machine(1, 2, func(_ int, c *Config) { c.Round = 1 })
			there := p.counted(1)
			if err := p.reconnect(0, 1, pairAddr(1)); err != nil {
				t.Fatal(err)
			}
			p.send(first, 1-first, 1, 8)
			p.pass(time.Second)
			p.send(1-first, first, 1, 8000)
			p.pass(time.Second)
			for _, f := range late {
				p.hand(pairAddr(0), f)
				p.hand(pairAddr(1), f)
			}
			p.pass(time.Second)
			p.want("messages to the survivor", *got, 1)
			p.want("messages to the newcomer", *there, 1)
			p.want("failures", len(p.failed), 0)
		})
	}
}

// Two that live reconnect at different times; only what is sent after the second has arrives, and
// it does.
func TestReconnectOfBoth(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	got, there := p.counted(0), p.counted(1)
	p.ms[0].Disconnect(1, transport.ErrUnreachable)
	if err := p.reconnect(0, 1, pairAddr(1)); err != nil {
		t.Fatal(err)
	}
	p.send(0, 1, 1, 8)
	p.send(1, 0, 1, 8) // of the old session
	p.pass(time.Second)
	p.want("messages between an old and a new session", *got+*there, 0)
	p.ms[1].Disconnect(0, transport.ErrUnreachable)
	if err := p.reconnect(1, 0, pairAddr(0)); err != nil {
		t.Fatal(err)
	}
	p.send(1, 0, 1, 8)
	p.pass(time.Second)
	p.want("messages to the first", *got, 1)
	p.want("messages to the second", *there, 1)
}

// A peer that was not there yet is connected at another address; the operations that wait for it go
// there, whether its Hello was received before or not.
func TestReconnectMoves(t *testing.T) {
	nowhere := netip.MustParseAddrPort("10.0.0.77:99")
	for name, greeted := range map[string]bool{"greeted": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 2, nil)
			there := p.counted(1)
			p.ms[0].Disconnect(1, transport.ErrUnreachable)
			if err := p.reconnect(0, 1, nowhere); err != nil {
				t.Fatal(err)
			}
			var waiting *sent
			if greeted {
				waiting = p.send(0, 1, 1, 8000)
				p.pass(100 * time.Millisecond)
				if waiting.over() {
					t.Fatal("sent to nobody")
				}
			}
			if err := p.reconnect(0, 1, pairAddr(1)); err != nil {
				t.Fatal(err)
			}
			if !greeted {
				waiting = p.send(0, 1, 1, 8000)
			}
			p.pass(time.Second)
			if !waiting.over() || waiting.err != nil {
				t.Errorf("what waited: over %v, %v", waiting.over(), waiting.err)
			}
			p.want("messages", *there, 1)
		})
	}
}

func TestReconnectErrors(t *testing.T) {
	p := newPair(t, 2, nil)
	for _, ep := range []transport.Endpoint{-1, 0, 2} {
		if err := p.ms[0].Reconnect(p.now, ep,
			transport.Address{Bytes: EncodeAddress(pairAddr(1))}); err == nil {
			t.Errorf("endpoint %d was reconnected", ep)
		}
	}
	if err := p.ms[0].Reconnect(p.now, 1, transport.Address{Bytes: []byte("x")}); err == nil {
		t.Error("a malformed address was taken")
	}
	p.send(0, 1, 1, 8)
	if k, _ := wire.KindOf(p.wires[0][0].b); k != wire.KindHello ||
		p.wires[0][0].to != pairAddr(1) {
		t.Error("a refused Reconnect has changed the session")
	}
	p.ms[0].Close()
	if err := p.reconnect(0, 1, pairAddr(1)); err != transport.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}
