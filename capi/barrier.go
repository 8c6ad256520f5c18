package main

// #include "context/golapi.h"
import "C"

import "lapi/core/lapi/codes"

//export golapi_barrier_broken
func golapi_barrier_broken(context C.int, task C.int32_t) {
	defer broke(context, "golapi_barrier_broken", nil)
	entered(context).BarrierBroken(int(task))
}

//export golapi_barrier_refused
func golapi_barrier_refused(context C.int, code C.int32_t) {
	defer broke(context, "golapi_barrier_refused", nil)
	entered(context).BarrierRefused(codes.Code(code))
}
