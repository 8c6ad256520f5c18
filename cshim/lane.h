/*
 * lane.h - what the fast lane (docs/fastlane.md) and core share of one context. Private to the library.
 *
 * Everything here is touched under the context lock only. Made by core, off the Go heap; fixed widths, addresses as integers.
 */
#ifndef CSHIM_LANE_H
#define CSHIM_LANE_H

#include <stdint.h>

#include "message.h"
#include "segment.h"

#define CSHIM_LENGTH_MAX ((uint64_t)(SIZE_MAX / 2)) /* LAPI_MAX_MSG_SZ: core refuses what is longer */
#define CSHIM_LANE_HANDLERS 256 /* indices of LAPI_Addr_set: LOC_ADDRTBL_SZ */
#define CSHIM_LANE_OPS 256      /* gets and read-modify-writes under way at once; more go through core */
#define CSHIM_LANE_AM 65536     /* longest data of an active message of the lane, bytes */
#define CSHIM_LANE_UHDR 1984    /* MAX_UHDR_SZ */
#define CSHIM_LANE_CORE_MS 20   /* core looks at the job session, and at rings that went cold, about so often */

/* off: why the lane does nothing but take its own answers; who has a reason sets its bit */
#define CSHIM_OFF_LISTS 1u /* a counter has a list of tasks (LAPI_Setcntr_wstatus): core notes who changed it */
#define CSHIM_OFF_TERM 2u  /* LAPI_Term has begun */

/* kind of a cshim_lane_op */
#define CSHIM_OP_FREE 0
#define CSHIM_OP_GET 1
#define CSHIM_OP_RMW 2

/* A get or read-modify-write of the lane that waits for its answer. */
typedef struct cshim_lane_op {
	uint32_t token;    /* index | how often the place was used << 8: a late answer finds nothing */
	uint8_t kind;
	uint8_t width;     /* of a read-modify-write: 4 or 8 bytes */
	uint8_t compares;  /* COMPARE_AND_SWAP: prev gets TRUE or FALSE */
	uint8_t reserved;
	int32_t task;
	uint32_t next_free; /* index, while free */
	uint64_t seq;      /* cshim_lane.issued when it began */
	uint64_t local;    /* address: where the data, or the previous value, goes; 0: nowhere */
	uint64_t n;        /* bytes of a get */
	uint64_t org_cntr;
	uint64_t line;
	uint64_t compare;
} cshim_lane_op;

typedef struct cshim_lane {
	uint64_t paths;       /* address of the link's cshim_paths; constant */
	uint64_t ring_of;     /* address of an int16_t for each task: its ring, -1 if it is not reached by shared memory; constant */
	uint64_t scratch;     /* address of CSHIM_LANE_UHDR bytes for the user header that a header handler is shown; constant */
	uint32_t random;      /* 0, or the state of the coin of LAPI_FASTLANE=random */
	uint32_t turns_max;   /* constant: core gets a turn after so many without, or after CSHIM_LANE_CORE_MS */
	uint32_t turns;       /* since core had one */
	uint32_t core_ms;     /* when core had it, ms of the coarse clock */
	uint32_t reserved;
	uint32_t off;         /* CSHIM_OFF_ bits, by core */
	uint32_t go_work;     /* by core: it wants a turn each time */
	uint32_t go_busy;     /* by core: operations of its own are outstanding, so a fence must ask it */
	uint32_t error_check; /* by core: LAPI_Senv ERROR_CHK */
	uint32_t ops;         /* how many of op are under way */
	uint32_t free_op;     /* index of the first free op; CSHIM_LANE_OPS: none */
	uint32_t dirty;       /* some path has something that core has yet to hear */
	/* Completions of one counter of one task, in a row, are told in one message, at the end of the turn: */
	uint64_t told;        /* the counter; 0: none */
	uint64_t told_more;   /* times, beyond the first */
	uint64_t bulk_min;    /* constant: bytes from which a transfer is to be a bulk transfer (MP_USE_BULK_XFER), which core does */
	uint64_t issued;      /* number of the latest operation of the context, lane or core */
	uint64_t handlers[CSHIM_LANE_HANDLERS]; /* by core: LAPI_Addr_set; 0: none */
	cshim_lane_op op[CSHIM_LANE_OPS];
} cshim_lane;

#ifndef __cplusplus
_Static_assert(sizeof(cshim_lane_op) == 64, "one line");
#endif

#endif
