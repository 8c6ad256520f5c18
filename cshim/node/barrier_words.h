/*
 * barrier_words.h - where the barrier's words are, and a look at them that is inline, as threads
 * spin on it. Under the lock of the paths' owner.
 */
#ifndef CSHIM_BARRIER_WORDS_H
#define CSHIM_BARRIER_WORDS_H

#include "../segment.h"

static inline cshim_segment_head *cshim_barrier_head(const cshim_paths *paths, uint32_t task)
{
	return (cshim_segment_head *)(uintptr_t)(task == paths->own_ring
	                                                 ? paths->own_head
	                                                 : paths->path[task].out_head);
}

static inline cshim_barrier_words *cshim_barrier_words_of(const cshim_paths *paths, uint32_t task)
{
	return &cshim_barrier_head(paths, task)->barrier;
}

/* Whom this task waits for in the round of a dissemination that it is in. */
static inline uint32_t cshim_barrier_signaller(const cshim_paths *paths)
{
	uint32_t task = paths->own_ring - (1u << paths->barrier.round);

	/* wrapped around: a round is less than all rings */
	return task < paths->rings ? task : task + paths->rings;
}

/* The word that this task waits for, after it has arrived. Acquire: what its author did before. */
static inline uint64_t cshim_barrier_awaited(const cshim_paths *paths)
{
	const cshim_barrier_word *word;

	if (paths->barrier.rounds)
		word = &cshim_barrier_words_of(paths, cshim_barrier_signaller(paths))
		                ->round[paths->barrier.round];
	else
		word = &cshim_barrier_words_of(paths, 0)->released;
	return __atomic_load_n(&word->value, __ATOMIC_ACQUIRE);
}

/* 1 if cshim_barrier_look is worth while: that word has changed. */
static inline int cshim_barrier_stirs(const cshim_paths *paths)
{
	return paths->barrier.arrived != paths->barrier.over &&
	       cshim_barrier_awaited(paths) - paths->barrier.arrived <= 1;
}

#endif
