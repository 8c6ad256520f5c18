package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// This file decides which data goes directly, that is, is copied by one of the two tasks straight between their memory, and which in
// packets, that is, in messages of the link. One function answers for each kind of transfer. docs/bulk.md has the rules.

// Tunables. The others are in Context.sizes.
const (
	directGetMin   = 1        // bytes from which a get on one node is copied straight between the tasks' memory: reading costs the target nothing
	selfDirectMost = 16 << 10 // bytes from which a transfer within a task is one copy, whatever was measured between two
	pipelineGetMin = 4 << 10  // bytes from which a get is answered in messages by a target that attends: reading less costs less than asking
)

// directChunk is the most that one direct copy moves, bytes (guide, Chapter 13). A variable for tests.
var directChunk uint64 = 32 << 20

// The flags of LAPI_Xfer about bulk transfer.
const (
	notUseBulkXfer = 0x20
	useBulkXfer    = 0x40
)

// hint is what the caller of a transfer wants of its way.
type hint uint8

const (
	noHint    hint = iota // as the task's settings and the library's own measurements say
	byBulk                // directly, if the link can, whatever the length
	byPackets             // never directly
)

// hintOf reads the flags of LAPI_Xfer: of both, the one against bulk transfer wins.
func hintOf(flags uint32) hint {
	switch {
	case flags&notUseBulkXfer != 0:
		return byPackets
	case flags&useBulkXfer != 0:
		return byBulk
	}
	return noHint
}

// goesDirect says whether n bytes go directly between this task and t; least is from how many on they do without a hint. Then a target that
// attends to its messages gets them so, unless the user wants bulk transfer: two that copy are faster than one. What a task
// copies within its own memory never is a bulk transfer, so hints change nothing there.
func (c *Context) goesDirect(t *task, n, least uint64, h hint) bool {
	switch {
	case !t.direct:
		return false
	case t.isSelf:
		return n >= min(least, selfDirectMost)
	case h == noHint:
		return n >= least && (c.wantsBulk(n) || !t.polls())
	}
	return h == byBulk && n > 0
}

// wantsBulk says whether a message of n bytes is to be a bulk transfer by the user's settings.
func (c *Context) wantsBulk(n uint64) bool { return c.cfg.UseBulk && n >= uint64(c.cfg.BulkMin) }

// forced says whether h sends to t directly even what is not worth it.
func (t *task) forced(h hint) bool { return h == byBulk && !t.isSelf }

// putGoesDirect says whether a put of n bytes is written by the origin into the target's memory.
func (c *Context) putGoesDirect(t *task, n uint64, h hint) bool {
	return c.goesDirect(t, n, c.sizes.PutDirect, h)
}

// getGoesDirect says whether a get of n bytes is read by the origin from the target's memory.
func (c *Context) getGoesDirect(t *task, n uint64, h hint) bool {
	return c.goesDirect(t, n, directGetMin, h) || h == noHint && t.direct && n > 0 && n < pipelineGetMin
}

// amGoesDirect says whether the n bytes of an active message are read by the target from the origin's memory. It reads them later: so
// not what the user may overwrite when the call returns.
func (c *Context) amGoesDirect(t *task, n uint64, h hint) bool {
	return n > uint64(c.bufCopy) && c.goesDirect(t, n, c.leastDirectAm(), h)
}

// leastDirectAm: who asks for bulk transfer of shorter messages than the library would choose gets it.
func (c *Context) leastDirectAm() uint64 {
	if c.cfg.UseBulk {
		return min(c.sizes.AmDirect, uint64(c.cfg.BulkMin))
	}
	return c.sizes.AmDirect
}

// putvGoesDirect is putGoesDirect for vectors: org and tgt of n bytes.
func (c *Context) putvGoesDirect(t *task, org, tgt *vector.Vector, n uint64, h hint) bool {
	return c.goesDirect(t, n, c.sizes.PutDirect, h) && (t.forced(h) || c.worthDirect(org, tgt, n))
}

// getvGoesDirect is getGoesDirect for vectors.
func (c *Context) getvGoesDirect(t *task, org, tgt *vector.Vector, n uint64, h hint) bool {
	return c.goesDirect(t, n, directGetMin, h) && (t.forced(h) || c.worthDirectGet(org, tgt, n))
}

// amvGoesDirect is amGoesDirect for vectors.
func (c *Context) amvGoesDirect(t *task, org *vector.Vector, h hint) bool {
	return c.amGoesDirect(t, org.Total(), h) && (t.forced(h) || c.worthDirect(org, org, org.Total()))
}

// copyDirect copies n bytes straight between this task's memory and t's, in chunks: to t, or (get) from it.
func (c *Context) copyDirect(t *task, get bool, local, remote transport.Addr, n uint64) error {
	f := c.newFragmentOp(nil)
	defer c.freeFragmentOp(f)
	for n > 0 {
		step := min(n, directChunk)
		f.op.Local, f.op.Remote, f.op.N = local, remote, step
		var err error
		if get { // links that copy directly do so at once
			_, err = t.link.Get(t.ep, &f.op)
		} else {
			_, err = t.link.Put(t.ep, &f.op)
		}
		if err != nil {
			return err
		}
		n -= step
		local += transport.Addr(step)
		remote += transport.Addr(step)
	}
	return nil
}

