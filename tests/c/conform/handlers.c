/*
 * handlers.c - the requests of header handlers (lapi_return_info_t): inline and queued completion
 * handlers, messages buried, dropped or consumed from the packet; and calls in completion handlers.
 */
#include "conform.h"

#include <time.h>

#define BUFFER_BYTES 300000

static unsigned char source[BUFFER_BYTES] __attribute__((aligned(64)));
static unsigned char sink[BUFFER_BYTES] __attribute__((aligned(64)));
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *tgt_cntrs[CONFORM_MAX_TASKS], *handlers[CONFORM_MAX_TASKS];
static int next, previous;

/* Counts of the handlers below; the header handlers run under the library's lock, the others use
 * atomics. */
static int header_calls, completions, one_packet_missing, one_packet_wrong, inline_elsewhere,
	uhdr_lost;

#define PARAMETERS                                                                                \
	lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **completion, \
		void **user_info
#define UNUSED_PARAMETERS \
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)user_info

static lapi_return_info_t *returned(ulong *msg_len)
{
	return (lapi_return_info_t *)(void *)msg_len;
}

static void prepare(hdr_hndlr_t *handler)
{
	next = (task_id + 1) % num_tasks;
	previous = (task_id + num_tasks - 1) % num_tasks;
	header_calls = completions = one_packet_missing = one_packet_wrong = inline_elsewhere =
		uhdr_lost = 0;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(&tgt_cntr, tgt_cntrs);
	exchange((void *)(uintptr_t)handler, handlers);
}

static void am_to(int target, const void *uhdr, uint uhdr_len, const void *udata, size_t n)
{
	LAPI_OK(LAPI_Amsend(hndl, (uint)target, handlers[target], (void *)uhdr, uhdr_len,
	                    (void *)udata, n, (lapi_cntr_t *)tgt_cntrs[target], &org_cntr,
	                    &cmpl_cntr));
}

static void wait_all_counters(int n)
{
	counter_wait(&tgt_cntr, n);
	counter_wait(&cmpl_cntr, n);
	counter_wait(&org_cntr, n);
}

/* ---- the data of small messages in the header handler ---- */

static void *consume_from_packet(PARAMETERS)
{
	lapi_return_info_t *info = returned(msg_len);
	unsigned seed = ((unsigned *)uhdr)[0];
	UNUSED_PARAMETERS;
	header_calls++;
	if (info->msg_len == 0)
		return NULL;
	if (info->udata_one_pkt_ptr == NULL)
		one_packet_missing++;
	else {
		one_packet_wrong |= !same_pattern(info->udata_one_pkt_ptr, info->msg_len, seed);
		/* ours to write, as the packet is */
		memset(info->udata_one_pkt_ptr, 0, info->msg_len);
	}
	return NULL; /* consumed */
}

static void one_packet_to(int target)
{
	static const size_t lengths[] = {0,   1,   3,   8,   31,  32,  33,  63,  64, 65,
	                                 100, 127, 128, 129, 200, 256, 300, 400, 512};
	unsigned uhdr[2] = {0, 0};
	size_t i, count = sizeof lengths / sizeof lengths[0];
	for (i = 0; i < count; i++) {
		uhdr[0] = (unsigned)i + 40;
		fill_pattern(source, lengths[i], uhdr[0]);
		am_to(target, uhdr, sizeof uhdr, source, lengths[i]);
		counter_wait(&cmpl_cntr, 1);
		/* even to oneself the packet is a copy */
		CHECK(same_pattern(source, lengths[i], uhdr[0]));
	}
	counter_wait(&tgt_cntr, (int)count);
	counter_wait(&org_cntr, (int)count);
	CHECK_EQUAL(header_calls, (int)count);
	CHECK_EQUAL(one_packet_missing, 0);
	CHECK(!one_packet_wrong);
}

/* Small messages always come with their data, whatever the path; programs assert it. */
static void one_packet_pointer_for_small_messages(void)
{
	prepare(consume_from_packet);
	one_packet_to(next);
}

static void one_packet_pointer_to_self(void)
{
	prepare(consume_from_packet);
	one_packet_to(task_id);
}

