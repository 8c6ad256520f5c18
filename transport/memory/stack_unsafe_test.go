package memory

import "unsafe"

// stackAddress is where a local variable lies, as a number: the pointer does not escape, so the
// variable stays on the stack.
func stackAddress(p *int) uintptr { return uintptr(unsafe.Pointer(p)) }
