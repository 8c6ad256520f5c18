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
	CSHIM_KEEP(path);
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

/*
 * In a stream of messages the next one's first locked instruction waits for this one's slot. So that it is here by then, slots are asked
 * for early; not the very next, which the receiver is looking at. Not for single messages: the receiver has a slot of the last round in
 * its cache, and looks at it before it answers.
 */
#define CSHIM_SLOTS_AHEAD 8
#define CSHIM_SLOTS_STREAM 4

/* The line of at will be written soon. A baseline compiler would emit a prefetch for reading, which is of no use here. */
static inline void cshim_prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

/* Copies a header of n bytes, one to four whole words, out of a message once and for all: what a peer changes meanwhile, nobody looks at again. */
static inline void cshim_take_header(void *to, const unsigned char *body, size_t n)
{
	typedef uint64_t __attribute__((may_alias)) word;
	const word *from = (const void *)body;
	word *at = to;

	/* No loop: n is a constant everywhere, and compilers leave loops as they are. */
	if (n > 0)
		at[0] = __atomic_load_n(from, __ATOMIC_RELAXED);
	if (n > 8)
		at[1] = __atomic_load_n(from + 1, __ATOMIC_RELAXED);
	if (n > 16)
		at[2] = __atomic_load_n(from + 2, __ATOMIC_RELAXED);
	if (n > 24)
		at[3] = __atomic_load_n(from + 3, __ATOMIC_RELAXED);
}

/* A message that is being written: where its header goes, and what publishes it. */
typedef struct cshim_append {
	unsigned char *body; /* header, then data */
	uint64_t padding;    /* slots to skip up to the ring's end */
	uint64_t slots;
} cshim_append;

/* Looks at a full ring whose receiver attends to it before core queues the message: about a microsecond. */
#define CSHIM_ROOM_LOOKS 100

/* lane_path.c */

/*
 * Looks so many times whether the receiver has consumed everything before a slot index, and begins to count again whenever it has consumed
 * something; 0: it has not, or the peer is not to be believed.
 */
int cshim_await_consumed(cshim_path *path, uint64_t index, int looks);
void cshim_append_padding(cshim_path *path, cshim_append *append);
void cshim_append_wake(cshim_paths *paths, cshim_path *path);
/* Wakes the peer if it sleeps. A store that came before, sequentially consistent, is visible before the look whether it does. */
void cshim_ring_bell(cshim_path *path);

/*
 * 1 if the peer looks at its ring now or soon: it is awake, and its user polls. Data goes through chunks then, and both ends copy. Else its
 * memory is better accessed from here, where that is permitted.
 */
static inline int cshim_attends(const cshim_path *path)
{
	const cshim_segment_head *head = cshim_head(path->out_head);

	return (__atomic_load_n(&head->armed, __ATOMIC_RELAXED) | __atomic_load_n(&head->away, __ATOMIC_RELAXED)) == CSHIM_AWAKE;
}

static inline void cshim_clear_continued(cshim_path *path, uint64_t index)
{
	uint64_t position = index & CSHIM_RING_MASK, *word = &path->sender.continued[position / 64];
	uint64_t bit = (uint64_t)1 << (position % 64);

	if (__builtin_expect((*word & bit) != 0, 0)) {
		*word &= ~bit;
		__atomic_store_n(&cshim_slot_at(path->out_slots, position)->head, 0, __ATOMIC_RELAXED);
	}
}

/* Where a message of so many slots goes; 0 if there is no room, however often one looks. Nothing is visible before the end. */
static inline int cshim_append_slots(cshim_path *path, uint64_t slots, int looks, cshim_append *append)
{
	const cshim_sender *sender = &path->sender;
	uint64_t position = sender->tail & CSHIM_RING_MASK, end, i;

	append->slots = slots;
	append->padding = position + slots > CSHIM_RING_SLOTS ? CSHIM_RING_SLOTS - position : 0;
	end = sender->tail + append->padding + slots;
	if (__builtin_expect(end - sender->consumed > CSHIM_RING_SLOTS, 0) &&
	    !cshim_await_consumed(path, end - CSHIM_RING_SLOTS, looks))
		return 0;
	position = (position + append->padding) & CSHIM_RING_MASK;
	for (i = position + 1; i < position + slots; i++)
		path->sender.continued[i / 64] |= (uint64_t)1 << (i % 64);
	append->body = cshim_slot_at(path->out_slots, position)->bytes;
	return 1;
}