static void *note_one_packet(PARAMETERS)
{
	UNUSED_PARAMETERS;
	header_calls++;
	if (returned(msg_len)->udata_one_pkt_ptr == NULL)
		one_packet_missing++;
	return sink; /* data given in the packet is still delivered where a handler asks for it */
}

static void one_packet_pointer_and_a_buffer(void)
{
	static const size_t lengths[] = {1, 64, 200, 500};
	size_t i;
	prepare(note_one_packet);
	for (i = 0; i < 4; i++) {
		memset(sink, 0, 600);
		conform_sync();
		fill_pattern(source, lengths[i], (unsigned)(task_id + 5));
		am_to(next, NULL, 0, source, lengths[i]);
		wait_all_counters(1);
		CHECK(same_pattern(sink, lengths[i], (unsigned)(previous + 5)));
		conform_sync();
	}
	CHECK_EQUAL(one_packet_missing, 0);
}

/* A message of many packets has no such pointer: its handler runs when the first part is here. */
static void one_packet_pointer_absent_for_large(void)
{
	prepare(note_one_packet);
	fill_pattern(source, BUFFER_BYTES, 2);
	am_to(next, NULL, 0, source, BUFFER_BYTES);
	wait_all_counters(1);
	CHECK_EQUAL(header_calls, 1);
	CHECK_EQUAL(one_packet_missing, 1);
	CHECK(same_pattern(sink, BUFFER_BYTES, 2));
}

/* ---- messages without a buffer ---- */

static int bury_flags;

static void *bury(PARAMETERS)
{
	UNUSED_PARAMETERS;
	header_calls++;
	returned(msg_len)->ctl_flags = LAPI_BURY_MSG;
	return bury_flags ? sink : NULL;
}

/* Buried: the origin sees no difference, nothing is copied, the counters change. */
static void bury_message(void)
{
	static const size_t lengths[] = {0, 8, 100, 5000, BUFFER_BYTES};
	size_t i, k;
	prepare(bury);
	memset(sink, 0, sizeof sink);
	for (bury_flags = 0; bury_flags <= 1; bury_flags++)
		for (i = 0; i < 5; i++) {
			fill_pattern(source, lengths[i], 3);
			am_to(next, "to bury", 8, source, lengths[i]);
			wait_all_counters(1);
			conform_sync();
		}
	CHECK_EQUAL(header_calls, 10);
	for (k = 0; k < sizeof sink; k++)
		if (!CHECK(sink[k] == 0))
			break;
}

static void *refuse_buffer(PARAMETERS)
{
	UNUSED_PARAMETERS;
	header_calls++;
	return NULL;
}

/* NULL and no completion handler: consumed, whatever the length. */
static void null_return_consumes(void)
{
	static const size_t lengths[] = {0, 1, 500, 70000, BUFFER_BYTES};
	size_t i;
	prepare(refuse_buffer);
	for (i = 0; i < 5; i++) {
		am_to(next, NULL, 0, source, lengths[i]);
		wait_all_counters(1);
	}
	conform_sync();
	CHECK_EQUAL(header_calls, 5);
}

static void count_completion(lapi_handle_t *h, void *user_info)
{
	CHECK(*h == hndl);
	CHECK(user_info == (void *)&completions);
	__atomic_add_fetch(&completions, 1, __ATOMIC_ACQ_REL);
}

static void *bury_and_complete(PARAMETERS)
{
	UNUSED_PARAMETERS;
	header_calls++;
	returned(msg_len)->ctl_flags = LAPI_BURY_MSG;
	*completion = count_completion;
	*user_info = &completions;
	return NULL;
}

static void bury_with_completion_handler(void)
{
	int i;
	prepare(bury_and_complete);
	for (i = 0; i < 20; i++)
		am_to(next, NULL, 0, source, (size_t)i * 1000);
	wait_all_counters(20);
	CHECK_EQUAL(peek(&completions), 20);
}

/* ---- LAPI_DROP_PKT ---- */

enum { DROPS = 3 };
static int drops, passed_meanwhile, dropped_seed_wrong, accepted;
/* if nothing passes the message that is dropped, it is taken all the same, and the case fails */
static time_t patience_until;

/* Drops a message several times, and until another message has passed it: the library decides how
 * often it is offered meanwhile. */
