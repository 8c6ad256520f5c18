package conform

import (
	"errors"

	"lapi/transport"
	"lapi/transport/memory"
)

// gathering is a link's transport.Gathering; without one the test is skipped.
func (r *run) gathering() transport.Gathering {
	r.Helper()
	g, ok := r.Nodes[0].Link.(transport.Gathering)
	if !ok {
		r.Skip("the link lacks transport.Gathering")
	}
	return g
}

// maker is a Gatherer that writes the pattern of seed, or fails.
type maker struct {
	seed  uint64
	err   error
	calls int
	room  int // bytes it was last given
	odd   bool
}

func (m *maker) Gather(dst []byte) error {
	m.calls++
	m.room = len(dst)
	m.odd = m.odd || memory.AddrOf(dst)%8 != 0
	fill(dst, m.seed) // the half of it, if it fails: nobody may see that
	return m.err
}

// testGatherSizes sends messages of every length that may be, the last byte of the longest
// included.
func testGatherSizes(r *run) {
	g, ep := r.gathering(), r.target()
	limits := r.Nodes[0].Link.Limits()
	for _, header := range []int{0, 8, 64, limits.HeaderMax} {
		for _, n := range append(dataSizes(g.GatherMax(ep)), limits.SendMax-header,
			limits.SendMax-header+1) {
			if n > g.GatherMax(ep) {
				continue
			}
			seed, got := uint64(header)<<32|uint64(n), 0
			r.handle(ep, 2, func(m *transport.Msg) transport.Verdict {
				got++
				if m.From != 0 || len(m.Hdr) != header || len(m.Data) != n ||
					!filled(m.Hdr, seed) || !filled(m.Data, seed+1) {
					r.Errorf("%d + %d bytes arrive damaged", header, n)
				}
				clear(m.Hdr) // both may be written
				clear(m.Data)
				return transport.Accept
			})
			hdr := make([]byte, header)
			fill(hdr, seed)
			from := &maker{seed: seed + 1}
			if err := g.SendGathered(ep, 2, hdr, uint64(n), from); err != nil {
				r.Fatalf("%d + %d bytes: %v", header, n, err)
			}
			clear(hdr)
			if want := min(n, 1); from.calls != want || n > 0 && from.room != n || from.odd {
				r.Errorf("%d bytes were gathered by %d calls, of %d bytes; not 8-aligned: %v",
					n, from.calls, from.room, from.odd)
			}
			r.until("arrival", func() bool { return got > 0 })
			r.turns(3)
			if got != 1 {
				r.Errorf("%d + %d bytes arrived %d times", header, n, got)
			}
		}
	}
}

// testGatherErrors: over a limit the maker is not called; a message that it cannot make does not
// arrive, and the next messages do.
func testGatherErrors(r *run) {
	g, ep := r.gathering(), r.target()
	limits, got := r.Nodes[0].Link.Limits(), 0
	for id := transport.MsgID(1); id < EmulRequest; id++ {
		r.handle(ep, id, func(*transport.Msg) transport.Verdict { got++; return transport.Accept })
	}
	most := uint64(g.GatherMax(ep))
	for _, c := range []struct {
		what   string
		ep     transport.Endpoint
		id     transport.MsgID
		header int
		n      uint64
		want   error
	}{
		{"data over GatherMax", ep, 2, 0, max(most, uint64(limits.SendMax)) + 1,
			transport.ErrBadParam},
		{"a length that wraps", ep, 2, 8, ^uint64(0) - 3, transport.ErrBadParam},
		{"header over HeaderMax", ep, 2, limits.HeaderMax + 8, most, transport.ErrBadParam},
		{"header not in eights", ep, 2, 12, most, transport.ErrBadParam},
		{"the link's own kind", ep, 0, 0, most, transport.ErrBadParam},
		{"kind over MaxMsgID", ep, transport.MaxMsgID + 1, 0, most, transport.ErrBadParam},
		{"nobody", 100, 2, 0, most, transport.ErrUnreachable},
	} {
		from := new(maker)
		r.wantError(c.what, g.SendGathered(c.ep, c.id, make([]byte, c.header), c.n, from), c.want)
		if from.calls > 0 {
			r.Errorf("%s: the maker was asked", c.what)
		}
	}
	failed := errors.New("no such data")
	for i := range 100 { // more than there can be under way at once
		n := most
		if i%2 == 0 {
			n = 1
		}
		r.wantError("a maker that fails", g.SendGathered(ep, 2, nil, n, &maker{err: failed}),
			failed)
	}
	r.turns(100)
	if got > 0 {
		r.Errorf("%d messages arrived that were not sent", got)
	}
	if err := g.SendGathered(ep, 2, nil, most, new(maker)); err != nil {
		r.Error(err)
	}
	r.until("a message after errors", func() bool { return got == 1 })
}

// testGatherUntilBusy sends long messages and short ones between them until there is no room,
// several times; the handler refuses some of the first offers. All arrive as they were sent, once.
func testGatherUntilBusy(r *run) {
	g, ep := r.gathering(), r.target()
	accepted, offers := map[uint64]int{}, 0
	r.handle(ep, 5, func(m *transport.Msg) transport.Verdict {
		i := unword(m.Hdr)
		if !filled(m.Data, i) {
			r.Fatalf("message %d arrives damaged", i)
		}
		if offers++; offers%3 == 0 {
			return transport.Refuse
		}
		accepted[i]++
		return transport.Accept
	})
	var next uint64
	for round := range 20 {
		busy := false
		for !busy {
			n := g.GatherMax(ep)
			if next%4 == 3 || round%5 == 4 {
				n = 100
			}
			err := g.SendGathered(ep, 5, word(next), uint64(n), &maker{seed: next})
			if busy = err == transport.ErrBusy; err != nil && !busy {
				r.Fatal(err)
			}
			if !busy {
				next++
			}
		}
		for range round {
			r.step()
		}
	}
	r.until("all messages", func() bool { return len(accepted) == int(next) })
	r.turns(100)
	for i, n := range accepted {
		if n != 1 {
			r.Fatalf("message %d was accepted %d times", i, n)
		}
	}
	r.Logf("%d messages", next)
}
