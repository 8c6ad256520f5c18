/*
 * proposal2005.c - a program written to DAT 1.2 and the proposal of December 2005: its names
 * through <dat/udat.h>, or with EXTENSIONS_ONLY through <dat/dat_extensions.h>, and what its calls
 * become.
 */
#ifdef EXTENSIONS_ONLY
#include <dat/dat_extensions.h>
#else
#include <dat/udat.h>
#endif
#include <string.h>

static int failed, checked;
static char reached[80];

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#ifdef __cplusplus
extern "C" {
#endif

int dat_extensions = 1;

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	snprintf(reached, sizeof reached, "today's %d", op);
	return DAT_SUCCESS;
}

DAT_RETURN dat_extension(DAT_HANDLE handle, DAT_EXT_OP op, ...)
{
	snprintf(reached, sizeof reached, "of 2005 %d", op);
	return DAT_SUCCESS;
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	snprintf(reached, sizeof reached, "receive of %d", segments);
	return DAT_SUCCESS;
}

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	*major = *minor = "";
	return value;
}

DAT_RETURN(dat_lmr_create)
(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
 DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS rights, DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr,
 DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered,
 DAT_VADDR *address)
{
	snprintf(reached, sizeof reached, "register %d with %#x, va type %d, address %d",
	         (int)length, (unsigned)rights, (int)va_type, address != NULL);
	return DAT_SUCCESS;
}

DAT_RETURN(dat_rmr_bind)
(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS rights,
 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
 DAT_RMR_CONTEXT *context)
{
	snprintf(reached, sizeof reached, "bind to %s with %#x, va type %d, context %d",
	         lmr ? "an LMR" : "what the triplet says", (unsigned)rights, (int)va_type,
	         context != NULL);
	return DAT_SUCCESS;
}

#ifdef __cplusplus
}
#endif

#define REACHES(text, call)                                                                     \
	do {                                                                                    \
		reached[0] = 0;                                                                 \
		call;                                                                           \
		checked++;                                                                      \
		if (strcmp(reached, text) != 0) {                                               \
			failed++;                                                               \
			printf("proposal2005: %s reaches \"%s\", not \"%s\"\n", #call, reached, \
			       text);                                                           \
		}                                                                               \
	} while (0)

static void extensions(DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLE local;
	DAT_RMR_TRIPLE remote;
	DAT_DTO_COOKIE cookie;
	const DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;

	cookie.as_64 = 5;
	REACHES("today's 2",
	        dat_ep_post_rdma_write_immed(ep, 1, &local, cookie, &remote, 0xaabbccdd,
	                                     DAT_EXT_WRITE_CONFIRM_FLAG, flags));
	REACHES("today's 2",
	        dat_ep_post_write_immed(ep, 1, &local, cookie, &remote, 0xaabbccdd, flags));
	REACHES("receive of 3", dat_ep_post_recv_immed(ep, 3, &local, cookie, flags));
	REACHES("today's 0", dat_ep_post_fetch_and_add(ep, 1, &local, cookie, &remote, flags));
	REACHES("today's 1", dat_ep_post_cmp_and_swap(ep, 1, 2, &local, cookie, &remote, flags));
	REACHES("of 2005 0", dat_extension(ep, DAT_EXT_RDMA_WRITE_IMMED, 1, &local, cookie, &remote,
	                                   0xaabbccdd, DAT_EXT_WRITE_IMMED_FLAG, flags));
	REACHES("of 2005 1", dat_extension(ep, DAT_EXT_RECV_IMMED, 1, &local, cookie, flags));
	REACHES("of 2005 2",
	        dat_extension(ep, DAT_EXT_FETCH_AND_ADD, 1, &local, cookie, &remote, flags));
	REACHES("of 2005 3",
	        dat_extension(ep, DAT_EXT_CMP_AND_SWAP, 1, 2, &local, cookie, &remote, flags));
}

/* Handles an event as the old loop over completions does. */
static DAT_UINT32 old_loop(const DAT_EVENT *event)
{
	const DAT_EXTENSION_DATA *extension = &event->event_data.extension_data;

	if (event->event_number != DAT_EXTENSION_EVENT || extension->dto.status != DAT_DTO_SUCCESS)
		return 0;
	switch (extension->type) {
	case DAT_EXT_RECV_IMMED_DATA_IN_EVENT:
		return extension->val.immed.data;
	case DAT_EXT_RDMA_WRITE_IMMED_STATUS:
	case DAT_EXT_RECV_NO_IMMED:
	case DAT_EXT_RECV_IMMED_DATA_IN_PAYLOAD:
	case DAT_EXT_FETCH_AND_ADD_STATUS:
	case DAT_EXT_CMP_AND_SWAP_STATUS:
	default:
		return 1;
	}
}

