/* operations.c - the random operations of the kill storm, and the check of their outcomes. */
#include "storm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* completion: it changes the completion counter; else it changes the origin counter alone. */
static const struct kind {
	const char *name;
	int completion;
} kinds[] = {
	{"put", 1}, {"get", 0},  {"rmw", 0},       {"rmw64", 0},    {"amsend", 1},
	{"putv", 1}, {"getv", 0}, {"xfer put", 1}, {"xfer am", 1}, {"xfer rmw", 0},
};
enum { PUT, GET, RMW, RMW64, AM, PUTV, GETV, XFER_PUT, XFER_AM, XFER_RMW, KINDS };
enum { FREE, UNDER_WAY, COMPLETE, LOST };

typedef struct operation {
	int kind, target, state, fence; /* fences that had returned when it began */
	unsigned length;
	lapi_cntr_t origin, completion;
	int sent, wants_sent; /* calls of its send completion handler */
	int value;            /* of its counter when it was lost */
	int reported;         /* a fence has returned that, or had to */
	int purged;           /* LAPI_Nopoll_wait has returned LAPI_ERR_TGT_PURGED */
	long long in[2], previous;
	double began;
	char *data;
} operation;

/* The user header of an active message. */
typedef struct am_header {
	int from, how;
	unsigned length;
	int unused;
} am_header;

static operation operations[STORM_OPS];
static const char *const states[] = {"free", "under way", "complete", "lost"};

static int counter_of(operation *o)
{
	int value = 0;

	LAPI_Getcntr(storm.handle, kinds[o->kind].completion ? &o->completion : &o->origin, &value);
	return value;
}

static unsigned random_length(void)
{
	static const unsigned most[] = {4, 8, 56, 128, 512, 4096, 65536, 131072, STORM_LONGEST};
	unsigned n = most[storm_random(&storm.random, sizeof most / sizeof most[0])];

	return storm_random(&storm.random, 2) ? n : 4 + storm_random(&storm.random, n);
}

static void sent(lapi_handle_t *handle, void *info, lapi_sh_info_t *how)
{
	(void)handle;
	(void)how;
	__atomic_add_fetch((int *)info, 1, __ATOMIC_RELAXED);
}

static void am_complete(lapi_handle_t *handle, void *info)
{
	(void)handle;
	(void)info;
}

/* The header handler: takes the data, in every way that a header handler can. */
static void *am_arrived(lapi_handle_t *handle, void *uhdr, uint *uhdr_len, ulong *msg_len,
                        compl_hndlr_t **completion, void **user_info)
{
	am_header header;
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;

	(void)handle;
	if (*uhdr_len != sizeof header) {
		storm_bad("an active message with a header of %u bytes", *uhdr_len);
		return NULL;
	}
	memcpy(&header, uhdr, sizeof header);
	*completion = header.how & 1 ? am_complete : NULL;
	*user_info = NULL;
	if (header.how & 2)
		info->ret_flags = LAPI_SEND_REPLY;
	if (header.how == 7 && header.length == 0)
		return NULL;
	return storm.area + (size_t)header.from * STORM_AREA;
}

uint64_t operations_handler(void)
{
	return (uint64_t)(uintptr_t)am_arrived;
}

/* The part of a task's memory that this task may write, or one of its words. */
static char *there(int target)
{
	return (char *)(uintptr_t)storm.board->area[target] + (size_t)storm.id * STORM_AREA;
}

static int transfer(operation *o, lapi_cntr_t *completion)
{
	char *at = there(o->target);
	lapi_xfer_t x;

	memset(&x, 0, sizeof x);
	switch (o->kind) {
	case XFER_PUT:
		x.Put.Xfer_type = LAPI_PUT_XFER;
		x.Put.tgt = (uint)o->target;
		x.Put.tgt_addr = (lapi_long_t)(uintptr_t)at;
		x.Put.org_addr = o->data;
		x.Put.len = o->length;
		x.Put.shdlr = sent;
		x.Put.sinfo = &o->sent;
		x.Put.org_cntr = &o->origin;
		x.Put.cmpl_cntr = completion;
		break;
	case XFER_RMW:
		x.Rmw.Xfer_type = LAPI_RMW_XFER;
		x.Rmw.tgt = (uint)o->target;
		x.Rmw.op = FETCH_AND_ADD;
		x.Rmw.size = 64;
		x.Rmw.tgt_var = (lapi_long_t)(uintptr_t)at;
		x.Rmw.in_val = o->in;
		x.Rmw.prev_tgt_val = &o->previous;
		x.Rmw.org_cntr = &o->origin;
		x.Rmw.shdlr = sent;
		x.Rmw.sinfo = &o->sent;
		break;
	}
	o->wants_sent = 1;
	return LAPI_Xfer(storm.handle, &x);
}

