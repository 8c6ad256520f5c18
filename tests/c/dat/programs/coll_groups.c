/*
 * coll_groups.c - groups: each way to make one, several at once, several members in one process,
 * the order of events, suppressed ones, arguments that are wrong, the clock, and the attributes.
 */
#include "coll.h"

enum { MEMBERS = 4 };

static DAT_CONTEXT context(DAT_UINT64 value)
{
	DAT_CONTEXT c;

	c.as_64 = value;
	return c;
}

static DAT_IB_COLLECTIVE_HANDLE made(DAT_EVD_HANDLE evd, DAT_UINT64 value, int rank, int size)
{
	coll_event e = coll_wait(evd);

	CHECK(e.type == DAT_IB_COLLECTIVE_CREATE_DATA && e.status == 0 && e.context == value);
	CHECK(e.group != DAT_HANDLE_NULL);
	CHECK(e.created.collective_handle == e.group && e.created.user_context.as_64 == value);
	CHECK(e.created.rank == (DAT_COLLECTIVE_RANK)rank && e.created.size == size);
	return e.group;
}

/* An allreduce and a barrier, so that all members are known to be the right ones. */
static void use(DAT_IB_COLLECTIVE_HANDLE group, DAT_EVD_HANDLE evd, int rank, int size,
                DAT_UINT64 value)
{
	uint32_t mine = 1u << rank, sum = 0;

	MUST(dat_ib_collective_allreduce(
		group, &mine, sizeof mine, &sum, sizeof sum, DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
		DAT_IB_COLLECTIVE_TYPE_UINT32, context(value), DAT_COMPLETION_DEFAULT_FLAG));
	coll_expect(evd, group, DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, value);
	CHECK(sum == (1u << size) - 1);
	MUST(dat_collective_barrier(group, context(value + 1), DAT_COMPLETION_DEFAULT_FLAG));
	coll_expect(evd, group, DAT_IB_COLLECTIVE_BARRIER_STATUS, value + 1);
}

/* The node of each member, as a program may give it; or a node for each member, which is wrong
 * where a node has several. */
typedef struct nodes {
	int local[COLL_MEMBERS], external[COLL_MEMBERS], intra[COLL_MEMBERS], inter[COLL_MEMBERS];
} nodes;

static int node_of(int rank, int is_right)
{
	return is_right ? coll_node_of(rank, coll_me.size) : rank;
}

static void fill_info(DAT_IB_COLLECTIVE_GROUP *info, nodes *n, int is_right)
{
	int rank, first, mine = node_of(coll_me.rank, is_right);

	memset(info, 0, sizeof *info);
	info->external_rank = -1;
	for (rank = 0; rank < coll_me.size; rank++) {
		int node = node_of(rank, is_right), here = node == mine;

		for (first = 0; node_of(first, is_right) != node; first++)
			;
		n->intra[rank] = here ? info->local_size : -1;
		n->inter[rank] = first == rank ? info->external_size : -1;
		if (rank == coll_me.rank) {
			info->local_rank = n->intra[rank];
			info->external_rank = n->inter[rank];
		}
		if (here)
			n->local[info->local_size++] = rank;
		if (first == rank)
			n->external[info->external_size++] = rank;
	}
	info->local_ranks = n->local;
	info->external_ranks = n->external;
	info->intranode_table = n->intra;
	info->internode_table = n->inter;
}

