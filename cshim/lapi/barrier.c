/*
 * barrier.c - the barrier of LAPI_Gfence through the segments of the node's tasks; barrier.h has the rules.
 *
 * Everything runs under the context lock. Whoever turns the dispatcher looks at the words, for the threads that wait in LAPI_Gfence. Of several
 * of these each has a generation of its own: it arrives when the one before is over.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "barrier_wait.h"
#include "lane_shared.h"

enum {
	TURN_LOOKS = 8,      /* looks at the words for one turn of the dispatcher */
	SPIN_LOOKS = 2400,   /* about 40 us, what a sleep and a wake-up cost, where tasks have a processor each */
	SOON_YIELDS = 16,    /* of a processor that tasks share: one is enough where all come at their time */
	LAST_LOOKS = 400,    /* about 10 us, several switches on another processor */
};

static node_link *paths_of(const cshim_context *context)
{
	return (node_link *)(uintptr_t)context->barrier;
}

static node_segment_head *head_of(const node_link *paths, uint32_t task)
{
	return node_head(task == paths->own_ring ? paths->own_head : paths->peer[task].out_head);
}

static node_barrier_words *words_of(const node_link *paths, uint32_t task)
{
	return &head_of(paths, task)->barrier;
}

/* Has task hear of a word that was stored before, if it sleeps. */
static void wake(node_link *paths, uint32_t task)
{
	node_peer *peer = &paths->peer[task];

	/* Store, then look: a full fence lies between, here or in the sleeper's membarrier. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(peer->fenced != 0, 0))
		node_membarrier_full();
	if (__builtin_expect(__atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_RELAXED) & NODE_ASLEEP, 0))
		node_ring_bell(peer);
}

/* The generation is over: so may be the waits of other threads. */
static void end_generation(cshim_context *context, node_barrier *barrier)
{
	barrier->over = barrier->arrived;
	if (cshim_private_of(context)->waits)
		cshim_lane_event(context);
}

/* Task has written what cannot be, or has left: core fails it, and with it the barrier. */
static void give_up(cshim_context *context, const node_link *paths, uint32_t task)
{
	if (!paths->barrier.failed)
		golapi_barrier_broken(cshim_index_of(context), task == paths->own_ring ? -1 : paths->peer[task].task);
}

/* Tells the task that waits for this one in a round of the dissemination. */
static void signal_round(node_link *paths, uint32_t round)
{
	/* release: the task's own fence, and the signals of the rounds before */
	__atomic_store_n(&words_of(paths, paths->own_ring)->round[round].value, paths->barrier.arrived, __ATOMIC_RELEASE);
	wake(paths, (paths->own_ring + (1u << round)) % paths->rings);
}

/* Whom this task waits for in the round that it is in. */
static uint32_t signaller(const node_link *paths)
{
	return (paths->own_ring + paths->rings - (1u << paths->barrier.round)) % paths->rings;
}

static uint64_t signal_of(const node_link *paths, uint32_t task)
{
	return __atomic_load_n(&words_of(paths, task)->round[paths->barrier.round].value, __ATOMIC_ACQUIRE);
}

static uint64_t released(const node_link *paths)
{
	return __atomic_load_n(&words_of(paths, 0)->released.value, __ATOMIC_ACQUIRE);
}

static void look_at_signals(cshim_context *context, node_link *paths)
{
	node_barrier *barrier = &paths->barrier;

	for (;;) {
		/* It may have left already, and signal the next generation. */
		if (signal_of(paths, signaller(paths)) - barrier->arrived > 1)
			return;
		if (++barrier->round == barrier->rounds)
			break;
		signal_round(paths, barrier->round);
	}
	end_generation(context, barrier);
}

/* Changes nothing of core's, so it may happen anywhere, in a handler's call as well. */
static void look(cshim_context *context, node_link *paths)
{
	if (paths->barrier.arrived == paths->barrier.over)
		return;
	if (paths->barrier.rounds)
		look_at_signals(context, paths);
	else if (released(paths) == paths->barrier.arrived)
		end_generation(context, &paths->barrier);
}

/* A task whose word is neither what this one waits for nor what was there before; paths->rings: none. */
static uint32_t talker_of_nonsense(const node_link *paths)
{
	uint64_t before = paths->barrier.arrived - 1;
	uint32_t from = paths->barrier.rounds ? signaller(paths) : 0;

	/* Nobody can be further than one generation ahead without this task, nor release one that it has not arrived at. */
	if ((paths->barrier.rounds ? signal_of(paths, from) : released(paths)) - before > (paths->barrier.rounds ? 2 : 1))
		return from;
	return paths->rings;
}

/* The last to arrive at the counter lets the others go. */
static void release_all(cshim_context *context, node_link *paths)
{
	uint32_t task;

	__atomic_store_n(&words_of(paths, 0)->released.value, paths->barrier.arrived, __ATOMIC_RELEASE);
	/* Nobody's armed word changes while nobody sleeps: then these loads are of lines that are here. */
	for (task = 0; task < paths->rings; task++)
		if (task != paths->own_ring)
			wake(paths, task);
	end_generation(context, &paths->barrier);
}

static void arrive_at_counter(cshim_context *context, node_link *paths)
{
	uint64_t generation = paths->barrier.arrived, count, before = (generation - 1) * paths->rings;

	/* release: for who finds that this task has left, see all_arrived */
	__atomic_store_n(&words_of(paths, paths->own_ring)->round[0].value, generation, __ATOMIC_RELEASE);
	/* release: the task's own fence; acquire: the fences of those who were here before, for who is released */
	count = __atomic_add_fetch(&words_of(paths, 0)->arrivals.value, 1, __ATOMIC_ACQ_REL) - before;
	if (count == paths->rings)
		release_all(context, paths);
	else if (count == 0 || count > paths->rings)
		give_up(context, paths, 0);
}

/*
 * Counts this task among those that arrive on its processor, and sets last if they are as many as in the generation before. The word:
 * generation << 32 | how many in the generation before << 16 | how many in this one. Tasks seldom change processors; when one does the count is
 * wrong once.
 */
static void arrive_here(node_link *paths)
{
	int processor = sched_getcpu();
	uint64_t *word = &words_of(paths, 0)->gathered[(unsigned)processor % NODE_BARRIER_PLACES].value;
	/* relaxed, and not in one step: a hint */
	uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
	uint32_t generation = (uint32_t)paths->barrier.arrived, before = seen >> 16 & 0xffff, count = seen & 0xffff;

	if (seen >> 32 != generation) {
		before = (uint32_t)(seen >> 32) == generation - 1 ? count : 0;
		count = 0;
	}
	count++;
	paths->barrier.last = before != 0 && count >= before;
	__atomic_store_n(word, (uint64_t)generation << 32 | (uint64_t)before << 16 | (count & 0xffff), __ATOMIC_RELAXED);
}

static void arrive(cshim_context *context, node_link *paths)
{
	paths->barrier.arrived++;
	paths->barrier.round = 0;
	if (paths->barrier.rounds) {
		signal_round(paths, 0);
		return;
	}
	arrive_here(paths);
	arrive_at_counter(context, paths);
}

/* 1 if every task has arrived where this one waits. Then that is over, whoever has died or left since. */
static int all_arrived(const node_link *paths)
{
	uint32_t task;

	for (task = 0; task < paths->rings; task++)
		if (__atomic_load_n(&words_of(paths, task)->round[0].value, __ATOMIC_ACQUIRE) - paths->barrier.arrived > 1)
			return 0;
	return 1;
}

/* A task that has left without arriving; paths->rings: none has. */
static uint32_t deserter(const node_link *paths)
{
	uint32_t task;

	for (task = 0; task < paths->rings; task++)
		/* acquire: what it had arrived at before is seen below */
		if (__atomic_load_n(&head_of(paths, task)->armed, __ATOMIC_ACQUIRE) == NODE_CLOSED &&
		    __atomic_load_n(&words_of(paths, task)->round[0].value, __ATOMIC_ACQUIRE) - paths->barrier.arrived > 1)
			break;
	return task;
}

int cshim_barrier_check(cshim_context *context)
{
	node_link *paths = paths_of(context);
	node_barrier *barrier;
	uint64_t refused;
	uint32_t task;

	if (!paths || paths->barrier.arrived == paths->barrier.over || paths->barrier.failed)
		return 0;
	barrier = &paths->barrier;
	/* acquire: all that its author did before; if that was to let this task go, the look finds it */
	refused = __atomic_load_n(&words_of(paths, paths->own_ring)->refused.value, __ATOMIC_ACQUIRE);
	look(context, paths);
	if (barrier->arrived == barrier->over)
		return 1;
	task = deserter(paths);
	if (task == paths->rings)
		task = talker_of_nonsense(paths);
	if (!refused && task == paths->rings)
		return 0;
	if (all_arrived(paths))
		end_generation(context, barrier);
	else if (refused)
		golapi_barrier_refused(cshim_index_of(context), refused == LAPI_ERR_TGT_PURGED ? LAPI_ERR_TGT_PURGED : LAPI_ERR_NO_CONNECTIVITY);
	else
		give_up(context, paths, task);
	return 1;
}

int cshim_barrier_reached(cshim_context *context, uint64_t generation)
{
	node_link *paths = paths_of(context);

	if (!paths)
		return 1; /* the context has ended */
	look(context, paths);
	return paths->barrier.over >= generation || paths->barrier.failed;
}

void cshim_barrier_turn(cshim_context *context)
{
	look(context, paths_of(context));
}

/* The fate of a generation that is reached. */
static int result_of(cshim_context *context, uint64_t generation)
{
	node_link *paths = paths_of(context);
	node_barrier *barrier = &paths->barrier;

	if (barrier->over < generation && barrier->arrived == generation && all_arrived(paths))
		end_generation(context, barrier);
	return barrier->over >= generation ? LAPI_SUCCESS : (int)barrier->failed;
}

static int looks_of(const node_barrier *barrier)
{
	if (barrier->rounds)
		return SPIN_LOOKS;
	return barrier->last ? LAST_LOOKS : 0;
}

/*
 * Looks, most times, and turns the dispatcher, for as long as others mostly take, before other threads come into play. 1: the generation
 * is reached; 0: not yet; -1: the context has ended.
 */
static int reached_soon(cshim_context *context, uint64_t generation, int most)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t handle = context->handle;
	int looks;

	cshim_note_poll(context);
	for (looks = 0; looks < most && !private->turner; looks++) {
		/* Before the first look, too: a task that goes from one LAPI_Gfence to the next serves others all the same. */
		if (looks % TURN_LOOKS == 0) {
			uint32_t flags = cshim_dispatch(context, 0);

			if (!cshim_alive(context, handle))
				return -1;
			if (flags & CSHIM_DISPATCH_ERROR)
				return 0; /* it is reported again, in a turn that can run the error handler */
		}
		if (cshim_barrier_reached(context, generation))
			return 1;
		if (__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED))
			return 0;
		cshim_between_polls();
	}
	return 0;
}

