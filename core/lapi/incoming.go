package lapi

import (
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// incoming is a message of several fragments on its way from one task. A put needs only the count; an active message:
//
//	fragments before its header ──> early, kept
//	header and all of the user header here ──> header handler runs (again if it says LAPI_DROP_PKT) ──> placed
//	received == total ──> finished
type incoming struct {
	next     *incoming
	id       uint64
	received uint64 // bytes counted
	failed   bool   // an address was bad: the rest is counted and dropped

	// Active messages only.
	am        wire.Am
	hasHeader bool // wire.MsgAm was accepted
	handled   bool // the header handler has run
	buried    bool // its data goes nowhere
	buffer    transport.Addr
	handler   completion
	inline    bool
	whole     bool       // all data came in one fragment
	placement *placement // nil, or how the data goes to the buffer
	pieces    bool       // wire.MsgAmPieces: the data lies in blocks at the origin; org, tgt and amv are used
	uhdr      []byte     // user header, then lengths of a vector's blocks, when they come in fragments
	uhdrFrom  int        // of uhdr, what came with wire.MsgAm; the rest heads the stream
	uhdrGot   uint64     // bytes of that rest
	early     []earlyPart

	// Active messages of vectors, and direct ones whose data lies in blocks.
	vectored bool
	amv      wire.Amv
	org      vector.Vector // of a direct one
	tgt      vector.Vector // the header handler's
}

// prefix is how many bytes of the stream precede the data.
func (in *incoming) prefix() (n uint64) {
	if in.am.Split {
		n = uint64(in.am.UhdrLen)
	}
	if in.vectored && !in.am.Rendezvous {
		n += in.amv.Lengths()
	}
	return n
}

// earlyPart is a fragment that came before it could be placed.
type earlyPart struct {
	offset uint64 // of the stream
	data   []byte
}

// uhdrKept is how much memory for user header and lengths an incoming keeps for later ones, bytes.
const uhdrKept = 64 << 10

// putIDs sets the message ids of puts apart from those of active messages of the same origin.
const putIDs = 1 << 32

func (c *Context) findIncoming(t *task, id uint64) *incoming {
	for in := t.incoming; in != nil; in = in.next {
		if in.id == id {
			return in
		}
	}
	return nil
}

func (c *Context) newIncoming(t *task, id uint64) *incoming {
	in := c.freeIn
	if in == nil {
		in = new(incoming)
	} else {
		c.freeIn = in.next
		in.org.Reset()
		in.tgt.Reset()
		if cap(in.uhdr) > uhdrKept {
			in.uhdr = nil
		}
		*in = incoming{early: in.early[:0], uhdr: in.uhdr[:0], org: in.org, tgt: in.tgt}
	}
	in.id = id
	in.next = t.incoming
	t.incoming = in
	return in
}

func (c *Context) freeIncoming(t *task, in *incoming) {
	for p := &t.incoming; *p != nil; p = &(*p).next {
		if *p == in {
			*p = in.next
			break
		}
	}
	for i := range in.early {
		t.earlyBytes -= len(in.early[i].data)
		in.early[i].data = nil
	}
	c.freePlacement(in.placement)
	in.placement = nil
	in.next = c.freeIn
	c.freeIn = in
}

// keepEarly copies a fragment that cannot be placed yet. False: too much is kept for this task; refuse it, it comes again.
func (c *Context) keepEarly(t *task, in *incoming, offset uint64, data []byte) bool {
	if t.earlyBytes+len(data) > earlyBytesMax {
		return false
	}
	t.earlyBytes += len(data)
	in.early = append(in.early, earlyPart{offset, append([]byte(nil), data...)})
	return true
}

// placeEarly puts the kept fragments where they belong, now that the buffer is known.
func (c *Context) placeEarly(t *task, in *incoming) {
	for i := range in.early {
		p := &in.early[i]
		t.earlyBytes -= len(p.data)
		c.place(t, in, p.offset, p.data)
		p.data = nil
	}
	in.early = in.early[:0]
}

// place copies a piece of the stream (behind the user header) to the buffer and counts it.
func (c *Context) place(t *task, in *incoming, offset uint64, data []byte) {
	in.received += uint64(len(data))
	if in.failed || in.buried || len(data) == 0 {
		return
	}
	var err error
	switch {
	case in.vectored:
		err = in.tgt.Scatter(offset, data)
	case in.placement != nil:
		err = in.scatter(offset, data)
	default:
		err = memory.CopyIn(in.buffer+transport.Addr(offset), data)
	}
	if err != nil {
		in.failed = true
		c.targetFault(err, AmErr, t.id, 0)
	}
}
