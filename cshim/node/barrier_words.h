/*
 * barrier_words.h - where the barrier's words are, and a look at them that is inline, as threads
 * spin on it. Under the lock of the link's owner.
 */
#ifndef NODE_BARRIER_WORDS_H
#define NODE_BARRIER_WORDS_H

#include "node/node.h"

static inline node_segment_head *node_barrier_head(const node_link *link, uint32_t task)
{
	return (node_segment_head *)(uintptr_t)(task == link->own_ring ? link->own_head
	                                                               : link->peer[task].out_head);
}

static inline node_barrier_words *node_barrier_words_of(const node_link *link, uint32_t task)
{
	return &node_barrier_head(link, task)->barrier;
}

/* The task that this one waits for in its present round of a dissemination. */
static inline uint32_t node_barrier_signaller(const node_link *link)
{
	uint32_t task = link->own_ring - (1u << link->barrier.round);

	/* wrapped around: a round is less than all rings */
	return task < link->rings ? task : task + link->rings;
}

/* The word that this task waits for, after it has arrived. Acquire: sees what its author did
 * before. */
static inline uint64_t node_barrier_awaited(const node_link *link)
{
	const node_barrier_word *word;

	if (link->barrier.rounds)
		word = &node_barrier_words_of(link, node_barrier_signaller(link))
		                ->round[link->barrier.round];
	else
		word = &node_barrier_words_of(link, 0)->released;
	return __atomic_load_n(&word->value, __ATOMIC_ACQUIRE);
}

/* 1 if node_barrier_look is worth while: that word has changed. */
static inline int node_barrier_stirs(const node_link *link)
{
	return link->barrier.arrived != link->barrier.over &&
	       node_barrier_awaited(link) - link->barrier.arrived <= 1;
}

#endif
