package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// collective is a Gfence or an Address_init of this task. They run one after the other in the order they were called, which
// must be the same in all tasks: its place in that order, the generation, is how tasks tell them apart.
//
//	first in line ──> (Gfence) own fence done ──> exchange of log2(tasks) rounds ──> done
type collective struct {
	generation uint32
	ticket     uint64
	isFence    bool
	fencing    bool
	fenced     bool
	value      uint64
	table      transport.Addr // gets a value of every task; 0: none wanted
	width      uint32         // of its entries: 4 or 8 bytes
}

// exchange is the state of one generation. Values are relative: number i is that of task (me+i) mod n. In round r a task
// sends what it has, values 0 … 2^r-1, to the task 2^r below it and gets as many from the task 2^r above.
type exchange struct {
	generation uint32
	values     []byte
	got        []uint32 // by round: values, or messages of a fence, that came
	round      int
	sent       bool // what this round sends
	sends      int  // messages that still refer to values
	started    bool
	over       bool
}

// GfenceBegin is LAPI_Gfence.
func (c *Context) GfenceBegin() (uint64, codes.Code) {
	return c.beginCollective(&collective{isFence: true})
}

// AddressInitBegin is LAPI_Address_init (width: bytes of a pointer) and LAPI_Address_init64 (8): before the ticket is done, table
// gets value of every task.
func (c *Context) AddressInitBegin(value uint64, table transport.Addr, width uint32) (uint64, codes.Code) {
	if table == 0 {
		return 0, codes.ErrRetPtrNull
	}
	return c.beginCollective(&collective{value: value, table: table, width: width})
}

func (c *Context) beginCollective(k *collective) (uint64, codes.Code) {
	memory.Guard()
	if c.persistent {
		return 0, codes.ErrCollectivePSS
	}
	if c.everPurged {
		return 0, codes.ErrTgtPurged
	}
	for i := range c.tasks {
		if c.tasks[i].dead {
			return 0, codes.ErrNoConnectivity
		}
	}
	if code := c.barrier.failure(); code != codes.Success {
		return 0, code // it was a peer that has given up
	}
	c.nextExchange++
	k.generation = c.nextExchange
	k.ticket = c.newTicket()
	c.collectives = append(c.collectives, k)
	c.advanceCollectives()
	c.publish()
	return k.ticket, codes.Success
}

// advanceCollectives moves the first in line on as far as it goes, then the next.
func (c *Context) advanceCollectives() {
	for len(c.collectives) > 0 {
		k := c.collectives[0]
		if k.isFence && !k.fenced {
			if !k.fencing {
				k.fencing = true
				c.beginFence(&fence{collective: k, done: func(_ *Context, f *fence) { f.collective.fenced = true }})
			}
			if !k.fenced {
				return
			}
		}
		x := c.exchangeOf(k.generation)
		if !c.advanceExchange(k, x) {
			return
		}
		code := codes.Success
		if k.table != 0 {
			code = c.storeTable(k, x)
		}
		c.collectives = append(c.collectives[:0], c.collectives[1:]...)
		c.endExchange(x)
		c.endTicket(k.ticket, code)
	}
}

// exchangeOf is the state of a generation, made when the first that has to do with it asks.
func (c *Context) exchangeOf(generation uint32) *exchange {
	x := c.exchanges[generation]
	if x == nil {
		if n := len(c.freeExchanges); n > 0 {
			x = c.freeExchanges[n-1]
			c.freeExchanges = c.freeExchanges[:n-1]
			clear(x.got)
			x.round, x.sent, x.started, x.over = 0, false, false, false
		} else {
			x = &exchange{values: make([]byte, 8*len(c.tasks)), got: make([]uint32, rounds(len(c.tasks)))}
		}
		x.generation = generation
		c.exchanges[generation] = x
	}
	return x
}

// endExchange keeps x for later once no message refers to it.
func (c *Context) endExchange(x *exchange) {
	delete(c.exchanges, x.generation)
	c.doneExchange = x.generation
	x.over = true
	if x.sends == 0 {
		c.freeExchanges = append(c.freeExchanges, x)
	}
}

