/*
 * lane_path.h - how the lane finds the path to a task, appends a message to its ring and takes one out of it. Private to cshim/lane_*.c.
 *
 * Everything runs under the context lock. The rules for slots and for what orders them are in segment.h and docs/fastlane.md.
 */
#ifndef CSHIM_LANE_PATH_H
#define CSHIM_LANE_PATH_H

#include <string.h>

#include "guard.h"
#include "internal.h"
#include "lane.h"

#define CSHIM_RING_MASK (CSHIM_RING_SLOTS - 1)

/* Sends end in one of these. */
#define CSHIM_LANE_DONE 1 /* all of it */
#define CSHIM_LANE_PASS 0 /* nothing: core shall */

static inline cshim_lane *cshim_lane_of(const cshim_context *context)
{
	return (cshim_lane *)(uintptr_t)context->lane;
}

static inline cshim_paths *cshim_paths_of(const cshim_lane *lane)
{
	return (cshim_paths *)(uintptr_t)lane->paths;
}

/* LAPI_FASTLANE=random: 1 if core shall do it. */
static inline int cshim_lane_coin(cshim_lane *lane)
{
	if (__builtin_expect(lane->random == 0, 1))
		return 0;
	lane->random = lane->random * 1664525u + 1013904223u;
	return (int)(lane->random >> 31);
}

/* The path to a task if the lane may send there now, else NULL. */
static inline cshim_path *cshim_lane_path(const cshim_context *context, cshim_lane *lane, uint32_t tgt)
{
	cshim_path *path;
	int16_t ring;

	if (!lane || lane->off || tgt >= (uint32_t)context->num_tasks)
		return NULL;
	ring = ((const int16_t *)(uintptr_t)lane->ring_of)[tgt];
	if (ring < 0)
		return NULL;
	path = &cshim_paths_of(lane)->path[ring];
	if (path->closed || cshim_lane_coin(lane))
		return NULL;
	return path;
}

static inline cshim_slot *cshim_slot_at(uint64_t slots, uint64_t index)
{
	return (cshim_slot *)(uintptr_t)slots + (index & CSHIM_RING_MASK);
}

static inline cshim_ring_control *cshim_control(uint64_t address)
{
	return (cshim_ring_control *)(uintptr_t)address;
}

static inline cshim_segment_head *cshim_head(uint64_t address)
{
	return (cshim_segment_head *)(uintptr_t)address;
}

static inline uint64_t cshim_slots_of(uint64_t bytes)
{
	return (8 + bytes + CSHIM_SLOT_SIZE - 1) / CSHIM_SLOT_SIZE;
}

/* As __atomic_thread_fence, by something that the thread sanitizer knows. */
static inline void cshim_full_fence(void)
{
	uint32_t own = 0;

	__atomic_exchange_n(&own, 1, __ATOMIC_SEQ_CST);
}

