/* lane_receive.c - a turn of the lane: what comes in active rings. */
#define _GNU_SOURCE
#include "handlers.h"
#include "lane_path.h"

#include <string.h>
#include <time.h>

#include "lane_send.h"
#include "procedure.h"

enum {
	BATCH = 64,                        /* messages of one ring in one turn */
	CLOCK_TURNS = 64,                  /* turns between looks at the clock */
	PUBLISH_SLOTS = CSHIM_RING_SLOTS / 4 /* consumed is published each quarter ring: each message would halve the rate */
};

/* What to do after a message. */
typedef enum fate { TAKEN, LEFT, GONE } fate; /* GONE: core has taken it out of the ring */

static fate receive_put(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival)
{
	cshim_put_header put;

	if (arrival->header != sizeof(put))
		return LEFT;
	cshim_take_header(&put, arrival->body, sizeof(put));
	if (cshim_guarded_copy(cshim_memory_at(put.tgt_addr), arrival->bytes, arrival->data))
		return LEFT;
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	cshim_lane_count(context, lane, put.tgt_cntr, PUT_ERR, path->task, path->task);
	cshim_lane_tell(context, lane, path, put.cmpl_cntr);
	return TAKEN;
}

/* A part of a put but the last. Once an address was bad the rest of that put is core's. */
static fate receive_part(cshim_path *path, const cshim_arrival *arrival)
{
	cshim_part_header part;

	if (arrival->header != sizeof(part))
		return LEFT;
	cshim_take_header(&part, arrival->body, sizeof(part));
	if (path->put_failed && !(part.flags & CSHIM_PART_FIRST))
		return LEFT;
	if (cshim_place_data(part.addr, arrival, (part.flags & CSHIM_PART_HUGE) != 0))
		return LEFT;
	path->put_failed = 0;
	return TAKEN;
}

static fate receive_counter(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival)
{
	cshim_counter_header counter;

	if (arrival->header != sizeof(counter) || arrival->data != 0)
		return LEFT;
	cshim_take_header(&counter, arrival->body, sizeof(counter));
	if (counter.more >= CSHIM_RING_SLOTS)
		return LEFT; /* more than can be under way: core drops it */
	path->expected -= 1 + (int32_t)counter.more;
	lane->dirty = 1;
	for (; counter.more > 0; counter.more--)
		cshim_lane_count(context, lane, counter.cntr, PUT_ERR, path->task, path->task);
	cshim_lane_count(context, lane, counter.cntr, path->kind ? (lapi_err_t)(path->kind - 1) : PUT_ERR, path->task, path->task);
	return TAKEN;
}

/* 1 if what the header handler said is all within what the lane can do. */
static int simple(const cshim_header_call *call)
{
	if (call->info.dgsp_handle || call->info.ctl_flags == LAPI_DROP_PKT || call->info.MAGIC != CSHIM_RETURN_INFO_MAGIC)
		return 0;
	if (call->completion && !(call->info.ret_flags & (LAPI_LOCAL_STATE | LAPI_SEND_REPLY)))
		return 0; /* for the handler threads */
	return 1;
}

/* Its header handler has run, and wants more than the lane can do. */
static fate leave_to_core(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_header_call *call)
{
	cshim_header_result result;

	cshim_header_said(context, call, &result);
	golapi_lane_handled(cshim_index_of(context), (uint32_t)(path - cshim_paths_of(lane)->path), &result);
	return GONE;
}

static fate receive_am(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival)
{
	cshim_header_call call;
	uint64_t data = arrival->data, handler, uhdr_len;
	cshim_am_header am;

	if (arrival->header < sizeof(am))
		return LEFT;
	cshim_take_header(&am, arrival->body, sizeof(am));
	handler = am.handler & (((uint64_t)1 << CSHIM_AM_PADDING_SHIFT) - 1);
	uhdr_len = arrival->header - sizeof(am) - (am.handler >> CSHIM_AM_PADDING_SHIFT);
	if (uhdr_len > CSHIM_LANE_UHDR) /* wrapped around, too */
		return LEFT;
	if (handler < CSHIM_LANE_HANDLERS && (handler = lane->handlers[handler]) == 0)
		return LEFT;
	if (__builtin_expect((handler & CSHIM_PROCEDURE_NAME) != 0, 0))
		handler = cshim_procedure_at(handler);
	if (__builtin_expect(!cshim_memory_at(handler), 0))
		return LEFT; /* core throws the message away, and says why */
	if (uhdr_len) /* to a place that is aligned and the handler's to change */
		memcpy((void *)(uintptr_t)lane->scratch, arrival->body + sizeof(am), uhdr_len);
	cshim_header_run(context, handler, uhdr_len ? lane->scratch : 0, (uint32_t)uhdr_len, data, path->task,
	                 data ? (uintptr_t)arrival->bytes : 0, &call);
	if (path->stopped)
		return LEFT; /* the handler has let another thread in, and that has cut the task off */
	if (!simple(&call) || (data && call.buffer && call.info.ctl_flags == LAPI_DELIVER_MSG &&
	                       cshim_guarded_copy(call.buffer, arrival->bytes, data)))
		return leave_to_core(context, lane, path, &call);
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	if (call.completion)
		cshim_call_completion(cshim_index_of(context), CSHIM_ADDR(call.completion), CSHIM_ADDR(call.user_info));
	cshim_lane_count(context, lane, am.tgt_cntr, AM_ERR, path->task, path->task);
	cshim_lane_tell(context, lane, path, am.cmpl_cntr);
	return TAKEN;
}

