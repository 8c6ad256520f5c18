package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

var atomicKinds = [...]transport.AtomicKind{
	wire.FetchAndAdd: transport.AtomicAdd, wire.FetchAndOr: transport.AtomicOr, wire.Swap: transport.AtomicSwap, wire.CompareAndSwap: transport.AtomicCAS,
}

// rmw is LAPI_Rmw and LAPI_Rmw64: Op on the word at TgtAddr of the target, with the one (of CompareAndSwap: two) words at
// OrgAddr. PrevVal, if not 0, gets the previous value, of CompareAndSwap 1 or 0.
func (c *Context) rmw(t *task, x *Transfer) codes.Code {
	switch {
	case x.Op > wire.CompareAndSwap:
		return codes.ErrRmwOp
	case x.TgtAddr == 0:
		return codes.ErrTgtVarNull
	case x.OrgAddr == 0:
		return codes.ErrInValNull
	}
	width := uint8(x.Size / 8)
	in, err := loadWords(x.OrgAddr, width, x.Op == wire.CompareAndSwap)
	if err != nil {
		c.fault(err, codes.ErrOrgAddrNull, RmwErr, c.me)
		return codes.ErrInValNull
	}
	t.lastKind = RmwErr
	o := c.newOriginOp(t, RmwErr)
	o.local, o.n, o.orgCntr, o.done, o.compares = x.PrevVal, uint64(width), x.OrgCntr, x.done(), x.Op == wire.CompareAndSwap
	o.op.Remote, o.op.Width, o.op.Operand, o.op.Compare = x.TgtAddr, width, in[0], 0
	if o.compares {
		o.op.Compare, o.op.Operand = in[0], in[1]
	}
	if status, err := c.atomic(t, atomicKinds[x.Op], &o.op); err != nil || status == transport.Done {
		rmwDone(&o.op, err)
	}
	return codes.Success
}

func (c *Context) atomic(t *task, kind transport.AtomicKind, op *transport.Op) (transport.Status, error) {
	if t.atomics == nil {
		return t.link.Atomic(t.ep, kind, op)
	}
	return t.atomics.Atomic(t.ep, kind, op)
}

// loadWords reads one or two words of user memory, zero-extended.
func loadWords(a transport.Addr, width uint8, two bool) (w [2]uint64, err error) {
	var b [16]byte
	n := int(width)
	if two {
		n *= 2
	}
	if err = memory.CopyOut(b[:n], a); err != nil {
		return w, err
	}
	if width == 4 {
		w[0], w[1] = uint64(wire.Order.Uint32(b[0:])), uint64(wire.Order.Uint32(b[4:]))
	} else {
		w[0], w[1] = wire.Order.Uint64(b[0:]), wire.Order.Uint64(b[8:])
	}
	return w, nil
}

// rmwDone stores what the operation found. It is Op.Done of a queued one.
func rmwDone(op *transport.Op, err error) {
	o := op.Owner.(*originOp)
	c := o.c
	if err != nil {
		o.failed = true
		if fault, ok := err.(*transport.FaultError); ok {
			c.remoteFault(o.t, fault.Addr, codes.ErrTgtAddrNull, RmwErr)
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
			c.fault(err, codes.ErrOrgAddrNull, RmwErr, c.me)
		}
	}
	c.answered(o)
}
