/*
 * memory.c - regions of regions, regions of shared memory, and the attributes of an adapter, as a
 * program sees them.
 */
#define _GNU_SOURCE
#include "pair.h"

#include <sys/mman.h>
#include <unistd.h>

static pair p;

static DAT_RETURN create(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
                         int privileges, DAT_LMR_HANDLE *lmr, DAT_RMR_CONTEXT *remote,
                         DAT_VADDR *address)
{
	DAT_LMR_CONTEXT local;
	DAT_VLEN size;

	return dat_lmr_create(p.ia, type, region, length, p.pz, (DAT_MEM_PRIV_FLAGS)privileges,
	                      DAT_VA_TYPE_VA, lmr, &local, remote, &size, address);
}

/* Endpoint a writes to memory of that context; returns the status. */
static DAT_DTO_COMPLETION_STATUS write_to(DAT_VADDR address, DAT_RMR_CONTEXT context)
{
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 8);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 0, 8);
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 1;
	remote.virtual_address = address;
	remote.rmr_context = context;
	MUST(dat_ep_post_rdma_write(p.a.ep, 1, &local, cookie, &remote,
	                            DAT_COMPLETION_DEFAULT_FLAG));
	return pair_event(p.a.request, DAT_DTO_COMPLETION_EVENT)
	        .event_data.dto_completion_event_data.status;
}

/* One memory, mapped twice: data written through one region is seen through the other. */
static void shared(void)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "a name that both know";
	const int all = DAT_MEM_PRIV_ALL_FLAG, file = memfd_create("shared", 0);
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr[2];
	DAT_RMR_CONTEXT remote[2];
	DAT_LMR_PARAM param;
	DAT_VADDR at[2];
	DAT_UINT64 *map[2];
	int i;

	CHECK(file >= 0 && ftruncate(file, 4096) == 0);
	for (i = 0; i < 2; i++) {
		map[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		CHECK(map[i] != MAP_FAILED);
		region.for_shared_memory.virtual_address = map[i];
		region.for_shared_memory.shared_memory_id = &cookie;
		MUST(create(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, all, &lmr[i], &remote[i],
		            &at[i]));
		CHECK(at[i] == (DAT_VADDR)(size_t)map[i]);
	}
	memset(cookie, 0, sizeof cookie);
	MUST(dat_lmr_query(lmr[0], DAT_LMR_FIELD_ALL, &param));
	CHECK(param.mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL && param.length == 4096);
	CHECK(strcmp(*param.region_desc.for_shared_memory.shared_memory_id,
	             "a name that both know") == 0);
	p.memory[0] = 4711;
	CHECK(write_to(at[1] + 8, remote[1]) == DAT_DTO_SUCCESS);
	CHECK(map[0][1] == 4711);
	region.for_shared_memory.shared_memory_id = NULL;
	CHECK(DAT_GET_TYPE(create(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, all, &lmr[1],
	                          &remote[1], &at[1])) == DAT_INVALID_PARAMETER);
	MUST(dat_lmr_free(lmr[0]));
	MUST(dat_lmr_free(lmr[1]));
}

static void narrower(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr, wider;
	DAT_RMR_CONTEXT remote;
	DAT_VADDR at;

	region.for_lmr_handle = p.lmr;
	MUST(create(DAT_MEM_TYPE_LMR, region, 0, DAT_MEM_PRIV_REMOTE_READ_FLAG, &lmr, &remote,
	            &at));
	CHECK(at == (DAT_VADDR)(size_t)p.memory);
	region.for_lmr_handle = lmr;
	CHECK(DAT_GET_TYPE(create(DAT_MEM_TYPE_LMR, region, 0, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	                          &wider, &remote, &at)) == DAT_PRIVILEGES_VIOLATION);
	CHECK(write_to(at, remote) == DAT_DTO_ERR_REMOTE_ACCESS);
	MUST(dat_lmr_free(lmr));
}

static void attributes(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR ia;
	int i, found = 0;

	MUST(dat_ia_query(p.ia, NULL, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL, &provider));
	CHECK(ia.max_rdma_read_per_ep_in == 16 && ia.max_lmrs > 0);
	CHECK(provider.lmr_mem_types_supported == 7);
	CHECK(provider.completion_flags_supported == 0x1b);
	for (i = 0; i < provider.num_provider_specific_attr; i++) {
		const DAT_NAMED_ATTR *a = &provider.provider_specific_attr[i];

		if (strcmp(a->name, "DAT_IB_GID") == 0)
			found += strcmp(a->value, "0000:0000:0000:0000:0000:ffff:7f00:0001") == 0;
		if (strcmp(a->name, "DAT_IB_TRANSPORT_MTU") == 0)
			found += atoi(a->value) >= 576;
	}
	CHECK(found == 2);
}

int main(void)
{
	pair_open(&p, 8);
	attributes();
	shared();
	narrower();
	pair_close(&p);
	puts("memory: passed");
	return 0;
}
