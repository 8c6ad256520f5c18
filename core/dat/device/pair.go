package device

import (
	"errors"

	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/transport/ibv"
)

// Pair is a queue pair, the way of an endpoint's data.
type Pair struct {
	k        *Device
	end      Endpoint
	config   PairConfig
	qp       ibv.QP // 0: there is none, before the endpoint is configured and after its end
	number   uint32
	serial   uint32
	pool     *pool
	room     int   // of pool
	quiet    *pool // of receives that are solicited; nil: pool
	silent   int   // room of it
	call     *Call
	open     bool
	closing  bool // by a graceful end: no more requests
	failing  bool // a request has failed
	owner    bool // windows were bound that are its own
	opened   bool
	readsOut int // that may be under way; 0: none can be posted

	requests []request     // not complete, oldest first
	receives []*rc.Receive // likewise; of a Queue they are there
	sent     uint32        // number of requests[0]
	taken    uint32        // of receives[0]
}

// The ID of a completion has the serial of the pair or queue, and the number there. The highest bit
// marks receives: the adapter does not say whether a failed completion is of a receive or a request.
const receiveBit = 1 << 63

func requestID(serial, number uint32) uint64 { return uint64(serial)<<32 | uint64(number) }
func receiveID(serial, number uint32) uint64 { return receiveBit | requestID(serial, number) }

// request is a posted request. If the adapter does not know it, it is complete when all requests
// before it are.
type request struct {
	*rc.Request
	binding Binding // of a bind
	unknown bool
}

const (
	localEP  rc.Status = 3 // DAT_DTO_ERR_LOCAL_EP
	notReady rc.Status = 9 // DAT_DTO_ERR_RECEIVER_NOT_READY
)

var errNoPair = errors.New("uDAPL: the endpoint has no queue pair")

// NewPair makes a pair for an endpoint. It takes receives at once.
func (k *Device) NewPair(c PairConfig, end Endpoint) (*Pair, codes.Return) {
	q := &Pair{k: k, end: end, config: c}
	if c.Zone != nil {
		if r := q.make(); r != codes.Success {
			return nil, r
		}
	}
	return q, codes.Success
}

// Config is what it was made for.
func (q *Pair) Config() PairConfig { return q.config }

// make makes the queue pair.
func (q *Pair) make() (r codes.Return) {
	k, c := q.k, &q.config
	a := ibv.QPAttr{PD: c.Zone.z, Datagrams: c.Datagrams, MaxInline: k.info.MaxInline, MaxRequests: c.Requests,
		MaxReceives: c.Receives, RequestSegments: c.RequestSegments,
		ReceiveSegments: c.ReceiveSegments, QKey: datagramKey}
	if c.Queue != nil {
		a.SRQ, a.MaxReceives, a.ReceiveSegments = c.Queue.q, 0, 0
	}
	if r = q.reserve(); r != codes.Success {
		return r
	}
	a.SendCQ, a.RecvCQ = q.pool.c, q.pool.c
	if q.quiet != nil {
		a.RecvCQ = q.quiet.c
	}
	qp, number, err := k.d.CreateQP(a)
	if err != nil {
		q.giveBack()
		return codes.RefusedBy(err, codes.Arg(6))
	}
	q.qp, q.number, q.serial = qp, number, k.newSerial()
	k.pairs[q.serial], k.numbers[number] = q, q
	return codes.Success
}

// reserve finds room for the pair's completions.
func (q *Pair) reserve() (r codes.Return) {
	c := &q.config
	if q.room = c.Requests + c.Receives; c.Solicited != nil {
		q.room, q.silent = c.Requests, c.Receives
		if q.quiet, r = q.k.reserve(c.Receives, c.Solicited); r != codes.Success {
			return r
		}
	}
	if q.pool, r = q.k.reserve(q.room, nil); r != codes.Success && q.quiet != nil {
		q.k.giveBack(q.quiet, q.silent)
	}
	return r
}

