//go:build ignore

// A C-shared library with one function that does next to nothing: calling it costs what entering Go
// from C costs, which every LAPI call pays. It is built by name (see bench.mk) and no part of the
// module's packages.
package main

import "C"

//export golapi_bench_crossing
func golapi_bench_crossing(n C.long) C.long { return n + 1 }

func main() {}
