/*
 * reduce.c - the reductions of groups on one node. Each element is combined in the order of
 * ranks, whichever member does it: so results are the same at all members and from run to run.
 *
 * A short one: each member publishes its elements, and members that need the result make it.
 *
 * A long one goes in blocks, each of several chunks of a staging buffer. Each member stages its
 * block, and publishes the descriptor of the block's first round. Each reduces a part of the block,
 * of all members' staging buffers into its own, and publishes the descriptor of the block's second
 * round. Members that need the result take each part from there. Of a reduce_scatter the part is
 * the member's result, of a scan the whole block, and nobody publishes a second descriptor.
 *
 * Or the elements of an allreduce stay in the program's memory (path.c): then all of them are
 * one block, whose first descriptors say where they are, and where the result is to be. Each member
 * reads what it reduces from there, and the results of others.
 */
#include "dat/coll/private.h"

#include <string.h>

#include "coll/reduce.h"

enum {
	SHORT = 4096,                 /* bytes */
	CHUNKS = 2,                   /* of a block */
	CHUNKS_CROWDED = 4,           /* fewer turns of the processor */
	STEP = DAT_GROUP_SCRATCH / 2, /* of a reduction, so that it stays in the first cache */
	/* of elements that stay: for two descriptors, and two chunks for what is read of them */
	ROUNDS_OF_PLACES = 4,
	OF_RESULT = 1 /* dat_read.what */
};

static int is_short(const dat_group *group, const dat_group_op *op)
{
	return op->n <= SHORT && op->n <= group->config.chunk;
}

static uint32_t chunks(const dat_group *group, const dat_group_op *op)
{
	return is_short(group, op) ? 1 : group->config.crowded ? CHUNKS_CROWDED : CHUNKS;
}

/* The round in which the first block begins: its chunks lie side by side. */
static uint64_t first_round(const dat_group *group, const dat_group_op *op)
{
	uint64_t each = chunks(group, op); /* a power of two */

	return (group->round.base + each - 1) & ~(each - 1);
}

static uint64_t round_of(const dat_group *group, const dat_group_op *op, uint32_t block)
{
	return first_round(group, op) + (uint64_t)block * chunks(group, op);
}

static uint64_t block_size(const dat_group *group, const dat_group_op *op)
{
	return (uint64_t)chunks(group, op) * group->config.chunk;
}

static uint32_t blocks(const dat_group *group, const dat_group_op *op)
{
	uint64_t each = block_size(group, op);

	return op->n <= each ? 1 : (uint32_t)((op->n + each - 1) / each);
}

static dat_span block_of(const dat_group *group, const dat_group_op *op, uint32_t block)
{
	uint64_t each = block_size(group, op), at = block * each;

	return (dat_span){at, op->n - at < each ? op->n - at : each};
}

/* Where the elements are that this member contributes. */
static uint64_t input(const dat_group_op *op)
{
	return op->send.addr ? op->send.addr : op->recv.addr;
}

/* 1 if the result comes to this member. */
static int has_result(const dat_group *group, const dat_group_op *op)
{
	return op->kind != DAT_IB_COLLECTIVE_REDUCE_STATUS || op->root == group->config.rank;
}

/* 1 if there are second descriptors, of the parts. */
static int has_parts(const dat_group *group, const dat_group_op *op)
{
	return !is_short(group, op) && (op->kind == DAT_IB_COLLECTIVE_ALLREDUCE_STATUS ||
	                                op->kind == DAT_IB_COLLECTIVE_REDUCE_STATUS);
}

/* How many ranks, from 0 on, this member reduces. */
static uint32_t operands(const dat_group *group, const dat_group_op *op)
{
	if (op->kind == DAT_IB_COLLECTIVE_SCAN_STATUS)
		return group->config.rank + 1;
	if (is_short(group, op) && !has_result(group, op))
		return 0;
	return group->config.size;
}

/* The part of a reduce_scatter that a rank gets. */
static dat_span scattered(const dat_group *group, uint32_t rank)
{
	const dat_span *list = dat_group_list(group, group->queue.head, 1);
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < rank; i++)
		at += list[i].n;
	return (dat_span){at, list[rank].n};
}

