package rc

import (
	"encoding/binary"
	"errors"
	"slices"

	"lapi/transport"
)

// Request is a posted request. The owner fills the upper part; until Completed it is the
// connection's.
type Request struct {
	Op         Op
	Immediate  bool // of a write: it takes a receive there, with Data
	Invalidate bool // of a send: Context is to be invalidated
	Solicited  bool
	Fence      bool // it starts when all reads before it are complete
	Data       uint32
	Segments   []Segment
	Addr       uint64 // remote
	Context    uint32
	Operand    uint64 // to add; or to swap in
	Compare    uint64
	Bad        bool   // its local memory cannot be accessed: it completes with LocalProtection
	Owner      Posted // nil: its memory stays

	Status Status // when it completes

	conn     *Conn
	seq      uint32
	number   uint32 // of the receive that it takes
	total    uint32
	sent     uint32 // bytes given to the link; total once all fragments are
	got      uint32 // bytes of the answer
	ops      int    // fragments whose memory the link needs
	attempt  uint8
	started  bool
	all      bool // every fragment was sent, in this attempt
	waits    bool // for a receive
	behind   bool // it overlaps with an earlier incomplete write
	answered bool // the responder is done with it
}

// takesReceive says whether the request needs a receive at the peer.
func (r *Request) takesReceive() bool { return r.Op == Send || r.Op == Write && r.Immediate }

// Bytes is how long the request's data is.
func (r *Request) Bytes() uint32 { return r.total }

// Measure sets the length that Bytes returns, for engines that do requests without a connection.
func (r *Request) Measure() { r.total = uint32(sum(r.Segments)) }

// requester is a connection's state of its own requests.
type requester struct {
	requests []*Request // not complete, oldest first
	oldest   uint32     // its number
	next     int        // in requests: the first that is not sent as a whole
	numbers  uint32     // receives that requests have taken
	reads    int        // under way
	readsMax int
	unready  int // wait for a receive
}

// Pending is how many requests are not complete.
func (c *Conn) Pending() int {
	return len(c.requests)
}

// Post adds a request. It completes by Owner.Completed, never from inside. False: the connection is
// not open any more.
func (c *Conn) Post(r *Request) bool {
	if c.state != open {
		return false
	}
	if r.conn, r.Status = c, Success; r.Bad {
		r.Status = LocalProtection
	}
	r.total = uint32(sum(r.Segments))
	r.sent, r.got, r.ops, r.attempt = 0, 0, 0, 0
	r.started, r.all, r.waits, r.answered = false, false, false, false
	c.requests = append(c.requests, r)
	c.touch()
	return true
}

// request is the request of a number, if it was started.
func (c *Conn) request(seq uint32) *Request {
	at := seq - c.oldest
	if at >= uint32(len(c.requests)) || !c.requests[at].started {
		return nil
	}
	return c.requests[at]
}

// sendRequests sends what may be sent; false: the link has no room.
func (c *Conn) sendRequests() bool {
	for c.next < len(c.requests) {
		r := c.requests[c.next]
		if r.Status != Success {
			c.complete()
			return true
		}
		if r.Op == Bind {
			if c.next > 0 { // its turn comes when all before it are complete
				return true
			}
			if c.bind(r); c.state == over {
				return true
			}
			continue
		}
		if !r.started && !c.start(r) {
			return true
		}
		if !r.waits && !r.all {
			switch err := c.sendRequest(r); {
			case errors.Is(err, transport.ErrBusy):
				return false
			case err != nil:
				c.failLocal(r)
				return true
			}
		}
		c.next++
	}
	return true
}

// bind has the oldest request, a bind, take effect, and completes it. It takes no number, as the
// peer learns nothing of it; so no bind is among the started requests.
func (c *Conn) bind(r *Request) {
	if r.started, r.answered = true, true; r.Owner == nil || !r.Owner.Bind() {
		r.Status = BindFailed
	}
	c.complete()
}

// start begins a request, if it may begin.
func (c *Conn) start(r *Request) bool {
	if c.next >= Window || r.Fence && c.reads > 0 || r.Op.asks() && c.reads >= c.readsMax ||
		r.takesReceive() && c.unready > 0 {
		return false
	}
	r.started, r.seq = true, c.oldest+uint32(c.next)
	r.behind = r.Op == Write && slices.ContainsFunc(c.requests[:c.next], r.overlaps)
	if r.Op.asks() {
		c.reads++
	}
	if r.takesReceive() {
		r.number = c.numbers
		c.numbers++
	}
	return true
}

// overlaps says whether another write goes to memory that r, a write, goes to. Of what is named
// from 0 on that is known where both are named by the same context.
func (r *Request) overlaps(o *Request) bool {
	return o.Op == Write && r.Addr-o.Addr < uint64(o.total) ||
		o.Op == Write && o.Addr-r.Addr < uint64(r.total)
}

