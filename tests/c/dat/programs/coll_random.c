/*
 * coll_random.c - random sequences: any operations, forms, roots and sizes, some suppressed, with
 * a random number under way and members that dawdle. A failure prints its seed.
 *
 * usage: coll_random [SEED | full [WAY [MEMBERS]]]
 */
#include "coll.h"

#include <unistd.h>

enum { UNDER_WAY = 12, SHORT_STEPS = 250, FULL_STEPS = 3000 };

/* The state of the draws that are the same in all members, and of each member's own. */
static uint32_t common, own;

static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = coll_mix(*state, 17, 23);
	return *state % below;
}

static void any_call(call *c, unsigned step)
{
	memset(c, 0, sizeof *c);
	c->kind = DAT_IB_COLLECTIVE_SCATTER_STATUS + (int)draw(&common, 14);
	c->form = (int)draw(&common, FORMS);
	c->root = (int)draw(&common, (uint32_t)coll_me.size);
	c->in_place = call_may_be_in_place(c->kind) && draw(&common, 3) == 0;
	do {
		c->op = (int)draw(&common, 12);
		c->type = (int)draw(&common, 16);
	} while (!values_legal(c->op, c->type));
	c->n = draw(&common, 9) == 0 ? draw(&common, call_is_reduction(c->kind) ? 20000 : 300000)
	                             : draw(&common, 300);
	c->seed = common;
	c->context = step;
	if (draw(&common, 4) == 0)
		c->flags = DAT_COMPLETION_SUPPRESS_FLAG;
}

/* Awaits and checks the oldest, and the suppressed ones before it. */
static unsigned retire(call *calls, unsigned first, unsigned next)
{
	unsigned i = first, k;

	while (i < next && calls[i % UNDER_WAY].flags == DAT_COMPLETION_SUPPRESS_FLAG)
		i++;
	if (i == next)
		return first;
	coll_expect(coll_me.evd, coll_me.group, (unsigned)calls[i % UNDER_WAY].kind, i);
	for (k = first; k <= i; k++) {
		call_check(&calls[k % UNDER_WAY]);
		call_free(&calls[k % UNDER_WAY]);
	}
	return i + 1;
}

static void member(void)
{
	static call calls[UNDER_WAY];
	unsigned steps = strcmp(coll_me.test, "full") == 0 ? FULL_STEPS : SHORT_STEPS;
	unsigned first = 0, next = 0;

	common = coll_me.seed;
	own = coll_mix(coll_me.seed, (uint32_t)coll_me.rank, 1);
	coll_open();
	while (next < steps) {
		call *c = &calls[next % UNDER_WAY];

		any_call(c, next);
		if (next + 1 == steps || next - first == UNDER_WAY - 1)
			c->flags = DAT_COMPLETION_DEFAULT_FLAG; /* else nothing would ever retire */
		call_make(c, coll_me.rank, coll_me.size);
		call_post(c, coll_me.group);
		next++;
		if (draw(&own, 40) == 0)
			usleep(draw(&own, 3000));
		while (next - first == UNDER_WAY || (first < next && draw(&own, 3) == 0)) {
			unsigned before = first;

			first = retire(calls, first, next);
			if (first == before)
				break;
		}
	}
	while (first < next)
		first = retire(calls, first, next);
	coll_expect_none(coll_me.evd);
	coll_meet();
	coll_close();
}

static void tests(int full)
{
	static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 16};
	unsigned seed;
	int i;

	for (seed = 1; full && seed <= 32; seed++) {
		if (!coll_wanted((int)(seed % COLL_MEMBERS) + 1, 1))
			continue;
		printf("seed %u\n", seed);
		coll_run("full", (int)(seed % COLL_MEMBERS) + 1, seed, 0);
	}
	for (i = 0; !full && i < 9; i++) {
		if (!coll_wanted(sizes[i], i % 2 == 0))
			continue;
		seed = 100u * COLL_MEMBERS + (unsigned)sizes[i] - 1;
		printf("coll_random %u\n", seed);
		coll_run("short", sizes[i], seed, 0);
	}
}

int main(int argc, char **argv)
{
	unsigned seed;

	if (coll_is_member(argc, argv)) {
		member();
		return 0;
	}
	if (argc == 2 && (seed = (unsigned)strtoul(argv[1], NULL, 10)) != 0) {
		coll_run("short", (int)(seed % COLL_MEMBERS) + 1, seed, 0);
		printf("coll_random: passed\n");
		return 0;
	}
	return coll_main(argc, argv, tests);
}
