package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/layout"
)

// Service types of an endpoint.
const (
	ServiceRC = 0
	ServiceUD = 1
)

// CompletionFlags of a request or receive (DAT_COMPLETION_FLAGS).
type CompletionFlags uint32

// The flags.
const (
	Suppress   CompletionFlags = 0x1
	Solicited  CompletionFlags = 0x2
	Unsignaled CompletionFlags = 0x4
	Fence      CompletionFlags = 0x8
	Threshold  CompletionFlags = 0x10

	// CompletionAll is all flags, with LMR_INVALIDATE_FENCE.
	CompletionAll = 0x3f
)

// Attr are the attributes of an endpoint (DAT_EP_ATTR, without names).
type Attr struct {
	Service                         uint32
	MaxMessage, MaxRDMA             uint32
	QoS                             uint32
	RecvFlags, RequestFlags         CompletionFlags
	MaxRecv, MaxRequest             int32
	MaxRecvIOV, MaxRequestIOV       int32
	MaxReadsIn, MaxReadsOut         int32
	SRQSoftHW                       int32
	MaxRDMAReadIOV, MaxRDMAWriteIOV int32
}

// Limits of the adapters, which queries return. All handles of a process are 1<<20.
const (
	MaxLMRs     = 1 << 16
	MaxRMRs     = 1 << 15
	MaxMessage  = 1 << 30
	MaxIOV      = 256
	MaxDTOs     = 1 << 20
	MaxReads    = 16
	PrivateMax  = cm.PrivateMax // of any engine
	defaultDTOs = 16
	defaultIOV  = 4
)

// DefaultAttr are the attributes of an endpoint that is made without.
var DefaultAttr = Attr{MaxMessage: MaxMessage, MaxRDMA: MaxMessage, RecvFlags: Threshold,
	RequestFlags: Threshold, MaxRecv: defaultDTOs, MaxRequest: defaultDTOs, MaxRecvIOV: defaultIOV,
	MaxRequestIOV: defaultIOV, MaxReadsIn: defaultIOV, MaxReadsOut: defaultIOV,
	MaxRDMAReadIOV: defaultIOV, MaxRDMAWriteIOV: defaultIOV}

// EP is an endpoint.
type EP struct {
	base
	PZ                      *PZ
	Recv, Request, ConnectE *EVD // nil: none
	SRQ                     *SRQ
	Attr                    Attr
	State                   EPState
	Remote                  netip.AddrPort // of the peer, while connected
	Local                   netip.Addr
	Qualifier               uint64
	Active                  bool // it is the active side: it connected at its peer's qualifier

	way      way      // the path of its data
	conn     *rc.Conn // its name on links, and its way if it is core's; nil on an RDMA adapter
	node     *onNode  // its way, if it is C's; else nil
	offload  bool     // its connection is C's if the peer agrees
	decided  bool     // offload is decided
	attempt  attempt  // until the connection is over
	peer     *peer
	rsp      *RSP
	cr       *CR
	private  memoryBlock // memory that events point to
	abandon  bool        // it is being freed: nobody is notified any more
	ud       *udState
	c        *layout.DatEp // limits and counts of posts; C has it, too
	memory   []byte        // of c
	counters counters
}

// EPArgs are the arguments of dat_ep_create and dat_ep_create_with_srq.
type EPArgs struct {
	PZ, Recv, Request, Connect, SRQ Handle
	Attr                            *Attr // nil: DefaultAttr
}

// NewEP is dat_ep_create, and dat_ep_create_with_srq.
func (ia *IA) NewEP(a EPArgs) (*EP, codes.Return) {
	e := &EP{Attr: DefaultAttr}
	if r := e.configure(ia, a); r != codes.Success {
		return nil, r
	}
	if a.Attr != nil {
		e.Attr = *a.Attr
		e.Attr.RequestFlags, e.Attr.RecvFlags = a.Attr.RequestFlags, a.Attr.RecvFlags
	}
	if r := e.checkAttr(&ia.limits); r != codes.Success {
		return nil, r
	}
	if !ia.add(KindEP, e) {
		return nil, codes.InsufficientResources.With(codes.ResourceTEP)
	}
	if e.Attr.Service == ServiceUD {
		e.Attr.MaxMessage = min(e.Attr.MaxMessage, uint32(ia.limits.Datagram))
	}
	if r := e.open(); r != codes.Success {
		return nil, r
	}
	e.use(1)
	ia.count(iaEPCreate)
	return e, codes.Success
}

// open gives a new endpoint its way; the endpoint is removed if that fails.
func (e *EP) open() codes.Return {
	if !e.openPosts() {
		e.ia.remove(e)
		return codes.InsufficientResources.With(codes.ResourceTEP)
	}
	r := e.ia.engine.openWay(e)
	if r != codes.Success {
		e.closePosts()
		e.ia.remove(e)
	}
	return r
}

