/*
 * locked.c - uDAPL on an RDMA adapter where 64 KiB of memory may be locked (ulimit -l 64): memory
 * that fits can be registered, more is refused, and deregistered memory no longer counts.
 *
 * usage: locked -P ADAPTER
 */
#include "../c/dat/programs/pair.h"

#include <unistd.h>

static pair p;
static char more[65536];

static DAT_RETURN lock(void *at, DAT_VLEN n, DAT_LMR_HANDLE *to)
{
	DAT_REGION_DESCRIPTION region = {.for_va = at};
	DAT_VLEN size;
	DAT_VADDR address;

	return dat_lmr_create(p.ia, DAT_MEM_TYPE_VIRTUAL, region, n, p.pz, DAT_MEM_PRIV_ALL_FLAG,
	                      DAT_VA_TYPE_VA, to, &p.local, &p.remote, &size, &address);
}

int main(int argc, char **argv)
{
	enum { REFUSED = DAT_INSUFFICIENT_RESOURCES };
	DAT_LMR_HANDLE first, second;
	side s;

	CHECK(argc == 3);
	MUST(dat_ia_open(argv[2], 8, &p.async, &p.ia));
	MUST(dat_pz_create(p.ia, &p.pz));
	for (int i = 0; i < 2; i++) {
		CHECK(DAT_GET_TYPE(lock(p.memory, sizeof p.memory + 1, &first)) == REFUSED);
		MUST(lock(p.memory, 40000, &first));
		CHECK(DAT_GET_TYPE(lock(more, 40000, &second)) == REFUSED);
		pair_side(&p, &s, 8);
		pair_close_side(&s);
		MUST(dat_lmr_free(first));
	}
	MUST(dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG));
	printf("resume: passed: little memory\n");
	return 0;
}
