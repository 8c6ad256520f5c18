//go:build linux && !cgo

package narrow

// mmap is called by the run-time's callCgoMmap, as a function in C.
func mmap()
