/*
 * feed.c - one copy of another member's memory, and what there is where the kernel refuses
 * it: memory that it does not copy, or a process that has changed its rights since the group was
 * made. Then the reader asks in its seat for a piece, and the other member puts that in a unit of
 * its stage which the operation does not use; and so on. That is slow, and rare.
 *
 * A member whose memory is read does not go on before all are done, so it is there to be asked.
 */
#include "dat/coll/private.h"

#include "node/put.h"

/* The unit of a member's stage for what it is asked for. */
static uint64_t feed_round(const dat_group *group)
{
	return group->way.first + 1;
}

static dat_feed *feed_of(const dat_group *group, uint32_t rank)
{
	return &dat_group_seat(group, rank)->feed;
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* The answer to a member's question. */
static uint64_t name_of(uint64_t asks, uint32_t rank)
{
	return asks * DAT_GROUP_MOST + rank;
}

/* Others look at a question only if its number is new; at one that is meant for somebody else, at
 * any time. */
static void ask(dat_group *group, const dat_read *read)
{
	dat_feed *own = feed_of(group, group->config.rank);
	uint64_t left = read->n - group->feed.fed;

	store(&own->from, left ? read->from : DAT_GROUP_MOST);
	store(&own->what, read->what);
	store(&own->at, read->offset + group->feed.fed);
	store(&own->n, left < group->config.unit ? left : group->config.unit);
	/* release: pairs with asked_by */
	__atomic_store_n(&own->asks, own->asks + 1, __ATOMIC_RELEASE);
	group->feed.asking = left ? read->from + 1 : 0;
	group->news = 1;
}

/* Takes the answer, and asks for the next piece, or says that it has all; 1: it has. */
static int take(dat_group *group, const dat_read *read)
{
	const dat_feed *own = feed_of(group, group->config.rank),
		       *other = feed_of(group, read->from);
	/* its place may have been changed since by who would do harm */
	uint64_t left = read->n > group->feed.fed ? read->n - group->feed.fed : 0;
	uint64_t most = left < group->config.unit ? left : group->config.unit;
	uint64_t n = own->n < most ? own->n : most;

	/* acquire: pairs with answer */
	if (__atomic_load_n(&other->answers, __ATOMIC_ACQUIRE) !=
	    name_of(own->asks, group->config.rank)) {
		if (dat_group_has_ended(group, read->from))
			dat_group_fail(group);
		return 0;
	}
	if (!dat_group_copy(group, read->to + group->feed.fed,
	                    (uintptr_t)dat_group_stage(group, read->from, feed_round(group)), n))
		return 0;
	group->feed.fed = n < left ? group->feed.fed + n : read->n;
	ask(group, read);
	return !group->feed.asking;
}

/* 1 if a member's memory was what its card says while it was copied. One that has ended may have
 * given it back to its program before. */
static int was_there(dat_group *group, uint32_t from)
{
	cshim_full_fence(); /* the look comes after the copy */
	if (!dat_group_has_ended(group, from))
		return 1;
	dat_group_fail(group);
	return 0;
}

int dat_group_read(dat_group *group, const dat_read *read)
{
	node_link *link = (node_link *)(uintptr_t)group->config.links[read->from];
	node_peer *peer = (node_peer *)(uintptr_t)group->config.peers[read->from];
	node_transfer copy = {.local = read->to, .remote = read->addr, .n = read->n};

	if (group->feed.asking == read->from + 1)
		return take(group, read);
	if (read->n == 0)
		return 1;
	if (peer && node_copy(link, peer, 1, &copy) == NODE_SENT)
		return was_there(group, read->from);
	if (!peer) {
		dat_group_fail(group); /* its process is gone */
	} else if (!group->feed.asking) { /* one at a time */
		group->feed.fed = copy.at;
		ask(group, read);
	}
	return 0;
}

/* 1 if a member waits for an answer of this one. */
static int asked_by(const dat_group *group, uint32_t rank)
{
	const dat_feed *other = feed_of(group, rank);

	/* acquire: pairs with ask */
	return __atomic_load_n(&other->asks, __ATOMIC_ACQUIRE) != group->feed.answered[rank] &&
	       load(&other->from) == group->config.rank;
}

static void answer(dat_group *group, const dat_group_op *op, uint32_t rank)
{
	const dat_feed *other = feed_of(group, rank);
	uint64_t asks = load(&other->asks), at = load(&other->at), n = load(&other->n);
	dat_span from = dat_group_reduces(op) ? dat_group_reduce_place(op, load(&other->what))
	                                      : dat_group_move_place(group, op, rank);

	at = at < from.n ? at : from.n;
	n = n < from.n - at ? n : from.n - at;
	n = n < group->config.unit ? n : group->config.unit;
	if (!dat_group_copy(
		    group, (uintptr_t)dat_group_stage(group, group->config.rank, feed_round(group)),
		    from.addr + at, n))
		return;
	group->feed.answered[rank] = asks;
	group->feed.feeds = rank + 1;
	/* release: pairs with take */
	__atomic_store_n(&feed_of(group, group->config.rank)->answers, name_of(asks, rank),
	                 __ATOMIC_RELEASE);
	group->news = 1;
}

/* 1 if nobody reads the unit any more. */
static int is_free(dat_group *group)
{
	uint32_t rank = group->feed.feeds - 1;

	if (group->feed.feeds && !dat_group_has_ended(group, rank) &&
	    __atomic_load_n(&feed_of(group, rank)->asks, __ATOMIC_ACQUIRE) ==
	            group->feed.answered[rank])
		return 0;
	group->feed.feeds = 0;
	return dat_group_has_room(group, feed_round(group) + 1);
}

void dat_group_feed(dat_group *group, const dat_group_op *op)
{
	uint32_t i;

	if (!(group->way.how & DAT_CARD_PLACE))
		return;
	for (i = 0; i < group->config.size; i++)
		if (i != group->config.rank && asked_by(group, i) && is_free(group))
			answer(group, op, i);
}
