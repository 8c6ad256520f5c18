package rc

import (
	"errors"

	"lapi/transport"
	"lapi/transport/memory"
)

// word is the size that a processor stores at once: programs look at the last word of a write.
const word = 8

// incoming is a request of the peer's that has not taken effect.
type incoming struct {
	used    bool
	unready bool // it has found no receive; the rest of this attempt is dropped
	late    bool // likewise: its turn (flagBehind) has not come
	ready   bool // all of it has arrived, or fault is set
	// with what it fails when its turn is there, and the receive that it has; the rest is dropped
	fault, receiveFault Status
	held                int // bytes in last: the end of the write, in its last word
	last                [word]byte
	op                  Op
	flags               uint8
	attempt             uint8
	total               uint32
	got                 uint32
	context             uint32
	immediate           uint32
	number              uint32
	addr                uint64
	operand             uint64
	compare             uint64
	receive             *Receive
}

// responder is a connection's state of its peer's requests.
type responder struct {
	expected uint32 // number of the oldest request that has not taken effect
	slots    []incoming
	coming   int // slots in use
	receives receives
	readied  []uint32 // requests whose readiness must be sent to the peer
	// the answer to the oldest request, while it is being sent
	reply struct {
		on    bool
		sent  uint32 // bytes
		ops   int    // fragments whose memory the link needs
		from  transport.Addr
		value uint64 // of an atomic operation
	}
}

// PostReceive adds a receive. It completes by Owner.Received.
func (c *Conn) PostReceive(r *Receive) {
	r.total = sum(r.Segments)
	r.taken = false
	number := c.receives.base + uint32(len(c.receives.list))
	c.receives.post(r)
	for i := range c.slots {
		if s := &c.slots[i]; s.used && s.unready && s.number == number {
			c.offer(c.seqOf(i), r)
			return
		}
	}
}

// Receives is how many receives of its own are posted.
func (c *Conn) Receives() int {
	return len(c.receives.list)
}

// seqOf is the number of the request in a slot.
func (c *Conn) seqOf(slot int) uint32 {
	return c.expected + (uint32(slot)-c.expected)%Window
}

// slot is the place of a request; nil: it has taken effect already. ok is false if no peer may be
// so far.
func (c *Conn) slot(seq uint32) (s *incoming, ok bool) {
	at := seq - c.expected
	if at >= 1<<31 {
		return nil, true
	}
	if at >= Window {
		return nil, false
	}
	if c.slots == nil {
		c.slots = make([]incoming, Window)
	}
	return &c.slots[seq%Window], true
}

// onData takes a fragment.
func (c *Conn) onData(h *header, data []byte) bool {
	s, ok := c.slot(h.Seq)
	if s == nil || h.Op.asks() {
		return ok && s == nil
	}
	if !s.used {
		*s = incoming{used: true, op: h.Op, flags: h.Flags, attempt: h.Attempt, total: h.Total,
			context: h.Context, immediate: h.Immediate, number: h.Number, addr: h.Addr}
		c.coming++
	}
	switch {
	case s.fault != Success:
		return true
	case s.op != h.Op || s.total != h.Total || s.ready ||
		uint64(h.Offset)+uint64(len(data)) > uint64(s.total) ||
		uint64(s.got)+uint64(len(data)) > uint64(s.total):
		return h.Attempt != s.attempt && s.op == h.Op && s.total == h.Total
	case h.Attempt != s.attempt || s.unready || s.late:
		return true // of an attempt that was given up
	case s.flags&flagBehind != 0 && h.Seq != c.expected:
		s.late = true // it must not be placed before the other
		return true
	case s.receive == nil && (s.op == Send || s.flags&flagImmediate != 0) && !c.takeReceive(h.Seq,
		s):
		return c.state == over || s.unready
	}
	switch {
	case s.op == Send && uint64(s.total) > s.receive.total:
		s.fault, s.receiveFault = RemoteResponder, LocalLength
	case s.op == Send && (!usable(s.receive.Owner) ||
		scatter(s.receive.Segments, h.Offset, data) != nil):
		s.fault, s.receiveFault = RemoteResponder, LocalProtection
	case s.op == Write && !c.placeWrite(h, s, data):
		s.fault = RemoteAccess
	}
	s.got += uint32(len(data))
	if s.got == s.total || s.fault != Success {
		s.ready = true
		c.advance()
	}
	return true
}

// onPull takes a write whose data is still at the requester: it is to come in messages, as the
// next attempt.
func (c *Conn) onPull(h *header) bool {
	s, ok := c.slot(h.Seq)
	if s == nil || s.used || h.Op != Write || h.Flags&flagImmediate != 0 {
		return ok && s == nil
	}
	c.unpulled(h, s)
	return true
}