// configure sets PZ, EVDs and SRQ. ia is the adapter, as e may have no handle yet.
func (e *EP) configure(ia *IA, a EPArgs) (r codes.Return) {
	if e.PZ, r = findIn[*PZ](ia, a.PZ, codes.InvalidHandlePZ, false); r != codes.Success {
		return r
	}
	for _, f := range []struct {
		to      **EVD
		h       Handle
		need    EVDFlags
		subtype codes.Subtype
	}{
		{&e.Recv, a.Recv, EVDDTO, codes.InvalidHandleEVDRecv},
		{&e.Request, a.Request, EVDDTO, codes.InvalidHandleEVDRequest},
		{&e.ConnectE, a.Connect, EVDConnection, codes.InvalidHandleEVDConn},
	} {
		var evd *EVD // of any adapter, as programs have it
		if f.h != 0 {
			if evd, r = find[*EVD](ia.library, f.h, f.subtype); r != codes.Success {
				return r
			}
		}
		if evd != nil && evd.Flags&f.need == 0 {
			return codes.BadHandle(f.subtype)
		}
		*f.to = evd
	}
	e.SRQ, r = findIn[*SRQ](ia, a.SRQ, codes.InvalidHandleSRQ, true)
	return r
}

// checkAttr checks attributes against limits and what the endpoint has.
func (e *EP) checkAttr(l *Limits) codes.Return {
	a := &e.Attr
	bad := a.Service > ServiceUD || a.QoS != 0 || a.RecvFlags&Suppress != 0 ||
		(a.RecvFlags|a.RequestFlags)&^CompletionAll != 0 ||
		a.MaxMessage > MaxMessage<<1 || a.MaxRDMA > MaxMessage<<1
	for _, n := range []struct{ n, most int32 }{{a.MaxRecv, l.DTOs}, {a.MaxRequest, l.DTOs},
		{a.MaxRecvIOV, l.IOV}, {a.MaxRequestIOV, l.IOV}, {a.MaxReadsIn, l.ReadsIn},
		{a.MaxReadsOut, l.ReadsOut}, {a.MaxRDMAReadIOV, l.ReadIOV}, {a.MaxRDMAWriteIOV, l.IOV}} {
		bad = bad || n.n < 0 || n.n > n.most
	}
	bad = bad || e.Recv == nil && e.SRQ == nil && a.MaxRecv != 0 ||
		e.Recv != nil && e.SRQ == nil && a.MaxRecv == 0 ||
		(e.Request == nil) != (a.MaxRequest == 0)
	if bad {
		return codes.Arg(6)
	}
	return codes.Success
}

// use counts the endpoint among the users of its objects.
func (e *EP) use(n int) {
	if e.PZ != nil { // else it was never configured
		e.PZ.users += n
	}
	for _, evd := range []*EVD{e.Recv, e.Request, e.ConnectE} {
		if evd != nil {
			evd.users += n
		}
	}
	if e.SRQ != nil {
		e.SRQ.users += n
	}
	if e.Recv != nil && e.Attr.RecvFlags&Solicited != 0 {
		e.Recv.useSolicited(n)
	}
}

// tellReceive posts the event of a receive. If receives are solicited, a successful one whose
// message is not marked as solicited is silent.
func (e *EP) tellReceive(ev *Event, r *rc.Receive) {
	if e.Attr.RecvFlags&Solicited != 0 && r.Status == rc.Success && !r.Solicited {
		e.Recv.postSilent(ev)
		return
	}
	e.Recv.post(ev)
}

// Reset is dat_ep_reset.
func (e *EP) Reset() codes.Return {
	if r := e.may(stepReset); r != codes.Success {
		return r
	}
	if e.State == Disconnected {
		e.decided = false
		if r := e.ia.engine.openWay(e); r != codes.Success {
			return r
		}
		e.Remote, e.Local, e.Qualifier = netip.AddrPort{}, netip.Addr{}, 0
	}
	e.step(stepReset)
	return codes.Success
}

// Free is dat_ep_free. A connection is ended first.
func (e *EP) Free() codes.Return {
	if r := e.may(stepFree); r != codes.Success {
		return r
	}
	e.release()
	e.ia.count(iaEPFree)
	return codes.Success
}

func (e *EP) release() {
	e.abandon = true
	if e.ud != nil {
		e.ud.close()
	}
	e.giveUp()
	if e.way.Opened() {
		e.way.Disconnect(false)
	} else {
		e.way.Discard()
	}
	e.leavePeer()
	e.private.release()
	e.use(-1)
	if w, ok := e.way.(deviceWay); ok {
		w.close(e)
	}
	e.closePosts()
	e.ia.remove(e)
}

// discard implements Object.
func (e *EP) discard() { e.release() }

// giveUp ends an attempt to connect.
func (e *EP) giveUp() {
	e.closeAttempt()
	if e.cr != nil {
		e.cr.ep = nil
		e.cr = nil
	}
}

// now is the library's time.
func (e *EP) now() int64 { return e.ia.library.cfg.Clock() }

// Ports are the qualifiers, or ports, of its own end and its peer's; 0: not known.
func (e *EP) Ports() (local, remote uint64) {
	switch {
	case !e.Remote.IsValid():
		return e.Qualifier, 0
	case e.Active:
		return 0, e.Qualifier
	}
	return e.Qualifier, uint64(e.Remote.Port())
}

// LocalAddress is the address of the sockaddr of e's own address: its connection's, if it has one,
// else the adapter's.
func (e *EP) LocalAddress() uint64 {
	if e.Local.IsValid() {
		return e.ia.address(e.Local)
	}
	return e.ia.Address()
}

// Idle is the result of dat_ep_get_status: receives and requests that are posted.
func (e *EP) Idle() (receives, requests int) {
	requests, receives = e.outstanding()
	return receives, requests
}

// counted implements counted.
func (e *EP) counted() (*counters, int) {
	e.collectCounters()
	return &e.counters, numEPCounters
}
