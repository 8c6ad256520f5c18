package dat

import (
	"net/netip"

	"lapi/core/dat/cm"
	"lapi/core/dat/codes"
	"lapi/core/dat/device"
	"lapi/core/dat/rc"
	"lapi/cshim/dat/dev"
	"lapi/transport/ibv"
)

// deviceEngine is the engine of adapters whose data goes by an RDMA adapter. It gives the objects of
// the program what package device has for them, and package device the few functions of theirs that
// it calls.
type deviceEngine struct {
	*device.Device
	ia      *IA
	d       ibv.Adapter
	info    ibv.Info
	regions map[uint32]*region // of LMRs, by the key of local memory
	windows map[uint32]*region // of RMRs, by the key that peers use
}

// startDevice makes a device the adapter's engine.
func (ia *IA) startDevice(d ibv.Adapter) (err error) {
	l, info := ia.library, d.Info()
	k := &deviceEngine{ia: ia, d: d, info: info, regions: map[uint32]*region{},
		windows: map[uint32]*region{}}
	if k.Device, err = device.New(d, deviceHost{ia}, l.cfg.Timeout); err != nil {
		return err
	}
	ia.engine, ia.limits = k, deviceLimits(&info)
	ia.Addr = info.Addr
	ia.port = Interface{Name: info.Name, Addr: info.Addr, MTU: info.MTU, Running: info.Active}
	l.devices = append(l.devices, k)
	for _, fd := range d.Files() {
		l.host.Watch(fd)
	}
	return nil
}

func deviceLimits(i *ibv.Info) Limits {
	return Limits{EPs: int32(i.MaxQPs), EVDs: manyObjects, PZs: int32(i.MaxPDs),
		SRQs: int32(i.MaxSRQs), LMRs: int32(i.MaxMRs),
		DTOs: int32(min(i.MaxRequests, MaxDTOs)), SRQDTOs: int32(min(i.MaxReceives, MaxDTOs)),
		IOV:     int32(min(i.MaxSegments, MaxIOV)),
		ReadIOV: int32(min(i.MaxReadSegments, MaxIOV)), ReadsIn: int32(i.MaxReadsIn),
		ReadsOut: int32(i.MaxReadsOut), Message: uint32(min(i.MaxMessage, MaxMessage)),
		Datagram: i.MTU, PrivateConnect: device.PrivateConnect,
		PrivateAccept: device.PrivateAccept, PrivateReject: device.PrivateReject,
		RMRsForEP: i.OwnWindows, Invalidates: i.Invalidates, Atomics: i.Atomics,
		// a queue pair is made for as many and as long receives as it is to have
		Fixed: FieldAttr}
}

// Adapted says whether data goes by an RDMA adapter. A thread that waits for one sleeps: it is
// further away than a process of the same node, its driver may need the processor (as soft-RoCE
// does), and a program that wants to poll does so by dat_evd_dequeue.
func (l *Library) Adapted() bool { return len(l.devices) > 0 }

func (k *deviceEngine) close() {
	l := k.ia.library
	for _, fd := range k.d.Files() {
		l.host.Unwatch(fd)
	}
	k.Close()
	for i, o := range l.devices {
		if o == k {
			l.devices = append(l.devices[:i:i], l.devices[i+1:]...)
			break
		}
	}
}

func (k *deviceEngine) identity() identity {
	return identity{guid: k.info.GUID, gid: k.info.GID, port: k.info.Port, active: k.Active(),
		atomics: k.info.Atomics}
}

// deviceHost implements device.Host.
type deviceHost struct{ ia *IA }

func (h deviceHost) Now() int64     { return h.ia.library.cfg.Clock() }
func (h deviceHost) Random() uint64 { return h.ia.library.cfg.Random() }

// deviceCounters are the counters of an adapter by which those of a device are counted.
var deviceCounters = [device.NumCounters]int{device.Listens: iaCMListen,
	device.RequestsSent: iaCMReqTX, device.RequestsReceived: iaCMReqRX,
	device.RepliesSent: iaCMRepTX, device.RepliesReceived: iaCMRepRX,
	device.ReadySent: iaCMRtuTX, device.RejectionsReceived: iaCMUserRejRX,
	device.Refused: iaCMErrRefused, device.TimedOut: iaCMErrTimeout, device.Errors: iaCMErr}

func (h deviceHost) Count(c device.Counter) { h.ia.count(deviceCounters[c]) }

func (h deviceHost) Broken() { h.ia.asyncError(EventIACatastrophic, h.ia.handle, 0) }

