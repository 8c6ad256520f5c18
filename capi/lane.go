package main

// #include "golapi.h"
import "C"

import (
	"unsafe"

	"lapi/core/lapi"
	"lapi/core/lapi/codes"
)

//export golapi_lane_count
func golapi_lane_count(context C.int, cntr C.cshim_addr, kind, src, peer C.int32_t) {
	entered(context).LaneCount(addr(cntr), codes.ErrType(kind), int(src), int(peer))
}

//export golapi_lane_tell
func golapi_lane_tell(context C.int, origin C.int32_t, cmplCntr C.cshim_addr, more C.uint64_t) {
	entered(context).LaneTell(int(origin), addr(cmplCntr), uint64(more))
}

//export golapi_lane_fault
func golapi_lane_fault(context C.int, a C.cshim_addr, kind C.int32_t) {
	entered(context).LaneFault(addr(a), codes.ErrType(kind))
}

//export golapi_lane_handled
func golapi_lane_handled(context C.int, ring C.uint32_t, result *C.cshim_header_result) {
	entered(context).LaneHandled(uint32(ring), (*lapi.HeaderResult)(unsafe.Pointer(result)))
}

//export golapi_lane_put_rest
func golapi_lane_put_rest(context C.int, tgt C.int32_t, n C.uint64_t, tgtAddr, orgAddr, tgtCntr,
	orgCntr, cmplCntr C.cshim_addr) {
	entered(context).LanePutRest(int(tgt), uint64(n), addr(tgtAddr), addr(orgAddr), addr(tgtCntr),
		addr(orgCntr), addr(cmplCntr))
}

//export golapi_lane_get_rest
func golapi_lane_get_rest(context C.int, origin C.int32_t, token C.uint32_t, n C.uint64_t,
	data C.cshim_addr, offset C.uint64_t, tgtCntr C.cshim_addr) {
	entered(context).LaneGetRest(int(origin), uint32(token), uint64(n), addr(data), uint64(offset),
		addr(tgtCntr))
}