/* The part of a block that a rank reduces, as a place in the block. */
static dat_span part_of(const dat_group *group, const dat_group_op *op, dat_span block,
                        uint32_t rank)
{
	uint64_t size, count, from, to;

	if (op->kind == DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS) {
		dat_span own = scattered(group, rank);

		from = own.addr > block.addr ? own.addr - block.addr : 0;
		to = own.addr + own.n > block.addr ? own.addr + own.n - block.addr : 0;
		from = from < block.n ? from : block.n;
		to = to < block.n ? to : block.n;
		return (dat_span){from, to > from ? to - from : 0};
	}
	if (!has_parts(group, op))
		return (dat_span){0, block.n};
	size = coll_type_size((int)op->op, (int)op->type);
	count = block.n / size;
	from = count * rank / group->config.size;
	to = count * (rank + 1) / group->config.size;
	return (dat_span){from * size, (to - from) * size};
}

void dat_group_reduce_begin(dat_group *group, const dat_group_op *op)
{
	uint64_t n = op->kind == DAT_IB_COLLECTIVE_ALLREDUCE_STATUS ? op->n : 0;

	group->reduce.staged = group->reduce.reduced = group->reduce.taken = 0;
	group->reduce.input = group->reduce.result = 0;
	group->reduce.part = 0;
	dat_group_path_begin(group, op, first_round(group, op), n, n);
}

/* Publishes this member's elements of the next block. */
static int stage_block(dat_group *group, const dat_group_op *op)
{
	uint64_t round = round_of(group, op, group->reduce.staged);
	dat_span block = block_of(group, op, group->reduce.staged);
	unsigned char inlined[DAT_GROUP_INLINE] = {0};
	int in_desc = block.n <= DAT_GROUP_INLINE;
	unsigned char *to = in_desc ? inlined : dat_group_staging(group, group->config.rank, round);

	if (!dat_group_copy(group, (uintptr_t)to, input(op) + block.addr, block.n))
		return 0;
	dat_group_publish(group, round, block.n, in_desc ? inlined : NULL);
	group->reduce.staged++;
	return 1;
}

/* Combines n bytes at a place of a block of all operands, in the order of ranks. out may be that
 * place of this member's own staging buffer, if it is the only one to read it. */
static void combine(const dat_group *group, const dat_group_op *op, uint64_t round, uint64_t whole,
                    uint64_t at, uint64_t n, unsigned char *out)
{
	unsigned char *sum = group->reduce.scratch;
	uint32_t count = operands(group, op), i;
	size_t elements = n / coll_type_size((int)op->op, (int)op->type);
	const unsigned char *left = dat_group_data(group, 0, round, whole) + at;

	if (count == 1)
		memmove(out, left, n);
	for (i = 1; i < count; i++) {
		unsigned char *to = i == count - 1 ? out : sum;

		coll_reduce_to((int)op->op, (int)op->type, to, left,
		               dat_group_data(group, i, round, whole) + at, elements);
		left = to;
	}
}

/* Where a part of the block goes that this member reduces for itself alone; 0: nowhere. */
static uint64_t destination(const dat_group *group, const dat_group_op *op, dat_span block,
                            dat_span part)
{
	if (has_parts(group, op) || !has_result(group, op))
		return 0;
	if (op->kind == DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS)
		return op->recv.addr + block.addr + part.addr -
		       scattered(group, group->config.rank).addr;
	return op->recv.addr + block.addr;
}

/* Reduces this member's part of a block whose descriptors are all there. */
static int reduce_block(dat_group *group, const dat_group_op *op)
{
	uint64_t round = round_of(group, op, group->reduce.reduced), at;
	dat_span block = block_of(group, op, group->reduce.reduced);
	dat_span part = part_of(group, op, block, group->config.rank);
	uint64_t to = destination(group, op, block, part);

	if (!operands(group, op))
		return 1;
	for (at = 0; at < part.n; at += STEP) {
		uint64_t n = part.n - at < STEP ? part.n - at : STEP;
		unsigned char *out =
			to ? group->reduce.scratch + STEP
			   : dat_group_staging(group, group->config.rank, round) + part.addr + at;

		combine(group, op, round, block.n, part.addr + at, n, out);
		if (to && !dat_group_copy(group, to + at, (uintptr_t)out, n))
			return 0;
	}
	if (has_parts(group, op))
		dat_group_publish(group, round + 1, 0, NULL);
	return 1;
}

