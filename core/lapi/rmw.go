package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

var atomicKinds = [...]transport.AtomicKind{
	wire.FetchAndAdd: transport.AtomicAdd, wire.FetchAndOr: transport.AtomicOr,
	wire.Swap:           transport.AtomicSwap,
	wire.CompareAndSwap: transport.AtomicCAS, wire.CompareAndFetch: transport.AtomicCAS,
	wire.FetchAndAnd: transport.AtomicAnd, wire.FetchAndXor: transport.AtomicXor,
	wire.FetchAndMin: transport.AtomicMin, wire.FetchAndMax: transport.AtomicMax,
}

// rmw is LAPI_Rmw and LAPI_Rmw64: Op on the word at TgtAddr of the target, with the one (of
// CompareAndSwap: two) words at OrgAddr. PrevVal, if not 0, gets the previous value, of
// CompareAndSwap 1 or 0.
func (c *Context) rmw(p *peer.Peer, x *Transfer) codes.Code {
	switch {
	case x.Op > wire.CompareAndFetch:
		return codes.ErrRmwOp
	case x.TgtAddr == 0:
		return codes.ErrTgtVarNull
	case x.OrgAddr == 0:
		return codes.ErrInValNull
	}
	width := uint8(x.Size / 8)
	two := x.Op == wire.CompareAndSwap || x.Op == wire.CompareAndFetch
	in, err := loadWords(x.OrgAddr, width, two)
	if err != nil {
		c.faults.Here(err, codes.ErrOrgAddrNull, codes.RmwErr)
		return codes.ErrInValNull
	}
	c.counters.Issued(p.ID, codes.RmwErr, 0)
	o := c.newAnswer(p, codes.RmwErr, x, x.PrevVal, uint64(width))
	o.compares = x.Op == wire.CompareAndSwap
	o.op.Done, o.op.Remote, o.op.Width, o.op.Operand, o.op.Compare = rmwDone, x.TgtAddr, width,
		in[0], 0
	if two {
		o.op.Compare, o.op.Operand = in[0], in[1]
	}
	if status, err := c.atomic(p, atomicKinds[x.Op], &o.op); err != nil ||
		status == transport.Done {
		rmwDone(&o.op, err)
	}
	return codes.Success
}

func (c *Context) atomic(p *peer.Peer, kind transport.AtomicKind,
	op *transport.Op) (transport.Status, error) {
	if e := c.atomics[p.ID]; e != nil {
		return e.Atomic(p.Ep, kind, op)
	}
	return p.Link.Atomic(p.Ep, kind, op)
}

// loadWords reads one or two words of user memory, zero-extended.
func loadWords(a transport.Addr, width uint8, two bool) (w [2]uint64, err error) {
	var b [16]byte
	n := int(width)
	if two {
		n *= 2
	}
	if err = memory.CopyOut(b[:n], a); err == nil {
		w[0], w[1] = vector.Word(b[0:], int(width)), vector.Word(b[width:], int(width))
	}
	return w, err
}

// rmwDone stores what the operation found. It is Op.Done of a queued one.
func rmwDone(op *transport.Op, err error) {
	o := op.Owner.(*answerOp)
	c := o.c
	if c.unanswered(o, err) {
		return
	}
	if err != nil {
		o.failed = true
		if fault, ok := err.(*transport.FaultError); ok {
			c.faults.Remote(o.p, fault.Addr, codes.RmwErr)
		}
	} else if o.local != 0 {
		v := op.Result
		if o.compares {
			v = 0
			if op.Result == op.Compare {
				v = 1
			}
		}
		var b [8]byte
		wire.Order.PutUint64(b[:], v)
		if err := memory.CopyIn(o.local, b[:o.n]); err != nil {
			o.failed = true
			c.faults.Origin(o.p, err, codes.RmwErr)
		}
	}
	c.answered(o)
}
