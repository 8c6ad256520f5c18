package udp

import (
	"testing"

	"lapi/transport"
	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/wire"
)

// Reserve gives the rest of the packet that waits for others, of the path's size at most, and the
// bytes written there are sent with it.
func TestReserve(t *testing.T) {
	p, _ := newGatheringPair(t, 2, nil)
	m := p.ms[0]
	if _, n := m.Reserve(1); n != 0 {
		t.Errorf("room for %d without a session", n)
	}
	p.meet()
	p.send(0, 1, 1, 8)
	p.push()
	if _, n := m.Reserve(1); n != 0 {
		t.Errorf("room for %d, and no packet waits", n)
	}
	p.send(0, 1, 1, 8)
	p.send(0, 1, 1, 8)
	m.Push() // the first flies, and is not answered; these wait
	q := m.connected(1)
	if q.sender.window.Unsent() != 1 {
		t.Fatal("no packet waits")
	}
	tail, n := m.Reserve(1)
	k := q.sender.window.Last()
	before, err := wire.Count(k.Bytes()[wire.HeaderSize:])
	if n != maxMessages-1-before || err != nil || len(tail) != 0 ||
		k.Length()+cap(tail) != min(packet.ShareBytes, q.sender.limits.size) {
		t.Fatalf("room for %d messages in %d bytes behind %d", n, cap(tail), k.Length())
	}
	whole := q.sender.limits.size
	q.sender.limits.size = k.Length() + 100 // another path's
	if tail, _ := m.Reserve(1); cap(tail) != 100 {
		t.Errorf("%d bytes where the path has 100", cap(tail))
	}
	q.sender.limits.size = whole
	b := tail[:wire.Align8(k.Length())-k.Length()+wire.MessageSize]
	wire.PutMessage(b[len(b)-wire.MessageSize:], 1, 0, 0)
	m.Commit(1, len(b), 1, 0)
	if count, err := wire.Count(k.Bytes()[wire.HeaderSize:]); err != nil || count != before+1 {
		t.Errorf("%d messages, %v", count, err)
	}
	if _, left := m.Reserve(1); left != n-1 {
		t.Errorf("then room for %d, not %d", left, n-1)
	}
	if _, err := m.Flush(p.now, 1, &transport.Op{Done: func(*transport.Op, error) {}}); err != nil {
		t.Fatal(err)
	}
	if _, n := m.Reserve(1); n != 0 {
		t.Errorf("room for %d in front of a flush", n)
	}
}
