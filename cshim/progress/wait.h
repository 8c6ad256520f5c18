/*
 * wait.h - the one way of waiting: look, make progress calls, let others have the processor, sleep.
 * A wait has a goal; its patience says how long each of these takes.
 *
 * Every function here runs under the lock, outside of handlers. The user may have locked it before,
 * any number of times: whenever the lock is let go all levels are, and they are all taken back.
 * Handlers run inside, so the generation may have ended.
 */
#ifndef CSHIM_WAIT_H
#define CSHIM_WAIT_H

#include "progress/lock.h"
#include "progress/waiting.h"

typedef struct cshim_goal cshim_goal;

/* Results of a look. */
#define CSHIM_SEEN_OVER 1u /* the goal is reached */
#define CSHIM_SEEN_NEWS 2u /* something came */
#define CSHIM_SEEN_CALL 4u /* a progress call is due */

/* A kind of goals; constant. Its functions run under the lock, in any thread. */
typedef struct cshim_goal_kind {
	/*
	 * 1: the goal is reached, or never will be. Quick. NULL: the goal is a ticket, which only a
	 * progress call knows.
	 */
	int (*over)(cshim_progress *progress, const cshim_goal *goal);
	/*
	 * Looks, that many times at most, for something that has come, and for the goal;
	 * CSHIM_SEEN_ flags. 0: nothing, or another thread wants the lock. NULL: over says all. It
	 * is for the thread that leads, while no progress call runs.
	 */
	uint32_t (*look)(cshim_progress *progress, const cshim_goal *goal, int looks);
	/* 1: other blocks may reach it too, and their threads do not see this one's waits. */
	int elsewhere;
	/*
	 * 1: a thread that waits for it may be cancelled (pthread_cancel) in cshim_wait_long, as
	 * nothing is left of the wait then. Of its levels of the lock one is given up: its call's.
	 */
	int cancels;
	const char *call; /* the call that waits, for a dump */
	uint32_t shows;   /* what the goal's object is: CSHIM_SHOWS_ of waiting.h */
} cshim_goal_kind;

/* How a thread waits. The numbers are tuned for each kind of goal, where that is defined. */
typedef struct cshim_patience {
	/*
	 * At first, before other threads come into play. The lock stays with the caller, so this
	 * ends when another wants it.
	 */
	int looks;          /* at most this number; news counts as one */
	int looks_per_call; /* after this number without news a progress call is made */
	int call_first;     /* begins with a progress call */
	int yields;         /* gives the processor up before each progress call but the first */
	int crowded;        /* also where threads are not to spin */
	/* Then, while it leads: */
	int glance; /* looks that take the place of most progress calls; 0: none */
	/*
	 * the event that it waits for wakes a sleeper soon: it sleeps if a yield was long, as
	 * another process computes there
	 */
	int sockets;
	int sleeps; /* at once: it neither spins nor yields */
} cshim_patience;

struct cshim_goal {
	const cshim_goal_kind *kind;
	const cshim_patience *patience;
	void *object;     /* the kind's */
	uint64_t number;  /* the kind's, or the ticket */
	int64_t until_ns; /* of CLOCK_MONOTONIC: waits no longer; 0: for ever */
};

/* How a wait ended. */
enum {
	CSHIM_WAIT_OVER,
	CSHIM_WAIT_ENDED,       /* the generation has ended */
	CSHIM_WAIT_INTERRUPTED, /* by cshim_wait_interrupt */
	CSHIM_WAIT_LATE,        /* it was until_ns */
	CSHIM_WAIT_NOT_YET      /* of cshim_wait_soon: the rest is for cshim_wait_long */
};

/* One thread's wait, on that thread's stack, while it is in cshim_wait_long. */
typedef struct cshim_wait {
	cshim_progress *progress; /* constant */
	const cshim_goal *goal;
	int interrupted;         /* under the lock */
	int following;           /* under the lock: its thread follows and was not woken yet */
	int cancel;              /* its thread's own: whether it can be cancelled outside of this */
	uint32_t depth;          /* levels of the lock that it gave up to sleep */
	uint32_t handle;         /* constant: the generation */
	CSHIM_SHARED uint32_t signal;         /* atomic futex: of sleep.c */
	cshim_waiting *shown;    /* its thread's own: its record; NULL: not long enough yet */
	struct cshim_wait *next; /* list of all waits of the block, under the lock */
} cshim_wait;