/* By name: eight arguments, the macro, seven. */
static void ways(void)
{
	DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS];
	DAT_IB_COLLECTIVE_HANDLE group;
	DAT_IB_COLLECTIVE_GROUP info;
	nodes who;
	int way, rank = coll_me.rank, n = coll_me.size;

	coll_members(coll_me.member, coll_me.member_size, members);
	for (way = 0; way < 5; way++) {
		DAT_IB_COLLECTIVE_ID id = 100u + (unsigned)way;
		DAT_CONTEXT c = context(500u + (unsigned)way);

		fill_info(&info, &who, way != 4);
		if (way == 0)
			MUST((dat_ib_collective_create_group)(members, n, (unsigned)rank, id, NULL,
			                                      coll_me.evd, coll_me.pz, c));
		else if (way == 1)
			MUST(dat_ib_collective_create_group(members, n, rank, id, NULL, coll_me.evd,
			                                    coll_me.pz, c));
		else if (way == 2)
			MUST(dat_ib_collective_create_group(members, n, rank, id, coll_me.evd,
			                                    coll_me.pz, c));
		else
			MUST((dat_ib_collective_create_group)(members, n, (unsigned)rank, id, &info,
			                                      coll_me.evd, coll_me.pz, c));
		group = made(coll_me.evd, c.as_64, rank, n);
		use(group, coll_me.evd, rank, n, 600);
		coll_meet();
		MUST((dat_collective_free_group)(group));
	}
}

