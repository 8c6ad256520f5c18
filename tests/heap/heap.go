// Package heap lets a test see what memory something holds.
package heap

import "runtime"

// InUse is how many bytes of Go's heap are reachable.
func InUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // memory that has finalizers is freed by the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
