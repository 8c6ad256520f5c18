/*
 * lane.h - what the fast lane (docs/dev/fastlane.md) and core share of one context. Private to the
 * library.
 *
 * Everything here is touched under the context lock only. Made by core, off the Go heap; fixed
 * widths, addresses as integers.
 */
#ifndef CSHIM_LANE_H
#define CSHIM_LANE_H

#include <stdint.h>

#include "context/context.h"
#include "lane/message.h"
#include "node/node.h"

/* LAPI_MAX_MSG_SZ: core refuses longer messages */
#define CSHIM_LENGTH_MAX ((uint64_t)(SIZE_MAX / 2))
#define CSHIM_LANE_AM 65536     /* longest data of an active message of the lane, bytes */
#define CSHIM_LANE_UHDR 1984    /* MAX_UHDR_SZ */
/* core looks at the job session, and at rings that went cold, about so often */
#define CSHIM_LANE_CORE_MS 20

/* off: why the lane does nothing but take its own answers; each reason has a bit */
/* a counter has a list of tasks (LAPI_Setcntr_wstatus): core notes which tasks changed it */
#define CSHIM_OFF_LISTS 1u
#define CSHIM_OFF_TERM 2u /* LAPI_Term has begun */

/* node_peer.owner, by the lane: work that it did and core has yet to collect
 * (core/lapi/lane.go). */
/* something was sent since the last fence: CSHIM_USED_ bits */
#define CSHIM_PEER_USED 0
#define CSHIM_PEER_KIND 1 /* lapi_err_t of the latest operation, 1 more; 0: none */
/* completions that the peer owes, less those that came: an int32_t */
#define CSHIM_PEER_EXPECTED 2

#define CSHIM_USED_ANY 1u
/* a put or active message without a completion counter, so that only the link knows of its end */
#define CSHIM_USED_UNCOUNTED 2u

/* node_op of the lane. */
#define CSHIM_TAG_COUNTER 0 /* tag: origin counter */
#define CSHIM_TAG_SEQ 1     /* tag: cshim_lane.issued when it began */
/* tag of a read-modify-write: address where the previous value goes; 0: nowhere */
#define CSHIM_TAG_PREVIOUS 2
/*
 * tag of a read-modify-write: the value that COMPARE_AND_SWAP compares with; node_op.note says that
 * it is one
 */
#define CSHIM_TAG_COMPARE 3
/* tag of a put that the target reads: the completion counter, if the answer completes it; 0: none
 */
#define CSHIM_TAG_COMPLETION 2

typedef struct cshim_lane {
	uint64_t link; /* address of the node_link; constant */
	/*
	 * address of an int16_t for each task: its ring, -1 if it is not reached by shared memory;
	 * constant
	 */
	uint64_t ring_of;
	/* address of the verbs_link (../packets/packets.h), 0: C sends no packets; constant */
	uint64_t verbs;
	/*
	 * address of CSHIM_LANE_UHDR bytes for the user header that a header handler is shown;
	 * constant
	 */
	uint64_t scratch;
	uint32_t random; /* 0, or the state of the coin of LAPI_FASTLANE=random */
	/* constant: core gets a turn after this many without, or after CSHIM_LANE_CORE_MS */
	uint32_t turns_max;
	uint32_t turns;   /* since core had one */
	uint32_t core_ms; /* when core had it, ms of the coarse clock */
	/* constant: BUF_CP_SIZE: a sender of at most this many bytes may reuse the buffer at
	 * once */
	uint32_t copy_max;
	uint32_t off;     /* CSHIM_OFF_ bits, by core */
	uint32_t go_work; /* by core: it wants a turn each time */
	/* by core: operations of its own are outstanding, so a fence must ask it */
	uint32_t go_busy;
	uint32_t error_check; /* by core: LAPI_Senv ERROR_CHK */
	uint32_t dirty;       /* some peer has work that core has yet to collect */
	/* Completions of one counter of one task, in a row, are reported in one message, at the end
	 * of the turn: */
	uint64_t told;      /* the counter; 0: none */
	uint64_t told_more; /* times, beyond the first */
	/*
	 * constant: bytes from which a transfer is to be a bulk transfer (MP_USE_BULK_XFER), which
	 * core does
	 */
	uint64_t bulk_min;
	uint64_t issued; /* number of the latest operation of the context, lane or core */
	/* how often the lane has begun an earlier put anew, in messages that no fence knows yet */
	uint32_t redone;
	uint32_t zero;
	uint64_t handlers[CSHIM_LANE_HANDLERS]; /* by core: LAPI_Addr_set; 0: none */
} cshim_lane;

#endif
