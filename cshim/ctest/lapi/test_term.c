/* test_term.c - LAPI_Term from every thread and at every moment; handles of ended contexts; many
 * contexts. */
#include "ctest/fake.h"

#include <string.h>

enum { USERS = 4, ROUNDS = 60 };

static lapi_handle_t handle;

static void test_many(void)
{
	lapi_handle_t handles[CSHIM_MAX_CONTEXTS], more;
	lapi_info_t info;
	int i, j;

	memset(&info, 0, sizeof(info));
	for (i = 0; i < CSHIM_MAX_CONTEXTS; i++) {
		handles[i] = fake_init(NULL);
		for (j = 0; j < i; j++)
			CHECK(handles[i] != handles[j]);
	}
	CHECK(LAPI_Init(&more, &info) == LAPI_ERR_ALL_HNDL_IN_USE);
	CHECK(LAPI_Term(handles[5]) == LAPI_SUCCESS);
	CHECK(LAPI_Term(handles[5]) == LAPI_ERR_HNDL_INVALID);
	more = fake_init(NULL);
	CHECK(more != handles[5] && LAPI_Probe(handles[5]) == LAPI_ERR_HNDL_INVALID);
	handles[5] = more;
	for (i = 0; i < CSHIM_MAX_CONTEXTS; i++)
		CHECK(LAPI_Term(handles[i]) == LAPI_SUCCESS);
}

static void *wait_for_ever(void *counter)
{
	CHECK(LAPI_Waitcntr(handle, counter, 1, NULL) == LAPI_ERR_HNDL_INVALID);
	return NULL;
}

/* Threads asleep in the context, one of them the poller, find it ended. */
static void test_waiters(int polling)
{
	lapi_cntr_t counters[3];
	pthread_t threads[3];
	int i;

	memset(counters, 0, sizeof(counters));
	fake_settings.polling = polling;
	handle = fake_init(NULL);
	for (i = 0; i < 3; i++)
		threads[i] = fake_thread(wait_for_ever, &counters[i]);
	fake_await(&(fake_context(handle))->progress.followers, 2);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	fake_settings.polling = 0;
}

static uint32_t ended; /* atomic */

static void end_in_completion(lapi_handle_t *hndl, void *argument)
{
	(void)argument;
	CHECK(LAPI_Term(*hndl) == LAPI_SUCCESS);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
}

static void queue_end(int context, void *argument)
{
	(void)argument;
	fake_queue_completion(context, end_in_completion, NULL);
}

static void end_in_error(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *task, int *src)
{
	(void)code, (void)type, (void)task, (void)src;
	CHECK(LAPI_Term(*hndl) == LAPI_SUCCESS);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
}

static void fail(int context, void *argument)
{
	(void)argument;
	fake_queue_error(context, end_in_error, LAPI_ERR_TIMEOUT);
}

/* From the error handler in a thread that only sends, and makes a progress call now and then. */
static void test_sender(lapi_info_t *info)
{
	char byte = 0;
	int i, rc = LAPI_SUCCESS;

	handle = fake_init(info);
	fake_arrive(fake_context(handle), fail, NULL);
	for (i = 0; rc == LAPI_SUCCESS && i < 1000; i++)
		rc = LAPI_Put(handle, 0, 1, &byte, &byte, NULL, NULL, NULL);
	CHECK(rc == LAPI_ERR_HNDL_INVALID);
	CHECK(__atomic_load_n(&ended, __ATOMIC_SEQ_CST) == 4);
}

/* From a completion handler, from the error handler in the service thread, from it in a waiting
 * user thread with the lock held, from it in a call that sends. */
