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

// Bind is dat_rmr_bind. The context is valid for the peer once the bind has completed; it
// completes in the order of the endpoint's requests.
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
	case !m.bind(of, a.Triplet, a.Privileges, a.ZeroBased):
		return 0, codes.ProtectionViolation.With(codes.NoSubtype)
	}
	p := &posted{cookie: a.Cookie, flags: a.Flags, operation: dtoBind, pz: e.PZ, bind: m,
		epoch: m.ia.freed}
	q := &rc.Request{Op: rc.Bind, Fence: a.Flags&Fence != 0, Owner: p}
	e.requests++
	if over || !e.way.Post(q) {
		q.Status = rc.Flushed
		e.completed(q)
	}
	return m.Context, codes.Success
}

// bound tells the consumer of a bind.
func (e *EP) bound(r *rc.Request, p *posted) {
	if r.Status == rc.Success && p.flags&Suppress != 0 {
		return
	}
	ev := bindEvent(p.bind.handle, p.cookie, uint8(r.Status))
	e.Request.post(&ev)
}
