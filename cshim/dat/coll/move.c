/*
 * move.c - the operations of groups on one node that move data and reduce none: each member sends a
 * stream, in chunks, and reads the parts for it of the others' streams.
 *
 * In a scatter and an alltoall a chunk has a piece for each other member. If members get different
 * lengths the first piece begins with the total length of that member's data.
 *
 * Long data may stay in the program's memory instead (path.c): then the member's first descriptor
 * is its only one, and says where they are.
 */
#include "dat/coll/private.h"

#include <string.h>

enum {
	LENGTH = 16,           /* bytes in front of a first piece, so that data stays aligned */
	ALIGN = 64,            /* of pieces */
	HUGE_MIN = 32 << 20,   /* bytes */
	ROUNDS_MOST = 1 << 30, /* more than any operation has: data has less than 2 GiB */
};

static int in_pieces(const dat_group_op *op)
{
	return dat_rule_of(op)->send >= DAT_BUFFER_PARTS;
}

/* Bytes in front of a first piece. */
static uint64_t front(const dat_group_op *op)
{
	return dat_rule_of(op)->send == DAT_BUFFER_LIST ? LENGTH : 0;
}

static int is_scatter(const dat_group_op *op)
{
	return dat_rule_of(op)->is & DAT_RULE_FROM_ROOT;
}

static int is_gather(const dat_group_op *op)
{
	return dat_rule_of(op)->is & DAT_RULE_TO_ROOT;
}

static int is_alltoall(const dat_group_op *op)
{
	return in_pieces(op) && !is_scatter(op);
}

static int is_allgather(const dat_group_op *op)
{
	return dat_rule_of(op)->is & DAT_RULE_EQUAL;
}

/* The whole number of rounds is in the first descriptors, of all or of the root. */
static int is_announced(const dat_group_op *op)
{
	return is_gather(op) || in_pieces(op);
}

/* Bytes of a piece; a length in front takes some of them. */
static uint64_t piece(const dat_group *group)
{
	return group->config.chunk / (group->config.size - 1) / ALIGN * ALIGN;
}

/* Where in a member's pieces the one is that is for another. */
static uint64_t piece_at(const dat_group *group, uint32_t from, uint32_t to)
{
	return (to + group->config.size - from - 1) % group->config.size * piece(group);
}

/* Where data of a round begins in what a member sends. */
static uint64_t place(const dat_group *group, const dat_group_op *op, uint32_t round)
{
	if (!in_pieces(op))
		return (uint64_t)round * group->config.chunk;
	return round ? (uint64_t)round * piece(group) - front(op) : 0;
}

/* How many rounds n bytes take; at least one. */
static uint32_t rounds_of(const dat_group *group, const dat_group_op *op, uint64_t n)
{
	uint64_t each = in_pieces(op) ? piece(group) : group->config.chunk;
	uint64_t rounds = (n + front(op) + each - 1) / each;

	return rounds ? (uint32_t)rounds : 1;
}

/* How much of n bytes goes in a round. */
static uint64_t share(const dat_group *group, const dat_group_op *op, uint32_t round, uint64_t n)
{
	uint64_t from = place(group, op, round), to = place(group, op, round + 1);

	return n <= from ? 0 : (n < to ? n : to) - from;
}

/* The data that this member sends to another, or to all. */
static dat_span outgoing(const dat_group *group, const dat_group_op *op, uint32_t to)
{
	if (in_pieces(op))
		return dat_group_part(group, op, is_alltoall(op) && !op->send.addr, to);
	if (is_allgather(op) && !op->send.addr)
		return dat_group_part(group, op, 1, group->config.rank);
	return op->send;
}

/* 1 if it sends data. */
static int sends(const dat_group *group, const dat_group_op *op)
{
	if (op->kind == DAT_IB_COLLECTIVE_BROADCAST_STATUS || is_scatter(op))
		return op->root == group->config.rank;
	if (is_gather(op))
		return op->root != group->config.rank;
	return 1;
}

/* 1 if data of another member come to this one. */
static int receives(const dat_group *group, const dat_group_op *op)
{
	return !is_gather(op) || op->root == group->config.rank;
}

dat_span dat_group_move_target(const dat_group *group, const dat_group_op *op, uint32_t from)
{
	if (op->kind == DAT_IB_COLLECTIVE_BROADCAST_STATUS)
		return op->send;
	return is_scatter(op) ? op->recv : dat_group_part(group, op, 1, from);
}

