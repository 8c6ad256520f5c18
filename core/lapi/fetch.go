package lapi

import (
	"errors"
	"time"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// reader is a direct active message that its target has not fetched yet: the origin's memory must stay.
type reader struct {
	t       *task
	data    transport.Addr
	n       uint64
	org     vector.Vector // where the data is, if vectored; the target reads its list
	orgCntr transport.Addr
	done    Callback
	id      uint32
	seq     uint64
	used    bool
	gen     uint32

	vectored bool
}

// tokenTable holds readers by token: index and generation.
type tokenTable struct {
	slots []reader
	free  []uint32
	count int
}

func (tt *tokenTable) put(r reader) uint64 {
	var i uint32
	if n := len(tt.free); n > 0 {
		i = tt.free[n-1]
		tt.free = tt.free[:n-1]
	} else {
		i = uint32(len(tt.slots))
		tt.slots = append(tt.slots, reader{})
	}
	r.gen, r.used = tt.slots[i].gen+1, true
	tt.slots[i] = r
	tt.count++
	return uint64(r.gen)<<32 | uint64(i)
}

// take removes the reader of a token that t may answer.
func (tt *tokenTable) take(t *task, token uint64) (reader, bool) {
	i := uint32(token)
	if i >= uint32(len(tt.slots)) {
		return reader{}, false
	}
	r := tt.slots[i]
	if !r.used || r.gen != uint32(token>>32) || r.t != t {
		return reader{}, false
	}
	tt.slots[i] = reader{gen: r.gen}
	tt.free = append(tt.free, i)
	tt.count--
	return r, true
}

// drop forgets everything that t was to fetch; each of these is told to dropped.
func (tt *tokenTable) drop(t *task, dropped func(r reader)) {
	for i := range tt.slots {
		if tt.slots[i].used && tt.slots[i].t == t {
			r, _ := tt.take(t, uint64(tt.slots[i].gen)<<32|uint64(i))
			dropped(r)
		}
	}
}

// before says whether a reader issued at seq or earlier is left.
func (tt *tokenTable) before(seq uint64) bool {
	if tt.count == 0 {
		return false
	}
	for i := range tt.slots {
		if tt.slots[i].used && tt.slots[i].seq <= seq {
			return true
		}
	}
	return false
}

// errBadList: a list of blocks in the origin's memory cannot be the message's.
var errBadList = errors.New("the list of a message's blocks is not its")

// fetch is the target's side of a direct active message whose buffer is known: it reads the origin's memory and says so.
func (c *Context) fetch(t *task, in *incoming) {
	answer := wire.Fetched{Token: in.am.Token, Outcome: wire.FetchDone}
	if in.buried || in.failed {
		answer.Outcome = wire.FetchUnread
		in.received = in.am.Length
		c.sendControl(t, wire.MsgFetched, AmErr, answer.Encode)
		return
	}
	if in.placement != nil && !c.worthFetching(in) {
		answer.Outcome = wire.FetchPlaced
		c.sendControl(t, wire.MsgFetched, AmErr, answer.Encode)
		return
	}
	err := c.fetchData(t, in)
	fault, isFault := err.(*transport.FaultError)
	switch {
	case isFault:
		in.failed, in.received = true, in.am.Length
		answer.Outcome = wire.FetchUnread
		c.fetchFault(t, fault)
	case err == nil:
		in.received = in.am.Length
	case err == errBadList:
		in.failed, in.received = true, in.am.Length
		c.malformed(&transport.Msg{From: t.ep})
	default:
		t.direct = false // the origin sends fragments
		answer.Outcome = wire.FetchRefused
	}
	c.sendControl(t, wire.MsgFetched, AmErr, answer.Encode)
}

func (c *Context) fetchData(t *task, in *incoming) error {
	switch {
	case in.vectored:
		return c.moveDirect(t, true, &in.tgt, &in.org, min(in.tgt.Total(), in.org.Total()))
	case !t.direct:
		return transport.ErrNotSupported
	case in.pieces || in.placement != nil:
		return c.fetchPieces(t, in)
	}
	return c.copyDirect(t, true, in.buffer, in.am.Direct, in.am.Length)
}

// fetchFault is about an address, here or at the origin, that a fetch could not access.
func (c *Context) fetchFault(t *task, fault *transport.FaultError) {
	if !fault.Remote {
		c.targetFault(fault, AmErr, t.id, 0)
		return
	}
	c.remoteFault(t, fault.Addr, codes.ErrOrgAddrNull, AmErr)
	h := wire.Fault{Code: uint32(codes.ErrOrgAddrNull), Kind: uint32(AmErr), Addr: fault.Addr}
	c.sendControl(t, wire.MsgFault, IntErr, h.Encode)
}

// onFetched is the origin's side: its memory is free, or the data must go by fragments.
func (c *Context) onFetched(m *transport.Msg) transport.Verdict {
	var h wire.Fetched
	if !h.Decode(m.Hdr) {
		return c.malformed(m)
	}
	t := &c.tasks[m.From]
	r, ok := c.readers.take(t, h.Token)
	if !ok {
		return c.malformed(m)
	}
	if h.Outcome == wire.FetchDone {
		t.countSent(r.n)
	}
	if h.Outcome == wire.FetchDone || h.Outcome == wire.FetchUnread {
		c.countFor(r.orgCntr, AmErr, c.me, t.id)
		c.completed(sendComplete)
		c.sendDone(r.done, t, codes.Success)
		return transport.Accept
	}
	if h.Outcome != wire.FetchPlaced {
		t.direct = false
	}
	o := c.newOutgoing(t, wire.MsgAmFragment, AmErr)
	o.part, o.message = wire.MsgAmFragment, uint64(r.id)
	o.hdrLen = len((&wire.Part{Message: o.message, Offset: 0}).Encode(o.hdr[:]))
	o.data, o.n = r.data, r.n
	if r.vectored {
		o.vectored, o.isCopied, o.org = true, false, r.org
		if h.Outcome == wire.FetchNothing && !r.org.Strided() {
			o.lengths = 8 * r.org.Pieces()
			o.n += o.lengths
		}
	}
	o.step = t.partSize(o.n)
	o.first = min(o.n, o.step)
	o.orgCntr, o.user, o.done = r.orgCntr, true, r.done
	o.seq = r.seq // a fence that waited for the fetch waits for this
	c.start(o)
	return transport.Accept
}

// unknownIndex is an active message whose handler index is not registered (yet): it is refused until it is, or TIMEOUT is over.
type unknownIndex struct {
	t     *task
	id    uint32
	index transport.Addr
	since int64
	given bool // reported: bury it when it comes again
}

// unknownHandler refuses a message whose index is not registered; after TIMEOUT the error handler hears of it and the message
// is dropped.
func (c *Context) unknownHandler(t *task, in *incoming) transport.Verdict {
	for i := range c.unknown {
		u := &c.unknown[i]
		if u.t != t || u.id != in.am.ID {
			continue
		}
		if !u.given {
			return transport.Refuse
		}
		c.unknown = append(c.unknown[:i], c.unknown[i+1:]...)
		in.handled, in.buried, in.failed = true, true, true
		return transport.Accept
	}
	c.unknown = append(c.unknown, unknownIndex{t: t, id: in.am.ID, index: in.am.Handler, since: c.clock()})
	return transport.Refuse
}

// checkUnknown forgets what was registered meanwhile and reports what was not within TIMEOUT.
func (c *Context) checkUnknown() {
	kept := c.unknown[:0]
	for _, u := range c.unknown {
		if c.handlerTable()[u.index] != 0 {
			continue
		}
		if !u.given && !c.cfg.NoTimeout && c.clock()-u.since > c.timeout*int64(time.Second) {
			u.given = true
			c.raise(codes.ErrHdrHndlrNull, AmErr, u.t.id, "an active message names a header handler index that LAPI_Addr_set has not registered")
		}
		kept = append(kept, u)
	}
	c.unknown = kept
}
