/* lapi_pack.c - LAPI_DGSP_PACK and LAPI_DGSP_UNPACK of 8 doubles in each 64, beside loops of memcpy
 * over the same layout. No communication. */
#include "lapi_bench.h"

#include <string.h>

#define BLOCK (8 * sizeof(double))
#define STRIDE (64 * sizeof(double))

static lapi_dg_handle_t program;

static void pack_rounds(task *t, size_t size, uint64_t n)
{
	lapi_util_t cmd;

	for (; n > 0; n--) {
		memset(&cmd, 0, sizeof cmd);
		cmd.PackDgsp.Util_type = LAPI_DGSP_PACK;
		cmd.PackDgsp.dgsp_handle = program;
		cmd.PackDgsp.in_buf = t->out;
		cmd.PackDgsp.bytes = size / STRIDE * BLOCK;
		cmd.PackDgsp.out_buf = t->in;
		cmd.PackDgsp.out_size = size;
		CHECK(LAPI_Util(t->handle, &cmd));
	}
}

static void unpack_rounds(task *t, size_t size, uint64_t n)
{
	lapi_util_t cmd;

	for (; n > 0; n--) {
		memset(&cmd, 0, sizeof cmd);
		cmd.UnpackDgsp.Util_type = LAPI_DGSP_UNPACK;
		cmd.UnpackDgsp.dgsp_handle = program;
		cmd.UnpackDgsp.in_buf = t->in;
		cmd.UnpackDgsp.in_size = size;
		cmd.UnpackDgsp.out_buf = t->out;
		cmd.UnpackDgsp.out_size = size;
		cmd.UnpackDgsp.bytes = size / STRIDE * BLOCK;
		CHECK(LAPI_Util(t->handle, &cmd));
	}
}

/* The length of a block as a variable: memcpy is called, as a program would that gets its layout at
 * run time. */
static volatile size_t block = BLOCK;

static void pack_loop_rounds(task *t, size_t size, uint64_t n)
{
	size_t i, length = block;

	for (; n > 0; n--)
		for (i = 0; i < size / STRIDE; i++)
			memcpy(t->in + i * length, t->out + i * STRIDE, length);
}

static void unpack_loop_rounds(task *t, size_t size, uint64_t n)
{
	size_t i, length = block;

	for (; n > 0; n--)
		for (i = 0; i < size / STRIDE; i++)
			memcpy(t->out + i * STRIDE, t->in + i * length, length);
}

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
	code.copy.bytes = BLOCK;
	code.iterate.opcode = LAPI_DGSM_ITERATE;
	code.iterate.iter_loc = -(int)(sizeof code.copy / sizeof(int));
	memset(&d, 0, sizeof d);
	d.code = (int *)(void *)&code;
	d.code_size = sizeof code / sizeof(int);
	d.depth = 1;
	d.density = LAPI_DGSM_CONTIG;
	d.size = BLOCK;
	d.extent = STRIDE;
	d.rext = BLOCK;
	memset(&cmd, 0, sizeof cmd);
	cmd.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
	cmd.RegDgsp.idgsp = &d;
	CHECK(LAPI_Util(t->handle, &cmd));
	program = cmd.RegDgsp.dgsp_handle;
}

void test_pack(board *b, const bench_options *o)
{
	static const struct {
		const char *op;
		lapi_rounds *rounds;
	} ops[] = {{"pack", pack_rounds},
	           {"pack-loop", pack_loop_rounds},
	           {"unpack", unpack_rounds},
	           {"unpack-loop", unpack_loop_rounds}};
	size_t size = o->sizes[o->num_sizes - 1], i;
	measured r;
	task t;

	task_init(&t, b, o, 0, size);
	if (t.num_tasks != 2)
		fail("pack needs 2 tasks: the one that does not pack is idle");
	memset(t.out, 1, size);
	memset(t.in, 1, size);
	enroll(&t);
	for (i = 0; i < sizeof ops / sizeof *ops; i++) {
		r = task_measure(&t, ops[i].rounds, 0, size);
		if (t.id == 0)
			print_row("pack", ops[i].op, size, (double)(size / STRIDE * BLOCK) / r.ns,
			          "GB/s", r.before, r.after, r.preempted);
	}
	task_term(&t);
}
