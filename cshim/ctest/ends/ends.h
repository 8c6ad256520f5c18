/*
 * ends.h - the node engine for tests in Go (core/dat/rc/model): several processes in one, of which
 * one has its turn. A process is its lane; everything else of the engine's belongs to an object.
 */
#ifndef CTEST_ENDS_H
#define CTEST_ENDS_H

#include "dat/rc/private.h"

#define ENDS_PROCESSES 4

/* Makes all processes anew. */
void ends_begin(void);
/* All functions act for that process from now on: its lane is dat_the_lane. */
dat_lane *ends_enter(int process);

/* A post, as dat_post has it: there are num_segments local triplets, and one remote one. */
uint32_t ends_post(uint64_t ep, int op, uint32_t flags, int params, int32_t num_segments,
                   const DAT_LMR_TRIPLET *local, uint64_t cookie, const DAT_RMR_TRIPLET *remote,
                   uint32_t data, uint64_t operand, uint64_t compare, uint32_t completion);
uint32_t ends_post_receive(uint64_t ep, int32_t num_segments, const DAT_LMR_TRIPLET *local,
                           uint64_t cookie);
uint32_t ends_post_shared(uint64_t srq, int32_t num_segments, const DAT_LMR_TRIPLET *local,
                          uint64_t cookie);
/* A look of a thread that polls an EVD: 1 if *event was taken from it. */
int ends_poll(uint64_t evd, evd_event *event);

/* A connection that is over, or is to be, does not take a post. */
#define ENDS_OVER (DAT_CLASS_ERROR | DAT_INVALID_STATE)

#endif
