/*
 * rail.c - messages between members on several nodes, by RDMA writes to memory that the receiver
 * polls (group.h).
 *
 * It relies on two orders: writes of one queue pair are placed in the order of their posting, and the
 * last 8 bytes of a write after all others of it. The first is InfiniBand's rule for a reliable
 * connection. The second is none of its rules; the adapters that RDMA libraries are used with keep
 * it, as those libraries poll memory likewise. A read of a stamp (acquire) pairs with that.
 *
 * A slot is written again when its reader has said that it was taken (dat_rail_words.taken), which
 * it says of CREDIT messages at once. So what a write is made from (out) is the adapter's no more
 * either, and needs no completion. A completion is asked for with each SIGNAL-th request, which
 * frees the places of all before it in the queue.
 *
 * A rail that has failed fails the group when an operation needs it: a peer that has freed its
 * group, and of which this member learns later, has had all that it needed.
 *
 * Sleep. A member about to sleep writes asleep; a sender looks at it after each message, and has
 * core wake the peer by a link's message. A message that is on its way while asleep is, too, may be
 * missed by both: so core sleeps for a short time only while an operation waits.
 */
#include "dat/coll/private.h"

#include <stdlib.h>
#include <string.h>

#include "ibv/ibv.h"

enum {
	CREDIT = DAT_RAIL_SLOTS / 4,
	SIGNAL = 16, /* requests to one completion */
	LOOKS = 64,  /* turns to one look at completions */
	TAKEN = 8    /* completions at once */
};

#define OP_WRITE 0      /* IBV_WR_RDMA_WRITE */
#define FLAG_SIGNALED 2 /* IBV_SEND_SIGNALED */
#define FLAG_INLINE 8   /* IBV_SEND_INLINE */

static dat_rail_memory *memory_of(const dat_rail *rail)
{
	return (dat_rail_memory *)(uintptr_t)rail->config.memory;
}

/* Where a place of this end's memory is at the peer's. */
static uint64_t there(const dat_rail *rail, const void *here)
{
	return rail->config.remote + ((uintptr_t)here - rail->config.memory);
}

int dat_group_rail(dat_group *group, uint32_t rank, const void *config)
{
	dat_group_rails *rails = &group->rails;

	if (!rails->of)
		rails->of = calloc(group->config.size, sizeof(*rails->of));
	if (!rails->room)
		rails->room = aligned_alloc(64, DAT_GROUP_SCRATCH);
	if (!rails->posts && !((const dat_rail_config *)config)->qp)
		rails->posts = calloc(DAT_RAIL_POSTS, sizeof(*rails->posts));
	if (!rails->of || !rails->room || (!rails->posts && !((const dat_rail_config *)config)->qp))
		return 0;
	rails->of[rank].config = *(const dat_rail_config *)config;
	return 1;
}

static void completed(dat_group *group, dat_rail *rail, uint64_t id, uint32_t status,
                      uint32_t vendor)
{
	if (status) {
		if (!rail->state.failed) {
			rail->state.status = status;
			rail->state.vendor = vendor;
		}
		rail->state.failed = 1;
		group->rails.core = 1;
		return;
	}
	rail->reclaimed = (uint32_t)id;
	if (id & DAT_RAIL_STRAIGHT) {
		rail->state.written++;
		group->rails.core = 1;
	}
}

void dat_group_completed(dat_group *group, uint32_t rank, uint64_t id, uint32_t status,
                         uint32_t vendor)
{
	completed(group, &group->rails.of[rank], id, status, vendor);
}

static void poll(dat_group *group, dat_rail *rail)
{
	struct cshim_ibv_completion found[TAKEN];
	int n, i;

	if (!rail->config.qp)
		return;
	do {
		n = cshim_ibv_poll(rail->config.cq, TAKEN, found);
		for (i = 0; i < n; i++)
			completed(group, rail, found[i].id, found[i].status, found[i].vendor_err);
	} while (n == TAKEN);
	if (n < 0)
		completed(group, rail, 0, DAT_RAIL_BROKEN, 0);
}

