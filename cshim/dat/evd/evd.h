/*
 * evd.h - the event queues of uDAPL (EVDs), and the CNOs that they trigger: all that becomes of an
 * event from its post until the program has it. This room alone changes them; core makes and frees
 * them, and posts by one call, the lane writes its events where the program takes them.
 *
 * An EVD or a CNO is named by its handle, the address of its dat_slot. Everything under the block's
 * lock, but for the slot's ready and poked, which a thread looks at that waits (relaxed; the block
 * orders the rest). Results are DAT_RETURN's. No function calls core, or waits.
 */
#ifndef DAT_EVD_H
#define DAT_EVD_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/shared.h"
#include "progress/progress.h"

/* The block of uDAPL, whose lock covers everything of it, and at which threads wait for events. Its
 * state is ACTIVE while an adapter is open. */
extern cshim_progress dat_progress;

/* The memory that a handle is the address of, but for an adapter's: core/dat's Slot. */
typedef struct dat_slot {
	uint64_t table;
	uint32_t kind;   /* 1 + DAT_HANDLE_TYPE; 0: not in use */
	CSHIM_SHARED uint32_t ready;  /* of an EVD: events that wake a waiter; of a CNO: 1 if triggered */
	CSHIM_SHARED uint32_t poked;  /* it changes to end waits */
	uint32_t length; /* of an EVD: events in the queue */
	/* address of an EVD's dat_queue, a CNO's dat_cno, an EP's dat_end, a group's dat_group; 0:
	 * none */
	uint64_t lane;
	uint64_t line[4];
} dat_slot;

/* A DAT_EVENT of 64-bit programs; in others no adapter is opened. */
typedef struct evd_event {
	uint32_t number, zero;
	uint64_t evd;
	uint64_t data[5], extension[8];
} evd_event;

/* flags of a dat_queue */
#define DAT_QUEUE_WAITING 1u /* a thread is in dat_evd_wait */
#define DAT_QUEUE_BLOCKED 2u /* in one, and has found too few events */
#define DAT_QUEUE_UNWAITABLE 4u
#define DAT_QUEUE_OVERFLOWED 8u /* the asynchronous error was posted since it was empty */
#define DAT_QUEUE_DISABLED 16u  /* events trigger no CNO */
#define DAT_QUEUE_TRANSFERS 32u /* by core: for nothing but what data transfers bring */
#define DAT_QUEUE_DTO 64u       /* constant: DAT_EVD_DTO_FLAG */
#define DAT_QUEUE_SOLICITED 128u /* by core: some receives wake only if solicited */
#define DAT_QUEUE_FIRED 256u     /* it has triggered its CNO, and was not taken from there */
#define DAT_QUEUE_SOFTWARE 512u  /* constant: DAT_EVD_SOFTWARE_FLAG */

#define DAT_QUEUE_COUNTERS 10 /* DAT_EVD_COUNTERS, of which these are */
#define EVD_WAITS 0
#define EVD_DEQUEUES 3
#define EVD_DEQUEUES_FOUND 4
#define EVD_DEQUEUES_IN_VAIN 5
#define EVD_LOOKS 6
#define EVD_LOOKS_FOUND 7

/* Elements of one kind, oldest first; how many is its owner's to know. */
typedef struct dat_ring {
	uint64_t at;   /* address of room elements */
	uint32_t room; /* a power of two, which compilers do not know: they would divide; or 0 */
	uint32_t head; /* the oldest is in place head % room */
} dat_ring;

/* The place of the i-th from the oldest on. */
static inline void *dat_ring_at(const dat_ring *ring, uint32_t i, size_t bytes)
{
	return (unsigned char *)(uintptr_t)ring->at +
	       (size_t)((ring->head + i) & (ring->room - 1)) * bytes;
}

/* handle.c: makes room for twice as many, first at first and most at most, of which count are there;
 * 0: there is no memory. */
int dat_ring_grow(dat_ring *ring, uint32_t count, size_t bytes, uint32_t first, uint32_t most);

/* An EVD's events; how many is in its slot. */
typedef struct dat_queue {
	dat_ring ring; /* of evd_event */
	uint32_t size; /* events that fit */
	uint32_t flags;
	uint64_t cno;       /* handle; 0: none */
	uint64_t next;      /* the EVD that has triggered the CNO after this one */
	uint64_t async;     /* the EVD that overflows are posted to; 0: none; it may be this one */
	uint64_t overflows; /* events posted there, until core takes their number */
	uint64_t counters[DAT_QUEUE_COUNTERS];
} dat_queue;

/* A CNO: it is triggered until each EVD that has fired was taken, in the order in which they did. */
typedef struct dat_cno {
	uint64_t function, instance; /* its agent; 0: none */
	uint64_t first, last;        /* EVDs that have fired and were not taken */
	uint32_t evds;               /* that name it */
	uint32_t waiting;            /* threads in dat_cno_wait */
	uint32_t called; /* the agent was, since the CNO was last taken or the agent set */
	int32_t fd;      /* of dat_cno_fd_create; -1: none */
	uint64_t due;    /* the EVD that its agent is to be called for; 0: it is not to be called */
	uint64_t next;   /* the CNO whose agent is to be called next */
} dat_cno;

#define DAT_AREA_SHIFT 16 /* an area of handles has 64 KiB */

/* handle.c: addresses of areas of handles, each as near as possible behind the place that it hashes
 * to; 0: none. Core has no more than half as many. */
#define DAT_AREAS 2048
extern uint64_t handle_areas[DAT_AREAS];
void handle_add_area(uint64_t area); /* for good */
int handle_is_area(uint64_t area);

