package bulk

import (
	"errors"
	"slices"
	"testing"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/registration"
	"lapi/transport/verbs/internal/wire"
)

// there is a peer with two ports, whose region has these keys.
func there(of *task, keys wire.Keys) []byte {
	of.to = wire.Address{Generation: 5, Places: make([]wire.Place, 2)}
	return of.to.EncodeKeys(&keys)
}

// byKey begins a put of b with a region's key.
func byKey(t *testing.T, p *Peer, b, key []byte) *error {
	t.Helper()
	ended := errors.New("not yet")
	st, err := p.Start(&transport.Op{Local: memory.AddrOf(b), Remote: 4096, N: uint64(len(b)),
		Key: key, Done: func(_ *transport.Op, err error) { ended = err }}, false, false)
	if st != transport.Queued || err != nil {
		t.Fatal(st, err)
	}
	return &ended
}

// moveAll has the adapters do all requests of the lanes from done on.
func moveAll(s *Set, p *Peer, of *task, done *[2]int) {
	for more := true; more; p.Pump() {
		more = false
		for i := range of.lanes {
			for q := of.queue(i); done[i] < len(q.posted); more = true {
				done[i]++
				s.Moved(&of.lanes[i], q.id(done[i]-1), ibv.Success)
			}
		}
	}
}

// TestRegionNeedsNoRequest: a put with the key of a region is RDMA alone: it asks for no key, and
// gives none back, also where it is longer than one registration.
func TestRegionNeedsNoRequest(t *testing.T) {
	s, p, of, b := newSet(t)
	s.cfg.KeyMax = 256 << 10
	ended := byKey(t, p, b, there(of, wire.Keys{7, 8}))
	if of.met != 1 {
		t.Error("nobody connects")
	}
	moveAll(s, p, of, new([2]int))
	moved := 0
	for i := range of.lanes {
		for _, w := range of.queue(i).posted {
			if moved += int(w.Segments[0].N); w.RKey != uint32(7+i) {
				t.Fatalf("lane %d with key %d", i, w.RKey)
			}
		}
	}
	if *ended != nil || len(of.said) != 0 || moved != len(b) || p.Calls() != 0 || s.Busy() {
		t.Errorf("%v; said %v, moved %d", *ended, of.said, moved)
	}
}

// TestStaleRegion: a put with a key that is not valid any more asks for one: where the peer's
// process or port is another, and where the adapter refuses it. A refused key is not tried again.
func TestStaleRegion(t *testing.T) {
	s, p, of, b := newSet(t)
	key := there(of, wire.Keys{7})
	asked := func(what string) {
		t.Helper()
		p.Pump()
		if of.said[len(of.said)-1] != wire.KindWant {
			t.Fatal(what, of.said)
		}
	}
	of.to.Generation++
	byKey(t, p, b[:4096], key)
	asked("another process")
	of.to.Generation--
	of.to.Places[0].Opened++
	byKey(t, p, b[:4096], key)
	asked("the port was opened again")
	of.to.Places[0].Opened--

	ended := byKey(t, p, b[:4096], key)
	s.Moved(&of.lanes[0], of.queue(0).id(0), ibv.RemAccessErr)
	p.Interrupted(&of.lanes[0])
	p.Pump()
	if last := of.last; of.said[len(of.said)-1] != wire.KindFinish ||
		last.Status != wire.StatusRegion || last.Ports != 1 || last.Addr != 4096 || last.N != 4096 {
		t.Fatal(of.said, last)
	}
	of.queue(0).failed, of.queue(0).posted = 0, nil
	of.answers(p, wire.KindFinished, wire.Control{Token: of.last.Token})
	asked("refused")
	of.answers(p, wire.KindGrant, wire.Control{Token: of.last.Token, Keys: wire.Keys{9}})
	done := [2]int{}
	moveAll(s, p, of, &done)
	of.answers(p, wire.KindFinished, wire.Control{Token: of.last.Token})
	if q := of.queue(0); *ended != nil || len(q.posted) != 1 || q.keyOf(0) != 9 {
		t.Fatal(*ended, q.posted)
	}
	byKey(t, p, b[:4096], key)
	asked("refused before")
}

