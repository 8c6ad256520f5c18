package bulk

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/wire"
)

// ranges cuts b into count ranges of n bytes with a gap of one.
func ranges(b []byte, n, count int) (list []transport.Range) {
	for i := range count {
		list = append(list, transport.Range{Addr: memory.AddrOf(b[i*(n+1):]), N: uint64(n)})
	}
	return list
}

// keysFor are keys for as many ranges, of the ports in ports: 10 * range + port + 1.
func keysFor(n int, ports uint32) (b []byte) {
	for i := range n {
		for p := range uint32(wire.PortsMax) {
			if ports&(1<<p) != 0 {
				b = wire.AppendKey(b, uint32(10*i)+p+1)
			}
		}
	}
	return b
}

// carry makes the requests that were posted from number first on, as an adapter would, where each
// key is for its range alone, and ends them.
func carry(t *testing.T, s *Set, of *task, lane, first int, far []transport.Range) {
	t.Helper()
	q := of.queue(lane)
	for i := first; i < len(q.posted); i++ {
		w := q.posted[i]
		r := far[(w.RKey-1)/10]
		if uint64(r.Addr) > w.RemoteAddr || w.RemoteAddr >= uint64(r.Addr)+r.N {
			t.Fatalf("the request at %#x has the key of %#x", w.RemoteAddr, r.Addr)
		}
		if len(w.Segments) == 0 || len(w.Segments) > segmentsMax {
			t.Fatalf("%d segments", len(w.Segments))
		}
		at := w.RemoteAddr
		for _, g := range w.Segments {
			if at+uint64(g.N) > uint64(r.Addr)+r.N {
				t.Fatal("a request goes beyond its range")
			}
			from, to := g.Addr, at
			if w.Op == ibv.OpRead {
				from, to = to, from
			}
			copy(memory.Bytes(transport.Addr(to), uint64(g.N)),
				memory.Bytes(transport.Addr(from), uint64(g.N)))
			at += uint64(g.N)
		}
		s.Moved(&of.lanes[lane], w.ID, ibv.Success)
	}
}

// TestLists: lists that are cut differently at the two sides are moved in rounds, each byte to its
// place, by keys of each range; then the owner's Done.
func TestLists(t *testing.T) {
	for _, c := range []struct{ here, n, there, m int }{{1, 4000, 10, 400}, {10, 400, 1, 4000},
		{200, 30, 60, 100}, {60, 100, 200, 30}, {150, 40, 150, 40}, {3, 100_000, 4, 75_000}} {
		for _, get := range []bool{false, true} {
			s, p, of, b := newSet(t)
			of.queue(1).failed = 1 // one lane is enough
			random := rand.NewChaCha8([32]byte{1})
			_, _ = random.Read(b)
			here, there := ranges(b, c.n, c.here), ranges(b[1<<19:], c.m, c.there)
			from, to := here, there
			if get {
				from, to = there, here
			}
			want := contents(from)
			ended := errors.New("not yet")
			op := &transport.VectorOp{Get: get, Here: here, There: there, Notices: true,
				Op: transport.Op{Notice: transport.Notice{1, 2},
					Done: func(_ *transport.Op, err error) { ended = err }}}
			if err := p.StartList(op); err != nil {
				t.Fatal(err)
			}
			notices := 0
			for rounds := 0; ended != nil; rounds++ {
				if rounds > 10 || of.said[len(of.said)-1] != wire.KindWants {
					t.Fatal(rounds, of.said)
				}
				var far []transport.Range
				for d := of.data; len(d) > 0; d = d[wire.RangeSize:] {
					a, n := wire.Range(d)
					far = append(far, transport.Range{Addr: transport.Addr(a), N: n})
				}
				if len(far) > wire.RangesMax || transport.Sum(far) != of.last.N {
					t.Fatalf("%d ranges of %d bytes, not %d", len(far), transport.Sum(far), of.last.N)
				}
				first := len(of.queue(0).posted)
				of.answersWith(p, wire.KindGrants, wire.Control{Token: of.last.Token, Ports: 1},
					keysFor(len(far), 1))
				for of.said[len(of.said)-1] != wire.KindFinish {
					next := len(of.queue(0).posted)
					if next == first {
						t.Fatal("nothing is posted", of.said)
					}
					carry(t, s, of, 0, first, far)
					first = next
					p.Pump()
				}
				if of.last.Status == wire.StatusNoticedLast {
					notices++
				}
				of.answers(p, wire.KindFinished, wire.Control{Token: of.last.Token})
			}
			if !bytes.Equal(contents(to), want) || notices != 1 || s.Busy() || s.Moving() != 0 {
				t.Errorf("%+v, get %v: damaged, or %d notices", c, get, notices)
			}
		}
	}
}

