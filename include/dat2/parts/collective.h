/*
 * collective.h - part of <dat2/dat_ib_extensions.h>: operations of all members of a group.
 *
 * A group is made of processes (ranks 0 to n - 1), with an EVD for its events. Each operation must
 * be called by all members, in the same order. It returns at once; DAT_IB_COLLECTIVE_EVENT on the
 * group's EVD says that it is complete: type is the ..._STATUS of the operation, status how it
 * ended, coll.context the user_context of the call. With DAT_COMPLETION_SUPPRESS_FLAG there is an
 * event only if it fails. Buffers are any memory of the process, need no registration, and are the
 * library's until then. A buffer whose data is already in its place ("in place") is passed as NULL,
 * as each call says. A reduction of floating point with a logical or bitwise operation is an error.
 * Events of a group come in the order of its calls, so a suppressed call is complete once a later
 * one is. Sums of floating point have the same result at all members, and in each run with the same
 * number of members, nodes and elements.
 *
 * Errors of all: DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER, for a root that is no rank, a negative
 * size, NULL where it is not in place, a size that is no whole number of elements, a reduction that
 * the type has not, unknown flags. The event reports errors that only a comparison with other members
 * shows: status DAT_IB_COLL_COMP_ERR. Data that does not fit fails the call where it does not fit.
 * Anything else - different calls, memory that is not there, a member that has freed the group or
 * is gone - fails that call at all members, and each later one: then the group is only good for
 * ..._free_group.
 *
 * There are two sets of calls:
 *   dat_ib_collective_X    as the reference's header has them: a receive size of gather, allgather and
 *                          alltoall, and a send size of scatter and alltoall, is of one rank's part;
 *                          the v-calls have one buffer, and displacements in it, bytes
 *   dat_collective_X       as the design prints them: these sizes are of the whole buffer; the v-calls
 *                          have an array of buffers
 * A macro dat_ib_collective_X calls dat_collective_X if it gets the design's number of arguments and
 * the two numbers differ. Where they do not differ, the name alone determines the meaning of sizes.
 * All sizes are bytes.
 *
 * Sources: the design, sections 2.7 to 2.9 and 3.3; the reference.
 */
#ifndef DAT2_PARTS_COLLECTIVE_H
#define DAT2_PARTS_COLLECTIVE_H

#include <dat2/dat_ib_extensions.h>

/* ---- 1. Named attributes: the operation is there ---- */

#define DAT_IB_COLL_SET_CLOCK "DAT_COLL_SET_CLOCK"
#define DAT_IB_COLL_READ_CLOCK "DAT_COLL_READ_CLOCK"
#define DAT_IB_COLL_BROADCAST "DAT_COLL_BROADCAST"
#define DAT_IB_COLL_SCATTER "DAT_COLL_SCATTER"
#define DAT_IB_COLL_SCATTERV "DAT_COLL_SCATTERV"
#define DAT_IB_COLL_GATHER "DAT_COLL_GATHER"
#define DAT_IB_COLL_GATHERV "DAT_COLL_GATHERV"
#define DAT_IB_COLL_ALLGATHER "DAT_COLL_ALLGATHER"
#define DAT_IB_COLL_ALLGATHERV "DAT_COLL_ALLGATHERV"
#define DAT_IB_COLL_ALLTOALL "DAT_COLL_ALLTOALL"
#define DAT_IB_COLL_ALLTOALLV "DAT_COLL_ALLTOALLV"
#define DAT_IB_COLL_REDUCE "DAT_COLL_REDUCE"
#define DAT_IB_COLL_ALLREDUCE "DAT_COLL_ALLREDUCE"
#define DAT_IB_COLL_REDUCE_SCATTER "DAT_COLL_REDUCE_SCATTER"
#define DAT_IB_COLL_SCAN "DAT_COLL_SCAN"
#define DAT_IB_COLL_BARRIER "DAT_COLL_BARRIER"
#define DAT_IB_COLL_REDUCESCATTER "DAT_COLL_REDUCESCATTER" /* the design's spelling of REDUCE_SCATTER */
#define DAT_IB_COLL_PORT_REDUCE "DAT_COLL_PORT_REDUCE" /* value: short names of reductions, blanks between */

