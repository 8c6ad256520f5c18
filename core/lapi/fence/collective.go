package fence

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/send"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// collective is a Gfence or an Address_init of this task. They run one after the other in the order
// they were called, which must be the same in all tasks: its place in that order, the generation,
// is how tasks tell them apart.
//
//	first in line ──> (Gfence) own fence done ──> log2(tasks) rounds of exchange
//	    ──> own messages delivered ──> done
type collective struct {
	generation uint32
	ticket     uint64
	isFence    bool
	fencing    bool
	fenced     bool
	code       codes.Code // its result
	value      uint64
	table      transport.Addr // gets a value of every task; 0: none wanted
	width      uint32         // of its entries: 4 or 8 bytes
}

// exchange is the state of one generation. Values are relative: number i is that of task (me+i) mod
// n. In round r a task sends what it has, values 0 … 2^r-1, to the task 2^r below it and gets as
// many from the task 2^r above.
type exchange struct {
	generation uint32
	values     []byte
	got        []uint32 // by round: values, or messages of a fence, that came
	round      int
	sent       bool // what this round sends
	started    bool
	deliveries []*delivery // of what was sent
}

// ahead is how many generations a task may be ahead of another, far more than the protocol allows.
const ahead = 1 << 16

// CollectiveConfig is what Collectives need of others.
type CollectiveConfig struct {
	Me      int
	Peers   []peer.Peer
	Out     *send.Sender
	Fences  *Fences
	Tickets *Tickets
	Medium  Medium
	Clock   transport.Clock
	// Fault reports a table that cannot be written.
	Fault func(err error)
	// Await is called for a task that a collective waits for.
	Await func(p *peer.Peer)
	// Failed is called when all collectives under way have failed, once each time.
	Failed func(code codes.Code)
}

// Collectives are those of one context.
type Collectives struct {
	cfg       CollectiveConfig
	line      []*collective
	exchanges map[uint32]*exchange // by generation: under way, or begun by others
	free      []*exchange
	delivered []*delivery // for later
	next      uint32      // generation of the latest collective here
	done      uint32      // of the latest that is over
	lost      int         // a lost task that another task has reported, plus 1; 0: none
	givenUp   bool        // here, or in a task that shares our collectives: there are none any more
}

// NewCollectives begins without collectives.
func NewCollectives(cfg CollectiveConfig) *Collectives {
	return &Collectives{cfg: cfg, exchanges: map[uint32]*exchange{}}
}

// GivenUp says whether there are no collectives any more.
func (c *Collectives) GivenUp() bool { return c.givenUp }

// UnderWay is how many there are.
func (c *Collectives) UnderWay() int { return len(c.line) }

// Needs says whether a collective under way still needs something that a task has not sent.
func (c *Collectives) Needs(task int) bool {
	n := len(c.cfg.Peers)
	for _, k := range c.line {
		x := c.exchanges[k.generation]
		for round := range rounds(n) {
			if (c.cfg.Me+1<<round)%n == task && (x == nil || x.got[round] < k.wants(round, n)) {
				return true
			}
		}
	}
	return false
}

// wants is how many values, or messages of a fence, come in a round.
func (k *collective) wants(round, n int) uint32 {
	if k.table == 0 {
		return 1
	}
	return uint32(share(round, n))
}

// Gfence begins LAPI_Gfence.
func (c *Collectives) Gfence() uint64 { return c.begin(&collective{isFence: true}) }

// AddressInit begins LAPI_Address_init (width: bytes of a pointer) and LAPI_Address_init64 (8):
// before the ticket is done, table gets value of every task.
func (c *Collectives) AddressInit(value uint64, table transport.Addr, width uint32) uint64 {
	return c.begin(&collective{value: value, table: table, width: width})
}

func (c *Collectives) begin(k *collective) uint64 {
	c.next++
	k.generation = c.next
	k.ticket = c.cfg.Tickets.New()
	c.line = append(c.line, k)
	c.Advance()
	return k.ticket
}

// Advance moves the first in line on as far as it goes, then the next.
func (c *Collectives) Advance() {
	for len(c.line) > 0 {
		k := c.line[0]
		if k.isFence && !k.fencing {
			k.fencing = true
			fenced := func(code codes.Code) { k.fenced, k.code = true, code }
			if over, code := c.cfg.Fences.Begin(fenced); over {
				fenced(code)
			}
		}
		if k.isFence && !k.fenced {
			return
		}
		x := c.exchangeOf(k.generation)
		if !c.advance(k, x) {
			return
		}
		if k.table != 0 {
			k.code = c.store(k, x)
		}
		c.line = append(c.line[:0], c.line[1:]...)
		c.end(x)
		c.cfg.Tickets.End(k.ticket, k.code)
	}
}

// exchangeOf is the state of a generation, made at its first use.
func (c *Collectives) exchangeOf(generation uint32) *exchange {
	x := c.exchanges[generation]
	if x != nil {
		return x
	}
	if n := len(c.free); n > 0 {
		x = c.free[n-1]
		c.free = c.free[:n-1]
		clear(x.got)
		*x = exchange{values: x.values, got: x.got, deliveries: x.deliveries[:0]}
	} else {
		n := len(c.cfg.Peers)
		x = &exchange{values: make([]byte, 8*n), got: make([]uint32, rounds(n))}
	}
	x.generation = generation
	c.exchanges[generation] = x
	return x
}

// end keeps x for later.
func (c *Collectives) end(x *exchange) {
	delete(c.exchanges, x.generation)
	c.done = x.generation
	c.free = append(c.free, x)
}

