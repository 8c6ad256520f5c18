/*
 * Interop.c - 32-bit and 64-bit tasks in one job: each names memory of the other by
 * LAPI_Address_init64 and LAPI_Xfer.
 *
 * Build it twice, with and without -m32 (run-mixed does so and starts both kinds in one job). An
 * address of a 64-bit task does not fit a pointer of a 32-bit one, so addresses travel as
 * lapi_long_t: LAPI_Address_init64 exchanges them, and the members of lapi_xfer_t that name
 * something at the target have that type. Exchanged data must mean the same to both, too: an int
 * has 32 bits in either, a long has not.
 *
 * Each task works on the next one: puts and gets of several lengths, a vector, an active message, a
 * fetch-and-add.
 */
#include <stdint.h>
#include "sample.h"

#define LONGEST (3 << 20)
#define BLOCKS 5
#define ROUNDS 40

#define LONG(address) ((lapi_long_t)(uintptr_t)(address))

static unsigned char source[LONGEST], landing[LONGEST], fetched[LONGEST];
static long long total; /* 64 bits, at every task */
static int hits;
static lapi_cntr_t arrived;

/* Tables of every task's addresses. */
static lapi_long_t *landing_of, *arrived_of, *total_of, *handler_of, *word_sizes;
static int task, num_tasks, next, previous;

/* Byte i of the data that task n sends in a round. */
static unsigned char byte_of(int n, unsigned round, unsigned long i)
{
	return (unsigned char)(n * 31u + round * 7u + i * 13u + (i >> 8));
}

static void fill(unsigned char *to, int n, unsigned round, unsigned long length)
{
	for (unsigned long i = 0; i < length; i++)
		to[i] = byte_of(n, round, i);
}

static int holds(const unsigned char *at, int n, unsigned round, unsigned long length)
{
	for (unsigned long i = 0; i < length; i++)
		if (at[i] != byte_of(n, round, i))
			return 0;
	return 1;
}

static const unsigned long lengths[] = {1, 8, 100, 1000, 5000, 70000, 400000, LONGEST};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

/* Puts into the next task, and waits for what the previous one puts here; then reads back what
 * arrived there. */
static void put_and_get(lapi_handle_t hndl)
{
	for (unsigned i = 0; i < LENGTHS; i++) {
		lapi_xfer_t x;
		lapi_cntr_t done;

		fill(source, task, i, lengths[i]);
		CALL(LAPI_Setcntr(hndl, &done, 0));
		memset(&x, 0, sizeof x);
		x.Put.Xfer_type = LAPI_PUT_XFER;
		x.Put.tgt = (uint)next;
		x.Put.tgt_addr = landing_of[next];
		x.Put.org_addr = source;
		x.Put.len = lengths[i];
		x.Put.tgt_cntr = arrived_of[next];
		x.Put.cmpl_cntr = &done;
		CALL(LAPI_Xfer(hndl, &x));
		CALL(LAPI_Waitcntr(hndl, &done, 1, NULL));
		CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
		EXPECT(holds(landing, previous, i, lengths[i]));

		memset(&x, 0, sizeof x);
		x.Get.Xfer_type = LAPI_GET_XFER;
		x.Get.tgt = (uint)next;
		x.Get.tgt_addr = landing_of[next];
		x.Get.org_addr = fetched;
		x.Get.len = lengths[i];
		x.Get.org_cntr = &done;
		CALL(LAPI_Xfer(hndl, &x));
		CALL(LAPI_Waitcntr(hndl, &done, 1, NULL));
		EXPECT(holds(fetched, task, i, lengths[i]));
		CALL(LAPI_Gfence(hndl));
	}
	sample_say("put to and got back from task %d, %u lengths up to %d bytes", next,
	           (unsigned)LENGTHS, LONGEST);
}

/* Scatters blocks over the next task's memory, by a vector of its addresses, and gathers them
 * again. */
static void vectors(lapi_handle_t hndl)
{
	void *from[BLOCKS];
	lapi_long_t to[BLOCKS];
	ulong length[BLOCKS];
	lapi_vec_t here = {LAPI_GEN_IOVECTOR, BLOCKS, from, length};
	lapi_lvec_t there = {LAPI_GEN_IOVECTOR, BLOCKS, to, length};
	lapi_xfer_t x;
	lapi_cntr_t done;
	unsigned long at = 0;

	CALL(LAPI_Setcntr(hndl, &done, 0));
	for (int i = 0; i < BLOCKS; i++) {
		length[i] = 1000ul << (2 * i);
		from[i] = source + at;
		to[i] = landing_of[next] + at + 24u * (unsigned)i;
		at += length[i];
	}
	fill(source, task, 50, at);
	memset(&x, 0, sizeof x);
	x.Putv.Xfer_type = LAPI_PUTV_XFER;
	x.Putv.tgt = (uint)next;
	x.Putv.org_vec = &here;
	x.Putv.tgt_vec = &there;
	x.Putv.cmpl_cntr = &done;
	CALL(LAPI_Xfer(hndl, &x));
	CALL(LAPI_Waitcntr(hndl, &done, 1, NULL));
	CALL(LAPI_Gfence(hndl));
	at = 0;
	for (int i = 0; i < BLOCKS; i++) {
		for (unsigned long k = 0; k < length[i]; k++)
			if (landing[at + 24u * (unsigned)i + k] != byte_of(previous, 50, at + k)) {
				EXPECT(!"a block of the vector is as it was sent");
				break;
			}
		at += length[i];
	}

	for (int i = 0; i < BLOCKS; i++)
		from[i] = fetched + ((unsigned char *)from[i] - source);
	memset(&x, 0, sizeof x);
	x.Getv.Xfer_type = LAPI_GETV_XFER;
	x.Getv.tgt = (uint)next;
	x.Getv.org_vec = &here;
	x.Getv.tgt_vec = &there;
	x.Getv.org_cntr = &done;
	CALL(LAPI_Xfer(hndl, &x));
	CALL(LAPI_Waitcntr(hndl, &done, 1, NULL));
	EXPECT(holds(fetched, task, 50, at));
	CALL(LAPI_Gfence(hndl));
	sample_say("scattered %d blocks over task %d and gathered them again", BLOCKS, next);
}

