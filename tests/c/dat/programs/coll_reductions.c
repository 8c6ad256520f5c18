/*
 * coll_reductions.c - reduce, allreduce, reduce_scatter and scan: each reduction of each data type,
 * and each illegal one, compared with naive ones; floating-point sums that round are the same
 * everywhere and each time.
 *
 * usage: coll_reductions [full [WAY [MEMBERS]]]: groups of 1 to 16 members, all counts of
 *     each combination, and up to 16 MiB. COLL_LARGE=all: these of each, not of some
 */
#include "coll.h"

#include <math.h>
#include <sched.h>

enum { OPS = 12, TYPES = 16, LARGE = 16 << 20 };

static const int kinds[] = {DAT_IB_COLLECTIVE_REDUCE_STATUS, DAT_IB_COLLECTIVE_ALLREDUCE_STATUS,
                            DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS, DAT_IB_COLLECTIVE_SCAN_STATUS};

static int is_full(void)
{
	return strcmp(coll_me.test, "full") == 0;
}

static void one(int kind, int op, int type, int form, int in_place, size_t n)
{
	static unsigned turn;
	call c;

	memset(&c, 0, sizeof c);
	c.kind = kind;
	c.form = form;
	c.op = op;
	c.type = type;
	c.root = (int)(turn % (unsigned)coll_me.size);
	c.in_place = in_place;
	c.n = n;
	c.seed = coll_me.seed + turn++;
	c.context = c.seed;
	call_make(&c, coll_me.rank, coll_me.size);
	call_post(&c, coll_me.group);
	coll_expect(coll_me.evd, coll_me.group, (unsigned)kind, c.context);
	call_check(&c);
	call_free(&c);
}

/* 16 MiB take long: each combination has them with one of four numbers of members that follow each
 * other, from 9 on one of eight, another one each WAY; COLL_LARGE=all: with each. */
static int is_large(int kind, int op, int type)
{
	const char *all = getenv("COLL_LARGE"), *way = getenv("LAPI_FASTLANE");
	const char *route = getenv("LAPI_ROUTE");
	int shift = way == NULL                    ? 0
	            : strcmp(way, "off") == 0      ? 1
	            : strcmp(way, "random") == 0   ? 2
	            : strcmp(route, "auto") != 0 ? 3
	                                           : 0;

	return is_full() && ((all && strcmp(all, "all") == 0) ||
	                     (kind + op * TYPES + type + op + coll_me.size + shift) %
	                                     (coll_me.size > 8 ? 8 : 4) ==
	                             0);
}

static void legal(int kind, int op, int type)
{
	static const size_t counts[] = {0, 1, 37, 1021};
	size_t i, large = 65536 / values_size(op, type);
	int form, in_place;

	for (form = 0; form < FORMS; form++)
		for (in_place = 0; in_place < 2; in_place++)
			for (i = 0; i < sizeof counts / sizeof *counts; i++)
				if (is_full() || (int)i == (form + op + in_place) % 4)
					one(kind, op, type, form, in_place, counts[i]);
	if (is_full() || (op + type + kind) % 8 == 0)
		one(kind, op, type, FORM_TOTALS, (op + type) % 2, large);
	if (is_large(kind, op, type))
		one(kind, op, type, FORM_TOTALS, 0, LARGE / values_size(op, type));
}

/* Such a combination is refused, whatever else there is. */
static void illegal(int kind, int op, int type)
{
	DAT_COUNT counts[COLL_MEMBERS] = {0};
	unsigned char buffer[64] = {0};
	DAT_CONTEXT context;
	DAT_RETURN result;

	context.as_64 = 0;
	if (kind == DAT_IB_COLLECTIVE_REDUCE_STATUS)
		result = (dat_collective_reduce)(coll_me.group, buffer, 16, buffer + 32, 16,
		                                 (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)op,
		                                 (DAT_IB_COLLECTIVE_DATA_TYPE)type, 0, context,
		                                 DAT_COMPLETION_DEFAULT_FLAG);
	else if (kind == DAT_IB_COLLECTIVE_ALLREDUCE_STATUS)
		result = dat_ib_collective_allreduce(coll_me.group, buffer, 16, buffer + 32, 16, op,
		                                     type, context, DAT_COMPLETION_DEFAULT_FLAG);
	else if (kind == DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS)
		result = dat_ib_collective_reduce_scatter(coll_me.group, buffer, 0, buffer + 32,
		                                          counts, op, type, context,
		                                          DAT_COMPLETION_DEFAULT_FLAG);
	else
		result = dat_ib_collective_scan(coll_me.group, buffer, 16, buffer + 32, 16, op,
		                                type, context, DAT_COMPLETION_DEFAULT_FLAG);
	if (DAT_GET_TYPE(result) != DAT_INVALID_PARAMETER)
		pair_fail(__FILE__, __LINE__, call_name(kind), result);
}

/* Sums that depend on the order: what all members get must be the same bytes, twice. */
static void same_everywhere(size_t n)
{
	double *mine = malloc(n * sizeof *mine), *sum[2];
	uint32_t digest[2] = {1, 1}, all[COLL_MEMBERS][2];
	DAT_CONTEXT context;
	size_t i;
	int k, run;

	CHECK(mine != NULL);
	context.as_64 = 9;
	for (i = 0; i < n; i++)
		mine[i] = ldexp((double)coll_mix(5, (uint32_t)coll_me.rank, (uint32_t)i) - 2e9,
		                (int)(coll_mix(6, (uint32_t)coll_me.rank, (uint32_t)i) % 80));
	for (run = 0; run < 2; run++) {
		CHECK((sum[run] = malloc(n * sizeof *mine)) != NULL);
		MUST(dat_collective_allreduce(
			coll_me.group, mine, (DAT_COUNT)(n * sizeof *mine), sum[run],
			(DAT_COUNT)(n * sizeof *mine), DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
			DAT_IB_COLLECTIVE_TYPE_DOUBLE, context, DAT_COMPLETION_DEFAULT_FLAG));
		coll_expect(coll_me.evd, coll_me.group, DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, 9);
		for (i = 0; i < n * 2; i++)
			digest[run] = coll_mix(digest[run], ((uint32_t *)(void *)sum[run])[i], 3);
		free(sum[run]);
		if (coll_me.rank == 1 && run == 0)
			sched_yield();
	}
	free(mine);
	coll_exchange(digest, sizeof digest, all);
	for (k = 0; k < coll_me.size; k++)
		CHECK(all[k][0] == digest[0] && all[k][1] == digest[0]);
}

static void member(void)
{
	size_t k;
	int op, type;

	coll_open();
	for (k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (op = -1; op <= OPS; op++)
			for (type = -1; type <= TYPES; type++)
				if (op >= 0 && op < OPS && type >= 0 && type < TYPES &&
				    values_legal(op, type))
					legal(kinds[k], op, type);
				else
					illegal(kinds[k], op, type);
	same_everywhere(1);
	same_everywhere(1021);
	same_everywhere(131072);
	coll_expect_none(coll_me.evd);
	coll_meet();
	coll_close();
}

static void tests(int full)
{
	int n;

	for (n = 1; n <= COLL_MEMBERS; n++)
		if (coll_wanted(n, full || n == 1 || n == 3 || n == 4))
			coll_run(full ? "full" : "short", n, 7000u * (unsigned)n, 0);
}

int main(int argc, char **argv)
{
	if (coll_is_member(argc, argv)) {
		member();
		return 0;
	}
	return coll_main(argc, argv, tests);
}
