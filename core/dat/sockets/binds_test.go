package sockets

import (
	"testing"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// TestBindsInOrder: a bind waits for the requests before it. Until then what was bound before stays,
// also for good if the connection ends; of 0 bytes it unbinds.
func TestBindsInOrder(t *testing.T) {
	sides(t, func(t *testing.T, p, q *process) {
		const far = memorySize / 2
		w, r := q.ia.NewRMR(q.pz.Handle(), false)
		must(t, "rmr", r)
		for _, c := range []struct {
			name     string
			n        int // bytes of the second bind
			complete bool
		}{{"complete", 50, true}, {"unbind", 0, true}, {"flushed", 50, false}} {
			a, b := p.end(nil, 0), q.end(nil, 0)
			connect(t, a, b)
			bind := dat.BindArgs{LMR: q.lmr.Handle(), Triplet: q.triplet(far, 100),
				Privileges: dat.RemoteWrite, EP: b.ep.Handle(), Cookie: 8}
			before, r := w.Bind(bind)
			must(t, "bind", r)
			expect(t, b.req, dat.EventBind, p, q)
			// a send that finds no receive, and a bind behind it
			must(t, "send", b.ep.Post(dat.PostArgs{Op: rc.Send,
				Triplets: []dat.Triplet{q.triplet(0, 8)}, Cookie: 1}))
			bind.Triplet, bind.Cookie = q.triplet(far+200, c.n), 9
			after, r := w.Bind(bind)
			must(t, "bind again", r)
			if after == before || (after == 0) != (c.n == 0) {
				t.Errorf("%s: contexts %#x and %#x", c.name, before, after)
			}
			if r := q.lmr.Free(); r != codes.InvalidState.With(codes.InvalidStateLMRInUse) {
				t.Errorf("%s: the region can be freed: %#x", c.name, uint32(r))
			}
			write := dat.PostArgs{Op: rc.Write, Triplets: []dat.Triplet{p.triplet(0, 8)},
				Remote: q.triplet(far, 8)}
			write.Remote.Context = before
			must(t, "write", a.ep.Post(write))
			if ev := expect(t, a.req, dat.EventDTO, p, q); status(&ev) != 0 {
				t.Errorf("%s: before its turn: status %d", c.name, status(&ev))
			}
			if w.Context != before {
				t.Errorf("%s: it is bound by %#x, not %#x", c.name, w.Context, before)
			}
			if !c.complete {
				must(t, "disconnect", b.ep.Disconnect(false))
				for _, want := range []uint64{1, 9} {
					ev := next(t, b.req, p, q)
					if status(&ev) != 1 || cookie(&ev) != want {
						t.Errorf("%s: status %d of %d", c.name, status(&ev), cookie(&ev))
					}
				}
				if w.Context != before {
					t.Errorf("%s: a bind that was flushed has taken effect", c.name)
				}
				continue
			}
			must(t, "recv", a.ep.PostReceive([]dat.Triplet{p.triplet(64, 8)}, 2, 0))
			expect(t, b.req, dat.EventDTO, p, q)
			if ev := expect(t, b.req, dat.EventBind, p, q); status(&ev) != 0 || cookie(&ev) != 9 {
				t.Errorf("%s: status %d of %d", c.name, status(&ev), cookie(&ev))
			}
			if w.Context != after {
				t.Errorf("%s: it is bound by %#x, not %#x", c.name, w.Context, after)
			}
			if after != 0 {
				write.Remote = q.triplet(far+200, 8)
				write.Remote.Context = after
				must(t, "write", a.ep.Post(write))
				if ev := expect(t, a.req, dat.EventDTO, p, q); status(&ev) != 0 {
					t.Errorf("%s: by the new context: status %d", c.name, status(&ev))
				}
			}
			write.Remote.Context = before
			must(t, "write", a.ep.Post(write))
			if ev := expect(t, a.req, dat.EventDTO, p, q); status(&ev) != 6 {
				t.Errorf("%s: by the old context: status %d", c.name, status(&ev))
			}
		}
		must(t, "rmr_free", w.Free())
		must(t, "lmr_free", q.lmr.Free())
	})
}
