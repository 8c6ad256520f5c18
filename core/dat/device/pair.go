package device

import (
	"lapi/core/dat/codes"
	"lapi/core/dat/rc"
	"lapi/cshim/dat/dev"
	"lapi/transport/ibv"
)

// Pair is a queue pair, the way of an endpoint's data. C posts to it, and takes its completions.
type Pair struct {
	k        *Device
	end      Endpoint
	config   PairConfig
	c        dev.Pair // none once it is closed
	qp       ibv.QP   // 0: there is none, before the endpoint is configured and after its end
	number   uint32
	pool     *pool
	room     int   // of pool
	quiet    *pool // of receives that are solicited; nil: pool
	silent   int   // room of it
	call     *Call
	open     bool
	closing  bool // by a graceful end: no more requests
	failing  bool // a request has failed
	owner    bool // windows of its own were bound
	opened   bool
	readsOut int // reads that may be under way; 0: none can be posted

	binds []bind // not complete, oldest first
}

// bind is a posted bind.
type bind struct {
	Binding
	r *rc.Request
}

const (
	localEP  rc.Status = 3 // DAT_DTO_ERR_LOCAL_EP
	notReady rc.Status = 9 // DAT_DTO_ERR_RECEIVER_NOT_READY
)

// NewPair makes a pair for an endpoint. It takes receives at once.
func (k *Device) NewPair(c PairConfig, end Endpoint) (*Pair, codes.Return) {
	q := &Pair{k: k, end: end, config: c}
	receives := c.Receives
	if c.Queue != nil {
		receives = 0
	}
	var ok bool
	if q.c, ok = k.c.OpenPair(c.Requests, receives); !ok {
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	if c.Zone != nil {
		if r := q.make(); r != codes.Success {
			q.Close()
			return nil, r
		}
	}
	return q, codes.Success
}

// Close ends a pair that has no queue pair, and of which nothing is posted.
func (q *Pair) Close() {
	if q.c != (dev.Pair{}) {
		q.c.Close()
		q.c = dev.Pair{}
	}
}

// Address is the address of C's part of it.
func (q *Pair) Address() uint64 { return q.c.Address() }

// SetOwner says whose objects events name and go to.
func (q *Pair) SetOwner(o dev.Owner) {
	q.c.SetOwner(o, q.config.Datagrams, q.config.Solicited != nil)
}

// SetLimits says which posts need no closer look.
func (q *Pair) SetLimits(l dev.Limits) { q.c.SetLimits(l) }

// Posted are the requests and receives that are not complete.
func (q *Pair) Posted() (requests, receives int) {
	if q.c == (dev.Pair{}) {
		return 0, 0
	}
	return q.c.Posted()
}

// Counters are the endpoint's, as C has counted: taking them clears them.
func (q *Pair) Counters() []uint64 {
	if q.c == (dev.Pair{}) {
		return nil
	}
	return q.c.Counters()
}

// Config is its configuration.
func (q *Pair) Config() PairConfig { return q.config }

// make makes the queue pair.
func (q *Pair) make() (r codes.Return) {
	k, c := q.k, &q.config
	a := ibv.QPAttr{PD: c.Zone.z, Datagrams: c.Datagrams, MaxInline: k.info.MaxInline, MaxRequests: c.Requests,
		MaxReceives: c.Receives, RequestSegments: c.RequestSegments,
		ReceiveSegments: c.ReceiveSegments, QKey: datagramKey}
	shared := dev.Queue{}
	if c.Queue != nil {
		a.SRQ, a.MaxReceives, a.ReceiveSegments = c.Queue.q, 0, 0
		shared = c.Queue.c
	}
	if r = q.reserve(); r != codes.Success {
		return r
	}
	a.SendCQ, a.RecvCQ = q.pool.cq, q.receivePool().cq
	qp, number, err := k.d.CreateQP(a)
	if err == nil && !q.c.Begin(uintptr(qp), number, shared) {
		k.d.DestroyQP(qp)
		err = errNoMemory
	}
	if err != nil {
		q.giveBack()
		return codes.RefusedBy(err, codes.Arg(6))
	}
	q.qp, q.number = qp, number
	k.pairs[q.c], k.numbers[number] = q, q
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

// receivePool is the pool in which receives complete.
func (q *Pair) receivePool() *pool {
	if q.quiet != nil {
		return q.quiet
	}
	return q.pool
}

func (q *Pair) giveBack() {
	q.k.giveBack(q.pool, q.room)
	if q.quiet != nil {
		q.k.giveBack(q.quiet, q.silent)
	}
}

// Free frees the queue pair: the adapter touches no memory for it after that.
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
	delete(k.pairs, q.c)
	delete(k.numbers, q.number)
	q.c.End()
	q.giveBack()
	q.qp = 0
}

// Number is the number by which peers name the queue pair; 0: there is none.
func (q *Pair) Number() uint32 { return q.number }

// Configured says whether it has a queue pair.
func (q *Pair) Configured() bool { return q.qp != 0 }

// Post posts a request, which was judged.
func (q *Pair) Post(r *dev.Request) codes.Return { return codes.Return(q.c.Post(r)) }

// PostReceive posts a receive, which was judged.
func (q *Pair) PostReceive(t []dev.Triplet, cookie uint64) codes.Return {
	return codes.Return(q.c.PostReceive(t, cookie))
}

// show shows C whether requests go to the adapter.
func (q *Pair) show() { q.c.SetOpen(q.open && !q.closing && !q.failing, q.readsOut) }

// PostBind posts a bind, which completes by Endpoint.Completed with r. False: the connection is over.
func (q *Pair) PostBind(r *rc.Request, b Binding) bool {
	if !q.open || q.closing || q.failing {
		return false
	}
	id := q.c.Bind()
	q.binds = append(q.binds, bind{b, r})
	if b.Window() != nil {
		if q.postBind(b, id, r.Fence) == nil {
			q.c.Known()
			return true
		}
		r.Status = rc.Transport
	}
	q.settle()
	return true
}

// settle completes what the adapter does not know, as far as it is its turn.
func (q *Pair) settle() {
	for !q.failing && q.qp != 0 {
		r, ok := q.c.Oldest()
		if !ok || r.Known {
			break
		}
		q.finish(&r, rc.Status(r.Status))
	}
	if n, _ := q.c.Posted(); q.closing && q.open && n == 0 {
		q.k.endSoon(q)
	}
}

// finish completes the oldest request, and ends the connection soon if it has failed.
func (q *Pair) finish(r *dev.Posted, status rc.Status) {
	if r.Op == dev.OpBind {
		q.finishBind(status)
		return
	}
	q.failed(status)
	q.c.FinishRequest(uint8(status))
}

func (q *Pair) finishBind(status rc.Status) {
	b := q.binds[0]
	q.binds = append(q.binds[:0], q.binds[1:]...)
	q.c.FinishRequest(0)
	if b.r.Status == rc.Success {
		b.r.Status = status
	}
	b.apply()
	q.failed(b.r.Status)
	q.end.Completed(b.r)
}

// failed ends the connection soon if status is that of a failure of its own.
func (q *Pair) failed(status rc.Status) {
	if status != rc.Success && status != rc.Flushed && !q.config.Datagrams {
		q.k.breakOff(q)
	}
}

// complete takes a completion of a request that C has left. Those of pairs that are gone are
// dropped.
func (k *Device) complete(n *dev.Notice) {
	q := k.pairs[n.Pair()]
	if q != nil && n.Skips() { // it is flushed with those before it
		if k.failPool(q.receivePool()) {
			k.host.Broken()
		}
		return
	}
	if n.IsReceive() {
		k.completeReceive(n, q)
		return
	}
	if q == nil {
		return
	}
	for {
		r, ok := q.c.Oldest()
		if !ok || int32(n.Number()-r.Number) < 0 {
			break
		}
		last, status := r.Number == n.Number(), rc.Status(r.Status)
		if last {
			k.reportRequest(n, &r)
		}
		if last && status == rc.Success {
			status = statusOf(ibv.Status(n.Status()))
		}
		if q.finish(&r, status); last {
			break
		}
	}
	q.settle()
}

func (k *Device) completeReceive(n *dev.Notice, q *Pair) {
	r, ok := n.Receive()
	if !ok || q == nil {
		return
	}
	k.reportReceive(n, &r)
	status := statusOf(ibv.Status(n.Status()))
	key, perhaps, invalid := n.Invalidated()
	if invalid {
		invalid = q.invalidated(key) || !perhaps
	}
	q.failed(status)
	n.FinishReceive(uint8(status), invalid)
}

// breakOff: a request or receive has failed. The connection ends once all completions that the
// adapter has are taken.
func (k *Device) breakOff(q *Pair) {
	if !q.failing {
		q.failing = true
		q.show()
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
			q.over(rc.Broken)
		case q.open:
			q.hangUp(true)
		default: // not connected yet: the call finds out
			q.flush()
		}
	}
	return n
}

