/*
 * members.c - barriers and allreduces of 8 bytes, of members each on an adapter and a node of its
 * own, beside bare RDMA writes of 8 bytes in the same run: a round trip between two members, and a
 * dissemination of all. Medians of rounds, in microseconds, and the ratios to log2(members) round
 * trips. Where there are more members than processors, bare writes give the processor up after each
 * look in vain, and are the measure.
 *
 * usage: members SIZE     started by `coll`, with as many nodes
 */
#define _GNU_SOURCE
#include "coll.h"

#include <infiniband/verbs.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS = 21, STEPS = 4, DEPTH = 64, SIGNAL = 16, PORT = 1, GID = 1 };

/* The far end of queue pairs: one for each step of the dissemination and direction, and of the
 * round trip. */
struct card {
	uint32_t qpn[2 * STEPS + 2], rkey;
	uint64_t address;
	union ibv_gid gid;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq[2 * STEPS + 2];
static struct ibv_qp *qp[2 * STEPS + 2];
static unsigned posted[2 * STEPS + 2];
static volatile uint64_t *words; /* [2 * STEPS + 2] that peers write, and a source */
static struct card cards[COLL_MEMBERS];
static uint64_t turns[2 * STEPS + 2];
static int shared;
static long vain; /* looks */
static long times;

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Queue pair i leads from sender to receiver: of step k there are two, of which 2k sends. */
static void open_bare(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct card mine = {{0}, 0, 0, {{0}}};
	char name[16];
	int i;

	snprintf(name, sizeof name, "rig%d", coll_me.rank + 1);
	for (i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	CHECK(context && (pd = ibv_alloc_pd(context)));
	words = aligned_alloc(4096, 4096);
	memset((void *)words, 0, 4096);
	CHECK((mr = ibv_reg_mr(pd, (void *)words, 4096,
	                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)));
	for (i = 0; i < 2 * STEPS + 2; i++) {
		struct ibv_qp_init_attr a = {.cap = {DEPTH, 1, 1, 1, 8}, .qp_type = IBV_QPT_RC};
		struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
		                           .port_num = PORT,
		                           .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

		CHECK((cq[i] = ibv_create_cq(context, DEPTH, NULL, NULL, 0)));
		a.send_cq = a.recv_cq = cq[i];
		CHECK((qp[i] = ibv_create_qp(pd, &a)));
		CHECK(ibv_modify_qp(qp[i], &init,
		                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		                            IBV_QP_ACCESS_FLAGS) == 0);
		mine.qpn[i] = qp[i]->qp_num;
	}
	mine.rkey = mr->rkey;
	mine.address = (uintptr_t)words;
	CHECK(ibv_query_gid(context, PORT, GID, &mine.gid) == 0);
	coll_exchange(&mine, sizeof mine, cards);
}

static void join(int i, int rank, int their)
{
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
	                          .path_mtu = IBV_MTU_1024,
	                          .dest_qp_num = cards[rank].qpn[their],
	                          .min_rnr_timer = 1,
	                          .ah_attr = {.is_global = 1,
	                                      .port_num = PORT,
	                                      .grh = {.dgid = cards[rank].gid, .sgid_index = GID}}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 16, .retry_cnt = 6};

	CHECK(ibv_modify_qp(qp[i], &rtr,
	                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
	                            IBV_QP_MIN_RNR_TIMER) == 0);
	CHECK(ibv_modify_qp(qp[i], &rts,
	                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void write_word(int i, int rank, int word)
{
	uint64_t value = ++turns[i];
	struct ibv_sge s = {(uintptr_t)&value, sizeof value, 0};
	struct ibv_send_wr *bad, wr = {.sg_list = &s,
	                               .num_sge = 1,
	                               .opcode = IBV_WR_RDMA_WRITE,
	                               .send_flags = IBV_SEND_INLINE};
	struct ibv_wc wc;

	if (++posted[i] % SIGNAL == 0)
		wr.send_flags |= IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = cards[rank].address + (uint64_t)word * sizeof value;
	wr.wr.rdma.rkey = cards[rank].rkey;
	CHECK(ibv_post_send(qp[i], &wr, &bad) == 0);
	if (posted[i] % SIGNAL == 0)
		while (ibv_poll_cq(cq[i], 1, &wc) == 0)
			;
}

static void await_word(int word, uint64_t value)
{
	while (words[word] < value) {
		vain++;
		if (shared)
			sched_yield();
	}
}

/* One round trip between members 0 and 1, by the last two queue pairs. */
static void round_trip(void)
{
	static uint64_t turn;
	int i = 2 * STEPS;

	turn++;
	if (coll_me.rank == 0)
		write_word(i, 1, i);
	await_word(i, turn);
	if (coll_me.rank == 1)
		write_word(i, 0, i);
}

static void bare_barrier(void)
{
	static uint64_t turn;
	int d, k = 0;

	turn++;
	for (d = 1; d < coll_me.size; d *= 2, k++) {
		write_word(2 * k, (coll_me.rank + d) % coll_me.size, 2 * k + 1);
		await_word(2 * k + 1, turn);
	}
}

static void done(void)
{
	DAT_EVENT event;

	/* it gives the processor up by itself, where members share it */
	while (dat_evd_dequeue(coll_me.evd, &event) != DAT_SUCCESS)
		vain++;
}

static void barrier(void)
{
	DAT_CONTEXT context = {.as_64 = 1};

	MUST((dat_ib_collective_barrier)(coll_me.group, context, DAT_COMPLETION_DEFAULT_FLAG));
	done();
}

static void allreduce(void)
{
	static int64_t in[1], out[1];
	DAT_CONTEXT context = {.as_64 = 1};

	in[0] = coll_me.rank + 1;
	MUST((dat_ib_collective_allreduce)(coll_me.group, in, sizeof in, out, sizeof out,
	                                   DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
	                                   DAT_IB_COLLECTIVE_TYPE_INT64, context,
	                                   DAT_COMPLETION_DEFAULT_FLAG));
	done();
	CHECK(out[0] == (int64_t)coll_me.size * (coll_me.size + 1) / 2);
}

static int less(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

static void (*const parts[])(void) = {round_trip, bare_barrier, barrier, allreduce};
enum { PARTS = sizeof parts / sizeof *parts };

/* How often this member's thread has had to give its processor to another, and has looked in vain, in
 * all rounds of a part. */
static long switches[PARTS], looks[PARTS];

static long switched(void)
{
	struct rusage u;

	CHECK(getrusage(RUSAGE_THREAD, &u) == 0);
	return u.ru_nvcsw + u.ru_nivcsw;
}

/* Microseconds of one. Of a round trip only two members take part. */
static double measure(int part)
{
	double begin;
	long i;

	coll_meet();
	if (part == 0 && coll_me.rank >= 2)
		return 0;
	for (i = 0; i < times / 10; i++)
		parts[part]();
	switches[part] -= switched();
	looks[part] -= vain;
	begin = now_us();
	for (i = 0; i < times; i++)
		parts[part]();
	begin = now_us() - begin;
	switches[part] += switched();
	looks[part] += vain;
	return begin / (double)times;
}

static void report(double v[PARTS][ROUNDS], int steps)
{
	int k;

	for (k = 0; k < PARTS; k++)
		qsort(v[k], ROUNDS, sizeof **v, less);
	printf("%d members%s: write round trip %.3f us, bare dissemination %.3f us\n", coll_me.size,
	       shared ? ", which share processors" : "", v[0][ROUNDS / 2], v[1][ROUNDS / 2]);
	for (k = 2; k < PARTS; k++)
		printf("%-24s %10.3f us   %5.2f of log2(n) round trips (wanted <= 1.3)   "
		       "%5.2f of bare\n",
		       k == 2 ? "barrier" : "allreduce of 8 bytes", v[k][ROUNDS / 2],
		       v[k][ROUNDS / 2] / (v[0][ROUNDS / 2] * steps),
		       v[k][ROUNDS / 2] / v[1][ROUNDS / 2]);
	for (k = 1; k < PARTS; k++)
		printf("%-24s %10.2f switches of member 0's thread, %.2f looks in vain\n",
		       k == 1   ? "bare dissemination"
		       : k == 2 ? "barrier"
		                : "allreduce of 8 bytes",
		       (double)switches[k] / (double)(ROUNDS * times),
		       (double)looks[k] / (double)(ROUNDS * times));
	fflush(stdout);
}

static void member(void)
{
	static double v[PARTS][ROUNDS];
	int k = 0, r, d, steps;

	shared = coll_me.size > (int)sysconf(_SC_NPROCESSORS_ONLN);
	times = shared ? 200 : 2000;
	open_bare();
	for (d = 1; d < coll_me.size; d *= 2, k++) {
		int ahead = (coll_me.rank + d) % coll_me.size;

		join(2 * k, ahead, 2 * k + 1);
		join(2 * k + 1, (coll_me.rank + coll_me.size - d) % coll_me.size, 2 * k);
	}
	steps = k;
	if (coll_me.rank < 2)
		join(2 * STEPS, !coll_me.rank, 2 * STEPS);
	coll_open();
	for (r = 0; r < ROUNDS; r++)
		for (k = 0; k < PARTS; k++)
			v[k][r] = measure(k);
	coll_meet();
	if (coll_me.rank == 0)
		report(v, steps);
	coll_meet();
	coll_close();
}

int main(int argc, char **argv)
{
	if (coll_is_member(argc, argv)) {
		member();
		return 0;
	}
	CHECK(argc == 2);
	coll_run("members", atoi(argv[1]), 1, 0);
	printf("members: passed\n");
	return 0;
}