func (h deviceHost) Report(text string) {
	if debug := h.ia.library.cfg.Debug; debug != nil {
		debug(text)
	}
}

func (h deviceHost) Silent(qualifier uint64, to netip.Addr, text string) {
	h.ia.library.silence.report(qualifier, to, text)
}

func (k *deviceEngine) openZone(p *PZ) (r codes.Return) {
	p.zone, r = k.NewZone()
	return r
}

// deviceAccess is what each privilege is to an adapter.
var deviceAccess = map[Privileges]ibv.Access{RemoteWrite: ibv.RemoteWrite,
	RemoteRead: ibv.RemoteRead, RemoteAtomic: ibv.RemoteAtomic, LocalWrite: ibv.LocalWrite}

func accessOf(p Privileges) (access ibv.Access) {
	for bit, a := range deviceAccess {
		if p&bit != 0 {
			access |= a
		}
	}
	return access
}

func (k *deviceEngine) register(r *region) codes.Return {
	of, result := r.pz.zone.Register(r.addr, r.n, r.as(r.addr), accessOf(r.privileges))
	if result != codes.Success {
		return result
	}
	r.of, r.keys = of, of.Keys
	if !k.name(r) {
		r.of.Deregister()
		return codes.InsufficientResources.With(codes.ResourceMemory)
	}
	return codes.Success
}

// name has the contexts of a region, or of a window, name its memory.
func (k *deviceEngine) name(r *region) bool {
	m := device.Memory{Addr: r.addr, N: r.n, Start: r.as(r.addr), Zone: uint64(r.pz.handle),
		Context: r.keys.Local, Key: r.keys.Local, Privileges: uint32(r.privileges)}
	if r.window != nil { // its local key is the LMR's
		m.Shift = r.lmr.region.as(r.addr) - m.Start
	}
	of := k.regions
	if r.rmr != nil {
		m.Context, m.Window, of = r.keys.Remote, true, k.windows
	}
	if !k.AddMemory(&m) {
		return false
	}
	of[m.Context] = r
	return true
}

func (k *deviceEngine) deregister(r *region) {
	switch {
	case r.rmr == nil:
		delete(k.regions, r.keys.Local)
		k.RemoveMemory(r.keys.Local, false)
	case k.windows[r.keys.Remote] == r:
		delete(k.windows, r.keys.Remote)
		k.RemoveMemory(r.keys.Remote, true)
	}
	if r.window == nil {
		r.of.Deregister()
	} else {
		r.window.Unbound()
	}
}

func (k *deviceEngine) find(context uint32, byRMR bool) *region {
	if byRMR {
		return k.windows[context]
	}
	return k.regions[context]
}

// deviceQueue is an SRQ of an adapter. It implements device.QueueOwner.
type deviceQueue struct {
	s *SRQ
	*device.Queue
}

func (k *deviceEngine) openQueue(s *SRQ) (r codes.Return) {
	q := &deviceQueue{s: s}
	q.Queue, r = s.PZ.zone.NewQueue(int(s.Max), int(s.MaxIOV), uint64(s.PZ.handle), q)
	s.shared = q
	return r
}

func (q *deviceQueue) address() uint64 { return q.Address() }

func (q *deviceQueue) post(triplets []Triplet, cookie uint64) codes.Return {
	return q.Post(triplets, cookie)
}

// counts: what the adapter has completed is taken first. An adapter does not report which receive a
// message is just coming to.
func (q *deviceQueue) counts() (waiting, taken int) {
	q.s.ia.engine.(*deviceEngine).Progress(true)
	return q.Posted(), Unknown
}

func (q *deviceQueue) resize(max int32) codes.Return { return q.Resize(int(max)) }

// watch: the adapter knows better than counts. Few receives that no message takes any more it does
// not report, so SetLow looks, too.
func (q *deviceQueue) watch(low int32) { q.Watch(int(low)) }

func (q *deviceQueue) close() { q.Close() }

func (q *deviceQueue) Low() { q.s.tellLow() }

// deviceWay is the way of an endpoint over an adapter.
type deviceWay struct {
	k *deviceEngine
	*device.Pair
}

// deviceWaker implements device.Waker.
type deviceWaker struct{ evd *EVD }

func (w deviceWaker) Wake() { w.evd.wake() }

