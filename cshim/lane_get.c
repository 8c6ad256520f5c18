/*
 * lane_get.c - gets and read-modify-writes: request, service at the target, answer.
 *
 * An operation under way has a place in the lane's table; its token comes back with the answer. A place is used again under another
 * token, so a late answer, or one of a task that was purged, finds nothing.
 */
#include "lane_path.h"

#include <string.h>

#include "lane_send.h"

/* A free place for an operation on path, or NULL. */
static cshim_lane_op *take_op(cshim_lane *lane, const cshim_path *path, uint8_t kind, uint64_t local, uint64_t org_cntr)
{
	cshim_lane_op *op;

	if (lane->free_op >= CSHIM_LANE_OPS)
		return NULL;
	op = &lane->op[lane->free_op];
	lane->free_op = op->next_free;
	lane->ops++;
	op->kind = kind;
	op->task = path->task;
	op->seq = lane->issued + 1;
	op->local = local;
	op->org_cntr = org_cntr;
	return op;
}

/* freeLaneOp in core/lapi/lane.go does the same. */
static void free_op(cshim_lane *lane, cshim_lane_op *op)
{
	op->kind = CSHIM_OP_FREE;
	op->token += CSHIM_LANE_OPS;
	op->next_free = lane->free_op;
	lane->free_op = op->token % CSHIM_LANE_OPS;
	lane->ops--;
}

int cshim_lane_get(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr, uint64_t org_addr, uint64_t tgt_cntr,
                   uint64_t org_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_path *path = cshim_lane_path(context, lane, tgt);
	cshim_get_header *header;
	cshim_lane_op *op;

	/* Only a task that looks at its ring answers soon; from the others core reads by itself. */
	if (!path || len > CSHIM_LENGTH_MAX || len >= lane->bulk_min || len == 0 || !tgt_addr || !org_addr || !cshim_attends(path) ||
	    !(header = cshim_one_slot_begin(path)))
		return CSHIM_LANE_PASS;
	op = take_op(lane, path, CSHIM_OP_GET, org_addr, org_cntr);
	if (!op)
		return CSHIM_LANE_PASS;
	op->n = len;
	header->addr = tgt_addr;
	header->length = len;
	header->cntr = tgt_cntr;
	header->token = op->token;
	cshim_one_slot_end(cshim_paths_of(lane), path, CSHIM_MSG_LANE_GET, sizeof(*header), 0);
	cshim_lane_note(lane, path, GET_ERR);
	return CSHIM_LANE_DONE;
}

/* Reads one or two words of width bytes, zero-extended; 1 if they cannot be. */
static int load_words(uint64_t from, uint32_t width, int count, uint64_t words[2])
{
	unsigned char raw[16];
	uint32_t narrow[2];

	words[1] = 0;
	if (cshim_guarded_copy(raw, cshim_memory_at(from), width * (size_t)count))
		return 1;
	if (width == 8) {
		memcpy(words, raw, 8 * (size_t)count);
	} else {
		memcpy(narrow, raw, 4 * (size_t)count);
		words[0] = narrow[0];
		words[1] = count > 1 ? narrow[1] : 0;
	}
	return 0;
}

int cshim_lane_rmw(cshim_context *context, uint32_t width, uint32_t operation, uint32_t tgt, uint64_t tgt_var, uint64_t in_val,
                   uint64_t prev_tgt_val, uint64_t org_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_path *path = cshim_lane_path(context, lane, tgt);
	int compares = operation == COMPARE_AND_SWAP;
	cshim_rmw_header *header;
	cshim_lane_op *op;
	uint64_t in[2];

	if (!path || operation > COMPARE_AND_SWAP || !tgt_var || !in_val || load_words(in_val, width, 1 + compares, in) ||
	    !(header = cshim_one_slot_begin(path)))
		return CSHIM_LANE_PASS;
	op = take_op(lane, path, CSHIM_OP_RMW, prev_tgt_val, org_cntr);
	if (!op)
		return CSHIM_LANE_PASS;
	op->width = (uint8_t)width;
	op->compares = (uint8_t)compares;
	op->compare = compares ? in[0] : 0;
	header->variable = tgt_var;
	header->operand = in[compares];
	header->compare = op->compare;
	header->token = op->token;
	header->op = (uint8_t)operation;
	header->width = (uint8_t)width;
	header->zero = 0;
	cshim_one_slot_end(cshim_paths_of(lane), path, CSHIM_MSG_LANE_RMW, sizeof(*header), 0);
	cshim_lane_note(lane, path, RMW_ERR);
	return CSHIM_LANE_DONE;
}

/* The answer to a get, in slots; 0: core shall give it. */
static int answer_get(cshim_lane *lane, cshim_path *path, const cshim_get_header *get)
{
	cshim_reply_header *reply;
	cshim_append append;

	if (!cshim_append_begin(path, sizeof(*reply) + get->length, &append))
		return 0;
	reply = (cshim_reply_header *)append.body;
	if (cshim_guarded_copy(reply + 1, cshim_memory_at(get->addr), get->length))
		return 0;
	reply->token = (uint32_t)get->token;
	reply->state = CSHIM_REPLY_OK;
	reply->value = 0;
	cshim_append_end(cshim_paths_of(lane), path, &append, CSHIM_MSG_LANE_REPLY, sizeof(*reply), get->length);
	return 1;
}

