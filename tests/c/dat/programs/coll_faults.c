/*
 * coll_faults.c - groups whose members are each on an adapter of the rig, while one adapter fails:
 * a request, its port, all of it; or refuses an object that the creation of a group needs. A
 * failure ends the operations of all members, which shows that these go by the adapter, and the
 * next group works again. Peers that die while groups are freed delay no member.
 *
 * usage: coll_faults [MEMBERS [CASE...]]     COLL_RIGCTL: the program rigctl
 */
#define _GNU_SOURCE
#include "coll.h"

#include <signal.h>
#include <unistd.h>

enum { LAZY = 1, PENDING = 6, COUNTS = 2 };

/* Faults of the adapter of member LAZY, and the commands that mend them. Each object is refused 50 times, as the
 * port that a group opens makes some of its own. */
static const struct fault {
	const char *name, *command, *undo;
	/* REFUSED: while a group is made, which then goes by UDP; FAILS: of a group at work */
	enum { FAILS, REFUSED } what;
} faults[] = {
	{"request", "fail %s send 12 3", "heal %s", FAILS},
	{"port", "port %s 1 down", "port %s 1 up", FAILS},
	{"device", "device %s gone", "device %s back", FAILS},
	{"pair", "fail %s qp 12 0 50", "heal %s", REFUSED},
	{"queue", "fail %s cq 12 0 50", "heal %s", REFUSED},
	{"register", "fail %s register 12 0 50", "heal %s", REFUSED},
};

static const struct fault *fault_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		if (strcmp(faults[i].name, name) == 0)
			return &faults[i];
	return NULL;
}

static void rigctl(const char *words)
{
	char adapter[16], text[128], command[512];

	snprintf(adapter, sizeof adapter, "rig%d", coll_node_of(LAZY, coll_me.size) + 1);
	snprintf(text, sizeof text, words, adapter);
	snprintf(command, sizeof command, "%s %s", getenv("COLL_RIGCTL"), text);
	CHECK(system(command) == 0);
}

static void post(call *c, unsigned i)
{
	static const int kinds[] = {
		DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, DAT_IB_COLLECTIVE_BARRIER_STATUS,
		DAT_IB_COLLECTIVE_ALLGATHER_STATUS, DAT_IB_COLLECTIVE_SCAN_STATUS,
		DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS};
	static const size_t sizes[COUNTS] = {8, 9000};

	memset(c, 0, sizeof *c);
	c->kind = kinds[i % (sizeof kinds / sizeof *kinds)];
	c->n = sizes[i / 2 % COUNTS];
	c->seed = c->context = i;
	c->op = DAT_IB_COLLECTIVE_REDUCE_OP_SUM;
	c->type = DAT_IB_COLLECTIVE_TYPE_DOUBLE;
	call_make(c, coll_me.rank, coll_me.size);
	call_post(c, coll_me.group);
}

/* Operations that all succeed. */
static void use(void)
{
	unsigned i;
	call c;

	for (i = 1; i <= 2 * PENDING; i++) {
		post(&c, i);
		coll_expect(coll_me.evd, coll_me.group, (unsigned)c.kind, i);
		call_check(&c);
		call_free(&c);
	}
}

/* Operations until two have failed: after the first failure each one must fail. */
static void until_failure(void)
{
	unsigned i, failed = 0;
	coll_event e;
	call c;

	for (i = 1; failed < 2; i++) {
		post(&c, i);
		e = coll_wait(coll_me.evd);
		CHECK(e.context == i && e.type == (unsigned)c.kind && e.group == coll_me.group);
		CHECK(!failed || e.status != 0);
		if (e.status)
			failed++;
		else
			call_check(&c);
		call_free(&c);
	}
	coll_expect_none(coll_me.evd);
}

/* The adapter is opened anew by all. */
static void again(void)
{
	coll_meet();
	coll_close();
	coll_meet();
	coll_open();
	use();
}

static void fail(const struct fault *f)
{
	coll_open();
	use();
	coll_meet();
	if (coll_me.rank == LAZY)
		rigctl(f->command);
	until_failure();
	coll_meet();
	if (coll_me.rank == LAZY)
		rigctl(f->undo);
	again();
}

