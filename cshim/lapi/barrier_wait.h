/* barrier_wait.h - the node barrier (barrier.h) as LAPI_Gfence and the waiting threads use it. Under the context lock. Private to cshim. */
#ifndef CSHIM_BARRIER_WAIT_H
#define CSHIM_BARRIER_WAIT_H

#include "internal.h"

/* 1 if LAPI_Gfence is to use it; else it is core's, also to say why it cannot be. */
int cshim_barrier_usable(const cshim_context *context);
/* A LAPI_Gfence begins: its generation. Every one must be waited for, unless the context ends. */
uint64_t cshim_barrier_begin(cshim_context *context);
/* This task's own fence is over: arrives, and waits for the others. LAPI_SUCCESS, what core said, or LAPI_ERR_HNDL_INVALID. */
int cshim_barrier_wait(cshim_context *context, uint64_t generation);

/* These need a barrier (context->barrier); the first is part of each turn of the dispatcher. */
void cshim_barrier_turn(cshim_context *context);
/* 1 if a generation is over, or will never be. */
int cshim_barrier_reached(cshim_context *context, uint64_t generation);

/*
 * Looks for tasks that are gone or have refused, and tells core. For whoever is about to sleep, after the links were armed, and now and
 * then. 1: something has changed, so do not sleep.
 */
int cshim_barrier_check(cshim_context *context);

#endif
