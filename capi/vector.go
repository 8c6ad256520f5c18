package main

// #include "golapi.h"
import "C"

import "lapi/core/lapi"

//export golapi_putv
func golapi_putv(context C.int, tgt C.uint32_t, tgtVec, orgVec, tgtCntr, orgCntr, cmplCntr C.cshim_addr) C.int {
	return C.int(entered(context).Putv(uint32(tgt), addr(tgtVec), addr(orgVec), false, addr(tgtCntr), addr(orgCntr), addr(cmplCntr), lapi.Callback{}))
}

//export golapi_getv
func golapi_getv(context C.int, tgt C.uint32_t, tgtVec, orgVec, tgtCntr, orgCntr C.cshim_addr) C.int {
	return C.int(entered(context).Getv(uint32(tgt), addr(tgtVec), addr(orgVec), false, addr(tgtCntr), addr(orgCntr), lapi.Callback{}))
}

//export golapi_amsendv
func golapi_amsendv(context C.int, tgt C.uint32_t, hdrHdl, uhdr C.cshim_addr, uhdrLen C.uint32_t, orgVec, tgtCntr, orgCntr, cmplCntr C.cshim_addr) C.int {
	return C.int(entered(context).Amsendv(uint32(tgt), addr(hdrHdl), addr(uhdr), uint32(uhdrLen), addr(orgVec),
		addr(tgtCntr), addr(orgCntr), addr(cmplCntr), lapi.Callback{}))
}