/* How many rounds of another member's this one reads, as far as it knows before it begins. */
static uint32_t reads(const dat_group *group, const dat_group_op *op, uint32_t from)
{
	if (op->kind == DAT_IB_COLLECTIVE_BROADCAST_STATUS)
		return from == op->root ? rounds_of(group, op, op->n) : 0;
	if (is_scatter(op))
		return from == op->root;
	if (is_allgather(op))
		return rounds_of(group, op, dat_group_part(group, op, 1, from).n);
	return 1; /* a descriptor, which says more */
}

/* 1 if it has seen a descriptor of each member when it is over. */
static int reads_all(const dat_group_op *op)
{
	return op->kind != DAT_IB_COLLECTIVE_BROADCAST_STATUS && !is_scatter(op);
}

/* 1 if all that members receive of each other does not fit the caches that they share. */
static int is_huge(const dat_group *group, const dat_group_op *op)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; !is_gather(op) && !is_scatter(op) && i < group->config.size; i++)
		n += dat_group_part(group, op, 1, i).n;
	return n * group->config.size >= HUGE_MIN;
}

/* Rounds of the operation, as far as they are known. */
static void count_rounds(dat_group *group, const dat_group_op *op, uint64_t longest)
{
	uint32_t i;

	group->move.rounds = group->move.all = rounds_of(group, op, longest);
	for (i = 0; i < group->config.size; i++)
		if (group->move.limit[i] > group->move.all)
			group->move.all = group->move.limit[i];
}

void dat_group_move_begin(dat_group *group, dat_group_op *op)
{
	uint64_t sent = 0, received = 0, taken = 0;
	uint32_t i;

	for (i = 0; i < group->config.size; i++) {
		uint64_t n =
			sends(group, op) && i != group->config.rank ? outgoing(group, op, i).n : 0;
		uint64_t m =
			is_gather(op) || is_allgather(op) ? dat_group_part(group, op, 1, i).n : 0;

		sent = n > sent ? n : sent;
		received = m > received ? m : received;
		group->move.got[i] = 0;
		group->move.total[i] = 0;
		group->move.limit[i] = i == group->config.rank ? 0 : reads(group, op, i);
	}
	group->move.wrote = 0;
	group->move.own = 0;
	group->move.huge = is_huge(group, op);
	count_rounds(group, op, sent);
	if (dat_group_may_push(group, op) && receives(group, op))
		taken = dat_group_move_target(group, op, !group->config.rank).n;
	dat_group_path_begin(group, op, group->round.base, sent > received ? sent : received,
	                     sent > taken ? sent : taken);
}

/* Says where this member's data are, in its only descriptor. In place they may be replaced by what
 * is received before others have read them. */
static int stays(const dat_group *group, const dat_group_op *op)
{
	return group->path.current >= DAT_PATH_COPY && sends(group, op) &&
	       !(is_alltoall(op) && !op->send.addr);
}

dat_span dat_group_move_place(const dat_group *group, const dat_group_op *op, uint32_t to)
{
	return outgoing(group, op, to);
}

/*
 * Publishes where the other member may write, if it has something for this one. Data that is in
 * place and would be overwritten by that write never stays (stays), so it never gets here.
 */
static void write_target(dat_group *group, const dat_group_op *op, unsigned char *inlined)
{
	dat_span target;

	if (group->path.current < DAT_PATH_PUSH || !receives(group, op) ||
	    (dat_group_has_root(op) && sends(group, op)))
		return;
	target = dat_group_move_target(group, op, !group->config.rank);
	memcpy(inlined + sizeof(target), &target, sizeof(target));
	group->path.how |= DAT_DESC_TAKES;
}

static void write_place(dat_group *group, const dat_group_op *op)
{
	unsigned char inlined[DAT_GROUP_INLINE] = {0};
	uint64_t round = group->round.base;
	dat_span place = {0, 0};
	uint32_t i;

	group->path.how |= DAT_DESC_PLACE;
	group->move.rounds = 1;
	if (is_announced(op))
		group->move.all = 1;
	if (in_pieces(op))
		for (i = 0; i < group->config.size; i++) {
			place = outgoing(group, op, i);
			memcpy(dat_group_staging(group, group->config.rank, round) +
			               i * sizeof(place),
			       &place, sizeof(place));
		}
	else
		place = outgoing(group, op, 0);
	memcpy(inlined, &place, sizeof(place));
	write_target(group, op, inlined);
	group->push.to_push = group->path.current >= DAT_PATH_PUSH;
	dat_group_publish(group, round, place.n, inlined);
	group->move.wrote = 1;
}

