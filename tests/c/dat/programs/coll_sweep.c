/*
 * coll_sweep.c - every collective call with every wrong argument, and each combination of missing
 * buffers and lengths, over each engine: the node's, the plan's over shared memory, over UDP and, of
 * members on adapters, over rails, C's over rails, and with all members in one process. Each call returns the same there, at the same rank.
 *
 * The group has failed before. So a call that is legal is harmless: its event says that it failed.
 */
#define _GNU_SOURCE
#include "coll.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MEMBERS = 2, CODES = 1 << 17, KINDS = 16, ENGINES = 5 };

/* The arguments of calls. */
enum {
	HANDLE,
	SEND,
	SEND_SIZE,
	SEND_SIZES,
	SEND_AT,
	RECV,
	RECV_SIZE,
	RECV_SIZES,
	RECV_AT,
	ROOT,
	OP,
	TYPE,
	FLAGS,
	ARGUMENTS
};

#define HAS(argument) (1u << (argument))
#define BUFFERS (HAS(SEND) | HAS(SEND_SIZE) | HAS(RECV) | HAS(RECV_SIZE))
#define SENDS (HAS(SEND) | HAS(SEND_SIZES) | HAS(SEND_AT))
#define RECVS (HAS(RECV) | HAS(RECV_SIZES) | HAS(RECV_AT))
#define REDUCES (HAS(OP) | HAS(TYPE))

/* By kind, from that of the clock on: its name, and the arguments that it has. */
static const struct {
	const char *name;
	unsigned has;
} kinds[KINDS] = {
	{"set_clock", 0},
	{"scatter", BUFFERS | HAS(ROOT)},
	{"scatterv", SENDS | HAS(RECV) | HAS(RECV_SIZE) | HAS(ROOT)},
	{"gather", BUFFERS | HAS(ROOT)},
	{"gatherv", HAS(SEND) | HAS(SEND_SIZE) | RECVS | HAS(ROOT)},
	{"allgather", BUFFERS},
	{"allgatherv", HAS(SEND) | HAS(SEND_SIZE) | RECVS},
	{"alltoall", BUFFERS},
	{"alltoallv", SENDS | RECVS},
	{"reduce", BUFFERS | REDUCES | HAS(ROOT)},
	{"allreduce", BUFFERS | REDUCES},
	{"reduce_scatter", HAS(SEND) | HAS(SEND_SIZE) | HAS(RECV) | HAS(RECV_SIZES) | REDUCES},
	{"scan", BUFFERS | REDUCES},
	{"broadcast", HAS(SEND) | HAS(SEND_SIZE) | HAS(ROOT)},
	{"barrier", 0},
	{"read_clock", 0}, /* not an operation, but a call */
};

static const struct {
	const char *name, *lane, *shm;
	int processes;
} engines[ENGINES] = {{"node", "on", "yes", MEMBERS},
                      {"plan", "off", "yes", MEMBERS},
                      {"UDP, or rails", "on", "no", MEMBERS},
                      {"UDP, or the plan over rails", "off", "no", MEMBERS},
                      {"one process", "on", "yes", 1}};

/* The codes of all calls of each member over each engine, in memory that all processes have. */
static struct codes {
	uint32_t number[ENGINES][MEMBERS];
	uint32_t code[ENGINES][MEMBERS][CODES];
} * codes;

/* A member of the group, in this process. */
typedef struct member {
	DAT_IB_COLLECTIVE_HANDLE group, freed;
	DAT_EVD_HANDLE evd;
	int rank;
} member;

static int engine;

/* Memory of calls. Past the end of edge nothing is there. */
static uint64_t sent[64], received[64];
static DAT_COUNT eights[MEMBERS] = {8, 8}, sixteens[MEMBERS] = {16, 16}, odd[MEMBERS] = {8, 7};
static DAT_COUNT negative[MEMBERS] = {8, -8}, nothing[MEMBERS], *edge;
static DAT_PVOID sent_in[MEMBERS] = {&sent[0], &sent[8]},
		 received_in[MEMBERS] = {&received[0], &received[8]};
static DAT_PVOID missing[MEMBERS] = {&sent[0], NULL};

#define NUMBER(value) ((uint64_t)(uint32_t)(value))
#define AT(pointer) ((uint64_t)(uintptr_t)(pointer))