static int active_message(operation *o, lapi_cntr_t *completion)
{
	am_header header = {storm.id, (int)storm_random(&storm.random, 8), o->length, 0};
	uint64_t handler = storm.board->handler[o->target];
	lapi_xfer_t x;

	if (o->kind == AM)
		return LAPI_Amsend(storm.handle, (uint)o->target, (void *)(uintptr_t)handler, &header,
		                   sizeof header, o->length ? o->data : NULL, o->length, NULL,
		                   &o->origin, completion);
	memset(&x, 0, sizeof x);
	x.Am.Xfer_type = LAPI_AM_XFER;
	x.Am.tgt = (uint)o->target;
	x.Am.hdr_hdl = (lapi_long_t)handler;
	x.Am.uhdr = &header;
	x.Am.uhdr_len = sizeof header;
	x.Am.udata = o->data;
	x.Am.udata_len = o->length;
	x.Am.shdlr = sent;
	x.Am.sinfo = &o->sent;
	x.Am.org_cntr = &o->origin;
	x.Am.cmpl_cntr = completion;
	o->wants_sent = 1;
	return LAPI_Xfer(storm.handle, &x);
}

/* Three blocks on both sides. */
static int vectors(operation *o, lapi_cntr_t *completion)
{
	ulong lengths[3] = {o->length / 2 / 8 * 8, 8, o->length / 4};
	void *here[3], *far[3];
	lapi_vec_t mine = {LAPI_GEN_IOVECTOR, 3, here, lengths};
	lapi_vec_t others = {LAPI_GEN_IOVECTOR, 3, far, lengths};
	size_t at = 0;
	int i;

	for (i = 0; i < 3; at += lengths[i++] + 16) {
		here[i] = o->data + at;
		far[i] = there(o->target) + at;
	}
	return o->kind == PUTV ? LAPI_Putv(storm.handle, (uint)o->target, &others, &mine, NULL,
	                                   &o->origin, completion)
	                       : LAPI_Getv(storm.handle, (uint)o->target, &others, &mine, NULL,
	                                   &o->origin);
}

static int issue(operation *o)
{
	lapi_cntr_t *completion = &o->completion;
	int narrow[2] = {1, 0};
	char *at = there(o->target);

	switch (o->kind) {
	case PUT:
		return LAPI_Put(storm.handle, (uint)o->target, o->length, at, o->data, NULL,
		                &o->origin, completion);
	case GET:
		return LAPI_Get(storm.handle, (uint)o->target, o->length, at, o->data, NULL,
		                &o->origin);
	case RMW:
		o->in[0] = narrow[0];
		return LAPI_Rmw(storm.handle, FETCH_AND_ADD, (uint)o->target, (int *)(void *)at,
		                (int *)(void *)o->in, (int *)(void *)&o->previous, &o->origin);
	case RMW64:
		return LAPI_Rmw64(storm.handle, FETCH_AND_ADD, (uint)o->target,
		                  (long long *)(void *)at, o->in, &o->previous, &o->origin);
	case AM:
	case XFER_AM:
		return active_message(o, completion);
	case PUTV:
	case GETV:
		return vectors(o, completion);
	default:
		return transfer(o, completion);
	}
}

static operation *free_place(void)
{
	int i, first = (int)storm_random(&storm.random, STORM_OPS);

	for (i = 0; i < STORM_OPS; i++) {
		operation *o = &operations[(first + i) % STORM_OPS];
		if (o->state == FREE)
			return o;
	}
	return NULL;
}

/* An operation whose call fails has not begun. */
static void refused(operation *o, int code)
{
	if (code != LAPI_ERR_NO_CONNECTIVITY || !storm_is_over(o->target))
		storm_bad("%s to task %d returned %d; it has %sended", kinds[o->kind].name,
		          o->target, code, storm_is_over(o->target) ? "" : "not ");
	o->state = FREE;
}

void operation_begin(void)
{
	operation *o = free_place();
	char *data;
	int code;

	if (!o)
		return;
	if (!(data = o->data) && !(data = malloc(STORM_LONGEST + 64))) {
		storm_bad("no memory");
		return;
	}
	memset(o, 0, sizeof *o);
	o->data = data;
	o->kind = (int)storm_random(&storm.random, KINDS);
	o->length = random_length();
	o->in[0] = 1;
	do
		o->target = (int)storm_random(&storm.random, (unsigned)storm.tasks);
	while (o->target == storm.id);
	o->fence = storm.fences;
	o->began = storm_now();
	LAPI_Setcntr(storm.handle, &o->origin, 0);
	LAPI_Setcntr(storm.handle, &o->completion, 0);
	o->state = UNDER_WAY;
	storm_enter(kinds[o->kind].name, o->target);
	code = issue(o);
	storm_leave();
	if (code != LAPI_SUCCESS)
		refused(o, code);
}