func contents(list []transport.Range) (b []byte) {
	for _, r := range list {
		b = append(b, memory.Bytes(r.Addr, r.N)...)
	}
	return b
}

// TestListsAreTheOwnersToSend: without keys, without registration, or when an adapter refuses a
// request, the owner sends the data, after the keys were given back.
func TestListsAreTheOwnersToSend(t *testing.T) {
	begin := func(b []byte) (*Set, *Peer, *task, *error, *transport.VectorOp) {
		s, p, of, memory := newSet(t)
		ended := errors.New("not yet")
		if b == nil {
			b = memory
		}
		return s, p, of, &ended, &transport.VectorOp{Here: ranges(b, 100, 2),
			There: ranges(memory[1<<16:], 100, 2),
			Op:    transport.Op{Done: func(_ *transport.Op, err error) { ended = err }}}
	}
	for name, grant := range map[string]struct {
		wire.Control
		keys []byte
	}{
		"refused":     {wire.Control{Status: wire.StatusRefused}, nil},
		"fewer":       {wire.Control{Ports: 1}, keysFor(1, 1)},
		"more":        {wire.Control{Ports: 1}, keysFor(3, 1)},
		"other ports": {wire.Control{Ports: 1 << 5}, keysFor(2, 1<<5)},
		"no ports":    {wire.Control{}, nil},
	} {
		s, p, of, ended, op := begin(nil)
		if err := p.StartList(op); err != nil {
			t.Fatal(err)
		}
		grant.Token = of.last.Token
		of.answersWith(p, wire.KindGrants, grant.Control, grant.keys)
		if *ended != transport.ErrNotSupported || s.Busy() {
			t.Errorf("keys %s: %v", name, *ended)
		}
	}
	s, p, of, ended, op := begin(nil)
	if err := p.StartList(op); err != nil {
		t.Fatal(err)
	}
	of.answersWith(p, wire.KindGrants, wire.Control{Token: of.last.Token, Ports: 3}, keysFor(2, 3))
	for lane := range of.lanes {
		for _, w := range of.queue(lane).posted {
			s.Moved(&of.lanes[lane], w.ID, ibv.RemAccessErr)
		}
	}
	if p.Pump(); of.said[len(of.said)-1] != wire.KindFinish || *ended == transport.ErrNotSupported {
		t.Fatal(of.said, *ended)
	}
	of.answers(p, wire.KindFinished, wire.Control{Token: of.last.Token})
	if *ended != transport.ErrNotSupported {
		t.Error(*ended)
	}
	_, p, _, _, op = begin(make([]byte, 1<<12))
	op.Here[1].Addr = 4096
	if err := p.StartList(op); err != transport.ErrNotSupported || p.Calls() != 0 {
		t.Errorf("memory that is not there: %v", err)
	}
	op.Here[1].N--
	if err := p.StartList(op); err != transport.ErrBadParam {
		t.Errorf("lists of different lengths: %v", err)
	}
}