/* If one member's adapter makes no rails, the others' make none either. */
static void refuse(const struct fault *f)
{
	DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS];
	coll_event e;

	coll_open_adapter();
	coll_members(coll_me.member, coll_me.member_size, members);
	if (coll_me.rank == LAZY)
		rigctl(f->command);
	coll_meet();
	MUST((dat_ib_collective_create_group)(members, coll_me.size, (unsigned)coll_me.rank, 9, NULL,
	                                      coll_me.evd, coll_me.pz,
	                                      (DAT_CONTEXT){.as_64 = 1}));
	e = coll_wait(coll_me.evd);
	CHECK(e.type == DAT_IB_COLLECTIVE_CREATE_DATA && e.status == 0);
	coll_me.group = e.group;
	coll_meet();
	if (coll_me.rank == LAZY)
		rigctl("port %s 1 down"); /* is nothing to it */
	use();
	coll_meet();
	if (coll_me.rank == LAZY) {
		rigctl("port %s 1 up");
		rigctl(f->undo);
	}
	again();
}

/* A member dies while the others free the group with operations under way: these fail before
 * free_group returns, at once, and those who are left make another group. */
static void dies(void)
{
	DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS];
	int i, rank = coll_me.rank, left = 0;
	DAT_IB_COLLECTIVE_HANDLE group;
	call c[PENDING];
	coll_event e;

	coll_open();
	coll_members(coll_me.member, coll_me.member_size, members);
	use();
	for (i = 0; i < PENDING; i++)
		if (rank != LAZY)
			post(&c[i], (unsigned)i);
	coll_meet();
	if (rank == LAZY)
		raise(SIGKILL);
	usleep(coll_mix(coll_me.seed, (uint32_t)rank, 1) % 3000);
	MUST((dat_ib_collective_free_group)(coll_me.group));
	for (i = 0; i < PENDING; i++) {
		e = coll_wait(coll_me.evd);
		CHECK(e.status != 0 && e.context == (unsigned)i && e.group == coll_me.group);
		call_free(&c[i]);
	}
	coll_expect_none(coll_me.evd);
	for (i = 0; i < coll_me.size; i++)
		if (i != LAZY)
			members[left++] = members[i];
	coll_me.rank -= rank > LAZY;
	coll_me.size--;
	MUST((dat_ib_collective_create_group)(members, left, (unsigned)coll_me.rank, 10, NULL,
	                                      coll_me.evd, coll_me.pz,
	                                      (DAT_CONTEXT){.as_64 = 2}));
	e = coll_wait(coll_me.evd);
	CHECK(e.type == DAT_IB_COLLECTIVE_CREATE_DATA && e.status == 0);
	group = coll_me.group = e.group;
	use();
	coll_me.rank = rank; /* where members meet */
	coll_me.size++;
	coll_meet();
	CHECK(group == coll_me.group);
}

static void member(void)
{
	const struct fault *f = fault_named(coll_me.test);

	if (!f)
		dies();
	else if (f->what == FAILS)
		fail(f);
	else
		refuse(f);
	coll_meet();
	coll_close();
}

static int wanted(int argc, char **argv, const char *name)
{
	int i;

	for (i = 2; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return argc <= 2;
}

int main(int argc, char **argv)
{
	int members = argc > 1 ? atoi(argv[1]) : 4;
	unsigned seed;
	size_t i;

	if (coll_is_member(argc, argv)) {
		member();
		return 0;
	}
	if (!getenv("COLL_RIGCTL") || members < 3 || members > COLL_MEMBERS) {
		printf("usage: COLL_RIGCTL=rigctl coll_faults [MEMBERS [CASE...]]\n");
		return 2;
	}
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		if (wanted(argc, argv, faults[i].name))
			coll_run(faults[i].name, members, 1, 0);
	for (seed = 1; seed <= 3; seed++)
		if (wanted(argc, argv, "dies"))
			coll_run("dies", members, seed, 1u << LAZY);
	printf("coll_faults: passed\n");
	return 0;
}