/*
 * The slot of a handle of that kind (DAT_HANDLE_TYPE); NULL: it is none. No memory is touched but
 * that of handles.
 */
static inline dat_slot *handle_find(const void *handle, uint32_t kind)
{
	uint64_t at = (uintptr_t)handle, area = at >> DAT_AREA_SHIFT << DAT_AREA_SHIFT;
	dat_slot *slot = (dat_slot *)(uintptr_t)at;

	if (!area || at % sizeof(*slot) ||
	    (__builtin_expect(handle_areas[at >> DAT_AREA_SHIFT & (DAT_AREAS - 1)] != area, 0) &&
	     !handle_is_area(area)))
		return NULL;
	return slot->kind == 1 + kind ? slot : NULL;
}

static inline dat_slot *dat_slot_at(uint64_t handle)
{
	return (dat_slot *)(uintptr_t)handle;
}

static inline dat_queue *dat_queue_of(const dat_slot *slot)
{
	return (dat_queue *)(uintptr_t)slot->lane;
}

static inline dat_cno *dat_cno_of(const dat_slot *slot)
{
	return (dat_cno *)(uintptr_t)slot->lane;
}

/*
 * Makes the queue of an EVD: flags are the constant ones. Overflows are posted to async, which
 * evd_set_async changes. 0: there is no memory. evd_close takes it from its CNO.
 */
int evd_open(uint64_t evd, uint32_t size, uint32_t flags, uint64_t async);
void evd_set_async(uint64_t evd, uint64_t async);
void evd_close(uint64_t evd);
/*
 * Posts an event, whose evd is set, and counts it. silent: it ends no wait and triggers nothing
 * until evd_wake. 0: it did not fit, and is dropped: that is posted as an asynchronous error,
 * once until the queue is empty.
 */
int evd_post(uint64_t evd, const evd_event *event, int silent);
/* Posts a software event, as the program has it. */
uint32_t evd_post_software(uint64_t evd, uint32_t number, uint64_t pointer);
/* Threads that wait see all events, and the CNO is triggered. */
void evd_wake(uint64_t evd);
void evd_set(uint64_t evd, uint32_t flag, int on); /* a flag of core's */
/* 0: no CNO. Events that are there trigger it. */
void evd_set_cno(uint64_t evd, uint64_t cno);
void evd_enable(uint64_t evd, int on);
void evd_set_waitable(uint64_t evd, int on);
uint32_t evd_set_size(uint64_t evd, int32_t size);

/* dat_evd_dequeue, where progress was made before if no event was there: posted says so. */
uint32_t evd_take(uint64_t evd, evd_event *event);
/* The same, where evd_wanted says that the event is there already. */
static inline void evd_taken(dat_queue *queue)
{
	queue->counters[EVD_DEQUEUES]++;
	queue->counters[EVD_DEQUEUES_FOUND]++;
}

/* The same, where none is there and no thread waits. */
static inline void evd_not_taken(dat_queue *queue)
{
	queue->counters[EVD_DEQUEUES]++;
	queue->counters[EVD_DEQUEUES_IN_VAIN]++;
}

/* dat_evd_wait has found an event without a wait, and taken it. */
static inline void evd_waited(dat_queue *queue)
{
	queue->counters[EVD_WAITS]++;
}

/* A look for events, where none were; and that it has found some. */
static inline void evd_looks(dat_queue *queue)
{
	queue->counters[EVD_LOOKS]++;
}

static inline void evd_looked(dat_queue *queue)
{
	queue->counters[EVD_LOOKS_FOUND]++;
}
/*
 * dat_evd_wait: the thread waits in between until slot->ready reaches threshold or poked changes.
 * blocks: it has time to. After silent events were collected, if the queue has SOLICITED, before
 * and after the wait. more may be NULL.
 */
uint32_t evd_wait_begins(uint64_t evd, int32_t threshold, int blocks);
uint32_t evd_wait_ends(uint64_t evd, int32_t threshold, evd_event *event, int32_t *more);
void evd_wait_cancelled(uint64_t evd);

/*
 * Where an event is to be written, as an evd_event, that evd_placed then posts and counts by a
 * counter of DAT_EVD_COUNTERS; NULL: it does not fit. silent: as evd_post has it.
 */
void *evd_place(uint64_t evd);
void evd_placed(uint64_t evd, int counter, int silent);
/*
 * The next event of an EVD whose queue is empty is to be written where the program wants it, and
 * not to the queue first: as it is made of short stores, a copy right after them would wait for
 * them. Until evd_wanted: 1 if it was, and so has been taken. Nothing of core's in between,
 * which may let another thread have the lock. evd 0: nothing.
 */
void evd_want(uint64_t evd, void *event);
int evd_wanted(void);

/* Makes a CNO, with an agent (0: none) and a descriptor (-1: none), which cno_close closes. */
int cno_open(uint64_t cno, uint64_t function, uint64_t instance, int32_t fd);
void cno_close(uint64_t cno);
void cno_set_agent(uint64_t cno, uint64_t function, uint64_t instance);
/* Takes the EVD that has fired first: *evd, 0 with DAT_QUEUE_EMPTY. */
uint32_t cno_take(uint64_t cno, uint64_t *evd);
/* A thread waits until slot->ready is 1 or poked changes; then it takes, or was cancelled. */
void cno_waits(uint64_t cno, int on);
/* Takes an agent that is to be called once the lock is free; 0: none is. */
int cno_next_agent(uint64_t *function, uint64_t *instance, uint64_t *evd);
int cno_agents(void); /* 1: some are */
int cno_some(void);   /* 1: some EVD has a CNO, so events are news though no thread waits */

#endif
