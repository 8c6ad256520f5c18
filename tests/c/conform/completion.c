/*
 * completion.c - queued completion handlers: where they run, what they may do, and when the
 * counters change.
 */
#include "conform.h"

#define BUFFER_BYTES 100000

static unsigned char source[BUFFER_BYTES] __attribute__((aligned(64)));
static unsigned char sink[BUFFER_BYTES] __attribute__((aligned(64)));
static unsigned char fetched[BUFFER_BYTES] __attribute__((aligned(64)));
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr, fetch_cntr;
static void *tgt_cntrs[CONFORM_MAX_TASKS], *handlers[CONFORM_MAX_TASKS],
	*sources[CONFORM_MAX_TASKS];
static int next, previous, completions;

#define PARAMETERS                                                                                \
	lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **completion, \
		void **user_info
#define UNUSED_PARAMETERS \
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)user_info

static void prepare(hdr_hndlr_t *handler)
{
	next = (task_id + 1) % num_tasks;
	previous = (task_id + num_tasks - 1) % num_tasks;
	completions = 0;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	counter_zero(&fetch_cntr);
	exchange(&tgt_cntr, tgt_cntrs);
	exchange(source, sources);
	exchange((void *)(uintptr_t)handler, handlers);
}

static void am_to(int target, const void *uhdr, uint uhdr_len, const void *udata, size_t n)
{
	LAPI_OK(LAPI_Amsend(hndl, (uint)target, handlers[target], (void *)uhdr, uhdr_len,
	                    (void *)udata, n, (lapi_cntr_t *)tgt_cntrs[target], &org_cntr,
	                    &cmpl_cntr));
}

/* ---- what it is given ---- */

typedef struct note {
	int index, length;
} note;
static note notes[64];
static int notes_seen[64];
static pthread_t main_thread;
static int ran_in_main_thread, data_late;

static void note_completion(lapi_handle_t *h, void *user_info)
{
	note *n = (note *)user_info;
	CHECK(*h == hndl);
	if (pthread_equal(pthread_self(), main_thread))
		__atomic_store_n(&ran_in_main_thread, 1, __ATOMIC_RELEASE);
	if (!same_pattern(sink + n->index * 1000, (size_t)n->length, (unsigned)n->index))
		__atomic_store_n(&data_late, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&notes_seen[n->index], 1, __ATOMIC_ACQ_REL);
}

static void *ask_for_note(PARAMETERS)
{
	int index = *(int *)uhdr;
	UNUSED_PARAMETERS;
	notes[index].index = index;
	notes[index].length = (int)*msg_len;
	*completion = note_completion;
	*user_info = &notes[index];
	return sink + index * 1000;
}

/* Once a message, with the parameter that the header handler named, in a thread of the library,
 * after all data. */
static void completion_handler_runs_once_with_its_parameter(void)
{
	int i, uhdr[64][2];
	prepare(ask_for_note);
	main_thread = pthread_self();
	ran_in_main_thread = data_late = 0;
	memset(notes_seen, 0, sizeof notes_seen);
	conform_sync();
	for (i = 0; i < 64; i++) {
		uhdr[i][0] = i;
		fill_pattern(source + i * 1000, (size_t)i * 15, (unsigned)i);
		am_to(next, uhdr[i], sizeof uhdr[i], source + i * 1000, (size_t)i * 15);
	}
	counter_wait(&tgt_cntr, 64);
	for (i = 0; i < 64; i++)
		CHECK_EQUAL(peek(&notes_seen[i]), 1);
	CHECK(!peek(&ran_in_main_thread));
	CHECK(!peek(&data_late));
	counter_wait(&cmpl_cntr, 64);
	counter_wait(&org_cntr, 64);
	conform_sync();
}

/* ---- counters ---- */

static int slow_done;

static void slow_completion(lapi_handle_t *h, void *user_info)
{
	(void)h, (void)user_info;
	sleep_ms(60);
	__atomic_add_fetch(&slow_done, 1, __ATOMIC_ACQ_REL);
}

static void *ask_for_slow(PARAMETERS)
{
	UNUSED_PARAMETERS;
	*completion = slow_completion;
	return *msg_len ? sink : NULL;
}

/* Target and completion counter change after the completion handler has returned, the origin
 * counter need not. */
