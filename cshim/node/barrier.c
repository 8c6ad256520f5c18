/* barrier.c - the words of the barrier among a node's tasks; barrier.h has the rules. */
#define _GNU_SOURCE
#include <sched.h>

#include "node/barrier_words.h"
#include "node/send.h"

/* Wakes task, if it sleeps, after a word was stored for it. */
static void wake(node_link *link, uint32_t task)
{
	node_peer *peer = &link->peer[task];

	node_store_then_look(peer);
	if (__builtin_expect(__atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_RELAXED) &
	                             NODE_ASLEEP,
	                     0))
		node_ring_bell(peer);
}

static node_barrier_news over(node_link *link)
{
	link->barrier.over = link->barrier.arrived;
	return (node_barrier_news){.what = NODE_BARRIER_OVER};
}

static node_barrier_news broken_by(const node_link *link, uint32_t task)
{
	return (node_barrier_news){.what = NODE_BARRIER_BROKEN,
	                           .task = task == link->own_ring ? -1 : link->peer[task].task};
}

/* Signals the task that waits for this one in a round of the dissemination. */
static void signal_round(node_link *link, uint32_t round)
{
	/* release: the task's earlier stores, and the signals of earlier rounds */
	__atomic_store_n(&node_barrier_words_of(link, link->own_ring)->round[round].value,
	                 link->barrier.arrived, __ATOMIC_RELEASE);
	wake(link, (link->own_ring + (1u << round)) % link->rings);
}

/* 1 if the dissemination is through. */
static int heard_of_all(node_link *link)
{
	node_barrier *barrier = &link->barrier;

	for (;;) {
		/* It may have left already, and signal the next generation. */
		if (node_barrier_awaited(link) - barrier->arrived > 1)
			return 0;
		if (++barrier->round == barrier->rounds)
			return 1;
		signal_round(link, barrier->round);
	}
}

int node_barrier_look(node_link *link)
{
	node_barrier *barrier = &link->barrier;

	if (barrier->arrived == barrier->over ||
	    !(barrier->rounds ? heard_of_all(link)
	                      : node_barrier_awaited(link) == barrier->arrived))
		return 0;
	barrier->over = barrier->arrived;
	return 1;
}

/*
 * A task whose word is neither the value that this one waits for nor the earlier one; link->rings:
 * none.
 */
static uint32_t talker_of_nonsense(const node_link *link)
{
	uint64_t before = link->barrier.arrived - 1;

	/*
	 * Nobody can be further than one generation ahead without this task, nor release a
	 * generation that it has not arrived at.
	 */
	if (node_barrier_awaited(link) - before > (link->barrier.rounds ? 2 : 1))
		return link->barrier.rounds ? node_barrier_signaller(link) : 0;
	return link->rings;
}

/* The last to arrive at the counter lets the others go. */
static void release_all(node_link *link)
{
	uint32_t task;

	__atomic_store_n(&node_barrier_words_of(link, 0)->released.value, link->barrier.arrived,
	                 __ATOMIC_RELEASE);
	/*
	 * Nobody's armed word changes while nobody sleeps: then these loads are of lines that are
	 * here.
	 */
	for (task = 0; task < link->rings; task++)
		if (task != link->own_ring)
			wake(link, task);
}

static node_barrier_news arrive_at_counter(node_link *link)
{
	uint64_t generation = link->barrier.arrived, count, before = (generation - 1) * link->rings;

	/* release: for a task that finds that this one has left, see all_arrived */
	__atomic_store_n(&node_barrier_words_of(link, link->own_ring)->round[0].value, generation,
	                 __ATOMIC_RELEASE);
	/*
	 * release: the task's earlier stores; acquire: the stores of tasks that arrived before, for
	 * the tasks that are released
	 */
	count = __atomic_add_fetch(&node_barrier_words_of(link, 0)->arrivals.value, 1,
	                           __ATOMIC_ACQ_REL) -
	        before;
	if (count == 0 || count > link->rings)
		return broken_by(link, 0);
	if (count < link->rings)
		return (node_barrier_news){.what = NODE_BARRIER_QUIET};
	release_all(link);
	return over(link);
}

