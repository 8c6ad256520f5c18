/*
 * sleep.c - threads that wait without making progress calls, and the threads that wake them.
 *
 * One thread at a time is the poller: it arms the links, so that peers ring, and sleeps in ppoll on
 * the descriptors. That is the leader or the service thread. Other waiting threads follow, each
 * with a futex of its own. Why no wake-up is lost:
 *
 *  1. All state that a thread may wait for (counters, tickets) changes under the lock, and
 * event_seq with it. Every thread that called the owner calls cshim_notify before it lets go of
 * the lock.
 *  2. A follower is marked under the lock, after it has found its wait not over. A later change
 * comes after it has let go of the lock; the changing thread finds the mark and, if the wait is
 * over, stores WOKEN to its futex. The follower goes to sleep only by changing NONE to ASLEEP:
 * either that fails, or the other thread sees ASLEEP and wakes the futex.
 *  3. The leader enters its wait in progress->asleep under the lock before it polls. A later change
 * finds it there and writes the eventfd, which is level-triggered: it does not matter whether ppoll
 * has begun. The links see to events from outside this process: the owner's arm returns 1 if
 * something came before they were armed.
 *  4. Followers need a leader or a poller. A thread follows only while there is one. The leader
 * gives its role up, and the service thread the poller's, under the lock, and calls
 * cshim_hand_over, still under the lock: if there is no other, one follower is woken, and leads
 * unless a thread that came by was faster.
 *  5. A signal handler that LAPI has refused is to run again (owed.c), in this very thread: it ends
 * the sleep of its thread by the same means (sleep_begins).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "progress/futex.h"
#include "progress/sleep.h"

/* A wait's signal. */
enum {
	SIGNAL_NONE,   /* the follower spins */
	SIGNAL_ASLEEP, /* it sleeps, or is about to: a futex wake is needed */
	SIGNAL_WOKEN   /* it shall look again */
};

/*
 * How long a follower sleeps at most. Nothing depends on it; the stress tests run without (see
 * above why).
 */
#ifndef CSHIM_SAFETY_NS
#define CSHIM_SAFETY_NS 100000000
#endif

/*
 * A program with several blocks may wait in one for an event of another. The other's notify does
 * not see the wait, and must not, as it does not have the lock; so every wait for such a goal looks
 * at it this often.
 */
#define ELSEWHERE_NS 10000000

int64_t cshim_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How long a wait may sleep; negative: for ever. */
static int64_t at_most(const cshim_goal *goal, int64_t timeout_ns)
{
	int64_t bound = goal->kind->elsewhere && cshim_progress_active() > 1 ? ELSEWHERE_NS : -1;

	if (goal->until_ns) {
		int64_t left = goal->until_ns - cshim_now_ns();

		left = left > 0 ? left : 0;
		bound = bound < 0 || left < bound ? left : bound;
	}
	return timeout_ns < 0 || (bound >= 0 && bound < timeout_ns) ? bound : timeout_ns;
}

void cshim_kick(cshim_progress *progress)
{
	uint64_t one = 1;
	int saved = errno;

	/*
	 * EAGAIN: its counter is full, so it is readable anyway. Not by write, which is a
	 * cancellation point.
	 */
	if (progress->num_descriptors > 0 &&
	    syscall(SYS_write, progress->descriptors[0], &one, sizeof(one)) < 0)
		errno = saved;
}

/* The wait may be over: for a ticket only a progress call knows. */
static int concerned(cshim_progress *progress, const cshim_wait *wait)
{
	const cshim_goal_kind *kind = wait->goal->kind;

	return wait->interrupted || !kind->over || kind->over(progress, wait->goal);
}

static void stop_following(cshim_progress *progress, cshim_wait *wait)
{
	if (!wait->following)
		return;
	wait->following = 0;
	__atomic_sub_fetch(&progress->followers, 1, __ATOMIC_SEQ_CST);
}

/*
 * The wait lies on its thread's stack, but that thread needs the lock, which the caller has, to
 * leave.
 */
static void wake_follower(cshim_progress *progress, cshim_wait *wait)
{
	stop_following(progress, wait);
	if (__atomic_exchange_n(&wait->signal, SIGNAL_WOKEN, __ATOMIC_SEQ_CST) == SIGNAL_ASLEEP)
		cshim_futex_wake(&wait->signal, 1);
}

