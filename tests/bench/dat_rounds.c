/* dat_rounds.c - how long one operation takes between two sides that poll, and what many bring. */
#include "dat_bench.h"

#include <string.h>

#define WINDOW 16 /* operations under way at once, of bandwidths */

static const DAT_DTO_COOKIE cookie = {.as_64 = 2};

static void post_send(side *s, size_t n)
{
	DAT_LMR_TRIPLET t = side_triplet(s, s->out, n);

	DAT(dat_ep_post_send(s->ep, n > 0, &t, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_immed(side *s)
{
	DAT_LMR_TRIPLET t = side_triplet(s, s->out, s->size);

	s->there.segment_length = (DAT_SEG_LENGTH)s->size;
	DAT(dat_ib_post_rdma_write_immed(s->ep, 1, &t, cookie, &s->there, 7,
	                                 DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_write(side *s)
{
	DAT_LMR_TRIPLET t = side_triplet(s, s->out, s->size);

	s->there.segment_length = (DAT_SEG_LENGTH)s->size;
	DAT(dat_ep_post_rdma_write(s->ep, 1, &t, cookie, &s->there, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_read(side *s)
{
	DAT_LMR_TRIPLET t = side_triplet(s, s->out, s->size);

	s->there.segment_length = (DAT_SEG_LENGTH)s->size;
	DAT(dat_ep_post_rdma_read(s->ep, 1, &t, cookie, &s->there, DAT_COMPLETION_DEFAULT_FLAG));
}

static void received(side *s)
{
	DAT_EVENT event;

	side_poll(s->recv, &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		fail("a receive has ended with status %d",
		     (int)event.event_data.dto_completion_event_data.status);
	side_post_recv(s);
}

/* There and back; the next receive is posted before the answer goes. */
static void send_rounds(void *arg, uint64_t n)
{
	side *s = arg;

	for (; n > 0; n--) {
		if (s->id == 1)
			received(s);
		post_send(s, s->size);
		if (s->id == 0)
			received(s);
		side_completed(s);
	}
}

static void immed_rounds(void *arg, uint64_t n)
{
	side *s = arg;

	for (; n > 0; n--) {
		if (s->id == 1)
			received(s);
		post_immed(s);
		if (s->id == 0)
			received(s);
		side_completed(s);
	}
}

/* Until the next number of the other side's is in memory. No call is made meanwhile. */
static void look(side *s)
{
	while (*(volatile uint64_t *)s->in != s->turn)
		poll_pause();
}

static void memory_rounds(void *arg, uint64_t n)
{
	side *s = arg;

	for (; n > 0; n--) {
		s->turn++;
		memcpy(s->out, &s->turn, sizeof s->turn);
		if (s->id == 1)
			look(s);
		post_write(s);
		if (s->id == 0)
			look(s);
		side_completed(s);
	}
}

static void completed_rounds(void *arg, uint64_t n)
{
	side *s = arg;

	for (; n > 0; n--) {
		post_write(s);
		side_completed(s);
	}
}

static void read_rounds(void *arg, uint64_t n)
{
	side *s = arg;

	for (; n > 0; n--) {
		post_read(s);
		side_completed(s);
	}
}

static void window_rounds(void *arg, uint64_t n)
{
	side *s = arg;
	int i;

	for (; n > 0; n--) {
		for (i = 0; i < WINDOW; i++)
			post_write(s);
		for (i = 0; i < WINDOW; i++)
			side_completed(s);
	}
}

/* Side 1 polls its EVD while side 0 writes and reads. */
static void over(void *arg)
{
	side *s = arg;

	if (s->id == 1) {
		received(s);
	} else {
		post_send(s, 0);
		side_completed(s);
	}
}

static void progress(void *arg)
{
	side *s = arg;
	DAT_EVENT event;

	dat_evd_dequeue(s->async, &event);
}

static void one(side *s, const char *op, void (*rounds)(void *, uint64_t), int in_step,
                double divisor, const char *unit)
{
	measurement m = {s->b, s->o, s->id, rounds, in_step ? NULL : over, progress, s};
	measured r = measure(&m);

	if (s->id == 0)
		print_row("dat", op, s->size,
		          divisor > 0 ? r.ns / divisor : s->size * -divisor / r.ns, unit, r.before,
		          r.after, r.preempted);
}

void dat_rounds(side *s)
{
	int i;

	s->size = s->o->sizes[s->o->num_sizes - 1];
	for (i = 0; i < DAT_DEPTH / 2; i++)
		side_post_recv(s);
	for (i = 0; i < s->o->num_sizes; i++) {
		s->size = s->o->sizes[i];
		if (is_wanted(s->o->ops, "send"))
			one(s, "send", send_rounds, 1, 2e3, "us");
		if (is_wanted(s->o->ops, "write-immed"))
			one(s, "write-immed", immed_rounds, 1, 2e3, "us");
		if (is_wanted(s->o->ops, "write-completed"))
			one(s, "write-completed", completed_rounds, 0, 1e3, "us");
		if (is_wanted(s->o->ops, "read"))
			one(s, "read", read_rounds, 0, 1e3, "us");
		if (is_wanted(s->o->ops, "write-bandwidth"))
			one(s, "write-bandwidth", window_rounds, 0, -WINDOW, "GB/s");
		if (s->size == 8 && is_wanted(s->o->ops, "write-memory"))
			one(s, "write-memory", memory_rounds, 1, 2e3, "us");
	}
}
