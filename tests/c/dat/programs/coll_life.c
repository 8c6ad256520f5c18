/*
 * coll_life.c - groups in which one member does not do what the others wait for: it computes,
 * sleeps, is killed, or frees the group. No member hangs.
 */
#define _GNU_SOURCE
#include "coll.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS = 4, LAZY = 1, PENDING = 6, LONG_S = 3, DEATHS = 8, LEAVES = 6 };

static DAT_CONTEXT context(DAT_UINT64 value)
{
	DAT_CONTEXT c;

	c.as_64 = value;
	return c;
}

static void post(call *c, int kind, size_t n, unsigned seed)
{
	memset(c, 0, sizeof *c);
	c->kind = kind;
	c->n = n;
	c->seed = seed;
	c->context = seed;
	c->op = DAT_IB_COLLECTIVE_REDUCE_OP_SUM;
	c->type = DAT_IB_COLLECTIVE_TYPE_DOUBLE;
	call_make(c, coll_me.rank, coll_me.size);
	call_post(c, coll_me.group);
}

static void finish(call *c)
{
	coll_expect(coll_me.evd, coll_me.group, (unsigned)c->kind, c->context);
	call_check(c);
	call_free(c);
}

static void compute(void)
{
	time_t end = time(NULL) + LONG_S;

	while (time(NULL) < end)
		;
}

static void doze(void)
{
	struct timespec rest = {LONG_S, 0};

	while (nanosleep(&rest, &rest) != 0)
		;
}

/*
 * One member posts all operations and is away for LONG_S, sixty times as long as it may delay the
 * others. The others complete all before it is back.
 */
static void away(void (*what)(void), unsigned seed)
{
	static const int kinds[] = {
		DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, DAT_IB_COLLECTIVE_BARRIER_STATUS,
		DAT_IB_COLLECTIVE_ALLTOALL_STATUS,  DAT_IB_COLLECTIVE_ALLGATHER_STATUS,
		DAT_IB_COLLECTIVE_BROADCAST_STATUS, DAT_IB_COLLECTIVE_SCAN_STATUS};
	call c[PENDING];
	int i;

	coll_set_flag(0);
	coll_meet();
	for (i = 0; i < PENDING; i++)
		post(&c[i], kinds[i], i % 2 ? 100 : 8000, seed + (unsigned)i);
	if (coll_me.rank == LAZY) {
		what();
		coll_set_flag(1);
	}
	for (i = 0; i < PENDING; i++)
		finish(&c[i]);
	CHECK(coll_me.rank == LAZY || coll_flag() == 0);
	coll_meet();
}

/* Its events wait for it as well. */
static void computing(void)
{
	away(compute, 10);
	away(doze, 20);
}

/* A pending operation, and one posted later, end with an error; also at a member that has posted
 * nothing and then does. */
static void lose(int first)
{
	call c[PENDING];
	coll_event e;
	DAT_RETURN result;
	int i;

	post(&c[0], DAT_IB_COLLECTIVE_ALLGATHER_STATUS, 100, 1);
	finish(&c[0]);
	coll_meet();
	for (i = 0; i < PENDING && coll_me.rank != LAZY; i++)
		post(&c[i],
		     i % 2 ? DAT_IB_COLLECTIVE_BARRIER_STATUS : DAT_IB_COLLECTIVE_ALLREDUCE_STATUS,
		     5000, 30u + (unsigned)i);
	if (coll_me.rank == LAZY) {
		if (first)
			usleep(200000); /* the others are in the middle */
		raise(SIGKILL);
	}
	for (i = 0; i < PENDING; i++) {
		e = coll_wait(coll_me.evd);
		CHECK(e.status != 0 && e.context == 30u + (unsigned)i &&
		      e.type == (unsigned)c[i].kind);
		CHECK(e.group == coll_me.group);
		call_free(&c[i]);
	}
	result = dat_collective_barrier(coll_me.group, context(99), DAT_COMPLETION_SUPPRESS_FLAG);
	if (result == DAT_SUCCESS) { /* failures are reported although successes are not */
		e = coll_wait(coll_me.evd);
		CHECK(e.status != 0 && e.context == 99 &&
		      e.type == DAT_IB_COLLECTIVE_BARRIER_STATUS);
	}
	coll_expect_none(coll_me.evd);
}

/* Large data is under way when it happens. */
static void lose_data(void)
{
	call c;
	coll_event e;

	post(&c, DAT_IB_COLLECTIVE_ALLTOALL_STATUS, 4 << 20, 1);
	if (coll_me.rank == LAZY)
		raise(SIGKILL);
	e = coll_wait(coll_me.evd);
	if (e.status == 0)
		call_check(&c);
	call_free(&c);
	coll_expect_none(coll_me.evd);
}

static void die(int signal)
{
	(void)signal;
	raise(SIGKILL);
}

/* A member is killed at any time in a sequence of operations. The others complete some operations,
 * with right results, and then all fail. */