static void *drop_some_times(PARAMETERS)
{
	unsigned kind = *(unsigned *)uhdr;
	UNUSED_PARAMETERS;
	if (kind == 0) {
		passed_meanwhile += !accepted;
		return NULL;
	}
	dropped_seed_wrong |= *uhdr_len != 8 || *msg_len != 200;
	*(unsigned *)uhdr = 0; /* the next offer must bring the original again */
	if (drops < DROPS || (passed_meanwhile == 0 && time(NULL) < patience_until)) {
		drops++;
		returned(msg_len)->ctl_flags = LAPI_DROP_PKT;
		return NULL;
	}
	accepted++;
	return sink;
}

static lapi_long_t retransmissions(void)
{
	static const lapi_query_t kinds[] = {QUERY_STATISTICS, QUERY_SHM_STATISTICS,
	                                     QUERY_LOCAL_SEND_STATISTICS};
	lapi_long_t total = 0;
	int i;
	for (i = 0; i < 3; i++) {
		lapi_statistics_t s;
		LAPI_OK(LAPI_Qenv(hndl, kinds[i], (int *)(void *)&s));
		total += s.Tot_retrans_pkt_cnt;
	}
	return total;
}

static void drop_between(int target, int origin)
{
	unsigned dropped[2] = {1, 0}, other[2] = {0, 0};
	lapi_long_t before = retransmissions();
	int i;
	drops = passed_meanwhile = dropped_seed_wrong = accepted = 0;
	patience_until = time(NULL) + 60;
	memset(sink, 0, 400);
	conform_sync();
	fill_pattern(source, 200, (unsigned)task_id);
	am_to(target, dropped, sizeof dropped, source, 200);
	for (i = 0; i < 20; i++)
		am_to(target, other, sizeof other, NULL, 0);
	wait_all_counters(21);
	CHECK_EQUAL(accepted, 1);
	CHECK_EQUAL(passed_meanwhile > 0, 1); /* others are not held up */
	CHECK(!dropped_seed_wrong);
	CHECK(same_pattern(sink, 200, (unsigned)origin));
	conform_sync();
	/* Counted by the origin where it sends again, by the target where a message is offered
	 * again. */
	CHECK(sum_over_tasks((int)(retransmissions() - before)) >= (long long)drops);
	conform_sync();
}

static void drop_packet_is_offered_again(void)
{
	prepare(drop_some_times);
	drop_between(next, previous);
}

static void drop_packet_to_self(void)
{
	prepare(drop_some_times);
	drop_between(task_id, task_id);
}

/* ---- inline completion handlers ---- */

static pthread_t header_thread;
static void *uhdr_of_inline;
static int inline_flags;

static void inline_completion(lapi_handle_t *h, void *user_info)
{
	CHECK(*h == hndl);
	inline_elsewhere |= !pthread_equal(pthread_self(), header_thread);
	/* The user header stays valid for an inline completion handler that follows at once. */
	uhdr_lost |= user_info != uhdr_of_inline || !same_pattern(user_info, 32, 12);
	completions++;
}

static void *ask_for_inline(PARAMETERS)
{
	UNUSED_PARAMETERS;
	header_calls++;
	header_thread = pthread_self();
	uhdr_of_inline = uhdr;
	returned(msg_len)->ret_flags = inline_flags;
	*completion = inline_completion;
	*user_info = uhdr;
	return *msg_len ? sink : NULL;
}

static void inline_with(int flags, size_t n)
{
	unsigned char uhdr[32];
	int i;
	prepare(ask_for_inline);
	inline_flags = flags;
	fill_pattern(uhdr, sizeof uhdr, 12);
	fill_pattern(source, n, 8);
	conform_sync();
	for (i = 0; i < 40; i++)
		am_to(i % 2 ? next : task_id, uhdr, sizeof uhdr, source, n);
	wait_all_counters(40);
	CHECK_EQUAL(completions, 40);
	CHECK(!inline_elsewhere);
	CHECK(!uhdr_lost);
	CHECK(same_pattern(sink, n, 8));
	conform_sync();
}

static void inline_local_state(void)
{
	inline_with(LAPI_LOCAL_STATE, 0);
	inline_with(LAPI_LOCAL_STATE, 200);
}

