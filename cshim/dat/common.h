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

/* Of what a turn returns: something came; core must have a turn too, */
#define DAT_LANE_MADE 1u
#define DAT_LANE_CORE 2u
#define DAT_LANE_RINGS 4u /* as a ring holds something that is core's */

/* LAPI_FASTLANE=random: 1 if core shall do it. */
static inline int dat_coin(void)
{
	if (__builtin_expect(dat_the_lane.random == 0, 1))
		return 0;
	dat_the_lane.random = dat_the_lane.random * 1664525u + 1013904223u;
	return (int)(dat_the_lane.random >> 31);
}

/* The slot of a handle of that kind, if the lane may do something with it now; else NULL: it is
 * core's. */
static inline dat_slot *dat_slot_of(const void *handle, DAT_HANDLE_TYPE kind)
{
	dat_slot *slot = dat_the_lane.on ? handle_find(handle, (uint32_t)kind) : NULL;

	return slot && slot->lane && !dat_coin() ? slot : NULL;
}

#endif
