/* lane_receive.c - a turn of the lane: what comes in active rings. */
#include "lane_path.h"

#include <string.h>

#include "lane_send.h"

enum {
	BATCH = 64,                        /* messages of one ring in one turn */
	PUBLISH_SLOTS = CSHIM_RING_SLOTS / 4 /* consumed is published each quarter ring: each message would halve the rate */
};

/* What to do after a message. */
typedef enum fate { TAKEN, LEFT, GONE } fate; /* GONE: core has taken it out of the ring */

static fate receive_put(cshim_context *context, cshim_lane *lane, cshim_path *path, const unsigned char *body, uint64_t header,
                        uint64_t data)
{
	cshim_put_header put;

	if (header != sizeof(put))
		return LEFT;
	cshim_take_header(&put, body, sizeof(put));
	if (cshim_guarded_copy((void *)(uintptr_t)put.tgt_addr, body + sizeof(put), data))
		return LEFT;
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	cshim_lane_count(context, lane, put.tgt_cntr, PUT_ERR, path->task, path->task);
	cshim_lane_tell(context, lane, path, put.cmpl_cntr);
	return TAKEN;
}

static fate receive_counter(cshim_context *context, cshim_lane *lane, cshim_path *path, const unsigned char *body, uint64_t header,
                            uint64_t data)
{
	cshim_counter_header counter;

	if (header != sizeof(counter) || data != 0)
		return LEFT;
	cshim_take_header(&counter, body, sizeof(counter));
	path->expected--;
	lane->dirty = 1;
	cshim_lane_count(context, lane, counter.cntr, path->kind ? (lapi_err_t)(path->kind - 1) : PUT_ERR, path->task, path->task);
	return TAKEN;
}

/* 1 if what the header handler said is all within what the lane can do. */
static int simple(const cshim_header_result *result)
{
	if (result->dgsp || result->ctl_flags == LAPI_DROP_PKT)
		return 0;
	if (result->completion && !(result->ret_flags & (LAPI_LOCAL_STATE | LAPI_SEND_REPLY)))
		return 0; /* for the handler threads */
	return 1;
}

static fate receive_am(cshim_context *context, cshim_lane *lane, cshim_path *path, const unsigned char *body, uint64_t header,
                       uint64_t data)
{
	int index = cshim_index_of(context);
	cshim_header_result result = {0};
	uint64_t handler, uhdr_len;
	cshim_am_header am;

	if (header < sizeof(am))
		return LEFT;
	cshim_take_header(&am, body, sizeof(am));
	handler = am.handler & (((uint64_t)1 << CSHIM_AM_PADDING_SHIFT) - 1);
	uhdr_len = header - sizeof(am) - (am.handler >> CSHIM_AM_PADDING_SHIFT);
	if (uhdr_len > CSHIM_LANE_UHDR) /* wrapped around, too */
		return LEFT;
	if (handler < CSHIM_LANE_HANDLERS && (handler = lane->handlers[handler]) == 0)
		return LEFT;
	if (uhdr_len) /* to a place that is aligned and the handler's to change */
		memcpy((void *)(uintptr_t)lane->scratch, body + sizeof(am), uhdr_len);
	cshim_call_header(index, handler, uhdr_len ? lane->scratch : 0, (uint32_t)uhdr_len, data, path->task,
	                  data ? (uintptr_t)(body + header) : 0, &result);
	if (path->stopped)
		return LEFT; /* the handler has let another thread in, and that has cut the task off */
	if (!simple(&result) || (data && result.buffer && result.ctl_flags == LAPI_DELIVER_MSG &&
	                               cshim_guarded_copy((void *)(uintptr_t)result.buffer, body + header, data))) {
		golapi_lane_handled(index, (uint32_t)(path - cshim_paths_of(lane)->path), &result);
		return GONE;
	}
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	if (result.completion)
		cshim_call_completion(index, result.completion, result.info);
	cshim_lane_count(context, lane, am.tgt_cntr, AM_ERR, path->task, path->task);
	cshim_lane_tell(context, lane, path, am.cmpl_cntr);
	return TAKEN;
}

/* One message of a kind that the lane knows, else LEFT. only_replies: core does all that can be left to it. */
static fate receive(cshim_context *context, cshim_lane *lane, cshim_path *path, const unsigned char *body, uint64_t word, int only_replies)
{
	uint64_t header = (word >> 40 & 0xff) * CSHIM_HEADER_UNIT, data = word >> 48;
	uint32_t kind = word >> 32 & 0xff;

	if (kind == CSHIM_MSG_LANE_REPLY) {
		cshim_lane_reply(context, lane, path, body, header, data);
		return TAKEN;
	}
	if (only_replies)
		return LEFT;
	switch (kind) {
	case CSHIM_MSG_PUT:
		return receive_put(context, lane, path, body, header, data);
	case CSHIM_MSG_COUNTER:
		return receive_counter(context, lane, path, body, header, data);
	case CSHIM_MSG_AM_SMALL:
		return receive_am(context, lane, path, body, header, data);
	case CSHIM_MSG_LANE_GET:
		return cshim_lane_serve_get(context, lane, path, body, header, data) ? TAKEN : LEFT;
	case CSHIM_MSG_LANE_RMW:
		return cshim_lane_serve_rmw(context, lane, path, body, header, data) ? TAKEN : LEFT;
	default:
		return LEFT;
	}
}

