package sock

import "unsafe"

// addressOf is where b, which lies outside the Go heap, starts.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
