/* raw_pipeline.c - raw limit of large copies between tasks that both poll: one copies into a ring
 * of chunks, the other out of it. */
#include "raw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK ((size_t)32 << 10)
/* 1 MiB, more than a processor's own cache holds: then both ends find chunks in the shared one */
#define CHUNKS 32

typedef struct ring {
	/* chunks so far; the release store publishes their bytes, or that they may be
	 * overwritten */
	board_line filled, emptied;
	char chunk[CHUNKS][CHUNK] __attribute__((aligned(4096)));
} ring;

typedef struct pipe_side {
	ring *r;
	int id;
	char *buffer;
	size_t size;
	uint64_t at; /* chunks done by this side */
} pipe_side;

static void wait_for(const board_line *line, uint64_t least)
{
	while (__atomic_load_n(&line->value, __ATOMIC_ACQUIRE) < least)
		poll_pause();
}

/* A round is one message; the last ends for both sides when all of it is out of the ring. */
static void pipeline_rounds(void *arg, uint64_t n)
{
	pipe_side *s = arg;
	ring *r = s->r;

	for (; n > 0; n--) {
		size_t done, part;

		for (done = 0; done < s->size; done += part, s->at++) {
			char *chunk = r->chunk[s->at % CHUNKS];

			part = s->size - done < CHUNK ? s->size - done : CHUNK;
			if (s->id == 0) {
				if (s->at >= CHUNKS)
					wait_for(&r->emptied, s->at + 1 - CHUNKS);
				memcpy(chunk, s->buffer + done, part);
				__atomic_store_n(&r->filled.value, s->at + 1, __ATOMIC_RELEASE);
			} else {
				wait_for(&r->filled, s->at + 1);
				memcpy(s->buffer + done, chunk, part);
				__atomic_store_n(&r->emptied.value, s->at + 1, __ATOMIC_RELEASE);
			}
		}
	}
	wait_for(&r->emptied, s->at);
}

static void pipeline_body(board *b, const bench_options *o, int id, void *arg)
{
	size_t most = o->sizes[o->num_sizes - 1];
	pipe_side s = {arg, id, NULL, 0, 0};
	int i;

	/* on a page boundary, as the others' buffers: large copies between addresses of different
	 * alignment are slow on some processors */
	if (posix_memalign((void **)&s.buffer, 4096, o->offset + most))
		fail("no memory for %zu bytes", most);
	s.buffer += o->offset;
	memset(s.buffer, 1 + id, most);
	for (i = 0; i < o->num_sizes; i++) {
		measured r;

		s.size = o->sizes[i];
		r = raw_measure(b, o, id, pipeline_rounds, &s);
		if (id == 0)
			print_row("pipeline", "bandwidth", s.size, (double)s.size / r.ns, "GB/s",
			          r.before, r.after, r.preempted);
		else if (s.buffer[0] != 1 || s.buffer[s.size - 1] != 1)
			fail("the pipeline lost %zu bytes", s.size);
	}
	free(s.buffer - o->offset);
}

void raw_pipeline(board *b, const bench_options *o)
{
	ring *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED)
		fail("mapping the ring: %s", strerror(errno));
	raw_spawn(b, o, 2, pipeline_body, r);
}

static void state_body(board *b, const bench_options *o, int id, void *arg)
{
	double ns;

	(void)o;
	(void)arg;
	board_barrier(b, 2, NULL, NULL);
	ns = board_state(b, id);
	if (id == 0)
		print_row("state", "oneway", 0, ns, "ns", ns, ns, 0);
}

/* The check of the machine's state alone: for around programs that cannot do it themselves. */
void raw_state(board *b, const bench_options *o)
{
	raw_spawn(b, o, 2, state_body, NULL);
}
