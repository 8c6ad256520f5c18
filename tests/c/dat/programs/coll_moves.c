/*
 * coll_moves.c - the operations that move data, and barrier: by each set of names, each root of
 * small groups, in place and not, of sizes from none to large, compared with naive ones.
 *
 * usage: coll_moves [full|short [WAY [MEMBERS]]]: groups of 1 to 16 members and up to 16 MiB; else of
 * a few numbers of members, or that one, and up to 64 KiB
 */
#include "coll.h"

enum { LARGE = 16 << 20, BUFFERS = 64 << 20 };

static void one(int kind, int form, int root, int in_place, size_t n, unsigned seed)
{
	call c;

	memset(&c, 0, sizeof c);
	c.kind = kind;
	c.form = form;
	c.root = root;
	c.in_place = in_place;
	c.n = n;
	c.seed = seed;
	c.context = ((DAT_UINT64)seed << 32) | 5;
	call_make(&c, coll_me.rank, coll_me.size);
	call_post(&c, coll_me.group);
	coll_expect(coll_me.evd, coll_me.group, (unsigned)kind, c.context);
	call_check(&c);
	call_free(&c);
}

static void sizes(int kind, int form, int root, int in_place)
{
	static const size_t short_sizes[] = {0, 1, 8, 1021, 65536};
	static const size_t full_sizes[] = {0, 1, 2, 3, 7, 8, 64, 1021, 4096, 65536, 100003, LARGE};
	int is_full = strcmp(coll_me.test, "full") == 0;
	size_t count = is_full ? sizeof full_sizes / sizeof *full_sizes
	                       : sizeof short_sizes / sizeof *short_sizes,
	       i;

	for (i = 0; i < count; i++) {
		size_t n = is_full ? full_sizes[i] : short_sizes[i];

		if (n == LARGE && n * (size_t)coll_me.size > BUFFERS)
			n /= (size_t)coll_me.size;
		if (n >= LARGE / 16 && root != 0)
			continue;
		one(kind, form, root, in_place, n, coll_me.seed + (unsigned)i);
		if (kind == DAT_IB_COLLECTIVE_BARRIER_STATUS)
			return;
	}
}

static void member(void)
{
	int kind, form, root, in_place;

	coll_open();
	for (kind = DAT_IB_COLLECTIVE_SCATTER_STATUS; kind <= DAT_IB_COLLECTIVE_BARRIER_STATUS;
	     kind++)
		for (form = 0; form < FORMS && !call_is_reduction(kind); form++)
			for (in_place = 0; in_place <= call_may_be_in_place(kind); in_place++)
				for (root = 0; root < (call_is_rooted(kind) ? coll_me.size : 1);
				     root += coll_me.size < 5 ? 1 : 3)
					sizes(kind, form, root, in_place);
	coll_expect_none(coll_me.evd);
	coll_meet();
	coll_close();
}

static void tests(int full)
{
	int n;

	for (n = 1; n <= COLL_MEMBERS; n++)
		if (coll_wanted(n, full || n <= 3 || n == 6))
			coll_run(full ? "full" : "short", n, 1000u * (unsigned)n, 0);
}

int main(int argc, char **argv)
{
	if (coll_is_member(argc, argv)) {
		member();
		return 0;
	}
	return coll_main(argc, argv, tests);
}
