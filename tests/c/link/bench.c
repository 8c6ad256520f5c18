/* bench.c - the times of lapi_link.h's operations between two tasks, in microseconds: `make
 * bench-link`. */
#include "link_test.h"

#include <time.h>

enum { MOST = 1 << 20, PING = 7 };

static char *memory, *local;
static lapi_link_handle_t *mine, *theirs;
static volatile int pings;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void pinged(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                   size_t size, void *context)
{
	(void)link, (void)ep, (void)tag, (void)message, (void)size, (void)context;
	pings++;
}

static void ping(size_t n)
{
	CHECK(TRY(lapi_link_send(lnk, peer[1 - attr.task], PING, local, n, NULL, 0, NULL, NULL, NULL)) ==
	      LAPI_LINK_DONE);
}

static void put(size_t n)
{
	MUST(TRY(lapi_link_put(lnk, peer[1], local, theirs[1].base, NULL, &theirs[1], n, 0, NULL, NULL,
	                       NULL)));
}

static void get(size_t n)
{
	MUST(TRY(lapi_link_get(lnk, peer[1], local, theirs[1].base, NULL, &theirs[1], n, 0, NULL, NULL,
	                       NULL)));
}

static void row(const char *name, size_t n, int rounds, void (*operation)(size_t), int each)
{
	double best = 1e9, start;

	for (int k = 0; attr.task == 0 && k < 7; k++) {
		start = now();
		for (int i = 0; i < rounds; i++) {
			for (int j = 0; j < each; j++)
				operation(n);
			MUST(lapi_link_flush(lnk, peer[1]));
		}
		start = (now() - start) / rounds / each;
		best = start < best ? start : best;
	}
	if (attr.task == 0)
		printf("%-28s %8zu %10.3f\n", name, n, best);
	barrier();
}

static void ping_pong(size_t n, int rounds)
{
	double best = 1e9, start;

	for (int k = 0; k < 7; k++) {
		pings = 0; /* the other's come after the barrier */
		barrier();
		start = now();
		for (int i = 1; i <= rounds; i++) {
			if (attr.task == 0)
				ping(n);
			while (pings < i)
				progress();
			if (attr.task == 1)
				ping(n);
		}
		start = (now() - start) / rounds / 2;
		best = start < best ? start : best;
	}
	if (attr.task == 0)
		printf("%-28s %8zu %10.3f\n", "message, one way", n, best);
}

int main(void)
{
	begin(NULL);
	memory = calloc(1, MOST);
	local = calloc(1, MOST);
	theirs = calloc(attr.tasks, sizeof(*theirs));
	MUST(lapi_link_set_receive(lnk, PING, pinged, NULL));
	share(memory, MOST, 7, &mine, theirs);
	if (attr.task == 0)
		printf("%-28s %8s %10s\n", "", "bytes", "us");
	ping_pong(8, 5000);
	ping_pong(1024, 5000);
	ping_pong(4096, 2000);
	row("put and flush", 8, 5000, put, 1);
	row("put and flush", 4096, 2000, put, 1);
	row("put and flush", 65536, 500, put, 1);
	row("put and flush", MOST, 100, put, 1);
	row("16 puts and a flush, each", 8, 2000, put, 16);
	row("get and flush", 8, 5000, get, 1);
	row("get and flush", 4096, 2000, get, 1);
	row("get and flush", MOST, 100, get, 1);
	end();
	return 0;
}
