/* kernel_pairs.h - the loops of MINLOC and MAXLOC. A part of kernel_bodies.h. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the value is the low half of the word");

/* A value as a signed integer of the same order. */
static inline int32_t order_i8(uint32_t value, int32_t nan)
{
	(void)nan;
	return (int32_t)(value << 24);
}

static inline int32_t order_u8(uint32_t value, int32_t nan)
{
	(void)nan;
	return (uint8_t)value;
}

static inline int32_t order_i16(uint32_t value, int32_t nan)
{
	(void)nan;
	return (int32_t)(value << 16);
}

static inline int32_t order_u16(uint32_t value, int32_t nan)
{
	(void)nan;
	return (uint16_t)value;
}

static inline int32_t order_i32(uint32_t value, int32_t nan)
{
	(void)nan;
	return (int32_t)value;
}

static inline int32_t order_u32(uint32_t value, int32_t nan)
{
	(void)nan;
	return (int32_t)(value ^ 0x80000000u);
}

/* Sign and magnitude become two's complement, so both zeros are 0. NaNs are nan. */
static inline int32_t order_f32(uint32_t value, int32_t nan)
{
	int32_t magnitude = (int32_t)(value & INT32_MAX), sign = -(int32_t)(value >> 31);
	int32_t none = -(int32_t)(magnitude > 0x7f800000);

	return (((magnitude ^ sign) - sign) & ~none) | (nan & none);
}

/*
 * Pairs that are two words: the value, and the rank, of 64 bits below padding. Both are compared as
 * signed integers of the same order, which the rank becomes by turn; one of the pairs is taken by a
 * mask, so that no jump is guessed wrong.
 */
#define KERNEL_PAIR(op, name, type, bits, better, nan, turn)                                     \
	static void op##_##name(void *out, const void *a, const void *b, size_t n)               \
	{                                                                                        \
		any_u##bits *to = out;                                                           \
		const any_u##bits *left = a, *right = b;                                         \
		size_t i;                                                                        \
                                                                                                 \
		INDEPENDENT                                                                      \
		for (i = 0; i < n; i++) {                                                        \
			uint##bits##_t x = left[2 * i], x_rank = left[2 * i + 1];                \
			uint##bits##_t y = right[2 * i], y_rank = right[2 * i + 1];              \
			int##bits##_t p = order_##type(x, nan), q = order_##type(y, nan);        \
			int##bits##_t lower = (int##bits##_t)((x_rank & UINT32_MAX) ^ (turn));   \
			int##bits##_t other = (int##bits##_t)((y_rank & UINT32_MAX) ^ (turn));   \
			uint##bits##_t keeps =                                                   \
				-(uint##bits##_t)((p better q) | ((p == q) & (lower <= other))); \
                                                                                                 \
			to[2 * i] = (x & keeps) | (y & ~keeps);                                  \
			to[2 * i + 1] = (x_rank & keeps) | (y_rank & ~keeps);                    \
		}                                                                                \
	}

#define PAIRS_OF(name, type, bits, turn)                                \
	KERNEL_PAIR(maxloc, name, type, bits, >, INT##bits##_MAX, turn) \
	KERNEL_PAIR(minloc, name, type, bits, <, INT##bits##_MIN, turn)

/* The rank is uint32_t, or int: */
#define SHORT_PAIRS(type) PAIRS_OF(type, type, 32, 0x80000000u)
#define SHORT_PAIRS_INT(name, type) PAIRS_OF(name, type, 32, 0u)

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

PAIRS_OF(i64, i64, 64, 0u)
PAIRS_OF(u64, u64, 64, 0u)
PAIRS_OF(f64, f64, 64, 0u)
PAIRS_OF(long_int, i64, 64, 0x80000000u)
PAIRS_OF(double_int, f64, 64, 0x80000000u)

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