/* ---- 2. Types ---- */

typedef void *DAT_IB_COLLECTIVE_MEMBER;      /* a member's address: opaque, to be given to the others */
typedef unsigned int DAT_IB_COLLECTIVE_RANK; /* 0 to the size of the group - 1 */
typedef unsigned int DAT_IB_COLLECTIVE_ID;   /* a group's number, the same at all members */

/*
 * How the ranks lie on nodes, for adapters that want to know. Arrays are the caller's; NULL: not
 * known.
 */
typedef struct dat_ib_collective_group {
	int local_size;       /* members on this node */
	int local_rank;       /* this one among them */
	int *local_ranks;     /* [local_size] their ranks */
	int external_size;    /* nodes: one member of each is its external one */
	int external_rank;    /* this one among those, or -1 */
	int *external_ranks;  /* [external_size] their ranks */
	int *intranode_table; /* [size] local rank of a rank, or -1 if it is on another node */
	int *internode_table; /* [size] external rank of a rank, or -1 if it is not external */
	int is_comm_world;    /* not 0: all processes of the job */
} DAT_IB_COLLECTIVE_GROUP;

/* Elements of reductions. The last five are a value and an int, for MAXLOC and MINLOC. */
typedef enum dat_ib_collective_data_type {
	DAT_IB_COLLECTIVE_TYPE_INT8 = 0,
	DAT_IB_COLLECTIVE_TYPE_UINT8 = 1,
	DAT_IB_COLLECTIVE_TYPE_INT16 = 2,
	DAT_IB_COLLECTIVE_TYPE_UINT16 = 3,
	DAT_IB_COLLECTIVE_TYPE_INT32 = 4,
	DAT_IB_COLLECTIVE_TYPE_UINT32 = 5,
	DAT_IB_COLLECTIVE_TYPE_INT64 = 6,
	DAT_IB_COLLECTIVE_TYPE_UINT64 = 7,
	DAT_IB_COLLECTIVE_TYPE_FLOAT = 8,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE = 9,
	DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE = 10,
	DAT_IB_COLLECTIVE_TYPE_SHORT_INT = 11,
	DAT_IB_COLLECTIVE_TYPE_2INT = 12,
	DAT_IB_COLLECTIVE_TYPE_FLOAT_INT = 13,
	DAT_IB_COLLECTIVE_TYPE_LONG_INT = 14,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT = 15
} DAT_IB_COLLECTIVE_DATA_TYPE;

/*
 * Reductions. MAXLOC and MINLOC find a value and the first rank that has it: with the pair types
 * above, or with types 0 to 9, of which each element is followed by an unsigned 32-bit rank.
 */
typedef enum dat_ib_collective_reduce_data_op {
	DAT_IB_COLLECTIVE_REDUCE_OP_MAX = 0,
	DAT_IB_COLLECTIVE_REDUCE_OP_MIN = 1,
	DAT_IB_COLLECTIVE_REDUCE_OP_SUM = 2,
	DAT_IB_COLLECTIVE_REDUCE_OP_PROD = 3,
	DAT_IB_COLLECTIVE_REDUCE_OP_LAND = 4,
	DAT_IB_COLLECTIVE_REDUCE_OP_BAND = 5,
	DAT_IB_COLLECTIVE_REDUCE_OP_LOR = 6,
	DAT_IB_COLLECTIVE_REDUCE_OP_BOR = 7,
	DAT_IB_COLLECTIVE_REDUCE_OP_LXOR = 8,
	DAT_IB_COLLECTIVE_REDUCE_OP_BXOR = 9,
	DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC = 10,
	DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC = 11
} DAT_IB_COLLECTIVE_REDUCE_DATA_OP;