// wentDirect ends a put or get of n bytes that was copied at once, or could not be: err says. A message without data tells the
// target what it received, or was read, and carries its counters. False: the link cannot, use messages.
func (c *Context) wentDirect(t *task, x *Transfer, kind ErrType, n uint64, err error) bool {
	if fault, ok := err.(*transport.FaultError); ok {
		c.directFault(t, fault, kind)
		if kind == PutErr {
			c.sendDone(x.done(), t, codes.Success) // its data will not be read again
		}
		return true
	}
	if err != nil {
		t.direct = false
		return false
	}
	c.countFor(x.OrgCntr, kind, c.me, t.id)
	if kind == GetErr {
		c.completed(recvComplete)
		c.received(x.done())
		c.tellRead(t, n, x.TgtCntr)
		return true
	}
	c.completed(sendComplete)
	c.sendDone(x.done(), t, codes.Success)
	h := wire.PutDirect{Length: n, TgtCntr: x.TgtCntr, CmplCntr: x.CmplCntr}
	c.sendControl(t, wire.MsgPutDirect, PutErr, h.Encode)
	return true
}

// copies is in how many packets the statistics count n bytes that went directly: each copy is one.
func copies(n uint64) uint64 { return (n + directChunk - 1) / directChunk }

// countReceived counts n bytes that t has written into this task's memory. (A link's own counts are those of the task that
// copies, and within one task those of both sides.)
func (t *task) countReceived(n uint64) {
	if s := t.link.Stats(); !t.isSelf {
		s.PacketsReceived += copies(n)
		s.DataReceived += n
	}
}

// countSent counts n bytes that t has read from this task's memory.
func (t *task) countSent(n uint64) {
	if s := t.link.Stats(); !t.isSelf {
		s.PacketsSent += copies(n)
		s.DataSent += n
	}
}

// reachedDirectly is to how many other tasks data can go directly.
func (c *Context) reachedDirectly() (n int) {
	for i := range c.tasks {
		if t := &c.tasks[i]; t.direct && !t.isSelf {
			n++
		}
	}
	return n
}

// bulkEnabled is BULK_XFER: bulk transfer was asked for and there is someone to use it with.
func (c *Context) bulkEnabled() bool { return c.cfg.UseBulk && c.reachedDirectly() > 0 }

// announceBulk says in LAPI_Init what became of MP_USE_BULK_XFER=yes.
func (s *setup) announceBulk() {
	switch {
	case s.bulkEnabled():
		s.attention(levelInform, codes.AttBulkEnabled, "(messages from %d bytes on; %d of %d other tasks)", s.cfg.BulkMin, s.reachedDirectly(), len(s.tasks)-1)
	case s.cfg.UseBulk:
		s.say(levelFailure, "MP_USE_BULK_XFER=yes has no effect: there is no direct way to another task's memory, so all data goes in packets")
	}
}

// moveDirect copies n bytes straight between this task's memory and t's: to t, or (get) from it.
func (c *Context) moveDirect(t *task, get bool, local, remote *vector.Vector, n uint64) error {
	link, ok := t.link.(transport.Vectored)
	if !ok {
		return transport.ErrNotSupported
	}
	if c.here == nil {
		c.here, c.there = make([]transport.Range, 0, transport.RangesMax), make([]transport.Range, 0, transport.RangesMax)
	}
	near, far := local.At(0), remote.At(0)
	for n > 0 {
		from := near
		here := near.Ranges(c.here[:0], min(n, directChunk))
		step := transport.Sum(here)
		there := far.Ranges(c.there[:0], step)
		if got := transport.Sum(there); got < step { // so many small ranges over there that they fill the list first
			step, near = got, from
			here = near.Ranges(c.here[:0], step)
		}
		if step == 0 {
			return nil
		}
		var err error
		if get {
			err = link.GetVector(t.ep, here, there)
		} else {
			err = link.PutVector(t.ep, here, there)
		}
		if err != nil {
			return err
		}
		n -= step
	}
	return nil
}

// worthDirect says whether blocks are so long that the kernel's work for each is less than that of copying them twice. far is the vector in
// the other task's memory, whose every block the kernel must find and hold; near is the one here.
func (c *Context) worthDirect(near, far *vector.Vector, n uint64) bool {
	return n/max(far.Pieces(), near.Pieces()/directLocal, 1) >= c.sizes.BlockDirect
}

// directLocal is how many blocks here cost the kernel as much as one over there; measured.
const directLocal = 8

// loader reads the user's descriptions of vectors.
func (c *Context) loader() vector.Loader { return vector.Loader{Check: c.errorCheck} }

// badVector reports a vector that cannot be used, if that is the fault of memory.
func (c *Context) badVector(err *vector.Error) codes.Code {
	if err.Fault != nil {
		c.fault(err.Fault, err.Code, IntErr, c.me)
	}
	return err.Code
}
