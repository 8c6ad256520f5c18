/* coll_call.c - one operation: its buffers, its call in each form, its expected result. */
#include "coll.h"

#define KIND(name) DAT_IB_COLLECTIVE_##name##_STATUS

enum { GAP = 3, UNTOUCHED = 0xEE };

const char *call_name(int kind)
{
	static const char *const names[] = {
		"scatter",        "scatterv", "gather",    "gatherv", "allgather",
		"allgatherv",     "alltoall", "alltoallv", "reduce",  "allreduce",
		"reduce_scatter", "scan",     "broadcast", "barrier"};

	return names[kind - KIND(SCATTER)];
}

int call_is_reduction(int kind)
{
	return kind >= (int)KIND(REDUCE) && kind <= (int)KIND(SCAN);
}

int call_is_rooted(int kind)
{
	return (kind >= (int)KIND(SCATTER) && kind <= (int)KIND(GATHERV)) ||
	       kind == (int)KIND(REDUCE) || kind == (int)KIND(BROADCAST);
}

int call_may_be_in_place(int kind)
{
	return kind != (int)KIND(ALLTOALLV) && kind != (int)KIND(BROADCAST) &&
	       kind != (int)KIND(BARRIER);
}

void call_fail(const call *c, const char *what, DAT_RETURN result)
{
	printf("%s of rank %d of %d: n %zu, form %d, root %d, op %d, type %d%s, seed %u: %s",
	       call_name(c->kind), c->rank, c->size, c->n, c->form, c->root, c->op, c->type,
	       c->in_place ? ", in place" : "", c->seed, what);
	if (result != DAT_SUCCESS)
		printf(" %#x", (unsigned)result);
	printf("\n");
	exit(1);
}

static int is_uneven(int kind)
{
	return kind == (int)KIND(SCATTERV) || kind == (int)KIND(GATHERV) ||
	       kind == (int)KIND(ALLGATHERV) || kind == (int)KIND(ALLTOALLV);
}

/* Bytes that rank from has for rank to. */
static size_t length(const call *c, int from, int to)
{
	uint32_t r = coll_mix(c->seed, c->kind == (int)KIND(SCATTERV) ? 0 : (uint32_t)from + 1,
	                      c->kind == (int)KIND(SCATTERV) || c->kind == (int)KIND(ALLTOALLV)
	                              ? (uint32_t)to + 1
	                              : 0);

	if (!is_uneven(c->kind))
		return c->n;
	return r % 4 == 0 ? 0 : c->n * (r % 4) / 2 + (r >> 8) % 3;
}

/* The byte at offset `at` of the data from rank `from` to rank `to`. Data for all ranks is the same
 * for each. */
static unsigned char byte(const call *c, int from, int to, size_t at)
{
	int single = c->kind == (int)KIND(GATHER) || c->kind == (int)KIND(GATHERV) ||
	             c->kind == (int)KIND(ALLGATHER) || c->kind == (int)KIND(ALLGATHERV) ||
	             c->kind == (int)KIND(BROADCAST);

	return (unsigned char)(c->seed * 7 + (unsigned)from * 41 +
	                       (single ? 0 : (unsigned)to) * 29 + at + (at >> 8) * 3 +
	                       (at >> 16) * 5);
}

static void bytes(const call *c, int from, int to, unsigned char *at, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		at[i] = byte(c, from, to, i);
}

/* Elements of a reduce_scatter's part. */
static size_t part(const call *c, int rank)
{
	return c->n == 0 ? 0 : (c->n + coll_mix(c->seed, 99, (uint32_t)rank) % 5) / 2;
}

static unsigned char *room(size_t n, size_t offset)
{
	unsigned char *p = malloc(n + offset + 1);

	CHECK(p != NULL);
	memset(p, UNTOUCHED, n + offset + 1);
	return p;
}

/* Where each part lies: one after the other, or, uneven ones, backwards and with gaps. */
static size_t places(const call *c, int sends, DAT_COUNT *counts, DAT_COUNT *at)
{
	size_t end = 0;
	int k, i;

	for (k = 0; k < c->size; k++) {
		i = is_uneven(c->kind) ? c->size - 1 - k : k;
		counts[i] = (DAT_COUNT)(sends ? length(c, c->rank, i) : length(c, i, c->rank));
		if (is_uneven(c->kind))
			end += GAP;
		at[i] = (DAT_COUNT)end;
		end += (size_t)counts[i];
	}
	return end;
}

