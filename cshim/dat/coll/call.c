/*
 * call.c - the arguments of all collective calls, for either engine: a legal call becomes a
 * dat_group_op and its lists. One table has the differences between the operations.
 */
#include <string.h>

#include "coll/reduce.h"
#include "dat/coll/private.h"
#include "node/guard.h"

#define FLAGS_ALL 0x3fu

#define KIND(name) [DAT_IB_COLLECTIVE_##name##_STATUS - DAT_RULE_FIRST]
#define NONE DAT_BUFFER_NONE
#define ONE DAT_BUFFER_ONE
#define PARTS DAT_BUFFER_PARTS
#define LIST DAT_BUFFER_LIST

const dat_rule dat_rules[] = {
	KIND(CLOCK_SET) = {NONE, NONE, 0},
	KIND(SCATTER) = {PARTS, ONE, DAT_RULE_ROOT | DAT_RULE_FROM_ROOT},
	KIND(SCATTERV) = {LIST, ONE, DAT_RULE_ROOT | DAT_RULE_FROM_ROOT},
	KIND(GATHER) = {ONE, PARTS, DAT_RULE_ROOT | DAT_RULE_TO_ROOT},
	KIND(GATHERV) = {ONE, LIST, DAT_RULE_ROOT | DAT_RULE_TO_ROOT},
	KIND(ALLGATHER) = {ONE, PARTS, DAT_RULE_EQUAL},
	KIND(ALLGATHERV) = {ONE, LIST, DAT_RULE_EQUAL},
	KIND(ALLTOALL) = {PARTS, PARTS, 0},
	KIND(ALLTOALLV) = {LIST, LIST, 0},
	KIND(REDUCE) = {ONE, ONE, DAT_RULE_REDUCES | DAT_RULE_ROOT | DAT_RULE_TO_ROOT},
	KIND(ALLREDUCE) = {ONE, ONE, DAT_RULE_REDUCES},
	KIND(REDUCE_SCATTER) = {ONE, DAT_BUFFER_COUNTED, DAT_RULE_REDUCES},
	KIND(SCAN) = {ONE, ONE, DAT_RULE_REDUCES},
	KIND(BROADCAST) = {ONE, NONE, DAT_RULE_ROOT},
	KIND(BARRIER) = {NONE, NONE, 0},
};

/* The call that is being read. */
typedef struct reading {
	const uint64_t *arguments;
	uint32_t size, rank;
	dat_group_op *op;
	dat_span *lists[2];      /* to send, to receive */
	uint8_t buffer[2], here; /* DAT_BUFFER_; here: a bit for each that this member has */
	int long_double;         /* 1: it has one format at all members */
	int legal;
} reading;

static dat_span *buffer_of(const reading *r, int receive)
{
	return receive ? &r->op->recv : &r->op->send;
}

static uint64_t argument(const reading *r, int receive, int place)
{
	return r->arguments[place + (receive ? DAT_COLL_RECV - DAT_COLL_SEND : 0)];
}

static int is_whole(const reading *r)
{
	return r->arguments[DAT_COLL_SET] == DAT_COLL_WHOLE;
}

static int is_listed(const reading *r, int receive)
{
	return r->op->flags & (receive ? DAT_GROUP_RECV_LIST : DAT_GROUP_SEND_LIST);
}

static int is_from_root(const reading *r)
{
	return (dat_rule_of(r->op)->is & DAT_RULE_FROM_ROOT) != 0;
}

/* 1 if the data are where the result is to be: the buffer that says so is NULL. */
static int is_in_place(const reading *r)
{
	return !buffer_of(r, is_from_root(r))->addr;
}

