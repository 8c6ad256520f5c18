/*
 * threads.c - starts and ends the library's threads of a block: the service thread and the handler
 * threads.
 *
 * A crew is the threads of one incarnation. It outlives the incarnation when that is ended by one
 * of its own threads, from a handler of the user's: such a thread is not waited for and ends once
 * the handler has returned.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "futex.h"
#include "sleep.h"

typedef struct member {
	struct cshim_crew *crew;
	pthread_t id;
	int joinable; /* the user's attributes may say detached */
	int number;   /* 0: the service thread; else a handler thread */
} member;

typedef struct cshim_crew {
	cshim_progress *progress;
	uint32_t handle;
	uint32_t running; /* atomic futex: members that have not ended */
	/*
	 * atomic: members that have not ended, and who ends the incarnation; the last frees the
	 * crew
	 */
	uint32_t holders;
	cshim_crew_plan plan;
	uint32_t count; /* members that were started */
	member members[];
} cshim_crew;

/* The member that this thread is. */
static __thread member *own_member __attribute__((tls_model("initial-exec")));

static void let_go(cshim_crew *crew)
{
	/* Acquire and release: the one who frees comes after everybody's last use. */
	if (__atomic_sub_fetch(&crew->holders, 1, __ATOMIC_ACQ_REL) == 0)
		free(crew);
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
	cshim_crew *crew = self->crew;
	const cshim_owner *owner = crew->progress->owner.at;

	own_member = self;
	set_name(owner->name, self->number);
	if (self->number > 0 && crew->plan.begin)
		crew->plan.begin(crew->plan.first, crew->plan.second);
	if (self->number == 0)
		cshim_service_run(crew->progress, crew->handle);
	else
		owner->handlers(crew->progress, crew->handle);
	own_member = NULL;
	__atomic_sub_fetch(&crew->running, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&crew->running, INT_MAX);
	let_go(crew);
	return NULL;
}

/*
 * The program's signals are for its own threads. Faults stay open: they cannot be handled
 * elsewhere, and the library turns those on user addresses into errors.
 */
static void block_signals(sigset_t *before)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t blocked;
	size_t i;

	sigfillset(&blocked);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static int start_member(cshim_crew *crew, uint32_t number)
{
	member *self = &crew->members[crew->count];
	const pthread_attr_t *attributes = number > 0 ? crew->plan.attributes : NULL;
	int state = PTHREAD_CREATE_JOINABLE, error;

	if (attributes && pthread_attr_getdetachstate(attributes, &state) != 0)
		return EINVAL;
	self->crew = crew;
	self->number = (int)number;
	self->joinable = state == PTHREAD_CREATE_JOINABLE;
	__atomic_add_fetch(&crew->running, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&crew->holders, 1, __ATOMIC_SEQ_CST);
	error = pthread_create(&self->id, attributes, member_main, self);
	if (error == 0) {
		crew->count++;
		return 0;
	}
	__atomic_sub_fetch(&crew->running, 1, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&crew->holders, 1, __ATOMIC_SEQ_CST);
	return error;
}

static int start_members(cshim_crew *crew)
{
	sigset_t before;
	uint32_t i;
	int error = 0;

	block_signals(&before);
	for (i = 0; i <= crew->plan.handlers && error == 0; i++)
		error = start_member(crew, i);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

int cshim_threads_start(cshim_progress *progress, const cshim_crew_plan *plan)
{
	cshim_crew *crew = calloc(1, sizeof(*crew) + ((size_t)plan->handlers + 1) * sizeof(member));
	int error;

	if (!crew)
		return ENOMEM;
	crew->progress = progress;
	crew->handle = progress->handle;
	crew->holders = 1;
	crew->plan = *plan;
	progress->crew.at = crew;
	error = start_members(crew);
	crew->plan.attributes = NULL; /* the user's, until this returns */
	return error;
}

/* The threads see by themselves that their incarnation has ended, once awake. */
static void wake_members(cshim_progress *progress)
{
	cshim_lock(progress);
	cshim_service_alert(progress);
	cshim_unlock(progress);
	progress->owner.at->wake_handlers(progress);
}

/* Detached members cannot be joined, and the caller does not wait for itself. */
static void wait_for_members(cshim_crew *crew, const member *self)
{
	uint32_t left = self ? 1 : 0, running, i;

	for (i = 0; i < crew->count; i++) {
		member *other = &crew->members[i];

		if (other == self && other->joinable)
			pthread_detach(other->id);
		else if (other->joinable)
			pthread_join(other->id, NULL);
	}
	while ((running = __atomic_load_n(&crew->running, __ATOMIC_SEQ_CST)) > left)
		cshim_futex_wait(&crew->running, running, -1);
}

void cshim_threads_stop(cshim_progress *progress)
{
	cshim_crew *crew = progress->crew.at;
	const member *self = own_member && own_member->crew == crew ? own_member : NULL;

	if (!crew)
		return;
	progress->crew.at = NULL;
	wake_members(progress);
	wait_for_members(crew, self);
	__atomic_store_n(&progress->service_tid, 0, __ATOMIC_SEQ_CST);
	let_go(crew);
}