/* The design's members: an address and a qualifier, for which each has a service point. */
static void qualifiers(void)
{
	struct pair_of {
		DAT_IA_ADDRESS_PTR address;
		DAT_CONN_QUAL qualifier;
	} pairs[COLL_MEMBERS];
	DAT_COLLECTIVE_MEMBER members[COLL_MEMBERS];
	struct sockaddr_in own, addresses[COLL_MEMBERS];
	DAT_IA_ATTR attr;
	DAT_EVD_HANDLE requests;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL mine, all[COLL_MEMBERS];
	DAT_IB_COLLECTIVE_HANDLE group;
	int i;

	MUST(dat_ia_query(coll_me.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memcpy(&own, attr.ia_address_ptr, sizeof own);
	coll_exchange(&own, sizeof own, addresses);
	MUST(dat_evd_create(coll_me.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	MUST(dat_psp_create_any(coll_me.ia, &mine, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	coll_exchange(&mine, sizeof mine, all);
	for (i = 0; i < coll_me.size; i++) {
		pairs[i].address = (DAT_IA_ADDRESS_PTR)&addresses[i];
		pairs[i].qualifier = all[i];
		members[i] = &pairs[i];
	}
	MUST(dat_collective_create_group(members, coll_me.size, (unsigned)coll_me.rank, 222,
	                                 coll_me.evd, coll_me.pz, context(8)));
	group = made(coll_me.evd, 8, coll_me.rank, coll_me.size);
	use(group, coll_me.evd, coll_me.rank, coll_me.size, 900);
	coll_expect_none(requests); /* nothing of it is seen at the service point */
	coll_meet();
	MUST(dat_collective_free_group(group));
	MUST(dat_psp_free(psp));
	MUST(dat_evd_free(requests));
}

/* Two groups of all, the ranks of one turned round, each with an EVD; operations mixed. */
static void several(void)
{
	DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS], turned[COLL_MEMBERS];
	DAT_IB_COLLECTIVE_HANDLE group[2];
	DAT_EVD_HANDLE evd[2] = {coll_evd(), coll_evd()};
	int n = coll_me.size, rank[2] = {coll_me.rank, (coll_me.rank + 1) % coll_me.size}, i, g;
	call c[2][6];

	coll_members(coll_me.member, coll_me.member_size, members);
	for (i = 0; i < n; i++)
		turned[(i + 1) % n] = members[i];
	for (g = 0; g < 2; g++)
		MUST((dat_ib_collective_create_group)(g ? turned : members, n, (unsigned)rank[g],
		                                      31u + (unsigned)g, NULL, evd[g], coll_me.pz,
		                                      context(1)));
	for (g = 0; g < 2; g++)
		group[g] = made(evd[g], 1, rank[g], n);
	CHECK(group[0] != group[1]);
	memset(c, 0, sizeof c);
	for (i = 0; i < 12; i++) { /* not in the same mixture everywhere */
		int second = coll_me.rank % 2 ? i % 2 : i >= 6;
		int step = coll_me.rank % 2 ? i / 2 : i % 6;
		call *p = &c[second][step];

		p->kind = DAT_IB_COLLECTIVE_ALLGATHER_STATUS + step % 4;
		p->n = 1000u + (unsigned)step;
		p->seed = 40u + (unsigned)(second * 10 + step);
		p->context = (DAT_UINT64)step;
		call_make(p, rank[second], n);
		call_post(p, group[second]);
	}
	for (g = 0; g < 2; g++)
		for (i = 0; i < 6; i++) {
			coll_expect(evd[g], group[g], (unsigned)c[g][i].kind, (DAT_UINT64)i);
			call_check(&c[g][i]);
			call_free(&c[g][i]);
		}
	coll_meet();
	for (g = 0; g < 2; g++) {
		MUST((dat_ib_collective_free_group)(group[g]));
		MUST(dat_evd_free(evd[g]));
	}
}

/* A group whose members are all of this process. */
static void alone(void)
{
	enum { N = 3 };
	DAT_IB_COLLECTIVE_MEMBER members[N];
	DAT_IB_COLLECTIVE_HANDLE group[N];
	DAT_EVD_HANDLE evd[N];
	DAT_UINT32 size;
	call c[N];
	int i, kind;

	for (i = 0; i < N; i++) {
		MUST((dat_ib_collective_create_member)(coll_me.ia, NULL, &members[i], &size));
		evd[i] = coll_evd();
	}
	for (i = 0; i < N; i++)
		MUST((dat_ib_collective_create_group)(members, N, (unsigned)i,
		                                      (unsigned)(5000 + coll_me.rank), NULL, evd[i],
		                                      coll_me.pz, context(2)));
	for (i = 0; i < N; i++)
		group[i] = made(evd[i], 2, i, N);
	memset(c, 0, sizeof c);
	for (kind = DAT_IB_COLLECTIVE_SCATTER_STATUS; kind <= DAT_IB_COLLECTIVE_BARRIER_STATUS;
	     kind++) {
		for (i = 0; i < N; i++) {
			c[i].kind = kind;
			c[i].root = 1;
			c[i].n = 3000;
			c[i].seed = 3;
			c[i].op = DAT_IB_COLLECTIVE_REDUCE_OP_MAX;
			c[i].type = DAT_IB_COLLECTIVE_TYPE_INT16;
			call_make(&c[i], i, N);
			call_post(&c[i], group[i]);
		}
		for (i = 0; i < N; i++) {
			coll_expect(evd[i], group[i], (unsigned)kind, 0);
			call_check(&c[i]);
			call_free(&c[i]);
		}
	}
	for (i = 0; i < N; i++) {
		MUST((dat_ib_collective_free_group)(group[i]));
		MUST((dat_ib_collective_free_member)(coll_me.ia, members[i]));
		MUST(dat_evd_free(evd[i]));
	}
}

/* Many at once: events in the order of posting; every third is suppressed, and complete when a
 * later one is. */
static void order(void)
{
	enum { MANY = 60 };
	static call c[MANY];
	int i, k, next;

	memset(c, 0, sizeof c);
	for (i = 0; i < MANY; i++) {
		c[i].kind = DAT_IB_COLLECTIVE_SCATTER_STATUS + i % 14;
		c[i].form = i % FORMS;
		c[i].root = i % coll_me.size;
		c[i].op = DAT_IB_COLLECTIVE_REDUCE_OP_SUM;
		c[i].type = i % 11;
		c[i].n = i % 7 == 0 ? 60000 : (size_t)i * 11;
		c[i].seed = 900u + (unsigned)i;
		c[i].context = UINT64_C(0x1234567800000000) + (unsigned)i;
		c[i].flags =
			i % 3 == 1 ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG;
		call_make(&c[i], coll_me.rank, coll_me.size);
		call_post(&c[i], coll_me.group);
	}
	for (i = 0, next = 0; i < MANY; i++) {
		if (i % 3 == 1)
			continue;
		coll_expect(coll_me.evd, coll_me.group, (unsigned)c[i].kind, c[i].context);
		for (k = next, next = i + 1; k <= i; k++) {
			call_check(&c[k]);
			call_free(&c[k]);
		}
	}
	coll_expect_none(coll_me.evd);
}

static void refused(DAT_RETURN result, unsigned type, int line)
{
	if (DAT_GET_TYPE(result) != type)
		pair_fail(__FILE__, line, "another result was expected", result);
}

static void argument(DAT_RETURN result, unsigned which, int line)
{
	refused(result, DAT_INVALID_PARAMETER, line);
	if (DAT_GET_SUBTYPE(result) != which)
		pair_fail(__FILE__, line, "another argument was expected", result);
}

#define ARGUMENT(n, call) argument(call, DAT_INVALID_ARG##n, __LINE__)
#define INVALID(call) refused(call, DAT_INVALID_PARAMETER, __LINE__)

static void wrong(void)
{
	DAT_IB_COLLECTIVE_HANDLE g = coll_me.group;
	DAT_COMPLETION_FLAGS f = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP sum = DAT_IB_COLLECTIVE_REDUCE_OP_SUM;
	DAT_IB_COLLECTIVE_DATA_TYPE int32 = DAT_IB_COLLECTIVE_TYPE_INT32;
	DAT_IB_COLLECTIVE_RANK n = (unsigned)coll_me.size, me = (unsigned)coll_me.rank;
	DAT_COUNT counts[COLL_MEMBERS], at[COLL_MEMBERS];
	unsigned char a[64 * COLL_MEMBERS] = {0}, b[64 * COLL_MEMBERS] = {0};
	DAT_CONTEXT c = context(1);
	DAT_UINT64 clock;
	int i;

	for (i = 0; i < COLL_MEMBERS; i++) {
		counts[i] = 4;
		at[i] = 4 * i;
	}
	INVALID(dat_ib_collective_broadcast(g, a, 8, n, c, f));
	INVALID(dat_collective_broadcast(g, a, 8, (unsigned)-1, c, f));
	INVALID(dat_ib_collective_broadcast(g, a, -1, 0, c, f));
	INVALID(dat_ib_collective_broadcast(g, NULL, 8, 0, c, f));
	INVALID(dat_ib_collective_scatter(g, a, 8, b, 8, n, c, f));
	INVALID(dat_ib_collective_gather(g, a, 8, b, 8, n, c, f));
	INVALID((dat_ib_collective_reduce)(g, a, 8, b, 8, sum, int32, n, c, f));
	INVALID((dat_ib_collective_scatterv)(g, a, counts, at, b, 4, n, c, f));
	INVALID((dat_ib_collective_gatherv)(g, a, 4, b, counts, at, n, c, f));
	INVALID(dat_ib_collective_allgather(g, a, -4, b, -4, c, f));
	INVALID(dat_ib_collective_alltoall(g, a, -4, b, -4, c, f));
	INVALID(dat_ib_collective_allgather(g, a, 4, NULL, 4, c, f));
	INVALID(dat_ib_collective_allreduce(g, a, -8, b, -8, sum, int32, c, f));
	INVALID(dat_ib_collective_allreduce(g, a, 7, b, 7, sum, int32, c, f));
	INVALID(dat_ib_collective_allreduce(g, a, 8, b, 4, sum, int32, c, f));
	INVALID(dat_ib_collective_scan(g, a, 8, NULL, 8, sum, int32, c, f));
	if (n > 1 && me == 0) /* looked at by the root alone: the others must not come */
		INVALID(dat_collective_scatter(g, a, (DAT_COUNT)(8 * n + 1), b, 8, 0, c, f));
	counts[n - 1] = -4;
	INVALID((dat_ib_collective_alltoallv)(g, a, counts, at, b, counts, at, c, f));
	INVALID((dat_ib_collective_allgatherv)(g, a, 4, b, counts, at, c, f));
	INVALID(dat_ib_collective_reduce_scatter(g, a, 8, b, counts, sum, int32, c, f));
	INVALID(dat_ib_collective_read_clock(g, (DAT_UINT64 *)NULL));
	refused(dat_ib_collective_barrier(DAT_HANDLE_NULL, c, f), DAT_INVALID_HANDLE, __LINE__);
	refused(dat_collective_barrier(coll_me.evd, c, f), DAT_INVALID_HANDLE, __LINE__);
	refused(dat_ib_collective_read_clock(coll_me.ia, &clock), DAT_INVALID_HANDLE, __LINE__);
	coll_meet();
	use(g, coll_me.evd, coll_me.rank, coll_me.size, 70); /* the group is none the worse */
	coll_expect_none(coll_me.evd);
}

/* Each operation, by each of its names, refuses each flag that there is not. */
static void unknown_flags(void)
{
	enum { KNOWN = 0x3f };
	int kind, form, bit;
	call c;

	memset(&c, 0, sizeof c);
	c.n = 8;
	c.op = DAT_IB_COLLECTIVE_REDUCE_OP_SUM;
	c.type = DAT_IB_COLLECTIVE_TYPE_INT32;
	for (kind = DAT_IB_COLLECTIVE_SCATTER_STATUS; kind <= DAT_IB_COLLECTIVE_BARRIER_STATUS;
	     kind++)
		for (form = 0; form < FORMS; form++) {
			c.kind = kind;
			c.form = form;
			call_make(&c, coll_me.rank, coll_me.size);
			for (bit = 0; bit < 32; bit++) {
				c.flags = (DAT_COMPLETION_FLAGS)(1u << bit);
				if (!(1u << bit & KNOWN))
					INVALID(call_try(&c, coll_me.group));
			}
			call_free(&c);
		}
	coll_meet();
	use(coll_me.group, coll_me.evd, coll_me.rank, coll_me.size, 80);
	coll_expect_none(coll_me.evd);
}

static void wrong_creation(void)
{
	DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS], member;
	DAT_EVD_HANDLE evd = coll_me.evd;
	DAT_PZ_HANDLE pz = coll_me.pz;
	DAT_CONTEXT c = context(3);
	DAT_IB_COLLECTIVE_GROUP info;
	DAT_UINT32 size;
	nodes who;
	int n = coll_me.size, me = coll_me.rank;

	coll_members(coll_me.member, coll_me.member_size, members);
	ARGUMENT(2, (dat_ib_collective_create_group)(members, 0, 0, 1, NULL, evd, pz, c));
	ARGUMENT(2, (dat_ib_collective_create_group)(members, -1, 0, 1, NULL, evd, pz, c));
	ARGUMENT(2, (dat_ib_collective_create_group)(members, 4097, 0, 1, NULL, evd, pz, c));
	ARGUMENT(3, (dat_ib_collective_create_group)(members, n, (unsigned)n, 1, NULL, evd, pz, c));
	if (n > 1) /* another process's address */
		ARGUMENT(1, (dat_ib_collective_create_group)(members, n, (unsigned)(me + 1) % n, 1,
		                                             NULL, evd, pz, c));
	ARGUMENT(4, (dat_ib_collective_create_group)(members, n, (unsigned)me, 4711, NULL, evd, pz,
	                                             c));
	fill_info(&info, &who, 1);
	info.local_rank = info.local_size;
	ARGUMENT(5, (dat_ib_collective_create_group)(members, n, (unsigned)me, 1, &info, evd, pz,
	                                             c));
	ARGUMENT(2, (dat_ib_collective_free_member)(coll_me.ia, &who));
	INVALID((dat_ib_collective_create_group)(NULL, n, 0, 1, NULL, evd, pz, c));
	refused((dat_ib_collective_create_group)(members, n, 0, 1, NULL, coll_me.ia, pz, c),
	        DAT_INVALID_HANDLE, __LINE__);
	refused((dat_ib_collective_create_group)(members, n, 0, 1, NULL, evd, evd, c),
	        DAT_INVALID_HANDLE, __LINE__);
	ARGUMENT(3, (dat_ib_collective_create_member)(coll_me.ia, NULL, NULL, &size));
	ARGUMENT(4, (dat_ib_collective_create_member)(coll_me.ia, NULL, &member, NULL));
	refused((dat_ib_collective_create_member)(evd, NULL, &member, &size), DAT_INVALID_HANDLE,
	        __LINE__);
	coll_expect_none(evd);
}

/* After set_clock a reading is at least the value, and readings grow. */
static void clocks(void)
{
	static const DAT_UINT64 values[] = {1000000, UINT64_C(1) << 40};
	DAT_UINT64 first, second, later;
	size_t i;

	for (i = 0; i < 2; i++) {
		if (i == 0)
			MUST(dat_ib_collective_set_clock(coll_me.group, values[i], context(44)));
		else
			MUST(dat_collective_set_clock(coll_me.group, values[i], context(44)));
		coll_expect(coll_me.evd, coll_me.group, DAT_IB_COLLECTIVE_CLOCK_SET_STATUS, 44);
		MUST(dat_ib_collective_read_clock(coll_me.group, &first));
		MUST(dat_collective_read_clock(coll_me.group, &second));
		CHECK(first >= values[i] && second > first);
		coll_meet();
		MUST(dat_collective_read_clock(coll_me.group, &later));
		CHECK(later > second);
	}
}

static const char *attribute(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < attr->num_provider_specific_attr; i++)
		if (strcmp(attr->provider_specific_attr[i].name, name) == 0)
			return attr->provider_specific_attr[i].value;
	printf("no attribute %s\n", name);
	exit(1);
}

static void attributes(void)
{
	static const char *const names[] = {
		"SET_CLOCK",      "READ_CLOCK",    "SCATTER",  "SCATTERV",  "GATHER", "GATHERV",
		"ALLGATHER",      "ALLGATHERV",    "ALLTOALL", "ALLTOALLV", "REDUCE", "ALLREDUCE",
		"REDUCE_SCATTER", "REDUCESCATTER", "SCAN",     "BROADCAST", "BARRIER"};
	static const char *const ops[] = {"MAX", "MIN", "SUM",  "PROD", "LAND",   "BAND",
	                                  "LOR", "BOR", "LXOR", "BXOR", "MAXLOC", "MINLOC"};
	char name[64], list[512];
	DAT_PROVIDER_ATTR attr;
	size_t i;

	MUST(dat_ia_query(coll_me.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(name, sizeof name, "DAT_COLL_%s", names[i]);
		CHECK(strcmp(attribute(&attr, name), "TRUE") == 0);
	}
	snprintf(list, sizeof list, " %s ", attribute(&attr, "DAT_COLL_PORT_REDUCE"));
	for (i = 0; i < sizeof ops / sizeof *ops; i++) {
		snprintf(name, sizeof name, " REDUCE_OP_%s ", ops[i]);
		CHECK(strstr(list, name) != NULL);
	}
}

static void tests(int full)
{
	(void)full;
	coll_run("groups", coll_members_of(MEMBERS), 1, 0);
	coll_run("groups", 1, 1, 0);
}

int main(int argc, char **argv)
{
	if (!coll_is_member(argc, argv))
		return coll_main(argc, argv, tests);
	coll_open();
	attributes();
	use(coll_me.group, coll_me.evd, coll_me.rank, coll_me.size, 5);
	ways();
	qualifiers();
	several();
	alone();
	order();
	wrong();
	unknown_flags();
	wrong_creation();
	clocks();
	coll_meet();
	coll_close();
	return 0;
}
