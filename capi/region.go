package main

// #include "context/golapi.h"
import "C"

import (
	"unsafe"

	"lapi/transport"
)

//export golapi_register
func golapi_register(context C.int, base C.cshim_addr, size C.uint64_t, access C.uint32_t,
	key *C.uint64_t) (has C.int) {
	defer broke(context, "golapi_register", nil)
	c := entered(context)
	if !c.HasKeys() {
		return C.CSHIM_NO_KEYS
	}
	if copy(keyBytes(key), c.Register(addr(base), uint64(size), transport.Access(access))) > 0 {
		has = 1
	}
	return has
}

//export golapi_deregister
func golapi_deregister(context C.int, base C.cshim_addr, size C.uint64_t, key *C.uint64_t) {
	defer broke(context, "golapi_deregister", nil)
	entered(context).Deregister(addr(base), uint64(size), keyBytes(key))
}

func keyBytes(key *C.uint64_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(key)), transport.KeyMax)
}

// The keys and the bits of access come from C as they are.
var (
	_ = [1]struct{}{}[transport.KeyMax-C.CSHIM_KEY_SIZE]
	_ = [1]struct{}{}[transport.AccessRead-C.CSHIM_REGION_READ]
	_ = [1]struct{}{}[transport.AccessWrite-C.CSHIM_REGION_WRITE]
)
