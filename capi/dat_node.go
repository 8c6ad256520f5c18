package main

// #include "dat/godat.h"
import "C"

import "lapi/core/dat"

//export godat_bind
func godat_bind(ep, number C.uint64_t, status C.uint32_t) (ok C.int) {
	defer datBroke("godat_bind", 0)
	if udapl.lib.Bound(uint64(number), uint8(status)) {
		return 1
	}
	return 0
}

//export godat_invalidate
func godat_invalidate(ep C.uint64_t, context C.uint32_t) (ok C.int) {
	defer datBroke("godat_invalidate", 0)
	if udapl.lib.Invalidated(dat.Handle(ep), uint32(context)) {
		return 1
	}
	return 0
}
