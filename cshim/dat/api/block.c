/* block.c - the block of uDAPL: its owner, the first and the last adapter, agents. */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "node/guard.h"
#include "dat/godat.h"
#include "dat/coll/coll.h"
#include "dat/rc/rc.h"
#include "progress/lock.h"
#include "dat/api/block.h"
#include "progress/say.h"
#include "start/start.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Held while adapters are opened and closed. Before the block's lock. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
int dat_is_broken;

/* How many turns of the lane stand for one of core's, while a thread waits. */
enum { LANE_TURNS = 32 };
static uint32_t turns; /* under the lock */

static uint32_t turn(void)
{
	uint32_t flags, made;

	if (!dat_the_lane.on)
		return godat_progress();
	flags = rc_turn();
	made = flags & DAT_LANE_MADE ? CSHIM_PROGRESS_MADE : 0;
	if (!(flags & DAT_LANE_CORE) && (made || ++turns % LANE_TURNS))
		return made;
	return godat_progress() | made;
}

static uint32_t call(cshim_progress *progress, uint64_t ticket)
{
	uint32_t flags = turn();

	return cno_agents() ? flags | CSHIM_PROGRESS_ERROR : flags;
}

/*
 * Go is called at most once for a sleep, before it: a thread that wakes finds what the lane can
 * take without a call, which takes longest when nobody has been in Go for some time. So core stays
 * armed until it is called for something else (lane.awake). It would only be woken too often.
 */
static int arm(cshim_progress *progress, int64_t *timeout_ns)
{
	dat_table *own = dat_the_lane.on ? (dat_table *)(uintptr_t)dat_the_lane.table : NULL;
	int work;

	node_guard_install(); /* a program may have put its own handler before it meanwhile */
	/* relaxed: the links are armed after it, with a barrier in all peers */
	if (own)
		__atomic_store_n(&own->waits, progress->waits.at != NULL || cno_some(),
		                 __ATOMIC_RELAXED);
	work = godat_arm(timeout_ns) || cno_agents();
	/* words of the peers' are looked at once more, too, after the links were armed */
	if (dat_the_lane.on && rc_look(0))
		work = 1;
	if (dat_groups && dat_groups_turn())
		work = 1;
	return work;
}

static void disarm(cshim_progress *progress)
{
	if (dat_the_lane.on)
		rc_disarm();
	else
		godat_disarm();
	turns = LANE_TURNS - 1; /* a descriptor may have woken the thread: core looks there */
}

static void polling(cshim_progress *progress, int polls)
{
}

void dat_run_agents(void)
{
	uint64_t function, instance, evd;

	while (dat_enter()) {
		int some;

		if (godat_ends()) {
			dat_is_broken = 1;
			cshim_progress_close(&dat_progress);
			cshim_inside_ends();
			return;
		}
		some = cno_next_agent(&function, &instance, &evd);
		if (!some)
			dat_progress.due = 0;
		cshim_lock_drop(&dat_progress);
		cshim_inside_ends();
		if (!some)
			return;
		((DAT_AGENT_FUNC)(uintptr_t)function)((DAT_PVOID)(uintptr_t)instance,
		                                      (DAT_EVD_HANDLE)(uintptr_t)evd);
	}
}

static void errors(cshim_progress *progress, int polls)
{
	uint32_t depth;
	cshim_outside before;

	if (polls)
		cshim_poll_end(progress);
	cshim_hand_over(progress);
	depth = cshim_lock_release_all(progress);
	before = cshim_outside_begins();
	dat_run_agents();
	cshim_outside_ends(before);
	cshim_lock_forfeit(progress);
	cshim_lock_restore(progress, depth);
	if (polls)
		cshim_poll_begin(progress);
}

static void trace(cshim_progress *progress, const char *what, int32_t code)
{
}

static void handlers(cshim_progress *progress, uint32_t handle)
{
}

static void wake_handlers(cshim_progress *progress)
{
}

static const cshim_owner owner = {
	.name = "dat",
	.call = call,
	.arm = arm,
	.disarm = disarm,
	.polling = polling,
	.errors = errors,
	.trace = trace,
	.handlers = handlers,
	.wake_handlers = wake_handlers,
};

static void after_fork_in_child(void)
{
	__atomic_or_fetch(&dat_unusual, DAT_FORKED, __ATOMIC_RELAXED);
}

static void prepare(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
	cshim_progress_prepare();
	node_guard_install(); /* registry/pointers.c */
	cshim_progress_add(&dat_progress, &owner);
	godat_block(&dat_progress, &dat_the_lane);
	__atomic_and_fetch(&dat_unusual, ~DAT_UNPREPARED, __ATOMIC_RELEASE);
}

/* The process may not have the threads or the memory that core needs. */
#define NO_RESOURCES (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_DEVICE)

/* dat_enter, in a call that has begun already. */
static inline __attribute__((always_inline)) int enter(void)
{
	uint32_t unusual = __atomic_load_n(&dat_unusual, __ATOMIC_ACQUIRE);

	if (__builtin_expect(unusual != 0, 0)) {
		if (unusual & DAT_FORKED)
			return 0;
		if (unusual & DAT_UNPREPARED) {
			if (cshim_start("DAT") != CSHIM_STARTED)
				return 0;
			pthread_once(&once, prepare);
		}
	}
	cshim_lock(&dat_progress);
	return 1;
}

