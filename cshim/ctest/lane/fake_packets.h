/*
 * fake_packets.h - two tasks of this process, joined by an adapter made of memory, as the tests of
 * packets use them: puts of task 0 to task 1.
 */
#ifndef CTEST_FAKE_PACKETS_H
#define CTEST_FAKE_PACKETS_H

#include <string.h>

#include "ctest/fake_adapter.h"
#include "lane/lane_send.h"

/* bytes of a put that shares no packet */
enum { ALONE = VERBS_JOIN_MAX };

static lapi_handle_t handles[2];
static lapi_cntr_t origin, target, completion;
static unsigned char source[4096], sink[4096];

static inline int value(lapi_cntr_t *cntr)
{
	int n;

	CHECK(LAPI_Getcntr(handles[0], cntr, &n) == LAPI_SUCCESS);
	return n;
}

static inline void begin(void)
{
	size_t i;

	fake_adapter_attach(handles);
	fake_context(handles[0])->sends = 0; /* none makes a progress call */
	CHECK(LAPI_Setcntr(handles[0], &origin, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Setcntr(handles[0], &target, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Setcntr(handles[0], &completion, 0) == LAPI_SUCCESS);
	for (i = 0; i < sizeof(source); i++)
		source[i] = (unsigned char)(i * 7 + 1);
	memset(sink, 0, sizeof(sink));
}

/*
 * From here to service_returns the service threads take no lock: a thread that waits for the lock
 * makes the holder leave its wait to core. A thread polls, so they stay away; they are known to
 * when they have parked. Dispatches count from zero.
 */
static inline void service_leaves(void)
{
	int task;

	for (task = 0; task < 2; task++) {
		cshim_progress *progress = &fake_context(handles[task])->progress;

		cshim_lock(progress);
		cshim_poll_begin(progress);
		cshim_unlock(progress);
		if (cshim_membarrier_order()) /* otherwise they do not park */
			fake_await(&progress->service_parked, 1);
		cshim_lane_turned(fake_context(handles[task])); /* core had its turn: 20 ms */
	}
	fake_reset_counts();
}

static inline void service_returns(void)
{
	int task;

	for (task = 0; task < 2; task++) {
		cshim_progress *progress = &fake_context(handles[task])->progress;

		cshim_lock(progress);
		cshim_poll_end(progress);
		cshim_unlock(progress);
	}
}

/* Every slot is free, with a packet, or with the adapter. */
static inline void all_slots(void)
{
	int task;

	for (task = 0; task < 2; task++) {
		const verbs_link *link = fake_packets_of(task);

		CHECK(link->num_free + link->sending + fake_port_of(task)->receives == FAKE_SLOTS);
		CHECK(link->sending == fake_pair_of(task)->ring.count);
	}
}

static inline int put(ulong n)
{
	int rc = LAPI_Put(handles[0], 1, n, sink, source, &target, &origin, &completion);

	CHECK(rc == LAPI_SUCCESS || rc == LAPI_ERR_TGT);
	return rc == LAPI_SUCCESS;
}

/* A turn of C's: what it says. */
static inline uint32_t turn(int task)
{
	cshim_context *context = fake_context(handles[task]);
	uint32_t flags;

	cshim_lock(&context->progress);
	cshim_call_begins(&context->progress);
	flags = cshim_packets_receive(context, fake_packet_lane_of(task), NULL, 0);
	cshim_call_ends(&context->progress);
	cshim_unlock(&context->progress);
	return flags;
}

/* Makes the two contexts. */
static inline void start(void)
{
	lapi_info_t info;
	int task;

	fake_settings.polling = 1;
	for (task = 0; task < 2; task++) {
		memset(&info, 0, sizeof(info));
		handles[task] = fake_init(&info);
	}
}

static inline void stop(void)
{
	int task;

	for (task = 0; task < 2; task++)
		fake_adapter_detach(handles[task]);
	for (task = 0; task < 2; task++)
		CHECK(LAPI_Term(handles[task]) == LAPI_SUCCESS);
	fake_settings.polling = 0;
}

#endif
