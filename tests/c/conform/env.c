/*
 * env.c - LAPI_Qenv and LAPI_Senv.
 */
#include "conform.h"

static void env_task_and_number_of_tasks(void)
{
	CHECK_EQUAL(query(TASK_ID), atoi(variable("MP_CHILD")));
	CHECK_EQUAL(query(NUM_TASKS), atoi(variable("MP_PROCS")));
	CHECK(query(TASK_ID) >= 0 && query(TASK_ID) < query(NUM_TASKS));
}

/* The default values. The frame queried the two that it sets itself right after LAPI_Init. */
static void env_defaults(void)
{
	CHECK_EQUAL(conform_initial_interrupt, 1);
	CHECK_EQUAL(conform_initial_checking, 0);
	CHECK_EQUAL(query(TIMEOUT), 900);
	CHECK_EQUAL(query(MIN_TIMEOUT), 10);
	CHECK_EQUAL(query(MAX_TIMEOUT), 86400);
	if (!*variable("MP_ACK_THRESH"))
		CHECK_EQUAL(query(ACK_THRESHOLD), 30);
	if (!*variable("MP_REXMIT_BUF_CNT"))
		CHECK_EQUAL(query(NUM_REX_BUFS), 128);
	if (!*variable("MP_REXMIT_BUF_SIZE")) {
		CHECK_EQUAL(query(REX_BUF_SZ), 16384);
		CHECK_EQUAL(query(BUF_CP_SIZE), 4096);
	}
}

static void env_limits(void)
{
	int uhdr = query(MAX_UHDR_SZ);
	CHECK(uhdr >= 1024 && uhdr <= 2048);
	CHECK_EQUAL((unsigned)query(MAX_DATA_SZ), 0xffffffffu);
	CHECK_EQUAL(query(MAX_PORTS), 16);
	CHECK(query(MAX_PKT_SZ) > 0);
	CHECK(query(MAX_PKTS_OUT) > 0);
	CHECK(query(LOC_ADDRTBL_SZ) > 1);
	CHECK(query(MAX_ATOM_SIZE) > 0);
	CHECK(query(BULK_MIN_MSG_SIZE) >= 4096);
	CHECK(query(BULK_XFER) == 0 || query(BULK_XFER) == 1);
}

static void env_legacy_and_rdma_queries_give_zero(void)
{
	int q;
	CHECK_EQUAL(query(EPOCH_NUM), 0);
	CHECK_EQUAL(query(USE_THRESH), 0);
	CHECK_EQUAL(query(RCV_FIFO_SIZE), 0);
	for (q = 30; q <= 36; q++)
		if ((q != RC_MAX_QP && q != RC_QP_IN_USE) || strcasecmp(variable("LAPI_US"), "only") != 0)
			CHECK_EQUAL(query((lapi_query_t)q), 0);
	/* over RDMA adapters: one for each task that they reach */
	CHECK(query(RC_MAX_QP) < num_tasks);
	CHECK(query(RC_MAX_QP) > 0 || query(RC_QP_IN_USE) == 0);
}

/* Every query of the table answers. */
static void env_every_query_answers(void)
{
	int q, room[CONFORM_MAX_TASKS + 64];
	for (q = 0; q < LAST_QUERY; q++)
		if (q != PRINT_STATISTICS)
			LAPI_OK(LAPI_Qenv(hndl, (lapi_query_t)q, room));
}

static void env_query_errors(void)
{
	int q, value = 5;
	CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Qenv(hndl, LAST_QUERY, &value));
	CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Qenv(hndl, (lapi_query_t)-1, &value));
	CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Qenv(hndl, (lapi_query_t)1000, &value));
	CHECK_EQUAL(value, 5);
	for (q = 0; q < LAST_QUERY; q++)
		CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Qenv(hndl, (lapi_query_t)q, NULL));
}

static void refused(lapi_query_t what, int value)
{
	int before = query(what);
	CHECK_CODE(LAPI_ERR_SET_VAL, LAPI_Senv(hndl, what, value));
	CHECK_EQUAL(query(what), before);
}

static void accepted(lapi_query_t what, int value)
{
	LAPI_OK(LAPI_Senv(hndl, what, value));
	CHECK_EQUAL(query(what), value);
}

static void env_set_timeout_range(void)
{
	accepted(TIMEOUT, 10);
	accepted(TIMEOUT, 86400);
	accepted(TIMEOUT, 300);
	refused(TIMEOUT, 9);
	refused(TIMEOUT, 86401);
	refused(TIMEOUT, 0);
	refused(TIMEOUT, -1);
	accepted(TIMEOUT, 900);
}

