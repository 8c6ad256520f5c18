package main

// #include "context/golapi.h"
// #include "lapi/process.h"
import "C"

import (
	"sync"

	"lapi/core/lapi"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
)

// dgsps does the commands that belong to no context. The first use, LAPI_Init's at the latest,
// makes LAPI_BYTE known.
func dgsps() lapi.DGSPs {
	d := lapi.DGSPs{Host: host{-1}}
	predefine.Do(func() { d.Predefine(addr(C.cshim_byte())) })
	return d
}

var predefine sync.Once

//export golapi_dgsp_register
func golapi_dgsp_register(descriptor C.cshim_addr, handle *C.cshim_addr) (rc C.int) {
	defer broke(-1, "golapi_dgsp_register", &rc)
	verify, _ := getenv("LAPI_VERIFY_DGSP")
	h, code := dgsps().Register(addr(descriptor), verify == "yes")
	if code == codes.Success {
		*handle = C.cshim_addr(h)
	}
	return C.int(code)
}

//export golapi_dgsp_reserve
func golapi_dgsp_reserve(handle C.cshim_addr) (rc C.int) {
	defer broke(-1, "golapi_dgsp_reserve", &rc)
	return C.int(dgsps().Reserve(addr(handle)))
}

//export golapi_dgsp_unreserve
func golapi_dgsp_unreserve(handle C.cshim_addr) (rc C.int) {
	defer broke(-1, "golapi_dgsp_unreserve", &rc)
	return C.int(dgsps().Unreserve(addr(handle)))
}

//export golapi_dgsp_ddm
func golapi_dgsp_ddm(context C.int, handler C.cshim_addr) {
	defer broke(context, "golapi_dgsp_ddm", nil)
	entered(context).RegisterDDM(addr(handler))
}

//export golapi_dgsp_pack
func golapi_dgsp_pack(context C.int, handle, in C.cshim_addr, n C.uint64_t, out C.cshim_addr,
	size C.uint64_t, position *C.uint64_t) (rc C.int) {
	defer broke(context, "golapi_dgsp_pack", &rc)
	b := dgsm.Buffer{Addr: addr(out), Size: uint64(size), Position: uint64(*position)}
	code := entered(context).PackDGSP(addr(handle), addr(in), uint64(n), &b)
	*position = C.uint64_t(b.Position)
	return C.int(code)
}

//export golapi_dgsp_unpack
func golapi_dgsp_unpack(context C.int, handle, in C.cshim_addr, inSize C.uint64_t,
	position *C.uint64_t, out C.cshim_addr, n, outSize C.uint64_t) (rc C.int) {
	defer broke(context, "golapi_dgsp_unpack", &rc)
	b := dgsm.Buffer{Addr: addr(in), Size: uint64(inSize), Position: uint64(*position)}
	code := entered(context).UnpackDGSP(addr(handle), &b, addr(out), uint64(n), uint64(outSize))
	*position = C.uint64_t(b.Position)
	return C.int(code)
}
