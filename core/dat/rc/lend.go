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
	// whole, how many bytes of the next one; and the receive that each takes.
	Requests []*Request
	Whole    int
	Part     uint32
	Takes    []uint32
	// of what is expected, if a part of it has come: its header, and how many bytes
	Coming []byte
	Got    uint32
	Untold bool // the peer has not heard of Expected
}

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
		r.conn, r.seq, r.total = c, s.Oldest+uint32(i), uint32(sum(r.Segments))
		r.started, r.number = true, s.Takes[i]
		switch {
		case i < s.Whole:
			r.sent, r.all = r.total, true
		case i == s.Whole:
			r.sent = s.Part
		}
	}
	for _, r := range c.receives.list {
		r.total = sum(r.Segments)
	}
	if s.Got > 0 {
		c.resume(s)
	}
	if s.Untold {
		c.unsent |= tellDone
	}
	c.touch()
}

// resume goes on with a request of which a part has come.
func (c *Conn) resume(s State) {
	var h header
	h.decode(msgData, s.Coming)
	in, _ := c.slot(c.expected)
	*in = incoming{used: true, op: h.Op, flags: h.Flags, attempt: h.Attempt, total: h.Total,
		got: s.Got, context: h.Context, immediate: h.Immediate, number: h.Number, addr: h.Addr}
	c.coming++
	if h.Op == Send || h.Flags&flagImmediate != 0 {
		in.receive, _ = c.receives.take(h.Number)
	}
}