/* At the target of an active message. */
static void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	const int *sent = uhdr; /* the origin, and how long its data is: fixed widths */

	(void)hndl;
	EXPECT(*uhdr_len == 2 * sizeof(int));
	EXPECT((ulong)sent[1] == *msg_len);
	EXPECT(sent[0] == previous);
	hits++;
	*completion = NULL;
	*user_info = NULL;
	return landing;
}

static void active_messages(lapi_handle_t hndl)
{
	for (unsigned i = 0; i < LENGTHS; i++) {
		lapi_xfer_t x;
		lapi_cntr_t done;
		int uhdr[2] = {task, (int)lengths[i]};

		fill(source, task, 100 + i, lengths[i]);
		CALL(LAPI_Setcntr(hndl, &done, 0));
		memset(&x, 0, sizeof x);
		x.Am.Xfer_type = LAPI_AM_XFER;
		x.Am.tgt = (uint)next;
		x.Am.hdr_hdl = handler_of[next];
		x.Am.uhdr = uhdr;
		x.Am.uhdr_len = sizeof uhdr;
		x.Am.udata = source;
		x.Am.udata_len = lengths[i];
		x.Am.tgt_cntr = arrived_of[next];
		x.Am.cmpl_cntr = &done;
		CALL(LAPI_Xfer(hndl, &x));
		CALL(LAPI_Waitcntr(hndl, &done, 1, NULL));
		CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
		EXPECT(holds(landing, previous, 100 + i, lengths[i]));
		CALL(LAPI_Gfence(hndl));
	}
	EXPECT(hits == (int)LENGTHS);
	sample_say("sent %u active messages to task %d", (unsigned)LENGTHS, next);
}

/* Everybody adds to a 64-bit variable of task 0. */
static void read_modify_write(lapi_handle_t hndl)
{
	const long long step = 0x100000001ll * (task + 1);
	long long wanted = 0;

	for (int i = 0; i < ROUNDS; i++) {
		lapi_xfer_t x;
		lapi_cntr_t done;
		long long before = -1, operand = step;

		CALL(LAPI_Setcntr(hndl, &done, 0));
		memset(&x, 0, sizeof x);
		x.Rmw.Xfer_type = LAPI_RMW_XFER;
		x.Rmw.op = FETCH_AND_ADD;
		x.Rmw.tgt = 0;
		x.Rmw.size = 64;
		x.Rmw.tgt_var = total_of[0];
		x.Rmw.in_val = &operand;
		x.Rmw.prev_tgt_val = &before;
		x.Rmw.org_cntr = &done;
		CALL(LAPI_Xfer(hndl, &x));
		CALL(LAPI_Waitcntr(hndl, &done, 1, NULL));
		EXPECT(before >= 0);
	}
	CALL(LAPI_Gfence(hndl));
	for (int n = 0; n < num_tasks; n++)
		wanted += ROUNDS * (0x100000001ll * (n + 1));
	if (task == 0) {
		EXPECT(total == wanted);
		sample_say("all have added to my 64-bit variable: %lld", total);
	}
}

static lapi_long_t *exchanged(lapi_handle_t hndl, lapi_long_t mine)
{
	lapi_long_t *table = calloc((size_t)num_tasks, sizeof *table);

	CALL(LAPI_Address_init64(hndl, mine, table));
	return table;
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	next = (task + 1) % num_tasks;
	previous = (task + num_tasks - 1) % num_tasks;

	CALL(LAPI_Setcntr(hndl, &arrived, 0));
	landing_of = exchanged(hndl, LONG(landing));
	arrived_of = exchanged(hndl, LONG(&arrived));
	total_of = exchanged(hndl, LONG(&total));
	handler_of = exchanged(hndl, LONG(header_handler));
	word_sizes = exchanged(hndl, sizeof(void *));
	sample_say("I have addresses of %d bits, task %d of %d bits", (int)(8 * sizeof(void *)),
	           next, (int)(8 * word_sizes[next]));

	put_and_get(hndl);
	vectors(hndl);
	active_messages(hndl);
	read_modify_write(hndl);

	CALL(LAPI_Term(hndl));
	free(landing_of), free(arrived_of), free(total_of), free(handler_of), free(word_sizes);
	return sample_end();
}
