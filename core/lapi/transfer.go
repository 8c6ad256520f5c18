package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// The values of lapi_xfer_type_t.
const (
	XferGet uint32 = iota
	XferAm
	XferPut
	XferGetv
	XferPutv
	XferAmv
	XferRmw
	XferDGSP
	xferNone // there is no such type
	XferAmLw // as XferAm: the shortest way is taken for every short message
	XferAmx
	XferMc
)

// Flags of LAPI_Xfer; singlecopy has those about bulk transfer. All others are hints that change
// nothing here, or are for types that have their own calls.
const (
	UseTgtVecType = 0x2 // USE_TGT_VEC_TYPE: the target's vector is a lapi_vec_t
	// LAPI_NOT_STRIPE: the data keeps to one of several addresses (guide, Chapter 14), also
	// that of a get
	notStripe = 0x80
)

// kinds is what an error of each type concerns.
var kinds = [...]codes.ErrType{XferGet: codes.GetErr, XferAm: codes.AmErr, XferPut: codes.PutErr,
	XferGetv: codes.GetErr, XferPutv: codes.PutErr, XferAmv: codes.AmErr, XferRmw: codes.RmwErr,
	XferDGSP: codes.AmErr, XferAmLw: codes.AmErr, XferAmx: codes.AmErr}

// Transfer is what any operation is asked to do: the members of all of LAPI_Xfer's structures. It
// is cshim_transfer of cshim/context/golapi.h. Addresses are 0 where an operation has none.
type Transfer struct {
	HdrHdl, Uhdr transport.Addr
	// TgtAddr and OrgAddr are data, or vectors. TgtAddr is the DGSP's handle of LAPI_DGSP_XFER,
	// tgt_var of a read-modify-write; OrgAddr is udata of an active message, in_val of a
	// read-modify-write.
	TgtAddr, OrgAddr transport.Addr
	PrevVal          transport.Addr
	N                uint64
	// of LAPI_AMX_XFER: bytes of the DGSP's stream before the first that is sent
	Skip     uint64
	TgtCntr  transport.Addr
	OrgCntr  transport.Addr
	CmplCntr transport.Addr
	// send completion handler and its parameter; of a get completion handler
	Handler, Info transport.Addr
	Flags         uint32
	Tgt           uint32 // of LAPI_MC_XFER the group
	UhdrLen       uint32
	Op            uint32 // RMW_ops_t
	Size          uint32 // of a read-modify-write's words, bits
	_             uint32
	// of a put or get without OrgCntr, TgtCntr and Handler: the key of the region that TgtAddr is
	// in, of transport.KeyMax bytes; 0: none. A get has OrgCntr.
	Key transport.Addr
	// the answer: a ticket to wait for, as enough waits for the target; 0: none
	Room uint64
}

// done is what follows when x's data may be overwritten, or is there.
func (x *Transfer) done() handlers.Callback {
	return handlers.Callback{Handler: x.Handler, Info: x.Info}
}

// after is done and the origin counter.
func (x *Transfer) after() send.After {
	return send.After{OrgCntr: x.OrgCntr, Done: x.done(), User: true, Counted: x.CmplCntr != 0}
}

// hint is what x's flags say of its way.
func (x *Transfer) hint() singlecopy.Hint { return singlecopy.HintOf(x.Flags) }

// Xfer is LAPI_Xfer (guide, Chapter 18, Tables 24 to 31), and every other call that moves data.
func (c *Context) Xfer(kind uint32, x *Transfer) codes.Code {
	memory.Guard()
	c.out.Single = x.Flags&notStripe != 0
	code := c.xfer(kind, x)
	c.out.Single = false
	if code != codes.Success {
		return code
	}
	c.askRoom(kind, x)
	c.publish()
	if kind == XferPut && c.outboxes.Outboxes != nil {
		c.reserve(&c.peers[x.Tgt])
	}
	return codes.Success
}

// xfer is Xfer up to publish.
func (c *Context) xfer(kind uint32, x *Transfer) codes.Code {
	switch {
	case kind == XferMc:
		return c.multicast(x)
	case kind > XferMc || kind == xferNone:
		return codes.ErrXferCmd
	case kind == XferRmw && x.Size != 32 && x.Size != 64:
		return codes.ErrOpSz
	}
	p, code := c.target(x.Tgt, kinds[kind])
	if code != codes.Success {
		return code
	}
	switch kind {
	case XferGet:
		return c.get(p, x)
	case XferPut:
		return c.put(p, x)
	case XferGetv:
		return c.getv(p, x)
	case XferPutv:
		return c.putv(p, x)
	case XferAmv:
		return c.amsendv(p, x)
	case XferRmw:
		return c.rmw(p, x)
	case XferDGSP, XferAmx:
		return c.amdgsp(p, x)
	}
	return c.amsend(p, x) // XferAm and XferAmLw
}