/* Waits with other threads, for as long as it takes. The goal stays as it is until it returns. */
int cshim_wait_long(cshim_progress *progress, const cshim_goal *goal);
/* 1 if a thread is in cshim_wait_long for a goal with this object. */
static inline int cshim_waited_for(const cshim_progress *progress, const void *object)
{
	const cshim_wait *wait;

	for (wait = progress->waits.at; __builtin_expect(wait != NULL, 0); wait = wait->next)
		if (wait->goal->object == object)
			return 1;
	return 0;
}

/* Ends those waits for goals of a kind that concerns says 1 for; it may be asked again. */
void cshim_wait_interrupt(cshim_progress *progress, const cshim_goal_kind *kind,
                          int (*concerns)(cshim_progress *, const cshim_goal *));

/* kind: the goal's, by itself, as a constant mostly. */
static inline __attribute__((always_inline)) uint32_t
cshim_look(cshim_progress *progress, const cshim_goal_kind *kind, const cshim_goal *goal, int looks)
{
	if (kind->look)
		return kind->look(progress, goal, looks);
	for (; looks > 0; looks--) {
		if (kind->over(progress, goal))
			return CSHIM_SEEN_OVER;
		if (__builtin_expect(
			    __atomic_load_n(&progress->lock_waiters, __ATOMIC_RELAXED) != 0, 0))
			return 0;
		cshim_between_polls();
	}
	return 0;
}

/* The generation called handle, or the goal, is over; else looks still. */
static inline int cshim_seen(cshim_progress *progress, uint32_t handle, uint32_t seen)
{
	if (__builtin_expect(!cshim_alive(progress, handle), 0))
		return CSHIM_WAIT_ENDED;
	return seen & CSHIM_SEEN_OVER ? CSHIM_WAIT_OVER : CSHIM_WAIT_NOT_YET;
}

/*
 * Waits for as long as that mostly takes, before anything else. Inline, so that a goal's kind and
 * patience are constants in it: the fastest answers come here.
 */
static inline __attribute__((always_inline)) int cshim_wait_soon(cshim_progress *progress,
                                                                 const cshim_goal *goal)
{
	const cshim_goal_kind *kind = goal->kind;
	const cshim_patience *patience = goal->patience;
	int left = patience->looks, call = patience->call_first, so_far;
	uint32_t handle = progress->handle, seen;

	if ((CSHIM_OWN(progress->spin_calls) == 0 && !patience->crowded) || CSHIM_OWN(progress->calling))
		return CSHIM_WAIT_NOT_YET;
	cshim_poll_note(progress);
	while (left > 0 && !progress->leader.at) {
		/* An error is reported again, in a call whose thread can run the error handler. */
		if (call && cshim_progress_call(progress, 0) & CSHIM_PROGRESS_ERROR)
			return cshim_seen(progress, handle, 0);
		if (call && !cshim_alive(progress, handle))
			return CSHIM_WAIT_ENDED;
		seen = cshim_look(progress, kind, goal, patience->looks_per_call);
		if ((so_far = cshim_seen(progress, handle, seen)) != CSHIM_WAIT_NOT_YET)
			return so_far;
		if (__atomic_load_n(&progress->lock_waiters, __ATOMIC_RELAXED) != 0)
			return CSHIM_WAIT_NOT_YET;
		if (patience->yields) {
			cshim_yield_unlocked(progress);
			if (!cshim_alive(progress, handle))
				return CSHIM_WAIT_ENDED;
			/* Others wait for this thread to go on, and not for its progress call. */
			if (kind->over(progress, goal))
				return CSHIM_WAIT_OVER;
			cshim_poll_note(progress);
		}
		left -= seen & CSHIM_SEEN_NEWS ? 1 : patience->looks_per_call;
		call = !(seen & CSHIM_SEEN_NEWS) || seen & CSHIM_SEEN_CALL;
	}
	return CSHIM_WAIT_NOT_YET;
}

/* Waits; how that ended. The goal fills memory only where the wait is long. */
static inline __attribute__((always_inline)) int cshim_wait_for(cshim_progress *progress,
                                                                const cshim_goal *goal)
{
	int so_far = cshim_wait_soon(progress, goal);
	cshim_goal whole;

	if (__builtin_expect(so_far != CSHIM_WAIT_NOT_YET, 1))
		return so_far;
	whole = *goal;
	return cshim_wait_long(progress, &whole);
}

#endif