func rounds(n int) (r int) {
	for 1<<r < n {
		r++
	}
	return r
}

// share is how many values a round moves.
func share(round, n int) int { return min(1<<round, n-1<<round) }

// advance sends and checks round after round; true: all of them are over.
func (c *Collectives) advance(k *collective, x *exchange) bool {
	if !x.started {
		x.started = true
		wire.Order.PutUint64(x.values, k.value)
	}
	for x.round < len(x.got) {
		if !x.sent {
			x.sent = true
			c.sendRound(k, x)
			n := len(c.cfg.Peers)
			c.deliver(x, &c.cfg.Peers[(c.cfg.Me-1<<x.round+n)%n])
			c.cfg.Await(&c.cfg.Peers[(c.cfg.Me+1<<x.round)%n])
		}
		if x.got[x.round] < k.wants(x.round, len(c.cfg.Peers)) {
			return false
		}
		x.round++
		x.sent = false
	}
	return c.mayLeave(x)
}

// sendRound sends this round's values, or an empty message for a fence.
func (c *Collectives) sendRound(k *collective, x *exchange) {
	n := len(c.cfg.Peers)
	p := &c.cfg.Peers[(c.cfg.Me-1<<x.round+n)%n]
	h := wire.Exchange{Generation: x.generation, Round: uint32(x.round)}
	if k.table == 0 {
		c.cfg.Out.Control(p, wire.MsgExchange, codes.IntErr, h.Encode)
		return
	}
	total, most := share(x.round, n), int(p.SendMax()/8)
	for first := 0; first < total; first += most {
		count := min(most, total-first)
		h.First, h.Count = uint32(first), uint32(count)
		c.cfg.Out.Values(p, wire.MsgExchange, h.Encode, x.values[8*first:8*(first+count)])
	}
}

// Received is the handler of MsgExchange: values, or the message of a fence, from a task above. It
// may be ahead of this task by one generation.
func (c *Collectives) Received(m *transport.Msg) transport.Verdict {
	var h wire.Exchange
	p, n := &c.cfg.Peers[m.From], len(c.cfg.Peers)
	ok := h.Decode(m.Hdr, len(m.Data))
	if ok && (h.Round == wire.RefusedRound || c.givenUp) {
		c.refuse(p, h.Round)
		return transport.Accept
	}
	if ok && h.Round == wire.LostRound && h.First < uint32(n) && int(h.First) != c.cfg.Me {
		c.lost = int(h.First) + 1
		return transport.Accept
	}
	if !ok || h.Round >= uint32(rounds(n)) || h.Generation-c.done-1 > ahead {
		return p.Malformed()
	}
	if h.Count == 0 {
		c.exchangeOf(h.Generation).got[h.Round]++
		return transport.Accept
	}
	if !wire.Inside(uint64(h.First), uint64(h.Count), uint64(share(int(h.Round), n))) {
		return p.Malformed()
	}
	x := c.exchangeOf(h.Generation)
	copy(x.values[8*(1<<h.Round+int(h.First)):], m.Data)
	x.got[h.Round] += h.Count
	return transport.Accept
}

// store writes the values of all tasks to the user's table.
func (c *Collectives) store(k *collective, x *exchange) codes.Code {
	n := len(c.cfg.Peers)
	for i := range n {
		to := transport.Addr((c.cfg.Me + i) % n * int(k.width))
		if err := memory.CopyIn(k.table+to, x.values[8*i:8*i+int(k.width)]); err != nil {
			c.cfg.Fault(err)
			return codes.ErrRetPtrNull
		}
	}
	return codes.Success
}

// Fail ends all collectives under way: a task is gone that they need. If that is known, the tasks
// that wait for this one in a collective are notified, as they need not learn of it otherwise.
func (c *Collectives) Fail(code codes.Code, task int) {
	if len(c.line) > 0 && task != Unknown {
		c.Notify(task)
	}
	for _, k := range c.line {
		c.cfg.Tickets.End(k.ticket, code)
	}
	c.line = c.line[:0]
	c.cfg.Failed(code)
}

// Unknown is for Fail: it is not known which task is gone, or other tasks learn of it without this
// one.
const Unknown = -1

// Notify notifies the tasks that wait for this one in a collective that it fails here, as a task is
// lost.
func (c *Collectives) Notify(task int) {
	n := len(c.cfg.Peers)
	h := wire.Exchange{Round: wire.LostRound, First: uint32(task)}
	for round := range rounds(n) {
		if p := &c.cfg.Peers[(c.cfg.Me-1<<round+n)%n]; !p.Dead() && !p.IsSelf {
			c.cfg.Out.Control(p, wire.MsgExchange, codes.IntErr, h.Encode)
		}
	}
}

// Lost is a lost task that another task has reported by Notify, or Unknown.
func (c *Collectives) Lost() int { return c.lost - 1 }

// Found: that task is there again.
func (c *Collectives) Found(task int) {
	if c.lost == task+1 {
		c.lost = 0
	}
}

// GiveUp ends collectives for good: tasks no longer agree on how many there were.
func (c *Collectives) GiveUp() {
	c.givenUp = true
	c.Fail(codes.ErrTgtPurged, Unknown)
}

// refuse is Received once collectives have been given up, here or there. Only a task that has not
// given them up is answered.
func (c *Collectives) refuse(p *peer.Peer, round uint32) {
	if round == wire.RefusedRound {
		c.GiveUp()
		return
	}
	h := wire.Exchange{Round: wire.RefusedRound}
	c.cfg.Out.Control(p, wire.MsgExchange, codes.IntErr, h.Encode)
}
