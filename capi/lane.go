package main

// #include "golapi.h"
import "C"

import (
	"unsafe"

	"lapi/core/lapi"
)

//export golapi_lane_count
func golapi_lane_count(context C.int, cntr C.cshim_addr, kind, src, peer C.int32_t) {
	contexts[context].LaneCount(addr(cntr), lapi.ErrType(kind), int(src), int(peer))
}

//export golapi_lane_tell
func golapi_lane_tell(context C.int, origin C.int32_t, cmplCntr C.cshim_addr, more C.uint64_t) {
	contexts[context].LaneTell(int(origin), addr(cmplCntr), uint64(more))
}

//export golapi_lane_fault
func golapi_lane_fault(context C.int, a C.cshim_addr, kind C.int32_t) {
	contexts[context].LaneFault(addr(a), lapi.ErrType(kind))
}

//export golapi_lane_handled
func golapi_lane_handled(context C.int, ring C.uint32_t, result *C.cshim_header_result) {
	contexts[context].LaneHandled(uint32(ring), (*lapi.HeaderResult)(unsafe.Pointer(result)))
}
