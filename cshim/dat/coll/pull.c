/*
 * pull.c - one copy of another member's memory, and a fallback where the kernel refuses it: for
 * memory that it does not copy, or a process that has changed its rights since the group was made.
 * Then the reader asks in its rank slot for a piece, and the other member puts that in a chunk of
 * its staging buffer which the operation does not use; and so on. That is slow, and rare.
 *
 * A member whose memory is read does not go on before all are done, so it is there to be asked.
 */
#include "dat/coll/private.h"

#include "node/put.h"

/* The round whose chunk of the staging buffer has answers. */
static uint64_t pull_round(const dat_group *group)
{
	return group->path.first + 1;
}

static dat_pull *pull_of(const dat_group *group, uint32_t rank)
{
	return &dat_group_slot(group, rank)->pull;
}

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define STORE(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELAXED)

/* The answer to a member's question. */
static uint64_t name_of(uint64_t asks, uint32_t rank)
{
	return asks * DAT_GROUP_MOST + rank;
}

/*
 * A member looks at a request to it only if the request's number is new; a member that is not asked
 * may look at any time.
 */
static void ask(dat_group *group, const dat_read *read)
{
	dat_pull *own = pull_of(group, group->config.rank);
	uint64_t left = read->n - group->pull.pulled;

	STORE(own->from, left ? read->from : DAT_GROUP_MOST);
	STORE(own->what, read->what);
	STORE(own->at, read->offset + group->pull.pulled);
	STORE(own->n, left < group->config.chunk ? left : group->config.chunk);
	/* release: pairs with asked_by */
	__atomic_store_n(&own->asks, CSHIM_OWN(own->asks) + 1, __ATOMIC_RELEASE);
	group->pull.asking = left ? read->from + 1 : 0;
	group->progressed = 1;
}

/* Takes the answer, and asks for the next piece, or says that it has all; 1: it has. */
static int take(dat_group *group, const dat_read *read)
{
	const dat_pull *own = pull_of(group, group->config.rank),
		       *other = pull_of(group, read->from);
	/* a hostile member may have changed its place since */
	uint64_t left = read->n > group->pull.pulled ? read->n - group->pull.pulled : 0;
	uint64_t most = left < group->config.chunk ? left : group->config.chunk;
	uint64_t asked = CSHIM_OWN(own->n), n = asked < most ? asked : most;

	/* acquire: pairs with answer */
	if (__atomic_load_n(&other->answers, __ATOMIC_ACQUIRE) !=
	    name_of(CSHIM_OWN(own->asks), group->config.rank)) {
		if (dat_group_has_ended(group, read->from))
			dat_group_fail(group);
		return 0;
	}
	if (!dat_group_copy(group, read->to + group->pull.pulled,
	                    (uintptr_t)dat_group_staging(group, read->from, pull_round(group)), n))
		return 0;
	group->pull.pulled = n < left ? group->pull.pulled + n : read->n;
	ask(group, read);
	return !group->pull.asking;
}

/*
 * 1 if a member's memory was what its descriptor says while it was copied. A member that has ended
 * may have given the memory back to its program before.
 */
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

	if (group->pull.asking == read->from + 1)
		return take(group, read);
	if (read->n == 0)
		return 1;
	if (peer && node_copy(link, peer, 1, &copy) == NODE_SENT)
		return was_there(group, read->from);
	if (!peer) {
		dat_group_fail(group);    /* its process is gone */
	} else if (!group->pull.asking) { /* one at a time */
		group->pull.pulled = copy.at;
		ask(group, read);
	}
	return 0;
}

/* 1 if a member waits for an answer of this one. */
static int asked_by(const dat_group *group, uint32_t rank)
{
	const dat_pull *other = pull_of(group, rank);

	/* acquire: pairs with ask */
	return __atomic_load_n(&other->asks, __ATOMIC_ACQUIRE) != group->pull.answered[rank] &&
	       LOAD(other->from) == group->config.rank;
}

static void answer(dat_group *group, const dat_group_op *op, uint32_t rank)
{
	const dat_pull *other = pull_of(group, rank);
	uint64_t asks = LOAD(other->asks), at = LOAD(other->at), n = LOAD(other->n);
	dat_span from = dat_group_reduces(op) ? dat_group_reduce_place(op, LOAD(other->what))
	                                      : dat_group_move_place(group, op, rank);

	at = at < from.n ? at : from.n;
	n = n < from.n - at ? n : from.n - at;
	n = n < group->config.chunk ? n : group->config.chunk;
	if (!dat_group_copy(
		    group,
		    (uintptr_t)dat_group_staging(group, group->config.rank, pull_round(group)),
		    from.addr + at, n))
		return;
	group->pull.answered[rank] = asks;
	group->pull.serves = rank + 1;
	/* release: pairs with take */
	__atomic_store_n(&pull_of(group, group->config.rank)->answers, name_of(asks, rank),
	                 __ATOMIC_RELEASE);
	group->progressed = 1;
}

/* 1 if nobody reads the chunk any more. */
static int is_free(dat_group *group)
{
	uint32_t rank = group->pull.serves - 1;

	if (group->pull.serves && !dat_group_has_ended(group, rank) &&
	    __atomic_load_n(&pull_of(group, rank)->asks, __ATOMIC_ACQUIRE) ==
	            group->pull.answered[rank])
		return 0;
	group->pull.serves = 0;
	return dat_group_has_room(group, pull_round(group) + 1);
}

void dat_group_serve(dat_group *group, const dat_group_op *op)
{
	uint32_t i;

	if (!(group->path.how & DAT_DESC_PLACE))
		return;
	for (i = 0; i < group->config.size; i++)
		if (i != group->config.rank && asked_by(group, i) && is_free(group))
			answer(group, op, i);
}