/* Lengths of parts, and where they are: in buffers of their own, or at places in one. */
static int read_list(const reading *r, int receive)
{
	uint64_t first = argument(r, receive, DAT_COLL_SEND), at = 0;
	const int32_t *sizes =
		(const int32_t *)(uintptr_t)argument(r, receive, DAT_COLL_SEND_SIZES);
	const int32_t *places =
		(const int32_t *)(uintptr_t)argument(r, receive, DAT_COLL_SEND_PLACES);
	const uint64_t *buffers = (const uint64_t *)(uintptr_t)first;
	int counted = r->buffer[receive] == DAT_BUFFER_COUNTED;
	uint32_t i;

	if (!sizes || (!counted && (is_whole(r) ? !buffers : !places)))
		return 0;
	for (i = 0; i < r->size; i++) {
		if (sizes[i] < 0)
			return 0;
		if (!counted)
			at = is_whole(r) ? buffers[i]
			     : first     ? first + (uint64_t)(int64_t)places[i]
			                 : 0;
		r->lists[receive][i] = (dat_span){at, (uint64_t)sizes[i]};
	}
	buffer_of(r, receive)->n = counted ? r->lists[receive][r->rank].n : 0;
	r->op->flags |= receive ? DAT_GROUP_RECV_LIST : DAT_GROUP_SEND_LIST;
	return 1;
}

/* Makes a buffer of all ranks one with a part of each; 0: it cannot be divided. */
static int divide(const reading *r, dat_span *part)
{
	uint64_t total = part->n;

	part->n /= r->size;
	return part->n * r->size == total;
}

/* Parts to receive into become as long as what this member sends, if it does: in a whole buffer one
 * behind the other, else each at its place. */
static int fit_parts(const reading *r)
{
	dat_group_op *op = r->op;
	uint64_t room = op->recv.n;
	int sends = op->send.addr || op->send.n;

	if (!sends && is_whole(r) && !divide(r, &op->recv))
		return 0;
	if (sends && (is_whole(r) || !(dat_rule_of(op)->is & DAT_RULE_ROOT)))
		op->recv.n = op->send.n;
	if (is_whole(r))
		op->recv_stride = op->recv.n;
	return op->recv.n * (is_whole(r) ? r->size : 1) <= room;
}

/* Fills in a buffer that this member has; 0: it is not legal. */
static int read_buffer(const reading *r, int receive)
{
	dat_span *to = buffer_of(r, receive);
	int32_t n = (int32_t)(uint32_t)argument(r, receive, DAT_COLL_SEND_SIZE);

	*to = (dat_span){argument(r, receive, DAT_COLL_SEND), (uint64_t)n};
	if (n < 0)
		return 0;
	*(receive ? &r->op->recv_stride : &r->op->send_stride) = to->n;
	if (r->buffer[receive] == PARTS && receive)
		return fit_parts(r);
	if (r->buffer[receive] == PARTS && is_whole(r)) {
		if (!divide(r, to))
			return 0;
		r->op->send_stride = to->n;
	}
	if (r->buffer[receive] < DAT_BUFFER_LIST)
		return 1;
	return (!receive && !to->addr && !is_from_root(r)) || read_list(r, receive);
}

/* Bytes without an address, in some part. */
static int is_bad(const reading *r, int receive)
{
	const dat_span *one = buffer_of(r, receive);
	uint32_t i;

	if (!is_listed(r, receive))
		return !one->addr && one->n;
	for (i = 0; i < r->size; i++)
		if (!r->lists[receive][i].addr && r->lists[receive][i].n)
			return 1;
	return 0;
}

/* Bytes of this rank's part, and of all. */
static uint64_t own(const reading *r, int receive)
{
	return is_listed(r, receive) ? r->lists[receive][r->rank].n : buffer_of(r, receive)->n;
}

static uint64_t sum_of(const reading *r, int receive)
{
	uint64_t sum = is_listed(r, receive) ? 0 : buffer_of(r, receive)->n;
	uint32_t i;

	for (i = 0; is_listed(r, receive) && i < r->size; i++)
		sum += r->lists[receive][i].n;
	return sum;
}