static void test_own_threads(int detached)
{
	lapi_info_t info;
	pthread_attr_t attributes;
	com_thread_info_t threads = {&attributes, NULL, NULL, NULL};
	lapi_cntr_t counter = {0};

	memset(&info, 0, sizeof(info));
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes,
	                            detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
	info.lapi_thread_attr = &threads;
	info.num_compl_hndlr_thr = 2;
	__atomic_store_n(&ended, 0, __ATOMIC_SEQ_CST);
	handle = fake_init(&info);
	fake_arrive(fake_context(handle), queue_end, NULL);
	fake_await(&ended, 1);
	CHECK(LAPI_Probe(handle) == LAPI_ERR_HNDL_INVALID);
	handle = fake_init(&info);
	fake_arrive(fake_context(handle), fail, NULL);
	fake_await(&ended, 2);
	fake_settings.polling = 1;
	handle = fake_init(&info);
	cshim_lock(&fake_context(handle)->progress);
	fake_arrive(fake_context(handle), fail, NULL);
	CHECK(LAPI_Waitcntr(handle, &counter, 1, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(__atomic_load_n(&ended, __ATOMIC_SEQ_CST) == 3);
	/* The user's level of the ended context's lock is the user's to give up. */
	cshim_unlock(&fake_context(handle)->progress);
	CHECK(fake_context(handle)->progress.lock_word == 0);
	test_sender(&info);
	fake_settings.polling = 0;
	pthread_attr_destroy(&attributes);
}

static uint32_t stop; /* atomic */

/* Uses whatever handle there is: right results or LAPI_ERR_HNDL_INVALID, nothing else. */
static void *use(void *argument)
{
	lapi_cntr_t own = {0};
	unsigned i = 0;

	(void)argument;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		lapi_handle_t h = __atomic_load_n(&handle, __ATOMIC_SEQ_CST);
		lapi_msg_info_t info;
		char byte = 0;
		int rc;

		switch (i++ % 5) {
		case 0:
			rc = LAPI_Probe(h);
			break;
		case 1:
			rc = LAPI_Put(h, 0, 1, &byte, &byte, NULL, NULL, NULL);
			break;
		case 2:
			rc = LAPI_Fence(h);
			break;
		case 3:
			rc = LAPI_Msgpoll(h, 10, &info);
			break;
		default:
			fake_count(fake_context(h), (int *)&own);
			rc = LAPI_Waitcntr(h, &own, 1, NULL);
			/* The packet may lie in the queue of an ended context: it is thrown away
			 * there, or waited for. */
			break;
		}
		CHECK(rc == LAPI_SUCCESS || rc == LAPI_ERR_HNDL_INVALID);
	}
	return NULL;
}

static void test_under_fire(void)
{
	pthread_t users[USERS];
	int i;

	__atomic_store_n(&stop, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&handle, fake_init(NULL), __ATOMIC_SEQ_CST);
	for (i = 0; i < USERS; i++)
		users[i] = fake_thread(use, NULL);
	for (i = 0; i < ROUNDS; i++) {
		fake_sleep_us(i % 3 * 300);
		CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
		__atomic_store_n(&handle, fake_init(NULL), __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	/* A user may wait for a packet that went to an earlier context. */
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	for (i = 0; i < USERS; i++)
		pthread_join(users[i], NULL);
}

static void *race_to_end(void *result)
{
	*(int *)result = LAPI_Term(handle);
	return NULL;
}

static void test_two_ends(void)
{
	int i, first, second;

	for (i = 0; i < 20; i++) {
		pthread_t other;

		handle = fake_init(NULL);
		other = fake_thread(race_to_end, &second);
		first = LAPI_Term(handle);
		pthread_join(other, NULL);
		CHECK((first == LAPI_SUCCESS) != (second == LAPI_SUCCESS));
		CHECK((first == LAPI_ERR_HNDL_INVALID) != (second == LAPI_ERR_HNDL_INVALID));
	}
}

void test_term(void)
{
	test_many();
	test_waiters(0);
	test_waiters(1);
	test_own_threads(0);
	test_own_threads(1);
	test_two_ends();
	test_under_fire();
	CHECK(fake_counts.inits == fake_counts.term_ends);
}