static void make_reduction(call *c)
{
	size_t size = values_size(c->op, c->type), n = c->n, i;
	int has = c->kind != (int)KIND(REDUCE) || c->rank == c->root, k;

	if (c->kind == (int)KIND(REDUCE_SCATTER))
		for (n = 0, k = 0; k < c->size; k++) {
			c->recv_counts[k] = (DAT_COUNT)(part(c, k) * size);
			n += part(c, k);
		}
	c->send_room = c->recv_room = i = n * size;
	if (c->kind == (int)KIND(REDUCE_SCATTER) && !c->in_place)
		c->recv_room = (size_t)c->recv_counts[c->rank];
	c->send = room(i, 1);
	c->recv = has ? room(c->recv_room, 3) : NULL;
	values_fill(c, c->rank, c->send, 0, n);
	if (c->in_place && has) {
		memcpy(c->recv, c->send, i);
		free(c->send);
		c->send = NULL;
	}
}

static void make_send_parts(call *c)
{
	int i;

	c->send_room = places(c, 1, c->send_counts, c->send_at);
	c->send = room(c->send_room, 1);
	for (i = 0; i < c->size; i++)
		bytes(c, c->rank, i, c->send + c->send_at[i], (size_t)c->send_counts[i]);
}

static void make_recv_parts(call *c)
{
	int i;

	c->recv_room = places(c, 0, c->recv_counts, c->recv_at);
	c->recv = room(c->recv_room, 1);
	c->recv_after = room(c->recv_room, 1);
	for (i = 0; i < c->size; i++)
		bytes(c, i, c->rank, c->recv_after + c->recv_at[i], (size_t)c->recv_counts[i]);
}

static void make_single(unsigned char **buffer, size_t *total, size_t n)
{
	*buffer = room(n, 1);
	*total = n;
}

static void make_scatter(call *c)
{
	size_t n = length(c, c->root, c->rank);

	if (c->rank == c->root)
		make_send_parts(c);
	if (c->rank == c->root && c->in_place)
		return;
	make_single(&c->recv, &c->recv_room, n);
	c->recv_after = room(n, 1);
	bytes(c, c->root, c->rank, c->recv_after, n);
}

static void make_gather(call *c, int root)
{
	size_t n = length(c, c->rank, 0);

	if (root)
		make_recv_parts(c);
	if (root && c->in_place) {
		bytes(c, c->rank, 0, c->recv + c->recv_at[c->rank], n);
		c->send_room = n;
		return;
	}
	make_single(&c->send, &c->send_room, n);
	bytes(c, c->rank, 0, c->send, n);
}

/* In place the parts to send lie where the received ones will. */
static void make_alltoall(call *c)
{
	int i;

	make_recv_parts(c);
	if (!c->in_place) {
		make_send_parts(c);
		return;
	}
	c->send_room = places(c, 1, c->send_counts, c->send_at);
	for (i = 0; i < c->size; i++)
		bytes(c, c->rank, i, c->recv + c->recv_at[i], (size_t)c->recv_counts[i]);
}

static void make_broadcast(call *c)
{
	make_single(&c->recv, &c->recv_room, c->n);
	c->recv_after = room(c->n, 1);
	bytes(c, c->root, 0, c->recv_after, c->n);
	if (c->rank == c->root)
		memcpy(c->recv, c->recv_after, c->n);
}

void call_make(call *c, int rank, int size)
{
	int i;

	c->rank = rank;
	c->size = size;
	c->send = c->recv = c->send_before = c->recv_after = NULL;
	c->send_room = c->recv_room = 0;
	if (call_is_reduction(c->kind))
		make_reduction(c);
	else if (c->kind == (int)KIND(SCATTER) || c->kind == (int)KIND(SCATTERV))
		make_scatter(c);
	else if (c->kind == (int)KIND(GATHER) || c->kind == (int)KIND(GATHERV))
		make_gather(c, rank == c->root);
	else if (c->kind == (int)KIND(ALLGATHER) || c->kind == (int)KIND(ALLGATHERV))
		make_gather(c, 1);
	else if (c->kind == (int)KIND(ALLTOALL) || c->kind == (int)KIND(ALLTOALLV))
		make_alltoall(c);
	else if (c->kind == (int)KIND(BROADCAST))
		make_broadcast(c);
	for (i = 0; i < size; i++) {
		c->send_parts[i] = c->send ? c->send + c->send_at[i] : NULL;
		c->recv_parts[i] = c->recv ? c->recv + c->recv_at[i] : NULL;
	}
	if (c->send) {
		c->send_before = room(c->send_room, 1);
		memcpy(c->send_before, c->send, c->send_room);
	}
}