static void take_in(operation *o)
{
	int told = __atomic_load_n(&storm.told[o->target], __ATOMIC_ACQUIRE);
	int value = counter_of(o);

	if (value > 1)
		storm_bad("%s to task %d: its counter is %d", kinds[o->kind].name, o->target, value);
	if (value >= 1) {
		/* the place of one with a handler is used again when that has run */
		if (!o->wants_sent || __atomic_load_n(&o->sent, __ATOMIC_RELAXED) > 0)
			o->state = COMPLETE;
	} else if (told) {
		o->state = LOST; /* its place stays as it is: nothing may change it any more */
		o->value = value;
	}
}

int operations_look(void)
{
	int i, n = 0;

	for (i = 0; i < STORM_OPS; i++) {
		operation *o = &operations[i];
		if (o->state == UNDER_WAY)
			take_in(o);
		if (o->state == UNDER_WAY)
			n++;
		if (o->state == COMPLETE) {
			if (o->wants_sent && o->sent != 1)
				storm_bad("%s: %d calls of its send completion handler",
				          kinds[o->kind].name, o->sent);
			o->state = FREE;
		}
	}
	return n;
}

/* LAPI_Nopoll_wait must return even if the target ends; other waits then may never return. */
void operation_wait(void)
{
	int i = (int)storm_random(&storm.random, STORM_OPS), rest = 0, code, by_sleep, stays;
	operation *o = &operations[i];
	lapi_cntr_t *counter = kinds[o->kind].completion ? &o->completion : &o->origin;

	if (o->state != UNDER_WAY || (o->purged && storm_is_over(o->target)))
		return; /* it returns that once for each end */
	stays = !storm_is_doomed(o->target);
	by_sleep = !stays || storm_random(&storm.random, 4) == 0;
	storm_enter(by_sleep ? "LAPI_Nopoll_wait" : "LAPI_Waitcntr", o->target);
	code = by_sleep ? LAPI_Nopoll_wait(storm.handle, counter, 1, &rest)
	                : LAPI_Waitcntr(storm.handle, counter, 1, &rest);
	storm_leave();
	if (code == LAPI_SUCCESS) {
		LAPI_Setcntr(storm.handle, counter, rest + 1); /* as operations_look wants it */
		return;
	}
	if (by_sleep && code == LAPI_ERR_TGT_PURGED) {
		for (i = 0; i < storm.tasks && !storm_is_over(i); i++)
			;
		if (i == storm.tasks)
			storm_bad("LAPI_Nopoll_wait returned %d, and no task has ended", code);
		o->purged = 1;
		return;
	}
	if (storm.lapi_is_up)
		storm_bad("%s returned %d", by_sleep ? "LAPI_Nopoll_wait" : "LAPI_Waitcntr", code);
}

/*
 * A fence reports losses from before its return, unless an earlier fence did. The handler may be
 * called in another thread just as a finished fence returns; then the next fence reports the loss.
 */
void operations_fenced(int number, int code, double began, double ended)
{
	int i;

	for (i = 0; i < STORM_OPS; i++) {
		operation *o = &operations[i];
		double at = storm.told_at[o->target];
		int late = at > began && at > ended - STORM_RETURN;

		if (o->state == UNDER_WAY)
			take_in(o);
		if (o->fence > number || !storm_is_over(o->target))
			continue;
		if (code != LAPI_SUCCESS)
			o->reported = 1; /* maybe before the handler has run */
		if (o->state != LOST || o->reported || late)
			continue;
		o->reported = 1;
		storm_bad("a fence returned 0, and covers a lost %s of %u bytes to task %d",
		          kinds[o->kind].name, o->length, o->target);
	}
}

void operations_judge(void)
{
	int i;

	for (i = 0; i < STORM_OPS; i++) {
		operation *o = &operations[i];
		if (o->state != LOST)
			continue;
		if (counter_of(o) != o->value)
			storm_bad("%s to task %d: its counter changed after the error",
			          kinds[o->kind].name, o->target);
		if (o->wants_sent && o->sent != 1)
			storm_bad("lost %s to task %d: %d calls of its send completion handler",
			          kinds[o->kind].name, o->target, o->sent);
	}
}

void operations_complain(void)
{
	int i;

	for (i = 0; i < STORM_OPS; i++) {
		operation *o = &operations[i];
		if (o->state == UNDER_WAY)
			storm_bad("%s of %u bytes to task %d, which has %sended: neither its counter (%d) "
			          "nor its error in %.1f s; %s, handler ran %d times",
			          kinds[o->kind].name, o->length, o->target,
			          storm_is_over(o->target) ? "" : "not ", counter_of(o),
			          storm_now() - o->began, states[o->state], o->sent);
	}
}
