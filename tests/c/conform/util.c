/*
 * util.c - LAPI_Util: the lock of LAPI_GET_THREAD_FUNC with its condition variables (guide, Chapter
 * 12), and the commands that fail.
 */
#include "conform.h"

#include <errno.h>
#include <time.h>

#include <sys/time.h>

enum { BAD_HANDLE = 0x7ffffff0, ROUNDS = 200, HELPERS = 4 };

static lapi_thread_func_t f;

static void get_functions(void)
{
	bzero(&f, sizeof f);
	f.Util_type = LAPI_GET_THREAD_FUNC;
	LAPI_OK(LAPI_Util(hndl, (lapi_util_t *)&f));
}

static pthread_t start(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, body, argument) != 0) {
		conform_failed(__FILE__, __LINE__, "no thread");
		exit(2);
	}
	return thread;
}

static void util_errors(void)
{
	static const lapi_util_type_t unknown[] = {LAPI_LAST_UTIL, (lapi_util_type_t)77,
	                                           (lapi_util_type_t)-1};
	lapi_util_t cmd;
	lapi_udp_t port;
	size_t i;
	bzero(&cmd, sizeof cmd);
	CHECK_CODE(LAPI_ERR_UTIL_CMD, LAPI_Util(hndl, NULL));
	for (i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
		cmd.Util_type = unknown[i];
		CHECK_CODE(LAPI_ERR_UTIL_CMD, LAPI_Util(hndl, &cmd));
	}
	cmd.Util_type = LAPI_GET_THREAD_FUNC;
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Util(BAD_HANDLE, &cmd));
	CHECK(cmd.ThreadFunc.mutex_lock == NULL);
	cmd.Util_type = LAPI_ADD_UDP_DEST_PORT;
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Util(BAD_HANDLE, &cmd));
	CHECK_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(hndl, &cmd));
	cmd.Util_type = LAPI_ADD_UDP_DEST_EXT;
	CHECK_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(hndl, &cmd));
	/* This job was started by lapirun, which knows all addresses. */
	bzero(&port, sizeof port);
	cmd.Util_type = LAPI_ADD_UDP_DEST_PORT;
	cmd.Udp.udp_port = &port;
	CHECK_CODE(LAPI_ERR_UTIL_CMD, LAPI_Util(hndl, &cmd));
}

static void lock_functions_are_given(void)
{
	get_functions();
	CHECK(f.mutex_lock && f.mutex_unlock && f.mutex_trylock && f.mutex_getowner);
	CHECK(f.cond_wait && f.cond_timedwait && f.cond_signal && f.cond_init && f.cond_destroy);
	CHECK_EQUAL(f.Util_type, LAPI_GET_THREAD_FUNC);
}

static void lock_bad_arguments(void)
{
	lapi_cond_t cond;
	pthread_t owner;
	struct timespec when = {1, 0}, bad = {1, 1000000000}, negative = {1, -1};
	get_functions();
	CHECK_EQUAL(f.mutex_lock(BAD_HANDLE), EINVAL);
	CHECK_EQUAL(f.mutex_trylock(BAD_HANDLE), EINVAL);
	CHECK_EQUAL(f.mutex_unlock(BAD_HANDLE), EINVAL);
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL); /* not locked */
	CHECK_EQUAL(f.mutex_getowner(BAD_HANDLE, &owner), EINVAL);
	CHECK_EQUAL(f.mutex_getowner(hndl, NULL), EINVAL);
	CHECK_EQUAL(f.cond_init(hndl, NULL), EINVAL);
	CHECK_EQUAL(f.cond_init(BAD_HANDLE, &cond), EINVAL);
	CHECK_EQUAL(f.cond_init(hndl, &cond), 0);
	CHECK_EQUAL(f.cond_wait(hndl, &cond), EINVAL); /* without the lock */
	CHECK_EQUAL(f.cond_timedwait(hndl, &cond, &when), EINVAL);
	CHECK_EQUAL(f.cond_signal(hndl, NULL), EINVAL);
	CHECK_EQUAL(f.cond_signal(BAD_HANDLE, &cond), EINVAL);
	CHECK_EQUAL(f.cond_destroy(hndl, NULL), EINVAL);
	CHECK_EQUAL(f.cond_destroy(BAD_HANDLE, &cond), EINVAL);
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	CHECK_EQUAL(f.cond_wait(BAD_HANDLE, &cond), EINVAL);
	CHECK_EQUAL(f.cond_wait(hndl, NULL), EINVAL);
	CHECK_EQUAL(f.cond_timedwait(hndl, NULL, &when), EINVAL);
	CHECK_EQUAL(f.cond_timedwait(hndl, &cond, NULL), EINVAL);
	CHECK_EQUAL(f.cond_timedwait(hndl, &cond, &bad), EINVAL);
	CHECK_EQUAL(f.cond_timedwait(hndl, &cond, &negative), EINVAL);
	CHECK_EQUAL(f.cond_destroy(hndl, &cond), 0);
	CHECK_EQUAL(f.cond_wait(hndl, &cond), EINVAL); /* destroyed */
	CHECK_EQUAL(f.cond_signal(hndl, &cond), EINVAL);
	CHECK_EQUAL(f.cond_destroy(hndl, &cond), EINVAL);
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL);
}

static void *other_thread(void *unused)
{
	pthread_t owner = LAPI_NULL_THREAD_ID;
	(void)unused;
	CHECK_EQUAL(f.mutex_trylock(hndl), EBUSY);
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL);
	CHECK_EQUAL(f.mutex_getowner(hndl, &owner), 0);
	CHECK(!pthread_equal(owner, pthread_self()) && owner != LAPI_NULL_THREAD_ID);
	return NULL;
}

