/*
 * recovery.c - the guide's Chapter 19: LAPI_Setcntr_wstatus, LAPI_Nopoll_wait, LAPI_Purge_totask,
 * LAPI_Resume_totask.
 *
 * Collective calls of a handle fail for good once a task was purged. So each case opens an instance
 * of its own for what it tests, and the frame's handle keeps the tasks together.
 * tests/c/host/restart.c tests the return of a killed task.
 */
#include "conform.h"

#include <errno.h>

enum { BAD_HANDLE = 0x7ffffff0 };

static lapi_handle_t own;
static lapi_cntr_t cntr, arrived;
static int status[CONFORM_MAX_TASKS];
static uint everybody[CONFORM_MAX_TASKS];
static int box, word;
static void *boxes[CONFORM_MAX_TASKS], *arrivals[CONFORM_MAX_TASKS], *cntrs[CONFORM_MAX_TASKS];

/*
 * An instance for this case, with counters that are whole structures unless lib is L1_LIB. Both
 * handles are in interrupt mode from here on: in polling mode a task that is in a call on one of
 * them would not answer for the other.
 */
static int open_own(lapi_lib_t lib)
{
	lapi_info_t info;
	int i;
	conform_fill_info(&info);
	info.lib_vers = lib;
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 1)); /* until the next case */
	if (!LAPI_OK(LAPI_Init(&own, &info)))
		return 0;
	LAPI_OK(LAPI_Senv(own, ERROR_CHK, conform_checking));
	for (i = 0; i < num_tasks; i++)
		everybody[i] = (uint)i;
	LAPI_OK(LAPI_Address_init(own, &box, boxes));
	LAPI_OK(LAPI_Address_init(own, &arrived, arrivals));
	LAPI_OK(LAPI_Address_init(own, &cntr, cntrs));
	return 1;
}

static void close_own(void)
{
	conform_sync();
	LAPI_OK(LAPI_Term(own));
}

static int next_task(void)
{
	return (task_id + 1) % num_tasks;
}

static void l1_programs_are_refused(void)
{
	unsigned char memory[64], before[64];
	int current = 77;
	if (!open_own(L1_LIB))
		return;
	memset(memory, 0x5a, sizeof memory);
	memcpy(before, memory, sizeof memory);
	memset(status, 0x5a, sizeof status);
	CHECK_CODE(LAPI_ERR_UNKNOWN,
	           LAPI_Setcntr_wstatus(own, (lapi_cntr_t *)(void *)memory, 1, everybody, status));
	CHECK_CODE(LAPI_ERR_UNKNOWN,
	           LAPI_Nopoll_wait(own, (lapi_cntr_t *)(void *)memory, 1, &current));
	CHECK(memcmp(memory, before, sizeof memory) == 0);
	CHECK_EQUAL(status[0], 0x5a5a5a5a);
	CHECK_EQUAL(current, 77);
	close_own();
}

static void recovery_argument_errors(void)
{
	int current = 77;
	uint unknown[2] = {0, (uint)num_tasks};
	if (!open_own(LAST_LIB))
		return;
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Nopoll_wait(BAD_HANDLE, &cntr, 1, &current));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID,
	           LAPI_Setcntr_wstatus(BAD_HANDLE, &cntr, 1, everybody, status));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Purge_totask(BAD_HANDLE, 0));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Resume_totask(BAD_HANDLE, 0));
	CHECK_CODE(LAPI_ERR_CNTR_NULL, LAPI_Nopoll_wait(own, NULL, 1, &current));
	CHECK_CODE(LAPI_ERR_CNTR_VAL, LAPI_Nopoll_wait(own, &cntr, 0, &current));
	CHECK_CODE(LAPI_ERR_CNTR_VAL, LAPI_Nopoll_wait(own, &cntr, -1, &current));
	CHECK_CODE(LAPI_ERR_CNTR_NULL, LAPI_Setcntr_wstatus(own, NULL, 1, everybody, status));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Setcntr_wstatus(own, &cntr, 1, everybody, NULL));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Setcntr_wstatus(own, &cntr, 2, unknown, status));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Setcntr_wstatus(own, &cntr, -1, everybody, status));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Purge_totask(own, (uint)num_tasks));
	/* a task cannot purge itself */
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Purge_totask(own, (uint)task_id));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Resume_totask(own, (uint)num_tasks));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Resume_totask(own, (uint)-1));
	LAPI_OK(LAPI_Setcntr_wstatus(own, &cntr, 0, NULL, NULL));
	CHECK_EQUAL(current, 77);
	if (num_tasks > 1)
		LAPI_OK(LAPI_Resume_totask(own, (uint)next_task())); /* not purged: nothing to do */
	close_own();
}

