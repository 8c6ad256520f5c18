/*
 * Both.c - LAPI and uDAPL in one program.
 *
 * Tasks of a LAPI job form pairs. The odd task listens with uDAPL and sends the even one its
 * address, with a put: LAPI takes the place of the messages that uDAPL programs otherwise exchange
 * beforehand. Then both add to one word of the odd task's, the even one with uDAPL, the odd one and
 * its buddy with LAPI, all at once: no addition is lost. At last the even task writes a text with
 * uDAPL and announces it with LAPI.
 */
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include "sample.h"

enum { ROUNDS = 200, PATIENCE = 60000000, QUEUE = 16 };

/* The addresses that the odd task sends. */
static struct place {
	struct sockaddr_storage address;
	DAT_CONN_QUAL qualifier;
	DAT_RMR_TRIPLET shared;
} place;

static struct shared {
	long long sum;
	char text[56];
} shared __attribute__((aligned(8))), local;

static lapi_handle_t hndl;
static lapi_cntr_t told, done;
static DAT_IA_HANDLE adapter;
static DAT_PZ_HANDLE zone;
static DAT_EVD_HANDLE errors_evd, request_evd, connect_evd, done_evd;
static DAT_EP_HANDLE ep;

/* Calls uDAPL, as CALL calls LAPI. */
#define DAT(call) dat_sample_call((call), #call, __LINE__)
static void dat_sample_call(DAT_RETURN result, const char *call, int line)
{
	const char *major = "", *minor = "";

	if (result == DAT_SUCCESS)
		return;
	dat_strerror(result, &major, &minor);
	fprintf(stderr, "task %d: Both.c:%d: %s: %s %s\n", sample_task, line, call, major, minor);
	exit(1);
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, int number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	DAT(dat_evd_wait(evd, PATIENCE, 1, &event, &more));
	if ((int)event.event_number != number) {
		fprintf(stderr, "task %d: event %#x\n", sample_task, event.event_number);
		exit(1);
	}
	return event;
}

static DAT_LMR_TRIPLET memory(void *start, DAT_SEG_LENGTH length, DAT_RMR_TRIPLET *remote)
{
	const int rights = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET segment = {(uintptr_t)start, length, 0};
	DAT_RMR_TRIPLET theirs = {(uintptr_t)start, length, 0};
	DAT_LMR_HANDLE lmr;

	region.for_va = start;
	DAT(dat_lmr_create(adapter, DAT_MEM_TYPE_VIRTUAL, region, length, zone,
	                   (DAT_MEM_PRIV_FLAGS)rights, DAT_VA_TYPE_VA, &lmr, &segment.lmr_context,
	                   &theirs.rmr_context, NULL, NULL));
	if (remote)
		*remote = theirs;
	return segment;
}

static void open_adapter(void)
{
	DAT(dat_ia_open((DAT_NAME_PTR) "lapi", QUEUE, &errors_evd, &adapter));
	DAT(dat_pz_create(adapter, &zone));
	DAT(dat_evd_create(adapter, QUEUE, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &request_evd));
	DAT(dat_evd_create(adapter, QUEUE, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connect_evd));
	DAT(dat_evd_create(adapter, QUEUE, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &done_evd));
	DAT(dat_ep_create(adapter, zone, done_evd, done_evd, connect_evd, NULL, &ep));
}

/* One addition with LAPI to the word of a task. */
static void add_with_lapi(int task, void *word)
{
	long long one = 1;

	CALL(LAPI_Rmw64(hndl, FETCH_AND_ADD, (uint)task, word, &one, NULL, &done));
	CALL(LAPI_Waitcntr(hndl, &done, 1, NULL));
}

/* The odd task: listens, tells where, accepts, and adds with LAPI to its own word. */
static void serve(int buddy, void **place_of, void **told_of)
{
	DAT_IA_ATTR attr;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	size_t length;

	DAT(dat_ia_query(adapter, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	length = attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
	                                                    : sizeof(struct sockaddr_in);
	memcpy(&place.address, attr.ia_address_ptr, length);
	memory(&shared, sizeof shared, &place.shared);
	DAT(dat_psp_create_any(adapter, &place.qualifier, request_evd, DAT_PSP_CONSUMER_FLAG,
	                       &psp));
	CALL(LAPI_Put(hndl, (uint)buddy, sizeof place, place_of[buddy], &place, told_of[buddy],
	              NULL, NULL));
	event = next(request_evd, DAT_CONNECTION_REQUEST_EVENT);
	DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	next(connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int i = 0; i < ROUNDS; i++)
		add_with_lapi(sample_task, &shared.sum);
	CALL(LAPI_Waitcntr(hndl, &told, 1, NULL)); /* the buddy is done, and its text is here */
	sample_say("the sum is %lld; the text: %s", shared.sum, shared.text);
	EXPECT(shared.sum == 3LL * ROUNDS);
	EXPECT(strcmp(shared.text, "written with uDAPL") == 0);
	next(connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* The even task: connects, adds with uDAPL and with LAPI, writes. */
static void work(int buddy, void **word_of, void **told_of)
{
	DAT_LMR_TRIPLET result = memory(&local.sum, sizeof local.sum, NULL);
	DAT_LMR_TRIPLET text = memory(local.text, sizeof local.text, NULL);
	DAT_RMR_TRIPLET there;
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 0;
	CALL(LAPI_Waitcntr(hndl, &told, 1, NULL));
	DAT(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&place.address, place.qualifier, PATIENCE, 0,
	                   NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	next(connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	sample_say("task %d has told where it listens, and is connected", buddy);
	for (int i = 0; i < ROUNDS; i++) {
		DAT(dat_ib_post_fetch_and_add(ep, 1, &result, cookie, &place.shared,
		                              DAT_COMPLETION_DEFAULT_FLAG));
		next(done_evd, DAT_IB_DTO_EVENT);
		add_with_lapi(buddy, word_of[buddy]);
	}
	strcpy(local.text, "written with uDAPL");
	there = place.shared;
	there.virtual_address += offsetof(struct shared, text);
	DAT(dat_ep_post_rdma_write(ep, 1, &text, cookie, &there, DAT_COMPLETION_DEFAULT_FLAG));
	next(done_evd, DAT_DTO_COMPLETION_EVENT); /* it is in place */
	CALL(LAPI_Put(hndl, (uint)buddy, 0, NULL, NULL, told_of[buddy], NULL, NULL));
	DAT(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	next(connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

int main(void)
{
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **tables;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;
	CALL(LAPI_Setcntr(hndl, &told, 0));
	CALL(LAPI_Setcntr(hndl, &done, 0));
	tables = calloc(3 * (size_t)num_tasks, sizeof *tables);
	CALL(LAPI_Address_init(hndl, &place, tables));
	CALL(LAPI_Address_init(hndl, &told, tables + num_tasks));
	CALL(LAPI_Address_init(hndl, &shared.sum, tables + 2 * num_tasks));
	if (buddy < num_tasks) {
		open_adapter();
		if (task % 2 != 0)
			serve(buddy, tables, tables + num_tasks);
		else
			work(buddy, tables + 2 * num_tasks, tables + num_tasks);
		DAT(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG));
	}
	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(tables);
	return sample_end();
}