void call_free(call *c)
{
	free(c->send);
	free(c->recv);
	free(c->send_before);
	free(c->recv_after);
}

void call_check(const call *c)
{
	size_t i, before = 0;
	char what[80];
	int k;

	if (c->send && memcmp(c->send, c->send_before, c->send_room + 1) != 0)
		pair_fail(__FILE__, __LINE__, call_name(c->kind),
		          0); /* what was sent has changed */
	if (c->recv && call_is_reduction(c->kind)) {
		for (k = 0; c->kind == (int)KIND(REDUCE_SCATTER) && k < c->rank; k++)
			before += part(c, k);
		values_check(c, c->recv, before,
		             c->kind == (int)KIND(REDUCE_SCATTER) ? part(c, c->rank) : c->n,
		             c->kind == (int)KIND(SCAN) ? c->rank : c->size - 1);
		CHECK(c->recv[c->recv_room] == UNTOUCHED);
		return;
	}
	for (i = 0; c->recv && i <= c->recv_room; i++)
		if (c->recv[i] != c->recv_after[i]) {
			snprintf(what, sizeof what, "byte %zu of %zu is %#x, not %#x", i,
			         c->recv_room, c->recv[i], c->recv_after[i]);
			call_fail(c, what, DAT_SUCCESS);
		}
}

/* Arguments that are ignored at members other than the root get this value. */
enum { NONSENSE = -12345 };

