/*
 * kernel_bodies.h - the loops. Included once by each kernels_*.c, which has set the instructions
 * to compile for and COLL_KERNELS, the table to fill.
 *
 * The loops are plain C that the compiler makes vector instructions of. out may be a or b, never a
 * part of them, so that no iteration depends on another: that is what INDEPENDENT tells it. At -O2
 * gcc 12 leaves loops of unknown length alone, hence the pragma; rolled out they are faster in the
 * first cache.
 */
#ifndef __clang__
#pragma GCC optimize("O3,unroll-loops")
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "coll/kernels.h"

/* A type whose objects may lie anywhere and be seen as others. */
#define ANYWHERE(type, name) typedef type name __attribute__((aligned(1), may_alias))

ANYWHERE(int8_t, any_i8);
ANYWHERE(uint8_t, any_u8);
ANYWHERE(int16_t, any_i16);
ANYWHERE(uint16_t, any_u16);
ANYWHERE(int32_t, any_i32);
ANYWHERE(uint32_t, any_u32);
ANYWHERE(int64_t, any_i64);
ANYWHERE(uint64_t, any_u64);
ANYWHERE(float, any_f32);
ANYWHERE(double, any_f64);
ANYWHERE(long double, any_long_double);

/* The kernel op_type, whose result is an expression of x, of the lower ranks, and y. */
#define KERNEL(op, type, expression)                                               \
	static void op##_##type(void *out, const void *a, const void *b, size_t n) \
	{                                                                          \
		any_##type *to = out;                                              \
		const any_##type *left = a, *right = b;                            \
		size_t i;                                                          \
                                                                                   \
		INDEPENDENT                                                        \
		for (i = 0; i < n; i++) {                                          \
			any_##type x = left[i], y = right[i];                      \
                                                                                   \
			to[i] = (expression);                                      \
		}                                                                  \
	}

/* x != x: a NaN of the lower ranks stays; a NaN of the others compares false, and is taken. */
#define ORDER(type)                                 \
	KERNEL(max, type, x >= y || x != x ? x : y) \
	KERNEL(min, type, x <= y || x != x ? x : y)
#define ORDER_INTEGER(type)               \
	KERNEL(max, type, x >= y ? x : y) \
	KERNEL(min, type, x <= y ? x : y)

ORDER_INTEGER(i8)
ORDER_INTEGER(u8)
ORDER_INTEGER(i16)
ORDER_INTEGER(u16)
ORDER_INTEGER(i32)
ORDER_INTEGER(u32)
ORDER_INTEGER(i64)
ORDER_INTEGER(u64)
ORDER(f32)
ORDER(f64)

/* Unsigned also for signed types: the bits are the same, and it may wrap around. 1u: two uint16_t
 * would be multiplied as int. */
#define ARITHMETIC(type)         \
	KERNEL(sum, type, x + y) \
	KERNEL(prod, type, 1u * x * y)

ARITHMETIC(u16)
ARITHMETIC(u32)
ARITHMETIC(u64)
KERNEL(sum, u8, x + y)
KERNEL(prod_pair, u16, (1u * x * y & 0xff) | 1u * (x & 0xff00) * (y >> 8))

/* No vector instruction multiplies bytes. So two at once, in words: the lower product is that of
 * the words, cut off; for the upper one the left word's lower byte is 0. */
static void prod_u8(void *out, const void *a, const void *b, size_t n)
{
	prod_pair_u16(out, a, b, n / 2);
	if (n % 2 != 0)
		((uint8_t *)out)[n - 1] =
			(uint8_t)(1u * ((const uint8_t *)a)[n - 1] * ((const uint8_t *)b)[n - 1]);
}

KERNEL(sum, f32, x + y)
KERNEL(sum, f64, x + y)
KERNEL(prod, f32, x *y)
KERNEL(prod, f64, x *y)

#define LOGICAL(type)                           \
	KERNEL(land, type, (x != 0) & (y != 0)) \
	KERNEL(lor, type, (x | y) != 0)         \
	KERNEL(lxor, type, (x != 0) ^ (y != 0)) \
	KERNEL(band, type, x &y)                \
	KERNEL(bor, type, x | y)                \
	KERNEL(bxor, type, x ^ y)