/*
 * Counts this task among those that arrive on its processor, and sets last if they are as many as
 * in the generation before. The word: generation << 32 | how many in the generation before << 16 |
 * how many in this one. Tasks seldom change processors; when one does the count is wrong once.
 */
static void arrive_here(node_link *link)
{
	int processor = sched_getcpu();
	uint64_t *word = &node_barrier_words_of(link, 0)
	                          ->gathered[(unsigned)processor % NODE_BARRIER_PLACES]
	                          .value;
	/* relaxed, and not in one step: a hint */
	uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
	uint32_t generation = (uint32_t)link->barrier.arrived, before = seen >> 16 & 0xffff,
		 count = seen & 0xffff;

	if (seen >> 32 != generation) {
		before = (uint32_t)(seen >> 32) == generation - 1 ? count : 0;
		count = 0;
	}
	count++;
	link->barrier.last = before != 0 && count >= before;
	__atomic_store_n(word,
	                 (uint64_t)generation << 32 | (uint64_t)before << 16 | (count & 0xffff),
	                 __ATOMIC_RELAXED);
}

node_barrier_news node_barrier_arrive(node_link *link)
{
	link->barrier.arrived++;
	link->barrier.round = 0;
	if (link->barrier.rounds) {
		signal_round(link, 0);
		return (node_barrier_news){.what = NODE_BARRIER_QUIET};
	}
	arrive_here(link);
	return arrive_at_counter(link);
}

/* 1 if a task has not arrived where this one waits. Acquire: sees what the task did before it
 * arrived. */
static int is_behind(const node_link *link, uint32_t task)
{
	return __atomic_load_n(&node_barrier_words_of(link, task)->round[0].value,
	                       __ATOMIC_ACQUIRE) -
	               link->barrier.arrived >
	       1;
}

/*
 * 1 if every task has arrived where this one waits. Then the generation is over, even if tasks have
 * died or left since.
 */
static int all_arrived(const node_link *link)
{
	uint32_t task;

	for (task = 0; task < link->rings; task++)
		if (is_behind(link, task))
			return 0;
	return 1;
}

/* A task that has left without arriving; link->rings: none has. */
static uint32_t deserter(const node_link *link)
{
	uint32_t task;

	for (task = 0; task < link->rings; task++)
		/* acquire: its earlier arrivals are seen below */
		if (__atomic_load_n(&node_barrier_head(link, task)->armed, __ATOMIC_ACQUIRE) ==
		            NODE_CLOSED &&
		    is_behind(link, task))
			break;
	return task;
}

node_barrier_news node_barrier_check(node_link *link)
{
	const node_barrier_news quiet = {.what = NODE_BARRIER_QUIET};
	uint64_t refused;
	uint32_t task;

	if (link->barrier.arrived == link->barrier.over || link->barrier.failed)
		return quiet;
	/*
	 * acquire: all that its author did before; if that was to let this task go, the look finds
	 * it
	 */
	refused = __atomic_load_n(&node_barrier_words_of(link, link->own_ring)->refused.value,
	                          __ATOMIC_ACQUIRE);
	if (node_barrier_look(link))
		return over(link);
	task = deserter(link);
	if (task == link->rings)
		task = talker_of_nonsense(link);
	if (!refused && task == link->rings)
		return quiet;
	if (all_arrived(link))
		return over(link);
	if (refused)
		return (node_barrier_news){.what = NODE_BARRIER_REFUSED, .code = refused};
	return broken_by(link, task);
}

int node_barrier_settle(node_link *link)
{
	node_barrier *barrier = &link->barrier;

	if (barrier->over != barrier->arrived && all_arrived(link))
		barrier->over = barrier->arrived;
	return barrier->over == barrier->arrived;
}
