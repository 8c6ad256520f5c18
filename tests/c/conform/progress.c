/*
 * progress.c - LAPI_Probe and LAPI_Msgpoll; the promises of interrupt mode and polling mode.
 */
#include "conform.h"

static unsigned char source[100000], sink[100000];
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *sinks[CONFORM_MAX_TASKS], *cntrs[CONFORM_MAX_TASKS], *handlers[CONFORM_MAX_TASKS];
static int header_calls, completions, next;

static void completed(lapi_handle_t *h, void *unused)
{
	(void)h, (void)unused;
	__atomic_add_fetch(&completions, 1, __ATOMIC_ACQ_REL);
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)user_info;
	__atomic_add_fetch(&header_calls, 1, __ATOMIC_ACQ_REL);
	*completion = completed;
	return *msg_len ? sink : NULL;
}

static void prepare(void)
{
	next = (task_id + 1) % num_tasks;
	header_calls = completions = 0;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(sink, sinks);
	exchange(&tgt_cntr, cntrs);
	exchange((void *)(uintptr_t)take, handlers);
}

static lapi_msg_state_t poll_once(uint cnt)
{
	lapi_msg_info_t info;
	memset(&info, 0xFF, sizeof info);
	LAPI_OK(LAPI_Msgpoll(hndl, cnt, &info));
	return info.status;
}

/* Clears the flags of earlier calls, so that a case starts without flags. */
static void clear_flags(void)
{
	conform_sync();
	while (poll_once(10) & LAPI_BOTH_COMPLETE)
		;
}

static void probe_with_nothing_to_do(void)
{
	int i;
	for (i = 0; i < 1000; i++)
		LAPI_OK(LAPI_Probe(hndl));
}

/* Probe alone drives both sides of everything. */
static void probe_drives_messages(void)
{
	prepare();
	LAPI_OK(LAPI_Put(hndl, (uint)next, sizeof source, sinks[next], source,
	                 (lapi_cntr_t *)cntrs[next], &org_cntr, &cmpl_cntr));
	LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], NULL, 0, NULL, 0,
	                    (lapi_cntr_t *)cntrs[next], NULL, &cmpl_cntr));
	while (counter_value(&tgt_cntr) < 2 || counter_value(&cmpl_cntr) < 2 ||
	       counter_value(&org_cntr) < 1) {
		LAPI_OK(LAPI_Probe(hndl));
		sched_yield();
	}
	CHECK_EQUAL(peek(&completions), 1);
}

static void msgpoll_null_info(void)
{
	CHECK_CODE(LAPI_ERR_MSG_INFO_NULL, LAPI_Msgpoll(hndl, 1, NULL));
}

/* Nothing happens: the call returns after its loops, without flags. */
static void msgpoll_says_when_nothing_happened(void)
{
	uint counts[] = {1, 2, 10, 1000};
	int i;
	prepare();
	clear_flags();
	conform_sync();
	for (i = 0; i < 4; i++) {
		lapi_msg_state_t status = poll_once(counts[i]);
		CHECK_EQUAL(status & LAPI_BOTH_COMPLETE, 0);
		CHECK(status & (LAPI_DISP_CNTR | LAPI_POLLING_NET));
	}
}

/* Fences and exchanges send the library's own messages: they set no flag. */
static void msgpoll_ignores_the_librarys_messages(void)
{
	void *table[CONFORM_MAX_TASKS];
	int i;
	prepare();
	clear_flags();
	conform_sync();
	for (i = 0; i < 20; i++) {
		conform_sync();
		exchange(NULL, table);
		CHECK_EQUAL(poll_once(1) & LAPI_BOTH_COMPLETE, 0);
	}
}

/* Loops until both flags were seen, with count 1 as tight loops do. */
static void msgpoll_reports_send_and_receive(void)
{
	static const size_t lengths[] = {0, 8, 500, 70000};
	lapi_msg_state_t seen;
	int i;
	prepare();
	for (i = 0; i < 4; i++) {
		clear_flags();
		conform_sync();
		LAPI_OK(LAPI_Put(hndl, (uint)next, lengths[i], sinks[next], source,
		                 (lapi_cntr_t *)cntrs[next], &org_cntr, NULL));
		seen = 0;
		while ((seen & LAPI_BOTH_COMPLETE) != LAPI_BOTH_COMPLETE) {
			seen |= poll_once(1);
			sched_yield();
		}
		counter_wait(&org_cntr, 1);
		counter_wait(&tgt_cntr, 1);
	}
}

/* Completions that some other call dispatched are kept for the next Msgpoll, which returns at once
 * and clears them. */
