package udp

import (
	"testing"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// TestOfferedOnce: a packet that came before the packet in front of it, and is received again, is
// not offered again, neither while that packet is missing nor later.
func TestOfferedOnce(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	calls := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { calls++; return transport.Accept })
	var kept []datagram
	p.lose = func(from int, b []byte) bool {
		kind, _ := wire.KindOf(b)
		if from == 0 && kind == wire.KindData {
			kept = append(kept, datagram{pairAddr(1), append([]byte(nil), b...)})
			return true
		}
		return false
	}
	for range 2 {
		p.send(0, 1, 1, 4000) // one packet each
		p.ms[0].Push()
	}
	p.want("packets", len(kept), 2)
	for _, i := range []int{1, 1, 0, 0, 1} {
		p.hand(pairAddr(0), kept[i])
	}
	p.want("messages", calls, 2)
	p.want("duplicates", int(p.ms[1].stats.DuplicatePackets), 3)
}

// TestFarAhead: a number further ahead than the peer may be is dropped. It would take the place of
// another, one window earlier.
func TestFarAhead(t *testing.T) {
	p := newPair(t, 2, nil)
	p.meet()
	c := &p.ms[1].connected(0).receiver
	calls := 0
	p.ms[1].Handle(1, func(*transport.Msg) transport.Verdict { calls++; return transport.Accept })
	before := c.received.Expect()
	h := wire.Header{Kind: wire.KindData, Seq: before + 1<<20,
		Ack: p.ms[1].connected(0).sender.window.Base()}
	content := make([]byte, wire.MessageSize+8)
	wire.PutMessage(content, 1, 0, 8)
	ghosts := p.ms[1].stats.GhostPackets
	c.onData(p.now, p.ms[1].connected(0).paths.At(0), &h, content)
	p.want("messages", calls, 0)
	p.want("ghosts", int(p.ms[1].stats.GhostPackets-ghosts), 1)
	if c.received.Expect() != before || c.received.Has(before) {
		t.Error("it stands for another")
	}
}