static void env_set_ack_threshold_range(void)
{
	int value;
	for (value = 1; value <= 30; value++)
		accepted(ACK_THRESHOLD, value);
	refused(ACK_THRESHOLD, 0);
	refused(ACK_THRESHOLD, 31);
	refused(ACK_THRESHOLD, -1);
	accepted(ACK_THRESHOLD, 30);
}

static void env_set_toggles(void)
{
	accepted(ERROR_CHK, 1);
	accepted(ERROR_CHK, 0);
	accepted(INTERRUPT_SET, 0);
	accepted(INTERRUPT_SET, 1);
}

/* Only four attributes can be set. */
static void env_set_errors(void)
{
	int q;
	for (q = 0; q < LAST_QUERY; q++)
		if (q != TIMEOUT && q != ACK_THRESHOLD && q != ERROR_CHK && q != INTERRUPT_SET)
			CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Senv(hndl, (lapi_query_t)q, 1));
	CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Senv(hndl, LAST_QUERY, 1));
	CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Senv(hndl, (lapi_query_t)-1, 1));
}

/* Messages pass with every threshold. */
static void env_ack_threshold_works(void)
{
	static unsigned char source[100000], sink[100000];
	static lapi_cntr_t tgt_cntr, cmpl_cntr;
	void *sinks[CONFORM_MAX_TASKS], *cntrs[CONFORM_MAX_TASKS];
	static const int thresholds[] = {1, 2, 7, 30};
	int i, k, next = (task_id + 1) % num_tasks;
	counter_zero(&tgt_cntr);
	counter_zero(&cmpl_cntr);
	exchange(sink, sinks);
	exchange(&tgt_cntr, cntrs);
	for (i = 0; i < 4; i++) {
		accepted(ACK_THRESHOLD, thresholds[i]);
		conform_sync();
		for (k = 0; k < 40; k++)
			LAPI_OK(LAPI_Put(hndl, (uint)next, (ulong)(k * 2500), sinks[next], source,
			                 (lapi_cntr_t *)cntrs[next], NULL, &cmpl_cntr));
		counter_wait(&tgt_cntr, 40);
		counter_wait(&cmpl_cntr, 40);
	}
}

/* Whether a task is on this node: this one, or one in MP_COMMON_TASKS, "n:task:task...". */
static int on_this_node(int task)
{
	const char *p = strchr(variable("MP_COMMON_TASKS"), ':');
	for (; p; p = strchr(p + 1, ':'))
		if (atoi(p + 1) == task)
			return 1;
	return task == task_id;
}

static int tasks_on_this_node(void)
{
	int i, n = 0;
	for (i = 0; i < num_tasks; i++)
		n += on_this_node(i);
	return n;
}

/* Which tasks shared memory reaches: all of this node, oneself included, unless LAPI_USE_SHM says
 * no. They are numbered from 0. */
static void env_shared_memory_tasks(void)
{
	int list[CONFORM_MAX_TASKS], i, listed = 0, enabled = query(QUERY_SHM_ENABLED);
	int off = strcasecmp(variable("LAPI_USE_SHM"), "no") == 0;
	memset(list, 0x77, sizeof list);
	LAPI_OK(LAPI_Qenv(hndl, QUERY_SHM_TASKS, list));
	if (off || tasks_on_this_node() == 1) {
		CHECK_EQUAL(enabled, 0);
		for (i = 0; i < num_tasks; i++)
			CHECK_EQUAL(list[i], -1);
	} else {
		CHECK_EQUAL(enabled, 1);
		for (i = 0; i < num_tasks; i++)
			CHECK_EQUAL(list[i], on_this_node(i) ? listed++ : -1);
	}
	CHECK_EQUAL(query(QUERY_SHM_NUM_TASKS), listed);
}

/* Jobs whose tasks are all reached in one way can tell whether the statistics of that way count. */
static int several_ways(void)
{
	return tasks_on_this_node() < num_tasks && strcasecmp(variable("LAPI_USE_SHM"), "no") != 0;
}

static lapi_statistics_t statistics(lapi_query_t kind)
{
	lapi_statistics_t s;
	memset(&s, 0xFF, sizeof s);
	LAPI_OK(LAPI_Qenv(hndl, kind, (int *)(void *)&s));
	return s;
}