static void nopoll_wait_subtracts(void)
{
	int current = -1;
	if (!open_own(L2_LIB))
		return;
	LAPI_OK(LAPI_Setcntr(own, &cntr, 5));
	LAPI_OK(LAPI_Nopoll_wait(own, &cntr, 3, &current));
	CHECK_EQUAL(current, 2);
	LAPI_OK(LAPI_Nopoll_wait(own, &cntr, 2, NULL));
	LAPI_OK(LAPI_Getcntr(own, &cntr, &current));
	CHECK_EQUAL(current, 0);
	close_own();
}

static void *send_late(void *unused)
{
	int i;
	(void)unused;
	for (i = 0; i < 5; i++) {
		sleep_ms(10);
		LAPI_OK(LAPI_Put(own, (uint)next_task(), sizeof word, boxes[next_task()], &word,
		                 (lapi_cntr_t *)arrivals[next_task()], NULL, NULL));
	}
	return NULL;
}

/* Messages wake the thread; in polling mode too, where no other thread would see to them. */
static void nopoll_wait_for_messages(void)
{
	pthread_t sender;
	int i, current = -1;
	if (!open_own(LAST_LIB))
		return;
	LAPI_OK(LAPI_Setcntr_wstatus(own, &arrived, num_tasks, everybody, status));
	LAPI_OK(LAPI_Gfence(own));
	LAPI_OK(LAPI_Senv(own, INTERRUPT_SET, !conform_polling));
	CHECK(pthread_create(&sender, NULL, send_late, NULL) == 0);
	for (i = 0; i < 5; i++)
		LAPI_OK(LAPI_Nopoll_wait(own, &arrived, 1, &current));
	CHECK_EQUAL(current, 0);
	pthread_join(sender, NULL);
	LAPI_OK(LAPI_Senv(own, INTERRUPT_SET, 1));
	LAPI_OK(LAPI_Gfence(own));
	close_own();
}

static int thread_code;

static void *wait_nopoll(void *unused)
{
	int code;
	(void)unused;
	code = LAPI_Nopoll_wait(own, &cntr, 1, NULL);
	__atomic_store_n(&thread_code, code, __ATOMIC_RELEASE);
	return NULL;
}

/* Starts a thread that waits for cntr, and returns once it does: a second wait is refused then. */
static pthread_t start_waiter(void)
{
	pthread_t thread;
	int code;
	__atomic_store_n(&thread_code, -1, __ATOMIC_RELEASE);
	CHECK(pthread_create(&thread, NULL, wait_nopoll, NULL) == 0);
	for (;;) {
		code = LAPI_Waitcntr(own, &cntr, counter_value(&cntr), NULL);
		if (code == LAPI_ERR_MULTIPLE_WAITERS)
			return thread;
		CHECK_EQUAL(code, LAPI_SUCCESS);
		sched_yield();
	}
}

static void nopoll_wait_multiple_waiters(void)
{
	pthread_t thread;
	if (!open_own(L2_LIB))
		return;
	LAPI_OK(LAPI_Setcntr(own, &cntr, 0));
	thread = start_waiter();
	CHECK_CODE(LAPI_ERR_MULTIPLE_WAITERS, LAPI_Nopoll_wait(own, &cntr, 1, NULL));
	LAPI_OK(LAPI_Setcntr(own, &cntr, 1));
	pthread_join(thread, NULL);
	CHECK_EQUAL(thread_code, LAPI_SUCCESS);
	close_own();
}

