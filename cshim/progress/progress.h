/*
 * progress.h - how threads make and await progress in one block of shared state: the contract of
 * this part.
 *
 * A block belongs to an owner: a LAPI context, say. The owner decides what progress is
 * (cshim_owner); here is which thread makes it, and how the others wait. Lock order: the lock of
 * the block (lock.h), nothing else. "Under the lock" means that of the same block.
 *
 * Words: a progress call is one turn of the owner's dispatcher. Of several waiting threads one, the
 * leader, makes progress calls for all; the others are its followers. The poller is the one thread
 * that sleeps on the descriptors: the leader or the service thread. A task is polling while a
 * thread is inside a call that waits or polls.
 */
#ifndef CSHIM_PROGRESS_H
#define CSHIM_PROGRESS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/cpu.h"
#include "cpu/shared.h"

#define CSHIM_MAX_DESCRIPTORS 16

/* state */
#define CSHIM_FREE 0
#define CSHIM_INITIALIZING 1
#define CSHIM_ACTIVE 2
#define CSHIM_TERMINATING 3

/* Results of a progress call. */
#define CSHIM_PROGRESS_TICKET 1u /* the ticket asked for is done */
#define CSHIM_PROGRESS_MADE 2u   /* something arrived, was sent or completed */
#define CSHIM_PROGRESS_ERROR 4u  /* an error waits for the owner to report it */

typedef struct cshim_progress cshim_progress;
struct cshim_dump;

/* The owner's functions. Constant. All but the last three: under the lock. */
typedef struct cshim_owner {
	const char *name; /* what the names of the library's threads begin with */
	/*
	 * One progress call; CSHIM_PROGRESS_ flags. ticket: 0, or what to report as
	 * CSHIM_PROGRESS_TICKET. Never nested. It may end the generation, and let others have the
	 * lock meanwhile.
	 */
	uint32_t (*call)(cshim_progress *progress, uint64_t ticket);
	/*
	 * About to sleep: 1 if there is work now; else *timeout_ns is how long at most (-1: for
	 * ever). disarm after waking.
	 */
	int (*arm)(cshim_progress *progress, int64_t *timeout_ns);
	void (*disarm)(cshim_progress *progress);
	/*
	 * The task is polling (1), or no thread of the user's has been for a tick of the service
	 * thread (0): for the peers.
	 */
	void (*polling)(cshim_progress *progress, int polling);
	/*
	 * Reports all errors that wait, by functions of the user's, without the lock around them:
	 * the generation may have ended afterwards. polls: the caller is between cshim_poll_begin
	 * and cshim_poll_end.
	 */
	void (*errors)(cshim_progress *progress, int polls);
	/* For a trace: what this thread does from now on, NULL: no more, with code. */
	void (*trace)(cshim_progress *progress, const char *what, int32_t code);
	/* The body of a handler thread: returns when the generation called handle has ended. */
	void (*handlers)(cshim_progress *progress, uint32_t handle);
	/* The generation has ended: lets handler threads that sleep find that out. */
	void (*wake_handlers)(cshim_progress *progress);
	/*
	 * Adds to a dump (dump.h) what the owner knows: first without the lock, then, if that can be
	 * had, under it. Changes nothing. NULL: nothing is known.
	 */
	void (*dump)(cshim_progress *progress, struct cshim_dump *dump, int locked);
} cshim_owner;

/* A pointer in a block, as wide in every word size. */
#define CSHIM_AT(type)          \
	union {                 \
		type *at;       \
		uint64_t width; \
	}

/*
 * The block. Go shares it (transport/layout), hence fixed widths. Blocks are never freed but used
 * again, possibly while threads of the last generation are still on their way out; so fields that
 * count threads are never reset, and a thread that finds another handle than its own touches
 * nothing else.
 */
struct cshim_progress {
	/*
	 * Identity: written by the owner before state becomes ACTIVE (release), constant until it
	 * is TERMINATING.
	 */
	CSHIM_SHARED uint32_t state;  /* atomic; above */
	uint32_t handle; /* names the generation */

	/* First what every call touches. The lock (lock.h): */
	CSHIM_SHARED uint32_t lock_word;    /* atomic: 0 free, else the owning thread's id */
	uint32_t lock_depth;   /* owning thread only: how often it has locked */
	CSHIM_SHARED uint32_t lock_waiters; /* atomic: threads inside the slow path of locking */
	/* atomic: how often the lock was taken; lets a yielding thread see that another had it */
	CSHIM_SHARED uint32_t lock_count;
	/* atomic: the owning thread's pthread_t, 0 if free; only that thread writes */
	CSHIM_SHARED uint64_t lock_thread;
	/* atomic: what a thread must see to that has released the lock: CSHIM_LOCK_ flags */
	CSHIM_SHARED uint32_t lock_after;
	/*
	 * by the lock's owner: it has borrowed the lock, and gives it back to the thread it is from
	 */
	uint32_t lock_borrowed;