/* The bytes of a put are counted on the path they took, at both ends. */
static void env_statistics_count_the_path(void)
{
	static unsigned char source[50000], sink[50000];
	static lapi_cntr_t tgt_cntr, cmpl_cntr;
	void *sinks[CONFORM_MAX_TASKS], *cntrs[CONFORM_MAX_TASKS];
	int off = strcasecmp(variable("LAPI_USE_SHM"), "no") == 0, next = (task_id + 1) % num_tasks;
	lapi_query_t path = num_tasks == 1 ? QUERY_LOCAL_SEND_STATISTICS
	                    : off          ? QUERY_STATISTICS
	                                   : QUERY_SHM_STATISTICS;
	lapi_query_t other = off ? QUERY_SHM_STATISTICS : QUERY_STATISTICS;
	lapi_statistics_t before, after, other_before = statistics(other), other_after;
	if (several_ways())
		SKIP("some tasks are reached by shared memory, some by UDP");
	counter_zero(&tgt_cntr);
	counter_zero(&cmpl_cntr);
	exchange(sink, sinks);
	exchange(&tgt_cntr, cntrs);
	before = statistics(path);
	conform_sync();
	LAPI_OK(LAPI_Put(hndl, (uint)next, sizeof source, sinks[next], source,
	                 (lapi_cntr_t *)cntrs[next], NULL, &cmpl_cntr));
	counter_wait(&tgt_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
	conform_sync();
	after = statistics(path);
	other_after = statistics(other);
	CHECK(after.Tot_data_sent - before.Tot_data_sent >= sizeof source);
	CHECK(after.Tot_data_sent - before.Tot_data_sent < 3 * sizeof source);
	CHECK(after.Tot_data_rcv - before.Tot_data_rcv >= sizeof source);
	CHECK(after.Tot_pkt_recv_cnt == after.Tot_pkt_rcv_cnt); /* one member under both names */
	CHECK(other_after.Tot_data_sent - other_before.Tot_data_sent < sizeof source);
	if (path == QUERY_LOCAL_SEND_STATISTICS) {
		CHECK_EQUAL(after.Tot_pkt_sent_cnt, 0); /* no packets there */
		CHECK_EQUAL(after.Tot_pkt_rcv_cnt, 0);
	} else {
		CHECK(after.Tot_pkt_sent_cnt > before.Tot_pkt_sent_cnt);
		CHECK(after.Tot_pkt_rcv_cnt > before.Tot_pkt_rcv_cnt);
	}
}

/* ---- every kind of transfer, small and large ---- */

enum { STATISTICS_MAX = 1 << 20 };
static unsigned char counted_source[STATISTICS_MAX], counted_sink[STATISTICS_MAX];
static lapi_cntr_t counted_there, counted_here;
static void *counted_sinks[CONFORM_MAX_TASKS], *counted_cntrs[CONFORM_MAX_TASKS],
	*counted_handlers[CONFORM_MAX_TASKS];

static void *into_sink(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                       compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)user_info;
	*completion = NULL;
	return counted_sink;
}

static void transfer_put(int to, ulong n)
{
	LAPI_OK(LAPI_Put(hndl, (uint)to, n, counted_sinks[to], counted_source,
	                 (lapi_cntr_t *)counted_cntrs[to], NULL, &counted_here));
}

static void transfer_am(int to, ulong n)
{
	LAPI_OK(LAPI_Amsend(hndl, (uint)to, counted_handlers[to], NULL, 0, counted_source, n,
	                    (lapi_cntr_t *)counted_cntrs[to], NULL, &counted_here));
}

static void transfer_get(int to, ulong n)
{
	LAPI_OK(LAPI_Get(hndl, (uint)to, n, counted_sinks[to], counted_source,
	                 (lapi_cntr_t *)counted_cntrs[to], &counted_here));
}

/* Two blocks with a gap between them. */
static void transfer_putv(int to, ulong n)
{
	void *here_info[3] = {counted_source, (void *)(n / 2), (void *)(n / 2 + 8)};
	void *there_info[3] = {counted_sinks[to], (void *)(n / 2), (void *)(n / 2 + 16)};
	lapi_vec_t here = {LAPI_GEN_STRIDED_XFER, 2, here_info, NULL},
		   there = {LAPI_GEN_STRIDED_XFER, 2, there_info, NULL};

	LAPI_OK(LAPI_Putv(hndl, (uint)to, &there, &here, (lapi_cntr_t *)counted_cntrs[to], NULL,
	                  &counted_here));
}

/* n bytes to, or of, a task and from the one before: counted at both ends, on this path and no
 * other. */