// TestRegionInterrupted: where a request by the key of a region was lost, the put is over when the
// peer has ended that key, and not before.
func TestRegionInterrupted(t *testing.T) {
	s, p, of, b := newSet(t)
	ended := byKey(t, p, b, there(of, wire.Keys{7, 8}))
	p.Interrupted(&of.lanes[1])
	of.queue(1).failed = 1
	moveAll(s, p, of, new([2]int))
	if of.said[0] != wire.KindFinish || of.last.Ports != 2 || *ended == nil {
		t.Fatal(of.said, of.last, *ended)
	}
	of.answers(p, wire.KindFinished, wire.Control{Token: of.last.Token})
	if *ended != nil || len(of.said) != 1 || s.Busy() {
		t.Error(*ended, of.said)
	}
}

// regions is a set that keeps registrations, and how many keys its first adapter has given.
func regions(t *testing.T) (s *Set, p *Peer, of *task, b []byte, keys func() int) {
	s, p, of = newSetOf(t, registration.Config{})
	b = mapped(t, s)
	return s, p, of, b, func() int { return s.memory[0].adapter.(*fake.Device).Keys() }
}

const all = transport.AccessRead | transport.AccessWrite

// TestRegionEndsWhereRequestsWereLost: the peer is answered when nothing has the registration any
// more. Other regions and grants that share it end with it, and the owner's Deregister follows.
func TestRegionEndsWhereRequestsWereLost(t *testing.T) {
	s, p, of, b, keys := regions(t)
	at := memory.AddrOf(b)
	whole := s.Register(at, uint64(len(b)), all)
	part := s.Register(at+8192, 4096, all) // by the same registration
	if whole[0] == 0 || whole != part || keys() != 1 {
		t.Fatal(whole, part, keys())
	}
	lost := wire.Control{Addr: uint64(at), N: 4096, Ports: 3, Status: wire.StatusRegion}
	of.answers(p, wire.KindFinish, lost)
	if keys() != 0 || !slices.Equal(of.said, []wire.Kind{wire.KindFinished}) || p.granted != 0 {
		t.Errorf("%d keys, said %v", keys(), of.said)
	}
	of.answers(p, wire.KindFinish, lost) // of another operation
	if len(of.said) != 2 {
		t.Error("what has ended is not answered")
	}
	again := s.Register(at, uint64(len(b)), all)
	if again[0] == 0 || again == whole {
		t.Error(again)
	}
	of.answers(p, wire.KindWant, wire.Control{Addr: uint64(at), N: 4096, Ports: 1, Status: wire.WantWrite})
	of.answers(p, wire.KindFinish, wire.Control{Offset: of.last.Offset, Ports: 1})
	if keys() != 0 || of.said[len(of.said)-1] != wire.KindFinished {
		t.Errorf("a grant's lost request: %d keys, said %v", keys(), of.said)
	}
	for _, k := range []wire.Keys{whole, again} {
		s.Deregister(at, uint64(len(b)), k)
	}
	s.Deregister(at+8192, 4096, part)
	if len(s.regions) != 0 || s.inRegions != 0 {
		t.Error(s.regions, s.inRegions)
	}
}

// TestRegionsBounded: regions hold half of the memory that may be registered, so that transfers
// find room; a region without access for peers has no key; a port that is gone takes its keys
// along.
func TestRegionsBounded(t *testing.T) {
	s, _, _, b, keys := regions(t)
	at, n := memory.AddrOf(b), uint64(len(b))
	s.cfg.Registrations.Bytes = 2*n - 2
	if k := s.Register(at, n, all); k != (wire.Keys{}) {
		t.Error("more than half")
	}
	s.cfg.Registrations.Bytes = 2 * n
	if k := s.Register(at, n, transport.AccessAtomic); k != (wire.Keys{}) {
		t.Error("a key that nobody may use")
	}
	first, second := s.Register(at, n, all), s.Register(at, 4096, all)
	if first[0] == 0 || second != (wire.Keys{}) {
		t.Error(first, second)
	}
	s.Lose(0)
	s.Drop(0)
	s.Deregister(at, n, first)
	if keys() != 0 || s.inRegions != 0 {
		t.Error(keys(), s.inRegions)
	}
	if k := s.Register(at, n, all); k[0] != 0 || k[1] == 0 {
		t.Error("of ports that are there", k)
	}
}
