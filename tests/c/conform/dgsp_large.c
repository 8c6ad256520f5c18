/*
 * dgsp_large.c - large LAPI_DGSP_XFERs between layouts of every kind: long blocks, which tasks of
 * one node copy directly, short ones, which are packed on the way, and a mixture; several messages
 * at once, parts of messages, addresses that cannot be accessed.
 */
#include "conform.h"

#include <sys/mman.h>

#define SPAN (3 << 20) /* what any layout may touch */
#define MOST 700001    /* bytes of a message */
#define UNDER_WAY 4

static unsigned char *source, *sink[UNDER_WAY], *packed;
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *tgt_cntrs[CONFORM_MAX_TASKS], *handlers[CONFORM_MAX_TASKS];
static int next;

/* ---- layouts: blocks of one application, and where the next begins ---- */

#define MOST_BLOCKS 8
typedef struct layout {
	const char *name;
	long extent;
	int blocks;
	struct {
		long bytes, offset;
	} block[MOST_BLOCKS];
} layout;

static const layout layouts[] = {
	{"one block", 1 << 21, 1, {{1 << 20, 3}}},
	{"blocks of 50000", 60001, 1, {{50000, 77}}},
	{"blocks of 20000 and 30011", 70000, 2, {{20000, 30020}, {30011, 0}}},
	{"blocks of 16384", 20000, 1, {{16384, 0}}},
	{"blocks of 4096", 8192, 1, {{4096, 4096}}},
	{"blocks of 1000", 3000, 2, {{1000, 1999}, {1000, 1}}},
	{"numbers", 24, 1, {{8, 8}}},
	{"long and short",
         50500,
         8,
         {{3, 5}, {30000, 20001}, {0, 0}, {7, 9}, {1, 8}, {4097, 100}, {17, 17}, {512, 50100}}},
};
#define LAYOUTS ((int)(sizeof layouts / sizeof layouts[0]))
static lapi_dg_handle_t programs[LAYOUTS];

/* Registers a layout as one MCOPY and its repetition. */
static lapi_dg_handle_t enroll(const layout *l)
{
	union {
		int ints[64];
		lapi_dgsm_mcopy_t mcopy;
	} code;
	int i, at = LAPI_DGSM_MCOPY_SIZE + (l->blocks - 1) * LAPI_DGSM_MCOPY_BLOCK_SIZE;
	lapi_dgsm_iterate_t iterate = {LAPI_DGSM_ITERATE, -at};
	lapi_dgsp_descr_t d;
	lapi_util_t cmd;

	memset(&code, 0, sizeof code);
	memset(&d, 0, sizeof d);
	code.mcopy.opcode = LAPI_DGSM_MCOPY;
	code.mcopy.count = l->blocks;
	for (i = 0; i < l->blocks; i++) {
		code.mcopy.block[i].block_len = l->block[i].bytes;
		code.mcopy.block[i].block_disp = l->block[i].offset;
		d.size += l->block[i].bytes;
		if (l->block[i].offset + l->block[i].bytes > d.rext)
			d.rext = l->block[i].offset + l->block[i].bytes;
	}
	memcpy(code.ints + at, &iterate, sizeof iterate);
	d.code = code.ints;
	d.code_size = at + LAPI_DGSM_ITERATE_SIZE;
	d.depth = 1;
	d.density = LAPI_DGSM_SPARSE;
	d.extent = l->extent;
	memset(&cmd, 0, sizeof cmd);
	cmd.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
	cmd.RegDgsp.idgsp = &d;
	LAPI_OK(LAPI_Util(hndl, &cmd));
	return cmd.RegDgsp.dgsp_handle;
}

/* Moves n bytes between a layout at spread and one block, as a program would: the model that
 * results are held against. */
static void move(const layout *l, unsigned char *spread, unsigned char *block, size_t n, int gather)
{
	int i = 0;

	while (n > 0) {
		unsigned char *at = spread + l->block[i].offset;
		size_t k = (size_t)l->block[i].bytes < n ? (size_t)l->block[i].bytes : n;
		if (gather)
			memcpy(block, at, k);
		else
			memcpy(at, block, k);
		block += k;
		n -= k;
		if (++i == l->blocks) {
			i = 0;
			spread += l->extent;
		}
	}
}

/* ---- the receiver: which layout, which part and where are in the user header ---- */

