package dat

import (
	"bytes"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
)

// PSP is a public service point.
type PSP struct {
	base
	Qualifier uint64
	EVD       *EVD
	Provides  bool // it makes an endpoint for each request

	listener *cm.Listener
}

// RSP is a reserved service point: it takes one request, for an endpoint that waits for it.
type RSP struct {
	base
	Qualifier uint64
	EVD       *EVD
	EP        *EP

	listener *cm.Listener
}

// CR is a connection request.
type CR struct {
	base
	SP       Handle
	Remote   memoryBlock // a sockaddr
	RemoteAt uint64
	Port     uint64 // of the peer
	Private  memoryBlock
	DataAt   uint64
	DataSize int

	data    []byte // what DataAt showed the consumer, who may have changed it there
	attempt *cm.Conn
	ep      *EP  // of an RSP, or of a PSP that provides
	gone    bool // the active side has given up
}

// listen opens a qualifier.
func (ia *IA) listen(qualifier uint64, owner any) (*cm.Listener, codes.Return) {
	l := ia.library
	ln, err := l.machine.Listen(qualifier, owner)
	if err != nil {
		return nil, codes.ConnQualInUse.With(codes.NoSubtype)
	}
	if err := l.network.Listen(PortOf(qualifier)); err != nil {
		l.machine.Unlisten(ln)
		return nil, codes.ConnQualInUse.With(codes.NoSubtype)
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
	ln, r := ia.listen(qualifier, p)
	if r != codes.Success {
		return nil, r
	}
	if !ia.add(KindPSP, p) {
		ia.unlisten(ln)
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	p.Qualifier, p.EVD, p.Provides, p.listener = qualifier, e, provides, ln
	e.users++
	return p, codes.Success
}

// anyQualifiers is where dat_psp_create_any begins to look.
const anyQualifiers = 1024

// NewPSPAny is dat_psp_create_any: at a qualifier that nobody listens at.
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

// Free is dat_psp_free. Requests that were told stay.
func (p *PSP) Free() codes.Return {
	p.ia.unlisten(p.listener)
	p.EVD.users--
	p.ia.remove(p)
	p.ia.count(iaPSPFree)
	return codes.Success
}

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
	ln, r := ia.listen(qualifier, s)
	if r != codes.Success {
		return nil, r
	}
	if !ia.add(KindRSP, s) {
		ia.unlisten(ln)
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	s.Qualifier, s.EVD, s.EP, s.listener = qualifier, q, e, ln
	q.users++
	e.step(stepReserve)
	e.rsp = s
	ia.count(iaRSPCreate)
	return s, codes.Success
}

// Free is dat_rsp_free. An endpoint whose request has not come is free again.
func (s *RSP) Free() codes.Return {
	s.ia.unlisten(s.listener)
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

// Requested implements cm.Owner.
func (l *Library) Requested(c *cm.Conn, private []byte) {
	ln := l.machine.Listener(c.Qualifier)
	if ln == nil {
		c.Close()
		return
	}
	if _, member := ln.Owner.(*Member); member || c.Service == serviceGroup {
		l.requestedMember(c, private)
		return
	}
	cr := &CR{attempt: c}
	c.Owner = cr
	var evd *EVD
	var ia *IA
	switch sp := ln.Owner.(type) {
	case *PSP:
		evd, ia, cr.SP = sp.EVD, sp.ia, sp.handle
	case *RSP:
		evd, ia, cr.SP = sp.EVD, sp.ia, sp.handle
		if c.Service != ServiceRC || sp.EP.may(stepRequest) != codes.Success {
			ia.turnDown(c) // it has had its one request
			return
		}
	}
	sp := cr.SP
	if !ia.add(KindCR, cr) {
		ia.turnDown(c)
		return
	}
	cr.SP, cr.attempt = sp, c
	if !cr.take(ln, c, private) {
		cr.release()
		ia.turnDown(c)
		return
	}
	ia.count(iaSPCR)
	number := EventConnectionRequest
	if c.Service == ServiceUD {
		number = EventUDRequest
	}
	ev := requestEvent(number, cr.SP, ia.address(c.Local), c.Qualifier, cr.handle)
	if number == EventUDRequest {
		ev.extend(extUDRequest, 0, 0)
	}
	if !evd.post(&ev) {
		ia.count(iaCMErrRejTX)
		cr.decide(nil)
	}
}

// turnDown rejects a request that the consumer does not hear of.
func (ia *IA) turnDown(c *cm.Conn) {
	ia.count(iaCMErrRejTX)
	_ = c.Reject(ia.library.cfg.Clock(), nil)
}

// take keeps what a request has brought; false: it cannot be taken.
func (cr *CR) take(ln *cm.Listener, c *cm.Conn, private []byte) bool {
	var r1, r2 codes.Return
	cr.DataAt, r1 = cr.Private.keep(cr.ia, private)
	cr.DataSize, cr.data = len(private), bytes.Clone(private)
	cr.RemoteAt, r2 = cr.Remote.keep(cr.ia, sockaddr(c.Peer))
	cr.Port = uint64(c.Peer.Port())
	if r1 != codes.Success || r2 != codes.Success {
		return false
	}
	switch sp := ln.Owner.(type) {
	case *RSP:
		cr.ep = sp.EP
		cr.ep.step(stepRequest)
		cr.ep.cr = cr
	case *PSP:
		if sp.Provides && c.Service == ServiceRC {
			e, ok := cr.ia.provide()
			if !ok {
				return false
			}
			cr.ep, e.cr = e, cr
		}
	}
	return true
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
	case len(private) > PrivateMax:
		return codes.Arg(3)
	case (cr.attempt.Service == ServiceUD) != (e.ud != nil):
		return codes.InvalidState.With(codes.NoSubtype)
	case e.ud == nil && (e.may(stepAccept) != codes.Success || e.State == UnconfiguredTentative):
		return codes.InvalidState.Raw() // as programs expect it
	case e.ConnectE == nil:
		return codes.InvalidState.With(codes.InvalidStateEPEVDConnect)
	}
	return cr.accept(e, private)
}

func (cr *CR) accept(e *EP, private []byte) codes.Return {
	l := cr.ia.library
	d, err := l.dataLinkAt(cr.attempt.Local)
	if err != nil {
		return codes.InsufficientResources.With(codes.ResourceDevice)
	}
	theirs := readCard(&cr.attempt.PeerCard)
	p := l.findPeer(d, &theirs, cr.attempt.Pair)
	if p == nil {
		return codes.InsufficientResources.With(codes.ResourceDevice)
	}
	if e.ud == nil {
		e.step(stepAccept)
		e.attempt, e.Local, e.Remote = cr.attempt, d.local, cr.attempt.Peer
	} else {
		e.ud.asked[cr.attempt] = cr.data
	}
	e.Qualifier = cr.attempt.Qualifier
	cr.attempt.Card = e.cardOf(d, p)
	cr.attempt.Owner = e
	cr.ia.count(iaSPCRAccepted)
	gone := cr.gone
	attempt := cr.attempt
	cr.ep = nil
	e.cr = nil
	cr.release()
	if gone || attempt.Accept(l.cfg.Clock(), private) != nil {
		e.failed(EventAcceptCompletionError, nil)
	}
	return codes.Success
}

// Reject is dat_cr_reject. The request is consumed.
func (cr *CR) Reject(private []byte) codes.Return {
	if len(private) > PrivateMax {
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
		cr.attempt.Owner = nil
		_ = cr.attempt.Reject(cr.ia.library.cfg.Clock(), private)
	}
	cr.release()
}

// Handoff is dat_cr_handoff: the request goes to another service point of this process.
func (cr *CR) Handoff(qualifier uint64) codes.Return {
	l := cr.ia.library
	ln := l.machine.Listener(qualifier)
	sp, ok := lnPSP(ln)
	if !ok || cr.ep != nil {
		return codes.Arg(2)
	}
	cr.SP = sp.handle
	ev := requestEvent(EventConnectionRequest, sp.handle, cr.ia.address(cr.attempt.Local),
		qualifier,
		cr.handle)
	if sp.ia != cr.ia || !sp.EVD.post(&ev) {
		return codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	return codes.Success
}

func lnPSP(ln *cm.Listener) (*PSP, bool) {
	if ln == nil {
		return nil, false
	}
	p, ok := ln.Owner.(*PSP)
	return p, ok
}