/* The same in one slot. */
static inline int answer_short_get(cshim_lane *lane, cshim_path *path, const cshim_get_header *get)
{
	cshim_reply_header *reply = cshim_one_slot_begin(path);

	if (!reply || cshim_guarded_copy_short(reply + 1, cshim_memory_at(get->addr), get->length))
		return 0;
	reply->token = (uint32_t)get->token;
	reply->state = CSHIM_REPLY_OK;
	reply->value = 0;
	cshim_one_slot_end(cshim_paths_of(lane), path, CSHIM_MSG_LANE_REPLY, sizeof(*reply), get->length);
	return 1;
}

int cshim_lane_serve_get(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival)
{
	cshim_get_header get;

	if (arrival->header != sizeof(get) || arrival->data != 0 || path->closed)
		return 0;
	cshim_take_header(&get, arrival->body, sizeof(get));
	if (get.length > CSHIM_INLINE_MAX)
		return cshim_bulk_serve_get(context, lane, path, &get);
	if (!(get.length <= CSHIM_ONE_SLOT - sizeof(cshim_reply_header) ? answer_short_get(lane, path, &get) : answer_get(lane, path, &get)))
		return 0;
	path->used = 1;
	lane->dirty = 1;
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_count(context, lane, get.cntr, GET_ERR, path->task, path->task);
	return 1;
}

int cshim_lane_serve_rmw(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival)
{
	cshim_rmw_header rmw;
	cshim_reply_header *reply;
	uint64_t old;

	(void)context;
	if (arrival->header != sizeof(rmw) || arrival->data != 0 || path->closed)
		return 0;
	cshim_take_header(&rmw, arrival->body, sizeof(rmw));
	/* Words that are not aligned are core's: all of the process share one lock for them. */
	if (rmw.op > COMPARE_AND_SWAP || (rmw.width != 4 && rmw.width != 8) || rmw.variable % rmw.width ||
	    !(reply = cshim_one_slot_begin(path)) ||
	    cshim_guarded_rmw(rmw.op, rmw.width, cshim_memory_at(rmw.variable), rmw.operand, rmw.compare, &old))
		return 0;
	reply->token = rmw.token;
	reply->state = CSHIM_REPLY_OK;
	reply->value = old;
	cshim_one_slot_end(cshim_paths_of(lane), path, CSHIM_MSG_LANE_REPLY, sizeof(*reply), 0);
	path->used = 1;
	lane->dirty = 1;
	return 1;
}

/* Stores what a read-modify-write found; 1 if it cannot be. */
static int store_previous(const cshim_lane_op *op, uint64_t value)
{
	uint32_t narrow;

	if (op->compares)
		value = value == op->compare;
	narrow = (uint32_t)value;
	return op->width == 8 ? cshim_guarded_copy((void *)(uintptr_t)op->local, &value, sizeof(value))
	                      : cshim_guarded_copy((void *)(uintptr_t)op->local, &narrow, sizeof(narrow));
}

/* Stores what an answer, or a part of one, brings; 1 if it cannot be. */
static int store_answer(const cshim_lane_op *op, const cshim_reply_header *reply, const cshim_arrival *arrival)
{
	if (op->kind == CSHIM_OP_GET)
		return cshim_place_data(op->local + reply->value, arrival, op->n >= CSHIM_HUGE_MIN);
	return op->local && store_previous(op, reply->value);
}

/* 1 if op may have such an answer: its data lies inside what was asked for, and ends it if nothing follows. */
static int answers(const cshim_lane_op *op, const cshim_reply_header *reply, uint64_t data)
{
	if (op->kind == CSHIM_OP_RMW)
		return reply->state != CSHIM_REPLY_PART && data == 0;
	if (reply->state == CSHIM_REPLY_FAILED)
		return data == 0;
	if (reply->value > op->n || data > op->n - reply->value)
		return 0;
	return reply->state == CSHIM_REPLY_PART || reply->value + data == op->n;
}

void cshim_lane_reply(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_arrival *arrival)
{
	cshim_reply_header reply;
	cshim_lane_op *op;
	uint64_t local, org_cntr;
	lapi_err_t kind;
	int failed;

	if (arrival->header != sizeof(reply))
		return; /* no task of this version sends that */
	cshim_take_header(&reply, arrival->body, sizeof(reply));
	op = &lane->op[reply.token % CSHIM_LANE_OPS];
	if (op->kind == CSHIM_OP_FREE || op->token != reply.token || op->task != path->task || !answers(op, &reply, arrival->data))
		return; /* it was given up meanwhile */
	if (reply.state == CSHIM_REPLY_FAILED) {
		free_op(lane, op);
		return; /* the fault itself came by another message */
	}
	local = op->local;
	org_cntr = op->org_cntr;
	kind = op->kind == CSHIM_OP_GET ? GET_ERR : RMW_ERR;
	failed = store_answer(op, &reply, arrival);
	if (reply.state == CSHIM_REPLY_PART && !failed)
		return;
	free_op(lane, op); /* if there are other parts they find nothing */
	if (failed) {
		golapi_lane_fault(cshim_index_of(context), local, (int32_t)kind);
		return;
	}
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	cshim_lane_count(context, lane, org_cntr, kind, context->task, path->task);
}
