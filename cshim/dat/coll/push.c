/*
 * push.c - one copy between two members that the sender makes: it writes its data
 * straight to the other's memory. Of an operation with a root the other has nothing else to do, so
 * it reads the first half meanwhile (pull.c). Of an allgather the sender copies the part that
 * stays with it in the same blocks: so it reads each from memory once.
 *
 *	sender                                  receiver
 *	DAT_DESC_PLACE, its data ────────────>
 *	      <────────── DAT_DESC_TAKES, where to
 *	claims, writes                          reads the first half
 *	pushed, upto ────────────────────────>  reads the rest
 *	      <──────────────────────────────── done
 *
 * A sender that computes since it has posted must not hold the receiver up. A receiver that has
 * nothing else to do claims what the sender has not, and reads it.
 *
 * The receiver's memory is its program's to use again once its operation has failed. So it says
 * that it has ended, and waits for a copy that is under way (node_await_copy, dat_group_end); and
 * the sender says that it is pushing, and then looks whether the other has ended. Between the two
 * steps of each there is a full barrier: at least one sees the other's.
 *
 * In a larger group a member would write where a third may have changed the descriptor of another.
 */
#include "dat/coll/private.h"

#include <string.h>

#include "node/put.h"

/* Bytes of an allgather's part that are copied twice in a row: most own caches hold so much. */
#define BLOCK ((uint64_t)128 << 10)
/* Less, at both members, is in their caches however it was stored. */
#define STREAM_MIN ((uint64_t)256 << 10)

int dat_group_may_push(const dat_group *group, const dat_group_op *op)
{
	return group->config.size == 2 && !dat_group_reduces(op);
}

/* 1 if the part that stays is also sent: an allgather. */
static int keeps_what_it_sends(const dat_group_op *op)
{
	return dat_rule_of(op)->is & DAT_RULE_EQUAL;
}

int dat_group_may_stream(const dat_group *group, const dat_group_op *op)
{
	return dat_group_may_push(group, op) && keeps_what_it_sends(op) &&
	       group->path.weight >= STREAM_MIN;
}

/* Of n bytes, those that the receiver reads. */
static uint64_t split(const dat_group_op *op, uint64_t n)
{
	return dat_group_has_root(op) ? node_first_half(n) : 0;
}

/* 1 if this side is the first to claim the data that both could move. */
static int claim(const dat_group *group, uint32_t receiver, uint64_t by_sender)
{
	uint64_t *word = &dat_group_slot(group, receiver)->claim;
	uint64_t was = __atomic_load_n(word, __ATOMIC_RELAXED);
	uint64_t wanted = (group->path.first + 1) * 2 + by_sender;

	if (was / 2 < group->path.first + 1)
		/* only the claim itself counts: what was moved is notified by pushed and done */
		__atomic_compare_exchange_n(word, &was, wanted, 0, __ATOMIC_RELAXED,
		                            __ATOMIC_RELAXED);
	return __atomic_load_n(word, __ATOMIC_RELAXED) == wanted;
}

/* Writes the other's memory, if that still is for it. */
static int write_piece(dat_group *group, uint32_t to, node_transfer *piece)
{
	node_link *link = (node_link *)(uintptr_t)group->config.links[to];
	node_peer *peer = (node_peer *)(uintptr_t)group->config.peers[to];
	dat_rank_slot *own = dat_group_slot(group, group->config.rank);
	int rc = NODE_GONE;

	__atomic_store_n(&own->pushing, CSHIM_OWN(own->pushing) | 1, __ATOMIC_RELAXED);
	cshim_full_fence(); /* pairs with that in node_await_copy */
	if (peer && !dat_group_has_ended(group, to))
		rc = node_copy(link, peer, 0, piece);
	/* release: the copy is over, pairs with the load in node_await_copy */
	__atomic_store_n(&own->pushing, (CSHIM_OWN(own->pushing) | 1) + 1, __ATOMIC_RELEASE);
	return rc == NODE_SENT;
}