void cshim_notify_others(cshim_progress *progress)
{
	cshim_wait *wait;

	if (__atomic_load_n(&progress->followers, __ATOMIC_RELAXED))
		for (wait = progress->waits.at; wait; wait = wait->next)
			if (wait->following && concerned(progress, wait))
				wake_follower(progress, wait);
	if (__builtin_expect(progress->asleep.at != NULL, 0) &&
	    concerned(progress, progress->asleep.at)) {
		progress->asleep.at = NULL; /* one kick will do */
		cshim_kick(progress);
	}
}

void cshim_wake_followers(cshim_progress *progress)
{
	cshim_wait *wait;

	for (wait = progress->waits.at; wait; wait = wait->next)
		if (wait->following)
			wake_follower(progress, wait);
}

void cshim_hand_over(cshim_progress *progress)
{
	cshim_wait *wait;

	if (progress->leader.at || __atomic_load_n(&progress->poller, __ATOMIC_SEQ_CST) != 0)
		return;
	for (wait = progress->waits.at; wait; wait = wait->next)
		if (wait->following) {
			wake_follower(progress, wait);
			return;
		}
}

/* Whether the thread may be cancelled now: only where it has not the lock. */
static void set_cancel(const cshim_wait *wait, int asleep)
{
	if (wait && wait->goal->kind->cancels)
		pthread_setcancelstate(asleep ? wait->cancel : PTHREAD_CANCEL_DISABLE, NULL);
}

/*
 * The thread is about to sleep in wait; 0: it must not. First it is entered, then the look: if a
 * signal handler of its own runs before the look, the look sees that; if it runs later, it finds
 * the wait.
 */
static int sleep_begins(cshim_wait *wait)
{
	cshim_this_thread.sleeps = wait;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return !cshim_signal_due();
}

/*
 * As the poller the thread has the descriptors kept open. A follower has entered its wait after it
 * has set NONE, so that WOKEN stays: it does not go to sleep, or the futex finds the change.
 */
void cshim_sleep_not(cshim_wait *wait)
{
	if (__atomic_load_n(&wait->progress->poller, __ATOMIC_SEQ_CST) == cshim_tid())
		cshim_kick(wait->progress);
	__atomic_store_n(&wait->signal, SIGNAL_WOKEN, __ATOMIC_SEQ_CST);
}

/* Sleeps on the descriptors, without the lock; then takes the kicks out of the eventfd. */
static void ppoll_all(cshim_progress *progress, const cshim_wait *wait, int64_t timeout_ns)
{
	struct pollfd polled[CSHIM_MAX_DESCRIPTORS];
	struct timespec limit = {timeout_ns / 1000000000, timeout_ns % 1000000000};
	int i, count = progress->num_descriptors, saved = errno;
	uint64_t kicks;

	for (i = 0; i < count; i++)
		polled[i] = (struct pollfd){.fd = progress->descriptors[i], .events = POLLIN};
	/*
	 * The descriptors stay open: the owner closes them only when nobody polls them. The eventfd
	 * does not block.
	 */
	set_cancel(wait, 1);
	count = ppoll(polled, (nfds_t)count, timeout_ns >= 0 ? &limit : NULL, NULL);
	set_cancel(wait, 0);
	if (count > 0 && progress->num_descriptors > 0 && (polled[0].revents & POLLIN) &&
	    read(polled[0].fd, &kicks, sizeof(kicks)) < 0)
		errno = EAGAIN; /* another thread was faster */
	errno = saved;
}

static void stop_polling(cshim_progress *progress)
{
	cshim_this_thread.sleeps = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&progress->poller, 0, __ATOMIC_SEQ_CST);
}

/* The poller is awake, and has the lock. */
static void wake_up(cshim_progress *progress, const cshim_wait *wait, uint32_t handle)
{
	const cshim_owner *owner = progress->owner.at;

	owner->trace(progress, NULL, 0);
	if (progress->asleep.at == wait)
		progress->asleep.at = NULL;
	/*
	 * The owner's half may be gone, but not the descriptors: cshim_progress_close waits for
	 * this.
	 */
	if (cshim_alive(progress, handle))
		owner->disarm(progress);
	stop_polling(progress);
}