// config is what the queue pair of an endpoint is made for.
func (e *EP) config() device.PairConfig {
	a := &e.Attr
	c := device.PairConfig{Datagrams: a.Service == ServiceUD, Requests: int(a.MaxRequest),
		Receives:        int(a.MaxRecv),
		RequestSegments: int(max(a.MaxRequestIOV, a.MaxRDMAReadIOV, a.MaxRDMAWriteIOV)),
		ReceiveSegments: int(a.MaxRecvIOV), ReadsIn: int(a.MaxReadsIn),
		ReadsOut: int(a.MaxReadsOut)}
	if e.PZ != nil {
		c.Zone = e.PZ.zone
	}
	if e.SRQ != nil {
		c.Queue, c.Receives = e.SRQ.shared.(*deviceQueue).Queue, int(e.SRQ.Max)
	}
	if e.Recv != nil && a.RecvFlags&Solicited != 0 {
		c.Solicited = deviceWaker{e.Recv}
	}
	return c
}

func (k *deviceEngine) openWay(e *EP) codes.Return {
	q, r := k.NewPair(e.config(), deviceEnd{e})
	if r == codes.Success {
		k.use(e, q)
	}
	return r
}

// use makes q the endpoint's way.
func (k *deviceEngine) use(e *EP, q *device.Pair) {
	if old, ok := e.way.(deviceWay); ok {
		old.close(e)
	}
	e.way = deviceWay{k, q}
	e.publish()
	if e.Attr.Service == ServiceUD {
		e.ud = newUD(e, q.Number())
	}
}

// change makes another queue pair, unless the present queue pair has the configuration of to.
func (w deviceWay) change(e, to *EP) codes.Return {
	if to.config() == w.Config() {
		return codes.Success
	}
	q, r := w.k.NewPair(to.config(), deviceEnd{e})
	if r == codes.Success {
		w.Free()
		w.k.use(e, q)
	}
	return r
}

// close frees the queue pair, which is flushed.
func (w deviceWay) close(e *EP) {
	collect(&e.counters, w.Counters())
	e.c.Pair = 0
	w.Pair.Close()
}

// publish shows C whose the pair is.
func (w deviceWay) publish(e *EP) {
	w.SetOwner(dev.Owner{Endpoint: uint64(e.handle), Zone: uint64(handleOf(e.PZ)),
		Receives: uint64(handleOf(e.Recv)), Requests: uint64(handleOf(e.Request))})
	w.SetLimits(e.quickLimits())
	e.c.Pair = w.Address()
}

// quickLimits are up to which posts are legal by the endpoint's state and attributes. C judges those
// beyond by e.c (cshim/dat/rc/judge.c).
func (e *EP) quickLimits() (l dev.Limits) {
	a := &e.Attr
	l.Bytes = e.ia.limits.Message
	if e.State == Connected && a.Service != ServiceUD && e.Request != nil &&
		min(a.MaxRequestIOV, e.iovMax(rc.Write), e.iovMax(rc.Read)) > 0 {
		l.Requests = uint32(a.MaxRequest)
	}
	if e.SRQ == nil && e.Recv != nil && a.MaxRecvIOV > 0 {
		l.Receives = uint32(a.MaxRecv)
	}
	return l
}

// Post implements way: binds alone, as C posts the others.
func (w deviceWay) Post(r *rc.Request) bool {
	b := r.Owner.(*posted).bind
	if !w.PostBind(r, b) {
		return false
	}
	b.ep.c.Requests-- // C counts it, or it was completed
	return true
}

// deviceOps are operations as C has them.
var deviceOps = [...]int{rc.Send: dev.OpSend, rc.Write: dev.OpWrite, rc.Read: dev.OpRead,
	rc.CompareSwap: dev.OpSwap, rc.FetchAdd: dev.OpAdd}

// post does what C does by itself for the entry points (cshim/dat/rc/judge.c).
func (w deviceWay) post(a *PostArgs) codes.Return {
	r := &dev.Request{Op: deviceOps[a.Op], Local: a.Triplets, Cookie: a.Cookie,
		Completion: uint32(a.Flags), Data: a.Data, Operand: a.Operand, Compare: a.Compare,
		Remote: a.Remote}
	switch {
	case a.Immediate:
		r.Flags = dev.Immediate
	case a.Invalidate:
		r.Flags, r.Data = dev.Invalidate, a.Remote.Context
	case a.ToRMR:
		r.Flags = dev.ToRMR
	}
	return w.Pair.Post(r)
}

// postReceive likewise.
func (w deviceWay) postReceive(triplets []Triplet, cookie uint64) codes.Return {
	return w.Pair.PostReceive(triplets, cookie)
}

