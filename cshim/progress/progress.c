/* progress.c - blocks, and the common parts of progress calls and of a process's threads. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "progress/futex.h"
#include "progress/lock.h"
#include "progress/progress.h"
#include "progress/sleep.h"

_Static_assert(offsetof(cshim_progress, lock_thread) % 8 == 0 &&
                       offsetof(cshim_progress, owner) % 8 == 0,
               "64-bit members are aligned in every word size");

int cshim_progress_claimed; /* atomic: blocks that are not FREE */
__thread cshim_self cshim_this_thread;

uint32_t cshim_tid_ask(void)
{
	cshim_this_thread.thread = (uint64_t)pthread_self();
	cshim_this_thread.tid = (uint32_t)syscall(SYS_gettid);
	return cshim_this_thread.tid;
}

void cshim_tid_forget(void)
{
	cshim_this_thread.tid = 0;
}

static void prepare(void)
{
	cshim_cpu_prepare();
	cshim_lock_prepare();
}

void cshim_progress_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, prepare);
}

void cshim_progress_add(cshim_progress *progress, const cshim_owner *owner)
{
	progress->owner.at = owner;
	cshim_lock_add(progress);
}

void cshim_progress_clear(cshim_progress *progress)
{
	cshim_lock(progress);
	progress->num_descriptors = 0;
	progress->not_polling = 0;
	__atomic_store_n(&progress->service_parked, 0, __ATOMIC_SEQ_CST);
	cshim_unlock(progress);
}

/*
 * The owner closes the descriptors next: the poller must have left them. Kicked, it needs only the
 * lock, which no-one keeps for long now.
 */
static void wait_for_poller(cshim_progress *progress)
{
	uint32_t poller;

	while ((poller = __atomic_load_n(&progress->poller, __ATOMIC_SEQ_CST)) != 0)
		cshim_futex_wait(&progress->poller, poller, 50000);
}

void cshim_progress_close(cshim_progress *progress)
{
	/*
	 * Under the lock, so that every other thread sees it when it next has the lock, and calls
	 * the owner no more.
	 */
	__atomic_store_n(&progress->state, CSHIM_TERMINATING, __ATOMIC_RELEASE);
	progress->asleep.at = NULL;
	progress->leader.at = NULL;
	cshim_wake_followers(progress);
	cshim_kick(progress);
	cshim_lock_release_all(progress);
	wait_for_poller(progress);
}

void cshim_yield_unlocked(cshim_progress *progress)
{
	uint32_t depth = cshim_lock_release_all(progress);

	sched_yield();
	cshim_lock_restore(progress, depth);
}
