package dat

import (
	"errors"

	"lapi/core/dat/adapter"
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
)

// pair is a queue pair of an RDMA adapter: the way of an endpoint's data.
type pair struct {
	k        *device
	e        *EP
	qp       adapter.QP // 0: there is none, before the endpoint is configured and after its end
	number   uint32
	serial   uint32
	pool     *pool
	room     int   // of pool
	quiet    *pool // of receives that are solicited; nil: pool
	silent   int   // room of it
	call     *call
	open     bool
	closing  bool // by a graceful end: no more requests
	failing  bool // a request has failed
	owner    bool // windows were bound that are its own
	opened   bool
	readsOut int // that may be under way; 0: none can be posted

	requests []request     // not complete, oldest first
	receives []*rc.Receive // likewise; of an SRQ they are there
	sent     uint32        // number of requests[0]
	taken    uint32        // of receives[0]
}

// What comes back with a completion: whose it is, and its number there. The highest bit tells
// receives from requests, which an adapter does not tell of one that has failed.
const receiveBit = 1 << 63

func requestID(serial, number uint32) uint64 { return uint64(serial)<<32 | uint64(number) }
func receiveID(serial, number uint32) uint64 { return receiveBit | requestID(serial, number) }

// request is one that is posted. One that the adapter does not know is complete when all before it
// are.
type request struct {
	*rc.Request
	unknown bool
}

const localEP rc.Status = 3 // DAT_DTO_ERR_LOCAL_EP

var errNoPair = errors.New("uDAPL: the endpoint has no queue pair")

func (k *device) openWay(e *EP) codes.Return {
	q := &pair{k: k, e: e}
	if e.PZ != nil {
		if r := q.make(e); r != codes.Success {
			return r
		}
	}
	q.set()
	return codes.Success
}

// set makes q the endpoint's way.
func (q *pair) set() {
	e := q.e
	e.way = q
	if e.Attr.Service == ServiceUD {
		e.ud = &udState{qpn: q.number, asked: map[attempt][]byte{}}
	}
}

// make makes the queue pair that an endpoint of such a configuration needs.
func (q *pair) make(e *EP) (r codes.Return) {
	k := q.k
	a := adapter.QPAttr{Zone: e.PZ.zone, Datagrams: e.Attr.Service == ServiceUD,
		MaxRequests: int(e.Attr.MaxRequest), MaxReceives: int(e.Attr.MaxRecv),
		RequestSegments: int(max(e.Attr.MaxRequestIOV, e.Attr.MaxRDMAReadIOV,
			e.Attr.MaxRDMAWriteIOV)), ReceiveSegments: int(e.Attr.MaxRecvIOV), QKey: datagramKey}
	receives := a.MaxReceives
	if e.SRQ != nil {
		a.Queue, a.MaxReceives, a.ReceiveSegments = e.SRQ.shared.q, 0, 0
		receives = int(e.SRQ.Max)
	}
	if r = q.reserve(e, a.MaxRequests, receives); r != codes.Success {
		return r
	}
	a.Requests, a.Receives = q.pool.c, q.pool.c
	if q.quiet != nil {
		a.Receives = q.quiet.c
	}
	qp, number, err := k.d.NewQP(a)
	if err != nil {
		q.giveBack()
		return refusedBy(err, codes.Arg(6))
	}
	q.qp, q.number, q.serial = qp, number, k.newSerial()
	k.pairs[q.serial], k.numbers[number] = q, q
	return codes.Success
}

// reserve finds room for the completions of an endpoint of such a configuration.
func (q *pair) reserve(e *EP, requests, receives int) (r codes.Return) {
	if q.room = requests + receives; e.Recv != nil && e.Attr.RecvFlags&Solicited != 0 {
		q.room, q.silent = requests, receives
		if q.quiet, r = q.k.reserve(receives, e.Recv); r != codes.Success {
			return r
		}
	}
	if q.pool, r = q.k.reserve(q.room, nil); r != codes.Success && q.quiet != nil {
		q.k.giveBack(q.quiet, q.silent)
	}
	return r
}

func (q *pair) giveBack() {
	q.k.giveBack(q.pool, q.room)
	if q.quiet != nil {
		q.k.giveBack(q.quiet, q.silent)
	}
}

// free gives the queue pair back: the adapter touches no memory for it after that.
func (q *pair) free() {
	if q.qp == 0 {
		return
	}
	k := q.k
	k.d.FailQP(q.qp)
	k.drain(q.pool)
	if q.quiet != nil {
		k.drain(q.quiet)
	}
	q.closeOwn()
	k.d.FreeQP(q.qp)
	delete(k.pairs, q.serial)
	delete(k.numbers, q.number)
	q.giveBack()
	q.qp = 0
}