/* Of the calls that have the same arguments in all forms. */
#define FORMED(name, ...)                                                     \
	(c->form == FORM_TOTALS     ? dat_collective_##name(__VA_ARGS__)      \
	 : c->form == FORM_FUNCTION ? (dat_ib_collective_##name)(__VA_ARGS__) \
	                            : dat_ib_collective_##name(__VA_ARGS__))

static DAT_RETURN post_even(call *c, DAT_IB_COLLECTIVE_HANDLE group, DAT_CONTEXT context)
{
	DAT_COUNT one = (DAT_COUNT)c->n, all = c->form == FORM_TOTALS ? one * c->size : one;
	DAT_IB_COLLECTIVE_RANK root = (DAT_IB_COLLECTIVE_RANK)c->root;
	DAT_COUNT at_root = c->rank == c->root ? all : NONSENSE;

	switch (c->kind) {
	case KIND(SCATTER):
		return FORMED(scatter, group, c->send, at_root, c->recv, one, root, context,
		              c->flags);
	case KIND(GATHER):
		return FORMED(gather, group, c->send, one, c->recv, at_root, root, context,
		              c->flags);
	case KIND(ALLGATHER):
		return FORMED(allgather, group, c->send, one, c->recv, all, context, c->flags);
	case KIND(ALLTOALL):
		return FORMED(alltoall, group, c->send, all, c->recv, all, context, c->flags);
	case KIND(BROADCAST):
		return FORMED(broadcast, group, c->recv, one, root, context, c->flags);
	default:
		return FORMED(barrier, group, context, c->flags);
	}
}

static DAT_RETURN post_reduction(call *c, DAT_IB_COLLECTIVE_HANDLE group, DAT_CONTEXT context)
{
	DAT_COUNT send = (DAT_COUNT)c->send_room, recv = (DAT_COUNT)c->recv_room;
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP op = (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)c->op;
	DAT_IB_COLLECTIVE_DATA_TYPE type = (DAT_IB_COLLECTIVE_DATA_TYPE)c->type;
	DAT_IB_COLLECTIVE_RANK root = (DAT_IB_COLLECTIVE_RANK)c->root;

	switch (c->kind) {
	case KIND(REDUCE):
		if (c->rank != c->root)
			recv = NONSENSE;
		if (c->form == FORM_TOTALS)
			return (dat_collective_reduce)(group, c->send, send, c->recv, recv, op,
			                               type, root, context, c->flags);
		if (c->form == FORM_FUNCTION)
			return (dat_ib_collective_reduce)(group, c->send, send, c->recv, recv, op,
			                                  type, root, context, c->flags);
		return dat_ib_collective_reduce(group, c->send, send, c->recv, recv, op, type, root,
		                                context, c->flags);
	case KIND(ALLREDUCE):
		return FORMED(allreduce, group, c->send, send, c->recv, recv, op, type, context,
		              c->flags);
	case KIND(REDUCE_SCATTER):
		return FORMED(reduce_scatter, group, c->send, send, c->recv, c->recv_counts, op,
		              type, context, c->flags);
	default:
		return FORMED(scan, group, c->send, send, c->recv, recv, op, type, context,
		              c->flags);
	}
}

/* Totals: lists of buffers. */
static DAT_RETURN post_lists(call *c, DAT_IB_COLLECTIVE_HANDLE group, DAT_CONTEXT context)
{
	DAT_IB_COLLECTIVE_RANK root = (DAT_IB_COLLECTIVE_RANK)c->root;
	DAT_COUNT send = (DAT_COUNT)c->send_room, recv = (DAT_COUNT)c->recv_room;
	int is_root = c->rank == c->root;

	switch (c->kind) {
	case KIND(SCATTERV):
		return dat_collective_scatterv(group, is_root ? c->send_parts : NULL,
		                               is_root ? c->send_counts : NULL, c->recv, recv, root,
		                               context, c->flags);
	case KIND(GATHERV):
		return dat_collective_gatherv(group, c->send, send, is_root ? c->recv_parts : NULL,
		                              is_root ? c->recv_counts : NULL, root, context,
		                              c->flags);
	case KIND(ALLGATHERV):
		return dat_collective_allgatherv(group, c->send, send, c->recv_parts,
		                                 c->recv_counts, context, c->flags);
	default:
		return dat_collective_alltoallv(group, c->send_parts, c->send_counts, c->recv_parts,
		                                c->recv_counts, context, c->flags);
	}
}

/* Displacements in one buffer, by the functions. */
static DAT_RETURN post_displaced(call *c, DAT_IB_COLLECTIVE_HANDLE group, DAT_CONTEXT context)
{
	DAT_IB_COLLECTIVE_RANK root = (DAT_IB_COLLECTIVE_RANK)c->root;
	DAT_COUNT send = (DAT_COUNT)c->send_room, recv = (DAT_COUNT)c->recv_room;

	switch (c->kind) {
	case KIND(SCATTERV):
		return (dat_ib_collective_scatterv)(group, c->send, c->send_counts, c->send_at,
		                                    c->recv, recv, root, context, c->flags);
	case KIND(GATHERV):
		return (dat_ib_collective_gatherv)(group, c->send, send, c->recv, c->recv_counts,
		                                   c->recv_at, root, context, c->flags);
	case KIND(ALLGATHERV):
		return (dat_ib_collective_allgatherv)(group, c->send, send, c->recv, c->recv_counts,
		                                      c->recv_at, context, c->flags);
	default:
		return (dat_ib_collective_alltoallv)(group, c->send, c->send_counts, c->send_at,
		                                     c->recv, c->recv_counts, c->recv_at, context,
		                                     c->flags);
	}
}

/* The same by dat_extension_op. */
static DAT_RETURN post_op(call *c, DAT_IB_COLLECTIVE_HANDLE group, DAT_CONTEXT context)
{
	DAT_COUNT send = (DAT_COUNT)c->send_room, recv = (DAT_COUNT)c->recv_room;

	switch (c->kind) {
	case KIND(SCATTERV):
		return dat_ib_collective_scatterv(group, c->send, c->send_counts, c->send_at,
		                                  c->recv, recv, c->root, context, c->flags);
	case KIND(GATHERV):
		return dat_ib_collective_gatherv(group, c->send, send, c->recv, c->recv_counts,
		                                 c->recv_at, c->root, context, c->flags);
	case KIND(ALLGATHERV):
		return dat_ib_collective_allgatherv(group, c->send, send, c->recv, c->recv_counts,
		                                    c->recv_at, context, c->flags);
	default:
		return dat_ib_collective_alltoallv(group, c->send, c->send_counts, c->send_at,
		                                   c->recv, c->recv_counts, c->recv_at, context,
		                                   c->flags);
	}
}

DAT_RETURN call_try(call *c, DAT_IB_COLLECTIVE_HANDLE group)
{
	DAT_CONTEXT context;

	context.as_64 = c->context;
	if (call_is_reduction(c->kind))
		return post_reduction(c, group, context);
	if (!is_uneven(c->kind))
		return post_even(c, group, context);
	if (c->form == FORM_TOTALS)
		return post_lists(c, group, context);
	return c->form == FORM_FUNCTION ? post_displaced(c, group, context)
	                                : post_op(c, group, context);
}

void call_post(call *c, DAT_IB_COLLECTIVE_HANDLE group)
{
	DAT_RETURN result = call_try(c, group);

	if (result != DAT_SUCCESS)
		call_fail(c, "it is refused:", result);
}