static void msgpoll_latches_completions(void)
{
	int i;
	prepare();
	for (i = 0; i < 10; i++) {
		clear_flags();
		conform_sync();
		LAPI_OK(LAPI_Put(hndl, (uint)next, 64, sinks[next], source,
		                 (lapi_cntr_t *)cntrs[next], &org_cntr, &cmpl_cntr));
		counter_wait(&tgt_cntr, 1);
		counter_wait(&org_cntr, 1);
		counter_wait(&cmpl_cntr, 1);
		CHECK_EQUAL(poll_once(1) & LAPI_BOTH_COMPLETE, LAPI_BOTH_COMPLETE);
		conform_sync();
		CHECK_EQUAL(poll_once(1) & LAPI_BOTH_COMPLETE, 0);
	}
}

/* Without any counter only Msgpoll reports a put. */
static void msgpoll_reports_put_without_counters(void)
{
	static const size_t lengths[] = {0, 100, sizeof source};
	lapi_msg_state_t seen;
	int i;
	prepare();
	for (i = 0; i < 3; i++) {
		clear_flags();
		conform_sync();
		LAPI_OK(LAPI_Put(hndl, (uint)next, lengths[i], sinks[next], source, NULL, NULL,
		                 NULL));
		seen = 0;
		while ((seen & LAPI_BOTH_COMPLETE) != LAPI_BOTH_COMPLETE) {
			seen |= poll_once(1);
			sched_yield();
		}
	}
}

static void msgpoll_reports_active_messages(void)
{
	lapi_msg_state_t seen = 0;
	prepare();
	clear_flags();
	conform_sync();
	LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], NULL, 0, source, 2000,
	                    (lapi_cntr_t *)cntrs[next], &org_cntr, NULL));
	while ((seen & LAPI_BOTH_COMPLETE) != LAPI_BOTH_COMPLETE) {
		seen |= poll_once(1);
		sched_yield();
	}
	counter_wait(&tgt_cntr, 1);
	counter_wait(&org_cntr, 1);
}

/* A large count ends early once something was completed. */
static void msgpoll_returns_on_progress(void)
{
	prepare();
	clear_flags();
	conform_sync();
	if (task_id == 0)
		sleep_ms(50);
	LAPI_OK(LAPI_Put(hndl, (uint)next, 8, sinks[next], source, (lapi_cntr_t *)cntrs[next], NULL,
	                 NULL));
	while (counter_value(&tgt_cntr) < 1)
		poll_once(100000000);
	CHECK_EQUAL(counter_value(&tgt_cntr), 1);
}

/* ---- interrupt mode ---- */

/* Computes without any LAPI call until a word changes. */
static void compute_until(const int *word, int value)
{
	volatile double x = 1;
	while (peek(word) < value)
		x = x * 1.000001 + 0.5;
}

static void interrupt_mode(void)
{
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
	CHECK_EQUAL(query(INTERRUPT_SET), 1);
	conform_sync();
}

/* Task 0 computes; all others put, get, rmw and send to it, and get their answers without its doing
 * anything. */
static void interrupt_serves_a_computing_task(void)
{
	static int word, done;
	void *words[CONFORM_MAX_TASKS], *dones[CONFORM_MAX_TASKS];
	int i, one = 1, before;
	if (num_tasks < 2)
		SKIP("needs 2 tasks");
	prepare();
	word = done = 0;
	exchange(&word, words);
	exchange(&done, dones);
	interrupt_mode();
	if (task_id == 0) {
		compute_until(&done, 5 * (num_tasks - 1));
		CHECK_EQUAL(word, 5 * (num_tasks - 1));
		CHECK(peek(&header_calls) >= 5 * (num_tasks - 1));
	} else {
		for (i = 0; i < 5; i++) {
			sleep_ms(2 * task_id);
			LAPI_OK(LAPI_Put(hndl, 0, 3000, sinks[0], source, (lapi_cntr_t *)cntrs[0],
			                 NULL, &cmpl_cntr));
			counter_wait(&cmpl_cntr, 1);
			LAPI_OK(LAPI_Get(hndl, 0, 3000, sinks[0], sink, NULL, &org_cntr));
			counter_wait(&org_cntr, 1);
			LAPI_OK(LAPI_Amsend(hndl, 0, handlers[0], NULL, 0, source, 400, NULL, NULL,
			                    &cmpl_cntr));
			counter_wait(&cmpl_cntr, 1);
			LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, (int *)words[0], &one, &before,
			                 &org_cntr));
			counter_wait(&org_cntr, 1);
			LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, (int *)dones[0], &one, &before,
			                 &org_cntr));
			counter_wait(&org_cntr, 1);
		}
	}
	conform_sync();
}