func (c *Conn) unpulled(h *header, s *incoming) {
	*s = incoming{used: true, op: Write, flags: h.Flags, attempt: h.Attempt + 1, total: h.Total,
		context: h.Context, addr: h.Addr}
	c.coming++
	c.readied = append(c.readied, h.Seq)
	c.touch()
}

// takeReceive finds a request's receive; false: there is none yet, or it cannot have one.
func (c *Conn) takeReceive(seq uint32, s *incoming) bool {
	if c.Shared != nil {
		s.receive = c.Shared.Take()
	} else {
		var ok bool
		if s.receive, ok = c.receives.take(s.number); !ok {
			return false
		}
	}
	if s.receive != nil {
		return true
	}
	s.unready = true
	c.readied = append(c.readied, seq)
	c.touch()
	if c.Shared != nil {
		c.Shared.wait(waits{c, seq})
	}
	return false
}

// wanting is the request of that number if it has found no receive; else nil.
func (c *Conn) wanting(seq uint32) *incoming {
	if s, _ := c.slot(seq); c.state != over && s != nil && s.used && s.unready {
		return s
	}
	return nil
}

// offer gives a receive to a request that has found none; false: it no longer needs one.
func (c *Conn) offer(seq uint32, r *Receive) bool {
	s := c.wanting(seq)
	if s == nil {
		return false
	}
	r.taken = true
	s.receive, s.unready, s.got = r, false, 0
	s.attempt++
	c.readied = append(c.readied, seq)
	c.touch()
	return true
}

// tellReadiness notifies the peer of requests that have found no receive, and of those that now
// have one. A request of the first kind becomes one of the second, so its newest state is enough.
func (c *Conn) tellReadiness() bool {
	for len(c.readied) > 0 {
		seq := c.readied[0]
		if s, _ := c.slot(seq); s != nil && s.used {
			id, attempt := msgReady, s.attempt
			if s.unready {
				id = msgNotReady
			}
			if !c.tell(id, &header{Seq: seq, Attempt: attempt}) {
				return false
			}
		}
		c.readied = c.readied[1:]
	}
	return true
}

// placeWrite places a fragment of a write, all but what is in the write's last word: a copy of many
// bytes may store its last ones first.
func (c *Conn) placeWrite(h *header, s *incoming, data []byte) bool {
	n := len(data)
	if n == 0 {
		return true
	}
	if s.got == 0 { // a write that does not fit changes nothing
		_, ok := c.Owner.Access(c, s.context, transport.Addr(s.addr), uint64(s.total),
			RightWrite)
		if !ok {
			return false
		}
	}
	addr, ok := c.Owner.Access(c, s.context, transport.Addr(s.addr+uint64(h.Offset)), uint64(n),
		RightWrite)
	if !ok {
		return false
	}
	end := uint64(addr) - uint64(h.Offset) + uint64(s.total)
	tail := min(s.total, uint32((end-1)%word)+1)
	if at := s.total - tail; h.Offset+uint32(n) > at { // a word may come in two fragments
		first := max(h.Offset, at)
		s.held = int(tail)
		copy(s.last[first-at:], data[first-h.Offset:])
		n = int(first - h.Offset)
	}
	return memory.CopyIn(addr, data[:n]) == nil
}

// onAsk takes a read or an atomic operation.
func (c *Conn) onAsk(h *header) bool {
	s, ok := c.slot(h.Seq)
	if s == nil || s.used || !h.Op.asks() || h.Op != Read && h.Total != 8 {
		return ok && s == nil
	}
	*s = incoming{used: true, ready: true, op: h.Op, total: h.Total, context: h.Context,
		addr: h.Addr, operand: h.Operand, compare: h.Compare}
	c.coming++
	c.advance()
	return true
}

// advance lets requests take effect, in order.
func (c *Conn) advance() {
	for c.state != over && c.slots != nil {
		s := &c.slots[c.expected%Window]
		if !s.used || !s.ready || c.reply.on {
			return
		}
		if !c.takeEffect(s) {
			return
		}
		c.passed(s)
	}
}

// passed counts the oldest request, which has taken effect.
func (c *Conn) passed(s *incoming) {
	r := s.receive
	if r != nil {
		c.finishReceive(r, s)
	}
	*s = incoming{}
	c.coming--
	c.expected++
	c.unsent |= tellDone
	c.touch()
	if next := &c.slots[c.expected%Window]; next.late {
		next.late = false
		next.attempt++
		c.readied = append(c.readied, c.expected)
	}
	if r != nil {
		c.Owner.Received(c, r)
	}
}