// sendRequest sends the rest of a request.
func (c *Conn) sendRequest(r *Request) error {
	h := header{Seq: r.seq, Op: r.Op, Attempt: r.attempt, Total: r.total, Addr: r.Addr,
		Context: r.Context, Immediate: r.Data, Number: r.number, Operand: r.Operand,
		Compare: r.Compare}
	for _, f := range []struct {
		set bool
		bit uint8
	}{{r.Immediate, flagImmediate}, {r.Invalidate, flagInvalidate}, {r.Solicited, flagSolicited},
		{r.behind, flagBehind}} {
		if f.set {
			h.Flags |= f.bit
		}
	}
	if r.Op.asks() {
		err := c.send(msgAsk, &h, nil, Segment{})
		r.all = err == nil
		return err
	}
	for {
		part := piece(r.Segments, r.sent, c.fragment)
		h.Offset = r.sent
		if err := c.send(msgData, &h, r, part); err != nil {
			return err
		}
		if r.sent += part.N; r.sent == r.total {
			r.all = true
			return nil
		}
	}
}

// held implements sender.
func (r *Request) held() {
	r.conn.ops++
	r.ops++
}

// released implements sender.
func (r *Request) released(err error) {
	c := r.conn
	c.ops--
	r.ops--
	var fault *transport.FaultError
	if errors.As(err, &fault) && c.state != over {
		c.failLocal(r)
	}
	c.complete()
	c.settle()
}

// failLocal: a request's own memory is bad. Nothing is sent any more, and the connection ends
// when the requests before it are complete.
func (c *Conn) failLocal(r *Request) {
	r.Status = LocalProtection
	c.complete()
}

// complete completes what is done, in order.
func (c *Conn) complete() {
	for len(c.requests) > 0 && c.state != over {
		r := c.requests[0]
		if r.Status != Success {
			c.tellEnd(r.seq, Success, flagError)
			c.end(Broken)
			return
		}
		if !r.started || !r.answered || r.ops > 0 || r.Op.asks() && r.got < r.total {
			return
		}
		c.finish(r)
	}
	if c.state == closing && len(c.requests) == 0 {
		c.tellEnd(0, Success, 0)
		c.end(ByUser)
	}
}

// finish takes the oldest request out and reports it to the owner.
func (c *Conn) finish(r *Request) {
	c.requests[0] = nil
	c.requests = c.requests[1:]
	if r.Op != Bind {
		c.oldest++
	}
	c.next = max(c.next-1, 0)
	if r.started && r.Op.asks() {
		c.reads--
	}
	c.touch()
	c.Owner.Completed(c, r)
}

// flushRequests completes everything of a connection that is over. No request behind a failed one
// completes with success.
func (c *Conn) flushRequests() {
	for failed := false; len(c.requests) > 0; {
		r := c.requests[0]
		done := r.started && r.answered && !(r.Op.asks() && r.got < r.total)
		if r.Status == Success && (failed || !done) {
			r.Status = Flushed
		}
		failed = failed || r.Status != Success
		c.finish(r)
	}
}

// onDone: the responder is done with everything before seq.
func (c *Conn) onDone(seq uint32) bool {
	n := seq - c.oldest
	if n >= 1<<31 {
		return true // an old one, overtaken
	}
	if n > uint32(len(c.requests)) || n > 0 && !c.requests[n-1].started {
		return false
	}
	for _, r := range c.requests[:n] {
		r.answered = true
	}
	c.complete()
	return true
}

// onReply takes a fragment of the answer.
func (c *Conn) onReply(h *header, data []byte) bool {
	r := c.request(h.Seq)
	if r != nil && r.Op != Read { // the value is in the header
		data = binary.LittleEndian.AppendUint64(nil, h.Addr)
	}
	if r == nil || !r.Op.asks() || uint64(r.got)+uint64(len(data)) > uint64(r.total) ||
		uint64(h.Offset)+uint64(len(data)) > uint64(r.total) {
		return false
	}
	if !usable(r.Owner) || scatter(r.Segments, h.Offset, data) != nil {
		c.failLocal(r)
		return true
	}
	r.got += uint32(len(data))
	if r.got == r.total {
		r.answered = true
		c.complete()
	}
	if c.last != nil && c.state != over {
		return c.onEnd(c.last)
	}
	return true
}

// owesReply says whether the answer to a request before seq is on its way.
func (c *Conn) owesReply(seq uint32) bool {
	return !c.isOld(seq) && slices.ContainsFunc(c.requests[:seq-c.oldest], func(r *Request) bool {
		return r.Op.asks() && r.got < r.total && r.Status == Success
	})
}

// isOld says whether the request of a number is complete: what is said of it was overtaken.
func (c *Conn) isOld(seq uint32) bool { return seq-c.oldest >= 1<<31 }

// onNotReady: a request has found no receive.
func (c *Conn) onNotReady(h *header) bool {
	r := c.request(h.Seq)
	if r == nil || !r.takesReceive() {
		return c.isOld(h.Seq)
	}
	if h.Attempt == r.attempt && !r.waits {
		r.waits = true
		c.unready++
	}
	return true
}

// onReady: now there is one. The message may overtake the other. Or the peer does not read a
// write's data by itself.
func (c *Conn) onReady(h *header) bool {
	r := c.request(h.Seq)
	if r == nil || !r.takesReceive() && r.Op != Write {
		return c.isOld(h.Seq)
	}
	if h.Attempt != r.attempt+1 {
		return true
	}
	if r.waits {
		r.waits = false
		c.unready--
	}
	r.attempt, r.sent, r.all = h.Attempt, 0, false
	c.next = min(c.next, int(h.Seq-c.oldest))
	c.touch()
	return true
}
