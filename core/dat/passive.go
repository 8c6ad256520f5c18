package dat

import (
	"bytes"
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
)

// PSP is a public service point.
type PSP struct {
	base
	Qualifier uint64
	EVD       *EVD
	Provides  bool // it makes an endpoint for each request

	listener listening
}

// RSP is a reserved service point: it takes one request, for an endpoint that waits for it.
type RSP struct {
	base
	Qualifier uint64
	EVD       *EVD
	EP        *EP

	listener listening
}

// CR is a connection request.
type CR struct {
	base
	cm.FailureOnly
	SP       Handle
	Remote   memoryBlock // a sockaddr
	RemoteAt uint64
	Port     uint64 // of the peer
	Private  memoryBlock
	DataAt   uint64
	DataSize int

	data []byte // the data at DataAt as received: the consumer may have changed it there
	arrival
	ep   *EP  // of an RSP, or of a PSP that provides
	gone bool // the active side has given up
}

// PortOf is the port at which a qualifier is listened to. Two qualifiers may share one.
func PortOf(qualifier uint64) cm.Port {
	return cm.Port(1024 + (qualifier+1000)%(65536-1024))
}

// listen opens a qualifier. stats counts the messages there; nil: nothing does. That of an RDMA adapter
// is the adapter's address only, as rdma_cm's is: another process of this host may listen at the same
// qualifier of another adapter.
func (ia *IA) listen(qualifier uint64, service cm.Service, stats cm.Stats) (*cm.Listener,
	codes.Return) {
	l := ia.library
	ln, err := l.machine.Listen(qualifier, service, stats)
	if err != nil {
		return nil, codes.ConnQualInUse.With(codes.NoSubtype)
	}
	at := netip.Addr{}
	if _, device := ia.engine.(*deviceEngine); device {
		at = ia.Addr
	}
	if err := l.network.Listen(PortOf(qualifier), at); err != nil {
		l.machine.Unlisten(ln)
		return nil, codes.NotListening(err)
	}
	ia.count(iaCMListen)
	return ln, codes.Success
}

func (ia *IA) unlisten(ln *cm.Listener) {
	if ln != nil {
		ia.library.machine.Unlisten(ln)
		ia.library.network.Unlisten(PortOf(ln.Qualifier))
	}
}

// requestEVD is the EVD of a service point.
func (ia *IA) requestEVD(evd Handle) (*EVD, codes.Return) {
	e, r := findIn[*EVD](ia, evd, codes.InvalidHandleEVDCR, false)
	if r == codes.Success && e.Flags&EVDCR == 0 {
		r = codes.BadHandle(codes.InvalidHandleEVDCR)
	}
	return e, r
}

// NewPSP is dat_psp_create.
func (ia *IA) NewPSP(qualifier uint64, evd Handle, provides bool) (*PSP, codes.Return) {
	p, r := ia.newPSP(qualifier, evd, provides)
	if r == codes.Success {
		ia.count(iaPSPCreate)
	}
	return p, r
}

