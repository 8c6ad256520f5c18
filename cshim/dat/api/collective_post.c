/* collective_post.c - the collective calls enter the block, and look at the links between. */
#include "dat/api/block.h"
#include "dat/coll/coll.h"
#include "dat/rc/rc.h"

/*
 * If every operation is complete when it is posted, nothing else may look at the links: every
 * POSTS-th post does.
 */
enum { POSTS = 64 };

DAT_RETURN dat_collective_post(const uint64_t *arguments)
{
	static uint32_t posts;
	DAT_RETURN result;

	if (!dat_enter())
		return dat_refused();
	result = dat_groups_post(arguments);
	if (dat_groups && ++posts % POSTS == 0) {
		rc_poll(0, NULL);
		dat_groups_turn();
	}
	return dat_leave(result);
}
