/*
 * post.c - the collective calls of groups on one node: what core does in
 * capi/dat_collective.go and core/dat/coll/arguments.go, for these. What is not legal is left to
 * core, which says so.
 */
#include "dat/calls.h"
#include "dat/coll/coll.h"
#include "dat/godat.h"

#include <string.h>

#include "coll/reduce.h"
#include "dat/coll/private.h"

#define FLAGS_ALL 0x3fu

/* The call that is being read. */
typedef struct reading {
	const uint64_t *arguments;
	const dat_group *group;
	dat_group_op *op;
	dat_span *lists[2]; /* of the operation's place: to send, to receive */
} reading;

static int32_t signed_at(const reading *r, int place)
{
	return (int32_t)(uint32_t)r->arguments[place];
}

static int is_root(const reading *r)
{
	return r->op->root == r->group->config.rank;
}

/* Makes a buffer of all ranks one with a part of each; 0: it cannot be divided. */
static int divide(dat_span *part, uint64_t *stride, uint32_t size)
{
	uint64_t total = part->n;

	part->n /= size;
	*stride = part->n;
	return part->n * size == total;
}

/* Makes a buffer to receive into one with a part of each rank, as long as what this one sends. */
static int share_out(dat_group_op *op, uint32_t size)
{
	uint64_t total = op->recv.n;

	if (!op->send.addr && !op->send.n)
		return divide(&op->recv, &op->recv_stride, size);
	op->recv.n = op->recv_stride = op->send.n;
	return op->recv.n * size <= total;
}

/* Parts to receive into become as long as what this rank sends, each at its place. */
static int within(dat_group_op *op)
{
	op->recv_stride = op->recv.n;
	if (op->send.addr || op->send.n)
		op->recv.n = op->send.n;
	return op->recv.n <= op->recv_stride;
}

/* The parts of a v-call: buffers of their own, or places in one. */
static int read_list(const reading *r, int receive)
{
	int first = receive ? DAT_COLL_RECV : DAT_COLL_SEND;
	const uint64_t *a = r->arguments;
	const int32_t *sizes = (const int32_t *)(uintptr_t)a[first + DAT_COLL_SIZES_AT];
	const int32_t *places = (const int32_t *)(uintptr_t)a[first + DAT_COLL_PLACES_AT];
	const uint64_t *buffers = (const uint64_t *)(uintptr_t)a[first];
	int whole = a[DAT_COLL_SET] == DAT_COLL_WHOLE;
	uint32_t i;

	if (!sizes || (whole ? !buffers : !places))
		return 0;
	for (i = 0; i < r->group->config.size; i++) {
		uint64_t at = whole      ? buffers[i]
		              : a[first] ? a[first] + (uint64_t)(int64_t)places[i]
		                         : 0;

		if (sizes[i] < 0)
			return 0;
		r->lists[receive][i] = (dat_span){at, (uint64_t)sizes[i]};
	}
	*(receive ? &r->op->recv : &r->op->send) = (dat_span){a[first], 0};
	r->op->flags |= receive ? DAT_GROUP_RECV_LIST : DAT_GROUP_SEND_LIST;
	return 1;
}

/* The parts of a reduce_scatter, of which this rank gets one. */
static int read_counts(const reading *r)
{
	const int32_t *sizes = (const int32_t *)(uintptr_t)r->arguments[DAT_COLL_RECV_SIZES];
	uint32_t i;

	for (i = 0; sizes && i < r->group->config.size; i++) {
		if (sizes[i] < 0)
			return 0;
		r->lists[1][i] = (dat_span){0, (uint64_t)sizes[i]};
	}
	if (!sizes)
		return 0;
	r->op->flags |= DAT_GROUP_RECV_LIST;
	r->op->recv.n = r->lists[1][r->group->config.rank].n;
	return 1;
}