/* One message of a kind that the lane knows, else LEFT. only_replies: core does all that can be left to it. */
static fate receive(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival, int only_replies)
{
	if (arrival->kind == CSHIM_MSG_LANE_REPLY) {
		cshim_lane_reply(context, lane, path, arrival);
		return TAKEN;
	}
	if (only_replies)
		return LEFT;
	switch (arrival->kind) {
	case CSHIM_MSG_PUT_LAST:
		if (path->put_failed)
			return LEFT;
		/* fall through */
	case CSHIM_MSG_PUT:
		return receive_put(context, lane, path, arrival);
	case CSHIM_MSG_PUT_PART:
		return receive_part(path, arrival);
	case CSHIM_MSG_COUNTER:
		return receive_counter(context, lane, path, arrival);
	case CSHIM_MSG_AM_SMALL:
		return receive_am(context, lane, path, arrival);
	case CSHIM_MSG_LANE_GET:
		return cshim_lane_serve_get(context, lane, path, arrival) ? TAKEN : LEFT;
	case CSHIM_MSG_LANE_RMW:
		return cshim_lane_serve_rmw(context, lane, path, arrival) ? TAKEN : LEFT;
	default:
		return LEFT;
	}
}

/* The handlers have finished with what is before the head. */
static void publish_consumed(cshim_path *path)
{
	cshim_ring_control *control = cshim_control(path->in_control);

	path->receiver.published = path->receiver.head;
	path->receiver.chunked = 0;
	/* release: the slots were read. Then look whether the sender sleeps until it changes: its membarrier orders the two. */
	__atomic_store_n(&control->consumed, path->receiver.head, __ATOMIC_RELEASE);
	cshim_membarrier_light();
	if (__builtin_expect(path->fenced != 0, 0))
		cshim_membarrier_full();
	if (__builtin_expect(__atomic_load_n(&control->waiting, __ATOMIC_RELAXED) != 0, 0)) {
		/* Before the look at armed, even one that finds the sender awake: else it could undo what the sender stores before it sleeps again. */
		__atomic_store_n(&control->waiting, 0, __ATOMIC_SEQ_CST);
		cshim_ring_bell(path);
	}
}

/* 1 if the word is the head of a message, or of padding, that fits where it is: what the slots say of it is in arrival. */
static int plausible(const cshim_path *path, cshim_slot *slot, uint64_t word, uint64_t position, uint64_t *slots, cshim_arrival *arrival)
{
	arrival->kind = word >> 32 & 0xff;
	arrival->header = (word >> 40 & 0xff) * CSHIM_HEADER_UNIT;
	arrival->data = word >> 48;
	arrival->body = slot->bytes;
	arrival->bytes = slot->bytes + arrival->header;
	if (__builtin_expect((arrival->kind & CSHIM_KIND_CHUNK) != 0, 0)) {
		if (arrival->kind == CSHIM_KIND_PADDING) {
			*slots = CSHIM_RING_SLOTS - position;
			return position != 0;
		}
		*slots = cshim_slots_of(sizeof(cshim_place) + arrival->header);
		arrival->kind &= ~(uint32_t)CSHIM_KIND_CHUNK;
		return position + *slots <= CSHIM_RING_SLOTS && cshim_chunk_arrived(path, slot, arrival);
	}
	*slots = cshim_slots_of(arrival->header + arrival->data);
	return *slots <= CSHIM_MESSAGE_SLOTS && position + *slots <= CSHIM_RING_SLOTS;
}

/* A message was taken: gives its slots, and those before, back as soon as they are worth a line's way. */
static void advance(cshim_paths *paths, cshim_path *path, uint64_t slots, const cshim_arrival *arrival)
{
	cshim_receiver *receiver = &path->receiver;

	paths->packets_received++;
	paths->data_received += arrival->data;
	receiver->head += slots;
	if (arrival->data > CSHIM_INLINE_MAX)
		receiver->chunked += arrival->data;
	if (receiver->head - receiver->published >= PUBLISH_SLOTS || receiver->chunked >= CSHIM_CHUNK_PUBLISH)
		publish_consumed(path);
}

/*
 * What one ring holds, up to a batch, or until counter, if it is not NULL, has reached val. Returns how many messages, with CSHIM_LANE_CORE
 * if the next one is core's.
 */
