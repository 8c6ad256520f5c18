package dat

import (
	"lapi/core/dat/adapter"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// RMRs of an RDMA adapter. Each has a window: of the adapter's first type, which any queue pair of
// the zone may use, or of its second, which is the queue pair's that it was bound on, and which a
// peer's send can invalidate (RMR.ForEP). A bind is a request of the queue pair, so the adapter
// keeps its order.
//
// A window of the second type must be free when it is bound, and whether a peer has freed it
// meanwhile cannot be known for sure. So one that is bound gives its place to another, and ends,
// instead of being invalidated here: that a window is invalidated twice is an error of the queue
// pair, and one that soft-RoCE does not survive.
//
// What a window cannot be, an RMR that counts addresses from 0, or one of such an LMR, is a region
// of its own.

func (k *device) newWindow(m *RMR) (*window, codes.Return) {
	w, err := k.d.NewWindow(m.PZ.zone, m.ForEP)
	if err != nil {
		return nil, codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	return &window{w, m.ForEP}, codes.Success
}

func (k *device) openRMR(m *RMR) (r codes.Return) {
	m.ForEP = m.ForEP && k.info.OwnWindows
	if m.ForEP || k.info.Windows {
		m.window, r = k.newWindow(m)
	}
	return r
}

func (k *device) closeWindow(w *window) {
	if w != nil && w.w != 0 {
		_ = k.d.FreeWindow(w.w)
		w.w = 0
	}
}

// promise finds what a bind binds. Binds of one RMR are in the order of one endpoint's requests: an
// adapter knows no other.
func (k *device) promise(b *binding) (r codes.Return) {
	m, now := b.rmr, b.rmr.window
	if m.pending > 0 {
		if now = m.last.window; m.last.ep != b.ep {
			return codes.InvalidState.With(codes.NoSubtype)
		}
	}
	switch {
	case b.of == nil && (m.ForEP || now == nil): // its turn comes, and the window ends
	case b.of == nil:
		b.window = now
	case !m.ForEP && !k.info.Windows || b.region.zeroBased || b.of.region.zeroBased:
		return k.register(&b.region)
	case now == nil || m.ForEP && (m.LMR != nil || m.pending > 0):
		b.window, r = k.newWindow(m)
		b.fresh = true
		return r
	default:
		b.window = now
	}
	return codes.Success
}

func (k *device) grant(r *region) { k.windows[r.keys.Remote] = r }

// postBind posts a bind that the adapter has a window for.
func (q *pair) postBind(b *binding, id uint64, fence bool) error {
	w := adapter.Bind{ID: id, Window: b.window.w, Fence: fence}
	if b.of != nil {
		w.Region, w.Addr, w.N = b.of.region.of, b.region.addr, b.region.n
		w.Access = accessOf(b.region.privileges)
	}
	key, err := q.k.d.Bind(q.qp, &w)
	if err != nil {
		return err
	}
	b.posted, q.owner = true, q.owner || b.window.own
	b.region.window, b.region.pair = b.window, q
	if b.of != nil {
		b.region.keys = adapter.Keys{Local: b.of.region.keys.Local, Remote: key}
	}
	return nil
}

// bound has a bind take effect whose turn it is.
func bound(r *rc.Request) {
	switch b := r.Owner.(*posted).bind; {
	case r.Status == rc.Success && b.apply(), r.Status == rc.Flushed:
	default:
		r.Status = rc.BindFailed
	}
}

// invalidated is told that the peer of a queue pair has freed the window of a key. False: it is
// none.
func (q *pair) invalidated(key uint32) bool {
	if r := q.k.windows[key]; r != nil && r.window != nil && r.window.own && r.pair == q {
		r.owner.(*RMR).unbind()
		return true
	}
	for _, r := range q.requests { // the bind is complete, and that will be told next
		p, is := r.Owner.(*posted)
		if is && p.bind != nil && p.bind.posted && p.bind.of != nil &&
			p.bind.region.keys.Remote == key {
			p.bind.taken = true
			return true
		}
	}
	return false
}

// closeOwn ends the windows that are the queue pair's own: it is about to be freed.
func (q *pair) closeOwn() {
	if !q.owner {
		return
	}
	for _, r := range q.requests {
		p, is := r.Owner.(*posted)
		if is && p.bind != nil && p.bind.window != nil && p.bind.window.own {
			q.k.closeWindow(p.bind.window)
		}
	}
	for _, r := range q.k.windows {
		if r.pair == q && r.window.own {
			m := r.owner.(*RMR)
			m.unbind()
			m.setWindow(nil)
		}
	}
}
