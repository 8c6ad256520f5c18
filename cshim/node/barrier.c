/* barrier.c - the words of the barrier among a node's tasks; barrier.h has the rules. */
#define _GNU_SOURCE
#include <sched.h>

#include "barrier_words.h"
#include "lane_path.h"

/* Has task hear of a word that was stored before, if it sleeps. */
static void wake(cshim_paths *paths, uint32_t task)
{
	cshim_path *path = &paths->path[task];

	/* Store, then look: a full fence lies between, here or in the sleeper's membarrier. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(path->fenced != 0, 0))
		cshim_membarrier_full();
	if (__builtin_expect(__atomic_load_n(&cshim_head(path->out_head)->armed, __ATOMIC_RELAXED) &
	                             CSHIM_ASLEEP,
	                     0))
		cshim_ring_bell(path);
}

static cshim_barrier_news over(cshim_paths *paths)
{
	paths->barrier.over = paths->barrier.arrived;
	return (cshim_barrier_news){.what = CSHIM_BARRIER_OVER};
}

static cshim_barrier_news broken_by(const cshim_paths *paths, uint32_t task)
{
	return (cshim_barrier_news){.what = CSHIM_BARRIER_BROKEN,
	                            .task = task == paths->own_ring ? -1 : paths->path[task].task};
}

/* Tells the task that waits for this one in a round of the dissemination. */
static void signal_round(cshim_paths *paths, uint32_t round)
{
	/* release: what the task did before, and the signals of the rounds before */
	__atomic_store_n(&cshim_barrier_words_of(paths, paths->own_ring)->round[round].value,
	                 paths->barrier.arrived, __ATOMIC_RELEASE);
	wake(paths, (paths->own_ring + (1u << round)) % paths->rings);
}

/* 1 if the dissemination is through. */
static int heard_of_all(cshim_paths *paths)
{
	cshim_barrier *barrier = &paths->barrier;

	for (;;) {
		/* It may have left already, and signal the next generation. */
		if (cshim_barrier_awaited(paths) - barrier->arrived > 1)
			return 0;
		if (++barrier->round == barrier->rounds)
			return 1;
		signal_round(paths, barrier->round);
	}
}

int cshim_barrier_look(cshim_paths *paths)
{
	cshim_barrier *barrier = &paths->barrier;

	if (barrier->arrived == barrier->over ||
	    !(barrier->rounds ? heard_of_all(paths)
	                      : cshim_barrier_awaited(paths) == barrier->arrived))
		return 0;
	barrier->over = barrier->arrived;
	return 1;
}

/*
 * A task whose word is neither what this one waits for nor what was there before; paths->rings:
 * none.
 */
static uint32_t talker_of_nonsense(const cshim_paths *paths)
{
	uint64_t before = paths->barrier.arrived - 1;

	/*
	 * Nobody can be further than one generation ahead without this task, nor release one that
	 * it has not arrived at.
	 */
	if (cshim_barrier_awaited(paths) - before > (paths->barrier.rounds ? 2 : 1))
		return paths->barrier.rounds ? cshim_barrier_signaller(paths) : 0;
	return paths->rings;
}

/* The last to arrive at the counter lets the others go. */
static void release_all(cshim_paths *paths)
{
	uint32_t task;

	__atomic_store_n(&cshim_barrier_words_of(paths, 0)->released.value, paths->barrier.arrived,
	                 __ATOMIC_RELEASE);
	/*
	 * Nobody's armed word changes while nobody sleeps: then these loads are of lines that are
	 * here.
	 */
	for (task = 0; task < paths->rings; task++)
		if (task != paths->own_ring)
			wake(paths, task);
}

static cshim_barrier_news arrive_at_counter(cshim_paths *paths)
{
	uint64_t generation = paths->barrier.arrived, count,
		 before = (generation - 1) * paths->rings;

	/* release: for a task that finds that this one has left, see all_arrived */
	__atomic_store_n(&cshim_barrier_words_of(paths, paths->own_ring)->round[0].value,
	                 generation, __ATOMIC_RELEASE);
	/*
	 * release: what the task did before; acquire: what those did who were here before, for
	 * those who are released
	 */
	count = __atomic_add_fetch(&cshim_barrier_words_of(paths, 0)->arrivals.value, 1,
	                           __ATOMIC_ACQ_REL) -
	        before;
	if (count == 0 || count > paths->rings)
		return broken_by(paths, 0);
	if (count < paths->rings)
		return (cshim_barrier_news){.what = CSHIM_BARRIER_QUIET};
	release_all(paths);
	return over(paths);
}

/*
 * Counts this task among those that arrive on its processor, and sets last if they are as many as
 * in the generation before. The word: generation << 32 | how many in the generation before << 16 |
 * how many in this one. Tasks seldom change processors; when one does the count is wrong once.
 */
static void arrive_here(cshim_paths *paths)
{
	int processor = sched_getcpu();
	uint64_t *word = &cshim_barrier_words_of(paths, 0)
	                          ->gathered[(unsigned)processor % CSHIM_BARRIER_PLACES]
	                          .value;
	/* relaxed, and not in one step: a hint */
	uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
	uint32_t generation = (uint32_t)paths->barrier.arrived, before = seen >> 16 & 0xffff,
		 count = seen & 0xffff;

	if (seen >> 32 != generation) {
		before = (uint32_t)(seen >> 32) == generation - 1 ? count : 0;
		count = 0;
	}
	count++;
	paths->barrier.last = before != 0 && count >= before;
	__atomic_store_n(word,
	                 (uint64_t)generation << 32 | (uint64_t)before << 16 | (count & 0xffff),
	                 __ATOMIC_RELAXED);
}

cshim_barrier_news cshim_barrier_arrive(cshim_paths *paths)
{
	paths->barrier.arrived++;
	paths->barrier.round = 0;
	if (paths->barrier.rounds) {
		signal_round(paths, 0);
		return (cshim_barrier_news){.what = CSHIM_BARRIER_QUIET};
	}
	arrive_here(paths);
	return arrive_at_counter(paths);
}

/*
 * 1 if every task has arrived where this one waits. Then that is over, whoever has died or left
 * since.
 */
static int all_arrived(const cshim_paths *paths)
{
	uint32_t task;

	for (task = 0; task < paths->rings; task++)
		if (__atomic_load_n(&cshim_barrier_words_of(paths, task)->round[0].value,
		                    __ATOMIC_ACQUIRE) -
		            paths->barrier.arrived >
		    1)
			return 0;
	return 1;
}

/* A task that has left without arriving; paths->rings: none has. */
static uint32_t deserter(const cshim_paths *paths)
{
	uint32_t task;

	for (task = 0; task < paths->rings; task++)
		/* acquire: what it had arrived at before is seen below */
		if (__atomic_load_n(&cshim_barrier_head(paths, task)->armed, __ATOMIC_ACQUIRE) ==
		            CSHIM_CLOSED &&
		    __atomic_load_n(&cshim_barrier_words_of(paths, task)->round[0].value,
		                    __ATOMIC_ACQUIRE) -
		                    paths->barrier.arrived >
		            1)
			break;
	return task;
}

cshim_barrier_news cshim_barrier_check(cshim_paths *paths)
{
	const cshim_barrier_news quiet = {.what = CSHIM_BARRIER_QUIET};
	uint64_t refused;
	uint32_t task;

	if (paths->barrier.arrived == paths->barrier.over || paths->barrier.failed)
		return quiet;
	/*
	 * acquire: all that its author did before; if that was to let this task go, the look finds
	 * it
	 */
	refused = __atomic_load_n(&cshim_barrier_words_of(paths, paths->own_ring)->refused.value,
	                          __ATOMIC_ACQUIRE);
	if (cshim_barrier_look(paths))
		return over(paths);
	task = deserter(paths);
	if (task == paths->rings)
		task = talker_of_nonsense(paths);
	if (!refused && task == paths->rings)
		return quiet;
	if (all_arrived(paths))
		return over(paths);
	if (refused)
		return (cshim_barrier_news){.what = CSHIM_BARRIER_REFUSED, .code = refused};
	return broken_by(paths, task);
}

int cshim_barrier_settle(cshim_paths *paths)
{
	cshim_barrier *barrier = &paths->barrier;

	if (barrier->over != barrier->arrived && all_arrived(paths))
		barrier->over = barrier->arrived;
	return barrier->over == barrier->arrived;
}