func rounds(n int) (r int) {
	for 1<<r < n {
		r++
	}
	return r
}

// share is how many values a round moves.
func share(round, n int) int { return min(1<<round, n-1<<round) }

// advanceExchange sends and checks round after round; true: all of them are over.
func (c *Context) advanceExchange(k *collective, x *exchange) bool {
	n := len(c.tasks)
	if !x.started {
		x.started = true
		wire.Order.PutUint64(x.values, k.value)
	}
	for x.round < len(x.got) {
		if !x.sent {
			x.sent = true
			c.sendRound(k, x)
		}
		want := uint32(1)
		if k.table != 0 {
			want = uint32(share(x.round, n))
		}
		if x.got[x.round] < want {
			return false
		}
		x.round++
		x.sent = false
	}
	return true
}

// sendRound sends this round's values, or an empty message for a fence.
func (c *Context) sendRound(k *collective, x *exchange) {
	n := len(c.tasks)
	t := &c.tasks[(c.me-1<<x.round+n)%n]
	h := wire.Exchange{Generation: x.generation, Round: uint32(x.round)}
	if k.table == 0 {
		c.sendControl(t, wire.MsgExchange, IntErr, h.Encode)
		return
	}
	total, most := share(x.round, n), t.sendMax/8
	for first := 0; first < total; first += most {
		count := min(most, total-first)
		h.First, h.Count = uint32(first), uint32(count)
		m := c.newOutgoing(t, wire.MsgExchange, IntErr)
		m.hdrLen = len(h.Encode(m.hdr[:]))
		m.data, m.n = memory.AddrOf(x.values[8*first:]), uint64(8*count)
		m.first = m.n
		m.state, m.finished = x, c.exchangeSent
		x.sends++
		c.start(m)
	}
}

// roundSent: a message with values has left.
func (c *Context) roundSent(m *outgoing) {
	x := m.state
	if x.sends--; x.sends == 0 && x.over {
		c.freeExchanges = append(c.freeExchanges, x)
	}
}

// onExchange: values, or word of a fence, from a task above. It may be ahead of this task by one generation.
func (c *Context) onExchange(m *transport.Msg) transport.Verdict {
	var h wire.Exchange
	n := len(c.tasks)
	if h.Decode(m.Hdr, len(m.Data)) && (h.Round == refusedRound || c.everPurged) {
		c.refuseExchange(&c.tasks[m.From], h.Round)
		return transport.Accept
	}
	if !h.Decode(m.Hdr, len(m.Data)) || h.Round >= uint32(rounds(n)) || h.Generation-c.doneExchange-1 > 1<<16 {
		return c.malformed(m)
	}
	if h.Count == 0 {
		c.exchangeOf(h.Generation).got[h.Round]++
		return transport.Accept
	}
	if !wire.Inside(uint64(h.First), uint64(h.Count), uint64(share(int(h.Round), n))) {
		return c.malformed(m)
	}
	x := c.exchangeOf(h.Generation)
	copy(x.values[8*(1<<h.Round+int(h.First)):], m.Data)
	x.got[h.Round] += h.Count
	return transport.Accept
}

// storeTable writes the values of all tasks to the user's table.
func (c *Context) storeTable(k *collective, x *exchange) codes.Code {
	n := len(c.tasks)
	for i := range n {
		to := transport.Addr((c.me + i) % n * int(k.width))
		if err := memory.CopyIn(k.table+to, x.values[8*i:8*i+int(k.width)]); err != nil {
			c.fault(err, codes.ErrRetPtrNull, IntErr, c.me)
			return codes.ErrRetPtrNull
		}
	}
	return codes.Success
}

// failCollectives ends all collectives under way: a task is gone that they need.
func (c *Context) failCollectives(code codes.Code) {
	for _, k := range c.collectives {
		c.endTicket(k.ticket, code)
	}
	c.collectives = c.collectives[:0]
	c.barrier.fail(code)
}
