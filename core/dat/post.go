package dat

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// DTO operations as events report them (DAT_DTOS, DAT_IB_DTOS).
const (
	dtoSend                  = 0
	dtoWrite                 = 1
	dtoRead                  = 2
	dtoReceive               = 3
	dtoReceiveWithInvalidate = 4
	dtoBind                  = 5
	dtoWriteImmed            = 8
	dtoReceiveImmed          = 9
	dtoFetchAdd              = 10
	dtoCompareSwap           = 11
	dtoReceiveMessageImmed   = 12
	dtoSendUD                = 13
	dtoReceiveUD             = 14
)

// posted is what the library remembers of a request or receive (rc.Posted).
type posted struct {
	ia        *IA
	cookie    uint64
	flags     CompletionFlags
	operation uint32
	triplets  []Triplet
	pz        *PZ
	need      Privileges
	epoch     uint64 // IA.freed when the memory was looked up
	srq       *SRQ
	bind      *binding
	byRMR     bool // the local triplets are of RMRs
}

// PostArgs are the arguments of a post.
type PostArgs struct {
	Op         rc.Op
	Triplets   []Triplet
	Remote     Triplet
	Cookie     uint64
	Flags      CompletionFlags
	Immediate  bool
	Data       uint32 // with Immediate
	Invalidate bool   // of a send: Remote.Context
	Operand    uint64
	Compare    uint64
	ToRMR      bool // of a read: the local triplet is an RMR's
}

// needs is what local memory of each operation must grant. Any that is registered may be sent, as
// adapters have it and programs expect it.
var needs = [...]Privileges{rc.Send: 0, rc.Write: 0, rc.Read: LocalWrite,
	rc.CompareSwap: LocalWrite, rc.FetchAdd: LocalWrite}

// operations is what completions say of each.
var operations = [...]uint32{rc.Send: dtoSend, rc.Write: dtoWrite, rc.Read: dtoRead,
	rc.CompareSwap: dtoCompareSwap, rc.FetchAdd: dtoFetchAdd}

// iovMax is how many triplets an operation may have.
func (e *EP) iovMax(op rc.Op) int32 {
	switch op {
	case rc.Write:
		return max(e.Attr.MaxRDMAWriteIOV, e.Attr.MaxRequestIOV)
	case rc.Read:
		return max(e.Attr.MaxRDMAReadIOV, e.Attr.MaxRequestIOV)
	case rc.Send:
		return e.Attr.MaxRequestIOV
	}
	return 1
}

// Post is dat_ep_post_send, _rdma_write, _rdma_read and their extensions, which C has judged
// (cshim/dat/rc/judge.c): the connection is established or is over.
func (e *EP) Post(a PostArgs) codes.Return {
	e.ia.library.nodeConns.collect()
	if w, ok := e.way.(deviceWay); ok {
		return w.post(&a)
	}
	total := uint64(0)
	for _, t := range a.Triplets {
		total += uint64(t.N)
	}
	p := &posted{ia: e.ia, cookie: a.Cookie, flags: a.Flags, operation: operations[a.Op],
		triplets: a.Triplets,
		pz:       e.PZ, need: needs[a.Op], epoch: e.ia.freed}
	if a.Immediate {
		p.operation = dtoWriteImmed
	}
	q := &rc.Request{Op: a.Op, Immediate: a.Immediate, Data: a.Data, Invalidate: a.Invalidate,
		Solicited: a.Flags&Solicited != 0, Fence: a.Flags&Fence != 0, Addr: a.Remote.Addr,
		Context: a.Remote.Context, Operand: a.Operand, Compare: a.Compare, Owner: p}
	var ok bool
	p.byRMR = a.ToRMR
	if q.Segments, ok = e.ia.local(p); !ok {
		q.Bad = true
	}
	e.c.Requests++
	e.countPost(a.Op, total, a.Immediate)
	if e.State != Connected || !e.way.Post(q) {
		q.Status = rc.Flushed
		e.completed(q)
	}
	return codes.Success
}

