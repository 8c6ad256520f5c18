/* test_coll.c - reductions: each operation of each type against a naive one, with every set of
 * instructions that this processor has, at odd counts and addresses. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <math.h>
#include <string.h>

#include "coll/kernels.h"
#ifdef __LP64__
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
_Static_assert(COLL_MINLOC == (int)DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC, "numbers of operations");
_Static_assert(COLL_LAND == (int)DAT_IB_COLLECTIVE_REDUCE_OP_LAND, "numbers of operations");
_Static_assert(COLL_LONG_DOUBLE == (int)DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE, "numbers of types");
_Static_assert(COLL_DOUBLE_INT == (int)DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT, "numbers of types");
#endif

enum { COUNT_MAX = 1021, ELEMENT_MAX = 32, ROOM = COUNT_MAX * ELEMENT_MAX + 64, EDGE = 16 };

static uint64_t state;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* An integer, often one of a few: so that equal ones meet, and the ends of the range. */
static uint64_t some_integer(void)
{
	static const uint64_t values[] = {0,         1,           UINT64_MAX, 127,
	                                  128,       255,         32767,      32768,
	                                  INT32_MAX, 0x80000000u, INT64_MAX,  (uint64_t)INT64_MIN,
	                                  256,       65536};
	uint64_t r = any();

	return r % 3 ? r >> 8 : values[(r >> 8) % (sizeof values / sizeof *values)];
}

static long double some_float(void)
{
	static const float values[] = {0.0f,      -0.0f,  1.0f,  -1.0f, INFINITY,
	                               -INFINITY, 1e-42f, 3e38f, NAN,   -NAN};
	uint64_t r = any();

	if (r % 3 == 0)
		return values[(r >> 8) % (sizeof values / sizeof *values)];
	return (long double)(int64_t)(r >> 4) / ((r & 8) ? 3e17L : 7.0L);
}

static const struct {
	char kind; /* i, u: integer; f: floating point; 0: none alone */
	size_t size;
	char pair; /* the value of a pair: u beside uint32_t, i beside int, 0 none */
	char pair_kind;
	size_t pair_value, pair_size;
} types[COLL_TYPES] = {
#define WITH_RANK(type)               \
	sizeof(type), sizeof(struct { \
		type value;           \
		uint32_t rank;        \
	})
#define WITH_INT(type)                \
	sizeof(type), sizeof(struct { \
		type value;           \
		int rank;             \
	})
	{'i', 1, 'u', 'i', WITH_RANK(int8_t)},
	{'u', 1, 'u', 'u', WITH_RANK(uint8_t)},
	{'i', 2, 'u', 'i', WITH_RANK(int16_t)},
	{'u', 2, 'u', 'u', WITH_RANK(uint16_t)},
	{'i', 4, 'u', 'i', WITH_RANK(int32_t)},
	{'u', 4, 'u', 'u', WITH_RANK(uint32_t)},
	{'i', 8, 'u', 'i', WITH_RANK(int64_t)},
	{'u', 8, 'u', 'u', WITH_RANK(uint64_t)},
	{'f', sizeof(float), 'u', 'f', WITH_RANK(float)},
	{'f', sizeof(double), 'u', 'f', WITH_RANK(double)},
	{'f', sizeof(long double), 0, 0, 0, 0},
	{0, 0, 'i', 'i', WITH_INT(short)},
	{0, 0, 'i', 'i', WITH_INT(int)},
	{0, 0, 'i', 'f', WITH_INT(float)},
	{0, 0, 'i', 'i', WITH_INT(long)},
	{0, 0, 'i', 'f', WITH_INT(double)},
};

static int is_pair(int op)
{
	return op == COLL_MAXLOC || op == COLL_MINLOC;
}

static int is_legal(int op, int type)
{
	if (is_pair(op))
		return types[type].pair != 0;
	if (op <= COLL_PROD)
		return types[type].kind != 0;
	return types[type].kind == 'i' || types[type].kind == 'u';
}

static size_t size_of(int op, int type)
{
	return is_pair(op) ? types[type].pair_size : types[type].size;
}

/* A number of any type, as wide as it gets. */
typedef struct number {
	char kind;
	size_t size;
	uint64_t integer; /* extended by its sign */
	long double real;
} number;

static number read_number(const unsigned char *at, char kind, size_t size)
{
	number v = {kind, size, 0, 0};
	float f;
	double d;

	if (kind == 'f' && size == sizeof f) {
		memcpy(&f, at, sizeof f);
		v.real = f;
	} else if (kind == 'f' && size == sizeof d) {
		memcpy(&d, at, sizeof d);
		v.real = d;
	} else if (kind == 'f') {
		memcpy(&v.real, at, sizeof v.real);
	} else {
		memcpy(&v.integer, at, size);
		if (kind == 'i' && size < 8 && v.integer >> (8 * size - 1))
			v.integer |= UINT64_MAX << (8 * size);
	}
	return v;
}