	/* Waiting threads (wait.c, sleep.c): */
	/* atomic, written under the lock: changes when what a thread waits for may be over */
	CSHIM_SHARED uint32_t event_seq;
	/* under the lock: event_seq up to which waiting threads were notified */
	uint32_t noticed_events;
	CSHIM_SHARED uint32_t followers; /* atomic, written under the lock: waits that are following */
	uint32_t due;         /* under the lock, the owner's: functions of the user's are due */
	CSHIM_AT(struct cshim_wait)
	leader; /* under the lock: the leader's wait, NULL if there is none */
	/* under the lock: the leader's wait while it is the poller, until it is kicked */
	CSHIM_AT(struct cshim_wait) asleep;

	/* atomic, written under the lock: threads inside a call that waits or polls */
	CSHIM_SHARED uint32_t polling;
	/* atomic: changes with each such call; the service thread looks for change */
	CSHIM_SHARED uint32_t polls;
	uint32_t not_polling; /* under the lock: peers were notified of it */
	/* under the lock: 1 while a progress call runs, so that handlers do not nest it */
	CSHIM_SHARED uint32_t calling;
	uint32_t caller; /* under the lock: the thread inside it; valid while calling */
	/*
	 * By the lock's owner: levels of the lock that the user's handler under way must not give
	 * up, as the block's owner is in the middle of something below it; 0 outside of handlers
	 * that run with the lock held. While it is not 0 the lock stays.
	 */
	uint32_t lock_floor;
	/*
	 * progress calls in vain before a waiting thread yields; 0: it does not spin. Under the
	 * lock; the service thread looks at it without
	 */
	CSHIM_SHARED uint32_t spin_calls;
	uint32_t yields;   /* constant: yields before it sleeps */
	CSHIM_SHARED uint32_t spinners; /* atomic: followers that spin */
	/* atomic: thread id of the one thread asleep on the descriptors, 0 if none */
	CSHIM_SHARED uint32_t poller;
	uint32_t lock_crowded; /* under the lock: calls that left while others waited for it */
	/* atomic futex: changes when sleeping waiters shall look at the lock again */
	CSHIM_SHARED uint32_t lock_wakes;

	/* The service thread (service.c): */
	/* atomic, by the owner under the lock: it makes progress if nobody polls */
	CSHIM_SHARED uint32_t interrupts;
	CSHIM_SHARED uint32_t service_seq;    /* atomic futex: it must look around */
	CSHIM_SHARED uint32_t service_parked; /* atomic: it sleeps until user threads leave */
	CSHIM_SHARED uint32_t service_tid;    /* atomic: its thread id, 0 if it does not run */

	CSHIM_AT(const cshim_owner) owner; /* by cshim_progress_add */
	CSHIM_AT(cshim_progress) next;     /* of all blocks */
	CSHIM_AT(struct cshim_wait) waits; /* under the lock: every wait under way */
	/* by the thread that starts or ends a generation: the library's threads */
	CSHIM_AT(struct cshim_threads) threads;

	/* The poller's descriptors: constant while ACTIVE. */
	int32_t num_descriptors;
	/* [0] is an eventfd of this process: cshim_kick writes it */
	int32_t descriptors[CSHIM_MAX_DESCRIPTORS];
	uint32_t reserved;
};

/* progress.c */

/*
 * Once in a process, before any lock is taken: finds out what the kernel offers. Any thread, any
 * number of times.
 */
void cshim_progress_prepare(void);
/* Makes a block one of owner's, for good. Before its first use, by one thread; without any lock. */
void cshim_progress_add(cshim_progress *progress, const cshim_owner *owner);
/* A generation begins; by its only thread so far. Fields that count threads stay. */
void cshim_progress_clear(cshim_progress *progress);
/*
 * The generation ends: the block leaves ACTIVE, and no thread sleeps on. Waits end, under their
 * threads' own lock, with CSHIM_WAIT_ENDED. The caller owns the lock, all of which it gives up;
 * afterwards no thread is on the descriptors or will be.
 */
void cshim_progress_close(cshim_progress *progress);

/* How many blocks are, or are becoming, active. A snapshot. By the owners. */
extern int cshim_progress_claimed;
static inline int cshim_progress_active(void)
{
	return __atomic_load_n(&cshim_progress_claimed, __ATOMIC_RELAXED);
}