void dat_group_rail_poll(dat_group *group, uint32_t rank)
{
	poll(group, &group->rails.of[rank]);
}

/* 1 if the queue pair takes a request. */
static int takes(dat_group *group, dat_rail *rail)
{
	if (rail->posted - rail->reclaimed < rail->config.depth)
		return 1;
	poll(group, rail);
	return rail->posted - rail->reclaimed < rail->config.depth;
}

static int post_native(const dat_rail *rail, const dat_rail_post *p)
{
	const struct cshim_ibv_work work = {
		.id = p->id,
		.remote_addr = p->remote,
		.rkey = p->rkey,
		.op = OP_WRITE,
		.flags = (uint8_t)((p->flags & DAT_RAIL_SIGNALED ? FLAG_SIGNALED : 0) |
	                           (p->flags & DAT_RAIL_INLINE ? FLAG_INLINE : 0)),
		.segments = 1};
	const struct cshim_ibv_segment segment = {p->local, p->n, p->lkey};

	return cshim_ibv_post(rail->config.qp, &work, &segment);
}

/* Posts a write, for which the queue has room. */
static void post(dat_group *group, dat_rail *rail, uint64_t local, uint32_t lkey, uint64_t remote,
                 uint32_t rkey, uint32_t n, uint64_t straight)
{
	dat_group_rails *rails = &group->rails;
	dat_rail_post p = {.local = local,
	                   .remote = remote,
	                   .lkey = lkey,
	                   .rkey = rkey,
	                   .n = n,
	                   .rank = (uint32_t)(rail - rails->of)};

	rail->posted++;
	p.id = rail->posted | straight;
	if (straight || rail->posted - rail->signaled >= SIGNAL) {
		p.flags |= DAT_RAIL_SIGNALED;
		rail->signaled = rail->posted;
	}
	if (!straight && n <= rail->config.inlined)
		p.flags |= DAT_RAIL_INLINE;
	if (rail->config.qp) {
		if (post_native(rail, &p))
			completed(group, rail, 0, DAT_RAIL_REFUSED, 0);
	} else if (rails->posted == DAT_RAIL_POSTS) {
		completed(group, rail, 0, DAT_RAIL_REFUSED, 0);
	} else {
		rails->posts[(rails->first + rails->posted++) % DAT_RAIL_POSTS] = p;
		rails->core = 1;
	}
}

/* Posts what a place of this end's memory has, to the same place of the peer's. */
static void post_words(dat_group *group, dat_rail *rail, const void *own, const void *words,
                       uint32_t n)
{
	post(group, rail, (uintptr_t)own, rail->config.lkey, there(rail, words), rail->config.rkey,
	     n, 0);
}

int dat_rail_room(dat_group *group, uint32_t rank)
{
	dat_rail *rail = &group->rails.of[rank];
	/* acquire: the peer has read the slot before */
	uint64_t taken = __atomic_load_n(&memory_of(rail)->words.taken, __ATOMIC_ACQUIRE);

	if (rail->gone)
		return 1;
	if (rail->state.failed || taken > rail->state.sent) {
		dat_rails_fail(group);
		return 0;
	}
	return rail->state.sent - taken < DAT_RAIL_SLOTS && takes(group, rail);
}

