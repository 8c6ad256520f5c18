// Package singlecopy moves data straight between two tasks' memory, and decides which data: the
// rest goes in messages. docs/dev/bulk.md has the rules.
//
//	singlecopy.go  Copier: which data; copies between the tasks of a node, at once
//	move.go        Move: a copy over an adapter, which takes its time
package singlecopy

import (
	"lapi/core/lapi/peer"
	"lapi/core/lapi/vector"
	"lapi/transport"
)

// Tunables: what is a single copy to a target that does not poll. Measured on a virtual machine
// with 2 processors, x86-64 server, target computing.
const (
	putMin = 4 << 10 // bytes from which a put is one: equal at 2 to 4 KiB
	// bytes from which an active message is one: below, it comes whole, and its handler sees it
	// at once
	AmMin = 16 << 10
	// bytes from which a vector's blocks are worth a range of the kernel's, on average: below,
	// two copies through a chunk take less than the kernel's work for each block
	BlockMin = 16 << 10

	getMin         = 1        // bytes from which a get is one: it costs the target nothing
	selfMost       = 16 << 10 // bytes from which a transfer within a task is one in any case
	pipelineGetMin = 4 << 10  // bytes from which a target that polls answers a get in messages
	getFew         = 4        // blocks up to which a get is one: asking the target takes as long
	localBlocks    = 8        // blocks here that cost the kernel as much as one there; measured
	forcedBlocks   = 1 << 16  // blocks of a message, at most, that is one only because of its flags
)

// Chunk is the most that one copy moves, bytes (guide, Chapter 13). A variable for tests.
var Chunk uint64 = 32 << 20

// Copies is in how many packets the statistics count n bytes: each copy is one.
func Copies(n uint64) uint64 { return (n + Chunk - 1) / Chunk }

// Hint is what the caller of a transfer wants of its way.
type Hint uint8

const (
	NoHint    Hint = iota // as the task's settings and the library's own measurements say
	ByBulk                // a single copy, if the link can, whatever the length
	ByPackets             // never
)

// The flags of LAPI_Xfer about bulk transfer.
const (
	NotUseBulkXfer = 0x20
	UseBulkXfer    = 0x40
)

// HintOf reads the flags of LAPI_Xfer: of both, the one against bulk transfer wins.
func HintOf(flags uint32) Hint {
	switch {
	case flags&NotUseBulkXfer != 0:
		return ByPackets
	case flags&UseBulkXfer != 0:
		return ByBulk
	}
	return NoHint
}

// Config is a Copier's settings.
type Config struct {
	Bulk    bool   // MP_USE_BULK_XFER
	BulkMin uint64 // MP_BULK_MIN_MSG_SIZE, bytes
	CopyMax uint64 // BUF_CP_SIZE, bytes
}

// Copier is that of one context.
type Copier struct {
	cfg         Config
	op          transport.Op // links that copy so are done at once
	here, there []transport.Range
	waiting     moves // for room
}

// New is a Copier.
func New(cfg Config) *Copier { return &Copier{cfg: cfg} }

// worth says whether n bytes are a single copy between this task and p; least is the smallest such
// n without a hint. Without a hint a target that polls gets them in messages, unless the user wants
// bulk transfer: two tasks that copy are faster than one. A copy within a task's own memory is
// never a bulk transfer, so hints change nothing there.
func (c *Copier) worth(p *peer.Peer, n, least uint64, h Hint) bool {
	switch {
	case !p.SingleCopy:
		return false
	case p.IsSelf:
		return n >= min(least, selfMost)
	case h == NoHint:
		return n >= least && (c.cfg.Bulk && n >= c.cfg.BulkMin || !p.Pipelines())
	}
	return h == ByBulk && n > 0
}

// forced says whether h copies to p even where that is not worth it.
func forced(p *peer.Peer, h Hint) bool { return h == ByBulk && !p.IsSelf }

// Put says whether a put of n bytes is written by the origin into the target's memory.
func (c *Copier) Put(p *peer.Peer, n uint64, h Hint) bool {
	return c.worth(p, n, putMin, h)
}

// Get says whether a get of n bytes is read by the origin from the target's memory.
func (c *Copier) Get(p *peer.Peer, n uint64, h Hint) bool {
	return c.worth(p, n, getMin, h) || h == NoHint && p.SingleCopy && n > 0 && n < pipelineGetMin
}

// Am says whether an active message of n bytes is a rendezvous: the target reads them from the
// origin's memory. It reads them later: so data that the user may overwrite when the call returns
// is not sent so. A user who asks for bulk transfer of shorter messages than the library would
// choose gets it.
func (c *Copier) Am(p *peer.Peer, n uint64, h Hint) bool {
	least := uint64(AmMin)
	if c.cfg.Bulk {
		least = min(least, c.cfg.BulkMin)
	}
	return n > c.cfg.CopyMax && (c.worth(p, n, least, h) || c.byAdapter(p, n, h))
}