/*
 * 1 if handle names an active generation and this is it. Under the lock that stays true until the
 * lock is released.
 */
static inline int cshim_alive(const cshim_progress *progress, uint32_t handle)
{
	typedef uint64_t __attribute__((may_alias)) identity; /* state and handle, in one look */

	_Static_assert(offsetof(cshim_progress, state) == 0 &&
	                       offsetof(cshim_progress, handle) == 4 &&
	                       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	               "they make one word");
	/* Acquire pairs with the release store of ACTIVE: its reader sees the block filled. */
	return __atomic_load_n((const identity *)(const void *)progress, __ATOMIC_ACQUIRE) ==
	       ((uint64_t)handle << 32 | CSHIM_ACTIVE);
}

/* A thread's own state; tid is 0 until asked for. */
typedef struct cshim_self {
	uint32_t tid;
	/* it is inside a call of the API, and not in a function of the user's called from there */
	uint32_t inside;
	uint64_t thread; /* its pthread_t */
	/* the user's innermost handler that it runs with the lock of a block held (lock.h) */
	struct cshim_handler *handler;
	/* by its signal handlers: SIGTERM or SIGINT, whose handler is to run again (owed.c); 0: none */
	volatile int owed;
	/* the wait that it sleeps in, or is about to (sleep.c): for its signal handlers */
	struct cshim_wait *volatile sleeps;
} cshim_self;

/* Initial-exec: one instruction, and no allocation on first use in a thread. */
extern __thread cshim_self cshim_this_thread __attribute__((tls_model("initial-exec")));

uint32_t cshim_tid_ask(void);
/* In the child of a fork, by its only thread: the cached id was the parent's. */
void cshim_tid_forget(void);

/* The calling thread's kernel id. */
static inline uint32_t cshim_tid(void)
{
	uint32_t tid = cshim_this_thread.tid;

	return __builtin_expect(tid != 0, 1) ? tid : cshim_tid_ask();
}

/*
 * A call of the API begins; 0: it cannot, as it comes from a signal handler that has interrupted
 * another one in this thread. That is the only way to be here twice: functions of the user's are
 * outside. Set before the lock is touched, and until it is given up.
 */
static inline int cshim_inside_begins(void)
{
	if (__builtin_expect(cshim_this_thread.inside != 0, 0))
		return 0;
	cshim_this_thread.inside = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return 1;
}

/* owed.c: a signal handler has called the API in vain, and is to run again. */
void cshim_owe_signal(void);
/* Runs it, if it may run now; in the calling thread, which is outside of the API. */
void cshim_pay_signal(void);
int cshim_owed_due(void);
/* 1 if cshim_pay_signal would run a handler. */
static inline int cshim_signal_due(void)
{
	return __builtin_expect(cshim_this_thread.owed != 0, 0) && cshim_owed_due();
}
/* sleep.c: the calling thread, in a signal handler, does not sleep on in this wait of its own. */
void cshim_sleep_not(struct cshim_wait *wait);

static inline void cshim_inside_ends(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cshim_this_thread.inside = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(cshim_this_thread.owed != 0, 0))
		cshim_pay_signal();
}

/*
 * A function of the user's runs in this thread, called by the library, below which the library goes
 * on: so the thread must not end in it (pthread_cancel).
 */
typedef struct cshim_outside {
	uint32_t inside;
	int cancel;
} cshim_outside;

static inline cshim_outside cshim_outside_begins(void)
{
	cshim_outside before = {.inside = cshim_this_thread.inside};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.cancel);
	cshim_this_thread.inside = 0;
	return before;
}

static inline void cshim_outside_ends(cshim_outside before)
{
	cshim_this_thread.inside = before.inside;
	pthread_setcancelstate(before.cancel, NULL);
}

/* Progress calls; all under the lock. */

/* Around every progress call. Others look at calling without the lock, hence atomic. */
static inline void cshim_call_begins(cshim_progress *progress)
{
	progress->caller = cshim_tid();
	__atomic_store_n(&progress->calling, 1, __ATOMIC_RELAXED);
}

static inline void cshim_call_ends(cshim_progress *progress)
{
	__atomic_store_n(&progress->calling, 0, __ATOMIC_RELAXED);
}

/*
 * 1 if the caller is a handler that runs with the lock held, or inside a progress call: it must not
 * give up the lock.
 */
static inline int cshim_in_handler(const cshim_progress *progress)
{
	return __builtin_expect(progress->lock_floor != 0, 0) ||
	       (__builtin_expect(CSHIM_OWN(progress->calling), 0) && progress->caller == cshim_tid());
}