/* Every message that changes the counter marks its origin or target task. */
static void status_follows_messages(void)
{
	int i;
	if (!open_own(LAST_LIB))
		return;
	LAPI_OK(LAPI_Setcntr(own, &cntr, 9));
	LAPI_OK(LAPI_Setcntr_wstatus(own, &cntr, num_tasks, everybody, status));
	CHECK_EQUAL(counter_value(&cntr), 0);
	for (i = 0; i < num_tasks; i++)
		CHECK_EQUAL(status[i], LAPI_MSG_INITIAL);
	LAPI_OK(LAPI_Gfence(own));
	LAPI_OK(LAPI_Put(own, (uint)next_task(), sizeof word, boxes[next_task()], &word, NULL, NULL,
	                 &cntr));
	LAPI_OK(LAPI_Nopoll_wait(own, &cntr, 1, NULL));
	CHECK_EQUAL(status[next_task()], LAPI_MSG_RECVD);
	for (i = 0; i < num_tasks; i++)
		CHECK_EQUAL(status[i], i == next_task() ? LAPI_MSG_RECVD : LAPI_MSG_INITIAL);
	LAPI_OK(LAPI_Gfence(own));
	for (i = 0; i < num_tasks; i++) /* target counters: each task counts the puts of all */
		LAPI_OK(LAPI_Put(own, (uint)i, sizeof word, boxes[i], &word,
		                 (lapi_cntr_t *)cntrs[i], NULL, NULL));
	LAPI_OK(LAPI_Nopoll_wait(own, &cntr, num_tasks, NULL));
	for (i = 0; i < num_tasks; i++)
		CHECK_EQUAL(status[i], LAPI_MSG_RECVD);
	LAPI_OK(LAPI_Gfence(own));
	LAPI_OK(LAPI_Setcntr(own, &cntr, 0)); /* takes the list off */
	memset(status, 0, sizeof status);
	LAPI_OK(LAPI_Get(own, (uint)next_task(), sizeof word, boxes[next_task()], &word, NULL,
	                 &cntr));
	LAPI_OK(LAPI_Waitcntr(own, &cntr, 1, NULL));
	CHECK_EQUAL(status[next_task()], LAPI_MSG_INITIAL);
	LAPI_OK(LAPI_Gfence(own));
	close_own();
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **handler, void **info)
{
	(void)uhdr, (void)uhdr_len, (void)msg_len;
	/* not from inside the dispatcher */
	CHECK_CODE(LAPI_ERR_UNKNOWN, LAPI_Purge_totask(*h, (uint)next_task()));
	*handler = NULL;
	*info = NULL;
	return NULL;
}

static void purge_from_header_handler(void)
{
	void *headers[CONFORM_MAX_TASKS];
	if (!open_own(L1_LIB))
		return;
	LAPI_OK(LAPI_Address_init(own, (void *)(uintptr_t)header, headers));
	LAPI_OK(LAPI_Setcntr(own, &cntr, 0));
	LAPI_OK(LAPI_Amsend(own, (uint)next_task(), headers[next_task()], NULL, 0, NULL, 0, NULL,
	                    NULL, &cntr));
	LAPI_OK(LAPI_Waitcntr(own, &cntr, 1, NULL));
	LAPI_OK(LAPI_Gfence(own));
	close_own();
}

/* Each task purges the next one, and every call and wait on that task ends or fails with
 * LAPI_ERR_TGT_PURGED. */
