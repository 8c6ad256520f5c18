/*
 * locking.c - which handlers have the lock of LAPI_GET_THREAD_FUNC (guide, Chapter 12): header,
 * inline completion and send completion handlers have it, with however many levels the caller had;
 * completion handlers in threads of the library and the error handler do not, and can take it, also
 * while the program holds it around its calls. util.c tests the rest of the lock.
 */
#include "conform.h"

#include <errno.h>
#include <sys/mman.h>

enum { HEADER, INLINE, SEND, QUEUED, ERROR, PLACES };

static lapi_thread_func_t f;
/* by place: 1 if the thread had the lock, 0 if it had not; how often */
static int has_it[PLACES], calls[PLACES];
static lapi_cntr_t done;
static int want_inline;

/* Notes whether this thread has the lock; then takes it and gives it back. */
static void look(int place, lapi_handle_t h)
{
	pthread_t owner = LAPI_NULL_THREAD_ID;

	CHECK_EQUAL(f.mutex_getowner(h, &owner), 0);
	has_it[place] = owner != LAPI_NULL_THREAD_ID && pthread_equal(owner, pthread_self());
	CHECK_EQUAL(f.mutex_lock(h), 0);
	CHECK_EQUAL(f.mutex_getowner(h, &owner), 0);
	CHECK(pthread_equal(owner, pthread_self()));
	CHECK_EQUAL(f.mutex_unlock(h), 0);
	__atomic_add_fetch(&calls[place], 1, __ATOMIC_ACQ_REL);
}

static void completion(lapi_handle_t *h, void *info)
{
	look(info ? INLINE : QUEUED, *h);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **handler, void **info)
{
	lapi_return_info_t *r = (lapi_return_info_t *)(void *)msg_len;

	(void)uhdr, (void)uhdr_len;
	look(HEADER, *h);
	*handler = completion;
	*info = want_inline ? &want_inline : NULL;
	if (want_inline)
		r->ret_flags = LAPI_LOCAL_STATE;
	return NULL;
}

static void sent(lapi_handle_t *h, void *param, lapi_sh_info_t *info)
{
	(void)param;
	CHECK_EQUAL(info->reason, LAPI_SUCCESS);
	look(SEND, *h);
}

static void failed(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)own, (void)src;
	CHECK_EQUAL(*code, LAPI_ERR_TGT_ADDR_NULL);
	CHECK_EQUAL(*type, PUT_ERR);
	look(ERROR, *h);
}

static int peek_calls(int place)
{
	return __atomic_load_n(&calls[place], __ATOMIC_ACQUIRE);
}

/* One message to oneself and one to the next task, sent with levels levels of the lock. */
static void messages(int levels)
{
	void *headers[CONFORM_MAX_TASKS];
	int i, next = (task_id + 1) % num_tasks, to[2], how_many = num_tasks > 1 ? 2 : 1;
	lapi_xfer_t x;

	memset(calls, 0, sizeof calls);
	counter_zero(&done);
	exchange((void *)(uintptr_t)header, headers);
	to[0] = task_id;
	to[1] = next;
	for (i = 0; i < levels; i++)
		CHECK_EQUAL(f.mutex_lock(hndl), 0);
	for (i = 0; i < how_many; i++) {
		memset(&x, 0, sizeof x);
		x.Am.Xfer_type = LAPI_AM_XFER;
		x.Am.tgt = (uint)to[i];
		x.Am.hdr_hdl = (lapi_long_t)(uintptr_t)headers[to[i]];
		x.Am.shdlr = sent;
		x.Am.cmpl_cntr = &done;
		LAPI_OK(LAPI_Xfer(hndl, &x));
	}
	counter_wait(&done, how_many);
	POLL_UNTIL(peek_calls(SEND) == how_many &&
	           peek_calls(want_inline ? INLINE : QUEUED) == how_many);
	for (i = 0; i < levels; i++)
		CHECK_EQUAL(f.mutex_unlock(hndl), 0);
	CHECK_EQUAL(f.mutex_unlock(hndl), EINVAL);
	conform_sync();
	CHECK_EQUAL(peek_calls(HEADER), how_many);
	CHECK_EQUAL(has_it[HEADER], 1);
	CHECK_EQUAL(has_it[SEND], 1);
	if (want_inline)
		CHECK_EQUAL(has_it[INLINE], 1);
	else
		CHECK_EQUAL(has_it[QUEUED], 0);
}

static void locking_in_handlers(void)
{
	bzero(&f, sizeof f);
	f.Util_type = LAPI_GET_THREAD_FUNC;
	LAPI_OK(LAPI_Util(hndl, (lapi_util_t *)&f));
	for (want_inline = 0; want_inline < 2; want_inline++) {
		conform_sync();
		messages(0);
		conform_sync();
		messages(1);
		conform_sync();
		messages(3);
	}
}

/* The error handler runs without the lock although the program holds it, and both levels are there
 * afterwards. */
static void locking_in_the_error_handler(void)
{
	lapi_handle_t h;
	lapi_info_t info;
	pthread_t owner = LAPI_NULL_THREAD_ID;
	int value = 1;
	void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(calls, 0, sizeof calls);
	has_it[ERROR] = -1;
	conform_fill_info(&info);
	info.err_hndlr = failed;
	if (!CHECK(nowhere != MAP_FAILED) || !LAPI_OK(LAPI_Init(&h, &info)))
		return;
	conform_set_mode(h);
	CHECK_EQUAL(f.mutex_getowner(h, &owner), 0);
	CHECK_EQUAL(f.mutex_lock(h), 0);
	CHECK_EQUAL(f.mutex_lock(h), 0);
	LAPI_OK(LAPI_Put(h, (uint)task_id, sizeof value, nowhere, &value, NULL, NULL, NULL));
	while (!peek_calls(ERROR))
		LAPI_OK(LAPI_Probe(h));
	CHECK_EQUAL(has_it[ERROR], 0);
	CHECK_EQUAL(f.mutex_unlock(h), 0);
	CHECK_EQUAL(f.mutex_unlock(h), 0);
	CHECK_EQUAL(f.mutex_unlock(h), EINVAL);
	CHECK_EQUAL(peek_calls(ERROR), 1);
	LAPI_OK(LAPI_Gfence(h));
	LAPI_OK(LAPI_Term(h));
	munmap(nowhere, 4096);
}

int main(int argc, char **argv)
{
	static const conform_case cases[] = {
		CONFORM_CASE(locking_in_handlers),
		CONFORM_CASE(locking_in_the_error_handler),
	};
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