func (k *device) changeWay(e, to *EP) codes.Return {
	q := &pair{k: k, e: e}
	if to.PZ != nil {
		if r := q.make(to); r != codes.Success {
			return r
		}
	}
	e.way.(*pair).free()
	q.set()
	return codes.Success
}

// fixed: a queue pair is made for as many and as long receives as it is to have.
func (k *device) fixed() uint64 { return FieldAttr }

// segments are the local memory of what was posted, until the next call.
func (k *device) segments(p *posted) []adapter.Segment {
	list := k.list[:0]
	for _, t := range p.triplets {
		if t.N == 0 {
			continue
		}
		s := adapter.Segment{Addr: t.Addr, N: t.N, Key: t.Context}
		if p.byRMR {
			s.Key = k.windows[t.Context].keys.Local
		}
		list = append(list, s)
	}
	k.list = list
	return list
}

// ops are requests as adapters know them.
var ops = [...]adapter.Op{rc.Send: adapter.OpSend, rc.Write: adapter.OpWrite,
	rc.Read: adapter.OpRead, rc.CompareSwap: adapter.OpCompareSwap,
	rc.FetchAdd: adapter.OpFetchAdd}

// Post implements way.
func (q *pair) Post(r *rc.Request) bool {
	if !q.open || q.closing || q.failing {
		return false
	}
	p := r.Owner.(*posted)
	at := q.sent + uint32(len(q.requests))
	r.Measure()
	switch {
	case r.Bad:
		r.Status = rc.LocalProtection
	case r.Op >= rc.Read && r.Op != rc.Bind && q.readsOut == 0:
		r.Status = localEP
	case r.Op == rc.Bind && p.bind.window != nil:
		if q.postBind(p.bind, requestID(q.serial, at), r.Fence) == nil {
			q.requests = append(q.requests, request{r, false})
			return true
		}
		r.Status = rc.Transport
	case r.Op != rc.Bind:
		w := &q.k.work
		*w = adapter.Work{ID: requestID(q.serial, at), Op: ops[r.Op], Fence: r.Fence,
			Solicited: r.Solicited, Segments: q.k.segments(p), RemoteAddr: r.Addr,
			RemoteKey: r.Context, Immediate: r.Data, Operand: r.Operand, Compare: r.Compare}
		switch {
		case r.Immediate:
			w.Op = adapter.OpWriteWithData
		case r.Invalidate:
			w.Op = adapter.OpSendInvalidate
		}
		w.Inline = (r.Op == rc.Send || r.Op == rc.Write && !r.Immediate) &&
			r.Bytes() <= uint32(q.k.info.MaxInline)
		if q.k.d.Post(q.qp, w) == nil {
			q.requests = append(q.requests, request{r, false})
			return true
		}
		r.Status = rc.Transport
	}
	q.requests = append(q.requests, request{r, true})
	q.settle()
	return true
}

// settle completes what the adapter does not know, as far as it is its turn.
func (q *pair) settle() {
	for len(q.requests) > 0 && q.requests[0].unknown && !q.failing {
		q.completed(q.next())
	}
	if q.closing && q.open && len(q.requests) == 0 {
		q.k.endSoon(q)
	}
}

// completed tells of a request, and ends the connection soon if it has failed.
func (q *pair) completed(r *rc.Request) {
	if d, is := r.Owner.(*datagram); is {
		q.e.sentUD(d, r.Status)
		return
	}
	if r.Op == rc.Bind {
		bound(r)
	}
	if r.Status != rc.Success && r.Status != rc.Flushed {
		q.k.breakOff(q)
	}
	q.e.completed(r)
}

// next takes the oldest request out.
func (q *pair) next() *rc.Request {
	r := q.requests[0].Request
	q.requests[0] = request{}
	q.requests = q.requests[1:]
	q.sent++
	return r
}

// PostReceive implements way.
func (q *pair) PostReceive(r *rc.Receive) {
	at := q.taken + uint32(len(q.receives))
	err := error(errNoPair)
	if q.qp != 0 {
		err = q.k.d.Receive(q.qp, 0, receiveID(q.serial, at), q.k.segments(r.Owner.(*posted)))
	}
	if err != nil { // it is not known there; the queue pair has room for it, so this cannot be
		r.Status = rc.Flushed
		q.received(r)
		return
	}
	q.receives = append(q.receives, r)
}