/* Begins a message of so many bytes of header and data, in slots. */
static inline int cshim_append_begin(cshim_path *path, uint64_t bytes, cshim_append *append)
{
	return cshim_append_slots(path, cshim_slots_of(bytes), CSHIM_ROOM_LOOKS, append);
}

/* A message has begun at index: prepares for the ones that are likely to follow. */
static inline void cshim_append_ahead(const cshim_paths *paths, cshim_path *path, uint64_t index)
{
	cshim_sender *sender = &path->sender;

	if (__builtin_expect(sender->turn != paths->turn, 1)) {
		sender->turn = paths->turn;
		sender->streamed = index;
	} else if (__builtin_expect(index - sender->streamed >= CSHIM_SLOTS_STREAM, 0)) {
		cshim_prefetch_to_write(cshim_slot_at(path->out_slots, index + CSHIM_SLOTS_AHEAD));
	}
}

/*
 * Publishes a message that begins at the tail; word: the head word without the sequence. The tail's slot does not count as a continuation:
 * the message in front of it saw to that.
 */
static inline void cshim_publish_at_tail(cshim_paths *paths, cshim_path *path, uint64_t slots, uint64_t word, uint64_t data)
{
	uint64_t index = path->sender.tail;

	cshim_clear_continued(path, index + slots);
	/* release: pairs with the load in the receiver's loop */
	__atomic_store_n(&cshim_slot_at(path->out_slots, index)->head, (uint32_t)index | CSHIM_SEQUENCE_VALID | word, __ATOMIC_RELEASE);
	path->sender.tail = index + slots;
	cshim_append_ahead(paths, path, index);
	paths->packets_sent++;
	paths->data_sent += data;
	/* Store the message, then look whether anybody must be told: the receiver's membarrier orders the two (docs/fastlane.md). */
	cshim_membarrier_light();
	if (__builtin_expect(path->fenced != 0, 0))
		cshim_membarrier_full();
	if (__builtin_expect((__atomic_load_n(&cshim_control(path->out_control)->cold, __ATOMIC_RELAXED) |
	                      __atomic_load_n(&cshim_head(path->out_head)->armed, __ATOMIC_RELAXED)) != 0,
	                     0))
		cshim_append_wake(paths, path);
}

/* Publishes what cshim_append_slots began. */
static inline void cshim_append_publish(cshim_paths *paths, cshim_path *path, cshim_append *append, uint64_t word, uint64_t data)
{
	if (__builtin_expect(append->padding != 0, 0))
		cshim_append_padding(path, append);
	cshim_publish_at_tail(paths, path, append->slots, word, data);
}

static inline uint64_t cshim_head_word(uint32_t kind, uint64_t header, uint64_t data)
{
	return (uint64_t)kind << 32 | header / CSHIM_HEADER_UNIT << 40 | data << 48;
}

/* Publishes what cshim_append_begin began: header bytes are a multiple of 8. */
static inline void cshim_append_end(cshim_paths *paths, cshim_path *path, cshim_append *append, uint32_t kind, uint64_t header,
                                    uint64_t data)
{
	cshim_append_publish(paths, path, append, cshim_head_word(kind, header, data), data);
}

/* Header and data of a message of one slot, at most. Such a message needs no padding, and makes no continuations. */
#define CSHIM_ONE_SLOT (CSHIM_SLOT_SIZE - 8)

/* Begins one: where its header goes, or NULL if there is no room. */
static inline void *cshim_one_slot_begin(cshim_path *path)
{
	const cshim_sender *sender = &path->sender;

	if (__builtin_expect(sender->tail - sender->consumed >= CSHIM_RING_SLOTS, 0) &&
	    !cshim_await_consumed(path, sender->tail + 1 - CSHIM_RING_SLOTS, CSHIM_ROOM_LOOKS))
		return NULL;
	return cshim_slot_at(path->out_slots, sender->tail)->bytes;
}

static inline void cshim_one_slot_end(cshim_paths *paths, cshim_path *path, uint32_t kind, uint64_t header, uint64_t data)
{
	cshim_publish_at_tail(paths, path, 1, cshim_head_word(kind, header, data), data);
}

/* An operation of the user's has sent a message on path. kind: lapi_err_t. */
static inline void cshim_lane_note(cshim_lane *lane, cshim_path *path, lapi_err_t kind)
{
	path->used = 1;
	path->kind = (uint32_t)kind + 1;
	lane->dirty = 1;
	lane->issued++;
}

/* A counter, or what LAPI_Msgpoll reports, has changed. */
static inline void cshim_lane_event(cshim_context *context)
{
	cshim_event(&context->progress);
}

