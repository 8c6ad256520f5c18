/*
 * kernel_pairs.h - the loops of MINLOC and MAXLOC. A part of kernel_bodies.h.
 *
 * A pair of eight bytes has the value at 0 and the rank at 4. It is loaded as one word, of which a
 * signed key is made that orders such pairs: above, the value as an integer; below, the rank,
 * turned so that the lower one wins. The larger key wins in MAXLOC, the smaller one in MINLOC. All
 * of that is done in 64-bit lanes.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the value is the low half of the word");

/* The value of a pair of eight bytes, as an integer of the same order. */
static inline int32_t order_i8(uint64_t pair, int32_t nan)
{
	(void)nan;
	return (int8_t)pair;
}

static inline int32_t order_u8(uint64_t pair, int32_t nan)
{
	(void)nan;
	return (uint8_t)pair;
}

static inline int32_t order_i16(uint64_t pair, int32_t nan)
{
	(void)nan;
	return (int16_t)pair;
}

static inline int32_t order_u16(uint64_t pair, int32_t nan)
{
	(void)nan;
	return (uint16_t)pair;
}

static inline int32_t order_i32(uint64_t pair, int32_t nan)
{
	(void)nan;
	return (int32_t)pair;
}

static inline int32_t order_u32(uint64_t pair, int32_t nan)
{
	(void)nan;
	return (int32_t)((uint32_t)pair ^ 0x80000000u);
}

/* Sign and magnitude become two's complement, so both zeros are 0. NaNs are nan. */
static inline int32_t order_f32(uint64_t pair, int32_t nan)
{
	int32_t bits = (int32_t)pair, magnitude = bits & 0x7fffffff, sign = bits >> 31;

	return magnitude > 0x7f800000 ? nan : (magnitude ^ sign) - sign;
}

/* turn: what the ranks are changed by, so that the wanted one has the larger or smaller bits. */
#define KERNEL_SHORT_PAIR(op, name, type, better, nan, turn)                         \
	static void op##_##name(void *out, const void *a, const void *b, size_t n)   \
	{                                                                            \
		any_u64 *to = out;                                                   \
		const any_u64 *left = a, *right = b;                                 \
		size_t i;                                                            \
                                                                                     \
		INDEPENDENT                                                          \
		for (i = 0; i < n; i++) {                                            \
			uint64_t x = left[i], y = right[i];                          \
			int64_t p = (int64_t)((uint64_t)order_##type(x, nan) << 32 | \
			                      ((x >> 32) ^ (turn)));                 \
			int64_t q = (int64_t)((uint64_t)order_##type(y, nan) << 32 | \
			                      ((y >> 32) ^ (turn)));                 \
                                                                                     \
			to[i] = p better q ? x : y;                                  \
		}                                                                    \
	}

/* The rank is uint32_t: */
#define SHORT_PAIRS(type)                                                 \
	KERNEL_SHORT_PAIR(maxloc, type, type, >=, INT32_MAX, 0xffffffffu) \
	KERNEL_SHORT_PAIR(minloc, type, type, <=, INT32_MIN, 0u)
/* The rank is int: */
#define SHORT_PAIRS_INT(name, type)                                       \
	KERNEL_SHORT_PAIR(maxloc, name, type, >=, INT32_MAX, 0x7fffffffu) \
	KERNEL_SHORT_PAIR(minloc, name, type, <=, INT32_MIN, 0x80000000u)

SHORT_PAIRS(i8)
SHORT_PAIRS(u8)
SHORT_PAIRS(i16)
SHORT_PAIRS(u16)
SHORT_PAIRS(i32)
SHORT_PAIRS(u32)
SHORT_PAIRS(f32)
SHORT_PAIRS_INT(short_int, i16)
SHORT_PAIRS_INT(2int, i32)
SHORT_PAIRS_INT(float_int, f32)

#if __SIZEOF_LONG__ == 8

/*
 * A pair of sixteen bytes is two words: the value, and the rank below padding. Both are compared as
 * integers of the same order, and one of the pairs is taken by a mask: no jump that the processor
 * would guess wrong, and lanes of 64 bits.
 */
static inline int64_t order_i64(uint64_t value, int64_t nan)
{
	(void)nan;
	return (int64_t)value;
}