/* Between calls: the task has just left a wait and computes on at once. */
static void interrupt_serves_right_after_a_call(void)
{
	int i;
	if (num_tasks < 2)
		SKIP("needs 2 tasks");
	prepare();
	interrupt_mode();
	if (task_id <= 1)
		for (i = 1; i <= 30; i++) {
			int other = 1 - task_id;
			if (i % 2 == task_id)
				LAPI_OK(LAPI_Put(hndl, (uint)other, 8, sinks[other], source,
				                 (lapi_cntr_t *)cntrs[other], NULL, NULL));
			else {
				LAPI_OK(LAPI_Probe(hndl));
				compute_until(&tgt_cntr.cntr, (i + 1 - task_id) / 2);
			}
		}
	conform_sync();
}

/* ---- polling mode ---- */

/* Without a call no handler runs and no counter changes. */
static void polling_changes_nothing_without_a_call(void)
{
	int i, quiet;
	prepare();
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
	CHECK_EQUAL(query(INTERRUPT_SET), 0);
	conform_sync();
	quiet = task_id == num_tasks - 1;
	if (quiet) {
		/* Messages may have come while this task was still inside the Gfence; from here on
		 * nothing may change. */
		int counted = tgt_cntr.cntr, headers = peek(&header_calls);
		/* queued inside the Gfence, they end when they get a processor */
		while (peek(&completions) < headers)
			sleep_ms(1);
		sleep_ms(300);
		if (headers == 0)
			CHECK_EQUAL(tgt_cntr.cntr, counted);
		CHECK_EQUAL(peek(&header_calls), headers);
		CHECK_EQUAL(peek(&completions), headers);
	} else {
		uint target = (uint)num_tasks - 1;
		sleep_ms(60);
		for (i = 0; i < 20; i++) {
			LAPI_OK(LAPI_Put(hndl, target, 100, sinks[target], source,
			                 (lapi_cntr_t *)cntrs[target], NULL, &cmpl_cntr));
			LAPI_OK(LAPI_Amsend(hndl, target, handlers[target], NULL, 0, source, 100,
			                    (lapi_cntr_t *)cntrs[target], NULL, &cmpl_cntr));
		}
		counter_wait(&cmpl_cntr, 40);
	}
	if (quiet)
		counter_wait(&tgt_cntr, 40 * (num_tasks - 1));
	conform_sync();
}

/* ---- toggling ---- */

static int stop_toggling;

static void *toggle(void *unused)
{
	int on = 0;
	while (!peek(&stop_toggling)) {
		LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, on));
		on = !on;
		sched_yield();
	}
	return unused;
}

/* INTERRUPT_SET from any thread at any moment, with messages under way. */
static void interrupt_set_toggled_from_a_thread(void)
{
	pthread_t thread;
	int i;
	prepare();
	stop_toggling = 0;
	conform_sync();
	CHECK_EQUAL(pthread_create(&thread, NULL, toggle, NULL), 0);
	for (i = 0; i < 300; i++) {
		LAPI_OK(LAPI_Put(hndl, (uint)next, (size_t)(i % 50) * 100, sinks[next], source,
		                 (lapi_cntr_t *)cntrs[next], NULL, &cmpl_cntr));
		counter_wait(&cmpl_cntr, 1);
		if (i % 20 == 0)
			sleep_ms(1);
	}
	counter_wait(&tgt_cntr, 300);
	conform_sync();
	__atomic_store_n(&stop_toggling, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
	CHECK_EQUAL(query(INTERRUPT_SET), 1);
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
	CHECK_EQUAL(query(INTERRUPT_SET), 0);
}

/* All tasks call only LAPI_Amsend, and all receive: sending makes progress. */
static void sends_make_progress(void)
{
	enum { MOST = 1000000 };
	int sent = 0;
	prepare();
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
	conform_sync();
	do {
		LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], NULL, 0, NULL, 0, NULL, NULL,
		                    NULL));
	} while (peek(&header_calls) == 0 && ++sent < MOST);
	CHECK(sent < MOST);
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, !conform_polling));
	LAPI_OK(LAPI_Fence(hndl));
}

static const conform_case cases[] = {
	CONFORM_CASE(probe_with_nothing_to_do),
	CONFORM_CASE(probe_drives_messages),
	CONFORM_CASE(msgpoll_null_info),
	CONFORM_CASE(msgpoll_says_when_nothing_happened),
	CONFORM_CASE(msgpoll_ignores_the_librarys_messages),
	CONFORM_CASE(msgpoll_reports_send_and_receive),
	CONFORM_CASE(msgpoll_latches_completions),
	CONFORM_CASE(msgpoll_reports_put_without_counters),
	CONFORM_CASE(msgpoll_reports_active_messages),
	CONFORM_CASE(msgpoll_returns_on_progress),
	CONFORM_CASE(interrupt_serves_a_computing_task),
	CONFORM_CASE(interrupt_serves_right_after_a_call),
	CONFORM_CASE(polling_changes_nothing_without_a_call),
	CONFORM_CASE(interrupt_set_toggled_from_a_thread),
	CONFORM_CASE(sends_make_progress),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