// checkMove checks what put and get have: the addresses may be 0 only if there is nothing to move.
func checkMove(x *Transfer) codes.Code {
	switch {
	case x.N > wire.MaxMessageSize:
		return codes.ErrDataLen
	case x.N > 0 && x.TgtAddr == 0:
		return codes.ErrTgtAddrNull
	case x.N > 0 && x.OrgAddr == 0:
		return codes.ErrOrgAddrNull
	}
	return codes.Success
}

// loadPair reads the vectors of a put or get into m, and returns for how many bytes that is. If
// they cannot be used, m is gone.
func (c *Context) loadPair(m *send.Message, org, tgt *vector.Vector, x *Transfer) (n uint64,
	code codes.Code) {
	loader := vector.Loader{Check: c.attributes.errorCheck}
	if err := loader.Pair(org, tgt, x.OrgAddr, x.TgtAddr, x.Flags&UseTgtVecType == 0); err != nil {
		c.out.Drop(m)
		return 0, c.badVector(err)
	}
	return min(org.Total(), tgt.Total()), codes.Success // they differ only if not checked
}

// badVector reports a vector that cannot be used, if that is the fault of memory.
func (c *Context) badVector(err *vector.Error) codes.Code {
	if err.Fault != nil {
		c.faults.Here(err.Fault, err.Code, codes.IntErr)
	}
	return err.Code
}

// singleCopied ends a put or get of n bytes that was copied straight between the tasks' memory, or
// could not be: err says. A message without data notifies the target of what it received, or was
// read, and carries its counters. False: the link cannot, use messages.
func (c *Context) singleCopied(p *peer.Peer, x *Transfer, kind codes.ErrType, n uint64,
	err error) bool {
	if fault, ok := err.(*transport.FaultError); ok {
		c.faults.SingleCopy(p, fault, kind)
		if kind == codes.PutErr {
			c.counters.Cancelled(p.ID)
			c.due.Sent(x.done(), p, codes.Success) // its data will not be read again
		}
		return true
	}
	if err != nil {
		p.SingleCopy = false
		return false
	}
	c.counters.AddFor(x.OrgCntr, kind, c.me, p.ID)
	if kind == codes.GetErr {
		c.completed(recvComplete)
		c.received(x.done())
		c.tellRead(p, n, x.TgtCntr)
		return true
	}
	c.completed(sendComplete)
	c.due.Sent(x.done(), p, codes.Success)
	c.out.PutDirect(p, &wire.PutDirect{Length: n, TgtCntr: x.TgtCntr, CmplCntr: x.CmplCntr})
	return true
}

// sent follows a message of ours: its data may be overwritten, or it has failed.
func (c *Context) sent(m *send.Message) {
	p, code := m.Peer(), codes.Success
	switch {
	case !m.Failed():
		c.counters.AddFor(m.OrgCntr, m.Kind(), c.me, p.ID)
		if m.User {
			c.completed(sendComplete)
		}
	case p.Dead():
		code = p.Gone()
	default:
		code = codes.ErrOrgAddrNull
	}
	c.due.Sent(m.Done, p, code)
}

// sendFailed reports why a message of ours fails: its address was bad, or what a get of the peer
// asked for; its peer is gone, or the link closes.
func (c *Context) sendFailed(m *send.Message, err error) {
	p := m.Peer()
	switch e := err.(type) {
	case *transport.FaultError:
		switch m.ID() {
		case wire.MsgGetData:
			c.faults.Target(e, codes.GetErr, p, m.Token())
		default:
			c.counters.Cancelled(p.ID)
			c.faults.SingleCopy(p, e, m.Kind())
		}
	case *dgsm.Error:
		c.faults.Raise(e.Code, m.Kind(), p.ID, e.Text)
	default:
		asks := m.ID() == wire.MsgGet || m.ID() == wire.MsgGetv
		if err == transport.ErrUnreachable && (m.User || asks) {
			c.left(p)
		}
	}
}