/* The handlers have finished with what is before the head. */
static void publish_consumed(cshim_path *path)
{
	cshim_ring_control *control = cshim_control(path->in_control);

	path->receiver.published = path->receiver.head;
	/* release: the slots were read. Then look whether the sender sleeps until it changes: its membarrier orders the two. */
	__atomic_store_n(&control->consumed, path->receiver.head, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(path->fenced != 0, 0))
		cshim_full_fence();
	if (__builtin_expect(__atomic_load_n(&control->waiting, __ATOMIC_RELAXED) != 0, 0)) {
		/* Before the look at armed, even one that finds the sender awake: else it could undo what the sender stores before it sleeps again. */
		__atomic_store_n(&control->waiting, 0, __ATOMIC_SEQ_CST);
		cshim_ring_bell(path);
	}
}

/* 1 if the word is the head of a message, or of padding, that fits where it is. */
static int plausible(uint64_t word, uint64_t position, uint64_t *slots)
{
	if ((word >> 32 & 0xff) == CSHIM_KIND_PADDING && position != 0) {
		*slots = CSHIM_RING_SLOTS - position;
		return 1;
	}
	*slots = cshim_slots_of((word >> 40 & 0xff) * CSHIM_HEADER_UNIT + (word >> 48));
	return *slots <= CSHIM_MESSAGE_SLOTS && position + *slots <= CSHIM_RING_SLOTS;
}

/* What one ring holds, up to a batch. Returns how many messages, with CSHIM_LANE_CORE if the next one is core's. */
static uint32_t receive_ring(cshim_context *context, cshim_lane *lane, cshim_path *path)
{
	cshim_receiver *receiver = &path->receiver;
	uint32_t n = 0;

	while (n < BATCH) {
		cshim_slot *slot = cshim_slot_at(path->in_slots, receiver->head);
		/* acquire: pairs with the store in cshim_append_end; what is read of the message was written before it */
		uint64_t word = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE), slots;
		fate fate;

		if ((uint32_t)word != ((uint32_t)receiver->head | CSHIM_SEQUENCE_VALID))
			break;
		if (path->stopped || !plausible(word, receiver->head & CSHIM_RING_MASK, &slots)) {
			n |= CSHIM_LANE_CORE;
			break;
		}
		if ((word >> 32 & 0xff) == CSHIM_KIND_PADDING) {
			receiver->head += slots;
			continue;
		}
		fate = receive(context, lane, path, slot->bytes, word, lane->off || cshim_lane_coin(lane));
		if (fate == LEFT) {
			n |= CSHIM_LANE_CORE;
			break;
		}
		n++;
		if (fate == GONE) {
			if (path->stopped)
				break;
			continue;
		}
		cshim_paths_of(lane)->packets_received++;
		cshim_paths_of(lane)->data_received += word >> 48;
		receiver->head += slots;
		if (receiver->head - receiver->published >= PUBLISH_SLOTS)
			publish_consumed(path);
	}
	if (n & ~CSHIM_LANE_CORE)
		receiver->turn = cshim_paths_of(lane)->turn;
	if (receiver->head != receiver->published && !path->stopped)
		publish_consumed(path);
	return n;
}

/* 1 if the sender of a cold ring says that there is a message. */
static int some_pending(const cshim_paths *paths)
{
	const cshim_segment_head *own = cshim_head(paths->own_head);

	return (__atomic_load_n(&own->pending[0], __ATOMIC_RELAXED) | __atomic_load_n(&own->pending[1], __ATOMIC_RELAXED)) != 0;
}

uint32_t cshim_lane_turn(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_paths *paths;
	uint32_t i, at, flags = 0;

	if (!lane)
		return CSHIM_LANE_CORE;
	paths = cshim_paths_of(lane);
	paths->turn++;
	if (++paths->first >= paths->num_active)
		paths->first = 0;
	/* The list may change under a handler: then a ring is looked at in the next turn. */
	for (i = 0, at = paths->first; i < paths->num_active; i++, at++) {
		uint32_t n;

		if (at >= paths->num_active)
			at = 0;
		n = receive_ring(context, lane, &paths->path[paths->active[at]]);
		flags |= n & CSHIM_LANE_CORE;
		if (n & ~CSHIM_LANE_CORE)
			flags |= CSHIM_DISPATCH_PROGRESS;
	}
	if (lane->go_work || ++lane->turns >= lane->turns_max || some_pending(paths))
		flags |= CSHIM_LANE_CORE;
	return flags;
}

void cshim_lane_turned(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);

	if (lane)
		lane->turns = 0;
}

int cshim_lane_fenced(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_paths *paths;
	uint32_t ring;

	if (!lane || lane->off || lane->go_busy || lane->ops || cshim_lane_coin(lane))
		return 0;
	paths = cshim_paths_of(lane);
	for (ring = 0; ring < paths->rings; ring++) {
		cshim_path *path = &paths->path[ring];
		cshim_ring_control *control = cshim_control(path->out_control);
		uint64_t consumed, held;

		if (!path->used)
			continue;
		if (path->closed)
			return 0;
		consumed = __atomic_load_n(&control->consumed, __ATOMIC_ACQUIRE); /* before held: the receiver stores held first */
		held = __atomic_load_n(&control->held, __ATOMIC_ACQUIRE);
		if (consumed != path->sender.tail || held)
			return 0;
		path->used = 0;
	}
	return 1;
}
