package main

// #include "context/golapi.h"
import "C"

import "unsafe"

//export golapi_dump
func golapi_dump(context C.int, text *C.char, size C.size_t) (n C.size_t) {
	defer broke(context, "golapi_dump", nil)
	c := contexts[context]
	if c == nil { // broken
		return 0
	}
	into := unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size))
	return C.size_t(copy(into, c.Dump(len(into))))
}

//export golapi_dump_print
func golapi_dump_print(text *C.char, size C.size_t) {
	say(string(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size))))
}