static void write_number(unsigned char *at, number v)
{
	float f = (float)v.real;
	double d = (double)v.real;

	if (v.kind != 'f')
		memcpy(at, &v.integer, v.size);
	else if (v.size == sizeof f)
		memcpy(at, &f, sizeof f);
	else if (v.size == sizeof d)
		memcpy(at, &d, sizeof d);
	else
		memcpy(at, &v.real, sizeof v.real);
}

static void fill(unsigned char *at, int op, int type, size_t n)
{
	char kind = is_pair(op) ? types[type].pair_kind : types[type].kind;
	size_t size = size_of(op, type), i;
	uint32_t rank;

	for (i = 0; i < n; i++, at += size) {
		number v = {kind, is_pair(op) ? types[type].pair_value : size, some_integer(), 0};

		memset(at, (int)any(), size);
		v.real = kind == 'f' ? some_float() : 0;
		write_number(at, v);
		rank = any() % 3 ? (uint32_t)any() % 4 : (uint32_t)any();
		if (is_pair(op) && v.size < 4)
			memcpy(at + 4, &rank, sizeof rank);
		else if (is_pair(op))
			memcpy(at + v.size, &rank, sizeof rank);
	}
}

/* -1, 0, 1: how a stands to b; to MAX a NaN is above all, to MIN below. */
static int compare(number a, number b)
{
	if (a.kind == 'f') {
		if (isnan(a.real) || isnan(b.real))
			return !!isnan(a.real) - !!isnan(b.real);
		return (a.real > b.real) - (a.real < b.real);
	}
	if (a.kind == 'i')
		return ((int64_t)a.integer > (int64_t)b.integer) -
		       ((int64_t)a.integer < (int64_t)b.integer);
	return (a.integer > b.integer) - (a.integer < b.integer);
}

static int prefers_left(int op, number a, number b)
{
	int order = compare(a, b), low = op == COLL_MIN || op == COLL_MINLOC;

	if (low && a.kind == 'f' && (isnan(a.real) || isnan(b.real)))
		return order >= 0;
	return low ? order <= 0 : order >= 0;
}

/* Of one format at a time, as wider ones would round twice. */
static long double add_or_multiply(int op, number a, number b)
{
	volatile float f = (float)a.real, g = (float)b.real;
	volatile double d = (double)a.real, e = (double)b.real;

	if (a.size == sizeof f) {
		f = op == COLL_SUM ? f + g : f * g;
		return f;
	}
	if (a.size == sizeof d) {
		d = op == COLL_SUM ? d + e : d * e;
		return d;
	}
	return op == COLL_SUM ? a.real + b.real : a.real * b.real;
}

static number naive(int op, number a, number b)
{
	number r = a;

	switch (op) {
	case COLL_MAX:
	case COLL_MIN:
		return prefers_left(op, a, b) ? a : b;
	case COLL_SUM:
	case COLL_PROD:
		if (a.kind == 'f')
			r.real = add_or_multiply(op, a, b);
		else
			r.integer = op == COLL_SUM ? a.integer + b.integer : a.integer * b.integer;
		return r;
	case COLL_LAND:
		r.integer = a.integer && b.integer;
		return r;
	case COLL_LOR:
		r.integer = a.integer || b.integer;
		return r;
	case COLL_LXOR:
		r.integer = !a.integer != !b.integer;
		return r;
	case COLL_BAND:
		r.integer = a.integer & b.integer;
		return r;
	case COLL_BOR:
		r.integer = a.integer | b.integer;
		return r;
	default:
		r.integer = a.integer ^ b.integer;
		return r;
	}
}

static int64_t rank_at(const unsigned char *at, int type)
{
	uint32_t rank;

	memcpy(&rank, at + (types[type].pair_value < 4 ? 4 : types[type].pair_value), sizeof rank);
	return types[type].pair == 'u' ? (int64_t)rank : (int64_t)(int32_t)rank;
}

/* The pair that wins, whole. */
static const unsigned char *naive_pair(int op, int type, const unsigned char *a,
                                       const unsigned char *b)
{
	size_t size = types[type].pair_value;
	number x = read_number(a, types[type].pair_kind, size);
	number y = read_number(b, types[type].pair_kind, size);

	if (compare(x, y) == 0)
		return rank_at(a, type) <= rank_at(b, type) ? a : b;
	return prefers_left(op, x, y) ? a : b;
}

