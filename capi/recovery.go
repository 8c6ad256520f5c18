package main

// #include <lapi.h>
// #include "context/golapi.h"
import "C"

import "lapi/core/lapi/codes"

//export golapi_add_udp_dest
func golapi_add_udp_dest(context C.int, tgt, instance C.uint32_t, port C.cshim_addr,
	withFamily C.int) (rc C.int) {
	defer broke(context, "golapi_add_udp_dest", &rc)
	a := addressesAt(addr(port), 1, withFamily != 0)
	if a == nil {
		return C.int(codes.ErrUDPPortInfo)
	}
	return C.int(entered(context).AddUDPDest(uint32(tgt), uint32(instance), a[0]))
}

//export golapi_purge
func golapi_purge(context C.int, dest C.uint32_t) (rc C.int) {
	defer broke(context, "golapi_purge", &rc)
	return C.int(entered(context).Purge(uint32(dest)))
}

//export golapi_resume
func golapi_resume(context C.int, dest C.uint32_t) (rc C.int) {
	defer broke(context, "golapi_resume", &rc)
	return C.int(entered(context).Resume(uint32(dest)))
}

//export golapi_counter_list
func golapi_counter_list(context C.int, cntr C.cshim_addr, n C.int32_t, dest, status,
	member C.cshim_addr) (rc C.int) {
	defer broke(context, "golapi_counter_list", &rc)
	return C.int(entered(context).ListCounter(addr(cntr), int32(n), addr(dest), addr(status),
		addr(member)))
}

//export golapi_counter_unlist
func golapi_counter_unlist(context C.int, cntr C.cshim_addr) {
	defer broke(context, "golapi_counter_unlist", nil)
	entered(context).UnlistCounter(addr(cntr))
}

//export golapi_take_loss
func golapi_take_loss(context C.int) (found C.int) {
	defer broke(context, "golapi_take_loss", nil)
	if entered(context).TakeLoss() {
		return 1
	}
	return 0
}

//export golapi_counter_purged
func golapi_counter_purged(context C.int, cntr C.cshim_addr) (purged C.int) {
	defer broke(context, "golapi_counter_purged", nil)
	return C.int(entered(context).CounterPurged(addr(cntr)))
}