func (q *pair) received(r *rc.Receive) {
	if q.e.ud != nil {
		q.e.receivedUD(r)
	} else {
		q.e.received(r)
	}
}

// complete is told of a completion. Those of pairs that are gone are of no interest.
func (k *device) complete(c *adapter.Completion) {
	serial, number := uint32(c.ID>>32)&(1<<31-1), uint32(c.ID)
	if c.ID&receiveBit != 0 {
		k.completeReceive(c, serial, number)
		return
	}
	q := k.pairs[serial]
	if q == nil {
		return
	}
	for len(q.requests) > 0 && int32(number-q.sent) >= 0 {
		last := q.sent == number
		r := q.next()
		if last && r.Status == rc.Success {
			r.Status = rc.Status(c.Status)
		}
		q.completed(r)
	}
	q.settle()
}

func (k *device) completeReceive(c *adapter.Completion, serial, number uint32) {
	q := k.pairs[serial]
	var r *rc.Receive
	if h := k.queues[serial]; h != nil {
		r = h.receives[number]
		delete(h.receives, number)
		if q = k.numbers[c.QPN]; q == nil { // its endpoint is gone, and with it who would hear of it
			h.s.posted--
			h.s.checkLow()
			return
		}
	} else if q != nil && len(q.receives) > 0 {
		r = q.receives[0]
		q.receives[0] = nil
		q.receives = q.receives[1:]
		q.taken++
	}
	if r == nil {
		return
	}
	r.Status, r.N = rc.Status(c.Status), c.N
	r.HasData, r.ByWrite, r.Immediate = c.HasData, c.ByWrite, c.Immediate
	if c.Invalidated {
		r.Invalid, r.Context = q.invalidated(c.Key) || !c.Perhaps, c.Key
	}
	if r.Status != rc.Success && r.Status != rc.Flushed && q.e.ud == nil {
		k.breakOff(q)
	}
	q.received(r)
}

// breakOff: a request or receive has failed. The connection ends once all that the adapter has told
// was taken.
func (k *device) breakOff(q *pair) {
	if !q.failing {
		q.failing = true
		k.endSoon(q)
	}
}

// endSoon makes progress end a connection: not in the midst of completions.
func (k *device) endSoon(q *pair) {
	k.broken = append(k.broken, q)
	k.wakeAt(1)
}

// endBroken ends connections that have failed.
func (k *device) endBroken() (n int) {
	for ; len(k.broken) > 0; n++ {
		q := k.broken[0]
		k.broken = k.broken[1:]
		switch {
		case q.qp == 0: // it has ended meanwhile
		case q.open && q.failing:
			q.end(rc.Broken)
		case q.open:
			q.hangUp(true)
		default: // not connected yet: whoever makes the connection finds out
			q.flush()
		}
	}
	return n
}

// flush ends what was posted, and the queue pair.
func (q *pair) flush() {
	q.open = false
	q.free()
	for len(q.requests) > 0 {
		r := q.next()
		if r.Status == rc.Success {
			r.Status = rc.Flushed
		}
		q.completed(r)
	}
	for _, r := range q.receives {
		r.Status = rc.Flushed
		q.received(r)
	}
	q.receives = nil
}

// connected: requests may be posted.
func (q *pair) connected(c *call, readsOut int) {
	q.call, q.open, q.opened, q.readsOut = c, true, true, readsOut
}

// end ends a connection that stands, other than by the program.
func (q *pair) end(how rc.Ending) {
	c := q.call
	q.flush()
	c.leave(how == rc.Broken)
	q.call = nil
	q.e.ended(how)
}

// hangUp ends one as the program wants it. The program hears of it when the peer has heard.
func (q *pair) hangUp(graceful bool) {
	c := q.call
	q.flush()
	if q.e.abandon {
		c.owner = nil
	}
	c.hangUp(graceful)
}

// Recall implements way: nothing is lent.
func (q *pair) Recall() {}

// Opened implements way.
func (q *pair) Opened() bool { return q.opened }

// Disconnect implements way.
func (q *pair) Disconnect(graceful bool) {
	switch {
	case !q.open:
		if q.e.abandon && q.call != nil {
			q.call.owner = nil
		}
		q.flush()
	case graceful && len(q.requests) > 0:
		q.closing = true
	default:
		q.hangUp(graceful)
	}
}

// Discard implements way.
func (q *pair) Discard() { q.flush() }
