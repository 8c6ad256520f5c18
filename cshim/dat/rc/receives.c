/* receives.c - posted receives, of one connection or shared: taking them, their events. */
#include "dat/rc/private.h"

#include <stdlib.h>

/* The request or receive keeps the address as an integer, which the analyzer does not follow. */
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif
DAT_RETURN rc_find_list(uint64_t pz, int access, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                        dat_local *local)
{
	dat_segment *segments = calloc((size_t)count, sizeof *segments);
	DAT_COUNT i;

	local->more = (uintptr_t)segments;
	if (!segments)
		return RC_NO_MEMORY;
	for (i = 0; i < count; i++) {
		dat_segment *s = segments + local->segments;

		if (!rc_find_segment(pz, access, list + i, s)) {
			rc_release(local);
			local->segments = local->n = 0;
			return RC_NOT_ACCESSIBLE;
		}
		local->segments += s->n > 0;
		local->n = s->n > UINT32_MAX - local->n ? UINT32_MAX : local->n + s->n;
	}
	local->first = segments[0];
	return DAT_SUCCESS;
}
#pragma GCC diagnostic pop

static void drop_oldest(dat_receives *queue)
{
	queue->ring.head++;
	queue->count--;
}

dat_srq *rc_open_shared(uint64_t handle, uint64_t pz, uint32_t max, uint32_t max_iov,
                        uint64_t device)
{
	dat_srq *srq = calloc(1, sizeof *srq);

	if (srq) {
		srq->handle = handle;
		srq->pz = pz;
		srq->max = max;
		srq->max_iov = max_iov;
		srq->device = device;
	}
	return srq;
}

void rc_close_shared(dat_srq *srq)
{
	for (; srq->queue.count; drop_oldest(&srq->queue))
		rc_release(&rc_receive_at(&srq->queue, 0)->local);
	free((void *)(uintptr_t)srq->queue.ring.at);
	free(srq);
}

static dat_srq *shared_of(const dat_end *end)
{
	return (dat_srq *)(uintptr_t)end->config.srq;
}

static dat_end *end_at(uint64_t address)
{
	return (dat_end *)(uintptr_t)address;
}

/* Core is notified when few are left. */
static void look_at_low(dat_srq *srq)
{
	if (srq->queue.count < srq->low) {
		srq->low = 0;
		srq->is_low = dat_the_lane.ended = 1;
	}
}

int rc_take_shared(dat_srq *srq, dat_receive *receive)
{
	if (!srq->queue.count)
		return 0;
	*receive = *rc_receive_at(&srq->queue, 0);
	drop_oldest(&srq->queue);
	look_at_low(srq);
	return 1;
}

void rc_done_shared(dat_srq *srq)
{
	srq->posted--;
}

int rc_add_shared(dat_srq *srq, const dat_receive *receive)
{
	dat_end *end = end_at(srq->first);
	dat_receive *place = rc_new_receive(&srq->queue);

	if (!place)
		return 0;
	*place = *receive;
	srq->queue.count++;
	srq->posted++;
	if (end) {
		rc_leave_shared(end);
		end->rx.has = (uint32_t)rc_take_shared(srq, &end->rx.taken);
		rc_ready(end);
	}
	return 1;
}

static void join_shared(dat_end *end)
{
	dat_srq *srq = shared_of(end);

	end->waits_before = srq->last;
	end->waits_after = 0;
	*(srq->last ? &end_at(srq->last)->waits_after : &srq->first) = (uintptr_t)end;
	srq->last = (uintptr_t)end;
}

void rc_leave_shared(dat_end *end)
{
	dat_srq *srq = shared_of(end);
	uint32_t waits = end->rx.wants;

	end->rx.wants = 0;
	if (!srq || !waits)
		return;
	*(end->waits_before ? &end_at(end->waits_before)->waits_after : &srq->first) =
		end->waits_after;
	*(end->waits_after ? &end_at(end->waits_after)->waits_before : &srq->last) =
		end->waits_before;
}

int rc_take_or_ask(dat_end *end)
{
	if (!end->config.srq ? end->rx.queue.count > 0
	                     : end->rx.has || (end->rx.has = (uint32_t)rc_take_shared(
	                                               shared_of(end), &end->rx.taken)))
		return 1;
	if (end->config.srq && !end->rx.wants) /* a peer may send all the same while it waits */
		join_shared(end);
	end->rx.wants = 1;
	end->rx.attempt = (end->rx.attempt + 1) & 0xff;
	end->rx.restarts = 1;
	end->tell |= RC_TELL_NOT_READY;
	rc_tell(end);
	return 0;
}

void rc_ready(dat_end *end)
{
	end->rx.wants = 0;
	end->tell = (end->tell & ~RC_TELL_NOT_READY) | RC_TELL_READY;
	rc_tell(end);
}

/* The receive is over, and is no more. */
static void finish(dat_end *end)
{
	rc_release(&rc_receive_of(end)->local);
	if (!end->config.srq) {
		drop_oldest(&end->rx.queue);
		return;
	}
	end->rx.has = 0;
	rc_done_shared(shared_of(end));
}

static uint32_t operation_of(const dat_header *header)
{
	return header->flags & RC_IMMEDIATE    ? DAT_IB_DTO_RECV_IMMED
	       : header->flags & RC_INVALIDATE ? DAT_DTO_RECEIVE_WITH_INVALIDATE
	                                       : DAT_DTO_RECEIVE;
}

void rc_received(dat_end *end, const dat_header *header, uint32_t status)
{
	dat_arrived arrived = {.evd = end->config.recv,
	                       .ep = end->config.ep,
	                       .cookie = rc_receive_of(end)->cookie,
	                       .status = status,
	                       .operation = DAT_DTO_RECEIVE};

	if (header) {
		int counter = header->flags & RC_IMMEDIATE ? DCNT_EP_RECV_RDMA_IMM : DCNT_EP_RECV;

		arrived.n = header->total;
		arrived.context = header->context;
		arrived.operation = operation_of(header);
		arrived.data = header->immediate;
		arrived.silent = end->config.solicited && !(header->flags & RC_SOLICITED);
		end->counters[counter]++;
		end->counters[counter + 1] += header->total;
	}
	finish(end);
	dat_receive_over(&arrived);
}
