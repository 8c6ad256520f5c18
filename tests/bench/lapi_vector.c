/* lapi_vector.c - transfers of data in many pieces, beside one block of as many bytes: vectors and
 * data gather/scatter programs. */
#include "lapi_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES (4u << 20)
#define SHORT_BLOCK 1024
#define LONG_BLOCK 32768

/* The layout of the measured data in both tasks: blocks of `block` bytes, each followed by a gap of
 * as many. */
static size_t block;

/* How many operations are under way at once. */
static int under_way;

static lapi_vec_t here, there;
static ulong here_info[3], there_info[3];

static void strides(lapi_vec_t *v, ulong *info, void *base, size_t size)
{
	info[0] = (ulong)base;
	info[1] = block;
	info[2] = 2 * block;
	memset(v, 0, sizeof *v);
	v->vec_type = LAPI_GEN_STRIDED_XFER;
	v->num_vecs = (uint)(size / block);
	v->info = (void **)info;
}

#define PIECES 16
static void *here_at[PIECES], *there_at[PIECES];
static ulong lengths[PIECES];

static void list(lapi_vec_t *v, void **at, char *base, size_t size)
{
	int i;

	for (i = 0; i < PIECES; i++) {
		lengths[i] = size / PIECES;
		at[i] = base + (size_t)i * 2 * (size / PIECES);
	}
	memset(v, 0, sizeof *v);
	v->vec_type = LAPI_GEN_IOVECTOR;
	v->num_vecs = PIECES;
	v->info = at;
	v->len = lengths;
}

static void plain_put_rounds(task *t, size_t size, uint64_t n)
{
	int i;

	for (; n > 0; n--) {
		for (i = 0; i < under_way; i++)
			CHECK(LAPI_Put(t->handle, 1, size, t->in_at[1], t->out, NULL, NULL,
			               &t->completed));
		task_wait(t, &t->completed, under_way);
	}
}

static void putv_rounds(task *t, size_t size, uint64_t n)
{
	int i;

	strides(&here, here_info, t->out, size);
	strides(&there, there_info, t->in_at[1], size);
	for (; n > 0; n--) {
		for (i = 0; i < under_way; i++)
			CHECK(LAPI_Putv(t->handle, 1, &there, &here, NULL, NULL, &t->completed));
		task_wait(t, &t->completed, under_way);
	}
}

static void plain_get_rounds(task *t, size_t size, uint64_t n)
{
	int i;

	for (; n > 0; n--) {
		for (i = 0; i < under_way; i++)
			CHECK(LAPI_Get(t->handle, 1, size, t->in_at[1], t->out, NULL, &t->origin));
		task_wait(t, &t->origin, under_way);
	}
}

static void getv_rounds(task *t, size_t size, uint64_t n)
{
	int i;

	strides(&here, here_info, t->out, size);
	strides(&there, there_info, t->in_at[1], size);
	for (; n > 0; n--) {
		for (i = 0; i < under_way; i++)
			CHECK(LAPI_Getv(t->handle, 1, &there, &here, NULL, &t->origin));
		task_wait(t, &t->origin, under_way);
	}
}

static void getv_pieces_rounds(task *t, size_t size, uint64_t n)
{
	int i;

	list(&here, here_at, t->out, size);
	list(&there, there_at, t->in_at[1], size);
	for (; n > 0; n--) {
		for (i = 0; i < under_way; i++)
			CHECK(LAPI_Getv(t->handle, 1, &there, &here, NULL, &t->origin));
		task_wait(t, &t->origin, under_way);
	}
}

/* ---- active messages: of one block, and gathered by a DGSP ---- */

static void **handler_at;
static char *message_buffer;
static lapi_dg_handle_t program, receive_by;

static void *name_buffer(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                         compl_hndlr_t **completion, void **info)
{
	lapi_return_info_t *ret = (lapi_return_info_t *)(void *)msg_len;

	(void)hndl;
	(void)uhdr_len;
	*completion = NULL;
	*info = NULL;
	if (*(uint64_t *)uhdr)
		ret->dgsp_handle = receive_by;
	return message_buffer;
}

static void am_rounds(task *t, size_t size, uint64_t n)
{
	uint64_t uhdr = 0;
	int i;

	for (; n > 0; n--) {
		for (i = 0; i < under_way; i++)
			CHECK(LAPI_Amsend(t->handle, 1, handler_at[1], &uhdr, sizeof uhdr, t->out,
			                  size, NULL, NULL, &t->completed));
		task_wait(t, &t->completed, under_way);
	}
}