static void inline_send_reply(void)
{
	inline_with(LAPI_SEND_REPLY, 0);
	inline_with(LAPI_SEND_REPLY, 200);
}

/* An inline handler that asked with LAPI_SEND_REPLY answers the message. */
static int replies;

static void *take_reply(PARAMETERS)
{
	UNUSED_PARAMETERS;
	__atomic_add_fetch(&replies, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static void *reply_handlers[CONFORM_MAX_TASKS];

static void reply_to_origin(lapi_handle_t *h, void *user_info)
{
	int src = (int)(intptr_t)user_info;
	LAPI_OK(LAPI_Amsend(*h, (uint)src, reply_handlers[src], NULL, 0, NULL, 0, NULL, NULL,
	                    NULL));
}

static void *ask_for_reply(PARAMETERS)
{
	UNUSED_PARAMETERS;
	returned(msg_len)->ret_flags = LAPI_SEND_REPLY;
	*completion = reply_to_origin;
	*user_info = (void *)(intptr_t)returned(msg_len)->src;
	return *msg_len ? sink : NULL;
}

static void inline_handler_sends_reply(void)
{
	int i;
	prepare(ask_for_reply);
	replies = 0;
	exchange((void *)(uintptr_t)take_reply, reply_handlers);
	conform_sync(); /* everybody has the table that its handlers use */
	for (i = 0; i < 300; i++)
		am_to((task_id + i) % num_tasks, NULL, 0, source, (size_t)(i % 7) * 40);
	wait_all_counters(300);
	POLL_UNTIL(peek(&replies) >= 300);
	conform_sync();
	CHECK_EQUAL(peek(&replies), 300);
}

/* ---- handlers that do real work ---- */

static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static int stop_worker;
static long work_total;

static void *hold_work_lock(void *unused)
{
	while (!peek(&stop_worker)) {
		pthread_mutex_lock(&work_lock);
		sched_yield();
		pthread_mutex_unlock(&work_lock);
	}
	return unused;
}

static void *work_in_handler(PARAMETERS)
{
	lapi_return_info_t *info = returned(msg_len);
	const unsigned char *data = (const unsigned char *)info->udata_one_pkt_ptr;
	unsigned char *copy = (unsigned char *)malloc(info->msg_len);
	ulong i;
	UNUSED_PARAMETERS;
	if (CHECK(data && copy)) {
		memcpy(copy, data, info->msg_len);
		pthread_mutex_lock(&work_lock);
		for (i = 0; i < info->msg_len; i++)
			work_total += copy[i];
		pthread_mutex_unlock(&work_lock);
	}
	free(copy);
	return NULL;
}

/* malloc, arithmetic, a mutex that other threads hold for short times. */
static void header_handler_does_real_work(void)
{
	pthread_t worker;
	int i;
	prepare(work_in_handler);
	stop_worker = 0;
	work_total = 0;
	CHECK_EQUAL(pthread_create(&worker, NULL, hold_work_lock, NULL), 0);
	memset(source, 2, 100);
	conform_sync();
	for (i = 0; i < 500; i++)
		am_to(next, NULL, 0, source, 100);
	wait_all_counters(500);
	__atomic_store_n(&stop_worker, 1, __ATOMIC_RELEASE);
	pthread_join(worker, NULL);
	CHECK_EQUAL(work_total, 100000);
}

static const conform_case cases[] = {
	CONFORM_CASE(one_packet_pointer_for_small_messages),
	CONFORM_CASE(one_packet_pointer_to_self),
	CONFORM_CASE(one_packet_pointer_and_a_buffer),
	CONFORM_CASE(one_packet_pointer_absent_for_large),
	CONFORM_CASE(bury_message),
	CONFORM_CASE(null_return_consumes),
	CONFORM_CASE(bury_with_completion_handler),
	CONFORM_CASE(drop_packet_is_offered_again),
	CONFORM_CASE(drop_packet_to_self),
	CONFORM_CASE(inline_local_state),
	CONFORM_CASE(inline_send_reply),
	CONFORM_CASE(inline_handler_sends_reply),
	CONFORM_CASE(header_handler_does_real_work),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