/* Also settles how long it is. */
static int judge_reduction(const reading *r)
{
	dat_group_op *op = r->op;
	uint64_t size = coll_type_size((int)op->op, (int)op->type), room = sum_of(r, 1);
	int has = r->here >> 1, scatters = r->buffer[1] == DAT_BUFFER_COUNTED;
	uint32_t i;

	if (!size || (op->type == DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE && !r->long_double))
		return 0;
	for (i = 0; scatters && i < r->size; i++)
		if (r->lists[1][i].n % size)
			return 0;
	if (!op->send.addr && has) {
		if (!op->send.n || scatters)
			op->send.n = room;
		if (!op->recv.addr && room)
			return 0;
	}
	op->n = op->send.n;
	if (op->n % size || (!op->send.addr && !has && op->n) || (scatters && op->n != room) ||
	    (has && op->n > room) || (has && !scatters && !op->recv.addr && op->n))
		return 0;
	return !has || op->recv.addr || !op->recv.n;
}

/* Judges a move. The buffer of an operation in place that is NULL is not checked. */
static int judge_move(const reading *r)
{
	int both = r->here == 3, in_place = both && is_in_place(r), side;

	if (dat_rule_of(r->op)->is & DAT_RULE_EQUAL)
		r->op->n = sum_of(r, 1);
	else if (r->buffer[1] == NONE && r->here)
		r->op->n = r->op->send.n;
	for (side = 0; side < 2; side++)
		if (r->here >> side & 1 && !(in_place && side == is_from_root(r)) &&
		    is_bad(r, side))
			return 0;
	if (!both || in_place)
		return 1;
	return dat_rule_of(r->op)->is & DAT_RULE_EQUAL ? own(r, 0) == own(r, 1)
	                                               : own(r, 0) <= own(r, 1);
}

static void read_all(void *argument)
{
	reading *r = argument;

	r->legal = (!(r->here & 1) || read_buffer(r, 0)) && (!(r->here & 2) || read_buffer(r, 1)) &&
	           (dat_group_reduces(r->op) ? judge_reduction(r) : judge_move(r));
}

int dat_group_read_call(const dat_group *group, const uint64_t *arguments, dat_group_op *op,
                        dat_span *lists)
{
	reading r = {.arguments = arguments,
	             .size = group->config.size,
	             .rank = group->config.rank,
	             .op = op,
	             .long_double = group->long_double != 0,
	             .lists = {lists, lists + group->config.size}};
	uint32_t flags = (uint32_t)arguments[DAT_COLL_FLAGS];
	const dat_rule *rule;
	int other;

	memset(op, 0, sizeof(*op));
	op->kind = (uint32_t)arguments[DAT_COLL_KIND];
	op->context = arguments[DAT_COLL_CONTEXT];
	op->flags = flags & DAT_COMPLETION_SUPPRESS_FLAG ? DAT_GROUP_QUIET : 0;
	op->n = arguments[DAT_COLL_CLOCK];
	rule = dat_rule_of(op);
	if (rule->is & DAT_RULE_ROOT)
		op->root = (uint32_t)arguments[DAT_COLL_ROOT];
	if (rule->is & DAT_RULE_REDUCES) {
		op->op = (uint32_t)arguments[DAT_COLL_OPERATION];
		op->type = (uint32_t)arguments[DAT_COLL_TYPE];
	}
	if (flags > FLAGS_ALL || op->root >= r.size)
		return 0;
	other = rule->is & DAT_RULE_ROOT && op->root != r.rank;
	r.buffer[0] = rule->send;
	r.buffer[1] = rule->recv;
	r.here = (uint8_t)((rule->send && !(other && rule->is & DAT_RULE_FROM_ROOT)) |
	                   (rule->recv && !(other && rule->is & DAT_RULE_TO_ROOT)) << 1);
	/* the program's lists are read: a fault there is an argument that is not legal */
	if (!r.here)
		r.legal = 1;
	else if (rule->send < DAT_BUFFER_LIST && rule->recv < DAT_BUFFER_LIST)
		read_all(&r);
	else if (node_guarded_call(read_all, &r))
		return 0;
	if (!r.legal)
		return 0;
	op->check = (uint64_t)op->kind | (uint64_t)op->op << 8 | (uint64_t)op->type << 16 |
	            (uint64_t)op->root << 24 | op->n << 32;
	return 1;
}
