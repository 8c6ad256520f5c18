package rc

// State is what a connection lends to its owner while the two have nothing to tell each other: a
// faster way goes on with it. All numbers are those of this package.
type State struct {
	Oldest   uint32 // of the own requests: number of the oldest, or next
	Numbers  uint32 // receives of the peer's that requests have taken
	Expected uint32 // of the peer's: number of the one that takes effect next
	Base     uint32 // number of the oldest receive
	Receives []*Receive
	// Of a returned state: requests that are not complete, how many of them were sent as a
	// whole, how many bytes of the next one; the receive that each takes, how much of what it
	// asks for has come; and the number before which everything has taken effect.
	Requests []*Request
	Whole    int
	Part     uint32
	Takes    []uint32
	Answers  []uint32
	Done     uint32
	// of what is expected, if something of it has come: its header, and what is under way
	Coming   []byte
	ComingAs Coming
	Got      uint32 // bytes that are here, or of the answer that were sent
	Untold   bool   // the peer has not heard of Expected
}

// Coming is what of a request has come when the state is returned.
type Coming int

// What has come.
const (
	Nothing Coming = iota
	Data           // a part of its data
	Pull           // half of a write was read here; the other half is not announced
	Asked          // a read: a part of the answer was sent
)

// Lend gives the owner the connection's state; false: something of it is under way, or a receive
// does not fit. back is called once, when the connection needs it: it must call Return.
func (c *Conn) Lend(fits func(r *Receive) bool, back func()) (s State, ok bool) {
	if c.state != open || len(c.requests) > 0 || c.unsent != 0 || c.ops > 0 || c.coming > 0 ||
		len(c.readied) > 0 || c.reply.on || c.Shared != nil || c.lent != nil || c.listed {
		return s, false
	}
	for _, r := range c.receives.list {
		if !fits(r) {
			return s, false
		}
	}
	s = State{Oldest: c.oldest, Numbers: c.numbers, Expected: c.expected, Base: c.receives.base,
		Receives: c.receives.list}
	c.requests, c.receives.list = nil, nil
	c.lent = back
	return s, true
}

// Reads is how many reads and atomic operations may be under way.
func (c *Conn) Reads() int { return c.readsMax }

// Recall has the owner return the state, if it was lent. Every call of this package that needs it
// does so.
func (c *Conn) Recall() {
	if back := c.lent; back != nil {
		c.lent = nil
		back()
	}
}

// Return is the end of Lend.
func (c *Conn) Return(s State) {
	c.oldest, c.numbers, c.expected = s.Oldest, s.Numbers, s.Expected
	c.receives = receives{list: s.Receives, base: s.Base}
	c.requests, c.next = s.Requests, s.Whole
	for i, r := range c.requests {
		c.returned(r, i, &s)
	}
	for _, r := range c.receives.list {
		r.total = sum(r.Segments)
	}
	if s.ComingAs != Nothing {
		c.resume(s)
	}
	if s.Untold {
		c.unsent |= tellDone
	}
	c.touch()
}

// returned is the i-th request as the owner returns it.
func (c *Conn) returned(r *Request, i int, s *State) {
	r.conn, r.seq, r.total = c, s.Oldest+uint32(i), uint32(sum(r.Segments))
	r.started, r.number, r.got = true, s.Takes[i], s.Answers[i]
	switch {
	case i < s.Whole:
		r.sent, r.all = r.total, true
	case i == s.Whole && !r.Op.asks():
		r.sent = s.Part
	}
	if r.Op.asks() {
		c.reads++
	}
	if r.Op.asks() && r.total > 0 {
		r.answered = r.got == r.total
	} else {
		r.answered = r.all && int32(s.Done-r.seq) > 0
	}
}

// resume goes on with a request of which something has come.
func (c *Conn) resume(s State) {
	var h header
	h.decode(msgData, s.Coming)
	in, _ := c.slot(c.expected)
	if s.ComingAs == Pull {
		c.unpulled(&h, in)
		return
	}
	*in = incoming{used: true, op: h.Op, flags: h.Flags, attempt: h.Attempt, total: h.Total,
		got: s.Got, context: h.Context, immediate: h.Immediate, number: h.Number, addr: h.Addr}
	c.coming++
	if s.ComingAs == Asked {
		in.ready = true
		if c.beginReply(in); c.reply.on {
			c.reply.sent = s.Got
		}
		return
	}
	if h.Op == Send || h.Flags&flagImmediate != 0 {
		in.receive, _ = c.receives.take(h.Number)
	}
}
