package main

// #include "golapi.h"
import "C"

import (
	"unsafe"

	"lapi/core/lapi"
)

//export golapi_xfer
func golapi_xfer(context C.int, kind C.uint32_t, x *C.cshim_transfer) C.int {
	return C.int(entered(context).Xfer(uint32(kind), (*lapi.Transfer)(unsafe.Pointer(x))))
}

// The transfer comes from C as it is.
var _ = [1]struct{}{}[unsafe.Sizeof(lapi.Transfer{})-unsafe.Sizeof(C.cshim_transfer{})]
var _ = [1]struct{}{}[unsafe.Offsetof(lapi.Transfer{}.Flags)-
	unsafe.Offsetof(C.cshim_transfer{}.flags)]

// The calls below say in arguments what LAPI_Xfer has in its structures.

func xfer(context C.int, kind uint32, x lapi.Transfer) C.int {
	return C.int(entered(context).Xfer(kind, &x))
}

//export golapi_put
func golapi_put(context C.int, tgt C.uint32_t, n C.uint64_t, tgtAddr, orgAddr, tgtCntr, orgCntr,
	cmplCntr C.cshim_addr) C.int {
	return xfer(context, lapi.XferPut, lapi.Transfer{Tgt: uint32(tgt), N: uint64(n),
		TgtAddr: addr(tgtAddr), OrgAddr: addr(orgAddr),
		TgtCntr: addr(tgtCntr), OrgCntr: addr(orgCntr), CmplCntr: addr(cmplCntr)})
}

//export golapi_get
func golapi_get(context C.int, tgt C.uint32_t, n C.uint64_t, tgtAddr, orgAddr, tgtCntr,
	orgCntr C.cshim_addr) C.int {
	return xfer(context, lapi.XferGet, lapi.Transfer{Tgt: uint32(tgt), N: uint64(n),
		TgtAddr: addr(tgtAddr), OrgAddr: addr(orgAddr),
		TgtCntr: addr(tgtCntr), OrgCntr: addr(orgCntr)})
}

//export golapi_amsend
func golapi_amsend(context C.int, tgt C.uint32_t, hdrHdl, uhdr C.cshim_addr, uhdrLen C.uint32_t,
	udata C.cshim_addr, n C.uint64_t,
	tgtCntr, orgCntr, cmplCntr C.cshim_addr) C.int {
	return xfer(context, lapi.XferAm, lapi.Transfer{Tgt: uint32(tgt), HdrHdl: addr(hdrHdl),
		Uhdr: addr(uhdr), UhdrLen: uint32(uhdrLen),
		OrgAddr: addr(udata), N: uint64(n), TgtCntr: addr(tgtCntr), OrgCntr: addr(orgCntr),
		CmplCntr: addr(cmplCntr)})
}

//export golapi_rmw
func golapi_rmw(context C.int, width, op, tgt C.uint32_t, tgtVar, inVal, prevTgtVal,
	orgCntr C.cshim_addr) C.int {
	return xfer(context, lapi.XferRmw, lapi.Transfer{Tgt: uint32(tgt), Op: uint32(op),
		Size: 8 * uint32(width), TgtAddr: addr(tgtVar),
		OrgAddr: addr(inVal), PrevVal: addr(prevTgtVal), OrgCntr: addr(orgCntr)})
}

//export golapi_putv
func golapi_putv(context C.int, tgt C.uint32_t, tgtVec, orgVec, tgtCntr, orgCntr,
	cmplCntr C.cshim_addr) C.int {
	return xfer(context, lapi.XferPutv, lapi.Transfer{Tgt: uint32(tgt), TgtAddr: addr(tgtVec),
		OrgAddr: addr(orgVec), Flags: lapi.UseTgtVecType,
		TgtCntr: addr(tgtCntr), OrgCntr: addr(orgCntr), CmplCntr: addr(cmplCntr)})
}

//export golapi_getv
func golapi_getv(context C.int, tgt C.uint32_t, tgtVec, orgVec, tgtCntr,
	orgCntr C.cshim_addr) C.int {
	return xfer(context, lapi.XferGetv, lapi.Transfer{Tgt: uint32(tgt), TgtAddr: addr(tgtVec),
		OrgAddr: addr(orgVec), Flags: lapi.UseTgtVecType,
		TgtCntr: addr(tgtCntr), OrgCntr: addr(orgCntr)})
}

//export golapi_amsendv
func golapi_amsendv(context C.int, tgt C.uint32_t, hdrHdl, uhdr C.cshim_addr, uhdrLen C.uint32_t,
	orgVec, tgtCntr, orgCntr, cmplCntr C.cshim_addr) C.int {
	return xfer(context, lapi.XferAmv, lapi.Transfer{Tgt: uint32(tgt), HdrHdl: addr(hdrHdl),
		Uhdr: addr(uhdr), UhdrLen: uint32(uhdrLen),
		OrgAddr: addr(orgVec), TgtCntr: addr(tgtCntr), OrgCntr: addr(orgCntr),
		CmplCntr: addr(cmplCntr)})
}
