package lapi

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/transport"
	"lapi/transport/memory"
)

// dgsps are the DGSPs of the process: a program once registered serves every context and outlives
// them (guide, LAPI_Util). The registry has a lock of its own; these functions run with or without
// a context lock.
var dgsps dgsm.Registry

// DGSPs does the LAPI_Util commands that need no context, for a caller whose messages go to Host.
type DGSPs struct{ Host Host }

// explain gives the code of err for the user and says at MP_INFOLEVEL 1 what is wrong. err is a
// *dgsm.Error, perhaps a nil one, or a fault.
func explain(h Host, call string, err error) codes.Code {
	e, isDGSP := err.(*dgsm.Error)
	if err == nil || isDGSP && e == nil {
		return codes.Success
	}
	h.Message(1, call+": "+err.Error())
	if isDGSP {
		return e.Code
	}
	return codes.ErrOrgAddrNull
}

// Predefine makes the descriptor at a, LAPI_BYTE, a registered DGSP.
func (d DGSPs) Predefine(a transport.Addr) codes.Code {
	memory.Guard()
	return explain(d.Host, "LAPI_BYTE", dgsps.Predefine(a))
}

// Register is LAPI_REGISTER_DGSP: copies the lapi_dgsp_descr_t at a. verify is LAPI_VERIFY_DGSP.
func (d DGSPs) Register(a transport.Addr, verify bool) (transport.Addr, codes.Code) {
	memory.Guard()
	handle, err := dgsps.Register(a, verify)
	return handle, explain(d.Host, "LAPI_REGISTER_DGSP", err)
}

// Reserve is LAPI_RESERVE_DGSP.
func (d DGSPs) Reserve(handle transport.Addr) codes.Code {
	memory.Guard()
	return explain(d.Host, "LAPI_RESERVE_DGSP", dgsps.Reserve(handle))
}

// Unreserve is LAPI_UNRESERVE_DGSP.
func (d DGSPs) Unreserve(handle transport.Addr) codes.Code {
	memory.Guard()
	return explain(d.Host, "LAPI_UNRESERVE_DGSP", dgsps.Unreserve(handle))
}

// RegisterDDM is LAPI_REG_DDM_FUNC: handler, or none if it is 0, combines scattered data with what
// is in memory.
func (c *Context) RegisterDDM(handler transport.Addr) {
	if handler == 0 {
		c.in.SetDDM(nil)
		return
	}
	c.in.SetDDM(func(in, inout transport.Addr, n uint64, operand, operation int32) int64 {
		return c.host.DDM(handler, in, inout, n, operand, operation)
	})
}

// PackDGSP is LAPI_DGSP_PACK: gathers n bytes at in, laid out by the DGSP, to out. out.Position
// moves on if all is well.
func (c *Context) PackDGSP(handle, in transport.Addr, n uint64, out *dgsm.Buffer) codes.Code {
	memory.Guard()
	hold, err := dgsps.Hold(handle)
	if err != nil {
		return explain(c.host, "LAPI_DGSP_PACK", err)
	}
	defer dgsps.Release(hold)
	return explain(c.host, "LAPI_DGSP_PACK",
		c.packer.Pack(dgsm.Transfer{Program: hold.Program(), Base: in, Bytes: n}, out))
}

// UnpackDGSP is LAPI_DGSP_UNPACK: scatters n bytes of in by the DGSP to outSize bytes at out.
func (c *Context) UnpackDGSP(handle transport.Addr, in *dgsm.Buffer, out transport.Addr, n,
	outSize uint64) codes.Code {
	memory.Guard()
	hold, err := dgsps.Hold(handle)
	if err != nil {
		return explain(c.host, "LAPI_DGSP_UNPACK", err)
	}
	defer dgsps.Release(hold)
	t := dgsm.Transfer{Program: hold.Program(), Base: out, Bytes: n, DDM: c.in.DDM()}
	return explain(c.host, "LAPI_DGSP_UNPACK", c.packer.Unpack(t, in, outSize))
}
