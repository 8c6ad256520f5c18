/*
 * test_sent.c - send completion handlers of messages that the lane has copied: each runs before its
 * call returns, one after the other, whatever they send. The fake core refuses transfers, so what
 * succeeds is the lane's.
 */
#define _GNU_SOURCE
#include <string.h>

#include "node/guard.h"
#include "handlers/handlers.h"
#include "lane/lane_shared.h"
#include "ctest/fake_lane.h"

enum { BYTES = 5000, CHAIN = 200, EACH = 3 };

static lapi_handle_t handles[2];
static unsigned char source[BYTES], sink[BYTES];
static int ran, depth, deepest, sends, refused;

static void start(void)
{
	fake_lane_open(handles);
	((cshim_lane *)(uintptr_t)fake_context(handles[0])->lane)->copy_max = 4096;
	ran = depth = deepest = sends = refused = 0;
}

static void stop(void)
{
	fake_lane_close(handles);
}

static void *take(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*completion = NULL;
	return sink;
}

static int put(uint64_t n, scompl_hndlr_t *handler)
{
	lapi_xfer_t x;

	memset(&x, 0, sizeof(x));
	x.Put.Xfer_type = LAPI_PUT_XFER;
	x.Put.tgt = 1;
	x.Put.tgt_addr = (uintptr_t)sink;
	x.Put.org_addr = source;
	x.Put.len = n;
	x.Put.shdlr = handler;
	x.Put.sinfo = source;
	return LAPI_Xfer(handles[0], &x);
}

static int amsend(uint64_t n, scompl_hndlr_t *handler)
{
	lapi_xfer_t x;

	memset(&x, 0, sizeof(x));
	x.Am.Xfer_type = LAPI_AM_XFER;
	x.Am.tgt = 1;
	x.Am.hdr_hdl = (uintptr_t)take;
	x.Am.udata = source;
	x.Am.udata_len = n;
	x.Am.shdlr = handler;
	x.Am.sinfo = source;
	return LAPI_Xfer(handles[0], &x);
}

static void sent(lapi_handle_t *hndl, void *info, lapi_sh_info_t *why)
{
	CHECK(*hndl == handles[0] && info == source && why->src == 1 &&
	      why->reason == LAPI_SUCCESS);
	memset(source, 0xdd, sizeof(source)); /* the buffer is the program's again */
	ran++;
}

static void runs_before_the_call_returns(void)
{
	static const uint64_t lengths[] = {0, 8, 100, 600, 4096};
	size_t i;

	start();
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(source, (int)i + 1, sizeof(source));
		memset(sink, 0, sizeof(sink));
		CHECK(put(lengths[i], sent) == LAPI_SUCCESS && ran == 2 * (int)i + 1);
		CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS);
		CHECK(lengths[i] == 0 || (sink[0] == i + 1 && sink[lengths[i] - 1] == i + 1));
		memset(source, (int)i + 1, sizeof(source));
		memset(sink, 0, sizeof(sink));
		CHECK(amsend(lengths[i], sent) == LAPI_SUCCESS && ran == 2 * (int)i + 2);
		CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS);
		CHECK(lengths[i] == 0 || (sink[0] == i + 1 && sink[lengths[i] - 1] == i + 1));
	}
	/* A longer put may be read by its target later. */
	CHECK(put(4097, sent) == LAPI_ERR_TGT && ran == 10);
	stop();
}

/* Sends some more, until CHAIN were sent; those that the lane leaves to core are refused. */
static void send_more(lapi_handle_t *hndl, void *info, lapi_sh_info_t *why)
{
	int i;

	(void)hndl, (void)info, (void)why;
	if (++depth > deepest)
		deepest = depth;
	ran++;
	for (i = 0; i < EACH && sends < CHAIN; i++) {
		sends++;
		if (put(8, send_more) != LAPI_SUCCESS)
			refused++;
	}
	depth--;
}

/* Handlers that send have the others run after them, not inside; more than C keeps are core's. */
static void run_one_after_the_other(void)
{
	start();
	sends = 1;
	CHECK(put(8, send_more) == LAPI_SUCCESS);
	CHECK(sends == CHAIN && ran + refused == CHAIN && deepest == 1);
	CHECK(refused > 0 && ran > CSHIM_SENT_MOST);
	CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS);
	stop();
}

void test_sent(void)
{
	node_guard_install();
	runs_before_the_call_returns();
	run_one_after_the_other();
}