func (w deviceWay) meet(attempt) codes.Return {
	if !w.Configured() {
		return codes.InvalidState.With(codes.InvalidStateEPUnconfigured)
	}
	return codes.Success
}

func (w deviceWay) postDatagram(d *datagram, ah *AH, qpn uint32, triplets []Triplet,
	_ []rc.Segment) codes.Return {
	r := &dev.Request{Local: triplets, Cookie: d.cookie, Completion: uint32(d.flags)}
	return w.PostDatagram(r, ah.path, qpn)
}

// deviceEnd implements device.Endpoint.
type deviceEnd struct{ e *EP }

func (o deviceEnd) Pair() *device.Pair { return o.e.way.(deviceWay).Pair }

func (o deviceEnd) Abandoned() bool { return o.e.abandon }

func (o deviceEnd) Completed(r *rc.Request) {
	o.e.c.Requests++ // C does not count it any more
	o.e.completed(r)
}

func (o deviceEnd) Established(active bool, private []byte) { o.e.established(active, private) }

func (o deviceEnd) Reached(c *device.Call, p *device.Path, private []byte) bool {
	a := deviceAttempt{c}
	o.e.ud.drop(a)
	return o.e.ud.reached(&AH{path: p, QPN: p.QPN}, a, c.Active(), c.Peer(), private)
}

// deviceFailures are the events of failures.
var deviceFailures = map[device.Failure]EventNumber{device.FailedBroken: EventBroken,
	device.FailedUnreachable: EventUnreachable, device.FailedRejected: EventPeerRejected,
	device.FailedRefused: EventNonPeerRejected, device.FailedTimeout: EventTimedOut,
	device.FailedAcceptance: EventAcceptCompletionError}

func (o deviceEnd) Failed(c *device.Call, why device.Failure, private []byte) {
	if o.e.ud != nil {
		o.e.ud.failed(deviceAttempt{c}, why == device.FailedRejected, private)
		return
	}
	o.e.failed(deviceFailures[why], private)
}

func (o deviceEnd) Ended(how rc.Ending) { o.e.ended(how) }

// deviceAttempt implements attempt.
type deviceAttempt struct{ *device.Call }

// Accept implements attempt.
func (a deviceAttempt) Accept(_ int64, private []byte) error { return a.Call.Accept(private) }

// Reject implements attempt.
func (a deviceAttempt) Reject(_ int64, private []byte) error { return a.Call.Reject(private) }

// Close implements attempt.
func (a deviceAttempt) Close(int64) { a.Call.Close() }

// Confirm implements attempt: the adapter's connection manager does that.
func (a deviceAttempt) Confirm() {}

// Own implements attempt.
func (a deviceAttempt) Own(owner cm.Owner) {
	switch o := owner.(type) {
	case *EP:
		a.SetEndpoint(deviceEnd{o})
	case *CR:
		a.SetDecider(deviceRequest{o})
	default:
		a.Disown()
	}
}

// deviceRequest implements device.Decider.
type deviceRequest struct{ cr *CR }

func (o deviceRequest) Withdrawn() { o.cr.gone = true }

// deviceService implements device.Service.
type deviceService struct{ sp servicePoint }

func (s deviceService) Requested(a device.Arrival, private []byte) {
	requested(s.sp, arrivalOf(a), private)
}

func arrivalOf(a device.Arrival) arrival {
	service := uint8(ServiceRC)
	if a.Datagrams {
		service = ServiceUD
	}
	return arrival{attempt: deviceAttempt{a.Call}, service: service, local: a.Local, peer: a.Peer,
		qualifier: a.Qualifier}
}

// deviceListener implements listening.
type deviceListener struct {
	*device.Listener
	ia        *IA
	qualifier uint64
	meets     bool // members of groups, by the sockets
}

func (l *deviceListener) unlisten() {
	l.Close()
	if l.meets {
		l.ia.unmeet(l.qualifier)
	}
}

// openMeeting listens for members of groups, which meet by the sockets.
func (l *deviceListener) openMeeting() { l.meets = l.meets || l.ia.meet(l.qualifier) }

func (k *deviceEngine) listen(qualifier uint64, sp servicePoint) (listening, codes.Return) {
	l, r := k.Listen(qualifier, deviceService{sp})
	return &deviceListener{Listener: l, ia: k.ia, qualifier: qualifier}, r
}

func (k *deviceEngine) connect(e *EP, to netip.Addr, qualifier uint64, timeout int64,
	private []byte) (arrival, codes.Return) {
	a, r := k.Connect(deviceEnd{e}, to, qualifier, timeout, private)
	return arrivalOf(a), r
}
