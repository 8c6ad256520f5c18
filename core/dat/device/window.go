package device

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/ibv"
)

// Window is what opens a part of a region to peers: of the adapter's first type, which any pair of
// its zone may use, or of its second, which is the pair's that it was bound on, and which a peer's
// send can invalidate. A bind is a request of the pair, so the adapter keeps its order.
//
// A window of the second type must be free when it is bound, and whether a peer has freed it
// meanwhile cannot be known for sure. So its owner closes a bound window, and takes another,
// instead of invalidating it here: that a window is invalidated twice is an error of the queue pair,
// which soft-RoCE does not survive.
type Window struct {
	k     *Device
	w     ibv.MW      // 0: it is gone
	own   bool        // of the pair that it is bound on
	pair  *Pair       // of the newest bind
	key   uint32      // of the newest bind that has taken effect
	owner WindowOwner // while that is bound
}

// NewWindow makes a free window; own: of the second type.
func (z *Zone) NewWindow(own bool) (*Window, codes.Return) {
	w, err := z.k.d.AllocMW(z.z, own)
	if err != nil {
		return nil, codes.InsufficientResources.With(codes.ResourceMemoryRegion)
	}
	return &Window{k: z.k, w: w, own: own}, codes.Success
}

// Close ends a window. Of nil, or a second time, it does nothing.
func (w *Window) Close() {
	if w != nil && w.w != 0 {
		_ = w.k.d.DeallocMW(w.w)
		w.w = 0
	}
}

// Bound: a bind has taken effect; peers use key.
func (w *Window) Bound(key uint32, owner WindowOwner) {
	w.key, w.owner = key, owner
	w.k.windows[key] = w
}

// Unbound ends what Bound began.
func (w *Window) Unbound() {
	if w.k.windows[w.key] == w {
		delete(w.k.windows, w.key)
	}
	w.owner = nil
}

// postBind posts a bind that the adapter has a window for.
func (q *Pair) postBind(b Binding, id uint64, fence bool) error {
	r, w := b.Request(), b.Window()
	r.ID, r.MW, r.Fence = id, w.w, fence
	key, err := q.k.d.BindMW(q.qp, &r)
	if err != nil {
		return err
	}
	q.owner = q.owner || w.own
	w.pair = q
	b.Posted(key)
	return nil
}

// apply has a bind take effect, in its turn.
func (b *bind) apply() {
	switch {
	case b.r.Status == rc.Success && b.Apply(), b.r.Status == rc.Flushed:
	default:
		b.r.Status = rc.BindFailed
	}
}

// invalidated: the peer of a pair has freed the window of a key. False: there is none such.
func (q *Pair) invalidated(key uint32) bool {
	if w := q.k.windows[key]; w != nil && w.own && w.pair == q {
		w.owner.Invalidated()
		return true
	}
	for _, b := range q.binds { // the bind is complete, and that will be reported next
		if k, ok := b.Key(); ok && k == key {
			b.Invalidated()
			return true
		}
	}
	return false
}

// closeOwn ends the windows that are the pair's own: it is about to be freed.
func (q *Pair) closeOwn() {
	if !q.owner {
		return
	}
	for _, b := range q.binds {
		if b.Window() != nil && b.Window().own {
			b.Window().Close()
		}
	}
	for _, w := range q.k.windows {
		if w.pair == q && w.own {
			w.owner.Lost()
		}
	}
}
