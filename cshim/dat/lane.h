/*
 * lane.h - what uDAPL's fast lane (docs/dev/dat.md) and core share beside handles and events
 * (evd/evd.h), connections (rc/end.h) and groups (coll/group.h). Private to the library.
 *
 * Everything here is touched under the block's lock only, so C and Go need no order between them.
 * Made by core, off the Go heap, but for the dat_lane itself; fixed widths, addresses as integers.
 */
#ifndef DAT_LANE_H
#define DAT_LANE_H

#include <stdint.h>

#define DAT_LANE_LINKS 64   /* other processes of the node: core/dat's neighboursMax */
#define DAT_TABLE_ENDS 4096 /* connections that peers may write and read by themselves */

typedef struct dat_lane {
	uint32_t on;      /* constant while an adapter is open: 0: core does all */
	uint32_t random;  /* by core: LAPI_FASTLANE=random; each connection has its engine by chance */
	uint32_t go_work; /* by core: it wants a turn each time */
	uint32_t num_links;
	uint32_t num_ends;
	uint32_t unsent; /* some end has something to send: there was no room */
	uint32_t ended;  /* some end, or shared queue, has something for core */
	uint32_t rings; /* by C: some ring has a message of core's */
	/* by C: the thread that slept is awake; core, which armed for it, does not know it yet */
	uint32_t awake;
	/* by core: a thread sleeps and wakes for no peer's silence; any send wakes it */
	uint32_t untimed;
	int32_t bells[DAT_LANE_LINKS]; /* by link: the eventfd that peers wake this process by */
	/* by core: address of an int (*)(void) that says whether RDMA adapters have something for
	 * core; 0: there are none */
	uint64_t adapters;
	uint64_t ends;   /* address of the dat_end's address by the connection's number; 0: none */
	uint64_t table;  /* address of this process's dat_table; 0: there is no memory for it */
	/* by C: connections by number that have requests under way, and words that have such bits
	 */
	uint64_t waiting[DAT_TABLE_ENDS / 64], some_waiting;
	uint64_t links[DAT_LANE_LINKS]; /* addresses of node_link */
} dat_lane;

#endif