static uint32_t receive_ring(cshim_context *context, cshim_lane *lane, cshim_path *path, const int *counter, int val)
{
	cshim_receiver *receiver = &path->receiver;
	uint32_t n = 0;

	while (n < BATCH) {
		cshim_slot *slot = cshim_slot_at(path->in_slots, receiver->head);
		/* acquire: pairs with the store in cshim_publish_at_tail; what is read of the message was written before it */
		uint64_t word = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE), slots;
		cshim_arrival arrival;
		fate fate;

		if ((uint32_t)word != ((uint32_t)receiver->head | CSHIM_SEQUENCE_VALID))
			break;
		if (path->stopped || !plausible(path, slot, word, receiver->head & CSHIM_RING_MASK, &slots, &arrival)) {
			n |= CSHIM_LANE_CORE;
			break;
		}
		if ((word >> 32 & 0xff) == CSHIM_KIND_PADDING) {
			receiver->head += slots;
			continue;
		}
		fate = receive(context, lane, path, &arrival, lane->off || cshim_lane_coin(lane));
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
		advance(cshim_paths_of(lane), path, slots, &arrival);
		/* The next slot may be a line's way off. Who waits does not wait for that, unless completions may be told together. */
		if (counter && !lane->told && cshim_counter_reached(counter, val))
			break;
	}
	if (lane->told)
		cshim_lane_tell_now(context, lane, path);
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

/* Milliseconds, from a clock that costs no more than some loads. */
static uint32_t coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

/*
 * Core gets a turn now and then in any case: for the job session, which is how deaths become known, whether turns are many or few. Where there is a
 * socket to look at, turns are few before it; where others have the processor in between, each may take milliseconds, and so the clock counts.
 */
static int core_is_due(cshim_lane *lane)
{
	if (++lane->turns >= lane->turns_max)
		return 1;
	if (lane->turns_max < CLOCK_TURNS)
		return coarse_ms() != lane->core_ms;
	return lane->turns % CLOCK_TURNS == 0 && coarse_ms() - lane->core_ms >= CSHIM_LANE_CORE_MS;
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
		n = receive_ring(context, lane, &paths->path[paths->active[at]], NULL, 0);
		flags |= n & CSHIM_LANE_CORE;
		if (n & ~CSHIM_LANE_CORE)
			flags |= CSHIM_PROGRESS_MADE;
	}
	if (lane->go_work || core_is_due(lane) || some_pending(paths))
		flags |= CSHIM_LANE_CORE;
	return flags;
}

/* 1 if a ring holds a message. */
static inline int holds(const cshim_path *path)
{
	/* Relaxed: receive_ring loads it again, with acquire. */
	uint64_t word = __atomic_load_n(&cshim_slot_at(path->in_slots, path->receiver.head)->head, __ATOMIC_RELAXED);

	return (uint32_t)word == ((uint32_t)path->receiver.head | CSHIM_SEQUENCE_VALID);
}

/* A turn for one ring that holds a message, for a thread that waits for a counter. */
static uint32_t receive_for(cshim_context *context, cshim_lane *lane, cshim_path *path, const int *counter, int val)
{
	uint32_t n;

	cshim_paths_of(lane)->turn++;
	cshim_call_begins(&context->progress);
	n = receive_ring(context, lane, path, counter, val);
	cshim_call_ends(&context->progress);
	cshim_notify(&context->progress);
	/* A turn with all that belongs to it is due as often as without this function, and then counts by itself. */
	if (lane->go_work || (lane->turns + 1) % CLOCK_TURNS == 0 || lane->turns + 1 >= lane->turns_max)
		n |= CSHIM_LANE_CORE;
	else
		lane->turns++;
	return (n & CSHIM_LANE_CORE) | (n & ~CSHIM_LANE_CORE ? CSHIM_PROGRESS_MADE : 0);
}

uint32_t cshim_lane_await(cshim_context *context, const int *counter, int val, int looks)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_paths *paths = cshim_paths_of(lane);

	for (; looks > 0; looks--) {
		uint32_t i, at = paths->first;

		for (i = 0; i < paths->num_active; i++, at++) {
			cshim_path *path;

			if (at >= paths->num_active)
				at = 0;
			path = &paths->path[paths->active[at]];
			CSHIM_KEEP(path);
			if (!holds(path))
				continue;
			paths->first = at + 1; /* the others have their turn */
			return receive_for(context, lane, path, counter, val);
		}
		if (lane->go_work)
			return CSHIM_LANE_CORE;
		if (__builtin_expect(__atomic_load_n(&context->progress.lock_waiters, __ATOMIC_RELAXED) != 0, 0))
			return 0;
		cshim_between_polls();
	}
	return 0;
}

void cshim_lane_turned(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);

	if (!lane)
		return;
	lane->turns = 0;
	lane->core_ms = coarse_ms();
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
