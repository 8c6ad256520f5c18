/* fake_bulk.c - what the lane leaves to core in the middle of long puts and gets. No test here makes it do so. */
#include "fake.h"

void golapi_lane_put_rest(int context, int32_t tgt, uint64_t len, cshim_addr tgt_addr, cshim_addr org_addr, cshim_addr tgt_cntr,
                          cshim_addr org_cntr, cshim_addr cmpl_cntr)
{
	(void)context, (void)tgt, (void)len, (void)tgt_addr, (void)org_addr, (void)tgt_cntr, (void)org_cntr, (void)cmpl_cntr;
	CHECK(!"the rest of a put");
}

void golapi_lane_get_rest(int context, int32_t origin, uint32_t token, uint64_t len, cshim_addr addr, uint64_t offset, cshim_addr tgt_cntr)
{
	(void)context, (void)origin, (void)token, (void)len, (void)addr, (void)offset, (void)tgt_cntr;
	CHECK(!"the rest of an answer");
}
