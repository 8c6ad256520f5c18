package dat

import (
	"slices"

	"lapi/core/dat/codes"
)

// Fields of an endpoint that dat_ep_modify changes (DAT_EP_FIELD).
const (
	FieldPZ      = 1 << 7
	FieldRecv    = 1 << 8
	FieldRequest = 1 << 9
	FieldConnect = 1 << 10
	FieldSRQ     = 1 << 11
	FieldAttr    = 0x7ffff000 // all that an Attr has, a bit each: merge
	fieldsFixed  = 0x7f
)

// firstAttr is the bit of the first member of DAT_EP_ATTR; those of the others follow.
const firstAttr = 12

// merge takes from o the members that mask names, in their order in DAT_EP_ATTR.
func (a *Attr) merge(mask uint64, o *Attr) {
	bit := firstAttr
	take := func(set func()) {
		if mask>>bit&1 != 0 {
			set()
		}
		bit++
	}
	take(func() { a.Service = o.Service })
	take(func() { a.MaxMessage = o.MaxMessage })
	take(func() { a.MaxRDMA = o.MaxRDMA })
	take(func() { a.QoS = o.QoS })
	take(func() { a.RecvFlags = o.RecvFlags })
	take(func() { a.RequestFlags = o.RequestFlags })
	take(func() { a.MaxRecv = o.MaxRecv })
	take(func() { a.MaxRequest = o.MaxRequest })
	take(func() { a.MaxRecvIOV = o.MaxRecvIOV })
	take(func() { a.MaxRequestIOV = o.MaxRequestIOV })
	take(func() { a.MaxReadsIn = o.MaxReadsIn })
	take(func() { a.MaxReadsOut = o.MaxReadsOut })
	take(func() { a.SRQSoftHW = o.SRQSoftHW })
	take(func() { a.MaxRDMAReadIOV = o.MaxRDMAReadIOV })
	take(func() { a.MaxRDMAWriteIOV = o.MaxRDMAWriteIOV })
}

// Modify is dat_ep_modify: in a state without connection. a holds all handles and attributes, of
// which mask says which count.
func (e *EP) Modify(mask uint64, a EPArgs) codes.Return {
	if mask&fieldsFixed != 0 || mask&^(fieldsFixed|FieldPZ|FieldRecv|FieldRequest|FieldConnect|
		FieldSRQ|FieldAttr) != 0 {
		return codes.Arg(2)
	}
	allowed := []EPState{Unconnected, UnconfiguredUnconnected, Reserved, UnconfiguredReserved,
		PassivePending, UnconfiguredPassive, TentativePending, UnconfiguredTentative}
	if !slices.Contains(allowed, e.State) {
		return codes.InvalidState.With(why[e.State])
	}
	if _, receives := e.outstanding(); receives > 0 &&
		mask&(FieldPZ|FieldRecv|FieldSRQ|e.ia.limits.Fixed) != 0 {
		return codes.InvalidState.With(codes.NoSubtype)
	}
	n := *e
	for _, f := range []struct {
		bit uint64
		to  *Handle
		now Handle
	}{{FieldPZ, &a.PZ, handleOf(e.PZ)}, {FieldRecv, &a.Recv, handleOf(e.Recv)},
		{FieldRequest, &a.Request, handleOf(e.Request)}, {FieldConnect, &a.Connect,
			handleOf(e.ConnectE)},
		{FieldSRQ, &a.SRQ, handleOf(e.SRQ)}} {
		if mask&f.bit == 0 {
			*f.to = f.now
		}
	}
	if r := n.configure(e.ia, a); r != codes.Success {
		return r
	}
	if a.Attr != nil {
		n.Attr.merge(mask, a.Attr)
	}
	if r := n.checkAttr(&e.ia.limits); r != codes.Success && e.configured() {
		return codes.Arg(3)
	}
	if r := e.way.change(e, &n); r != codes.Success {
		return r
	}
	n.use(1)
	e.use(-1)
	e.PZ, e.Recv, e.Request, e.ConnectE, e.SRQ, e.Attr = n.PZ, n.Recv, n.Request, n.ConnectE,
		n.SRQ, n.Attr
	e.publish()
	if e.configured() && e.may(stepConfigured) == codes.Success {
		e.step(stepConfigured)
	}
	return codes.Success
}

// configured says whether the endpoint has all that a connection needs.
func (e *EP) configured() bool { return e.PZ != nil && e.ConnectE != nil }

// provide makes the endpoint of a request at a PSP that provides one. The consumer configures it.
func (ia *IA) provide() (*EP, bool) {
	e := &EP{Attr: DefaultAttr}
	if !ia.add(KindEP, e) {
		return nil, false
	}
	e.State = UnconfiguredTentative
	if e.open() != codes.Success {
		return nil, false
	}
	ia.count(iaEPCreate)
	return e, true
}