static void lock_recursion_and_owner(void)
{
	pthread_t owner;
	get_functions();
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	CHECK_EQUAL(f.mutex_trylock(hndl), 0);
	CHECK_EQUAL(f.mutex_getowner(hndl, &owner), 0);
	CHECK(pthread_equal(owner, pthread_self()));
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	pthread_join(start(other_thread, NULL), NULL);
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	pthread_join(start(other_thread, NULL), NULL);
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
}

/* ---- every call with the lock held ---- */

static int sink, seen_in_handler;
static pthread_t owner_in_handler, owner_in_completion;
static lapi_cntr_t arrived, done;
static lapi_cond_t shared_cond;
static int misuse[3];

static void completion(lapi_handle_t *h, void *info)
{
	(void)info;
	CHECK_EQUAL(f.mutex_getowner(*h, &owner_in_completion), 0);
	CHECK(!pthread_equal(owner_in_completion, pthread_self()));
	CHECK_EQUAL(f.mutex_lock(*h), 0);
	CHECK_EQUAL(f.mutex_unlock(*h), 0);
	__atomic_add_fetch(&seen_in_handler, 1, __ATOMIC_ACQ_REL);
}

/* A header handler has the lock; it may take it again, but not give away what the library holds,
 * nor wait. */
static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **handler, void **info)
{
	(void)uhdr, (void)uhdr_len, (void)msg_len;
	CHECK_EQUAL(f.mutex_getowner(*h, &owner_in_handler), 0);
	CHECK(pthread_equal(owner_in_handler, pthread_self()));
	CHECK_EQUAL(f.mutex_lock(*h), 0);
	CHECK_EQUAL(f.mutex_unlock(*h), 0);
	misuse[0] = f.mutex_unlock(*h);
	misuse[1] = f.cond_wait(*h, &shared_cond);
	misuse[2] = f.mutex_trylock(*h); /* and is not given back */
	*handler = completion;
	*info = NULL;
	return NULL;
}

static void lock_in_handlers(void)
{
	void *headers[CONFORM_MAX_TASKS];
	int target = (task_id + 1) % num_tasks;
	get_functions();
	counter_zero(&done);
	seen_in_handler = 0;
	CHECK_EQUAL(f.cond_init(hndl, &shared_cond), 0);
	exchange((void *)(uintptr_t)header, headers);
	LAPI_OK(LAPI_Amsend(hndl, (uint)target, headers[target], NULL, 0, NULL, 0, NULL, NULL,
	                    &done));
	counter_wait(&done, 1);
	POLL_UNTIL(peek(&seen_in_handler) == 1);
	CHECK_EQUAL(misuse[0], EINVAL);
	CHECK_EQUAL(misuse[1], EINVAL);
	CHECK_EQUAL(misuse[2], 0);
	conform_sync();
	/* what the handler forgot was given back for it */
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL);
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), 0);
}

/* The whole of a program may run with the lock held, twice even; handlers and other threads get
 * their turn. */
static void lock_held_throughout(void)
{
	void *sinks[CONFORM_MAX_TASKS], *headers[CONFORM_MAX_TASKS], *arrivals[CONFORM_MAX_TASKS];
	int target = (task_id + 1) % num_tasks, i, value = 1, one = 1;
	pthread_t owner;
	get_functions();
	counter_zero(&done);
	counter_zero(&arrived);
	seen_in_handler = 0;
	CHECK_EQUAL(f.cond_init(hndl, &shared_cond), 0);
	conform_sync();
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	CHECK_EQUAL(f.mutex_lock(hndl), 0);
	exchange(&sink, sinks);
	exchange((void *)(uintptr_t)header, headers);
	exchange(&arrived, arrivals);
	for (i = 0; i < ROUNDS; i++) {
		LAPI_OK(LAPI_Put(hndl, (uint)target, sizeof value, sinks[target], &value,
		                 (lapi_cntr_t *)arrivals[target], NULL, NULL));
		LAPI_OK(LAPI_Amsend(hndl, (uint)target, headers[target], NULL, 0, NULL, 0, NULL,
		                    NULL, &done));
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)target, (int *)sinks[target], &one,
		                 NULL, NULL));
	}
	counter_wait(&done, ROUNDS);
	counter_wait(&arrived, ROUNDS);
	LAPI_OK(LAPI_Fence(hndl));
	LAPI_OK(LAPI_Probe(hndl));
	POLL_UNTIL(peek(&seen_in_handler) == ROUNDS);
	conform_sync();
	CHECK_EQUAL(f.mutex_getowner(hndl, &owner), 0);
	CHECK(pthread_equal(owner, pthread_self()));
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL);
	CHECK_EQUAL(f.cond_destroy(hndl, &shared_cond), 0);
}

/* ---- condition variables ---- */

static int waiting, woken, tokens;

/* Each takes one token; under the lock, which is taken twice, so that a wait has two levels to give
 * up. */
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
			/* A waiter that is not meant passes the signal on. */
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

/* LAPI_Term ends the waits on condition variables of its handle, and the next instance is none the
 * worse. */
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

int main(int argc, char **argv)
{
	static const conform_case cases[] = {
		CONFORM_CASE(util_errors),
		CONFORM_CASE(lock_functions_are_given),
		CONFORM_CASE(lock_bad_arguments),
		CONFORM_CASE(lock_recursion_and_owner),
		CONFORM_CASE(lock_in_handlers),
		CONFORM_CASE(lock_held_throughout),
		CONFORM_CASE(cond_signal_wakes_one),
		CONFORM_CASE(cond_timedwait_times_out),
		CONFORM_CASE(cond_timedwait_is_signaled),
		CONFORM_CASE(cond_wait_lets_lapi_work),
		CONFORM_CASE(cond_ring_of_threads),
		CONFORM_CASE(cond_wait_ends_with_term),
	};
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
