// Package dgsm is LAPI's data gather/scatter machine: programs (DGSPs) that say where the bytes of
// a message lie in user memory, and the machine that runs them for transfers, packing and
// unpacking. docs/dev/dgsp.md has the rules.
//
// A program is decoded once, when it is registered, into routines of operations that know how many
// bytes they cover. So the machine can begin at any byte without running what comes before it, its
// state is bounded by the depth of the program, and no program can make it loop: whatever is wrong
// with one is found while decoding. With verification registering fails then; without, the program
// is registered and each attempt to use it fails.
//
// # Concurrency
//
// A Program never changes and may be used by any number of machines at once. A Machine belongs to
// one owner, such as a message under the context lock, and is not safe for concurrent use. A
// Registry has a lock of its own, because DGSPs are the process's and not a context's; nothing is
// called with it held, so it comes last in every lock order.
//
// All access to user memory is guarded as in transport/memory: memory.Guard must have run on the
// goroutine.
//
// # Where to find what
//
//	program.go        Program: what is known of a DGSP
//	layout_unsafe.go  the descriptor and longs, as C has them
//	instructions.go   how instructions lie in the code
//	decode.go         from code to routines; what ends in an error
//	simplify.go       fewer, longer operations that mean the same
//	bounds.go         which bytes a program touches
//	machine.go        Machine: any position in a transfer; pieces
//	move.go           Gather, Scatter, DDM functions
//	pack.go           LAPI_DGSP_PACK and LAPI_DGSP_UNPACK
//	registry.go       handles and their two reference counts
package dgsm
