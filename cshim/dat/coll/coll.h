/*
 * coll.h - collective operations of groups whose members are all processes of one node: the contract
 * of this room. Everything runs under the block's lock.
 */
#ifndef DAT_COLL_H
#define DAT_COLL_H

#include "dat/common.h"

/* Sizes are of whole buffers, and v-calls have a buffer for each rank; or of one rank's part, and
 * they have displacements. */
enum { DAT_COLL_WHOLE, DAT_COLL_OF_RANK };

/* What an operation has; capi/dat_collective.go has the same. */
enum {
	DAT_COLL_GROUP,
	DAT_COLL_KIND,
	DAT_COLL_SET,
	DAT_COLL_SEND,
	DAT_COLL_SEND_SIZE,
	DAT_COLL_SEND_SIZES,
	DAT_COLL_SEND_PLACES,
	DAT_COLL_RECV,
	DAT_COLL_RECV_SIZE,
	DAT_COLL_RECV_SIZES,
	DAT_COLL_RECV_PLACES,
	DAT_COLL_ROOT,
	DAT_COLL_OPERATION,
	DAT_COLL_TYPE,
	DAT_COLL_CONTEXT,
	DAT_COLL_FLAGS,
	DAT_COLL_ARGUMENTS
};

/* From a buffer to its list of sizes, and of places. */
#define DAT_COLL_SIZES_AT (DAT_COLL_SEND_SIZES - DAT_COLL_SEND)
#define DAT_COLL_PLACES_AT (DAT_COLL_SEND_PLACES - DAT_COLL_SEND)

/* Posts an operation, as core does by arguments; what C does not do of it, core does. */
DAT_RETURN dat_groups_post(const uint64_t *arguments);
/* Goes on with what is posted to groups; flags of a turn (common.h). */
uint32_t dat_groups_turn(void);
/* An operation of a group waits whose members share processors. */
extern int dat_groups_crowd;

#endif
