/*
 * coll_values.c - elements of reductions, and the results of a naive reduction. Floating-point
 * inputs are such that no order of adding or multiplying rounds.
 */
#include "coll.h"

#include <stddef.h>

/* Elements repeat after PERIOD ones; no block of the library is a multiple of it. The naive result
 * is computed for these, and the rest is compared with them. */
enum { PERIOD = 4099 };

#define FIRST(kind, type)                   \
	kind, sizeof(type), sizeof(struct { \
		type value;                 \
		int rank;                   \
	}),                                 \
		offsetof(                   \
			struct {            \
				type value; \
				int rank;   \
			},                  \
			rank)

static const struct {
	char kind; /* i, u, f */
	size_t size, pair_size, rank_at;
	int alone, with_rank; /* what there is of it */
} types[] = {
	{FIRST('i', int8_t), 1, 1},   {FIRST('u', uint8_t), 1, 1},     {FIRST('i', int16_t), 1, 1},
	{FIRST('u', uint16_t), 1, 1}, {FIRST('i', int32_t), 1, 1},     {FIRST('u', uint32_t), 1, 1},
	{FIRST('i', int64_t), 1, 1},  {FIRST('u', uint64_t), 1, 1},    {FIRST('f', float), 1, 1},
	{FIRST('f', double), 1, 1},   {FIRST('f', long double), 1, 0}, {FIRST('i', short), 0, 1},
	{FIRST('i', int), 0, 1},      {FIRST('f', float), 0, 1},       {FIRST('i', long), 0, 1},
	{FIRST('f', double), 0, 1},
};

typedef struct value {
	uint64_t integer; /* extended by its sign */
	long double real;
	uint32_t rank;
} value;

static int is_pair(int op)
{
	return op == DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC || op == DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC;
}

int values_legal(int op, int type)
{
	if (is_pair(op))
		return types[type].with_rank;
	if (type == DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE && coll_me.differ)
		return 0;
	return types[type].alone &&
	       (op <= DAT_IB_COLLECTIVE_REDUCE_OP_PROD || types[type].kind != 'f');
}

size_t values_size(int op, int type)
{
	return is_pair(op) ? types[type].pair_size : types[type].size;
}

static uint64_t cut(uint64_t integer, int type)
{
	size_t bits = 8 * types[type].size;

	if (bits == 64)
		return integer;
	integer &= (UINT64_C(1) << bits) - 1;
	if (types[type].kind == 'i' && integer >> (bits - 1))
		integer |= UINT64_MAX << bits;
	return integer;
}

static value load(int op, int type, const unsigned char *at)
{
	value v = {0, 0, 0};
	float f;
	double d;

	if (types[type].kind != 'f') {
		memcpy(&v.integer, at, types[type].size);
		v.integer = cut(v.integer, type);
	} else if (types[type].size == sizeof f) {
		memcpy(&f, at, sizeof f);
		v.real = f;
	} else if (types[type].size == sizeof d) {
		memcpy(&d, at, sizeof d);
		v.real = d;
	} else {
		memcpy(&v.real, at, sizeof v.real);
	}
	if (is_pair(op))
		memcpy(&v.rank, at + types[type].rank_at, sizeof v.rank);
	return v;
}

static void store(int op, int type, value v, unsigned char *at)
{
	float f = (float)v.real;
	double d = (double)v.real;

	memset(at, 0, values_size(op, type));
	if (types[type].kind != 'f')
		memcpy(at, &v.integer, types[type].size);
	else if (types[type].size == sizeof f)
		memcpy(at, &f, sizeof f);
	else if (types[type].size == sizeof d)
		memcpy(at, &d, sizeof d);
	else
		memcpy(at, &v.real, sizeof v.real);
	if (is_pair(op))
		memcpy(at + types[type].rank_at, &v.rank, sizeof v.rank);
}

