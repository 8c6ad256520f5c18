package main

// #include "context/golapi.h"
import "C"

import (
	"unsafe"

	"lapi/core/lapi"
	"lapi/core/lapi/codes"
)

//export golapi_lane_count
func golapi_lane_count(context C.int, cntr C.cshim_addr, kind, src, peer C.int32_t) {
	defer broke(context, "golapi_lane_count", nil)
	entered(context).LaneCount(addr(cntr), codes.ErrType(kind), int(src), int(peer))
}

//export golapi_lane_tell
func golapi_lane_tell(context C.int, origin C.int32_t, cmplCntr C.cshim_addr, more C.uint64_t) {
	defer broke(context, "golapi_lane_tell", nil)
	entered(context).LaneTell(int(origin), addr(cmplCntr), uint64(more))
}

//export golapi_lane_fault
func golapi_lane_fault(context C.int, peer, result C.int32_t, a C.cshim_addr, kind C.int32_t) {
	defer broke(context, "golapi_lane_fault", nil)
	entered(context).LaneFault(int(peer), int32(result), addr(a), codes.ErrType(kind))
}

//export golapi_lane_handled
func golapi_lane_handled(context C.int, ring C.uint32_t, result *C.cshim_header_result) {
	defer broke(context, "golapi_lane_handled", nil)
	entered(context).LaneHandled(uint32(ring), (*lapi.HeaderResult)(unsafe.Pointer(result)))
}

//export golapi_lane_packet_handled
func golapi_lane_packet_handled(context C.int, task, slot C.int32_t, n C.uint32_t,
	result *C.cshim_header_result) {
	defer broke(context, "golapi_lane_packet_handled", nil)
	entered(context).LanePacketHandled(int(task), int32(slot), uint32(n),
		(*lapi.HeaderResult)(unsafe.Pointer(result)))
}

//export golapi_lane_put_rest
func golapi_lane_put_rest(context C.int, tgt C.int32_t, orgCntr C.cshim_addr) {
	defer broke(context, "golapi_lane_put_rest", nil)
	entered(context).LanePutRest(int(tgt), addr(orgCntr))
}

//export golapi_lane_later
func golapi_lane_later(context C.int, ring C.uint32_t) (taken C.int) {
	defer broke(context, "golapi_lane_later", nil)
	if entered(context).LaneLater(uint32(ring)) {
		return 1
	}
	return 0
}