// flush ends all posts, and the queue pair.
func (q *Pair) flush() {
	q.open = false
	if q.c == (dev.Pair{}) {
		return
	}
	q.show()
	q.Free()
	for {
		r, ok := q.c.Oldest()
		if !ok {
			break
		}
		status := rc.Status(r.Status)
		if status == rc.Success {
			status = rc.Flushed
		}
		q.finish(&r, status)
	}
	q.c.FlushReceives()
}

// connected: requests may be posted.
func (q *Pair) connected(c *Call, readsOut int) {
	q.call, q.open, q.opened, q.readsOut = c, true, true, readsOut
	q.show()
}

// over ends an established connection, other than by the program.
func (q *Pair) over(how rc.Ending) {
	c := q.call
	q.flush()
	c.leave(how == rc.Broken)
	q.call = nil
	q.end.Ended(how)
}

// hangUp ends a connection as the program asks. The program is notified when the peer is.
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

// Disconnect ends the connection, gracefully when all posts are complete. Endpoint.Ended reports
// that.
func (q *Pair) Disconnect(graceful bool) {
	requests, _ := q.Posted()
	switch {
	case !q.open:
		if q.end.Abandoned() && q.call != nil {
			q.call.end = nil
		}
		q.flush()
	case graceful && requests > 0:
		q.closing = true
		q.c.SetClosing()
	default:
		q.hangUp(graceful)
	}
}

// Discard ends a pair that was never connected. Receives are flushed.
func (q *Pair) Discard() { q.flush() }