static void count_transfer(const char *name, void (*transfer)(int to, ulong n), int to, ulong n,
                           lapi_query_t path, lapi_query_t other)
{
	lapi_statistics_t before, after, other_before, other_after;
	unsigned long long sent, received, elsewhere;

	conform_sync();
	before = statistics(path);
	other_before = statistics(other);
	conform_sync();
	transfer(to, n);
	counter_wait(&counted_there, 1);
	counter_wait(&counted_here, 1);
	conform_sync();
	after = statistics(path);
	other_after = statistics(other);
	sent = after.Tot_data_sent - before.Tot_data_sent;
	received = after.Tot_data_rcv - before.Tot_data_rcv;
	elsewhere = other_after.Tot_data_sent - other_before.Tot_data_sent +
	            other_after.Tot_data_rcv - other_before.Tot_data_rcv;
	/* The library's own messages and the user headers are little beside it. */
	if (!CHECK(sent >= n && sent < n + n / 2 + 2000) |
	    !CHECK(received >= n && received < n + n / 2 + 2000) | !CHECK(elsewhere < n / 2 + 2000))
		fprintf(stderr,
		        "  %s of %lu bytes to task %d: %llu sent, %llu received, %llu elsewhere\n",
		        name, n, to, sent, received, elsewhere);
}

static void env_statistics_of_every_transfer(void)
{
	static const struct {
		const char *name;
		void (*transfer)(int to, ulong n);
	} kinds[] = {
		{"LAPI_Put", transfer_put},
		{"LAPI_Amsend", transfer_am},
		{"LAPI_Get", transfer_get},
		{"LAPI_Putv", transfer_putv},
	};
	static const ulong lengths[] = {400, 4000, 60000, STATISTICS_MAX - 32};
	lapi_query_t net = strcasecmp(variable("LAPI_USE_SHM"), "no") == 0 ? QUERY_STATISTICS
	                                                                   : QUERY_SHM_STATISTICS;
	size_t k, i;

	if (several_ways())
		SKIP("some tasks are reached by shared memory, some by UDP");
	counter_zero(&counted_there);
	counter_zero(&counted_here);
	exchange(counted_sink, counted_sinks);
	exchange(&counted_there, counted_cntrs);
	exchange((void *)(uintptr_t)into_sink, counted_handlers);
	for (k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
			count_transfer(kinds[k].name, kinds[k].transfer, task_id, lengths[i],
			               QUERY_LOCAL_SEND_STATISTICS, net);
			if (num_tasks > 1)
				count_transfer(kinds[k].name, kinds[k].transfer,
				               (task_id + 1) % num_tasks, lengths[i], net,
				               QUERY_LOCAL_SEND_STATISTICS);
		}
}

/* PRINT_STATISTICS writes to standard output and leaves *ret_val alone. */
static void env_print_statistics(void)
{
	int value = 99, kept, digits = 0;
	size_t n, i;
	char text[8192];
	FILE *file = tmpfile();
	if (!CHECK(file != NULL))
		return;
	fflush(stdout);
	kept = dup(1);
	dup2(fileno(file), 1);
	LAPI_OK(LAPI_Qenv(hndl, PRINT_STATISTICS, &value));
	fflush(stdout);
	dup2(kept, 1);
	close(kept);
	rewind(file);
	n = fread(text, 1, sizeof text, file);
	fclose(file);
	CHECK_EQUAL(value, 99);
	for (i = 0; i < n; i++)
		digits += text[i] >= '0' && text[i] <= '9';
	CHECK(n > 100);
	CHECK(digits >= 7); /* at least the seven counts */
}

static void env_protocol_returned(void)
{
	CHECK_EQUAL(conform_protocol, UDP_DEV);
}

static const conform_case cases[] = {
	CONFORM_CASE(env_task_and_number_of_tasks),
	CONFORM_CASE(env_defaults),
	CONFORM_CASE(env_limits),
	CONFORM_CASE(env_legacy_and_rdma_queries_give_zero),
	CONFORM_CASE(env_every_query_answers),
	CONFORM_CASE(env_query_errors),
	CONFORM_CASE(env_set_timeout_range),
	CONFORM_CASE(env_set_ack_threshold_range),
	CONFORM_CASE(env_set_toggles),
	CONFORM_CASE(env_set_errors),
	CONFORM_CASE(env_ack_threshold_works),
	CONFORM_CASE(env_shared_memory_tasks),
	CONFORM_CASE(env_statistics_count_the_path),
	CONFORM_CASE(env_statistics_of_every_transfer),
	CONFORM_CASE(env_print_statistics),
	CONFORM_CASE(env_protocol_returned),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