/* How a call is described, where codes differ. */
static void describe(int kind, int form, const uint64_t *a)
{
	static const char *const forms[FORMS] = {"dat_collective_", "dat_ib_collective_", "op "};
	int i;

	printf("%s%s", forms[form], kinds[kind].name);
	for (i = 0; i < ARGUMENTS; i++)
		if (i == HANDLE || i == FLAGS || kinds[kind].has & HAS(i))
			printf(" %#llx", (unsigned long long)a[i]);
	printf("\n");
}

#define P(i) ((void *)(uintptr_t)a[i])
#define N(i) ((DAT_COUNT)a[i])
#define L(i) ((DAT_COUNT *)(uintptr_t)a[i])
#define B(i) ((DAT_PVOID *)(uintptr_t)a[i])
#define R ((DAT_IB_COLLECTIVE_RANK)a[ROOT])
#define O ((DAT_IB_COLLECTIVE_REDUCE_DATA_OP)a[OP]), ((DAT_IB_COLLECTIVE_DATA_TYPE)a[TYPE])
#define E context, (DAT_COMPLETION_FLAGS)a[FLAGS]

/* The calls that both sets have; set: what a name begins with. */
#define EITHER(set)                                                                                \
	switch (kind) {                                                                            \
	case 0:                                                                                    \
		return (set##_set_clock)(g, 7, context);                                           \
	case 1:                                                                                    \
		return (set##_scatter)(g, P(SEND), N(SEND_SIZE), P(RECV), N(RECV_SIZE), R, E);     \
	case 3:                                                                                    \
		return (set##_gather)(g, P(SEND), N(SEND_SIZE), P(RECV), N(RECV_SIZE), R, E);      \
	case 5:                                                                                    \
		return (set##_allgather)(g, P(SEND), N(SEND_SIZE), P(RECV), N(RECV_SIZE), E);      \
	case 7:                                                                                    \
		return (set##_alltoall)(g, P(SEND), N(SEND_SIZE), P(RECV), N(RECV_SIZE), E);       \
	case 9:                                                                                    \
		return (set##_reduce)(g, P(SEND), N(SEND_SIZE), P(RECV), N(RECV_SIZE), O, R, E);   \
	case 10:                                                                                   \
		return (set##_allreduce)(g, P(SEND), N(SEND_SIZE), P(RECV), N(RECV_SIZE), O, E);   \
	case 11:                                                                                   \
		return (set##_reduce_scatter)(g, P(SEND), N(SEND_SIZE), P(RECV), L(RECV_SIZES), O, \
		                              E);                                                  \
	case 12:                                                                                   \
		return (set##_scan)(g, P(SEND), N(SEND_SIZE), P(RECV), N(RECV_SIZE), O, E);        \
	case 13:                                                                                   \
		return (set##_broadcast)(g, P(SEND), N(SEND_SIZE), R, E);                          \
	case 14:                                                                                   \
		return (set##_barrier)(g, E);                                                      \
	case 15:                                                                                   \
		return (set##_read_clock)(g, (DAT_UINT64 *)P(SEND));                               \
	}

static DAT_RETURN call_whole(int kind, const uint64_t *a, DAT_IB_COLLECTIVE_HANDLE g,
                             DAT_CONTEXT context)
{
	EITHER(dat_collective)
	switch (kind) {
	case 2:
		return (dat_collective_scatterv)(g, B(SEND), L(SEND_SIZES), P(RECV), N(RECV_SIZE),
		                                 R, E);
	case 4:
		return (dat_collective_gatherv)(g, P(SEND), N(SEND_SIZE), B(RECV), L(RECV_SIZES), R,
		                                E);
	case 6:
		return (dat_collective_allgatherv)(g, P(SEND), N(SEND_SIZE), B(RECV), L(RECV_SIZES),
		                                   E);
	}
	return (dat_collective_alltoallv)(g, B(SEND), L(SEND_SIZES), B(RECV), L(RECV_SIZES), E);
}

static DAT_RETURN call_of_rank(int kind, const uint64_t *a, DAT_IB_COLLECTIVE_HANDLE g,
                               DAT_CONTEXT context)
{
	EITHER(dat_ib_collective)
	switch (kind) {
	case 2:
		return (dat_ib_collective_scatterv)(g, P(SEND), L(SEND_SIZES), L(SEND_AT), P(RECV),
		                                    N(RECV_SIZE), R, E);
	case 4:
		return (dat_ib_collective_gatherv)(g, P(SEND), N(SEND_SIZE), P(RECV), L(RECV_SIZES),
		                                   L(RECV_AT), R, E);
	case 6:
		return (dat_ib_collective_allgatherv)(g, P(SEND), N(SEND_SIZE), P(RECV),
		                                      L(RECV_SIZES), L(RECV_AT), E);
	}
	return (dat_ib_collective_alltoallv)(g, P(SEND), L(SEND_SIZES), L(SEND_AT), P(RECV),
	                                     L(RECV_SIZES), L(RECV_AT), E);
}

/* By number, of the operations that have one buffer or none: the others are read by the same list.
 */
static DAT_RETURN call_by_number(int kind, const uint64_t *a, DAT_IB_COLLECTIVE_HANDLE g,
                                 DAT_CONTEXT context)
{
	switch (kind) {
	case 0:
		return dat_extension_op(g, DAT_IB_COLLECTIVE_SET_CLOCK_OP, (DAT_UINT64)7, context);
	case 13:
		return dat_extension_op(g, DAT_IB_COLLECTIVE_BROADCAST_OP, P(SEND), N(SEND_SIZE), R,
		                        E);
	case 14:
		return dat_extension_op(g, DAT_IB_COLLECTIVE_BARRIER_OP, E);
	case 8:
		return dat_extension_op(g, DAT_IB_COLLECTIVE_ALLTOALLV_OP, P(SEND), L(SEND_SIZES),
		                        L(SEND_AT), P(RECV), L(RECV_SIZES), L(RECV_AT), E);
	case 9:
		return dat_extension_op(g, DAT_IB_COLLECTIVE_REDUCE_OP, P(SEND), N(SEND_SIZE),
		                        P(RECV), N(RECV_SIZE), O, R, E);
	}
	return call_of_rank(kind, a, g, context);
}

/* In a process without a member: what the calls are is printed, and nothing is called. */
static int wanted = -1;

static void try_call(const member *m, int kind, int form, const uint64_t *a)
{
	static DAT_RETURN (*const forms[FORMS])(int, const uint64_t *, DAT_IB_COLLECTIVE_HANDLE,
	                                        DAT_CONTEXT) = {call_whole, call_of_rank,
	                                                        call_by_number};
	static int number;
	DAT_CONTEXT context = {.as_64 = 5};
	uint32_t *at, i;
	coll_event event;

	if (!m) {
		if (number++ == wanted)
			describe(kind, form, a);
		return;
	}
	at = &codes->number[engine][m->rank];
	CHECK(*at < CODES);
	i = (*at)++;
	codes->code[engine][m->rank][i] =
		forms[form](kind, a, (DAT_IB_COLLECTIVE_HANDLE)(uintptr_t)a[HANDLE], context);
	if (codes->code[engine][m->rank][i] != DAT_SUCCESS || kind == 15)
		return;
	event = coll_wait(m->evd); /* of a failed group each operation has one */
	CHECK(event.status != 0 && event.context == 5 &&
	      (int)event.type == DAT_IB_COLLECTIVE_CLOCK_SET_STATUS + kind);
}

/* Legal arguments of a call. */
static void legal(const member *m, int kind, int form, uint64_t a[ARGUMENTS])
{
	int list = form == FORM_TOTALS;

	memset(a, 0, ARGUMENTS * sizeof *a);
	a[HANDLE] = m ? AT(m->group) : 0;
	a[SEND] = AT(kinds[kind].has & HAS(SEND_SIZES) && list ? (void *)sent_in : sent);
	a[RECV] = AT(kinds[kind].has & HAS(RECV_AT) && list ? (void *)received_in : received);
	a[SEND_SIZE] = a[RECV_SIZE] = 16;
	a[SEND_SIZES] = a[RECV_SIZES] = AT(eights);
	a[SEND_AT] = a[RECV_AT] = AT(sixteens);
	a[OP] = DAT_IB_COLLECTIVE_REDUCE_OP_SUM;
	a[TYPE] = DAT_IB_COLLECTIVE_TYPE_INT64;
}

/* Each argument by itself takes all values that are of its kind. */
static void one_by_one(const member *m, int kind, int form)
{
	const uint64_t handles[] = {
		0,  m ? AT(m->freed) : 1,     m ? AT(m->evd) : 2, AT(coll_me.ia),
		16, m ? AT(m->group) + 1 : 3, UINT64_MAX};
	const uint64_t lists[] = {0,       16,          AT(edge),    AT(negative),
	                          AT(odd), AT(nothing), AT(sixteens)};
	const uint64_t parts[] = {0, 16, AT(edge), AT(missing)};
	uint64_t a[ARGUMENTS];
	int i, value;

	for (i = 0; i < ARGUMENTS; i++) {
		int n = 0, values;

		if (i != HANDLE && i != FLAGS && !(kinds[kind].has & HAS(i)))
			continue;
		values = i == HANDLE              ? (int)(sizeof handles / sizeof *handles)
		         : i == SEND || i == RECV ? (int)(sizeof parts / sizeof *parts)
		         : i == SEND_SIZE || i == RECV_SIZE || i == ROOT || i == OP || i == TYPE
		                 ? 24
		         : i == FLAGS ? 32
		                      : (int)(sizeof lists / sizeof *lists);
		for (n = 0; n < values; n++) {
			static const int numbers[] = {-1, INT32_MIN, INT32_MAX, 1 << 30};

			legal(m, kind, form, a);
			value = n < 4 ? numbers[n] : n - 4;
			a[i] = i == HANDLE              ? handles[n]
			       : i == SEND || i == RECV ? parts[n]
			       : i == FLAGS             ? UINT64_C(1) << n
			       : values == 24           ? NUMBER(value)
			                                : lists[n];
			/* a part that cannot be had is none of the arguments, but a list is */
			if (a[FLAGS] == DAT_COMPLETION_SUPPRESS_FLAG)
				continue;
			try_call(m, kind, form, a);
		}
	}
}

/* Buffers that are there or not, with lengths that fit each other or not, at the root and
 * elsewhere. */
static void together(const member *m, int kind, int form)
{
	static const int lengths[] = {-1, 0, 7, 8, 16, 24};
	uint64_t a[ARGUMENTS];
	unsigned i;

	for (i = 0; i < 2 * 2 * 6 * 6 * 2; i++) {
		legal(m, kind, form, a);
		a[SEND] = i % 2 ? a[SEND] : 0;
		a[RECV] = i / 2 % 2 ? a[RECV] : 0;
		a[SEND_SIZE] = NUMBER(lengths[i / 4 % 6]);
		a[RECV_SIZE] = NUMBER(lengths[i / 24 % 6]);
		a[SEND_SIZES] = AT(i / 4 % 6 == 1 ? nothing : i / 4 % 6 == 4 ? sixteens : eights);
		a[RECV_SIZES] = AT(i / 24 % 6 == 1 ? nothing : i / 24 % 6 == 4 ? sixteens : eights);
		a[ROOT] = i / 144;
		try_call(m, kind, form, a);
	}
}

static void sweep(const member *m)
{
	int kind, form;

	for (kind = 0; kind < KINDS; kind++)
		for (form = 0; form < FORMS; form++) {
			one_by_one(m, kind, form);
			if (kinds[kind].has & HAS(SEND))
				together(m, kind, form);
		}
}

/* Memory whose end is the end of what there is, with room for one number too few. */
static void make_edge(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(two != MAP_FAILED && munmap(two + page, (size_t)page) == 0);
	edge = (DAT_COUNT *)(void *)(two + page) - (MEMBERS - 1);
	*edge = 8;
}

static DAT_IB_COLLECTIVE_HANDLE group_of(DAT_IB_COLLECTIVE_MEMBER *members, int rank, unsigned id,
                                         DAT_EVD_HANDLE evd)
{
	MUST((dat_ib_collective_create_group)(members, MEMBERS, (unsigned)rank, id, NULL, evd,
	                                      coll_me.pz, (DAT_CONTEXT){.as_64 = 1}));
	return NULL; /* its event has it */
}

/* All members of this process: two groups each, of which one is freed and the other fails. */
static void run_members(void)
{
	DAT_IB_COLLECTIVE_MEMBER list[COLL_MEMBERS], own[MEMBERS];
	int count = coll_me.size == 1 ? MEMBERS : 1, i, id;
	DAT_CONTEXT context = {.as_64 = 2};
	member m[MEMBERS];
	DAT_UINT32 size;

	coll_open_adapter();
	make_edge();
	if (count > 1) {
		for (i = 0; i < MEMBERS; i++) {
			MUST((dat_ib_collective_create_member)(coll_me.ia, NULL, &own[i], &size));
			list[i] = own[i];
		}
	} else {
		coll_members(coll_me.member, coll_me.member_size, list);
	}
	for (i = 0; i < count; i++)
		m[i] = (member){.rank = count > 1 ? i : coll_me.rank, .evd = coll_evd()};
	for (id = 1; id <= 2; id++) {
		for (i = 0; i < count; i++)
			group_of(list, m[i].rank, (unsigned)id, m[i].evd);
		for (i = 0; i < count; i++) {
			coll_event event = coll_wait(m[i].evd);

			CHECK(event.type == DAT_IB_COLLECTIVE_CREATE_DATA && event.status == 0);
			*(id == 1 ? &m[i].freed : &m[i].group) = event.group;
		}
		if (id == 1)
			coll_meet();
	}
	for (i = 0; i < count; i++) {
		MUST((dat_ib_collective_free_group)(m[i].freed));
		if (m[i].rank == 0)
			MUST((dat_ib_collective_barrier)(m[i].group, context, 0));
		else
			MUST((dat_ib_collective_broadcast)(m[i].group, sent, 8, 0, context, 0));
	}
	for (i = 0; i < count; i++)
		while (coll_wait(m[i].evd).status == 0)
			if (m[i].rank == 0) /* it has passed before the other's call was seen */
				MUST((dat_ib_collective_barrier)(m[i].group, context, 0));
			else
				MUST((dat_ib_collective_broadcast)(m[i].group, sent, 8, 0, context,
				                                   0));
	for (i = 0; i < count; i++)
		sweep(&m[i]);
	coll_meet();
	for (i = 0; i < count; i++) {
		MUST((dat_ib_collective_free_group)(m[i].group));
		MUST(dat_evd_free(m[i].evd));
		if (count > 1)
			MUST((dat_ib_collective_free_member)(coll_me.ia, own[i]));
	}
	coll_me.group = DAT_HANDLE_NULL;
	coll_close();
}

/* Each engine's codes beside those of the first. */
static void compare(void)
{
	uint32_t k;
	int e, rank, refused = 0;

	for (e = 0; e < ENGINES; e++)
		for (rank = 0; rank < MEMBERS; rank++) {
			CHECK(codes->number[e][rank] == codes->number[0][rank]);
			CHECK(codes->number[e][rank] > 1000);
			for (k = 0; k < codes->number[e][rank]; k++) {
				uint32_t one = codes->code[0][rank][k];
				uint32_t other = codes->code[e][rank][k];

				refused += e == 0 && one != DAT_SUCCESS;
				if (one == other)
					continue;
				printf("rank %d: %#x over %s, %#x over %s: ", rank, one,
				       engines[0].name, other, engines[e].name);
				fflush(stdout);
				wanted = (int)k;
				sweep(NULL);
				exit(1);
			}
		}
	CHECK(refused > 1000);
}

int main(int argc, char **argv)
{
	const char *fd = getenv("COLL_SWEEP"), *number = getenv("COLL_SWEEP_ENGINE");
	char text[16];
	int file;

	file = fd ? atoi(fd) : memfd_create("codes", 0);
	CHECK(file >= 0 && (fd || ftruncate(file, sizeof *codes) == 0));
	codes = mmap(NULL, sizeof *codes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(codes != MAP_FAILED);
	if (coll_is_member(argc, argv)) {
		engine = number ? atoi(number) : 0;
		run_members();
		return 0;
	}
	snprintf(text, sizeof text, "%d", file);
	CHECK(setenv("COLL_SWEEP", text, 1) == 0);
	for (engine = 0; engine < ENGINES; engine++) {
		snprintf(text, sizeof text, "%d", engine);
		CHECK(setenv("COLL_SWEEP_ENGINE", text, 1) == 0 &&
		      setenv("LAPI_FASTLANE", engines[engine].lane, 1) == 0 &&
		      setenv("LAPI_USE_SHM", engines[engine].shm, 1) == 0);
		coll_run("sweep", engines[engine].processes, 1, 0);
	}
	compare();
	printf("coll_sweep: passed\n");
	return 0;
}
