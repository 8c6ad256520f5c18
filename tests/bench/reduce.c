/*
 * reduce.c - how fast cshim/coll reduces, beside memcpy in the same run: `make bench-reduce`.
 *
 * A line for each operation and type, and each size of the operands. "traffic" is the reduction's
 * bandwidth to memcpy's, both counted as bytes read and written: memcpy reads and writes n, a
 * reduction reads 2 n and writes n. "results" counts the bytes of the result alone. Both run in
 * turn, so that what disturbs one disturbs the other; medians of the pairs' ratios.
 *
 * No vector instruction knows x86's long double: what the processor can do is a plain loop in C,
 * which a second line has, as the reduction's bandwidth to that.
 *
 * usage: reduce [all | OPERATION...]: all operations and types, or all types of some operations;
 * else those that programs use most
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/reduce.h"

enum { PAIRS = 41, LINE = 64 };

static const size_t sizes[] = {16 << 10, 256 << 10, 4 << 20, 32 << 20};

enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 32 << 20 };

static const char *const op_names[COLL_OPS] = {"MAX", "MIN", "SUM",  "PROD", "LAND",   "BAND",
                                               "LOR", "BOR", "LXOR", "BXOR", "MAXLOC", "MINLOC"};
static const char *const type_names[COLL_TYPES] = {
	"INT8",  "UINT8",     "INT16",    "UINT16",    "INT32",       "UINT32",
	"INT64", "UINT64",    "FLOAT",    "DOUBLE",    "LONG_DOUBLE", "SHORT_INT",
	"2INT",  "FLOAT_INT", "LONG_INT", "DOUBLE_INT"};

static unsigned char *left, *right;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, PAIRS, sizeof *values, ascending);
	return values[PAIRS / 2];
}

/* ns of one call, over enough rounds for the clock to resolve. */
static double reductions(int op, int type, size_t n, int rounds)
{
	size_t count = n / coll_type_size(op, type);
	double start = now_ns();
	int i;

	for (i = 0; i < rounds; i++)
		coll_reduce(op, type, left, right, count);
	return (now_ns() - start) / rounds;
}

static double copies(size_t n, int rounds)
{
	double start = now_ns();
	int i;

	for (i = 0; i < rounds; i++) {
		memcpy(left, right, n);
		__asm__ volatile("" ::"r"(left) : "memory");
	}
	return (now_ns() - start) / rounds;
}

/* left[i] = left[i] op right[i], as a programmer writes it. */
static void plain_loop(int op, size_t n)
{
	long double *to = (long double *)(void *)left, *from = (long double *)(void *)right;
	size_t count = n / sizeof *to, i;

	switch (op) {
	case COLL_SUM:
		for (i = 0; i < count; i++)
			to[i] += from[i];
		break;
	case COLL_PROD:
		for (i = 0; i < count; i++)
			to[i] *= from[i];
		break;
	case COLL_MAX:
		for (i = 0; i < count; i++)
			to[i] = to[i] >= from[i] ? to[i] : from[i];
		break;
	default:
		for (i = 0; i < count; i++)
			to[i] = to[i] <= from[i] ? to[i] : from[i];
	}
	__asm__ volatile("" ::"r"(left) : "memory");
}

static double plain_loops(int op, size_t n, int rounds)
{
	double start = now_ns();
	int i;

	for (i = 0; i < rounds; i++)
		plain_loop(op, n);
	return (now_ns() - start) / rounds;
}

static void line_of_plain_loop(int op)
{
	double ratios[PAIRS];
	int s, i, rounds;

	printf("%-19s", "  to a plain loop");
	for (s = 0; s < SIZES; s++) {
		rounds = (int)(((size_t)1 << 20) / sizes[s]) + 1;
		for (i = 0; i < PAIRS; i++) {
			double loop = plain_loops(op, sizes[s], rounds);

			ratios[i] = loop / reductions(op, COLL_LONG_DOUBLE, sizes[s], rounds);
		}
		printf("        %5.2f       ", median(ratios));
	}
	printf("\n");
}

/* Zeros and ones of that type: no operation slows down on them, as on denormal numbers. */
static void fill(unsigned char *buffer, int op, int type)
{
	static const float one_float = 1;
	static const double one_double = 1;
	static const long double one_long = 1;
	static const uint64_t one_integer = 1;
	const void *one = &one_integer;
	size_t size = coll_type_size(op, type), n = size < sizeof one_integer ? size : sizeof one_integer;
	size_t i;

	if (type == COLL_FLOAT || type == COLL_FLOAT_INT)
		one = &one_float, n = sizeof one_float;
	else if (type == COLL_DOUBLE || type == COLL_DOUBLE_INT)
		one = &one_double, n = sizeof one_double;
	else if (type == COLL_LONG_DOUBLE)
		one = &one_long, n = 10;
	memset(buffer, 0, LARGEST);
	for (i = 0; i + size <= LARGEST; i += 7 * size)
		memcpy(buffer + i, one, n);
}

static void line(int op, int type)
{
	double results[PAIRS], bandwidth[PAIRS], r;
	int s, i, rounds;

	fill(left, op, type);
	fill(right, op, type);
	printf("%-7s%-12s", op_names[op], type_names[type]);
	for (s = 0; s < SIZES; s++) {
		rounds = (int)(((size_t)1 << 20) / sizes[s]) + 1;
		for (i = 0; i < PAIRS; i++) {
			double copy = copies(sizes[s], rounds);
			double reduction = reductions(op, type, sizes[s], rounds);

			results[i] = copy / reduction;
			bandwidth[i] = (double)sizes[s] / reduction;
		}
		r = median(results);
		printf("  %5.2f %5.2f %6.1f", 1.5 * r, r, median(bandwidth));
	}
	printf("\n");
	if (type == COLL_LONG_DOUBLE)
		line_of_plain_loop(op);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char used[COLL_OPS][COLL_TYPES] = {
		[COLL_MAX] = {[COLL_INT32] = 1, [COLL_DOUBLE] = 1},
		[COLL_SUM] = {[COLL_INT8] = 1,
	                      [COLL_INT32] = 1,
	                      [COLL_INT64] = 1,
	                      [COLL_FLOAT] = 1,
	                      [COLL_DOUBLE] = 1},
		[COLL_PROD] = {[COLL_INT64] = 1, [COLL_DOUBLE] = 1},
		[COLL_LAND] = {[COLL_INT32] = 1},
		[COLL_BOR] = {[COLL_UINT64] = 1},
		[COLL_MINLOC] = {[COLL_2INT] = 1, [COLL_DOUBLE_INT] = 1},
	};
	int all = argc > 1 && strcmp(argv[1], "all") == 0, op, type, s, i, wanted;

	left = aligned_alloc(LINE, LARGEST);
	right = aligned_alloc(LINE, LARGEST);
	if (left == NULL || right == NULL)
		return 1;
	printf("reductions to memcpy, bandwidth: traffic, results; results in GB/s\n%-19s", "");
	for (s = 0; s < SIZES; s++)
		printf("%16zu KiB", sizes[s] >> 10);
	printf("\n");
	for (op = 0; op < COLL_OPS; op++) {
		wanted = all;
		for (i = 1; i < argc; i++)
			wanted |= strcmp(argv[i], op_names[op]) == 0;
		for (type = 0; type < COLL_TYPES; type++)
			if (coll_reduce_valid(op, type) &&
			    (wanted || (argc == 1 && used[op][type])))
				line(op, type);
	}
	free(left);
	free(right);
	return 0;
}