// takeEffect does what the oldest request asks for; false: it is not over yet, or the connection
// is.
func (c *Conn) takeEffect(s *incoming) bool {
	switch {
	case s.fault != Success:
		if s.receive != nil {
			s.receive.Status = s.receiveFault
		}
		c.breakOff(c.expected, s.fault)
		return false
	case s.op == Send && s.flags&flagInvalidate != 0 && !c.Owner.Invalidate(c, s.context):
		c.breakOff(c.expected, RemoteAccess)
		return false
	case s.op == Write && s.held > 0:
		at := transport.Addr(s.addr + uint64(s.total) - uint64(s.held))
		addr, ok := c.Owner.Access(c, s.context, at, uint64(s.held), RightWrite)
		if !ok || memory.CopyInLast(addr, s.last[:s.held]) != nil {
			c.breakOff(c.expected, RemoteAccess)
			return false
		}
	case s.op.asks() && s.total > 0:
		c.beginReply(s)
		return false
	}
	return true
}

func (c *Conn) finishReceive(r *Receive, s *incoming) {
	r.N = s.total
	r.HasData = s.flags&flagImmediate != 0
	r.Immediate = s.immediate
	r.ByWrite = s.op == Write
	r.Solicited = s.flags&flagSolicited != 0
	r.Invalid, r.Context = s.flags&flagInvalidate != 0, s.context
	if c.Shared == nil {
		c.receives.finish()
	}
}

// beginReply checks what a read or atomic operation asks for, makes the latter, and begins the
// answer.
func (c *Conn) beginReply(s *incoming) {
	right := RightRead
	if s.op != Read {
		right = RightAtomic
	}
	addr, ok := c.Owner.Access(c, s.context, transport.Addr(s.addr), uint64(s.total), right)
	if ok && s.op != Read {
		c.reply.value, ok = atomic(s, addr)
	}
	if !ok {
		c.breakOff(c.expected, RemoteAccess)
		return
	}
	c.reply.on, c.reply.sent, c.reply.from = true, 0, addr
	c.touch()
}

// atomic makes an atomic operation of 8 bytes, and returns the value before it.
func atomic(s *incoming, addr transport.Addr) (uint64, bool) {
	if addr%8 != 0 {
		return 0, false
	}
	kind := transport.AtomicAdd
	if s.op == CompareSwap {
		kind = transport.AtomicCAS
	}
	old, err := memory.Atomic(kind, addr, 8, s.operand, s.compare)
	return old, err == nil
}

// sendReplies goes on with an answer; false: the link has no room.
func (c *Conn) sendReplies() bool {
	for c.reply.on && c.state != over {
		s := &c.slots[c.expected%Window]
		if c.reply.sent == s.total {
			if c.reply.ops > 0 {
				return true
			}
			c.reply.on = false
			c.passed(s)
			c.advance()
			continue
		}
		switch err := c.sendReply(s); {
		case errors.Is(err, transport.ErrBusy):
			return false
		case err != nil:
			c.breakOff(c.expected, RemoteAccess)
		}
	}
	return true
}

// sendReply sends the next fragment of an answer.
func (c *Conn) sendReply(s *incoming) error {
	h := header{Seq: c.expected, Op: s.op, Total: s.total, Offset: c.reply.sent}
	if s.op != Read {
		h.Addr = c.reply.value
		c.reply.sent = s.total
		err := c.send(msgReply, &h, nil, Segment{})
		if err != nil {
			c.reply.sent = 0
		}
		return err
	}
	part := Segment{c.reply.from + transport.Addr(c.reply.sent),
		min(s.total-c.reply.sent, c.fragment)}
	err := c.send(msgReply, &h, c, part)
	if err == nil {
		c.reply.sent += part.N
	}
	return err
}

// released implements sender, of a fragment of an answer.
func (c *Conn) released(err error) {
	c.ops--
	c.reply.ops--
	var fault *transport.FaultError
	if errors.As(err, &fault) && c.state != over {
		c.breakOff(c.expected, RemoteAccess)
		return
	}
	c.touch()
	c.settle()
}

// dropSlots forgets the peer's requests. Receives that they have taken are flushed with the others.
func (c *Conn) dropSlots() {
	for i := range c.slots {
		if r := c.slots[i].receive; r != nil && c.Shared != nil {
			c.receives.post(r)
		}
	}
	if c.Shared != nil {
		c.Shared.leave(c)
	}
	c.slots, c.coming = nil, 0
	c.readied = nil
	c.reply.on = false
}

// flushReceives completes every receive of a connection that is over.
func (c *Conn) flushReceives() {
	for len(c.receives.list) > 0 {
		r := c.receives.list[0]
		if r.Status == Success {
			r.Status = Flushed
		}
		c.receives.finish()
		c.Owner.Received(c, r)
	}
}