typedef struct wish {
	int to;     /* index of a layout; -1: one block */
	int buffer; /* index in sink; -1: drop it; -2: an address that cannot be accessed */
	int part;   /* deliver a third of it */
	int refuse; /* put it off so often */
} wish;

static int offers;
static unsigned char *hole;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **comp_h, void **uinfo)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;
	wish *w = (wish *)uhdr;

	(void)h, (void)uhdr_len;
	*comp_h = NULL;
	*uinfo = NULL;
	if (w->refuse > 0 && ++offers <= w->refuse) {
		info->ctl_flags = LAPI_DROP_PKT;
		return NULL;
	}
	if (w->buffer == -1)
		return NULL;
	if (w->to >= 0)
		info->dgsp_handle = programs[w->to];
	if (w->part)
		info->bytes = info->msg_len / 3;
	return w->buffer == -2 ? hole : sink[w->buffer];
}

/* Starts a message of n bytes laid out as from (-1: LAPI_Amsend of one block). */
static void begin(int from, void *udata, size_t n, wish *w)
{
	lapi_xfer_t x;

	if (from < 0) {
		LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], w, sizeof *w, udata, n,
		                    (lapi_cntr_t *)tgt_cntrs[next], &org_cntr, &cmpl_cntr));
		return;
	}
	memset(&x, 0, sizeof x);
	x.Dgsp.Xfer_type = LAPI_DGSP_XFER;
	x.Dgsp.tgt = (uint)next;
	x.Dgsp.hdr_hdl = (lapi_long_t)(uintptr_t)handlers[next];
	x.Dgsp.uhdr = w;
	x.Dgsp.uhdr_len = sizeof *w;
	x.Dgsp.udata = udata;
	x.Dgsp.udata_len = n;
	x.Dgsp.tgt_cntr = (lapi_long_t)(uintptr_t)tgt_cntrs[next];
	x.Dgsp.org_cntr = &org_cntr;
	x.Dgsp.cmpl_cntr = &cmpl_cntr;
	x.Dgsp.dgsp = programs[from];
	LAPI_OK(LAPI_Xfer(hndl, &x));
}

/* 1 if sink[i] holds the first delivered bytes of a message laid out as from, and nothing else.
 * Everybody's source is the same. */
static int arrived(int i, int from, int to, size_t delivered)
{
	static unsigned char *want;
	size_t k;

	if (!want && (want = malloc(SPAN)) == NULL)
		return 0;
	if (from < 0)
		memcpy(packed, source, delivered);
	else
		move(&layouts[from], source, packed, delivered, 1);
	memset(want, 0, SPAN);
	if (to < 0)
		memcpy(want, packed, delivered);
	else
		move(&layouts[to], want, packed, delivered, 0);
	if (memcmp(want, sink[i], SPAN) == 0)
		return 1;
	for (k = 0; want[k] == sink[i][k]; k++)
		;
	printf("  byte %zu is %d and should be %d\n", k, sink[i][k], want[k]);
	return 0;
}