static void counters_change_after_completion_handler(void)
{
	static const size_t lengths[] = {0, 64, 50000};
	void *words[CONFORM_MAX_TASKS];
	int i, seen, before;
	prepare(ask_for_slow);
	slow_done = 0;
	exchange(&slow_done, words);
	for (i = 0; i < 3; i++) {
		conform_sync();
		before = i;
		am_to(next, NULL, 0, source, lengths[i]);
		counter_wait(&org_cntr, 1);
		counter_wait(&cmpl_cntr, 1);
		LAPI_OK(LAPI_Get(hndl, (uint)next, sizeof seen, words[next], &seen, NULL,
		                 &fetch_cntr));
		counter_wait(&fetch_cntr, 1);
		CHECK(seen >= before + 1);
		counter_wait(&tgt_cntr, 1);
		CHECK(peek(&slow_done) >= before + 1);
	}
	conform_sync();
	CHECK_EQUAL(peek(&slow_done), 3);
}

/* ---- one at a time ---- */

static int inside, overlapped;

static void exclusive_completion(lapi_handle_t *h, void *user_info)
{
	(void)h, (void)user_info;
	if (__atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL) > 1)
		__atomic_store_n(&overlapped, 1, __ATOMIC_RELEASE);
	sleep_ms(2);
	__atomic_sub_fetch(&inside, 1, __ATOMIC_ACQ_REL);
}

static void *ask_for_exclusive(PARAMETERS)
{
	UNUSED_PARAMETERS;
	*completion = exclusive_completion;
	return NULL;
}

static void completion_handlers_one_at_a_time_by_default(void)
{
	int i;
	prepare(ask_for_exclusive);
	overlapped = 0;
	conform_sync();
	for (i = 0; i < 30; i++)
		am_to((task_id + i) % num_tasks, NULL, 0, NULL, 0);
	counter_wait(&cmpl_cntr, 30);
	counter_wait(&tgt_cntr, 30);
	CHECK(!peek(&overlapped));
	conform_sync();
}

/* ---- blocking calls inside ---- */

static void fetch_from_origin(lapi_handle_t *h, void *user_info)
{
	int src = (int)(intptr_t)user_info;
	lapi_cntr_t here;
	memset(&here, 0, sizeof here);
	LAPI_OK(LAPI_Setcntr(*h, &here, 0));
	memset(fetched, 0, 60000);
	LAPI_OK(LAPI_Get(*h, (uint)src, 60000, sources[src], fetched, NULL, &here));
	LAPI_OK(LAPI_Waitcntr(*h, &here, 1, NULL));
	CHECK(same_pattern(fetched, 60000, (unsigned)src));
	/* and tell the origin, waiting until it has arrived there */
	LAPI_OK(LAPI_Put(*h, (uint)src, 0, NULL, NULL, (lapi_cntr_t *)tgt_cntrs[src], NULL, &here));
	LAPI_OK(LAPI_Waitcntr(*h, &here, 1, NULL));
	__atomic_add_fetch(&completions, 1, __ATOMIC_ACQ_REL);
}

static void *ask_to_fetch(PARAMETERS)
{
	UNUSED_PARAMETERS;
	*completion = fetch_from_origin;
	*user_info = (void *)(intptr_t)((lapi_return_info_t *)(void *)msg_len)->src;
	return NULL;
}

/* While this task's main thread sits in Waitcntr, its completion handlers call back to the origin
 * and wait too. */
static void completion_handler_gets_and_puts_blocking(void)
{
	int i;
	prepare(ask_to_fetch);
	fill_pattern(source, 60000, (unsigned)task_id);
	conform_sync();
	for (i = 0; i < 20; i++)
		am_to((task_id + i) % num_tasks, NULL, 0, NULL, 0);
	counter_wait(&cmpl_cntr, 20);
	counter_wait(&tgt_cntr, 40); /* 20 messages received, 20 answers */
	CHECK_EQUAL(peek(&completions), 20);
	conform_sync();
}

static void *discard(PARAMETERS)
{
	UNUSED_PARAMETERS;
	return *msg_len ? sink : NULL;
}

static void *discard_handlers[CONFORM_MAX_TASKS];