/*
 * The same for a task that is not the last of its processor: a turn of the dispatcher, and the processor is the others'. What a wait has beyond
 * that, for other threads and for sleep, would be done again in each of the processor's tasks, out of cold caches.
 */
static int reached_by_yielding(cshim_context *context, uint64_t generation)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t handle = context->handle, depth;
	int yields;

	for (yields = 0; yields < SOON_YIELDS && !private->turner; yields++) {
		cshim_note_poll(context);
		if (cshim_dispatch(context, 0) & CSHIM_DISPATCH_ERROR)
			return 0;
		if (!cshim_alive(context, handle))
			return -1;
		if (cshim_barrier_reached(context, generation))
			return 1;
		if (__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED))
			return 0;
		depth = cshim_lock_release_all(context);
		sched_yield();
		cshim_lock_restore(context, depth);
		if (!cshim_alive(context, handle))
			return -1;
		if (cshim_barrier_reached(context, generation))
			return 1;
	}
	return 0;
}

static int wait_for(cshim_context *context, uint64_t generation)
{
	int most = looks_of(&paths_of(context)->barrier), rc = LAPI_SUCCESS;
	int soon = most ? reached_soon(context, generation, most) : reached_by_yielding(context, generation);

	if (soon < 0)
		return LAPI_ERR_HNDL_INVALID;
	if (!soon)
		rc = cshim_wait_generation(context, generation);
	return rc == LAPI_SUCCESS ? result_of(context, generation) : rc;
}

int cshim_barrier_usable(const cshim_context *context)
{
	return context->barrier && !paths_of(context)->barrier.failed;
}

uint64_t cshim_barrier_begin(cshim_context *context)
{
	return ++paths_of(context)->barrier.begun;
}

int cshim_barrier_wait(cshim_context *context, uint64_t generation)
{
	node_link *paths = paths_of(context);
	int rc = LAPI_SUCCESS;

	if (paths->barrier.over != generation - 1)
		rc = wait_for(context, generation - 1);
	if (rc != LAPI_SUCCESS)
		return rc;
	if (paths->barrier.failed)
		return (int)paths->barrier.failed;
	arrive(context, paths);
	return wait_for(context, generation);
}