/* Puts this member's pieces of a round into its staging buffer. */
static int stage_pieces(dat_group *group, const dat_group_op *op, uint64_t round)
{
	unsigned char *chunk = dat_group_staging(group, group->config.rank, round);
	uint64_t at = place(group, op, group->move.wrote), skip = group->move.wrote ? 0 : front(op);
	uint32_t i;

	for (i = 0; i < group->config.size; i++) {
		unsigned char *to = chunk + piece_at(group, group->config.rank, i);
		dat_span from;

		if (i == group->config.rank)
			continue;
		from = outgoing(group, op, i);
		if (skip)
			memcpy(to, &from.n, sizeof(from.n));
		if (!dat_group_copy(group, (uintptr_t)(to + skip), from.addr + at,
		                    share(group, op, group->move.wrote, from.n)))
			return 0;
	}
	return 1;
}

/* Publishes this member's next round, with its data. */
static int write_round(dat_group *group, const dat_group_op *op)
{
	unsigned char inlined[DAT_GROUP_INLINE] = {0};
	uint64_t round = group->round.base + group->move.wrote, n = 0, m;
	dat_span from = {0, 0};
	unsigned char *to;

	if (stays(group, op)) {
		write_place(group, op);
		return 1;
	}
	if (!sends(group, op)) {
		write_target(group, op, inlined);
		dat_group_publish(group, round, 0, group->path.how ? inlined : NULL);
	} else if (in_pieces(op)) {
		if (!stage_pieces(group, op, round))
			return 0;
		dat_group_publish(group, round, outgoing(group, op, 0).n, NULL);
	} else {
		from = outgoing(group, op, 0);
		n = from.n;
		m = share(group, op, group->move.wrote, n);
		to = m <= DAT_GROUP_INLINE ? inlined
		                           : dat_group_staging(group, group->config.rank, round);
		if (!dat_group_copy(group, (uintptr_t)to,
		                    from.addr + place(group, op, group->move.wrote), m))
			return 0;
		dat_group_publish(group, round, n, m <= DAT_GROUP_INLINE ? inlined : NULL);
	}
	group->move.wrote++;
	return 1;
}

/* The part that goes from this member to itself. */
static int keep_own(dat_group *group, const dat_group_op *op)
{
	dat_span from = op->send, to = op->recv;

	group->move.own = 1;
	if (op->kind == DAT_IB_COLLECTIVE_BROADCAST_STATUS ||
	    ((is_gather(op) || is_scatter(op)) && op->root != group->config.rank))
		return 1;
	if (is_scatter(op) || is_alltoall(op))
		from = dat_group_part(group, op, 0, group->config.rank);
	if (!is_scatter(op))
		to = dat_group_part(group, op, 1, group->config.rank);
	if (!op->send.addr || (is_scatter(op) && !op->recv.addr))
		return 1; /* in place */
	return dat_group_copy(group, to.addr, from.addr, from.n);
}

/*
 * Takes the number of rounds that follow from a first descriptor; 0: the descriptor is impossible.
 */
static int learn(dat_group *group, dat_group_op *op, uint32_t from, const dat_desc *desc,
                 const unsigned char *data)
{
	int reader = !is_gather(op) || op->root == group->config.rank;
	uint32_t rounds = desc->rounds;

	if (!is_announced(op))
		return 1;
	if (rounds < 1 || rounds > ROUNDS_MOST)
		return 0;
	if (rounds > group->move.all)
		group->move.all = rounds;
	if (!reader)
		return 1;
	if (front(op))
		memcpy(&group->move.total[from], data, sizeof(group->move.total[from]));
	else
		group->move.total[from] = desc->n;
	if (group->move.total[from] >> 31 || rounds_of(group, op, group->move.total[from]) > rounds)
		return 0;
	group->move.limit[from] = rounds_of(group, op, group->move.total[from]);
	return 1;
}

/* Reads a member's data where they are, as its descriptor says. */
static int read_place(dat_group *group, dat_group_op *op, uint32_t from, const dat_desc *desc)
{
	const unsigned char *at = desc->inlined;
	dat_span place, to;
	dat_read read;

	if (is_alltoall(op) && !op->send.addr && group->move.wrote < group->move.rounds)
		return 0; /* they replace what is still to be sent */
	if (in_pieces(op))
		at = dat_group_staging(group, from, group->round.base) +
		     group->config.rank * sizeof(place);
	memcpy(&place, at, sizeof(place)); /* it may change at any time */
	if (!group->path.classes || place.n >> 31) {
		dat_group_fail(group);
		return 0;
	}
	group->move.limit[from] = 1;
	if (receives(group, op)) {
		to = dat_group_move_target(group, op, from);
		if (place.n > to.n) { /* the rest is dropped */
			op->flags |= DAT_GROUP_SHORT;
			place.n = to.n;
		}
		read = (dat_read){.from = from, .addr = place.addr, .n = place.n, .to = to.addr};
		if (!(group->path.how & DAT_DESC_TAKES ? dat_group_take(group, op, &read)
		                                       : dat_group_read(group, &read)))
			return 0;
	}
	group->move.got[from] = 1;
	return 1;
}

