/* threads.c - several threads of each task use one link at once. */
#include "link_test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 2000, TAG = 9 };

static uint64_t memory[THREADS * 64];
static lapi_link_handle_t *mine, *theirs;
static int received;

static void count(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                  size_t size, void *context)
{
	(void)link, (void)ep, (void)tag, (void)message, (void)context;
	CHECK(size == 8);
	__atomic_add_fetch(&received, 1, __ATOMIC_RELAXED);
}

static void done(lapi_link_t *link, lapi_link_endpoint_t *ep, void *at, lapi_link_handle_t *handle,
                 void *context, void *data, int status)
{
	(void)link, (void)ep, (void)at, (void)handle, (void)data;
	CHECK(status == LAPI_LINK_SUCCESS);
	__atomic_add_fetch((int *)context, 1, __ATOMIC_RELEASE);
}

static void *work(void *argument)
{
	uint32_t thread = (uint32_t)(uintptr_t)argument, next = (attr.task + 1) % attr.tasks;
	uint64_t word = 0, old, at = theirs[next].base + thread * 64 * 8;
	int ended = 0;

	for (int i = 0; i < ROUNDS; i++) {
		word = (uint64_t)i;
		MUST(TRY(lapi_link_put(lnk, peer[next], &word, at, NULL, &theirs[next], 8, 0, done,
		                       &ended, NULL)));
		CHECK(TRY(lapi_link_send(lnk, peer[next], TAG, &word, 8, NULL, 0, NULL, NULL, NULL)) ==
		      LAPI_LINK_DONE);
		while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) <= i)
			progress();
		MUST(TRY(lapi_link_atomic_fop(lnk, peer[next], &old, at + 8, NULL, &theirs[next],
		                              LAPI_LINK_ADD, 1, 0, NULL, NULL, NULL)));
		if (i % 8 == 0) {
			MUST(lapi_link_flush(lnk, i % 16 ? peer[next] : NULL));
			CHECK(old <= (uint64_t)i); /* the last eight are in any order */
		}
	}
	MUST(lapi_link_flush(lnk, NULL));
	return NULL;
}

static int stop;

static void *go_on(void *nothing)
{
	uint32_t next = (attr.task + 1) % attr.tasks;
	uint64_t word = 5;

	do /* once at least: the other thread may be done before this one runs */
		MUST(TRY(lapi_link_put(lnk, peer[next], &word, theirs[next].base + 16, NULL, &theirs[next], 8,
		                       0, NULL, NULL, NULL)));
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED));
	return nothing;
}

/* A flush waits for what began before it, and not for a thread that goes on to put. */
static void flush_beside(void)
{
	uint32_t next = (attr.task + 1) % attr.tasks;
	pthread_t thread;

	section = "flush beside a thread that puts";
	CHECK(pthread_create(&thread, NULL, go_on, NULL) == 0);
	for (uint64_t i = 1; i <= 100; i++) {
		MUST(TRY(lapi_link_put(lnk, peer[next], &i, theirs[next].base + 24, NULL, &theirs[next], 8, 0,
		                       NULL, NULL, NULL)));
		MUST(lapi_link_flush(lnk, i % 2 ? peer[next] : NULL));
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	MUST(lapi_link_flush(lnk, NULL));
	barrier();
	CHECK(memory[2] == 5);
	CHECK(memory[3] == 100);
}

int main(void)
{
	pthread_t threads[THREADS];

	begin(NULL);
	theirs = calloc(attr.tasks, sizeof(*theirs));
	MUST(lapi_link_set_receive(lnk, TAG, count, NULL));
	share(memory, sizeof(memory), LAPI_LINK_REMOTE_WRITE | LAPI_LINK_REMOTE_ATOMIC, &mine, theirs);
	section = "threads";
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (__atomic_load_n(&received, __ATOMIC_RELAXED) < THREADS * ROUNDS)
		progress();
	barrier();
	for (int i = 0; i < THREADS; i++)
		CHECK(memory[i * 64] == ROUNDS - 1 && memory[i * 64 + 1] == ROUNDS);
	flush_beside();
	end();
	return 0;
}