// TestGrantsForLists: a port has keys for all ranges or for none; a peer has as many as it may, and
// gives them back; keys of another peer's grant are not sent.
func TestGrantsForLists(t *testing.T) {
	s, p, of, b := newSet(t)
	want := func(list []transport.Range) wire.Control {
		var data [wire.RangesMax * wire.RangeSize]byte
		for i, r := range list {
			wire.PutRange(data[i*wire.RangeSize:], uint64(r.Addr), r.N)
		}
		of.answersWith(p, wire.KindWants, wire.Control{Ports: 3, Status: wire.WantWrite},
			data[:len(list)*wire.RangeSize])
		return of.last
	}
	all := ranges(b, 100, wire.RangesMax)
	g := want(all)
	if g.Status != wire.StatusOK || g.Ports != 3 || len(of.data) != 8*wire.RangesMax ||
		p.regions != 2*wire.RangesMax {
		t.Fatalf("%+v, %d bytes of keys, %d regions", g, len(of.data), p.regions)
	}
	first := wire.KeysOf(of.data, 3)
	if first[0] == 0 || first[1] == 0 || first == wire.KeysOf(of.data[8:], 3) {
		t.Error(first)
	}
	bad := append(ranges(b, 100, 3), transport.Range{Addr: 4096, N: 1})
	if g := want(bad); g.Status != wire.StatusRefused || len(of.data) != 0 {
		t.Errorf("a range that is not there: %+v", g)
	}
	names := []uint64{g.Offset}
	for range 100 {
		if g := want(all); g.Status == wire.StatusOK {
			names = append(names, g.Offset)
		}
	}
	if p.regions > grantedMax || len(names) != grantedMax/(2*wire.RangesMax) {
		t.Errorf("%d regions by %d grants", p.regions, len(names))
	}
	of.full = true
	of.answersWith(p, wire.KindWants, wire.Control{Ports: 3}, make([]byte, wire.RangeSize))
	for _, name := range names {
		of.answers(p, wire.KindFinish, wire.Control{Offset: name})
	}
	if p.regions != 0 || p.granted != 0 {
		t.Errorf("%d regions by %d grants are left", p.regions, p.granted)
	}
	of.full = false
	p.owed = append(p.owed, reply{kind: wire.KindGrants, Control: wire.Control{Offset: names[0]}})
	if p.Pay(); of.last.Status != wire.StatusRefused || len(of.data) != 0 {
		t.Errorf("keys of a grant that is over: %+v", of.last)
	}
	want(all)
	other := new(Peer) // it knows the name of a grant, which is the first peer's now
	other.Init(s, of)
	other.owed = append(other.owed, reply{kind: wire.KindGrants, Control: wire.Control{Offset: of.last.Offset}})
	if other.Pay(); of.last.Status != wire.StatusRefused || len(of.data) != 0 {
		t.Errorf("keys of another peer's grant: %+v", of.last)
	}
	s.Drop(1) // one adapter goes
	if p.regions != wire.RangesMax {
		t.Errorf("%d regions with one adapter", p.regions)
	}
	if p.End(transport.ErrUnreachable); p.regions != 0 {
		t.Errorf("%d regions after the end", p.regions)
	}
}

// FuzzTake gives a peer that has a list under way, and keys, packets that the link has found good.
func FuzzTake(f *testing.F) {
	f.Add(uint8(wire.KindWants), make([]byte, wire.ControlSize), make([]byte, 2*wire.RangeSize))
	f.Add(uint8(wire.KindGrants), make([]byte, wire.ControlSize), keysFor(2, 3))
	f.Add(uint8(wire.KindFinish), make([]byte, wire.ControlSize), []byte{})
	memory.Guard()
	b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, k uint8, header, data []byte) {
		s, p, _ := newSetOf(t, nothingKept)
		var packet [wire.HeadSize]byte
		h := wire.Head{Kind: wire.Kind(k), Header: uint16(len(header)), Data: uint32(len(data))}
		h.Encode(packet[:])
		kind := wire.Kind(k)
		if kind <= wire.KindMessage || kind == wire.KindPut || kind == wire.KindAsk ||
			len(header) > wire.GrantSize || len(data) > wire.ListMax ||
			!h.Decode(append(append(packet[:], header...), data...)) {
			return
		}
		op := &transport.VectorOp{Here: ranges(b, 100, 2), There: ranges(b[1<<16:], 100, 2),
			Op: transport.Op{Done: func(*transport.Op, error) {}}}
		if err := p.StartList(op); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			switch kind {
			case wire.KindWant, wire.KindGrant, wire.KindFinish, wire.KindFinished,
				wire.KindPutDone, wire.KindWants, wire.KindGrants:
				p.Take(kind, header, data)
			}
		}
		if p.regions > grantedMax || len(s.grants) > CallsMax {
			t.Errorf("%d regions, %d grants", p.regions, len(s.grants))
		}
		p.End(transport.ErrUnreachable)
		if s.Busy() || p.regions != 0 || p.granted != 0 {
			t.Error("something is left")
		}
		s.Close()
	})
}