/* Copies a header out of a message once and for all: what a peer changes meanwhile, nobody looks at again. */
static inline void cshim_take_header(void *to, const unsigned char *body, size_t n)
{
	memcpy(to, body, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* else the compiler may read the message a second time, behind the checks */
}

/* A message that is being written: where its header goes, and what publishes it. */
typedef struct cshim_append {
	unsigned char *body; /* header, then data */
	uint64_t padding;    /* slots to skip up to the ring's end */
	uint64_t slots;
} cshim_append;

/* lane_path.c */

/* Finds room where the fast case in cshim_append_begin has not; 0: there is none, or the peer is not to be believed. */
int cshim_append_room(cshim_path *path, uint64_t slots);
void cshim_append_padding(cshim_path *path, cshim_append *append);
void cshim_append_wake(cshim_paths *paths, cshim_path *path);
/* Wakes the peer if it sleeps. */
void cshim_ring_bell(cshim_path *path);

static inline void cshim_clear_continued(cshim_path *path, uint64_t index)
{
	uint64_t position = index & CSHIM_RING_MASK, *word = &path->sender.continued[position / 64];
	uint64_t bit = (uint64_t)1 << (position % 64);

	if (__builtin_expect((*word & bit) != 0, 0)) {
		*word &= ~bit;
		__atomic_store_n(&cshim_slot_at(path->out_slots, position)->head, 0, __ATOMIC_RELAXED);
	}
}

/* Begins a message of so many bytes of header and data; 0 if there is no room. Nothing is visible before cshim_append_end. */
static inline int cshim_append_begin(cshim_path *path, uint64_t bytes, cshim_append *append)
{
	const cshim_sender *sender = &path->sender;
	uint64_t position = sender->tail & CSHIM_RING_MASK, i;

	append->slots = cshim_slots_of(bytes);
	append->padding = position + append->slots > CSHIM_RING_SLOTS ? CSHIM_RING_SLOTS - position : 0;
	if (__builtin_expect(sender->tail + append->padding + append->slots - sender->consumed > CSHIM_RING_SLOTS, 0) &&
	    !cshim_append_room(path, append->padding + append->slots))
		return 0;
	position = (position + append->padding) & CSHIM_RING_MASK;
	for (i = position + 1; i < position + append->slots; i++)
		path->sender.continued[i / 64] |= (uint64_t)1 << (i % 64);
	append->body = cshim_slot_at(path->out_slots, position)->bytes;
	return 1;
}

/* Publishes it: header bytes are a multiple of 8. */
static inline void cshim_append_end(cshim_paths *paths, cshim_path *path, cshim_append *append, uint32_t kind, uint64_t header,
                                    uint64_t data)
{
	uint64_t index, position;

	if (__builtin_expect(append->padding != 0, 0))
		cshim_append_padding(path, append);
	index = path->sender.tail;
	position = index & CSHIM_RING_MASK;
	cshim_clear_continued(path, index + append->slots);
	path->sender.continued[position / 64] &= ~((uint64_t)1 << (position % 64));
	/* release: pairs with the load in the receiver's loop */
	__atomic_store_n(&cshim_slot_at(path->out_slots, position)->head,
	                 (uint32_t)index | CSHIM_SEQUENCE_VALID | (uint64_t)kind << 32 | header / CSHIM_HEADER_UNIT << 40 | data << 48,
	                 __ATOMIC_RELEASE);
	path->sender.tail = index + append->slots;
	paths->packets_sent++;
	paths->data_sent += data;
	/* Store the message, then look whether anybody must be told: the receiver's membarrier orders the two (docs/fastlane.md). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(path->fenced != 0, 0))
		cshim_full_fence();
	if (__builtin_expect((__atomic_load_n(&cshim_control(path->out_control)->cold, __ATOMIC_RELAXED) |
	                      __atomic_load_n(&cshim_head(path->out_head)->armed, __ATOMIC_RELAXED)) != 0,
	                     0))
		cshim_append_wake(paths, path);
}

/* An operation of the user's has sent a message on path. kind: lapi_err_t. */
static inline void cshim_lane_note(cshim_lane *lane, cshim_path *path, lapi_err_t kind)
{
	path->used = 1;
	path->kind = (uint32_t)kind + 1;
	lane->dirty = 1;
	lane->issued++;
}

/* A counter, or what LAPI_Msgpoll reports, has changed. Under the lock, hence no locked instruction; others only read. */
static inline void cshim_lane_event(cshim_context *context)
{
	__atomic_store_n(&context->event_seq, context->event_seq + 1, __ATOMIC_RELAXED);
}

/* Adds 1 to a counter, if there is one, that src named in a message between this task and peer. */
static inline void cshim_lane_count(cshim_context *context, cshim_lane *lane, uint64_t cntr, lapi_err_t kind, int32_t src, int32_t peer)
{
	if (cntr == 0)
		return;
	if (__builtin_expect(lane->off || cntr % sizeof(int32_t) || cshim_guarded_count((int32_t *)(uintptr_t)cntr), 0)) {
		golapi_lane_count(cshim_index_of(context), cntr, (int32_t)kind, src, peer);
		return;
	}
	cshim_lane_event(context);
}

/* Tells origin that its message is complete. */
void cshim_lane_tell(cshim_context *context, cshim_lane *lane, cshim_path *path, uint64_t cmpl_cntr);

/* lane_get.c */

/* The answer to a get or read-modify-write of this task's has come. */
void cshim_lane_reply(cshim_context *context, cshim_lane *lane, cshim_path *path, const unsigned char *body, uint64_t header,
                      uint64_t data);
/* The requests, at the target. 0: core shall do it. */
int cshim_lane_serve_get(cshim_context *context, cshim_lane *lane, cshim_path *path, const unsigned char *body, uint64_t header,
                         uint64_t data);
int cshim_lane_serve_rmw(cshim_context *context, cshim_lane *lane, cshim_path *path, const unsigned char *body, uint64_t header,
                         uint64_t data);

#endif