func (q *Pair) giveBack() {
	q.k.giveBack(q.pool, q.room)
	if q.quiet != nil {
		q.k.giveBack(q.quiet, q.silent)
	}
}

// Free gives the queue pair back: the adapter touches no memory for it after that.
func (q *Pair) Free() {
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
	k.d.DestroyQP(q.qp)
	delete(k.pairs, q.serial)
	delete(k.numbers, q.number)
	q.giveBack()
	q.qp = 0
}

// Number is what peers name the queue pair by; 0: there is none.
func (q *Pair) Number() uint32 { return q.number }

// Configured says whether it has a queue pair.
func (q *Pair) Configured() bool { return q.qp != 0 }

// ops are requests as adapters know them.
var ops = [...]ibv.Op{rc.Send: ibv.OpSend, rc.Write: ibv.OpWrite,
	rc.Read: ibv.OpRead, rc.CompareSwap: ibv.OpCompareSwap,
	rc.FetchAdd: ibv.OpFetchAdd}

// opOf is the operation of a request that is no bind.
func opOf(r *rc.Request) ibv.Op {
	switch {
	case r.Immediate:
		return ibv.OpWriteImmediate
	case r.Invalidate:
		return ibv.OpSendInvalidate
	}
	return ops[r.Op]
}

// Post adds a request, with its local memory, which it does not keep; b is that of a bind. False:
// the connection is over.
func (q *Pair) Post(r *rc.Request, local []ibv.Segment, b Binding) bool {
	if !q.open || q.closing || q.failing {
		return false
	}
	at := q.sent + uint32(len(q.requests))
	r.Measure()
	switch {
	case r.Bad:
		r.Status = rc.LocalProtection
	case r.Op >= rc.Read && r.Op != rc.Bind && q.readsOut == 0:
		r.Status = localEP
	case r.Op == rc.Bind && b.Window() != nil:
		if q.postBind(b, requestID(q.serial, at), r.Fence) == nil {
			q.requests = append(q.requests, request{r, b, false})
			return true
		}
		r.Status = rc.Transport
	case r.Op != rc.Bind:
		w := &q.k.work
		*w = ibv.Work{ID: requestID(q.serial, at), Op: opOf(r), Signaled: true, Fence: r.Fence,
			Solicited: r.Solicited, Segments: local, RemoteAddr: r.Addr,
			RKey: r.Context, Immediate: r.Data, Operand: r.Operand, Compare: r.Compare}
		w.Inline = (r.Op == rc.Send || r.Op == rc.Write && !r.Immediate) &&
			r.Bytes() <= uint32(q.k.info.MaxInline)
		if q.k.d.PostSend(q.qp, w) == nil {
			q.requests = append(q.requests, request{r, nil, false})
			return true
		}
		r.Status = rc.Transport
	}
	q.requests = append(q.requests, request{r, b, true})
	q.settle()
	return true
}

// settle completes what the adapter does not know, as far as it is its turn.
func (q *Pair) settle() {
	for len(q.requests) > 0 && q.requests[0].unknown && !q.failing {
		q.completed(q.next())
	}
	if q.closing && q.open && len(q.requests) == 0 {
		q.k.endSoon(q)
	}
}

// completed reports a request, and ends the connection soon if it has failed.
func (q *Pair) completed(r request) {
	if r.Op == rc.Bind {
		r.apply()
	}
	if r.Status != rc.Success && r.Status != rc.Flushed && !q.config.Datagrams {
		q.k.breakOff(q)
	}
	q.end.Completed(r.Request)
}

// next takes the oldest request out.
func (q *Pair) next() request {
	r := q.requests[0]
	q.requests[0] = request{}
	q.requests = q.requests[1:]
	q.sent++
	return r
}

// PostReceive adds a receive, with its memory, which it does not keep.
func (q *Pair) PostReceive(r *rc.Receive, local []ibv.Segment) {
	at := q.taken + uint32(len(q.receives))
	err := error(errNoPair)
	if q.qp != 0 {
		err = q.k.receive(q.qp, 0, receiveID(q.serial, at), local)
	}
	if err != nil { // it is not known there; the queue pair has room for it, so this cannot be
		r.Status = rc.Flushed
		q.end.Received(r)
		return
	}
	q.receives = append(q.receives, r)
}