/* Looks for a descriptor of each other member below a rank, from the one on that is next; 1: all are
 * there. */
static int all_descs(dat_group *group, uint32_t ranks, uint64_t round)
{
	for (; group->reduce.input < ranks; group->reduce.input++)
		if (group->reduce.input != group->config.rank &&
		    !dat_group_desc(group, group->reduce.input, round))
			return 0;
	group->reduce.input = 0;
	return 1;
}

/* Looks for the descriptors of what is to be reduced next; 1: they are there, and it was. */
static int next_block(dat_group *group, const dat_group_op *op)
{
	if (!all_descs(group, operands(group, op), round_of(group, op, group->reduce.reduced)) ||
	    !reduce_block(group, op))
		return 0;
	group->reduce.reduced++;
	return 1;
}

/* Takes the parts of a block that are there; 1: these were the last. */
static int take_block(dat_group *group, const dat_group_op *op)
{
	uint64_t round = round_of(group, op, group->reduce.taken);
	dat_span block = block_of(group, op, group->reduce.taken);

	for (; has_parts(group, op) && has_result(group, op) &&
	       group->reduce.result < group->config.size;
	     group->reduce.result++) {
		uint32_t from = group->reduce.result;
		dat_span part = part_of(group, op, block, from);

		if (from != group->config.rank && !dat_group_desc(group, from, round + 1))
			return 0;
		if (!dat_group_copy(group, op->recv.addr + block.addr + part.addr,
		                    (uintptr_t)dat_group_staging(group, from, round) + part.addr,
		                    part.n))
			return 0;
	}
	group->reduce.result = 0;
	group->reduce.taken++;
	return 1;
}

/* Where a member's elements are, and its result: addresses. */
typedef struct places {
	uint64_t input, result, n, zero;
} places;

_Static_assert(sizeof(places) == DAT_GROUP_INLINE, "they go in a card");

dat_span dat_group_reduce_place(const dat_group_op *op, uint64_t what)
{
	return (dat_span){what == OF_RESULT ? op->recv.addr : input(op), op->n};
}

/* Reads n bytes at a place of another member's elements, or results (what), which the descriptor of
 * the first round names; 0: they are awaited, or cannot be had. */
static int read_places(dat_group *group, const dat_group_op *op, uint32_t from, uint32_t what,
                       dat_span part, uint64_t to)
{
	places at; /* that member may change it at any time */

	memcpy(&at, dat_group_desc_at(group, from, first_round(group, op))->inlined, sizeof(at));
	return dat_group_read(group,
	                      &(dat_read){from, what,
	                                  (what == OF_RESULT ? at.result : at.input) + part.addr,
	                                  part.addr, part.n, to});
}

typedef struct pair {
	int op, type;
	size_t elements;
	const unsigned char *left, *right;
	unsigned char *out;
} pair;

static void combine_pair(void *argument)
{
	const pair *p = argument;

	coll_reduce_to(p->op, p->type, p->out, p->left, p->right, p->elements);
}

/* Reduces n bytes at a place of all members' elements, in the order of ranks: this member's own
 * where they are, and to where the result belongs. 1: it is there. */
static int reduce_step(dat_group *group, const dat_group_op *op, uint64_t at, uint64_t n)
{
	uint64_t round = first_round(group, op);
	unsigned char *sum = dat_group_staging(group, group->config.rank, round + 2);
	unsigned char *other = dat_group_staging(group, group->config.rank, round + 3);
	const unsigned char *own = node_memory_at(input(op) + at);
	pair p = {.op = (int)op->op, .type = (int)op->type};

	p.elements = n / coll_type_size(p.op, p.type);
	for (; group->reduce.input < group->config.size; group->reduce.input++) {
		uint32_t i = group->reduce.input;

		if (i != group->config.rank &&
		    !read_places(group, op, i, 0, (dat_span){at, n}, (uintptr_t)(i ? other : sum)))
			return 0;
		if (i == 0)
			continue;
		p.left = i == 1 && group->config.rank == 0 ? own : sum;
		p.right = i == group->config.rank ? own : other;
		p.out = i == group->config.size - 1 ? node_memory_at(op->recv.addr + at) : sum;
		if (node_guarded_call(combine_pair, &p)) {
			dat_group_fail(group); /* memory is not what it should be */
			return 0;
		}
	}
	group->reduce.input = 0;
	return 1;
}

