/*
 * threads.c - starts and ends the library's threads of a block: the service thread and the handler
 * threads.
 *
 * The record of the threads of one generation outlives the generation if one of its own threads
 * ends it, from a handler of the user's: such a thread is not waited for and ends once the handler
 * has returned.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "progress/futex.h"
#include "progress/signals.h"
#include "progress/sleep.h"

typedef struct member {
	struct cshim_threads *threads;
	pthread_t id;
	int joinable; /* the user's attributes may say detached */
	int number;   /* 0: the service thread; else a handler thread */
} member;

typedef struct cshim_threads {
	cshim_progress *progress;
	uint32_t handle;
	CSHIM_SHARED uint32_t running; /* atomic futex: members that have not ended */
	/*
	 * atomic: members that have not ended, and the thread that ends the generation; the last
	 * frees it
	 */
	CSHIM_SHARED uint32_t holders;
	cshim_threads_plan plan;
	uint32_t count; /* members that were started */
	member members[];
} cshim_threads;

/* The member that this thread is. */
static __thread member *own_member __attribute__((tls_model("initial-exec")));

static void let_go(cshim_threads *threads)
{
	/* Acquire and release: the thread that frees comes after the last use of all. */
	if (__atomic_sub_fetch(&threads->holders, 1, __ATOMIC_ACQ_REL) == 0)
		free(threads);
}

static void set_name(const char *owner, int number)
{
	char name[16]; /* the kernel's limit */

	if (number == 0)
		snprintf(name, sizeof(name), "%s-service", owner);
	else
		snprintf(name, sizeof(name), "%s-compl-%d", owner, number % 1000);
	pthread_setname_np(pthread_self(), name);
}

static void *member_main(void *argument)
{
	member *self = argument;
	cshim_threads *threads = self->threads;
	const cshim_owner *owner = threads->progress->owner.at;

	own_member = self;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* only the user's are cancelled */
	set_name(owner->name, self->number);
	if (threads->plan.begin)
		threads->plan.begin(threads->plan.first, threads->plan.second);
	if (self->number == 0)
		cshim_service_run(threads->progress, threads->handle);
	else
		owner->handlers(threads->progress, threads->handle);
	own_member = NULL;
	__atomic_sub_fetch(&threads->running, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&threads->running, INT_MAX);
	let_go(threads);
	return NULL;
}

static int start_member(cshim_threads *threads, uint32_t number)
{
	member *self = &threads->members[threads->count];
	const pthread_attr_t *attributes = threads->plan.attributes;
	int state = PTHREAD_CREATE_JOINABLE, error;

	if (attributes && pthread_attr_getdetachstate(attributes, &state) != 0)
		return EINVAL;
	self->threads = threads;
	self->number = (int)number;
	self->joinable = state == PTHREAD_CREATE_JOINABLE;
	__atomic_add_fetch(&threads->running, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&threads->holders, 1, __ATOMIC_SEQ_CST);
	error = pthread_create(&self->id, attributes, member_main, self);
	if (error == 0) {
		threads->count++;
		return 0;
	}
	__atomic_sub_fetch(&threads->running, 1, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&threads->holders, 1, __ATOMIC_SEQ_CST);
	return error;
}

static int start_members(cshim_threads *threads)
{
	sigset_t before;
	uint32_t i;
	int error = 0;

	cshim_signals_block(&before);
	for (i = 0; i <= threads->plan.handlers && error == 0; i++)
		error = start_member(threads, i);
	cshim_signals_restore(&before);
	return error;
}

int cshim_threads_start(cshim_progress *progress, const cshim_threads_plan *plan)
{
	cshim_threads *threads =
		calloc(1, sizeof(*threads) + ((size_t)plan->handlers + 1) * sizeof(member));
	int error;

	if (!threads)
		return ENOMEM;
	threads->progress = progress;
	threads->handle = progress->handle;
	CSHIM_OWN(threads->holders) = 1;
	threads->plan = *plan;
	progress->threads.at = threads;
	error = start_members(threads);
	threads->plan.attributes = NULL; /* the user's, until this returns */
	return error;
}

static void *await_release(void *released)
{
	while (__atomic_load_n((uint32_t *)released, __ATOMIC_ACQUIRE) == 0)
		cshim_futex_wait(released, 0, -1);
	return NULL;
}

int cshim_threads_probe(void)
{
	/* Go's run-time has started some, and makes four or five more when it is first used */
	enum { SPARE = 8, STACK = 256 << 10 };
	pthread_t threads[SPARE];
	pthread_attr_t attributes;
	uint32_t released = 0;
	sigset_t before;
	int made = 0, error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	cshim_signals_block(&before);
	do
		error = pthread_create(&threads[made], &attributes, await_release, &released);
	while (error == 0 && ++made < SPARE);
	__atomic_store_n(&released, 1, __ATOMIC_RELEASE);
	cshim_futex_wake(&released, INT_MAX);
	while (made > 0)
		pthread_join(threads[--made], NULL);
	cshim_signals_restore(&before);
	pthread_attr_destroy(&attributes);
	return error;
}

/* The threads see by themselves that their generation has ended, once awake. */
static void wake_members(cshim_progress *progress)
{
	cshim_lock(progress);
	cshim_service_alert(progress);
	cshim_unlock(progress);
	progress->owner.at->wake_handlers(progress);
}

/* Detached members cannot be joined, and the caller does not wait for itself. */
static void wait_for_members(cshim_threads *threads, const member *self)
{
	uint32_t left = self ? 1 : 0, running, i;

	for (i = 0; i < threads->count; i++) {
		member *other = &threads->members[i];

		if (other == self && other->joinable)
			pthread_detach(other->id);
		else if (other->joinable)
			pthread_join(other->id, NULL);
	}
	while ((running = __atomic_load_n(&threads->running, __ATOMIC_SEQ_CST)) > left)
		cshim_futex_wait(&threads->running, running, -1);
}

void cshim_threads_stop(cshim_progress *progress)
{
	cshim_threads *threads = progress->threads.at;
	const member *self = own_member && own_member->threads == threads ? own_member : NULL;

	if (!threads)
		return;
	progress->threads.at = NULL;
	wake_members(progress);
	wait_for_members(threads, self);
	__atomic_store_n(&progress->service_tid, 0, __ATOMIC_SEQ_CST);
	let_go(threads);
}