// Route is the way of a put or get of n bytes that the link makes by itself: its choice, unless the
// user has one.
func (c *Copier) Route(p *peer.Peer, n uint64, h Hint) transport.Route {
	switch {
	case h == ByPackets, !p.SingleCopy && !p.OverAdapter():
		return transport.RouteMessages
	case h == ByBulk, c.cfg.Bulk && n >= c.cfg.BulkMin:
		return transport.RouteSingleCopy
	}
	return transport.RouteAny
}

// PutVector is Put for vectors: org and tgt of n bytes.
func (c *Copier) PutVector(p *peer.Peer, org, tgt *vector.Vector, n uint64, h Hint) bool {
	if p.OverAdapter() { // it reads the origin's memory when the call has returned
		return n > c.cfg.CopyMax && c.byAdapter(p, n, h) && adapterBlocks(org, tgt, n, h)
	}
	return c.Put(p, n, h) && (forced(p, h) || c.longBlocks(org, tgt, n))
}

// GetVector is Get for vectors. A get by messages takes the target's help and two ways, so a single
// copy pays even for short blocks if they are few.
func (c *Copier) GetVector(p *peer.Peer, org, tgt *vector.Vector, n uint64, h Hint) bool {
	if p.OverAdapter() {
		return c.byAdapter(p, n, h) && adapterBlocks(org, tgt, n, h)
	}
	return c.worth(p, n, getMin, h) &&
		(forced(p, h) || tgt.Pieces() <= getFew && org.Pieces() <= localBlocks*getFew ||
			c.longBlocks(org, tgt, n))
}

// AmVector is Am for vectors.
func (c *Copier) AmVector(p *peer.Peer, org *vector.Vector, h Hint) bool {
	if p.OverAdapter() {
		return c.Am(p, org.Total(), h) && adapterBlocks(org, org, org.Total(), h) &&
			(org.Strided() || org.Pieces() <= vector.ListMax)
	}
	return c.Am(p, org.Total(), h) && (forced(p, h) || c.longBlocks(org, org, org.Total()))
}

// AmBlocks is how many blocks at most the n bytes of a rendezvous may lie in, if a DGSP says where.
func (c *Copier) AmBlocks(p *peer.Peer, n uint64, h Hint) uint64 {
	if p.OverAdapter() {
		return min(n/adapterBlockMin(h), vector.ListMax)
	}
	if forced(p, h) {
		return min(n, forcedBlocks)
	}
	return n / BlockMin
}

// TargetBlocks is how many blocks here may take the n bytes of a rendezvous, if a DGSP says where.
func (c *Copier) TargetBlocks(p *peer.Peer, n uint64) uint64 {
	if p.OverAdapter() {
		return n / adapterShort
	}
	return n / BlockMin * localBlocks
}

// longBlocks says whether blocks are so long that the kernel's work for each is less than that of
// copying them twice. far is the vector in the other task's memory, whose every block the kernel
// must find and hold; near is the one here.
func (c *Copier) longBlocks(near, far *vector.Vector, n uint64) bool {
	return n/max(far.Pieces(), near.Pieces()/localBlocks, 1) >= BlockMin
}

// Copy copies n bytes straight between this task's memory and p's, in chunks: to p, or (get) from
// it. The error is a *transport.FaultError, or says that the link cannot.
func (c *Copier) Copy(p *peer.Peer, get bool, local, remote transport.Addr, n uint64) error {
	for n > 0 {
		step := min(n, Chunk)
		c.op.Local, c.op.Remote, c.op.N = local, remote, step
		var err error
		if get {
			_, err = p.Link.Get(p.Ep, &c.op)
		} else {
			_, err = p.Link.Put(p.Ep, &c.op)
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

// CopyVector is Copy between vectors.
func (c *Copier) CopyVector(p *peer.Peer, get bool, local, remote *vector.Vector, n uint64) error {
	link, ok := p.Link.(transport.Vectored)
	if !ok {
		return transport.ErrNotSupported
	}
	if c.here == nil {
		c.here, c.there = make([]transport.Range, 0, transport.RangesMax), make([]transport.Range,
			0, transport.RangesMax)
	}
	near, far := local.At(0), remote.At(0)
	for n > 0 {
		from := near
		here := near.Ranges(c.here[:0], min(n, Chunk))
		step := transport.Sum(here)
		there := far.Ranges(c.there[:0], step)
		// small ranges over there may fill the list first
		if got := transport.Sum(there); got < step {
			step, near = got, from
			here = near.Ranges(c.here[:0], step)
		}
		if step == 0 {
			return nil
		}
		var err error
		if get {
			err = link.GetVector(p.Ep, here, there)
		} else {
			err = link.PutVector(p.Ep, here, there)
		}
		if err != nil {
			return err
		}
		n -= step
	}
	return nil
}
