package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
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
	XferAmLw uint32 = 9 // as XferAm: the shortest way is taken for every short message
	XferAmx  uint32 = 10
	XferMc   uint32 = 11
)

// useTgtVecType is the flag USE_TGT_VEC_TYPE: the target's vector is a lapi_vec_t. notStripe is LAPI_NOT_STRIPE: the data keeps to one of several
// addresses (guide, Chapter 14); of a get also what the target sends. direct.go has those about bulk transfer. All other flags of LAPI_Xfer are hints that change nothing here, or for types that have their own calls.
const (
	useTgtVecType = 0x2
	notStripe     = 0x80
)

// Transfer is what LAPI_Xfer is asked to do: the members of all its structures. It is cshim_transfer of cshim/lapi/golapi.h.
type Transfer struct {
	HdrHdl, Uhdr     transport.Addr
	TgtAddr, OrgAddr transport.Addr // or vectors; of LAPI_DGSP_XFER TgtAddr is the DGSP's handle; of a read-modify-write tgt_var and in_val; of an active message udata is OrgAddr
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

// Xfer is LAPI_Xfer (guide, Chapter 18, Tables 24 to 31), and every other call that transfers. After a put small ones may follow
// without core.
func (c *Context) Xfer(kind uint32, x *Transfer) codes.Code {
	c.single = x.Flags&notStripe != 0
	code := c.xfer(kind, x)
	c.single = false
	if code == codes.Success && kind == XferPut && c.outboxes.Outboxes != nil {
		c.lend(&c.tasks[x.Tgt])
	}
	return code
}

func (c *Context) xfer(kind uint32, x *Transfer) codes.Code {
	done, way := Callback{Handler: x.Handler, Info: x.Info}, hintOf(x.Flags)
	switch kind {
	case XferGet:
		return c.get(x.Tgt, x.N, x.TgtAddr, x.OrgAddr, x.TgtCntr, x.OrgCntr, done, way)
	case XferAm, XferAmLw:
		return c.amsend(x.Tgt, x.HdrHdl, x.Uhdr, x.UhdrLen, x.OrgAddr, x.N, x.TgtCntr, x.OrgCntr, x.CmplCntr, done, way)
	case XferPut:
		return c.put(x.Tgt, x.N, x.TgtAddr, x.OrgAddr, x.TgtCntr, x.OrgCntr, x.CmplCntr, done, way)
	case XferGetv:
		return c.getv(x.Tgt, x.TgtAddr, x.OrgAddr, x.Flags&useTgtVecType == 0, x.TgtCntr, x.OrgCntr, done, way)
	case XferPutv:
		return c.putv(x.Tgt, x.TgtAddr, x.OrgAddr, x.Flags&useTgtVecType == 0, x.TgtCntr, x.OrgCntr, x.CmplCntr, done, way)
	case XferAmv:
		return c.amsendv(x.Tgt, x.HdrHdl, x.Uhdr, x.UhdrLen, x.OrgAddr, x.TgtCntr, x.OrgCntr, x.CmplCntr, done, way)
	case XferRmw:
		if x.Size != 32 && x.Size != 64 {
			return codes.ErrOpSz
		}
		return c.rmw(uint8(x.Size/8), x.Op, x.Tgt, x.TgtAddr, x.OrgAddr, x.PrevVal, x.OrgCntr, done)
	case XferDGSP, XferAmx:
		return c.amdgsp(x, done)
	case XferMc:
		return c.multicast(x, done)
	}
	return codes.ErrXferCmd
}