int dat_rail_send(dat_group *group, uint32_t rank, const dat_rail_message *message)
{
	dat_rail *rail = &group->rails.of[rank];
	dat_rail_memory *memory = memory_of(rail);
	uint32_t at = rail->state.sent % DAT_RAIL_SLOTS, n = (uint32_t)message->n;
	dat_rail_tail *tail = (dat_rail_tail *)(void *)(memory->out[at] + DAT_RAIL_SLOT) - 1;
	unsigned char *data = (unsigned char *)tail - ((n + 7) & ~7u);

	if (rail->gone)
		return 1;
	if (n > 0 && node_guarded_copy(data, node_memory_at(message->addr), n))
		return 0;
	rail->state.sent++;
	*tail = (dat_rail_tail){.check = message->check,
	                        .total = message->total,
	                        .seq = message->seq,
	                        .n = (uint16_t)n,
	                        .what = (uint8_t)message->what,
	                        .kind = (uint8_t)message->kind,
	                        .stamp = rail->state.sent};
	post_words(group, rail, data, memory->in[at] + (data - memory->out[at]),
	           (uint32_t)((unsigned char *)(tail + 1) - data));
	if (__builtin_expect(__atomic_load_n(&memory->words.asleep, __ATOMIC_RELAXED) != 0, 0)) {
		__atomic_store_n(&memory->words.asleep, 0, __ATOMIC_RELAXED);
		rail->state.wake = group->rails.core = 1;
	}
	return 1;
}

const dat_rail_tail *dat_rail_next(const dat_group *group, uint32_t rank)
{
	const dat_rail *rail = &group->rails.of[rank];
	const dat_rail_tail *tail =
		(const dat_rail_tail
	                 *)(const void *)(memory_of(rail)->in[rail->state.taken % DAT_RAIL_SLOTS] +
	                                  DAT_RAIL_SLOT) -
		1;

	/* acquire: the adapter has placed the stamp last */
	return __atomic_load_n(&tail->stamp, __ATOMIC_ACQUIRE) == rail->state.taken + 1 ? tail
	                                                                                : NULL;
}

const dat_rail_tail *dat_rail_await(dat_group *group, uint32_t rank)
{
	const dat_rail *rail = &group->rails.of[rank];
	const dat_rail_tail *tail = dat_rail_next(group, rank);

	group->rails.awaits = rank;
	if (!tail && (rail->gone || rail->state.failed))
		dat_rails_fail(group);
	return tail;
}

/* Publishes to the peer how much was taken. */
static void credit(dat_group *group, dat_rail *rail)
{
	dat_rail_memory *memory = memory_of(rail);

	if (rail->gone || rail->state.failed)
		return;
	if (!takes(group, rail)) {
		group->rails.owes = 1;
		return;
	}
	rail->credited = CSHIM_OWN(memory->own.taken) = rail->state.taken;
	post_words(group, rail, &memory->own.taken, &memory->words.taken, sizeof(uint64_t));
}

void dat_rail_take(dat_group *group, uint32_t rank)
{
	dat_rail *rail = &group->rails.of[rank];

	rail->state.taken++;
	if (rail->state.taken - rail->credited >= CREDIT)
		credit(group, rail);
}

void dat_rails_look(dat_group *group)
{
	dat_group_rails *rails = &group->rails;
	uint32_t i;

	if (!rails->of || (!rails->owes && ++rails->looks % LOOKS))
		return;
	rails->owes = 0;
	for (i = 0; i < group->config.size; i++) {
		dat_rail *rail = &rails->of[i];

		if (!rail->config.memory)
			continue;
		poll(group, rail);
		if (rail->state.taken - rail->credited >= CREDIT)
			credit(group, rail);
	}
}

/* The calls of core. */

int dat_group_send(dat_group *group, uint32_t rank, const void *message)
{
	if (!dat_rail_room(group, rank))
		return 0;
	return dat_rail_send(group, rank, message) ? 1 : -1;
}

int dat_group_next(dat_group *group, uint32_t rank, void *message)
{
	const dat_rail_tail *tail = dat_rail_next(group, rank);
	uint32_t n;

	if (!tail)
		return 0;
	n = __atomic_load_n(&tail->n, __ATOMIC_RELAXED); /* once: the peer may write it again */
	if (n > DAT_RAIL_DATA)
		n = DAT_RAIL_DATA;
	*(dat_rail_message *)message = (dat_rail_message){.addr = (uintptr_t)dat_rail_data(tail, n),
	                                                  .check = tail->check,
	                                                  .total = tail->total,
	                                                  .n = n,
	                                                  .seq = tail->seq,
	                                                  .what = tail->what,
	                                                  .kind = tail->kind};
	return 1;
}

