// Package coll is C: what uDAPL's collectives compute. reduce.h is its contract: the twelve
// reductions of the sixteen data types, with the vector instructions that the processor has. Its
// Go functions are what capi gives to core, one call out of Go each.
//
//	reduce.c          which combinations there are, sizes, and the choice of the kernels
//	kernels_plain.c   the kernels for every processor of the architecture
//	kernels_avx2.c    the same for those with AVX2
//	kernels.h         one table of kernels; the two files above fill one each
//	kernel_bodies.h   the loops themselves, compiled once for each table
//	kernel_pairs.h    those of MINLOC and MAXLOC
package coll

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo noescape coll_reduce_at
// #cgo nocallback coll_reduce_at
// #include <float.h>
// #include <stdint.h>
// #include "coll/reduce.h"
// static int coll_reduce_at(int op, int type, uint64_t out, uint64_t a, uint64_t b, uint64_t count)
// {
// 	return coll_reduce_to(op, type, (void *)(uintptr_t)out, (const void *)(uintptr_t)a,
// 		(const void *)(uintptr_t)b, count);
// }
import "C"

// LongDoubleBits is how many bits the significand of C's long double has: 64 on x86, 113 on Arm, 106
// on POWER. Of each the format is another one.
const LongDoubleBits = C.LDBL_MANT_DIG

// Size is how many bytes an element of type typ has in op; 0: there is no such operation.
func Size(op, typ int) int { return int(C.coll_type_size(C.int(op), C.int(typ))) }

// Reduce makes count elements at out those at a, which are of lower ranks, op those at b. These are
// addresses; out may be a or b. Without such an operation it does nothing and returns false.
func Reduce(op, typ int, out, a, b, count uint64) bool {
	return C.coll_reduce_at(C.int(op), C.int(typ), C.uint64_t(out), C.uint64_t(a), C.uint64_t(b),
		C.uint64_t(count)) == 0
}