// receive makes a receive of triplets.
func (ia *IA) receive(pz *PZ, triplets []Triplet, cookie uint64) (*rc.Receive, codes.Return) {
	p := &posted{ia: ia, cookie: cookie, triplets: triplets, pz: pz, need: LocalWrite,
		epoch: ia.freed}
	segments, ok := ia.local(p)
	if !ok {
		return nil, codes.ProtectionViolation.With(codes.ProtectionWrite)
	}
	return &rc.Receive{Segments: segments, Owner: p}, codes.Success
}

// PostReceive is dat_ep_post_recv, which C has judged.
func (e *EP) PostReceive(triplets []Triplet, cookie uint64, flags CompletionFlags) codes.Return {
	e.ia.library.nodeConns.collect()
	if w, ok := e.way.(deviceWay); ok {
		return w.postReceive(triplets, cookie)
	}
	r, ret := e.ia.receive(e.PZ, triplets, cookie)
	if ret != codes.Success {
		return ret
	}
	r.Owner.(*posted).flags = flags
	e.c.Receives++
	e.countReceive(r)
	switch {
	case e.State == Disconnected:
		r.Status = rc.Flushed
		e.received(r)
	default:
		e.way.(receiving).PostReceive(r)
	}
	return codes.Success
}

// Usable implements rc.Posted: memory that was looked up at a post is still what it was.
func (p *posted) Usable() bool {
	if p.epoch == p.ia.freed {
		return true
	}
	if _, ok := p.ia.local(p); !ok {
		return false
	}
	p.epoch = p.ia.freed
	return true
}

// Bind implements rc.Posted.
func (p *posted) Bind() bool { return p.bind.apply() }

// completed reports a completed request to the consumer.
func (e *EP) completed(r *rc.Request) {
	p := r.Owner.(*posted)
	e.c.Requests--
	if p.bind != nil {
		e.bound(r, p)
		return
	}
	if r.Status == rc.Success && p.flags&Suppress != 0 {
		return
	}
	number, extension := EventDTO, uint32(0)
	switch {
	case r.Immediate:
		number, extension = EventExtendedDTO, extWriteImmed
	case r.Op == rc.CompareSwap:
		number, extension = EventExtendedDTO, extCompareSwap
	case r.Op == rc.FetchAdd:
		number, extension = EventExtendedDTO, extFetchAdd
	}
	n := uint32(0)
	if r.Status == rc.Success {
		n = r.Bytes()
	}
	ev := dtoEvent(number, e.handle, p.cookie, uint8(r.Status), n, p.operation, 0)
	if number == EventExtendedDTO {
		ev.extend(extension, uint8(r.Status), r.Data)
	}
	e.Request.post(&ev)
}

// countOut: a receive of the endpoint's, or of its SRQ, is complete.
func (e *EP) countOut(p *posted) {
	if p.srq != nil {
		p.srq.c.Posted--
		p.srq.checkLow()
	} else {
		e.c.Receives--
	}
}

// received reports a completed receive to the consumer.
func (e *EP) received(r *rc.Receive) {
	p := r.Owner.(*posted)
	e.countOut(p)
	number, operation := EventDTO, uint32(dtoReceive)
	switch {
	case r.HasData:
		number, operation = EventExtendedDTO, dtoReceiveImmed
		if !r.ByWrite {
			operation = dtoReceiveMessageImmed
		}
	case r.Invalid:
		operation = dtoReceiveWithInvalidate
	}
	ev := dtoEvent(number, e.handle, p.cookie, uint8(r.Status), r.N, operation, r.Context)
	if r.HasData {
		ev.extend(extWriteImmedEnd, uint8(r.Status), r.Immediate)
	}
	switch {
	case r.Status != rc.Success:
	case r.HasData:
		e.countData(epRecvRDMAImm, r.N)
	default:
		e.countData(epRecv, r.N)
	}
	e.tellReceive(&ev, r)
}