/* Fills in the buffers; 0: they are not legal. As collArguments of capi/dat_collective.go. */
static int read_buffers(const reading *r)
{
	dat_group_op *op = r->op;
	uint32_t size = r->group->config.size;
	int whole = r->arguments[DAT_COLL_SET] == DAT_COLL_WHOLE;
	int send_ok = signed_at(r, DAT_COLL_SEND_SIZE) >= 0;
	int recv_ok = signed_at(r, DAT_COLL_RECV_SIZE) >= 0;
	int listed = op->kind == DAT_IB_COLLECTIVE_SCATTERV_STATUS ||
	             op->kind == DAT_IB_COLLECTIVE_GATHERV_STATUS;

	op->send = (dat_span){r->arguments[DAT_COLL_SEND],
	                      (uint64_t)(int64_t)signed_at(r, DAT_COLL_SEND_SIZE)};
	op->recv = (dat_span){r->arguments[DAT_COLL_RECV],
	                      (uint64_t)(int64_t)signed_at(r, DAT_COLL_RECV_SIZE)};
	op->send_stride = op->send.n;
	op->recv_stride = op->recv.n;
	switch (op->kind) {
	case DAT_IB_COLLECTIVE_SCATTER_STATUS:
	case DAT_IB_COLLECTIVE_SCATTERV_STATUS:
		if (!is_root(r) || listed)
			op->send = (dat_span){0, 0};
		if (!is_root(r))
			return recv_ok;
		if (listed)
			return recv_ok && read_list(r, 0);
		return send_ok && recv_ok && (!whole || divide(&op->send, &op->send_stride, size));
	case DAT_IB_COLLECTIVE_GATHER_STATUS:
	case DAT_IB_COLLECTIVE_GATHERV_STATUS:
		if (!is_root(r) || listed)
			op->recv = (dat_span){0, 0};
		if (!is_root(r))
			return send_ok;
		if (listed)
			return send_ok && read_list(r, 1);
		return send_ok && recv_ok && (!whole || share_out(op, size));
	case DAT_IB_COLLECTIVE_ALLGATHER_STATUS:
		return send_ok && recv_ok && (whole ? share_out(op, size) : within(op));
	case DAT_IB_COLLECTIVE_ALLTOALL_STATUS:
		if (!send_ok || !recv_ok)
			return 0;
		return whole ? divide(&op->send, &op->send_stride, size) && share_out(op, size)
		             : within(op);
	case DAT_IB_COLLECTIVE_ALLGATHERV_STATUS:
		return send_ok && recv_ok && read_list(r, 1);
	case DAT_IB_COLLECTIVE_ALLTOALLV_STATUS:
		return read_list(r, 1) && (!r->arguments[DAT_COLL_SEND] || read_list(r, 0));
	case DAT_IB_COLLECTIVE_REDUCE_STATUS:
		if (!is_root(r)) {
			op->recv = (dat_span){0, 0};
			return send_ok;
		}
		break;
	case DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS:
		return send_ok && recv_ok && read_counts(r);
	}
	return send_ok && recv_ok;
}

/* Bytes without an address. */
static int bad_span(dat_span s)
{
	return !s.addr && s.n;
}

static int bad_parts(const reading *r, int receive)
{
	uint32_t flag = receive ? DAT_GROUP_RECV_LIST : DAT_GROUP_SEND_LIST, i;

	if (!(r->op->flags & flag))
		return bad_span(receive ? r->op->recv : r->op->send);
	for (i = 0; i < r->group->config.size; i++)
		if (bad_span(r->lists[receive][i]))
			return 1;
	return 0;
}

/* Bytes of this rank's part. */
static uint64_t own(const reading *r, int receive)
{
	if (r->op->flags & (receive ? DAT_GROUP_RECV_LIST : DAT_GROUP_SEND_LIST))
		return r->lists[receive][r->group->config.rank].n;
	return (receive ? r->op->recv : r->op->send).n;
}

/* Also settles how long it is; the member gets the result if has. */
static int legal_reduction(const reading *r)
{
	dat_group_op *op = r->op;
	uint64_t size = coll_type_size((int)op->op, (int)op->type), room = op->recv.n;
	int has = op->kind != DAT_IB_COLLECTIVE_REDUCE_STATUS || is_root(r);
	int scatters = op->kind == DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS;
	uint32_t i;

	if (!size)
		return 0;
	if (scatters)
		for (i = 0, room = 0; i < r->group->config.size; i++) {
			if (r->lists[1][i].n % size)
				return 0;
			room += r->lists[1][i].n;
		}
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
	return !has || !bad_span(op->recv);
}