/* From blocks to one buffer, or to blocks. */
static void dgsp_rounds_to(task *t, size_t size, uint64_t n, uint64_t by_program)
{
	lapi_xfer_t x;
	int i;

	memset(&x, 0, sizeof x);
	x.Dgsp.Xfer_type = LAPI_DGSP_XFER;
	x.Dgsp.tgt = 1;
	x.Dgsp.hdr_hdl = (lapi_long_t)(uintptr_t)handler_at[1];
	x.Dgsp.uhdr = &by_program;
	x.Dgsp.uhdr_len = sizeof by_program;
	x.Dgsp.udata = t->out;
	x.Dgsp.udata_len = size;
	x.Dgsp.cmpl_cntr = &t->completed;
	x.Dgsp.dgsp = program;
	for (; n > 0; n--) {
		for (i = 0; i < under_way; i++)
			CHECK(LAPI_Xfer(t->handle, &x));
		task_wait(t, &t->completed, under_way);
	}
}

static void dgsp_rounds(task *t, size_t size, uint64_t n)
{
	dgsp_rounds_to(t, size, n, 0);
}
static void dgsp_blocks_rounds(task *t, size_t size, uint64_t n)
{
	dgsp_rounds_to(t, size, n, 1);
}

/* A program of one block and the gap behind it, repeated as long as there is data. */
static void enroll(task *t)
{
	static struct {
		lapi_dgsm_copy_t copy;
		lapi_dgsm_iterate_t iterate;
	} code;
	lapi_dgsp_descr_t d;
	lapi_util_t cmd;

	memset(&code, 0, sizeof code);
	code.copy.opcode = LAPI_DGSM_COPY;
	code.copy.bytes = (long)block;
	code.iterate.opcode = LAPI_DGSM_ITERATE;
	code.iterate.iter_loc = -(int)(sizeof code.copy / sizeof(int));
	memset(&d, 0, sizeof d);
	d.code = (int *)(void *)&code;
	d.code_size = sizeof code / sizeof(int);
	d.depth = 1;
	d.density = LAPI_DGSM_CONTIG;
	d.size = (long)block;
	d.extent = (long)(2 * block);
	d.rext = (long)block;
	memset(&cmd, 0, sizeof cmd);
	cmd.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
	cmd.RegDgsp.idgsp = &d;
	CHECK(LAPI_Util(t->handle, &cmd));
	program = receive_by = cmd.RegDgsp.dgsp_handle;
}

static void release(task *t)
{
	lapi_util_t cmd;

	memset(&cmd, 0, sizeof cmd);
	cmd.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
	cmd.DrefDgsp.dgsp_handle = program;
	CHECK(LAPI_Util(t->handle, &cmd));
}

/* One row: op and, if it has blocks, their size in its name; in windows of 4 MiB. */
static void one(task *t, const char *op, int blocks, lapi_rounds *rounds, size_t size)
{
	char name[64];
	measured r;

	under_way = size >= WINDOW_BYTES ? 1 : (int)(WINDOW_BYTES / size);
	r = task_measure(t, rounds, 0, size);
	if (blocks)
		snprintf(name, sizeof name, "%s-%zu", op, block);
	else
		snprintf(name, sizeof name, "%s", op);
	if (t->id == 0)
		print_row("vector", name, size, (double)size * under_way / r.ns, "GB/s", r.before,
		          r.after, r.preempted);
}

static void blocks_of(task *t, size_t size)
{
	enroll(t);
	CHECK(LAPI_Gfence(t->handle)); /* the receiver's program is there before anything comes */
	one(t, "putv", 1, putv_rounds, size);
	one(t, "getv", 1, getv_rounds, size);
	one(t, "dgsp", 1, dgsp_rounds, size);
	one(t, "dgsp-to-blocks", 1, dgsp_blocks_rounds, size);
	CHECK(LAPI_Gfence(t->handle));
	release(t);
}

void test_vector(board *b, const bench_options *o)
{
	size_t most = o->sizes[o->num_sizes - 1];
	task t;
	int i;

	task_init(&t, b, o, 0, 2 * most);
	if (t.num_tasks != 2)
		fail("vector needs 2 tasks");
	message_buffer = t.in;
	handler_at = task_exchange(&t, (void *)name_buffer);
	for (i = 0; i < o->num_sizes; i++) {
		if (o->sizes[i] < 2 * LONG_BLOCK)
			fail("vector needs sizes of at least %d", 2 * LONG_BLOCK);
		one(&t, "put", 0, plain_put_rounds, o->sizes[i]);
		one(&t, "get", 0, plain_get_rounds, o->sizes[i]);
		one(&t, "am", 0, am_rounds, o->sizes[i]);
		one(&t, "getv-16-pieces", 0, getv_pieces_rounds, o->sizes[i]);
		block = SHORT_BLOCK;
		blocks_of(&t, o->sizes[i]);
		block = LONG_BLOCK;
		blocks_of(&t, o->sizes[i]);
	}
	task_term(&t);
	free(handler_at);
}
