/* reduce.c - which reductions there are, and which kernels do them. */
#include "coll/reduce.h"

#include <stdint.h>

#include "coll/kernels.h"

/* A pair of C's, for its size. */
#define PAIR(value, rank) \
	sizeof(struct {   \
		value a;  \
		rank b;   \
	})
#define SIZES(value)                                 \
	{                                            \
		sizeof(value), PAIR(value, uint32_t) \
	}

/* Bytes of an element alone, and with a rank. */
static const struct {
	size_t alone, pair;
} sizes[COLL_TYPES] = {
	[COLL_INT8] = SIZES(int8_t),
	[COLL_UINT8] = SIZES(uint8_t),
	[COLL_INT16] = SIZES(int16_t),
	[COLL_UINT16] = SIZES(uint16_t),
	[COLL_INT32] = SIZES(int32_t),
	[COLL_UINT32] = SIZES(uint32_t),
	[COLL_INT64] = SIZES(int64_t),
	[COLL_UINT64] = SIZES(uint64_t),
	[COLL_FLOAT] = SIZES(float),
	[COLL_DOUBLE] = SIZES(double),
	[COLL_LONG_DOUBLE] = {sizeof(long double), 0},
	[COLL_SHORT_INT] = {0, PAIR(short, int)},
	[COLL_2INT] = {0, PAIR(int, int)},
	[COLL_FLOAT_INT] = {0, PAIR(float, int)},
	[COLL_LONG_INT] = {0, PAIR(long, int)},
	[COLL_DOUBLE_INT] = {0, PAIR(double, int)},
};

/*
 * There is no table for AVX-512: a core reads and writes memory, and its second cache, no faster
 * with it, and it can slow the rest of the program down.
 */
const coll_kernels *coll_kernels_best(void)
{
#if CSHIM_AVX2
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2"))
		return &coll_kernels_avx2;
#endif
	return &coll_kernels_plain; /* with Neon on Arm, with VSX on POWER, which all of them have */
}

static coll_kernel *kernel(int op, int type)
{
	static const coll_kernels *best; /* all writers write the same */
	const coll_kernels *known = __atomic_load_n(&best, __ATOMIC_RELAXED);

	if (op < 0 || op >= COLL_OPS || type < 0 || type >= COLL_TYPES)
		return NULL;
	if (known == NULL) {
		known = coll_kernels_best();
		__atomic_store_n(&best, known, __ATOMIC_RELAXED);
	}
	return known->of[op][type];
}

int coll_reduce_valid(int op, int type)
{
	return kernel(op, type) != NULL;
}

size_t coll_type_size(int op, int type)
{
	if (!coll_reduce_valid(op, type))
		return 0;
	return op == COLL_MAXLOC || op == COLL_MINLOC ? sizes[type].pair : sizes[type].alone;
}

int coll_reduce_to(int op, int type, void *out, const void *a, const void *b, size_t count)
{
	coll_kernel *does = kernel(op, type);

	if (does == NULL)
		return -1;
	does(out, a, b, count);
	return 0;
}

int coll_reduce(int op, int type, void *inout, const void *in, size_t count)
{
	return coll_reduce_to(op, type, inout, inout, in, count);
}