static void send_and_probe(lapi_handle_t *h, void *user_info)
{
	int src = (int)(intptr_t)user_info, value = 0;
	lapi_cntr_t here;
	memset(&here, 0, sizeof here);
	LAPI_OK(LAPI_Setcntr(*h, &here, 0));
	LAPI_OK(LAPI_Amsend(*h, (uint)src, discard_handlers[src], "by hand", 8, source, 3000, NULL,
	                    NULL, &here));
	LAPI_OK(LAPI_Waitcntr(*h, &here, 1, NULL));
	LAPI_OK(LAPI_Amsend(*h, (uint)src, discard_handlers[src], NULL, 0, source, 10, NULL, NULL,
	                    &here));
	while (value < 1) {
		LAPI_OK(LAPI_Probe(*h));
		LAPI_OK(LAPI_Getcntr(*h, &here, &value));
		sched_yield();
	}
	__atomic_add_fetch(&completions, 1, __ATOMIC_ACQ_REL);
}

static void *ask_to_send(PARAMETERS)
{
	UNUSED_PARAMETERS;
	*completion = send_and_probe;
	*user_info = (void *)(intptr_t)((lapi_return_info_t *)(void *)msg_len)->src;
	return NULL;
}

/* Amsend and Waitcntr, then a loop of Probe and Getcntr, inside completion handlers; the main
 * thread sits in a Gfence. */
static void completion_handler_sends_and_probes(void)
{
	int i;
	prepare(ask_to_send);
	exchange((void *)(uintptr_t)discard, discard_handlers);
	conform_sync(); /* everybody has the table that its handlers use */
	for (i = 0; i < 20; i++)
		am_to(next, NULL, 0, NULL, 0);
	conform_sync();
	conform_sync();
	counter_wait(&tgt_cntr, 20);
	CHECK_EQUAL(peek(&completions), 20);
	counter_wait(&cmpl_cntr, 20);
	conform_sync();
}

static void rmw_and_fence(lapi_handle_t *h, void *user_info)
{
	int one = 1, *word = (int *)user_info;
	LAPI_OK(LAPI_Rmw(*h, FETCH_AND_ADD, 0, word, &one, NULL, NULL));
	LAPI_OK(LAPI_Fence(*h));
	__atomic_add_fetch(&completions, 1, __ATOMIC_ACQ_REL);
}

static void *words[CONFORM_MAX_TASKS];

static void *ask_for_rmw(PARAMETERS)
{
	UNUSED_PARAMETERS;
	*completion = rmw_and_fence;
	*user_info = words[0];
	return NULL;
}

static void completion_handler_fences(void)
{
	static int word;
	int i;
	word = 0;
	prepare(ask_for_rmw);
	exchange(&word, words);
	conform_sync(); /* everybody has the table that its handlers use */
	for (i = 0; i < 20; i++)
		am_to(next, NULL, 0, NULL, 0);
	counter_wait(&cmpl_cntr, 20);
	counter_wait(&tgt_cntr, 20);
	conform_sync();
	if (task_id == 0)
		CHECK_EQUAL(word, 20 * num_tasks);
}

/* ---- fences do not wait for handlers ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(lapi_handle_t *h, void *user_info)
{
	(void)h, (void)user_info;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	__atomic_add_fetch(&completions, 1, __ATOMIC_ACQ_REL);
}

static void *ask_for_gate(PARAMETERS)
{
	UNUSED_PARAMETERS;
	*completion = wait_at_gate;
	return NULL;
}

static void fences_do_not_wait_for_completion_handlers(void)
{
	prepare(ask_for_gate);
	pthread_mutex_lock(&gate);
	conform_sync();
	am_to(next, NULL, 0, NULL, 0);
	LAPI_OK(LAPI_Fence(hndl));
	conform_sync();
	CHECK_EQUAL(peek(&completions), 0);
	CHECK_EQUAL(counter_value(&tgt_cntr), 0);
	conform_sync();
	pthread_mutex_unlock(&gate);
	counter_wait(&tgt_cntr, 1);
	CHECK_EQUAL(peek(&completions), 1);
	counter_wait(&cmpl_cntr, 1);
}

static const conform_case cases[] = {
	CONFORM_CASE(completion_handler_runs_once_with_its_parameter),
	CONFORM_CASE(counters_change_after_completion_handler),
	CONFORM_CASE(completion_handlers_one_at_a_time_by_default),
	CONFORM_CASE(completion_handler_gets_and_puts_blocking),
	CONFORM_CASE(completion_handler_sends_and_probes),
	CONFORM_CASE(completion_handler_fences),
	CONFORM_CASE(fences_do_not_wait_for_completion_handlers),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
