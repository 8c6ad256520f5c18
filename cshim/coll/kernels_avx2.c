/* kernels_avx2.c - the kernels for processors with AVX2. */
#include "cpu/cpu.h"
#if CSHIM_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define COLL_KERNELS coll_kernels_avx2
#include "coll/kernel_bodies.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int coll_no_avx2; /* a file must not be empty */
#endif