static void check_element(int op, int type, const unsigned char *out, const unsigned char *a,
                          const unsigned char *b)
{
	size_t size = size_of(op, type);
	unsigned char expected[ELEMENT_MAX] = {0};
	number r;

	if (is_pair(op)) {
		CHECK(memcmp(out, naive_pair(op, type, a, b), size) == 0);
		return;
	}
	r = naive(op, read_number(a, types[type].kind, size),
	          read_number(b, types[type].kind, size));
	if (r.kind == 'f' && isnan(r.real)) {
		CHECK(isnan(read_number(out, 'f', size).real));
		return;
	}
	write_number(expected, r);
#if __LDBL_MANT_DIG__ == 64
	if (r.kind == 'f' && size == sizeof(long double))
		memset(expected + 10, 0, size - 10);
#endif
	CHECK(memcmp(out, expected, size) == 0);
}

static unsigned char a[ROOM], b[ROOM], out[ROOM], a_before[ROOM], b_before[ROOM];

static int is_edge_untouched(const unsigned char *end)
{
	int i;

	for (i = 0; i < EDGE; i++)
		if (end[i] != 0xEE)
			return 0;
	return 1;
}

/* form 0: out apart; 1: out is a; 2: out is b. */
static void check_once(coll_kernel *kernel, int op, int type, size_t n, int form)
{
	size_t size = size_of(op, type), i;
	unsigned char *p = a + any() % EDGE, *q = b + any() % EDGE, *r = out + EDGE + any() % EDGE;

	memset(a, 0xEE, sizeof a);
	memset(b, 0xEE, sizeof b);
	memset(out, 0xEE, sizeof out);
	fill(p, op, type, n);
	fill(q, op, type, n);
	memcpy(a_before, a, sizeof a);
	memcpy(b_before, b, sizeof b);
	r = form == 0 ? r : form == 1 ? p : q;
	kernel(r, p, q, n);
	for (i = 0; i < n; i++)
		check_element(op, type, r + i * size, a_before + (p - a) + i * size,
		              b_before + (q - b) + i * size);
	CHECK(is_edge_untouched(r + n * size) && (form != 0 || is_edge_untouched(r - EDGE)));
	CHECK(form == 1 || memcmp(a, a_before, sizeof a) == 0);
	CHECK(form == 2 || memcmp(b, b_before, sizeof b) == 0);
}

static void check_table(const coll_kernels *table)
{
	static const size_t counts[] = {0,  1,  2,  3,  5,  7,  8,   9,   15,  16,
	                                17, 31, 32, 33, 63, 65, 127, 129, 255, COUNT_MAX};
	size_t c;
	int op, type, form;

	for (op = 0; op < COLL_OPS; op++)
		for (type = 0; type < COLL_TYPES; type++) {
			CHECK((table->of[op][type] != NULL) == is_legal(op, type));
			for (c = 0; is_legal(op, type) && c < sizeof counts / sizeof *counts; c++)
				for (form = 0; form < 3; form++)
					check_once(table->of[op][type], op, type, counts[c], form);
		}
}

/* Three operands: the order of combining is not seen in the bytes. */
static void check_associative(int op, int type)
{
	enum { N = 500 };
	static unsigned char c[ROOM], left[ROOM], right[ROOM];
	size_t size = size_of(op, type);

	fill(a, op, type, N);
	fill(b, op, type, N);
	fill(c, op, type, N);
	CHECK(coll_reduce_to(op, type, left, a, b, N) == 0);
	CHECK(coll_reduce(op, type, left, c, N) == 0);
	CHECK(coll_reduce_to(op, type, right, b, c, N) == 0);
	CHECK(coll_reduce_to(op, type, right, a, right, N) == 0);
	CHECK(memcmp(left, right, N * size) == 0);
}

static void check_contract(void)
{
	int op, type;

	for (op = -1; op <= COLL_OPS; op++)
		for (type = -1; type <= COLL_TYPES; type++) {
			int there = op >= 0 && op < COLL_OPS && type >= 0 && type < COLL_TYPES &&
			            is_legal(op, type);

			CHECK(coll_reduce_valid(op, type) == there);
			CHECK(coll_type_size(op, type) == (there ? size_of(op, type) : 0));
			if (!there) {
				memset(a, 0xEE, EDGE);
				CHECK(coll_reduce(op, type, a, b, 1) == -1);
				CHECK(is_edge_untouched(a));
			} else if (!is_pair(op) && types[type].kind == 'f' &&
			           (op == COLL_SUM || op == COLL_PROD)) {
				continue;
			} else {
				check_associative(op, type);
			}
		}
}

void test_coll(void)
{
	state = 88172645463325252u;
	check_table(&coll_kernels_plain);
	if (coll_kernels_best() != &coll_kernels_plain)
		check_table(coll_kernels_best());
	check_contract();
}
