/*
 * raw_routes.c - the bare routes of data between two tasks that both poll, in user memory: limits
 * for the library's own routes (docs/dev/bulk.md, "Routes"). each-*: the time of one transfer until
 * the origin knows that it is complete; many-*: the bandwidth of one after the other.
 *
 *	pipeline  one side copies into a ring of chunks, the other out of it
 *	write     one process_vm_writev
 *	read      one process_vm_readv
 *	halves    one side writes the first half while the other reads the second
 *	lines     a cache line there, another back
 */
#define _GNU_SOURCE
#include "raw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK_MOST ((size_t)32 << 10)
#define CHUNKS 32

typedef struct shared {
	/* The release store of each publishes its side's earlier writes. Side 0: transfers in which
	 * the other takes part, or filled chunks; side 1: those that it has finished. */
	board_line asked, done;
	struct {
		char *buffer; /* an address of that side */
		pid_t pid;
	} side[2];
	char chunk[CHUNKS][CHUNK_MOST] __attribute__((aligned(4096)));
} shared;

typedef struct route_side {
	shared *s;
	int id, each;
	char *buffer;
	size_t size;
	uint64_t at; /* transfers or chunks so far */
} route_side;

static void wait_for(const board_line *line, uint64_t least)
{
	while (__atomic_load_n(&line->value, __ATOMIC_ACQUIRE) < least)
		poll_pause();
}

static void say(board_line *line, uint64_t value)
{
	__atomic_store_n(&line->value, value, __ATOMIC_RELEASE);
}

/* Between the two buffers, n bytes from an offset on. */
static void attach(const route_side *r, int read, size_t offset, size_t n)
{
	struct iovec here = {r->buffer + offset, n},
		     there = {r->s->side[1 - r->id].buffer + offset, n};
	pid_t pid = r->s->side[1 - r->id].pid;
	ssize_t moved = read ? process_vm_readv(pid, &here, 1, &there, 1, 0)
	                     : process_vm_writev(pid, &here, 1, &there, 1, 0);

	if (moved != (ssize_t)n)
		fail("process_vm_* of %zu bytes: %s", n, strerror(errno));
}

/* About as many chunks as let both ends work at once, none too short. */
static size_t chunk_of(size_t n)
{
	return n >= 256 << 10  ? CHUNK_MOST
	       : n >= 64 << 10 ? 16 << 10
	       : n >= 16 << 10 ? 8 << 10
	                       : 4096;
}

static void pipeline(route_side *r)
{
	size_t done, part, step = chunk_of(r->size);

	for (done = 0; done < r->size; done += part) {
		char *chunk = r->s->chunk[r->at++ % CHUNKS];

		part = r->size - done < step ? r->size - done : step;
		if (r->id == 0) {
			if (r->at > CHUNKS)
				wait_for(&r->s->done, r->at - CHUNKS);
			memcpy(chunk, r->buffer + done, part);
			say(&r->s->asked, r->at);
		} else {
			wait_for(&r->s->asked, r->at);
			memcpy(r->buffer + done, chunk, part);
			say(&r->s->done, r->at);
		}
	}
}

static void halves(route_side *r)
{
	size_t half = r->size / 2 & ~(size_t)4095;

	r->at++;
	if (r->id == 0) {
		say(&r->s->asked, r->at);
		attach(r, 0, 0, half);
	} else {
		wait_for(&r->s->asked, r->at);
		attach(r, 1, half, r->size - half);
		say(&r->s->done, r->at);
	}
}

static void lines(route_side *r)
{
	r->at++;
	if (r->id == 0) {
		say(&r->s->asked, r->at);
		return;
	}
	wait_for(&r->s->asked, r->at);
	say(&r->s->done, r->at);
}

static void write_all(route_side *r)
{
	if (r->id == 0)
		attach(r, 0, 0, r->size);
}

static void read_all(route_side *r)
{
	if (r->id == 0)
		attach(r, 1, 0, r->size);
}

static const struct {
	const char *name;
	void (*one)(route_side *r);
} routes[] = {
	{"pipeline", pipeline}, {"write", write_all}, {"read", read_all},
	{"halves", halves},     {"lines", lines},
};

static void (*one_of(const char *test))(route_side *)
{
	size_t i;

	for (i = 0; i < sizeof routes / sizeof *routes; i++)
		if (!strcmp(test + strlen("each-"), routes[i].name))
			return routes[i].one;
	fail("no route in %s", test);
}

static void (*one)(route_side *);

static void route_rounds(void *arg, uint64_t n)
{
	route_side *r = arg;

	for (; n > 0; n--) {
		one(r);
		if (r->each && r->id == 0)
			wait_for(&r->s->done, r->at);
	}
	wait_for(&r->s->done, r->at);
}

static void route_body(board *b, const bench_options *o, int id, void *arg)
{
	size_t most = o->sizes[o->num_sizes - 1];
	route_side r = {arg, id, !strncmp(o->test, "each-", 5), NULL, 0, 0};
	int i;

	if (posix_memalign((void **)&r.buffer, 4096, o->offset + most))
		fail("no memory for %zu bytes", most);
	r.buffer += o->offset;
	memset(r.buffer, 1 + id, most);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	r.s->side[id].buffer = r.buffer;
	r.s->side[id].pid = getpid();
	board_barrier(b, 2, NULL, NULL);
	for (i = 0; i < o->num_sizes; i++) {
		measured m;

		r.size = o->sizes[i];
		m = raw_measure(b, o, id, route_rounds, &r);
		if (id == 0 && r.each)
			print_row("route", "each", r.size, m.ns / 1e3, "us", m.before, m.after,
			          m.preempted);
		else if (id == 0)
			print_row("route", "bandwidth", r.size, (double)r.size / m.ns, "GB/s",
			          m.before, m.after, m.preempted);
	}
	free(r.buffer - o->offset);
}

void raw_route(board *b, const bench_options *o)
{
	shared *s =
		mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		fail("mapping the chunks: %s", strerror(errno));
	one = one_of(o->test);
	raw_spawn(b, o, 2, route_body, s);
}