static void purge_gives_up(void)
{
	void *table[CONFORM_MAX_TASKS];
	uint next = (uint)next_task(), pair[2];
	int previous = (task_id + num_tasks - 1) % num_tasks, current = 77, one = 1;
	pthread_t thread;
	if (num_tasks < 2)
		SKIP("needs another task");
	if (!open_own(LAST_LIB))
		return;
	pair[0] = next;
	pair[1] = (uint)task_id;
	LAPI_OK(LAPI_Setcntr_wstatus(own, &cntr, 2, pair, status));
	thread = start_waiter();
	conform_sync();
	LAPI_OK(LAPI_Purge_totask(own, next));
	pthread_join(thread, NULL);
	CHECK_EQUAL(thread_code, LAPI_ERR_TGT_PURGED);
	CHECK_EQUAL(status[0], LAPI_MSG_PURGED);
	CHECK_EQUAL(status[1], LAPI_MSG_INITIAL);
	LAPI_OK(LAPI_Purge_totask(own, next));
	CHECK_CODE(LAPI_ERR_TGT_PURGED,
	           LAPI_Put(own, next, sizeof word, boxes[next], &word, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_TGT_PURGED,
	           LAPI_Get(own, next, sizeof word, boxes[next], &word, NULL, NULL));
	CHECK_CODE(LAPI_ERR_TGT_PURGED,
	           LAPI_Amsend(own, next, boxes[next], NULL, 0, NULL, 0, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_TGT_PURGED,
	           LAPI_Rmw(own, FETCH_AND_ADD, next, (int *)boxes[next], &one, NULL, NULL));
	CHECK_CODE(LAPI_ERR_TGT_PURGED, LAPI_Gfence(own));
	CHECK_CODE(LAPI_ERR_TGT_PURGED, LAPI_Address_init(own, &box, table));
	LAPI_OK(LAPI_Fence(own));
	/* The purge was reported once: the thread may go on waiting for the others. */
	LAPI_OK(LAPI_Put(own, (uint)task_id, sizeof word, &box, &word, NULL, NULL, &cntr));
	LAPI_OK(LAPI_Nopoll_wait(own, &cntr, 1, &current));
	CHECK_EQUAL(current, 0);
	CHECK_EQUAL(status[1], LAPI_MSG_RECVD);
	LAPI_OK(LAPI_Setcntr_wstatus(own, &cntr, 2, pair, status));
	CHECK_EQUAL(status[0], LAPI_MSG_INVALID);
	CHECK_EQUAL(status[1], LAPI_MSG_INITIAL);
	/* It was purged before the list was made: reported once as well. */
	CHECK_CODE(LAPI_ERR_TGT_PURGED, LAPI_Nopoll_wait(own, &cntr, 1, &current));
	/* A counter without a list: every purge ends the wait. */
	if (previous != (int)next) {
		LAPI_OK(LAPI_Setcntr_wstatus(own, &cntr, 0, NULL, NULL));
		thread = start_waiter();
		LAPI_OK(LAPI_Purge_totask(own, (uint)previous));
		pthread_join(thread, NULL);
		CHECK_EQUAL(thread_code, LAPI_ERR_TGT_PURGED);
	}
	close_own();
}

/* All tasks purge and resume each other: no earlier message arrives, every later one does. */
static void purge_and_resume(void)
{
	static char before[70000], sink[70000];
	void *sinks[CONFORM_MAX_TASKS];
	int i, round, one = 1, previous, lost;
	if (num_tasks < 2)
		SKIP("needs another task");
	if (!open_own(LAST_LIB))
		return;
	LAPI_OK(LAPI_Address_init(own, sink, sinks));
	for (round = 0; round < 5; round++) {
		conform_sync();
		LAPI_OK(LAPI_Setcntr(own, &arrived, 0));
		for (i = 0; i < 20; i++) /* perhaps they arrive, perhaps not */
			LAPI_OK(LAPI_Put(own, (uint)next_task(), sizeof before, sinks[next_task()],
			                 before, NULL, NULL, &arrived));
		for (i = 0; i < num_tasks; i++)
			if (i != task_id)
				LAPI_OK(LAPI_Purge_totask(own, (uint)i));
		lost = counter_value(&arrived);
		conform_sync();
		CHECK_EQUAL(counter_value(&arrived), lost);
		box = 0;
		LAPI_OK(LAPI_Setcntr_wstatus(own, &cntr, 0, NULL, NULL));
		for (i = 0; i < num_tasks; i++)
			if (i != task_id)
				LAPI_OK(LAPI_Resume_totask(own, (uint)i));
		conform_sync();
		for (i = 0; i < num_tasks; i++) {
			LAPI_OK(LAPI_Put(own, (uint)i, sizeof before, sinks[i], before, NULL, NULL,
			                 &cntr));
			LAPI_OK(LAPI_Rmw(own, FETCH_AND_ADD, (uint)i, (int *)boxes[i], &one,
			                 &previous, &cntr));
		}
		LAPI_OK(LAPI_Waitcntr(own, &cntr, 2 * num_tasks, NULL));
		LAPI_OK(LAPI_Fence(own));
		conform_sync();
		CHECK_EQUAL(peek(&box), num_tasks);
		CHECK_EQUAL(counter_value(&arrived), lost);
	}
	close_own();
}

int main(int argc, char **argv)
{
	static const conform_case cases[] = {
		CONFORM_CASE(l1_programs_are_refused),
		CONFORM_CASE(recovery_argument_errors),
		CONFORM_CASE(nopoll_wait_subtracts),
		CONFORM_CASE(nopoll_wait_for_messages),
		CONFORM_CASE(nopoll_wait_multiple_waiters),
		CONFORM_CASE(status_follows_messages),
		CONFORM_CASE(purge_from_header_handler),
		CONFORM_CASE(purge_gives_up),
		CONFORM_CASE(purge_and_resume),
	};
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