static inline int64_t order_u64(uint64_t value, int64_t nan)
{
	(void)nan;
	return (int64_t)(value ^ UINT64_C(1) << 63);
}

/* As order_f32. */
static inline int64_t order_f64(uint64_t value, int64_t nan)
{
	int64_t magnitude = (int64_t)(value & INT64_MAX), sign = -(int64_t)(value >> 63);
	int64_t none = -(int64_t)(magnitude > INT64_C(0x7ff0000000000000));

	return (((magnitude ^ sign) - sign) & ~none) | (nan & none);
}

/* rank_type: of the rank, whose order is that of its values. */
#define KERNEL_LONG_PAIR(op, name, type, rank_type, better, nan)                           \
	static void op##_##name(void *out, const void *a, const void *b, size_t n)         \
	{                                                                                  \
		any_u64 *to = out;                                                         \
		const any_u64 *left = a, *right = b;                                       \
		size_t i;                                                                  \
                                                                                           \
		INDEPENDENT                                                                \
		for (i = 0; i < n; i++) {                                                  \
			uint64_t x = left[2 * i], x_rank = left[2 * i + 1];                \
			uint64_t y = right[2 * i], y_rank = right[2 * i + 1];              \
			int64_t p = order_##type(x, nan), q = order_##type(y, nan);        \
			int64_t lower = (rank_type)x_rank, other = (rank_type)y_rank;      \
			uint64_t keeps =                                                   \
				-(uint64_t)((p better q) | ((p == q) & (lower <= other))); \
                                                                                           \
			to[2 * i] = (x & keeps) | (y & ~keeps);                            \
			to[2 * i + 1] = (x_rank & keeps) | (y_rank & ~keeps);              \
		}                                                                          \
	}

#define LONG_PAIRS(name, type, rank_type)                             \
	KERNEL_LONG_PAIR(maxloc, name, type, rank_type, >, INT64_MAX) \
	KERNEL_LONG_PAIR(minloc, name, type, rank_type, <, INT64_MIN)

LONG_PAIRS(i64, i64, uint32_t)
LONG_PAIRS(u64, u64, uint32_t)
LONG_PAIRS(f64, f64, uint32_t)
LONG_PAIRS(long_int, i64, int32_t)
LONG_PAIRS(double_int, f64, int32_t)

#else /* such pairs have eight bytes or twelve */

/* One is chosen by its address: that needs no jump that the processor would guess wrong. */
#define KERNEL_LONG_PAIR(op, name, type, rank_type, better)                               \
	static void op##_##name(void *out, const void *a, const void *b, size_t n)        \
	{                                                                                 \
		struct pair {                                                             \
			type value;                                                       \
			rank_type rank;                                                   \
		} x, y, chosen;                                                           \
		unsigned char *to = out;                                                  \
		const unsigned char *left = a, *right = b;                                \
                                                                                          \
		for (; n > 0; n--, to += sizeof x, left += sizeof x, right += sizeof x) { \
			int lower, wins, other, keeps;                                    \
                                                                                          \
			memcpy(&x, left, sizeof x);                                       \
			memcpy(&y, right, sizeof y);                                      \
			lower = x.rank <= y.rank;                                         \
			wins = (x.value better y.value) |                                 \
			       ((x.value != x.value) & (y.value == y.value));             \
			other = (y.value better x.value) |                                \
			        ((y.value != y.value) & (x.value == x.value));            \
			keeps = wins | (lower & !other);                                  \
			memcpy(&chosen, keeps ? left : right, sizeof chosen);             \
			memcpy(to, &chosen, sizeof chosen);                               \
		}                                                                         \
	}

#define LONG_PAIRS(name, type, rank_type)                  \
	KERNEL_LONG_PAIR(maxloc, name, type, rank_type, >) \
	KERNEL_LONG_PAIR(minloc, name, type, rank_type, <)

LONG_PAIRS(i64, int64_t, uint32_t)
LONG_PAIRS(u64, uint64_t, uint32_t)
LONG_PAIRS(f64, double, uint32_t)
LONG_PAIRS(long_int, long, int)
LONG_PAIRS(double_int, double, int)

#endif
