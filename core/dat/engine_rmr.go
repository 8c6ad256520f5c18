package dat

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/transport/ibv"
)

// RMRs of an RDMA adapter. Each has a window (device.Window), of the zone's or the queue pair's own
// (RMR.ForEP). A binding that a window cannot make (fits) gets a region of its own.

func (k *deviceEngine) openRMR(m *RMR) (r codes.Return) {
	m.ForEP = m.ForEP && k.info.OwnWindows
	if m.ForEP || k.info.Windows {
		m.window, r = m.PZ.zone.NewWindow(m.ForEP)
	}
	return r
}

// promise finds what a bind binds. Binds of one RMR are in the order of one endpoint's requests: an
// adapter knows no other.
func (k *deviceEngine) promise(b *binding) (r codes.Return) {
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
	case !k.fits(b):
		return k.register(&b.region)
	case now == nil || m.ForEP && (m.LMR != nil || m.pending > 0):
		b.window, r = m.PZ.zone.NewWindow(m.ForEP)
		b.fresh = true
		return r
	default:
		b.window = now
	}
	return codes.Success
}

// fits says whether a window can be what is bound. A window of the zone names bytes
// as its region does, for InfiniBand has no others. A window of a pair may count from 0.
func (k *deviceEngine) fits(b *binding) bool {
	if b.region.zeroBased {
		return b.rmr.ForEP
	}
	return (b.rmr.ForEP || k.info.Windows) && !b.of.region.zeroBased
}

func (k *deviceEngine) grant(r *region) {
	k.name(r) // without memory for that no read of the program's goes to it
	if r.window != nil {
		r.window.Bound(r.keys.Remote, boundRMR{r.rmr})
	}
}

// boundRMR implements device.WindowOwner.
type boundRMR struct{ m *RMR }

func (b boundRMR) Invalidated() { b.m.unbind() }

func (b boundRMR) Lost() {
	b.m.unbind()
	b.m.setWindow(nil)
}

// Window implements device.Binding, as the methods below do.
func (b *binding) Window() *device.Window { return b.window }

func (b *binding) Request() (r ibv.Bind) {
	if b.of != nil {
		r.MR, r.Addr, r.N = b.of.region.of.Number(), b.of.region.as(b.region.addr), b.region.n
		r.Access, r.Zero = accessOf(b.region.privileges&^LocalWrite), b.region.zeroBased
	}
	return r
}

func (b *binding) Posted(key uint32) {
	b.posted, b.region.window = true, b.window
	if b.of != nil {
		b.region.keys = ibv.Keys{Local: b.of.region.keys.Local, Remote: key}
	}
}

func (b *binding) Key() (key uint32, ok bool) {
	return b.region.keys.Remote, b.posted && b.of != nil
}

func (b *binding) Apply() bool { return b.apply() }

func (b *binding) Invalidated() { b.taken = true }