static void events(void)
{
	DAT_EVENT event;
	DAT_UINT32 words[sizeof event / 4];

	/* As the library fills it: event number, the transfer's data, then the old type and data.
	 */
	memset(words, 0, sizeof words);
	words[0] = 0x40000;
	words[12] = 3;
	words[13] = 4711;
	memcpy(&event, words, sizeof event);
	checked++;
	if (old_loop(&event) != 4711 || sizeof event.event_data != 40) {
		failed++;
		printf("proposal2005: an event does not read as the proposal has it\n");
	}
}

static void attributes(void)
{
	checked++;
	if (strcmp(DAT_EXT_ATTR, "DAT_EXTENSION_INTERFACE") != 0 ||
	    strcmp(DAT_EXT_ATTR_RDMA_WRITE_IMMED, "DAT_EXT_RDMA_WRITE_IMMED") != 0 ||
	    strcmp(DAT_EXT_ATTR_RECV_IMMED, "DAT_EXT_RECV_IMMED") != 0 ||
	    strcmp(DAT_EXT_ATTR_RECV_IMMED_EVENT, "DAT_EXT_RECV_IMMED_EVENT") != 0 ||
	    strcmp(DAT_EXT_ATTR_RECV_IMMED_PAYLOAD, "DAT_EXT_RECV_IMMED_PAYLOAD") != 0 ||
	    strcmp(DAT_EXT_ATTR_FETCH_AND_ADD, "DAT_EXT_FETCH_AND_ADD") != 0 ||
	    strcmp(DAT_EXT_ATTR_CMP_AND_SWAP, "DAT_EXT_CMP_AND_SWAP") != 0 ||
	    strcmp(DAT_EXT_ATTR_TRUE, "TRUE") != 0 || strcmp(DAT_EXT_ATTR_FALSE, "FALSE") != 0 ||
	    !dat_extensions) {
		failed++;
		printf("proposal2005: an attribute's name differs\n");
	}
}

#ifndef EXTENSIONS_ONLY
/* DAT 1.2: fewer arguments, and the right to atomics. */
static void version_1(DAT_IA_HANDLE ia)
{
#ifdef DAT_ARGS_CHOOSE
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_TRIPLET local;
	DAT_RMR_COOKIE cookie;
	DAT_VLEN registered;
	DAT_VADDR address;

	region.for_va = &region;
	cookie.as_64 = 5;
	REACHES("register 64 with 0x73, va type 0, address 1",
	        dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, NULL, DAT_MEM_PRIV_ALL_FLAG,
	                       &lmr, &lmr_context, &rmr_context, &registered, &address));
	REACHES("register 64 with 0x10, va type 0, address 1",
	        dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, NULL,
	                       DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr, &lmr_context, &rmr_context,
	                       &registered, &address));
	REACHES("register 64 with 0x42, va type 1, address 0",
	        dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 64, NULL,
	                       DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_ZB, &lmr, &lmr_context,
	                       &rmr_context, &registered, NULL));
	REACHES("bind to what the triplet says with 0x2, va type 0, context 1",
	        dat_rmr_bind(ia, &local, DAT_MEM_PRIV_REMOTE_READ_FLAG, ia, cookie,
	                     DAT_COMPLETION_DEFAULT_FLAG, &rmr_context));
	REACHES("bind to an LMR with 0x2, va type 1, context 0",
	        dat_rmr_bind(ia, ia, &local, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_ZB, ia,
	                     cookie, DAT_COMPLETION_DEFAULT_FLAG, NULL));
#endif
	DAT_RMR_TRIPLET remote;

	remote.target_address = 77;
	checked++;
	if (remote.virtual_address != 77 || ia == NULL) {
		failed++;
		printf("proposal2005: target_address is not virtual_address\n");
	}
}
#endif

int main(void)
{
	static char object;

	extensions(&object);
	events();
	attributes();
#ifndef EXTENSIONS_ONLY
	version_1(&object);
#endif
	printf("proposal2005: %d checked, %d failed\n", checked, failed);
	return failed != 0 || checked == 0;
}
