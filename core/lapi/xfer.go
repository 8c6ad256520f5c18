package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/memory"
)

// The values of lapi_xfer_type_t that this package knows.
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

// Flags of LAPI_Xfer; direct.go has those about bulk transfer. All others are hints that change nothing here, or are for types
// that have their own calls.
const (
	UseTgtVecType = 0x2  // USE_TGT_VEC_TYPE: the target's vector is a lapi_vec_t
	notStripe     = 0x80 // LAPI_NOT_STRIPE: the data keeps to one of several addresses (guide, Chapter 14), also that of a get
)

// Transfer is what any operation is asked to do: the members of all of LAPI_Xfer's structures. It is cshim_transfer of
// cshim/lapi/golapi.h. Addresses are 0 where an operation has none.
type Transfer struct {
	HdrHdl, Uhdr transport.Addr
	// TgtAddr and OrgAddr are data, or vectors. TgtAddr is the DGSP's handle of LAPI_DGSP_XFER, tgt_var of a
	// read-modify-write; OrgAddr is udata of an active message, in_val of a read-modify-write.
	TgtAddr, OrgAddr transport.Addr
	PrevVal          transport.Addr
	N                uint64
	Skip             uint64 // of LAPI_AMX_XFER: bytes of the DGSP's stream before the first that is sent
	TgtCntr          transport.Addr
	OrgCntr          transport.Addr
	CmplCntr         transport.Addr
	Handler, Info    transport.Addr // send completion handler and its parameter; of a get completion handler
	Flags            uint32
	Tgt              uint32 // of LAPI_MC_XFER the group
	UhdrLen          uint32
	Op               uint32 // RMW_ops_t
	Size             uint32 // of a read-modify-write's words, bits
	_                uint32
}

// done is what follows when x's data may be overwritten, or is there.
func (x *Transfer) done() Callback { return Callback{Handler: x.Handler, Info: x.Info} }

// way is what x's flags say of its way.
func (x *Transfer) way() hint { return hintOf(x.Flags) }

// Xfer is LAPI_Xfer (guide, Chapter 18, Tables 24 to 31), and every other call that moves data.
func (c *Context) Xfer(kind uint32, x *Transfer) codes.Code {
	memory.Guard()
	c.single = x.Flags&notStripe != 0
	code := c.xfer(kind, x)
	c.single = false
	if code != codes.Success {
		return code
	}
	c.publish()
	if kind == XferPut && c.outboxes.Outboxes != nil {
		c.lend(&c.tasks[x.Tgt])
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
	t, code := c.target(x.Tgt)
	if code != codes.Success {
		return code
	}
	switch kind {
	case XferGet:
		return c.get(t, x)
	case XferPut:
		return c.put(t, x)
	case XferGetv:
		return c.getv(t, x)
	case XferPutv:
		return c.putv(t, x)
	case XferAmv:
		return c.amsendv(t, x)
	case XferRmw:
		return c.rmw(t, x)
	case XferDGSP, XferAmx:
		return c.amdgsp(t, x)
	}
	return c.amsend(t, x) // XferAm and XferAmLw
}