void dat_group_take_next(dat_group *group, uint32_t rank)
{
	dat_rail_take(group, rank);
}

int dat_group_write(dat_group *group, uint32_t rank, uint64_t local, uint32_t lkey, uint64_t remote,
                    uint32_t rkey, uint32_t n)
{
	dat_rail *rail = &group->rails.of[rank];

	if (!takes(group, rail))
		return 0;
	post(group, rail, local, lkey, remote, rkey, n, DAT_RAIL_STRAIGHT);
	return 1;
}

int dat_group_grant(dat_group *group, uint32_t rank, const void *grant)
{
	dat_rail *rail = &group->rails.of[rank];
	dat_rail_memory *memory = memory_of(rail);
	const dat_rail_grant *g = grant;

	if (!takes(group, rail))
		return 0;
	memory->own.addr = g->addr;
	memory->own.n = g->n;
	memory->own.key = g->key;
	CSHIM_OWN(memory->own.number) = g->number;
	post_words(group, rail, &memory->own.addr, &memory->words.addr, 4 * sizeof(uint64_t));
	return 1;
}

int dat_group_granted(const dat_group *group, uint32_t rank, uint64_t number, void *grant)
{
	const dat_rail_words *words = &memory_of(&group->rails.of[rank])->words;

	/* acquire: the adapter has placed the number last */
	if (__atomic_load_n(&words->number, __ATOMIC_ACQUIRE) != number)
		return 0;
	*(dat_rail_grant *)grant = (dat_rail_grant){words->addr, words->n, words->key, number};
	return 1;
}

void dat_group_rail_state(dat_group *group, uint32_t rank, void *state)
{
	dat_rail *rail = &group->rails.of[rank];

	*(dat_rail_state *)state = rail->state;
	rail->state.wake = 0;
}

void dat_group_rail_gone(dat_group *group, uint32_t rank)
{
	group->rails.of[rank].gone = 1;
}

void dat_group_rail_woken(dat_group *group, uint32_t rank)
{
	group->rails.of[rank].armed = 0;
}

static void sleeps(dat_group *group, dat_rail *rail)
{
	dat_rail_memory *memory = memory_of(rail);

	if (!memory || rail->armed || rail->gone || rail->state.failed || !takes(group, rail))
		return;
	rail->armed = 1;
	CSHIM_OWN(memory->own.asleep) = 1;
	post_words(group, rail, &memory->own.asleep, &memory->words.asleep, sizeof(uint64_t));
}

void dat_group_sleeps(dat_group *group, int all)
{
	uint32_t i;

	if (!group->rails.of)
		return; /* of a member that leads no node */
	if (!all) {
		sleeps(group, &group->rails.of[group->rails.awaits]);
		return;
	}
	for (i = 0; i < group->config.size; i++)
		sleeps(group, &group->rails.of[i]);
}

int dat_group_post(dat_group *group, void *out)
{
	dat_group_rails *rails = &group->rails;

	if (!rails->posted)
		return 0;
	*(dat_rail_post *)out = rails->posts[rails->first++ % DAT_RAIL_POSTS];
	rails->posted--;
	return 1;
}

void dat_group_probe(dat_group *group, uint32_t rank)
{
	dat_rail *rail = &group->rails.of[rank];
	dat_rail_memory *memory = memory_of(rail);

	if (rail->gone || rail->state.failed || !takes(group, rail))
		return;
	rail->signaled = rail->posted - SIGNAL; /* with a completion */
	post_words(group, rail, &memory->own.last, &memory->words.last, sizeof(uint64_t));
}

uint64_t dat_group_rail_last(const dat_group *group, uint32_t rank, uint32_t *rkey)
{
	const dat_rail *rail = &group->rails.of[rank];

	*rkey = rail->config.rkey;
	return there(rail, &memory_of(rail)->words.last);
}