/*
 * 1 if the caller is a handler that runs with the lock of some block held. It must wait for nothing
 * that peers do: their threads may be in handlers that wait for this task, whose block with the
 * lock makes no progress meanwhile.
 */
static inline int cshim_holds_others(void)
{
	return cshim_this_thread.handler != NULL;
}

/*
 * Something that a thread may wait for has changed. Under the lock, hence no locked instruction;
 * others only read.
 */
static inline void cshim_event(cshim_progress *progress)
{
	__atomic_store_n(&progress->event_seq, CSHIM_OWN(progress->event_seq) + 1, __ATOMIC_RELAXED);
}

/* sleep.c: what follows when event_seq has moved and others wait. */
void cshim_notify_others(cshim_progress *progress);
/*
 * Every thread that called the owner does this before it lets go of the lock: wakes followers whose
 * wait is over, and kicks the poller if its wait may be.
 */
static inline void cshim_notify(cshim_progress *progress)
{
	uint32_t events = __atomic_load_n(&progress->event_seq, __ATOMIC_SEQ_CST);

	if (events == progress->noticed_events)
		return;
	progress->noticed_events = events;
	if (__builtin_expect(__atomic_load_n(&progress->followers, __ATOMIC_RELAXED) != 0 ||
	                             progress->asleep.at,
	                     0))
		cshim_notify_others(progress);
}

/*
 * One progress call of the owner's, with what belongs around it. 0, and nothing done, while
 * another's is not over. The caller makes sure that it is not in a handler, and has errors reported
 * when the flags say so.
 */
static inline uint32_t cshim_progress_call(cshim_progress *progress, uint64_t ticket)
{
	uint32_t flags;

	/* Another thread, whose handler has given up the lock for a moment: its call is not over.
	 */
	if (CSHIM_OWN(progress->calling))
		return 0;
	cshim_call_begins(progress);
	flags = progress->owner.at->call(progress, ticket);
	cshim_call_ends(progress);
	cshim_notify(progress);
	return flags;
}

/* Makes the poller return from its sleep. */
void cshim_kick(cshim_progress *progress);

/*
 * A user thread begins and ends a call that polls, or polls for a moment outside of such a call:
 * the service thread keeps out of its way, and the peers learn that the task is polling again.
 */
void cshim_poll_begin(cshim_progress *progress);
void cshim_poll_end(cshim_progress *progress);
/*
 * service.c: notifies the peers, and the service thread, which is to notice when nobody polls any
 * more.
 */
void cshim_polls_again(cshim_progress *progress);
static inline void cshim_poll_note(cshim_progress *progress)
{
	__atomic_store_n(&progress->polls, CSHIM_OWN(progress->polls) + 1, __ATOMIC_RELAXED);
	if (__builtin_expect(progress->not_polling != 0, 0))
		cshim_polls_again(progress);
}
/*
 * If there is no leader and no poller, wakes a follower to lead. A thread calls it when it stops
 * looking after the block.
 */
void cshim_hand_over(cshim_progress *progress);

/*
 * Gives the processor up for others, and the lock with all its levels meanwhile. The generation may
 * have ended afterwards.
 */
void cshim_yield_unlocked(cshim_progress *progress);

/* CLOCK_MONOTONIC */
int64_t cshim_now_ns(void);

/* The library's threads. */

typedef struct cshim_threads_plan {
	uint32_t handlers; /* how many handler threads, beside the service thread */
	/* of all these threads; NULL: the default. Needed until cshim_threads_start returns */
	const pthread_attr_t *attributes;
	void (*begin)(void *, void *); /* NULL, or what each of them calls first, with these: */
	void *first, *second;
} cshim_threads_plan;

/*
 * Whether some threads can be had now, for callers that cannot do without: 0, or the error of
 * pthread_create. Makes them and ends them.
 */
int cshim_threads_probe(void);
/*
 * Starts the service thread and the handler threads of a block in state ACTIVE: 0, or the error of
 * pthread_create; also then cshim_threads_stop must be called. Without the lock.
 */
int cshim_threads_start(cshim_progress *progress, const cshim_threads_plan *plan);
/*
 * The generation has ended: wakes all its threads and waits for their end, but for the calling one.
 * Without the lock.
 */
void cshim_threads_stop(cshim_progress *progress);
/* Makes the service thread look around, after something that it decides by has changed. */
void cshim_service_alert(cshim_progress *progress);
/*
 * The same, and the poller's sleep ends if it is the service thread: interrupts has changed. Under
 * the lock.
 */
void cshim_service_switch(cshim_progress *progress);

#endif