/* The design's short names are common words: a program asks for them. */
#ifdef DAT_IB_SHORT_REDUCE_NAMES
#define REDUCE_OP_MAX DAT_IB_COLLECTIVE_REDUCE_OP_MAX
#define REDUCE_OP_MIN DAT_IB_COLLECTIVE_REDUCE_OP_MIN
#define REDUCE_OP_SUM DAT_IB_COLLECTIVE_REDUCE_OP_SUM
#define REDUCE_OP_PROD DAT_IB_COLLECTIVE_REDUCE_OP_PROD
#define REDUCE_OP_LAND DAT_IB_COLLECTIVE_REDUCE_OP_LAND
#define REDUCE_OP_BAND DAT_IB_COLLECTIVE_REDUCE_OP_BAND
#define REDUCE_OP_LOR DAT_IB_COLLECTIVE_REDUCE_OP_LOR
#define REDUCE_OP_BOR DAT_IB_COLLECTIVE_REDUCE_OP_BOR
#define REDUCE_OP_LXOR DAT_IB_COLLECTIVE_REDUCE_OP_LXOR
#define REDUCE_OP_BXOR DAT_IB_COLLECTIVE_REDUCE_OP_BXOR
#define REDUCE_OP_MAXLOC DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC
#define REDUCE_OP_MINLOC DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC
#endif

/* Names of the design. */
typedef DAT_IB_COLLECTIVE_HANDLE DAT_COLLECTIVE_HANDLE;
typedef DAT_IB_COLLECTIVE_MEMBER DAT_COLLECTIVE_MEMBER;
typedef DAT_IB_COLLECTIVE_RANK DAT_COLLECTIVE_RANK;
typedef DAT_IB_COLLECTIVE_ID DAT_COLLECTIVE_ID;
typedef DAT_IB_COLLECTIVE_DATA_TYPE DAT_COLLECTIVE_DATA_TYPE;
typedef DAT_IB_COLLECTIVE_REDUCE_DATA_OP DAT_REDUCE_OP;
typedef DAT_IB_COLLECTIVE_REDUCE_DATA_OP DAT_IB_REDUCE_OP;
typedef DAT_IB_COLLECTIVE_REDUCE_DATA_OP DAT_REDUCE_TYPE;

/*
 * The design's data of a creation event. Its members are in the other order than in the event, so
 * it cannot be read by a cast: dat_ib_collective_created copies it out of an event.
 */
typedef struct dat_ib_collective_create_event_data {
	DAT_CONTEXT user_context;
	DAT_COLLECTIVE_HANDLE collective_handle;
	DAT_COLLECTIVE_RANK rank; /* of the member that the event is of */
	DAT_COUNT size;           /* of the group */
} DAT_IB_COLLECTIVE_CREATE_EVENT_DATA;
typedef DAT_IB_COLLECTIVE_CREATE_EVENT_DATA DAT_COLLECTIVE_CREATE_DATA;

#ifdef __cplusplus
extern "C" {
#endif

static __inline__ DAT_IB_COLLECTIVE_CREATE_EVENT_DATA
dat_ib_collective_created(const DAT_EVENT *event)
{
	const void *bytes = event->event_extension_data;
	const DAT_IB_EXTENSION_EVENT_DATA *extension = DAT_CAST(const DAT_IB_EXTENSION_EVENT_DATA *, bytes);
	DAT_IB_COLLECTIVE_CREATE_EVENT_DATA data;

	data.user_context = extension->coll.context;
	data.collective_handle = extension->coll.handle;
	/* behind the members of coll, where deployed programs look for nothing */
	data.rank = DAT_CAST(DAT_COLLECTIVE_RANK, event->event_extension_data[4] & 0xffffffff);
	data.size = DAT_CAST(DAT_COUNT, event->event_extension_data[4] >> 32);
	return data;
}

#ifdef __cplusplus
}
#endif

/* ---- 3. Calls ---- */

#include <dat2/parts/collective_calls.h>

/* ---- 4. The same by dat_extension_op ---- */

#include <dat2/parts/collective_macros.h>

#endif /* DAT2_PARTS_COLLECTIVE_H */
