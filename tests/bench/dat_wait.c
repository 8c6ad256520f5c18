/* dat_wait.c - the cost of waiting: processor time while nothing comes, the time of a wake-up, and
 * connections. */
#define _GNU_SOURCE
#include "dat_bench.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IDLE_US 1000000
#define WAKES 200
#define PAUSE_US 2000 /* long enough for the other side to sleep */
#define CONNECTIONS 200

static double processor_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* The processor time of a connected process that waits a second for nothing. */
void dat_idle(side *s)
{
	double used = processor_ms();
	DAT_EVENT event;
	DAT_COUNT more;

	if (DAT_GET_TYPE(dat_evd_wait(s->recv, IDLE_US, 1, &event, &more)) != DAT_TIMEOUT_EXPIRED)
		fail("dat_evd_wait has found an event");
	if (s->id == 0)
		print_row("dat", "idle", 0, processor_ms() - used, "ms/s", 0, 0, 0);
}

static void futex(volatile uint64_t *word, int operation, uint32_t value)
{
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* One wake-up of a process that sleeps on a word: from before the store to behind the sleep. */
static void bare_wake(side *s, uint64_t i)
{
	volatile uint64_t *word = &s->b->count.value;

	if (s->id == 0) {
		usleep(PAUSE_US);
		s->b->word[0].value = clock_ns();
		__atomic_store_n(word, i + 1, __ATOMIC_SEQ_CST);
		futex(word, FUTEX_WAKE, 1);
	} else {
		while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == i)
			futex(word, FUTEX_WAIT, (uint32_t)i);
		s->b->sample[i] = (double)(clock_ns() - s->b->word[0].value) / 1e3;
	}
	board_barrier(s->b, 2, NULL, NULL);
}

/* The same for a side that sleeps in dat_evd_wait, and gets 8 bytes. */
static void wake(side *s, uint64_t i)
{
	DAT_LMR_TRIPLET t = side_triplet(s, s->out, 8);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	if (s->id == 0) {
		usleep(PAUSE_US);
		s->b->word[0].value = clock_ns();
		DAT(dat_ep_post_send(s->ep, 1, &t, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		side_completed(s);
	} else {
		side_wait(s->recv, DAT_DTO_COMPLETION_EVENT);
		s->b->sample[i] = (double)(clock_ns() - s->b->word[0].value) / 1e3;
		side_post_recv(s);
	}
	board_barrier(s->b, 2, NULL, NULL);
}

/* In turn: how long a processor takes to wake up changes from second to second. */
static void wakes(side *s)
{
	double bare[WAKES], ours[WAKES];
	uint64_t i;

	for (i = 0; i < WAKES; i++) {
		bare_wake(s, i);
		bare[i] = s->b->sample[i];
		wake(s, i);
		ours[i] = s->b->sample[i];
	}
	if (s->id == 0) {
		print_row("dat", "bare-futex", 0, median(bare, WAKES), "us", 0, 0, 0);
		print_row("dat", "wake", 0, median(ours, WAKES), "us", 0, 0, 0);
	}
	board_barrier(s->b, 2, NULL, NULL);
}

void dat_wake(side *s)
{
	int i;

	s->size = 8;
	for (i = 0; i < DAT_DEPTH / 2; i++)
		side_post_recv(s);
	board_barrier(s->b, 2, NULL, NULL);
	wakes(s);
}

/* Ends the connection, from side 0, and makes the endpoint ready for another. */
static void part(side *s)
{
	if (s->id == 0)
		DAT(dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG));
	side_wait(s->connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	DAT(dat_ep_reset(s->ep));
}

/* Connections one after the other: connected, ended, reset. */
void dat_connections(side *s)
{
	uint64_t start = clock_ns();
	int i;

	for (i = 0; i < CONNECTIONS; i++) {
		part(s);
		side_connect(s);
	}
	if (s->id == 0)
		print_row("dat", "connections", 0, CONNECTIONS * 1e6 / (double)(clock_ns() - start),
		          "k/s", 0, 0, 0);
}