int cshim_poll_descriptors(cshim_progress *progress, cshim_wait *wait)
{
	const cshim_owner *owner = progress->owner.at;
	uint32_t handle = progress->handle, nobody = 0, depth;
	int64_t timeout_ns = -1;

	if (!__atomic_compare_exchange_n(&progress->poller, &nobody, cshim_tid(), 0,
	                                 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return 0;
	/* Only a progress call knows of a ticket, and the caller has made one. */
	if (owner->arm(progress, &timeout_ns) ||
	    (wait && wait->goal->kind->over && concerned(progress, wait)) || !sleep_begins(wait)) {
		owner->disarm(progress);
		stop_polling(progress);
		return 1;
	}
	progress->asleep.at = wait;
	owner->trace(progress, "asleep", 0);
	depth = cshim_lock_release_all(progress);
	if (wait)
		wait->depth = depth;
	ppoll_all(progress, wait, wait ? at_most(wait->goal, timeout_ns) : timeout_ns);
	cshim_lock_restore(progress, depth);
	wake_up(progress, wait, handle);
	return 1;
}

void cshim_sleep_ends(cshim_progress *progress, cshim_wait *wait)
{
	cshim_this_thread.sleeps = NULL;
	cshim_lock_restore(progress, wait->depth);
	if (__atomic_load_n(&progress->poller, __ATOMIC_SEQ_CST) == cshim_tid())
		wake_up(progress, wait, wait->handle);
	stop_following(progress, wait);
}

/*
 * Spins for a wake-up, if there is a processor for it. Others need them too: the leader, and the
 * thread that it serves.
 */
static void spin_for_signal(cshim_progress *progress, const cshim_wait *wait, uint32_t spins)
{

	if (spins == 0)
		return;
	if (__atomic_add_fetch(&progress->spinners, 1, __ATOMIC_RELAXED) <
	    (uint32_t)cshim_processors())
		while (spins-- > 0 &&
		       __atomic_load_n(&wait->signal, __ATOMIC_SEQ_CST) == SIGNAL_NONE)
			cshim_pause();
	__atomic_sub_fetch(&progress->spinners, 1, __ATOMIC_RELAXED);
}

static void sleep_for_signal(cshim_wait *wait)
{
	uint32_t signal = SIGNAL_NONE;

	if (__atomic_compare_exchange_n(&wait->signal, &signal, SIGNAL_ASLEEP, 0, __ATOMIC_SEQ_CST,
	                                __ATOMIC_SEQ_CST))
		cshim_futex_wait(&wait->signal, SIGNAL_ASLEEP,
		                 at_most(wait->goal, CSHIM_SAFETY_NS));
	/* Awake for no reason: the caller looks again, and comes back. */
}

void cshim_follow(cshim_progress *progress, cshim_wait *wait, uint32_t spins)
{
	const cshim_owner *owner = progress->owner.at;
	uint32_t depth;

	wait->following = 1;
	__atomic_store_n(&wait->signal, SIGNAL_NONE, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&progress->followers, 1, __ATOMIC_SEQ_CST);
	owner->trace(progress, "following", 0);
	depth = cshim_lock_release_all(progress);
	wait->depth = depth;
	if (sleep_begins(wait)) {
		spin_for_signal(progress, wait, spins);
		sleep_for_signal(wait);
	}
	cshim_this_thread.sleeps = NULL;
	/* The futex is no cancellation point: a thread that is cancelled finds out here. */
	set_cancel(wait, 1);
	if (wait->goal->kind->cancels)
		pthread_testcancel();
	set_cancel(wait, 0);
	cshim_lock_restore(progress, depth);
	owner->trace(progress, NULL, 0);
	stop_following(progress, wait);
}

void cshim_sleep(cshim_progress *progress, cshim_wait *wait)
{

	if (cshim_poll_descriptors(progress, wait))
		return;
	/*
	 * The service thread is the poller. It makes room: a message then wakes the thread that
	 * waits for it, not first another.
	 */
	progress->leader.at = NULL;
	cshim_kick(progress);
	cshim_follow(progress, wait, 0);
}
