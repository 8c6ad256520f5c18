/*
 * conditions.c - the condition variables of LAPI_GET_THREAD_FUNC (guide, Chapter 12).
 */
#include "thread_func.h"

#include <time.h>

#include <sys/time.h>

enum { ROUNDS = 200, HELPERS = 4 };

static lapi_cond_t shared_cond;
static int waiting, woken, tokens;

/* Each thread takes one token; under the lock, which it takes twice, so that a wait has two levels
 * to release. */
static void *take_a_token(void *unused)
{
	(void)unused;
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	waiting++;
	while (tokens == 0)
		CHECK_EQUAL(f.cond_wait(hndl, &shared_cond), 0);
	tokens--;
	woken++;
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL);
	return NULL;
}

static int under_lock(const int *word)
{
	int value;
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	value = *word;
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	return value;
}

static void cond_signal_wakes_one(void)
{
	pthread_t threads[HELPERS];
	int i;
	get_functions();
	waiting = woken = tokens = 0;
	CHECK_EQUAL(f.cond_init(hndl, &shared_cond), 0);
	CHECK_EQUAL(f.cond_signal(hndl, &shared_cond), 0); /* nobody waits: forgotten */
	for (i = 0; i < HELPERS; i++)
		threads[i] = start(take_a_token, NULL);
	while (under_lock(&waiting) < HELPERS) /* the lock is free only while all of them wait */
		sched_yield();
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), EBUSY);
	CHECK_EQUAL(f.cond_init(hndl, &shared_cond), EBUSY);
	for (i = 0; i < HELPERS; i++) {
		CHECK_EQUAL(f.mutex_lock(hndl), 0);
		CHECK_EQUAL(woken, i);
		tokens++;
		CHECK_EQUAL(f.cond_signal(hndl, &shared_cond), 0);
		CHECK_EQUAL(f.mutex_unlock(hndl), 0);
		while (under_lock(&woken) == i)
			sched_yield();
	}
	for (i = 0; i < HELPERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), 0);
}

static struct timespec from_now(int ms)
{
	struct timespec at;
	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

static void cond_timedwait_times_out(void)
{
	static const struct timespec past[] = {{0, 0}, {1, 999999999}, {-5, 0}};
	struct timespec at;
	double begin;
	size_t i;
	get_functions();
	CHECK_EQUAL(f.cond_init(hndl, &shared_cond), 0);
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	for (i = 0; i < sizeof past / sizeof past[0]; i++) {
		at = past[i];
		CHECK_EQUAL(f.cond_timedwait(hndl, &shared_cond, &at), ETIMEDOUT);
	}
	begin = now();
	at = from_now(50);
	CHECK_EQUAL(f.cond_timedwait(hndl, &shared_cond, &at), ETIMEDOUT);
	CHECK(now() - begin > 0.03); /* the clocks may differ a little, the wait took place */
	CHECK_EQUAL(f.mutex_unlock(hndl), 0); /* both levels are back */
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL);
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), 0);
}

static void *signal_later(void *unused)
{
	(void)unused;
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	tokens = 1;
	CHECK_EQUAL(f.cond_signal(hndl, &shared_cond), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	return NULL;
}

static void cond_timedwait_is_signaled(void)
{
	pthread_t thread;
	struct timespec at = from_now(100000);
	int i;
	get_functions();
	bzero(&shared_cond, sizeof shared_cond); /* a static variable needs no cond_init */
	for (i = 0; i < 20; i++) {
		tokens = 0;
		CHECK_EQUAL(f.mutex_lock(hndl), 0);
		thread = start(signal_later, NULL);
		while (!tokens && CHECK_EQUAL(f.cond_timedwait(hndl, &shared_cond, &at), 0))
			;
		CHECK_EQUAL(tokens, 1);
		CHECK_EQUAL(f.mutex_unlock(hndl), 0);
		pthread_join(thread, NULL);
	}
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), 0);
}

/* Two threads of this task wait for a message each, one of them on a condition variable that a
 * completion handler signals. */
static void signal_from_completion(lapi_handle_t *h, void *info)
{
	(void)info;
	CHECK_EQUAL(f.mutex_lock(*h), 0);
	tokens++;
	CHECK_EQUAL(f.cond_signal(*h, &shared_cond), 0);
	CHECK_EQUAL(f.mutex_unlock(*h), 0);
}