static void transfer(int from, size_t n, wish w)
{
	size_t delivered = w.buffer < 0 ? 0 : w.part ? n / 3 : n;

	memset(sink[0], 0, SPAN);
	offers = 0;
	conform_sync();
	begin(from, source, n, &w);
	counter_wait(&org_cntr, 1);
	counter_wait(&tgt_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
	if (!CHECK(arrived(0, from, w.to, delivered)))
		printf("  from %s to %s, %zu bytes, %zu delivered\n",
		       from < 0 ? "a block" : layouts[from].name,
		       w.to < 0 ? "a block" : layouts[w.to].name, n, delivered);
	conform_sync();
}

static void large_between_all_layouts(void)
{
	int from, to;

	for (from = -1; from < LAYOUTS; from++)
		for (to = -1; to < LAYOUTS; to++) {
			wish w = {to, 0, 0, 0};
			size_t n = MOST - (size_t)(from + 1) * 1000 - (size_t)(to + 1) * 77;
			transfer(from,
			         layouts[from < 0 ? 0 : from].extent < 100 ||
			                         (to >= 0 && layouts[to].extent < 100)
			                 ? n / 8
			                 : n,
			         w);
		}
}

static void large_in_part_dropped_and_put_off(void)
{
	int from;

	for (from = -1; from < LAYOUTS; from++) {
		wish part = {2, 0, 1, 0}, small_part = {5, 0, 1, 0}, dropped = {-1, -1, 0, 0},
		     later = {from, 0, 0, 3};
		transfer(from, 90000, part);
		transfer(from, 90001, small_part);
		transfer(from, 90002, dropped);
		transfer(from, 90003, later);
		CHECK(offers >= 4);
	}
}

/* Lengths around what is sent whole, in fragments and directly. */
static void large_of_boundary_lengths(void)
{
	static const size_t lengths[] = {1,     4095,  4096,  5000,  8192,  16383, 16384,
	                                 16385, 32767, 32768, 32769, 65536, 65537};
	size_t i;
	int to;

	for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		for (to = 1; to < LAYOUTS; to += 2) {
			wish w = {to, 0, 0, 0};
			transfer(LAYOUTS - to, lengths[i], w);
		}
}

/* Several messages at once, so that fragments of each wait for those of others. */
static void large_several_at_once(void)
{
	int round, i;

	for (round = 0; round < LAYOUTS; round++) {
		for (i = 0; i < UNDER_WAY; i++)
			memset(sink[i], 0, SPAN);
		conform_sync();
		for (i = 0; i < UNDER_WAY; i++) {
			wish w = {(round + 3 * i) % LAYOUTS, i, 0, 0};
			begin((round + i) % LAYOUTS, source, 200000 + (size_t)i, &w);
		}
		counter_wait(&org_cntr, UNDER_WAY);
		counter_wait(&tgt_cntr, UNDER_WAY);
		counter_wait(&cmpl_cntr, UNDER_WAY);
		for (i = 0; i < UNDER_WAY; i++)
			CHECK(arrived(i, (round + i) % LAYOUTS, (round + 3 * i) % LAYOUTS,
			              200000 + (size_t)i));
		conform_sync();
	}
}

static void wait_for_errors(void)
{
	int turns; /* not a clock: all tasks must leave after the same turn */
	for (turns = 0; turns < 3000 && sum_over_tasks(conform_errors()) == 0; turns++)
		sleep_ms(1);
	CHECK(sum_over_tasks(conform_errors()) > 0);
}

/* A buffer that cannot be accessed, here or at the target: the error handlers are called, no
 * counter of the target changes, and the job goes on. */
static void large_with_bad_addresses(void)
{
	int from, at_target;

	for (from = 0; from < LAYOUTS; from++)
		for (at_target = 0; at_target < 2; at_target++) {
			wish w = {from, at_target ? -2 : 0, 0, 0};
			conform_expect_errors(1);
			conform_sync();
			if (task_id == 0)
				begin(from, at_target ? source : hole, 100000, &w);
			wait_for_errors();
			conform_sync();
			CHECK_EQUAL(counter_value(&tgt_cntr), 0);
			CHECK_EQUAL(counter_value(&cmpl_cntr), 0);
			if (conform_errors() > 0) {
				conform_error e = conform_error_at(0);
				CHECK(e.code == (at_target ? LAPI_ERR_TGT_ADDR_NULL
				                           : LAPI_ERR_ORG_ADDR_NULL));
			}
			conform_sync();
			conform_expect_errors(0);
			counter_zero(&org_cntr);
		}
	transfer(1, 100000, (wish){2, 0, 0, 0});
}

static void prepare(void)
{
	int i;

	source = malloc(SPAN);
	packed = malloc(SPAN);
	hole = mmap(NULL, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!CHECK(source && packed && hole != MAP_FAILED))
		abort();
	fill_pattern(source, SPAN, 5);
	for (i = 0; i < UNDER_WAY; i++)
		if ((sink[i] = malloc(SPAN)) == NULL)
			abort();
	for (i = 0; i < LAYOUTS; i++)
		programs[i] = enroll(&layouts[i]);
	next = (task_id + 1) % num_tasks;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(&tgt_cntr, tgt_cntrs);
	exchange((void *)(uintptr_t)header, handlers);
}

static const conform_case cases[] = {
	CONFORM_CASE(prepare),
	CONFORM_CASE(large_between_all_layouts),
	CONFORM_CASE(large_in_part_dropped_and_put_off),
	CONFORM_CASE(large_of_boundary_lengths),
	CONFORM_CASE(large_several_at_once),
	CONFORM_CASE(large_with_bad_addresses),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