func (ia *IA) newPSP(qualifier uint64, evd Handle, provides bool) (*PSP, codes.Return) {
	e, r := ia.requestEVD(evd)
	if r != codes.Success {
		return nil, r
	}
	p := &PSP{}
	ln, r := ia.engine.listen(qualifier, p)
	if r != codes.Success {
		return nil, r
	}
	if !ia.add(KindPSP, p) {
		ln.unlisten()
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	p.Qualifier, p.EVD, p.Provides, p.listener = qualifier, e, provides, ln
	e.users++
	return p, codes.Success
}

// anyQualifiers is the first qualifier that dat_psp_create_any tries.
const anyQualifiers = 1024

// NewPSPAny is dat_psp_create_any: at a qualifier without a listener.
func (ia *IA) NewPSPAny(evd Handle, provides bool) (*PSP, codes.Return) {
	for q := uint64(anyQualifiers); q < 1<<16; q++ {
		p, r := ia.newPSP(q, evd, provides)
		if r == codes.Success {
			ia.count(iaPSPCreateAny)
		}
		if r.Type() != codes.ConnQualInUse {
			return p, r
		}
	}
	return nil, codes.ConnQualUnavailable.With(codes.NoSubtype)
}

// Free is dat_psp_free. Requests that were reported stay.
func (p *PSP) Free() codes.Return {
	p.listener.unlisten()
	p.EVD.users--
	p.ia.remove(p)
	p.ia.count(iaPSPFree)
	return codes.Success
}

// discard implements Object.
func (p *PSP) discard() { p.Free() }

// NewRSP is dat_rsp_create.
func (ia *IA) NewRSP(qualifier uint64, ep, evd Handle) (*RSP, codes.Return) {
	e, r := findIn[*EP](ia, ep, codes.InvalidHandleEP, false)
	if r != codes.Success {
		return nil, r
	}
	q, r := ia.requestEVD(evd)
	if r != codes.Success {
		return nil, r
	}
	if r = e.may(stepReserve); r != codes.Success {
		return nil, r
	}
	s := &RSP{}
	ln, r := ia.engine.listen(qualifier, s)
	if r != codes.Success {
		return nil, r
	}
	if !ia.add(KindRSP, s) {
		ln.unlisten()
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	s.Qualifier, s.EVD, s.EP, s.listener = qualifier, q, e, ln
	q.users++
	e.step(stepReserve)
	e.rsp = s
	ia.count(iaRSPCreate)
	return s, codes.Success
}

// Free is dat_rsp_free. An endpoint whose request has not arrived is free again.
func (s *RSP) Free() codes.Return {
	s.listener.unlisten()
	s.EVD.users--
	if e := s.EP; !e.freed && e.rsp == s {
		e.rsp = nil
		if e.may(stepUnreserve) == codes.Success {
			e.step(stepUnreserve)
		}
	}
	s.ia.remove(s)
	s.ia.count(iaRSPFree)
	return codes.Success
}

// discard implements Object.
func (s *RSP) discard() { s.Free() }

// Failed implements cm.Owner: the active side has given up.
func (cr *CR) Failed(*cm.Conn, cm.Reason, []byte) { cr.gone = true }

// servicePoint is a PSP or an RSP.
type servicePoint interface {
	// point is where requests are reported.
	point() (ia *IA, h Handle, evd *EVD)
	// wants says whether the service point takes a request of that service now; provide gives
	// the request its endpoint, if it has one before the program accepts. False: it cannot.
	wants(service uint8) bool
	provide(cr *CR) bool
}

func (p *PSP) point() (*IA, Handle, *EVD) { return p.ia, p.handle, p.EVD }
func (p *PSP) wants(uint8) bool           { return true }

func (p *PSP) provide(cr *CR) bool {
	if !p.Provides || cr.service != ServiceRC {
		return true
	}
	e, ok := p.ia.provide()
	if ok {
		cr.ep, e.cr = e, cr
	}
	return ok
}

func (s *RSP) point() (*IA, Handle, *EVD) { return s.ia, s.handle, s.EVD }

// wants: an RSP has one request.
func (s *RSP) wants(service uint8) bool {
	return service == ServiceRC && s.EP.may(stepRequest) == codes.Success
}

func (s *RSP) provide(cr *CR) bool {
	cr.ep = s.EP
	cr.ep.step(stepRequest)
	cr.ep.cr = cr
	return true
}

// linkService is a service point whose adapter's data goes over links.
type linkService struct{ sp servicePoint }

// Requested implements cm.Service. A group's members may connect to any service point.
func (s linkService) Requested(c *cm.Conn, private []byte) {
	if c.Service == serviceGroup {
		ia, _, _ := s.sp.point()
		ia.library.groups.requested(c, private)
		return
	}
	requested(s.sp, arrival{attempt: c, service: c.Service, local: c.Local, peer: c.Peer,
		qualifier: c.Qualifier}, private)
}

// requested: a request has arrived at a service point.
func requested(sp servicePoint, a arrival, private []byte) {
	cr := &CR{arrival: a}
	a.attempt.Own(cr)
	ia, h, evd := sp.point()
	cr.SP = h
	if !sp.wants(a.service) || !ia.add(KindCR, cr) {
		ia.turnDown(a.attempt)
		return
	}
	if !cr.take(sp, private) {
		cr.release()
		ia.turnDown(a.attempt)
		return
	}
	ia.count(iaSPCR)
	ev := cr.event(a.qualifier)
	if !evd.post(&ev) {
		ia.count(iaCMErrRejTX)
		cr.decide(nil)
	}
}

// event is the event that reports the request, at a qualifier of its service point's adapter.
func (cr *CR) event(qualifier uint64) Event {
	number := EventConnectionRequest
	if cr.service == ServiceUD {
		number = EventUDRequest
	}
	ev := requestEvent(number, cr.SP, cr.ia.address(cr.local), qualifier, cr.handle)
	if number == EventUDRequest {
		ev.extend(extUDRequest, 0, 0)
	}
	return ev
}

// turnDown rejects a request that the consumer is not notified of.
func (ia *IA) turnDown(c attempt) {
	ia.count(iaCMErrRejTX)
	_ = c.Reject(ia.library.cfg.Clock(), nil)
}

// take keeps the data of a request; false: there is no memory, or no endpoint.
func (cr *CR) take(sp servicePoint, private []byte) bool {
	var r1, r2 codes.Return
	cr.DataAt, r1 = cr.Private.keep(cr.ia, private)
	cr.DataSize, cr.data = len(private), bytes.Clone(private)
	cr.RemoteAt, r2 = cr.Remote.keep(cr.ia, sockaddr(cr.peer))
	cr.Port = uint64(cr.peer.Port())
	return r1 == codes.Success && r2 == codes.Success && sp.provide(cr)
}

// release forgets the request.
func (cr *CR) release() {
	cr.Private.release()
	cr.Remote.release()
	if cr.ep != nil {
		cr.ep.cr = nil
	}
	if !cr.freed {
		cr.ia.remove(cr)
	}
}

// LocalEP is the endpoint that waits for the request's acceptance, or 0.
func (cr *CR) LocalEP() Handle {
	if cr.ep == nil {
		return 0
	}
	return cr.ep.handle
}

// Accept is dat_cr_accept. ep is 0 for a request that has an endpoint. The request is consumed.
func (cr *CR) Accept(ep Handle, private []byte) codes.Return {
	e := cr.ep
	if ep != 0 {
		given, r := findIn[*EP](cr.ia, ep, codes.InvalidHandleEP, false)
		switch {
		case r != codes.Success:
			return r
		case e != nil && e != given:
			return codes.Arg(2)
		}
		e = given
	}
	switch {
	case e == nil:
		return codes.BadHandle(codes.InvalidHandleEP)
	case len(private) > cr.ia.limits.PrivateAccept:
		return codes.Arg(3)
	case (cr.service == ServiceUD) != (e.ud != nil):
		return codes.InvalidState.With(codes.NoSubtype)
	case e.ud == nil && (e.may(stepAccept) != codes.Success || e.State == UnconfiguredTentative):
		return codes.InvalidState.Raw() // as programs expect it
	case e.ConnectE == nil:
		return codes.InvalidState.With(codes.InvalidStateEPEVDConnect)
	}
	return cr.accept(e, private)
}

func (cr *CR) accept(e *EP, private []byte) codes.Return {
	if r := e.way.meet(cr.attempt); r != codes.Success {
		return r
	}
	if e.ud == nil {
		e.step(stepAccept)
		e.attempt, e.Local, e.Remote = cr.attempt, cr.local, cr.peer
	} else {
		e.ud.asked[cr.attempt] = cr.data
	}
	e.Qualifier, e.Active = cr.qualifier, false
	cr.attempt.Own(e)
	cr.ia.count(iaSPCRAccepted)
	gone := cr.gone
	attempt := cr.attempt
	cr.ep = nil
	e.cr = nil
	cr.release()
	if gone || attempt.Accept(e.ia.library.cfg.Clock(), private) != nil {
		e.failed(EventAcceptCompletionError, nil)
	}
	return codes.Success
}

// Reject is dat_cr_reject. The request is consumed.
func (cr *CR) Reject(private []byte) codes.Return {
	if len(private) > cr.ia.limits.PrivateReject {
		return codes.Arg(2)
	}
	cr.ia.count(iaSPCRRejected)
	cr.ia.count(iaCMUserRejTX)
	cr.decide(private)
	return codes.Success
}

// decide rejects the request.
func (cr *CR) decide(private []byte) {
	if e := cr.ep; e != nil && e.may(stepReject) == codes.Success {
		e.step(stepReject)
	}
	if !cr.gone {
		cr.attempt.Own(nil)
		_ = cr.attempt.Reject(cr.ia.library.cfg.Clock(), private)
	}
	cr.release()
}

// discard implements Object.
func (cr *CR) discard() { cr.decide(nil) }

// pspAt is the adapter's PSP at a qualifier; nil: there is none.
func (ia *IA) pspAt(qualifier uint64) *PSP {
	for _, o := range ia.objects {
		if p, ok := o.(*PSP); ok && p.Qualifier == qualifier {
			return p
		}
	}
	return nil
}

// Handoff is dat_cr_handoff: the request goes to another service point of this process.
func (cr *CR) Handoff(qualifier uint64) codes.Return {
	sp := cr.ia.pspAt(qualifier)
	if sp == nil || cr.ep != nil {
		return codes.Arg(2)
	}
	cr.SP = sp.handle
	ev := cr.event(qualifier)
	if !sp.EVD.post(&ev) {
		return codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	return codes.Success
}
