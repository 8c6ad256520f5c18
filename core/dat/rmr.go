package dat

import (
	"lapi/core/dat/codes"
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
	of      *LMR // nil: it unbinds
	triplet Triplet
	region  region
	over    bool // it has taken effect, or never will
}

// Free is dat_rmr_free: what it was bound to is bound no more.
func (m *RMR) Free() codes.Return {
	m.unbind()
	m.PZ.users--
	m.ia.remove(m)
	m.ia.count(iaRMRFree)
	return codes.Success
}

// unbind makes its context useless.
func (m *RMR) unbind() {
	if m.LMR != nil {
		m.ia.engine.deregister(&m.region)
		m.LMR.users--
		m.LMR, m.Context = nil, 0
	}
}

// boundTo is the region of a bind. Programs of DAT 1.x give none: the triplet's context names it.
func (m *RMR) boundTo(a BindArgs) (*LMR, codes.Return) {
	if a.LMR == 0 && a.Triplet.N != 0 {
		if r := m.ia.engine.find(a.Triplet.Context, false); r != nil {
			if of, ok := r.owner.(*LMR); ok && of.ia == m.ia {
				return of, codes.Success
			}
		}
	}
	return findIn[*LMR](m.ia, a.LMR, codes.InvalidHandleLMR, a.Triplet.N == 0)
}

// prepare makes a binding to n bytes of an LMR; 0 bytes: to none. The LMR must have what is to be
// granted.
func (m *RMR) prepare(of *LMR, a BindArgs) (*binding, codes.Return) {
	b := &binding{rmr: m, triplet: a.Triplet}
	if of == nil || a.Triplet.N == 0 {
		return b, codes.Success
	}
	p, has := a.Privileges, of.region.privileges
	addr, ok := of.region.in(a.Triplet.Addr, uint64(a.Triplet.N))
	if !ok || of.PZ != m.PZ || p&RemoteWrite != 0 && has&LocalWrite == 0 ||
		p&RemoteRead != 0 && has&LocalRead == 0 || p&RemoteAtomic != 0 && has&LocalWrite == 0 {
		return nil, codes.ProtectionViolation.With(codes.NoSubtype)
	}
	b.region = region{addr: uint64(addr), n: uint64(a.Triplet.N), pz: m.PZ, privileges: p,
		zeroBased: a.ZeroBased, lmr: of, owner: m}
	if r := m.ia.engine.promise(&b.region); r != codes.Success {
		return nil, r
	}
	b.of = of
	of.users++
	return b, codes.Success
}

// apply has a binding take effect: what was bound before is bound no more. False: its window is
// gone.
func (b *binding) apply() bool {
	m := b.rmr
	if m.freed {
		return false
	}
	m.unbind()
	m.Triplet, b.over = b.triplet, true
	if b.of != nil {
		m.region, m.LMR, m.Context = b.region, b.of, b.region.keys.Remote
		m.ia.engine.grant(&m.region)
	}
	return true
}

// drop is the end of a binding that has not taken effect.
func (b *binding) drop() {
	if b.over {
		return
	}
	b.over = true
	if b.of != nil {
		b.rmr.ia.engine.deregister(&b.region)
		b.of.users--
	}
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
	over, r := e.mayPost()
	switch {
	case r != codes.Success:
		return 0, r
	case a.Privileges&^allPrivileges != 0:
		return 0, codes.Arg(4)
	case e.PZ != m.PZ:
		return 0, codes.InvalidState.With(codes.InvalidStateEPPZ)
	}
	b, r := m.prepare(of, a)
	if r != codes.Success {
		return 0, r
	}
	p := &posted{cookie: a.Cookie, flags: a.Flags, operation: dtoBind, pz: e.PZ, bind: b,
		epoch: m.ia.freed}
	q := &rc.Request{Op: rc.Bind, Fence: a.Flags&Fence != 0, Owner: p}
	e.requests++
	if over || !e.way.Post(q) {
		q.Status = rc.Flushed
		e.completed(q)
	}
	return b.region.keys.Remote, codes.Success
}

// Bind implements rc.Owner.
func (l *Library) Bind(_ *rc.Conn, owner any) bool { return owner.(*posted).bind.apply() }

// bound tells the consumer of a bind.
func (e *EP) bound(r *rc.Request, p *posted) {
	p.bind.drop()
	if r.Status == rc.Success && p.flags&Suppress != 0 {
		return
	}
	ev := bindEvent(p.bind.rmr.handle, p.cookie, uint8(r.Status))
	e.Request.post(&ev)
}