/* Adds 1 to a counter, if there is one, that src named in a message between this task and peer. */
static inline void cshim_lane_count(cshim_context *context, cshim_lane *lane, uint64_t cntr, lapi_err_t kind, int32_t src, int32_t peer)
{
	if (cntr == 0)
		return;
	if (__builtin_expect(lane->off || cntr % sizeof(int32_t) ||
	                     cshim_guarded_count(cshim_memory_at(cntr), cshim_progress_active() > 1), 0))
		golapi_lane_count(cshim_index_of(context), cntr, (int32_t)kind, src, peer);
	else
		cshim_lane_event(context);
}

/* The origin's half of a put or active message is over: its buffer is free, as the data was copied. */
static inline void cshim_lane_sent(cshim_context *context, cshim_lane *lane, cshim_path *path, lapi_err_t kind, uint64_t org_cntr,
                                   uint64_t cmpl_cntr)
{
	cshim_lane_note(lane, path, kind);
	if (cmpl_cntr)
		path->expected++;
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_count(context, lane, org_cntr, kind, context->task, path->task);
}

/* Tells the task of path what cshim_lane_tell has put off. */
void cshim_lane_tell_now(cshim_context *context, cshim_lane *lane, cshim_path *path);
/* Tells origin that its message is complete, at the latest at the end of this ring's turn. */
static inline void cshim_lane_tell(cshim_context *context, cshim_lane *lane, cshim_path *path, uint64_t cmpl_cntr)
{
	if (cmpl_cntr == 0)
		return;
	if (lane->told == cmpl_cntr) {
		lane->told_more++;
		return;
	}
	if (lane->told)
		cshim_lane_tell_now(context, lane, path);
	lane->told = cmpl_cntr;
	lane->told_more = 0;
}

/* A message that has come, while it is looked at. */
typedef struct cshim_arrival {
	uint32_t kind;
	uint64_t header, data; /* bytes, checked */
	const unsigned char *body;  /* the header */
	const unsigned char *bytes; /* the data */
} cshim_arrival;

/* Copies a message's data to an address of the user's; 1 if that is bad. huge: it is part of more than the cache holds. */
static inline int cshim_place_data(uint64_t to, const cshim_arrival *arrival, int huge)
{
	if (huge)
		return cshim_guarded_stream(cshim_memory_at(to), arrival->bytes, arrival->data);
	return cshim_guarded_copy(cshim_memory_at(to), arrival->bytes, arrival->data);
}

/* lane_chunk.c */

/* A message whose data lies in a chunk. */
typedef struct cshim_chunk {
	cshim_append append;
	unsigned char *header;
	unsigned char *bytes; /* the data */
	uint64_t skipped;      /* units up to the area's end */
	uint64_t units;
	uint64_t data;
} cshim_chunk;

/* Begins a message of so many bytes of header and data, of which CSHIM_CHUNK_MAX at most; 0 if there is no room. */
int cshim_chunk_begin(const cshim_paths *paths, cshim_path *path, uint64_t header, uint64_t data, cshim_chunk *chunk);
void cshim_chunk_end(cshim_paths *paths, cshim_path *path, cshim_chunk *chunk, uint32_t kind, uint64_t header);
/* Finds the data of a message in a slot: 1 if it lies within the area. arrival has what the head word says, and body. */
int cshim_chunk_arrived(const cshim_path *path, cshim_slot *slot, cshim_arrival *arrival);

/* In chunks of how many bytes n bytes go. */
static inline uint64_t cshim_chunk_step(const cshim_paths *paths, uint64_t n)
{
	unsigned class = 63 - (unsigned)__builtin_clzll(n | 1);

	return paths->chunk_of[class < CSHIM_CHUNK_CLASSES ? class : CSHIM_CHUNK_CLASSES - 1];
}

/* lane_get.c */

/* The answer to a get or read-modify-write of this task's has come, or a part of it. */
void cshim_lane_reply(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival);
/* The requests, at the target. 0: core shall do it. */
int cshim_lane_serve_get(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival);
int cshim_lane_serve_rmw(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival);

/* lane_bulk.c: CSHIM_LANE_DONE or _PASS; and 0: core shall do it. */

int cshim_bulk_put(cshim_context *context, cshim_path *path, uint64_t len, const cshim_put_header *put, uint64_t org_addr, uint64_t org_cntr);
int cshim_bulk_serve_get(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_get_header *get);

#endif