int dat_enter(void)
{
	if (!cshim_inside_begins())
		return 0;
	if (enter())
		return 1;
	cshim_inside_ends();
	return 0;
}

/* A call comes from a signal handler that has interrupted another one: says so, once. */
static DAT_RETURN interrupted(void)
{
	static const char text[] =
		"uDAPL: a call from a signal handler that has interrupted a call of uDAPL's or "
		"LAPI's in the same thread fails, as all such calls do\n";
	static int told; /* atomic */

	if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		cshim_say(text, sizeof text - 1);
	return DAT_CLASS_ERROR | DAT_INVALID_STATE;
}

static DAT_RETURN cannot_start(void)
{
	return __atomic_load_n(&cshim_forked, __ATOMIC_RELAXED)
	               ? DAT_CLASS_ERROR | DAT_INVALID_STATE
	               : NO_RESOURCES;
}

static inline __attribute__((always_inline)) void leave(void)
{
	cshim_notify(&dat_progress);
	if (__builtin_expect(__atomic_load_n(&dat_progress.lock_waiters, __ATOMIC_RELAXED) != 0, 0))
		cshim_lock_be_fair(&dat_progress);
	cshim_lock_drop(&dat_progress);
}

DAT_RETURN dat_refused(void)
{
	return cshim_this_thread.inside ? interrupted() : cannot_start();
}

DAT_RETURN dat_leave(DAT_RETURN result)
{
	leave();
	cshim_inside_ends();
	if (__builtin_expect(dat_progress.due != 0, 0))
		dat_run_agents();
	return result;
}

DAT_RETURN dat_call(int number, const uint64_t *arguments)
{
	DAT_RETURN result;

	if (!dat_enter())
		return dat_refused();
	result = godat_call(number, (uint64_t *)arguments);
	return dat_leave(result);
}

/* The block becomes active; under opening and the lock, which is free afterwards. */
static DAT_RETURN begin(void)
{
	const cshim_threads_plan plan = {0, NULL, NULL, NULL, NULL};

	cshim_progress_clear(&dat_progress);
	dat_progress.handle++;
	godat_begin();
	__atomic_add_fetch(&cshim_progress_claimed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&dat_progress.state, CSHIM_ACTIVE, __ATOMIC_RELEASE);
	cshim_lock_drop(&dat_progress);
	return cshim_threads_start(&dat_progress, &plan) == 0 ? DAT_SUCCESS : NO_RESOURCES;
}

/* It ends; likewise. */
static void end(void)
{
	cshim_progress_close(&dat_progress);
	cshim_threads_stop(&dat_progress);
	cshim_lock(&dat_progress);
	godat_end();
	__atomic_sub_fetch(&cshim_progress_claimed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&dat_progress.state, CSHIM_FREE, __ATOMIC_RELEASE);
	cshim_lock_drop(&dat_progress);
}

/* Closes an adapter; under opening. */
static DAT_RETURN close_adapter(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	const uint64_t arguments[] = {DAT_P(ia_handle), DAT_I(flags)};
	DAT_RETURN result;

	if (!enter())
		return cannot_start();
	result = godat_call(DAT_CALL_ia_close, (uint64_t *)arguments);
	if (CSHIM_OWN(dat_progress.state) != CSHIM_ACTIVE || godat_adapters() > 0)
		leave();
	else
		end();
	return result;
}

/* A call that opens or closes adapters; 0: it is refused, as it has interrupted another one. */
static int begin_opening(void)
{
	if (!cshim_inside_begins())
		return 0;
	pthread_mutex_lock(&opening);
	return 1;
}

static DAT_RETURN end_opening(DAT_RETURN result)
{
	pthread_mutex_unlock(&opening);
	cshim_inside_ends();
	if (__builtin_expect(dat_progress.due != 0, 0))
		dat_run_agents();
	return result;
}

DAT_RETURN dat_may_enter(void)
{
	DAT_RETURN result = DAT_SUCCESS;

	if (!begin_opening())
		return interrupted();
	if (cshim_start("DAT") != CSHIM_STARTED)
		result = cannot_start();
	else if (CSHIM_OWN(dat_progress.state) != CSHIM_ACTIVE && cshim_threads_probe() != 0)
		result = NO_RESOURCES;
	return end_opening(result);
}

/* Opens an adapter; under opening. */
static DAT_RETURN open_adapter(const uint64_t *arguments)
{
	DAT_RETURN result;

	if (!enter())
		return cannot_start();
	result = godat_call(DAT_CALL_ia_openv, (uint64_t *)arguments);
	if (result == DAT_SUCCESS)
		dat_extensions_found();
	if (result != DAT_SUCCESS || CSHIM_OWN(dat_progress.state) == CSHIM_ACTIVE) {
		leave();
		return result;
	}
	result = begin();
	if (result != DAT_SUCCESS)
		close_adapter(*(DAT_IA_HANDLE *)(uintptr_t)arguments[3], DAT_CLOSE_ABRUPT_FLAG);
	return result;
}

DAT_RETURN dat_open_own(const uint64_t *arguments)
{
	DAT_RETURN result;

	if (!begin_opening())
		return interrupted();
	cshim_descriptors_hold();
	result = open_adapter(arguments);
	cshim_descriptors_release();
	return end_opening(result);
}

DAT_RETURN dat_close_own(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	if (!begin_opening())
		return interrupted();
	return end_opening(close_adapter(ia_handle, flags));
}
