/*
 * error_ends.c - how errors that LAPI reports asynchronously may end. argv[1] says which:
 *
 *   term       the error handler itself makes a LAPI_Gfence and a LAPI_Term and ends the program,
 * as the guide's example does unhandled  no error handler is registered: LAPI ends the task with a
 * message (the caller expects a bad status)
 *   index      active messages name an index that their targets never register: after TIMEOUT the
 * error handlers of both tasks get 409 for each, the origin's fence returns it once, and no counter
 * at the target and no completion counter changes
 */
#define _GNU_SOURCE
#include "host.h"

#include <stdint.h>
#include <sys/mman.h>

static lapi_handle_t handle;
static int task = -1, tasks;

/* Puts to memory of this task that nobody may touch: the error is this task's own. */
static void put_nowhere(void)
{
	static char data[64];
	void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOST_CHECK(nowhere != MAP_FAILED);
	HOST_OK(LAPI_Put(handle, (uint)task, sizeof data, nowhere, data, NULL, NULL, NULL));
}

static void wait_for_ever(void)
{
	static lapi_cntr_t never;
	/* returns with an error once the handle is gone, or not at all */
	LAPI_Waitcntr(handle, &never, 1, NULL);
	for (;;)
		pause();
}

static void end_in_handler(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	char text[LAPI_MAX_ERR_STRING];
	HOST_CHECK(*code == LAPI_ERR_TGT_ADDR_NULL);
	HOST_CHECK(*type == PUT_ERR);
	HOST_CHECK(*own == task && *src == task);
	HOST_OK(LAPI_Msg_string(*code, text));
	HOST_OK(LAPI_Gfence(*h));
	HOST_OK(LAPI_Term(*h));
	host_end_case("term_in_error_handler", task != 0);
	exit(host_close("error_ends", task != 0));
}

enum { UNREGISTERED = 7, LONG = 200000 };

static volatile int as_target, as_origin; /* errors that name the task before, and the next */

static void hear_index(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h;
	HOST_CHECK(*code == LAPI_ERR_HDR_HNDLR_NULL);
	HOST_CHECK(*type == AM_ERR && *own == task);
	if (*src == (task + tasks - 1) % tasks)
		__atomic_add_fetch(&as_target, 1, __ATOMIC_ACQ_REL);
	if (*src == (task + 1) % tasks)
		__atomic_add_fetch(&as_origin, 1, __ATOMIC_ACQ_REL);
}

static lapi_cntr_t arrived, complete;
static char data[LONG];

static void send_vector(uint to, lapi_cntr_t *target)
{
	void *places[2] = {data, data + 100};
	ulong lengths[2] = {40, 50};
	lapi_vec_t vector = {LAPI_GEN_IOVECTOR, 2, places, lengths};
	HOST_OK(LAPI_Amsendv(handle, to, (void *)UNREGISTERED, NULL, 0, &vector, target, NULL,
	                     &complete));
}

static void send_to_group(uint to)
{
	lapi_xfer_t x = {.Mc = {.Xfer_type = LAPI_MC_XFER,
	                        .hdr_hdl = (lapi_long_t)UNREGISTERED,
	                        .udata = data,
	                        .udata_len = 60}};
	HOST_OK(LAPI_Group_create(handle, 1, &to, &x.Mc.group));
	HOST_OK(LAPI_Xfer(handle, &x));
}

/* By a data gather/scatter program, whole and from a byte on. */
static void send_gathered(uint to, lapi_cntr_t *target)
{
	lapi_xfer_t x = {.Dgsp = {.Xfer_type = LAPI_DGSP_XFER,
	                          .tgt = to,
	                          .hdr_hdl = (lapi_long_t)UNREGISTERED,
	                          .udata = data,
	                          .udata_len = 5000,
	                          .tgt_cntr = (uintptr_t)target,
	                          .cmpl_cntr = &complete,
	                          .dgsp = LAPI_BYTE}};
	lapi_xfer_t from = {.Amx = {.Xfer_type = LAPI_AMX_XFER,
	                            .tgt = to,
	                            .hdr_hdl = (lapi_long_t)UNREGISTERED,
	                            .udata = data,
	                            .udata_len = 8,
	                            .tgt_cntr = (uintptr_t)target,
	                            .cmpl_cntr = &complete,
	                            .dgsp = LAPI_BYTE,
	                            .send_offset_dgsp_bytes = 12}};
	HOST_OK(LAPI_Xfer(handle, &x));
	HOST_OK(LAPI_Xfer(handle, &from));
}

static void send_light(uint to, lapi_cntr_t *target)
{
	lapi_xfer_t x = {.Am = {.Xfer_type = LAPI_AM_LW_XFER,
	                        .tgt = to,
	                        .hdr_hdl = (lapi_long_t)UNREGISTERED,
	                        .udata = data,
	                        .udata_len = 16,
	                        .tgt_cntr = (uintptr_t)target,
	                        .cmpl_cntr = &complete}};
	HOST_OK(LAPI_Xfer(handle, &x));
}

static int counter(lapi_cntr_t *c)
{
	int value = -1;
	HOST_OK(LAPI_Getcntr(handle, c, &value));
	return value;
}

/* Of two tasks the one before is the next, too. */
static void await_errors(int n)
{
	n *= tasks == 2 ? 2 : 1;
	while (__atomic_load_n(&as_target, __ATOMIC_ACQUIRE) < n ||
	       __atomic_load_n(&as_origin, __ATOMIC_ACQUIRE) < n) {
		HOST_OK(LAPI_Probe(handle));
		usleep(1000);
	}
	HOST_CHECK(as_target == n && as_origin == n);
}

/* Some lengths and kinds, all at once as each takes TIMEOUT. */
static void unregistered_index(void)
{
	static const uint lengths[] = {0, 4, 3000, LONG};
	uint to = (uint)(task + 1) % (uint)tasks, i;
	void *counters[128];
	HOST_OK(LAPI_Senv(handle, TIMEOUT, 10));
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	HOST_OK(LAPI_Setcntr(handle, &complete, 0));
	HOST_OK(LAPI_Address_init(handle, &arrived, counters));
	for (i = 0; i < 4; i++)
		HOST_OK(LAPI_Amsend(handle, to, (void *)UNREGISTERED, NULL, 0, data, lengths[i],
		                    counters[to], NULL, &complete));
	send_vector(to, counters[to]);
	send_to_group(to);
	send_gathered(to, counters[to]);
	send_light(to, counters[to]);
	await_errors(9);
	HOST_CODE(LAPI_ERR_HDR_HNDLR_NULL, LAPI_Fence(handle));
	HOST_OK(LAPI_Fence(handle));
	HOST_CHECK(counter(&arrived) == 0 && counter(&complete) == 0);
	host_use(handle); /* and everything else goes on */
	HOST_OK(LAPI_Term(handle));
	host_end_case("unregistered_index_is_an_error_after_timeout", task != 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	lapi_info_t info;
	bzero(&info, sizeof info);
	if (strcmp(how, "term") == 0)
		info.err_hndlr = end_in_handler;
	else if (strcmp(how, "index") == 0)
		info.err_hndlr = hear_index;
	else if (strcmp(how, "unhandled") != 0) {
		fprintf(stderr, "usage: error_ends term|unhandled|index\n");
		return 2;
	}
	alarm(300);
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	HOST_OK(LAPI_Gfence(handle));
	if (strcmp(how, "index") == 0) {
		unregistered_index();
		return host_close("error_ends", task != 0);
	}
	if (strcmp(how, "term") == 0 || task == 0)
		put_nowhere();
	wait_for_ever();
	return 1;
}