/* Reduces this member's part of elements that stay; 1: it has. */
static int reduce_places(dat_group *group, const dat_group_op *op)
{
	dat_span part = part_of(group, op, (dat_span){0, op->n}, group->config.rank);
	size_t size = coll_type_size((int)op->op, (int)op->type);
	uint64_t step = group->config.chunk / size * size;

	for (; group->reduce.part < part.n; group->reduce.part += step) {
		uint64_t left = part.n - group->reduce.part;

		if (!reduce_step(group, op, part.addr + group->reduce.part,
		                 left < step ? left : step))
			return 0;
	}
	return 1;
}

/* Reads the results of other members, as they come; 1: these were the last. */
static int take_places(dat_group *group, const dat_group_op *op)
{
	uint64_t round = first_round(group, op);

	for (; group->reduce.result < group->config.size; group->reduce.result++) {
		uint32_t from = group->reduce.result;
		dat_span part = part_of(group, op, (dat_span){0, op->n}, from);

		if (from == group->config.rank)
			continue;
		if (!dat_group_desc(group, from, round + 1) ||
		    !read_places(group, op, from, OF_RESULT, part, op->recv.addr + part.addr))
			return 0;
	}
	return 1;
}

/* An allreduce of elements that stay; 1: it is over. */
static int reduce_staying(dat_group *group, const dat_group_op *op, uint64_t *next)
{
	uint64_t round = first_round(group, op);

	*next = round + ROUNDS_OF_PLACES;
	if (!group->reduce.staged) {
		if (!dat_group_has_room(group, *next))
			return 0;
		group->path.how |= DAT_DESC_PLACE;
		dat_group_publish(group, round, op->n,
		                  &(places){input(op), op->recv.addr, op->n, 0});
		group->reduce.staged = 1;
	}
	if (!group->reduce.taken) { /* all first descriptors */
		if (!all_descs(group, group->config.size, round))
			return 0;
		group->reduce.taken = 1;
	}
	if (!group->reduce.reduced) {
		if (!reduce_places(group, op))
			return 0;
		group->reduce.reduced = 1;
		dat_group_publish(group, round + 1, 0, NULL);
	}
	return take_places(group, op) && dat_group_all_read(group, op, *next);
}

int dat_group_reduce(dat_group *group, dat_group_op *op, uint64_t *next)
{
	uint32_t all = blocks(group, op), each = chunks(group, op), moved;

	if (!dat_group_path_known(group, op))
		return 0;
	dat_group_serve(group, op);
	if (group->path.current == DAT_PATH_COPY)
		return reduce_staying(group, op, next);
	do {
		moved = 0;
		/* this member reads its own staging buffer, too */
		if (group->reduce.staged < all &&
		    (group->reduce.staged - group->reduce.taken + 1) * each <=
		            group->config.chunks &&
		    dat_group_has_room(group, round_of(group, op, group->reduce.staged) + each))
			moved |= (uint32_t)stage_block(group, op);
		if (group->reduce.reduced < group->reduce.staged && !group->failed)
			moved |= (uint32_t)next_block(group, op);
		if (group->reduce.taken < group->reduce.reduced && !group->failed &&
		    take_block(group, op)) {
			moved = 1;
			if (group->reduce.taken < all)
				dat_group_done(group, round_of(group, op, group->reduce.taken));
		}
	} while (moved && !group->failed);
	*next = round_of(group, op, all);
	if (group->reduce.taken < all)
		return 0;
	if (operands(group, op) == group->config.size && group->round.free < group->round.base)
		group->round.free = group->round.base; /* all have come so far */
	return dat_group_all_read(group, op, *next);
}
