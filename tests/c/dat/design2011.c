/*
 * design2011.c - a program written to the paper of April 2011 on collective extensions: its names,
 * its prototypes, and its calls under both spellings with its numbers of arguments, each of which
 * must reach the function that takes them. This file defines those functions: the compiler checks
 * that the header's prototypes are the paper's.
 */
#define DAT_IB_IMMED_DATA_IS_UINT32
#define DAT_IB_SHORT_REDUCE_NAMES
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <string.h>

static const char *reached = "";
static int failed, checked;

#ifdef __cplusplus
extern "C" {
#endif

#define MOCK(name, ...)                \
	DAT_RETURN(name)(__VA_ARGS__); \
	DAT_RETURN(name)(__VA_ARGS__)  \
	{                              \
		reached = #name;       \
		return DAT_SUCCESS;    \
	}

/* Parameters without a name would be C23: each prototype has its own, and nobody reads them. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

MOCK(dat_collective_create_group, DAT_COLLECTIVE_MEMBER *group, DAT_COUNT group_size,
     DAT_COLLECTIVE_RANK self, DAT_COLLECTIVE_ID group_id, DAT_EVD_HANDLE evd, DAT_PZ_HANDLE pz,
     DAT_CONTEXT context)
MOCK(dat_collective_free_group, DAT_COLLECTIVE_HANDLE group)
MOCK(dat_collective_broadcast, DAT_COLLECTIVE_HANDLE group, DAT_PVOID buffer, DAT_COUNT count,
     DAT_COLLECTIVE_RANK root, DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_scatter, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT in_count, DAT_COLLECTIVE_RANK root, DAT_CONTEXT context,
     DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_scatterv, DAT_COLLECTIVE_HANDLE group, DAT_PVOID *outs, DAT_COUNT *out_counts,
     DAT_PVOID in, DAT_COUNT in_count, DAT_COLLECTIVE_RANK root, DAT_CONTEXT context,
     DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_gather, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT in_count, DAT_COLLECTIVE_RANK root, DAT_CONTEXT context,
     DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_gatherv, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID *ins, DAT_COUNT *in_counts, DAT_COLLECTIVE_RANK root, DAT_CONTEXT context,
     DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_allgather, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT in_count, DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_allgatherv, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID *ins, DAT_COUNT *in_counts, DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_alltoall, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT in_count, DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_alltoallv, DAT_COLLECTIVE_HANDLE group, DAT_PVOID *outs, DAT_COUNT *out_counts,
     DAT_PVOID *ins, DAT_COUNT *in_counts, DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_reduce, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT in_count, DAT_REDUCE_OP op, DAT_COLLECTIVE_DATA_TYPE type,
     DAT_COLLECTIVE_RANK root, DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_allreduce, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT in_count, DAT_REDUCE_OP op, DAT_COLLECTIVE_DATA_TYPE type,
     DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_reduce_scatter, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT *in_counts, DAT_REDUCE_OP op, DAT_COLLECTIVE_DATA_TYPE type,
     DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_scan, DAT_COLLECTIVE_HANDLE group, DAT_PVOID out, DAT_COUNT out_count,
     DAT_PVOID in, DAT_COUNT in_count, DAT_REDUCE_OP op, DAT_COLLECTIVE_DATA_TYPE type,
     DAT_CONTEXT context, DAT_COMPLETION_FLAGS flags)
MOCK(dat_collective_barrier, DAT_COLLECTIVE_HANDLE group, DAT_CONTEXT context,
     DAT_COMPLETION_FLAGS flags)
MOCK(dat_ib_post_rdma_write_immed, DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
     DAT_CONTEXT context, DAT_RMR_TRIPLE *remote, DAT_UINT32 data, DAT_COMPLETION_FLAGS flags)
MOCK(dat_ib_post_cmp_and_swap, DAT_EP_HANDLE ep, DAT_UINT64 compare, DAT_UINT64 swap,
     DAT_LMR_TRIPLET *local, DAT_CONTEXT context, DAT_RMR_TRIPLE *remote,
     DAT_COMPLETION_FLAGS flags)
MOCK(dat_ib_post_fetch_and_add, DAT_EP_HANDLE ep, DAT_UINT64 add, DAT_LMR_TRIPLET *local,
     DAT_CONTEXT context, DAT_RMR_TRIPLE *remote, DAT_COMPLETION_FLAGS flags)

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	static char text[16];

	snprintf(text, sizeof text, "op %d", op);
	reached = text;
	return DAT_SUCCESS;
}

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	*major = *minor = "";
	return value;
}

#ifdef __cplusplus
}
#endif

#define REACHES(name, call)                                                                  \
	do {                                                                                 \
		reached = "nothing";                                                         \
		call;                                                                        \
		checked++;                                                                   \
		if (strcmp(reached, name) != 0) {                                            \
			failed++;                                                            \
			printf("design2011: %s reaches %s, not %s\n", #call, reached, name); \
		}                                                                            \
	} while (0)

static DAT_COLLECTIVE_HANDLE group;
static DAT_CONTEXT context;
static char out[8], in[8];
static DAT_PVOID outs[2], ins[2];
static DAT_COUNT counts[2];
static const DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;
static const DAT_REDUCE_OP sum = REDUCE_OP_SUM;
static const DAT_COLLECTIVE_DATA_TYPE type = DAT_IB_COLLECTIVE_TYPE_DOUBLE;

/* dat_collective_X is always the paper's. */
static void papers_spelling(void)
{
	DAT_COLLECTIVE_MEMBER members[2] = {NULL, NULL};

	REACHES("dat_collective_create_group",
	        dat_collective_create_group(members, 2, 0, 7, NULL, NULL, context));
	REACHES("dat_collective_free_group", dat_collective_free_group(group));
	REACHES("dat_collective_broadcast",
	        dat_collective_broadcast(group, out, 8, 0, context, flags));
	REACHES("dat_collective_scatter",
	        dat_collective_scatter(group, out, 8, in, 4, 0, context, flags));
	REACHES("dat_collective_scatterv",
	        dat_collective_scatterv(group, outs, counts, in, 4, 0, context, flags));
	REACHES("dat_collective_gather",
	        dat_collective_gather(group, out, 4, in, 8, 0, context, flags));
	REACHES("dat_collective_gatherv",
	        dat_collective_gatherv(group, out, 4, ins, counts, 0, context, flags));
	REACHES("dat_collective_allgather",
	        dat_collective_allgather(group, out, 4, in, 8, context, flags));
	REACHES("dat_collective_allgatherv",
	        dat_collective_allgatherv(group, out, 4, ins, counts, context, flags));
	REACHES("dat_collective_alltoall",
	        dat_collective_alltoall(group, out, 8, in, 8, context, flags));
	REACHES("dat_collective_alltoallv",
	        dat_collective_alltoallv(group, outs, counts, ins, counts, context, flags));
	REACHES("dat_collective_reduce",
	        dat_collective_reduce(group, out, 8, in, 8, sum, type, 0, context, flags));
	REACHES("dat_collective_allreduce",
	        dat_collective_allreduce(group, out, 8, in, 8, sum, type, context, flags));
	REACHES("dat_collective_reduce_scatter",
	        dat_collective_reduce_scatter(group, out, 8, in, counts, sum, type, context,
	                                      flags));
	REACHES("dat_collective_scan",
	        dat_collective_scan(group, out, 8, in, 8, sum, type, context, flags));
	REACHES("dat_collective_barrier", dat_collective_barrier(group, context, flags));
#ifdef DAT_ARGS_CHOOSE
	/* As the paper prints allreduce. */
	REACHES("dat_collective_allreduce",
	        dat_collective_reduce(group, out, 8, in, 8, sum, type, context, flags));
#endif
}

/* dat_ib_collective_X is the paper's with its number of arguments, else the deployed header's. */
static void headings_spelling(void)
{
#ifdef DAT_ARGS_CHOOSE
	DAT_COLLECTIVE_MEMBER members[2] = {NULL, NULL};
	DAT_COUNT places[2] = {0, 0};

	REACHES("dat_collective_create_group",
	        dat_ib_collective_create_group(members, 2, 0, 7, NULL, NULL, context));
	REACHES("op 8",
	        dat_ib_collective_create_group(members, 2, 0, 7, NULL, NULL, NULL, context));
	REACHES("dat_collective_scatterv",
	        dat_ib_collective_scatterv(group, outs, counts, in, 4, 0, context, flags));
	REACHES("op 13",
	        dat_ib_collective_scatterv(group, out, counts, places, in, 4, 0, context, flags));
	REACHES("dat_collective_gatherv",
	        dat_ib_collective_gatherv(group, out, 4, ins, counts, 0, context, flags));
	REACHES("op 15",
	        dat_ib_collective_gatherv(group, out, 4, in, counts, places, 0, context, flags));
	REACHES("dat_collective_allgatherv",
	        dat_ib_collective_allgatherv(group, out, 4, ins, counts, context, flags));
	REACHES("op 17",
	        dat_ib_collective_allgatherv(group, out, 4, in, counts, places, context, flags));
	REACHES("dat_collective_alltoallv",
	        dat_ib_collective_alltoallv(group, outs, counts, ins, counts, context, flags));
	REACHES("op 19", dat_ib_collective_alltoallv(group, out, counts, places, in, counts, places,
	                                             context, flags));
	REACHES("op 20",
	        dat_ib_collective_reduce(group, out, 8, in, 8, sum, type, 0, context, flags));
	REACHES("op 21", dat_ib_collective_reduce(group, out, 8, in, 8, sum, type, context, flags));
#endif
	REACHES("op 9", dat_ib_collective_free_group(group));
	REACHES("op 24", dat_ib_collective_broadcast(group, out, 8, 0, context, flags));
	REACHES("op 12", dat_ib_collective_scatter(group, out, 4, in, 4, 0, context, flags));
	REACHES("op 14", dat_ib_collective_gather(group, out, 4, in, 4, 0, context, flags));
	REACHES("op 16", dat_ib_collective_allgather(group, out, 4, in, 4, context, flags));
	REACHES("op 18", dat_ib_collective_alltoall(group, out, 4, in, 4, context, flags));
	REACHES("op 21",
	        dat_ib_collective_allreduce(group, out, 8, in, 8, sum, type, context, flags));
	REACHES("op 22", dat_ib_collective_reduce_scatter(group, out, 8, in, counts, sum, type,
	                                                  context, flags));
	REACHES("op 23", dat_ib_collective_scan(group, out, 8, in, 8, sum, type, context, flags));
	REACHES("op 25", dat_ib_collective_barrier(group, context, flags));
}

/* Macro or function: a name in parentheses is the function. */
static void transfers(void)
{
	DAT_LMR_TRIPLE local = {0, 0, 0};
	DAT_RMR_TRIPLE remote = {0, 0, 0};

	REACHES("op 2", dat_ib_post_rdma_write_immed(group, 1, &local, context, &remote, 5, flags));
	REACHES("dat_ib_post_rdma_write_immed",
	        (dat_ib_post_rdma_write_immed)(group, 1, &local, context, &remote, 5, flags));
	REACHES("op 1", dat_ib_post_cmp_and_swap(group, 1, 2, &local, context, &remote, flags));
	REACHES("dat_ib_post_cmp_and_swap",
	        (dat_ib_post_cmp_and_swap)(group, 1, 2, &local, context, &remote, flags));
	REACHES("op 0", dat_ib_post_fetch_and_add(group, 1, &local, context, &remote, flags));
	REACHES("dat_ib_post_fetch_and_add",
	        (dat_ib_post_fetch_and_add)(group, 1, &local, context, &remote, flags));
}

/* An event as the paper reads it. */
static void events(void)
{
	DAT_EVENT event;
	DAT_IB_EXTENSION_DATA *data = (DAT_IB_EXTENSION_DATA *)event.event_extension_data;
	DAT_IB_TYPE kind;
	DAT_IB_EXT_STATUS status;
	DAT_COLLECTIVE_CREATE_DATA created;

	memset(&event, 0, sizeof event);
	event.event_number = DAT_IB_EXTENSION_EVENT;
	event.event_extension_data[0] = DAT_IB_RDMA_WRITE_IMMED_STATUS;
	event.event_extension_data[1] = 42;
	event.event_extension_data[2] = (DAT_UINT64)out;
	event.event_extension_data[3] = 99;
	event.event_extension_data[4] = (DAT_UINT64)5 << 32 | 3;
	kind = data->type;
	status = data->status;
	created = dat_ib_collective_created(&event);
	checked++;
	if (kind != DAT_IB_RDMA_WRITE_IMMED_STATUS || status != DAT_OP_SUCCESS ||
	    data->val.immed != 42 || data->val.coll.context.as_64 != 99 ||
	    data->val.coll.handle != (DAT_HANDLE)out || created.user_context.as_64 != 99 ||
	    created.collective_handle != (DAT_HANDLE)out || created.rank != 3 ||
	    created.size != 5 || DAT_IB_CMP_AND_SWAP_STATUS != 1 ||
	    DAT_IB_FETCH_AND_ADD_STATUS != 0) {
		failed++;
		printf("design2011: an event does not read as the paper has it\n");
	}
}

int main(void)
{
	papers_spelling();
	headings_spelling();
	transfers();
	events();
	printf("design2011: %d checked, %d failed\n", checked, failed);
	return failed != 0 || checked == 0;
}
