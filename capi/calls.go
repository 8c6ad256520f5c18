package main

// #include "context/golapi.h"
// #include "lapi/process.h"
import "C"

import (
	"lapi/core/lapi/codes"
)

//export golapi_dispatch
func golapi_dispatch(context C.int, ticket C.uint64_t) (flags C.uint32_t) {
	defer brokeDispatch(context, &flags)
	return C.uint32_t(entered(context).Dispatch(uint64(ticket)))
}

//export golapi_ticket_result
func golapi_ticket_result(context C.int, ticket C.uint64_t) (rc C.int) {
	defer broke(context, "golapi_ticket_result", &rc)
	return C.int(entered(context).TicketResult(uint64(ticket)))
}

//export golapi_arm
func golapi_arm(context C.int, timeout *C.int64_t) (work C.int) {
	defer brokeArm(context, timeout, &work)
	t, ok := entered(context).Arm()
	if !ok {
		return 1
	}
	*timeout = C.int64_t(atMost(t))
	return 0
}

//export golapi_disarm
func golapi_disarm(context C.int) {
	defer broke(context, "golapi_disarm", nil)
	entered(context).Disarm()
}

//export golapi_away
func golapi_away(context, away C.int) {
	defer broke(context, "golapi_away", nil)
	entered(context).SetAway(away != 0)
}

//export golapi_addr_set
func golapi_addr_set(context C.int, a C.cshim_addr, index C.int32_t) (rc C.int) {
	defer broke(context, "golapi_addr_set", &rc)
	return C.int(entered(context).AddrSet(addr(a), int32(index)))
}

//export golapi_addr_get
func golapi_addr_get(context C.int, index C.int32_t, a *C.cshim_addr) (rc C.int) {
	defer broke(context, "golapi_addr_get", &rc)
	value, code := entered(context).AddrGet(int32(index))
	*a = C.cshim_addr(value)
	return C.int(code)
}

//export golapi_qenv
func golapi_qenv(context C.int, query C.uint32_t, ret C.cshim_addr) (rc C.int) {
	defer broke(context, "golapi_qenv", &rc)
	return C.int(entered(context).Qenv(uint32(query), addr(ret)))
}

//export golapi_senv
func golapi_senv(context C.int, query C.uint32_t, val C.int32_t) (rc C.int) {
	defer broke(context, "golapi_senv", &rc)
	return C.int(entered(context).Senv(uint32(query), int32(val)))
}

//export golapi_fence_begin
func golapi_fence_begin(context C.int, ticket *C.uint64_t) (rc C.int) {
	defer broke(context, "golapi_fence_begin", &rc)
	return begun(ticket)(entered(context).FenceBegin())
}

//export golapi_gfence_begin
func golapi_gfence_begin(context C.int, ticket *C.uint64_t) (rc C.int) {
	defer broke(context, "golapi_gfence_begin", &rc)
	return begun(ticket)(entered(context).GfenceBegin())
}

//export golapi_address_init_begin
func golapi_address_init_begin(context C.int, value C.uint64_t, table C.cshim_addr,
	width C.uint32_t, ticket *C.uint64_t) (rc C.int) {
	defer broke(context, "golapi_address_init_begin", &rc)
	return begun(ticket)(entered(context).AddressInitBegin(uint64(value), addr(table),
		uint32(width)))
}

//export golapi_term_begin
func golapi_term_begin(context C.int, ticket *C.uint64_t) (rc C.int) {
	defer broke(context, "golapi_term_begin", &rc)
	return begun(ticket)(entered(context).TermBegin())
}

// begun stores the ticket of a blocking call that has begun.
func begun(ticket *C.uint64_t) func(uint64, codes.Code) C.int {
	return func(id uint64, code codes.Code) C.int {
		*ticket = C.uint64_t(id)
		return C.int(code)
	}
}

//export golapi_term_end
func golapi_term_end(context C.int) (rc C.int) {
	defer broke(-1, "golapi_term_end", &rc)
	c := contexts[context]
	robbed := c == nil && brokenContexts[context].robbed
	if c == nil { // a broken context only lets its peers learn that it leaves
		c = brokenContexts[context].context
	}
	contexts[context], brokenContexts[context] = nil, broken{}
	C.cshim_exit_notice_clear(context)
	freeInstance(context)
	if !robbed { // else it would close, and write to, files of the program
		c.TermEnd()
	}
	return C.int(codes.Success)
}
