/*
 * dat_internal.h - uDAPL's entry points: how they reach core, and how threads wait in them.
 *
 * One block serves all interface adapters of the process; its lock covers everything of uDAPL.
 * Every call locks it, has core do the work, and unlocks it. What waits, waits here.
 */
#ifndef DAT_INTERNAL_H
#define DAT_INTERNAL_H

#include <stdint.h>

#include "progress/progress.h"

#pragma GCC visibility push(default)
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
#pragma GCC visibility pop

#include "dat/calls.h"
#include "dat/dat_lane.h"

/* The block. Its state is ACTIVE while an adapter is open. */
extern cshim_progress dat_progress;
/* An invariant of core's has broken: only events that are there come from it. Under the lock. */
extern int dat_is_broken;

/* Of the proposal of 2005: dat_extensions is 1 from now on, here and in the program (proposal.c).
 */
void dat_extensions_found(void);
extern int dat_extensions;

/* Arguments of a call as core gets them. */
#define DAT_P(pointer) ((uint64_t)(uintptr_t)(pointer))
#define DAT_I(number) ((uint64_t)(uint32_t)(number))

/* A call of core's by number, with its arguments. */
#define DAT_CALL(number, ...) dat_call(DAT_CALL_##number, (const uint64_t[]){__VA_ARGS__})
DAT_RETURN dat_call(int number, const uint64_t *arguments);

/* Starts core if it has not started, and locks the block; 0: that is refused. */
int dat_enter(void);
/* The code for it: a process that was forked after the start, or limits of the process. */
DAT_RETURN dat_refused(void);
/* Unlocks it, and runs the agents that are due. */
DAT_RETURN dat_leave(DAT_RETURN result);

#endif
