/* collective.c - the collective calls, which are declared and not there yet. */
#include "dat_internal.h"

/* All of them are this function. */
__attribute__((used)) static DAT_RETURN not_implemented(void)
{
	return DAT_NOT_IMPLEMENTED; /* without class, as programs expect it */
}

#define NOT_YET(name)                          \
	__asm__(".globl " #name "\n"           \
	        ".type " #name ", @function\n" \
	        ".set " #name ", not_implemented\n");
#define BOTH(name)                        \
	NOT_YET(dat_ib_collective_##name) \
	NOT_YET(dat_collective_##name)

BOTH(create_member)
BOTH(free_member)
BOTH(create_group)
BOTH(free_group)
BOTH(set_clock)
BOTH(read_clock)
BOTH(broadcast)
BOTH(scatter)
BOTH(scatterv)
BOTH(gather)
BOTH(gatherv)
BOTH(allgather)
BOTH(allgatherv)
BOTH(alltoall)
BOTH(alltoallv)
BOTH(reduce)
BOTH(allreduce)
BOTH(reduce_scatter)
BOTH(scan)
BOTH(barrier)