// complete takes a completion. Those of pairs that are gone are dropped.
func (k *Device) complete(c *ibv.Completion) {
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
		if last {
			k.reportRequest(c, &r)
		}
		if last && r.Status == rc.Success {
			r.Status = statusOf(c.Status)
		}
		q.completed(r)
	}
	q.settle()
}

func (k *Device) completeReceive(c *ibv.Completion, serial, number uint32) {
	q := k.pairs[serial]
	var r *rc.Receive
	if h := k.queues[serial]; h != nil {
		r = h.receives[number]
		delete(h.receives, number)
		if q = k.numbers[c.QPN]; q == nil { // its endpoint is gone
			h.owner.Lost()
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
	k.reportReceive(c, r)
	r.Status, r.N = statusOf(c.Status), c.N
	r.HasData, r.ByWrite, r.Immediate = c.HasData, c.ByWrite, c.Immediate
	if c.Invalidated {
		r.Invalid, r.Context = q.invalidated(c.Key) || !c.Perhaps, c.Key
	}
	if r.Status != rc.Success && r.Status != rc.Flushed && !q.config.Datagrams {
		k.breakOff(q)
	}
	q.end.Received(r)
}

// breakOff: a request or receive has failed. The connection ends once all completions that the
// adapter has are taken.
func (k *Device) breakOff(q *Pair) {
	if !q.failing {
		q.failing = true
		k.endSoon(q)
	}
}

// endSoon makes Progress end a connection: not in the midst of completions.
func (k *Device) endSoon(q *Pair) {
	k.broken = append(k.broken, q)
	k.wakeAt(1)
}

// endBroken ends connections that have failed.
func (k *Device) endBroken() (n int) {
	for ; len(k.broken) > 0; n++ {
		q := k.broken[0]
		k.broken = k.broken[1:]
		switch {
		case q.qp == 0: // it has ended meanwhile
		case q.open && q.failing:
			q.finish(rc.Broken)
		case q.open:
			q.hangUp(true)
		default: // not connected yet: the call finds out
			q.flush()
		}
	}
	return n
}

// flush ends what was posted, and the queue pair.
func (q *Pair) flush() {
	q.open = false
	q.Free()
	for len(q.requests) > 0 {
		r := q.next()
		if r.Status == rc.Success {
			r.Status = rc.Flushed
		}
		q.completed(r)
	}
	for _, r := range q.receives {
		r.Status = rc.Flushed
		q.end.Received(r)
	}
	q.receives = nil
}

// connected: requests may be posted.
func (q *Pair) connected(c *Call, readsOut int) {
	q.call, q.open, q.opened, q.readsOut = c, true, true, readsOut
}

// finish ends a connection that stands, other than by the program.
func (q *Pair) finish(how rc.Ending) {
	c := q.call
	q.flush()
	c.leave(how == rc.Broken)
	q.call = nil
	q.end.Ended(how)
}

// hangUp ends one as the program wants it. The program is notified when the peer is.
func (q *Pair) hangUp(graceful bool) {
	c := q.call
	q.flush()
	if q.end.Abandoned() {
		c.end = nil
	}
	c.hangUp(graceful)
}

// Opened says whether it was connected.
func (q *Pair) Opened() bool { return q.opened }

// Disconnect ends the connection, gracefully when what is posted is complete. Endpoint.Ended
// reports that.
func (q *Pair) Disconnect(graceful bool) {
	switch {
	case !q.open:
		if q.end.Abandoned() && q.call != nil {
			q.call.end = nil
		}
		q.flush()
	case graceful && len(q.requests) > 0:
		q.closing = true
	default:
		q.hangUp(graceful)
	}
}

// Discard ends what was never connected. Receives are flushed.
func (q *Pair) Discard() { q.flush() }