static void *header_then_signal(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                                compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*handler = signal_from_completion;
	*info = NULL;
	return NULL;
}

static void *poll_until_over(void *over)
{
	POLL_UNTIL(peek((int *)over));
	return NULL;
}

static void cond_wait_lets_lapi_work(void)
{
	void *headers[CONFORM_MAX_TASKS];
	int target = (task_id + 1) % num_tasks, over = 0;
	pthread_t poller;
	get_functions();
	tokens = 0;
	CHECK_EQUAL(f.cond_init(hndl, &shared_cond), 0);
	exchange((void *)(uintptr_t)header_then_signal, headers);
	poller = start(poll_until_over, &over); /* in polling mode somebody must poll */
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	LAPI_OK(LAPI_Amsend(hndl, (uint)target, headers[target], NULL, 0, NULL, 0, NULL, NULL,
	                    NULL));
	while (tokens == 0)
		CHECK_EQUAL(f.cond_wait(hndl, &shared_cond), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	conform_sync();
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	pthread_join(poller, NULL);
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), 0);
}

/* A token goes round among threads that signal each other; a lost wake-up would hang. */
static int turn_of;

static void *pass_on(void *number)
{
	int me = (int)(intptr_t)number, i;
	for (i = 0; i < ROUNDS; i++) {
		CHECK_EQUAL(f.mutex_lock(hndl), 0);
		while (turn_of % HELPERS != me) {
			/* A waiter for which the signal is not meant passes it on. */
			CHECK_EQUAL(f.cond_signal(hndl, &shared_cond), 0);
			CHECK_EQUAL(f.cond_wait(hndl, &shared_cond), 0);
		}
		turn_of++;
		CHECK_EQUAL(f.cond_signal(hndl, &shared_cond), 0);
		CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	}
	return NULL;
}

static void cond_ring_of_threads(void)
{
	pthread_t threads[HELPERS];
	int i;
	get_functions();
	turn_of = 0;
	CHECK_EQUAL(f.cond_init(hndl, &shared_cond), 0);
	for (i = 0; i < HELPERS; i++)
		threads[i] = start(pass_on, (void *)(intptr_t)i);
	for (i = 0; i < HELPERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(turn_of, HELPERS * ROUNDS);
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), 0);
}

/* ---- LAPI_Term ---- */

static lapi_handle_t second;

static void *wait_for_ever(void *result)
{
	CHECK_EQUAL(f.mutex_lock(second), 0);
	waiting = 1;
	*(int *)result = f.cond_wait(second, &shared_cond);
	/* the lock is back, and can be given back although the handle has ended */
	CHECK_EQUAL(f.mutex_unlock(second), 0);
	CHECK_EQUAL(f.mutex_unlock(second), EINVAL);
	return NULL;
}

/* LAPI_Term ends the waits on condition variables of its handle, and the next instance works. */
static void cond_wait_ends_with_term(void)
{
	lapi_info_t info;
	pthread_t thread, owner;
	int result = -1, round, seen = 0;
	/* LAPI_Init and LAPI_Term of the other handle do not poll this one */
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
	for (round = 0; round < 2; round++) {
		conform_fill_info(&info);
		if (!LAPI_OK(LAPI_Init(&second, &info)))
			return;
		get_functions();
		waiting = 0;
		bzero(&shared_cond, sizeof shared_cond);
		thread = start(wait_for_ever, &result);
		do {
			CHECK_EQUAL(f.mutex_lock(second), 0);
			seen = waiting;
			CHECK_EQUAL(f.mutex_unlock(second), 0);
			sched_yield();
		} while (!seen);
		conform_sync();
		LAPI_OK(LAPI_Term(second));
		pthread_join(thread, NULL);
		CHECK_EQUAL(result, EINVAL);
		CHECK_EQUAL(f.mutex_lock(second), EINVAL);
		CHECK_EQUAL(f.mutex_trylock(second), EINVAL);
		CHECK_EQUAL(f.mutex_getowner(second, &owner), EINVAL);
	}
}

static const conform_case cases[] = {
	CONFORM_CASE(cond_signal_wakes_one),      CONFORM_CASE(cond_timedwait_times_out),
	CONFORM_CASE(cond_timedwait_is_signaled), CONFORM_CASE(cond_wait_lets_lapi_work),
	CONFORM_CASE(cond_ring_of_threads),       CONFORM_CASE(cond_wait_ends_with_term),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
