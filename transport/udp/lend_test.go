package udp

import (
	"testing"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

// What is lent is the rest of the packet that waits for company, of the path's size at most, and what was written there goes with it.
func TestLend(t *testing.T) {
	p, _ := newGatheringPair(t, 2, nil)
	m := p.ms[0]
	if _, n := m.Lend(1); n != 0 {
		t.Errorf("room for %d without a session", n)
	}
	p.meet()
	p.send(0, 1, 1, 8)
	p.push()
	if _, n := m.Lend(1); n != 0 {
		t.Errorf("room for %d, and no packet waits", n)
	}
	p.send(0, 1, 1, 8)
	p.send(0, 1, 1, 8)
	m.Push() // the first flies, and is not answered; these wait
	q := m.peers[1]
	if q.unsent() != 1 {
		t.Fatal("no packet waits")
	}
	tail, n := m.Lend(1)
	k := *q.slot(q.nextSeq - 1)
	if n != maxMessages-1-k.messages || len(tail) != 0 || k.n+cap(tail) != min(shareBytes, q.packetSize) {
		t.Fatalf("room for %d messages in %d bytes behind %d", n, cap(tail), k.n)
	}
	whole := q.packetSize
	q.packetSize = k.n + 100 // another path's
	if tail, _ := m.Lend(1); cap(tail) != 100 {
		t.Errorf("%d bytes where the path has 100", cap(tail))
	}
	q.packetSize = whole
	b := tail[:wire.Align8(k.n)-k.n+wire.MessageSize]
	wire.PutMessage(b[len(b)-wire.MessageSize:], 1, 0, 0)
	before := k.messages
	m.Return(1, len(b), 1, 0)
	if count, err := wire.Count(k.buf[wire.HeaderSize:k.n]); err != nil || count != before+1 || k.messages != count {
		t.Errorf("%d messages, %v; the packet says %d", count, err, k.messages)
	}
	if _, err := m.Flush(p.now, 1, &transport.Op{Done: func(*transport.Op, error) {}}); err != nil {
		t.Fatal(err)
	}
	if _, n := m.Lend(1); n != 0 {
		t.Errorf("room for %d in front of a flush", n)
	}
}
