/*
 * util.c - LAPI_Util: the lock of LAPI_GET_THREAD_FUNC (guide, Chapter 12), and the commands that
 * fail; conditions.c has its condition variables.
 */
#include "thread_func.h"

enum { BAD_HANDLE = 0x7ffffff0, ROUNDS = 200 };

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

static const conform_case cases[] = {
	CONFORM_CASE(util_errors),        CONFORM_CASE(lock_functions_are_given),
	CONFORM_CASE(lock_bad_arguments), CONFORM_CASE(lock_recursion_and_owner),
	CONFORM_CASE(lock_in_handlers),   CONFORM_CASE(lock_held_throughout),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