LOGICAL(u8)
LOGICAL(u16)
LOGICAL(u32)
LOGICAL(u64)

/* x86's long double has ten bytes of value. */
static inline void clear_padding(any_long_double *at)
{
#if __LDBL_MANT_DIG__ == 64
	memset((unsigned char *)at + 10, 0, sizeof *at - 10);
#else
	(void)at;
#endif
}

/* As KERNEL, of long double, which no vector instruction knows. Its padding becomes zero, so that
 * the same numbers are the same bytes. */
#define KERNEL_LONG(op, expression)                                                     \
	static void op##_long_double(void *out, const void *a, const void *b, size_t n) \
	{                                                                               \
		any_long_double *to = out;                                              \
		const any_long_double *left = a, *right = b;                            \
		size_t i;                                                               \
                                                                                        \
		for (i = 0; i < n; i++) {                                               \
			long double x = left[i], y = right[i];                          \
                                                                                        \
			to[i] = (expression);                                           \
			clear_padding(&to[i]);                                          \
		}                                                                       \
	}

KERNEL_LONG(max, x >= y || x != x ? x : y)
KERNEL_LONG(min, x <= y || x != x ? x : y)
KERNEL_LONG(sum, x + y)
KERNEL_LONG(prod, x *y)

#include "coll/kernel_pairs.h"

/* clang-format off */
#define INTEGERS(signed_op, unsigned_op)                                           \
	[COLL_INT8] = signed_op##8, [COLL_UINT8] = unsigned_op##8,                 \
	[COLL_INT16] = signed_op##16, [COLL_UINT16] = unsigned_op##16,             \
	[COLL_INT32] = signed_op##32, [COLL_UINT32] = unsigned_op##32,             \
	[COLL_INT64] = signed_op##64, [COLL_UINT64] = unsigned_op##64
#define FLOATS(op)                                                                 \
	[COLL_FLOAT] = op##_f32, [COLL_DOUBLE] = op##_f64, [COLL_LONG_DOUBLE] = op##_long_double
#define PAIRS(op)                                                                  \
	[COLL_INT8] = op##_i8, [COLL_UINT8] = op##_u8, [COLL_INT16] = op##_i16,    \
	[COLL_UINT16] = op##_u16, [COLL_INT32] = op##_i32, [COLL_UINT32] = op##_u32, \
	[COLL_INT64] = op##_i64, [COLL_UINT64] = op##_u64, [COLL_FLOAT] = op##_f32, \
	[COLL_DOUBLE] = op##_f64, [COLL_SHORT_INT] = op##_short_int,               \
	[COLL_2INT] = op##_2int, [COLL_FLOAT_INT] = op##_float_int,                \
	[COLL_LONG_INT] = op##_long_int, [COLL_DOUBLE_INT] = op##_double_int
/* clang-format on */

const coll_kernels COLL_KERNELS = {{
	[COLL_MAX] = {INTEGERS(max_i, max_u), FLOATS(max)},
	[COLL_MIN] = {INTEGERS(min_i, min_u), FLOATS(min)},
	[COLL_SUM] = {INTEGERS(sum_u, sum_u), FLOATS(sum)},
	[COLL_PROD] = {INTEGERS(prod_u, prod_u), FLOATS(prod)},
	[COLL_LAND] = {INTEGERS(land_u, land_u)},
	[COLL_BAND] = {INTEGERS(band_u, band_u)},
	[COLL_LOR] = {INTEGERS(lor_u, lor_u)},
	[COLL_BOR] = {INTEGERS(bor_u, bor_u)},
	[COLL_LXOR] = {INTEGERS(lxor_u, lxor_u)},
	[COLL_BXOR] = {INTEGERS(bxor_u, bxor_u)},
	[COLL_MAXLOC] = {PAIRS(maxloc)},
	[COLL_MINLOC] = {PAIRS(minloc)},
}};