/* As Legal of core/dat/coll/arguments.go; sets n where all members have the same. */
static int legal(const reading *r)
{
	dat_group_op *op = r->op;
	uint32_t i;

	switch (op->kind) {
	case DAT_IB_COLLECTIVE_SCATTER_STATUS:
	case DAT_IB_COLLECTIVE_SCATTERV_STATUS:
		if (!is_root(r))
			return !bad_span(op->recv);
		return !bad_parts(r, 0) && (!op->recv.addr || own(r, 0) <= op->recv.n);
	case DAT_IB_COLLECTIVE_GATHER_STATUS:
	case DAT_IB_COLLECTIVE_GATHERV_STATUS:
		if (!is_root(r))
			return !bad_span(op->send);
		return !bad_parts(r, 1) && (!op->send.addr || op->send.n <= own(r, 1));
	case DAT_IB_COLLECTIVE_ALLGATHER_STATUS:
	case DAT_IB_COLLECTIVE_ALLGATHERV_STATUS:
		op->n = op->recv.n;
		for (i = 0; op->flags & DAT_GROUP_RECV_LIST && i < r->group->config.size; i++)
			op->n += r->lists[1][i].n;
		return !bad_parts(r, 1) && (!op->send.addr || op->send.n == own(r, 1));
	case DAT_IB_COLLECTIVE_ALLTOALL_STATUS:
	case DAT_IB_COLLECTIVE_ALLTOALLV_STATUS:
		return !bad_parts(r, 1) &&
		       (!op->send.addr || (!bad_parts(r, 0) && own(r, 0) <= own(r, 1)));
	case DAT_IB_COLLECTIVE_BROADCAST_STATUS:
		op->n = op->send.n;
		return !bad_span(op->send);
	case DAT_IB_COLLECTIVE_BARRIER_STATUS:
		return 1;
	}
	return legal_reduction(r);
}

static int is_rooted(uint32_t kind)
{
	return (kind >= DAT_IB_COLLECTIVE_SCATTER_STATUS &&
	        kind <= DAT_IB_COLLECTIVE_GATHERV_STATUS) ||
	       kind == DAT_IB_COLLECTIVE_REDUCE_STATUS ||
	       kind == DAT_IB_COLLECTIVE_BROADCAST_STATUS;
}

/* Reads the call into the next place for an operation; 0: it is not legal. */
static int read_call(const dat_group *group, const uint64_t *arguments)
{
	uint32_t place = group->queue.head + group->queue.posted;
	reading r = {arguments,
	             group,
	             dat_group_op_at(group, place),
	             {dat_group_list(group, place, 0), dat_group_list(group, place, 1)}};
	uint32_t flags = (uint32_t)arguments[DAT_COLL_FLAGS];

	memset(r.op, 0, sizeof(*r.op));
	r.op->kind = (uint32_t)arguments[DAT_COLL_KIND];
	r.op->context = arguments[DAT_COLL_CONTEXT];
	r.op->flags = flags & DAT_COMPLETION_SUPPRESS_FLAG ? DAT_GROUP_QUIET : 0;
	if (is_rooted(r.op->kind))
		r.op->root = (uint32_t)arguments[DAT_COLL_ROOT];
	if (dat_group_reduces(r.op)) {
		r.op->op = (uint32_t)arguments[DAT_COLL_OPERATION];
		r.op->type = (uint32_t)arguments[DAT_COLL_TYPE];
	}
	return flags <= FLAGS_ALL && r.op->root < group->config.size && read_buffers(&r) &&
	       legal(&r);
}

/* LAPI_FASTLANE=random: 1 if core shall do the next one; the same at all members, and for a
 * reduction each time. */
static int coin(const dat_group *group)
{
	const dat_group_op *op = dat_group_op_at(group, group->queue.head + group->queue.posted);
	uint32_t by = dat_group_reduces(op) ? (uint32_t)op->n ^ op->kind << 24 : group->queue.count;
	uint32_t x = group->config.random + by * 2654435761u;

	x = (x ^ x >> 15) * 2246822519u;
	return group->config.random && (x >> 13 & 1);
}

static dat_group *group_of(const uint64_t *arguments)
{
	const dat_slot *slot =
		dat_the_lane.num_groups
			? handle_find((const void *)(uintptr_t)arguments[DAT_COLL_GROUP],
	                              DAT_IB_HANDLE_TYPE_COLLECTIVE)
			: NULL;

	return slot ? (dat_group *)(uintptr_t)slot->lane : NULL;
}

static DAT_RETURN post_by_core(const uint64_t *arguments)
{
	DAT_RETURN result = godat_call(DAT_CALL_collective, (uint64_t *)arguments);

	dat_groups_turn(); /* it may be the oldest */
	return result;
}

DAT_RETURN dat_groups_post(const uint64_t *arguments)
{
	dat_group *group = group_of(arguments);

	if (!group || group->failed || group->lost)
		return post_by_core(arguments);
	if (group->queue.posted == group->queue.room) {
		DAT_RETURN result = godat_call(DAT_CALL_collective_room, (uint64_t *)arguments);

		if (result != DAT_SUCCESS)
			return result;
	}
	if (!read_call(group, arguments) || coin(group))
		return post_by_core(arguments);
	group->queue.posted++;
	group->queue.count++;
	dat_group_turn(group);
	return DAT_SUCCESS;
}