static void lose_anytime(void)
{
	static const int kinds[] = {
		DAT_IB_COLLECTIVE_ALLTOALL_STATUS,  DAT_IB_COLLECTIVE_BARRIER_STATUS,
		DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, DAT_IB_COLLECTIVE_BROADCAST_STATUS,
		DAT_IB_COLLECTIVE_GATHER_STATUS,    DAT_IB_COLLECTIVE_REDUCE_STATUS,
		DAT_IB_COLLECTIVE_ALLGATHER_STATUS, DAT_IB_COLLECTIVE_SCAN_STATUS};
	static const size_t sizes[] = {40, 30000, 8};
	struct itimerval soon = {{0, 0}, {0, 500 + coll_mix(coll_me.seed, 1, 2) % 60000}};
	unsigned i, failed = 0;
	coll_event e;
	call c;

	coll_meet();
	if (coll_me.rank == LAZY) {
		signal(SIGALRM, die);
		CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	}
	for (i = 1; failed < 2; i++) { /* the second finds a group that has failed */
		post(&c, kinds[i % 8], sizes[i % 3], i);
		e = coll_wait(coll_me.evd);
		CHECK(e.context == i && e.type == (unsigned)c.kind && (!failed || e.status));
		if (e.status)
			failed++;
		else
			call_check(&c);
		call_free(&c);
	}
	coll_expect_none(coll_me.evd);
}

/* free_group ends what is under way here with error events, and at the others, too. */
static void flush(void)
{
	call c[PENDING];
	coll_event e;
	int i, failed = 0;

	for (i = 0; i < PENDING && coll_me.rank != LAZY; i++)
		post(&c[i], DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, 3000, 50u + (unsigned)i);
	coll_meet();
	if (coll_me.rank != coll_me.size - 1) { /* the last one learns it from the others */
		DAT_IB_COLLECTIVE_HANDLE group = coll_me.group;

		MUST((dat_ib_collective_free_group)(group));
		coll_me.group = DAT_HANDLE_NULL;
		CHECK(DAT_GET_TYPE(dat_collective_barrier(group, context(0),
		                                          DAT_COMPLETION_DEFAULT_FLAG)) ==
		      DAT_INVALID_HANDLE);
	}
	for (i = 0; i < PENDING && coll_me.rank != LAZY; i++) {
		e = coll_wait(coll_me.evd);
		CHECK(e.context == 50u + (unsigned)i && e.status != 0);
		failed++;
		call_free(&c[i]);
	}
	CHECK(failed == (coll_me.rank == LAZY ? 0 : PENDING));
	coll_expect_none(coll_me.evd);
	coll_meet();
}

/* A member that is gone before the group is: creation fails by an event of type CREATE_STATUS. */
static void orphan(void)
{
	DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS];
	coll_event e;

	coll_open_adapter();
	coll_members(coll_me.member, coll_me.member_size, members);
	if (coll_me.rank == LAZY)
		raise(SIGKILL);
	MUST((dat_ib_collective_create_group)(members, coll_me.size, (unsigned)coll_me.rank, 12,
	                                      NULL, coll_me.evd, coll_me.pz, context(66)));
	e = coll_wait(coll_me.evd);
	CHECK(e.type == DAT_IB_COLLECTIVE_CREATE_STATUS && e.context == 66);
	CHECK(e.status == (unsigned)DAT_IB_COLL_COMP_ERR);
	coll_expect_none(coll_me.evd);
}

/* Each member ends when its last operation has completed, and frees nothing; all operations
 * complete at all members. */
static void leaves(void)
{
	static const int kinds[] = {
		DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, DAT_IB_COLLECTIVE_GATHER_STATUS,
		DAT_IB_COLLECTIVE_ALLTOALL_STATUS,  DAT_IB_COLLECTIVE_ALLGATHER_STATUS,
		DAT_IB_COLLECTIVE_SCAN_STATUS,      DAT_IB_COLLECTIVE_BROADCAST_STATUS};
	call c[PENDING];
	int i;

	coll_open();
	for (i = 0; i < PENDING; i++)
		post(&c[i], kinds[(i + coll_me.seed) % PENDING], i % 2 ? 100 : 20000,
		     coll_me.seed + (unsigned)i);
	if (coll_me.rank == (int)coll_me.seed % coll_me.size)
		usleep(20000); /* the others are done before it looks */
	for (i = 0; i < PENDING; i++)
		finish(&c[i]);
	exit(0);
}

static void member(void)
{
	if (strcmp(coll_me.test, "leaves") == 0)
		leaves();
	if (strcmp(coll_me.test, "orphan") == 0) {
		orphan();
	} else {
		coll_open();
		if (strcmp(coll_me.test, "computing") == 0)
			computing();
		else if (strcmp(coll_me.test, "flush") == 0)
			flush();
		else if (strcmp(coll_me.test, "data") == 0)
			lose_data();
		else if (strcmp(coll_me.test, "anytime") == 0)
			lose_anytime();
		else
			lose(strcmp(coll_me.test, "later") == 0);
	}
	coll_meet();
	coll_close();
}

static void tests(int full)
{
	int size = coll_members_of(MEMBERS);
	unsigned seed;

	(void)full;
	coll_run("computing", size, 1, 0);
	coll_run("killed", size, 1, 1u << LAZY);
	coll_run("later", size, 1, 1u << LAZY);
	coll_run("data", size, 1, 1u << LAZY);
	coll_run("flush", size, 1, 0);
	for (seed = 0; seed < LEAVES; seed++)
		coll_run("leaves", size, seed, 0);
	for (seed = 1; seed <= DEATHS; seed++)
		coll_run("anytime", size, seed, 1u << LAZY);
	setenv("LAPI_DAT_TIMEOUT", "1000", 1); /* longer than a member may live */
	coll_run("orphan", size, 1, 1u << LAZY);
	unsetenv("LAPI_DAT_TIMEOUT");
}

int main(int argc, char **argv)
{
	if (coll_is_member(argc, argv)) {
		member();
		return 0;
	}
	return coll_main(argc, argv, tests);
}
