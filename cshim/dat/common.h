/*
 * common.h - the ground of all rooms of uDAPL: the block and the lane, and which memory a handle
 * names.
 *
 * One block serves all interface adapters of the process; its lock covers everything of uDAPL.
 */
#ifndef DAT_COMMON_H
#define DAT_COMMON_H

#include <stdint.h>

#pragma GCC visibility push(default)
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
#pragma GCC visibility pop

#include "dat/evd/evd.h"
#include "dat/lane.h"

extern dat_lane dat_the_lane;

/* Results of a turn: something came; core must have a turn too, */
#define DAT_LANE_MADE 1u
#define DAT_LANE_CORE 2u

/* The code of a bad argument, by number from 1. */
#define DAT_BAD_ARGUMENT(n) \
	(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | ((uint32_t)DAT_INVALID_ARG1 + (n) - 1))

#endif