/* A block of this member's own part. */
static int keep_block(dat_group *group, const dat_span *own, const dat_span *from, uint64_t at,
                      uint64_t n)
{
	if (group->path.current == DAT_PATH_STREAM)
		return dat_group_stream(group, own->addr + at, from->addr + at, n);
	return dat_group_copy(group, own->addr + at, from->addr + at, n);
}

/* Writes n bytes to the other's memory, from a place on, and the part that stays, if own is one.
 * How far it came, or the group has failed. */
static uint64_t write_all(dat_group *group, const dat_span *from, uint64_t to, uint64_t at,
                          uint64_t n, const dat_span *own)
{
	uint64_t block = own ? BLOCK : NODE_COPY_MAX, upto = at, place;
	int goes = 1;

	for (place = at; place < (own ? from->n : n); place += block) {
		uint64_t left = from->n - place, kept = left < block ? left : block;
		uint64_t rest = n > place ? n - place : 0, sent = rest < block ? rest : block;
		node_transfer piece = {from->addr + place, to + place, sent, 0, {0, 0}};

		if (own && !keep_block(group, own, from, place, kept))
			return upto;
		if (goes && sent) {
			goes = write_piece(group, !group->config.rank, &piece);
			upto += piece.at;
		}
	}
	return upto;
}

int dat_group_push(dat_group *group, const dat_group_op *op)
{
	dat_rank_slot *slot = dat_group_slot(group, group->config.rank);
	uint32_t other = !group->config.rank;
	const dat_desc *desc;
	dat_span from, to = {0, 0}, own;
	int keeps = keeps_what_it_sends(op) && op->send.addr;
	uint64_t upto;

	if (!group->push.to_push)
		return 1;
	if (!(desc = dat_group_desc(group, other, group->path.first)))
		return 0;
	from = dat_group_move_place(group, op, other);
	if (desc->how & DAT_DESC_TAKES && claim(group, other, 1))
		memcpy(&to, desc->inlined + sizeof(to), sizeof(to));
	if (to.n > from.n)
		to.n = from.n;
	own = dat_group_part(group, op, 1, group->config.rank);
	upto = write_all(group, &from, to.addr, split(op, to.n), to.n, keeps ? &own : NULL);
	__atomic_store_n(&slot->upto, upto, __ATOMIC_RELAXED); /* pushed publishes it */
	if (group->failed)
		return 0;
	group->push.to_push = 0;
	group->move.own |= (uint32_t)keeps;
	/* release: pairs with dat_group_take */
	__atomic_store_n(&slot->pushed, group->path.first + 1, __ATOMIC_RELEASE);
	group->progressed = 1;
	return 1;
}

/*
 * 1 if the other member has written what it could; if it has ended without that, the group fails.
 */
static int was_pushed(dat_group *group, uint32_t from)
{
	const dat_rank_slot *slot = dat_group_slot(group, from);
	int ended = dat_group_has_ended(group, from);

	/* acquire: pairs with dat_group_push */
	if (__atomic_load_n(&slot->pushed, __ATOMIC_ACQUIRE) == group->path.first + 1)
		return 1;
	if (ended)
		dat_group_fail(group);
	return 0;
}

int dat_group_take(dat_group *group, const dat_group_op *op, dat_read *read)
{
	uint64_t n = read->n, at = split(op, n), upto = at;

	if (!group->push.rest) {
		read->n = at;
		if (!dat_group_read(group, read))
			return 0;
		group->push.rest = 1;
		group->progressed = 1; /* another turn before a sleep */
	}
	if (group->push.rest == 1 || group->push.to_push || !claim(group, group->config.rank, 0)) {
		if (!was_pushed(group, read->from))
			return 0;
		upto = __atomic_load_n(&dat_group_slot(group, read->from)->upto, __ATOMIC_RELAXED);
		upto = upto < at ? at : (upto < n ? upto : n);
	}
	read->addr += upto;
	read->to += upto;
	read->offset += upto;
	read->n = n - upto;
	return dat_group_read(group, read);
}
