/* kernels.h - tables of kernels, one for each set of the processor's instructions. */
#ifndef COLL_KERNELS_H
#define COLL_KERNELS_H

#include "coll/reduce.h"
#include "cpu/cpu.h"

/* out[i] = a[i] op b[i] for n elements. */
typedef void coll_kernel(void *out, const void *a, const void *b, size_t n);

typedef struct coll_kernels {
	coll_kernel *of[COLL_OPS][COLL_TYPES]; /* NULL: there is no such operation */
} coll_kernels;

extern const coll_kernels coll_kernels_plain;
#if CSHIM_AVX2
extern const coll_kernels coll_kernels_avx2;
#endif

/* The fastest that this processor can run. */
const coll_kernels *coll_kernels_best(void);

#endif
