package dat

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
)

// BindArgs are the arguments of dat_rmr_bind.
type BindArgs struct {
	LMR        Handle
	Triplet    Triplet
	Privileges Privileges
	ZeroBased  bool
	EP         Handle
	Cookie     uint64
	Flags      CompletionFlags
}

// binding is a bind from its post until it takes effect. It holds its LMR, and the context that it
// will give, which names nothing yet.
type binding struct {
	rmr     *RMR
	ep      *EP
	of      *LMR // nil: it unbinds
	triplet Triplet
	region  region
	window  *device.Window // the window that it binds; nil: none
	fresh   bool           // the window was made for it
	posted  bool           // the adapter has it
	taken   bool           // the peer has invalidated what it binds, before the bind completed
	over    bool           // it has taken effect, or never will
}

// Free is dat_rmr_free: what it was bound to is bound no more. While the adapter has a bind of its
// window, that is so when this is over.
func (m *RMR) Free() codes.Return {
	m.ia.remove(m)
	m.ia.count(iaRMRFree)
	switch {
	case m.pending == 0:
		m.end()
	case m.window == nil:
		m.unbind()
	}
	return codes.Success
}

// discard implements Object.
func (m *RMR) discard() { m.Free() }

// end releases the resources of a freed RMR.
func (m *RMR) end() {
	m.unbind()
	m.setWindow(nil)
	m.PZ.users--
}

// unbind makes the RMR's context useless.
func (m *RMR) unbind() {
	if m.LMR != nil {
		m.ia.engine.deregister(&m.region)
		m.LMR.users--
		m.LMR, m.Context = nil, 0
	}
}

// setWindow gives m another window. The previous one ends.
func (m *RMR) setWindow(w *device.Window) {
	if m.window != w {
		m.window.Close()
		m.window = w
	}
}

// boundTo is the region of a bind. Programs of DAT 1.x give none: the triplet's context names it.
func (m *RMR) boundTo(a BindArgs) (*LMR, codes.Return) {
	if a.LMR == 0 && a.Triplet.N != 0 {
		if r := m.ia.engine.find(a.Triplet.Context, false); r != nil {
			if of := r.lmr; r.rmr == nil && of.ia == m.ia {
				return of, codes.Success
			}
		}
	}
	return findIn[*LMR](m.ia, a.LMR, codes.InvalidHandleLMR, a.Triplet.N == 0)
}

// prepare makes a binding to n bytes of an LMR; 0 bytes: to none. The LMR must have what is to be
// granted.
func (m *RMR) prepare(e *EP, of *LMR, a BindArgs) (*binding, codes.Return) {
	b := &binding{rmr: m, ep: e, triplet: a.Triplet}
	if of == nil || a.Triplet.N == 0 {
		return b, m.ia.engine.promise(b)
	}
	p, has := a.Privileges, of.region.privileges
	addr, ok := of.region.in(a.Triplet.Addr, uint64(a.Triplet.N))
	if !ok || of.PZ != m.PZ || p&RemoteWrite != 0 && has&LocalWrite == 0 ||
		p&RemoteRead != 0 && has&LocalRead == 0 || p&RemoteAtomic != 0 && has&LocalWrite == 0 {
		return nil, codes.ProtectionViolation.With(codes.NoSubtype)
	}
	b.region = region{addr: uint64(addr), n: uint64(a.Triplet.N), pz: m.PZ, privileges: p,
		zeroBased: a.ZeroBased, lmr: of, rmr: m}
	b.of = of
	if r := m.ia.engine.promise(b); r != codes.Success {
		return nil, r
	}
	of.users++
	return b, codes.Success
}

// apply has a binding take effect: the earlier binding ends. False: its RMR is gone.
func (b *binding) apply() bool {
	m := b.rmr
	if m.freed {
		return false
	}
	m.unbind()
	m.setWindow(b.window)
	m.Triplet, b.over = b.triplet, true
	if b.of != nil {
		m.region, m.LMR, m.Context = b.region, b.of, b.region.keys.Remote
		m.ia.engine.grant(&m.region)
	}
	if b.taken {
		m.unbind()
	}
	return true
}

// drop is the end of a binding that has not taken effect. How much of it an adapter has done is not
// known: its window ends, and with it the earlier binding.
func (b *binding) drop() {
	if b.over {
		return
	}
	b.over = true
	m := b.rmr
	if b.window != nil && (b.posted || b.fresh) {
		if b.window == m.window {
			m.unbind()
			m.window = nil
		}
		b.window.Close()
	}
	if b.of != nil {
		if b.window == nil {
			m.ia.engine.deregister(&b.region)
		}
		b.of.users--
	}
}

// mayBind says whether a bind can be posted now.
func (e *EP) mayBind() codes.Return {
	requests, _ := e.outstanding()
	switch {
	case e.Attr.Service == ServiceUD:
		return codes.InvalidState.With(codes.InvalidStateEPNotready)
	case e.State != Connected && e.State != Disconnected && e.State != DisconnectPending:
		return codes.InvalidState.With(codes.InvalidStateEPUnconnected)
	case e.Request == nil:
		return codes.InvalidState.With(codes.InvalidStateEPEVDRequest)
	case requests >= int(e.Attr.MaxRequest):
		return codes.InsufficientResources.With(codes.ResourceTEP)
	}
	return codes.Success
}

// Bind is dat_rmr_bind. The bind takes effect, and completes, in the order of the endpoint's
// requests. Until then what was bound before stays, and the context names nothing (of an RDMA
// adapter: it may be used already).
func (m *RMR) Bind(a BindArgs) (context uint32, r codes.Return) {
	of, r := m.boundTo(a)
	if r != codes.Success {
		return 0, r
	}
	e, r := findIn[*EP](m.ia, a.EP, codes.InvalidHandleEP, false)
	if r != codes.Success {
		return 0, r
	}
	e.ia.library.nodeConns.collect()
	r = e.mayBind()
	switch {
	case r != codes.Success:
		return 0, r
	case a.Privileges&^allPrivileges != 0:
		return 0, codes.Arg(4)
	case e.PZ != m.PZ:
		return 0, codes.InvalidState.With(codes.InvalidStateEPPZ)
	}
	b, r := m.prepare(e, of, a)
	if r != codes.Success {
		return 0, r
	}
	m.last = b
	m.pending++
	p := &posted{ia: m.ia, cookie: a.Cookie, flags: a.Flags, operation: dtoBind, pz: e.PZ, bind: b,
		epoch: m.ia.freed}
	q := &rc.Request{Op: rc.Bind, Fence: a.Flags&Fence != 0, Owner: p}
	e.c.Requests++
	if e.State != Connected || !e.way.Post(q) {
		q.Status = rc.Flushed
		e.completed(q)
	}
	return b.region.keys.Remote, codes.Success
}

// bound reports a completed bind to the consumer.
func (e *EP) bound(r *rc.Request, p *posted) {
	m := p.bind.rmr
	p.bind.drop()
	if m.pending--; m.pending == 0 {
		if m.last = nil; m.freed {
			m.end()
		}
	}
	if r.Status == rc.Success && p.flags&Suppress != 0 {
		return
	}
	ev := bindEvent(m.handle, p.cookie, uint8(r.Status))
	e.Request.post(&ev)
}