/* Element i of a rank. Of pairs few values, so that ranks tie. */
static value input(const call *c, int rank, size_t i)
{
	static const long double factors[] = {1, -1, 2, 0.5L};
	uint32_t r = coll_mix(c->seed, (uint32_t)rank, (uint32_t)(i % PERIOD));
	value v = {0, 0, (uint32_t)rank};

	if (c->op == DAT_IB_COLLECTIVE_REDUCE_OP_PROD)
		v.real = factors[r % 4];
	else
		v.real = (int)(r % 201) - 100;
	v.integer = r % 5 == 0 ? r % 2 : (uint64_t)r << 32 | r;
	if (is_pair(c->op)) {
		v.real = (int)(r % 4) - 2;
		v.integer = r % 4 - 2;
	}
	v.integer = cut(v.integer, c->type);
	return v;
}

static int is_less(const call *c, value a, value b)
{
	if (types[c->type].kind == 'f')
		return a.real < b.real;
	if (types[c->type].kind == 'i')
		return (int64_t)a.integer < (int64_t)b.integer;
	return a.integer < b.integer;
}

static value combine(const call *c, value a, value b)
{
	switch (c->op) {
	case DAT_IB_COLLECTIVE_REDUCE_OP_MAX:
	case DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC:
		return is_less(c, a, b) ? b : a; /* b is of the higher rank */
	case DAT_IB_COLLECTIVE_REDUCE_OP_MIN:
	case DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC:
		return is_less(c, b, a) ? b : a;
	case DAT_IB_COLLECTIVE_REDUCE_OP_SUM:
		a.integer += b.integer;
		a.real += b.real;
		break;
	case DAT_IB_COLLECTIVE_REDUCE_OP_PROD:
		a.integer *= b.integer;
		a.real *= b.real;
		break;
	case DAT_IB_COLLECTIVE_REDUCE_OP_LAND:
		a.integer = a.integer && b.integer;
		break;
	case DAT_IB_COLLECTIVE_REDUCE_OP_BAND:
		a.integer &= b.integer;
		break;
	case DAT_IB_COLLECTIVE_REDUCE_OP_LOR:
		a.integer = a.integer || b.integer;
		break;
	case DAT_IB_COLLECTIVE_REDUCE_OP_BOR:
		a.integer |= b.integer;
		break;
	case DAT_IB_COLLECTIVE_REDUCE_OP_LXOR:
		a.integer = !a.integer != !b.integer;
		break;
	default:
		a.integer ^= b.integer;
		break;
	}
	a.integer = cut(a.integer, c->type);
	return a;
}

void values_fill(const call *c, int rank, unsigned char *to, size_t from, size_t n)
{
	size_t size = values_size(c->op, c->type), i;

	for (i = 0; i < n && i < PERIOD; i++)
		store(c->op, c->type, input(c, rank, from + i), to + i * size);
	for (; i < n; i += PERIOD)
		memcpy(to + i * size, to, (n - i < PERIOD ? n - i : PERIOD) * size);
}

/* Beside the naive ones. */
static void check_each(const call *c, const unsigned char *result, size_t from, size_t n, int last)
{
	size_t size = values_size(c->op, c->type), i;
	char what[200];
	int rank;

	for (i = 0; i < n; i++) {
		value expected = input(c, 0, from + i),
		      got = load(c->op, c->type, result + i * size);

		for (rank = 1; rank <= last; rank++)
			expected = combine(c, expected, input(c, rank, from + i));
		if (types[c->type].kind == 'f' ? got.real == expected.real
		                               : got.integer == expected.integer)
			if (!is_pair(c->op) || got.rank == expected.rank)
				continue;
		snprintf(what, sizeof what,
		         "element %zu is %lld %Lg (rank %u), not %lld %Lg (rank %u)", from + i,
		         (long long)got.integer, got.real, got.rank, (long long)expected.integer,
		         expected.real, expected.rank);
		call_fail(c, what, DAT_SUCCESS);
	}
}

void values_check(const call *c, const unsigned char *result, size_t from, size_t n, int last)
{
	size_t size = values_size(c->op, c->type), i, count;

	for (i = 0; i < n; i += PERIOD) {
		const unsigned char *at = result + i * size;

		count = n - i < PERIOD ? n - i : PERIOD;
		if (i == 0 || memcmp(at, result, count * size) != 0)
			check_each(c, at, from + i, count, last);
	}
}