/* Reads the next round of a member's, whose descriptor is there. */
static int read_round(dat_group *group, dat_group_op *op, uint32_t from, const dat_desc *desc)
{
	int pieces = in_pieces(op);
	uint32_t at = group->move.got[from];
	uint64_t round = group->round.base + at, total, n, start = place(group, op, at);
	const unsigned char *data = dat_group_staging(group, from, round);
	dat_span to;

	if (at == 0 && desc->how & DAT_DESC_PLACE)
		return read_place(group, op, from, desc);
	if (pieces)
		data += piece_at(group, from, group->config.rank);
	if (at == 0 && !learn(group, op, from, desc, data)) {
		dat_group_fail(group);
		return 0;
	}
	group->move.got[from]++;
	if (!receives(group, op))
		return 1;
	to = dat_group_move_target(group, op, from);
	total = is_announced(op) ? group->move.total[from] : to.n;
	n = share(group, op, at, total);
	if (pieces)
		data += at ? 0 : front(op);
	else if (n <= DAT_GROUP_INLINE)
		data = desc->inlined;
	if (total > to.n) { /* the rest is dropped */
		op->flags |= DAT_GROUP_SHORT;
		n = to.n <= start ? 0 : (n < to.n - start ? n : to.n - start);
	}
	if (group->move.huge)
		return dat_group_stream(group, to.addr + start, (uintptr_t)data, n);
	return dat_group_copy(group, to.addr + start, (uintptr_t)data, n);
}

/* Reads what a member has published. */
static int read_from(dat_group *group, dat_group_op *op, uint32_t from)
{
	while (group->move.got[from] < group->move.limit[from]) {
		const dat_desc *desc;

		/* in place, what is received replaces what was to be sent before */
		if (group->move.got[from] >= group->move.wrote &&
		    group->move.wrote < group->move.rounds)
			return 0;
		desc = dat_group_desc(group, from, group->round.base + group->move.got[from]);
		if (!desc || !read_round(group, op, from, desc))
			return 0;
	}
	return 1;
}

/* Publishes the rounds that this member has read of all members. */
static void say_done(dat_group *group)
{
	uint32_t i, least = group->move.all;

	for (i = 0; i < group->config.size; i++)
		if (group->move.got[i] < group->move.limit[i] && group->move.got[i] < least)
			least = group->move.got[i];
	if (least && group->move.all > group->config.chunks / 2)
		dat_group_done(group, group->round.base + least);
}

/* Changes with each round that is written, given or read. */
static uint64_t moved(const dat_group *group)
{
	uint64_t sum = group->move.wrote + !group->push.to_push;
	uint32_t i;

	for (i = 0; i < group->config.size; i++)
		sum += group->move.got[i];
	return sum;
}

int dat_group_move(dat_group *group, dat_group_op *op, uint64_t *next)
{
	uint64_t before, after = moved(group);
	uint32_t i, waits;

	if (!dat_group_path_known(group, op))
		return 0;
	dat_group_serve(group, op);
	if (group->push.rest == 1)
		group->push.rest = 2;
	do {
		before = after;
		while (group->move.wrote < group->move.rounds &&
		       dat_group_has_room(group, group->round.base + group->move.wrote + 1))
			if (!write_round(group, op))
				return 0;
		waits = group->move.wrote < group->move.rounds || !dat_group_push(group, op);
		if (!group->move.own && !group->push.to_push && !keep_own(group, op))
			return 0;
		for (i = 1; i < group->config.size; i++)
			waits |= !read_from(group, op,
			                    (group->config.rank + i) % group->config.size);
		after = moved(group);
		if (group->failed)
			return 0;
		if (after != before && waits)
			say_done(group);
	} while (waits && after != before);
	*next = group->round.base + group->move.all;
	if (!waits && reads_all(op) && group->round.free < group->round.base)
		group->round.free = group->round.base; /* all have come so far */
	return !waits && dat_group_all_read(group, op, *next);
}
