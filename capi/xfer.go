package main

// #include "context/golapi.h"
import "C"

import (
	"unsafe"

	"lapi/core/lapi"
)

//export golapi_xfer
func golapi_xfer(context C.int, kind C.uint32_t, x *C.cshim_transfer) (rc C.int) {
	defer broke(context, "golapi_xfer", &rc)
	return C.int(entered(context).Xfer(uint32(kind), (*lapi.Transfer)(unsafe.Pointer(x))))
}

// The transfer comes from C as it is.
var _ = [1]struct{}{}[unsafe.Sizeof(lapi.Transfer{})-unsafe.Sizeof(C.cshim_transfer{})]
var _ = [1]struct{}{}[unsafe.Offsetof(lapi.Transfer{}.Flags)-
	unsafe.Offsetof(C.cshim_transfer{}.flags)]
