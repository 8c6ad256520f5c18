/* raw_memory.c - raw limits of shared memory: a cache line to and fro, a queue, a barrier, copies
 * within and across processes. */
#define _GNU_SOURCE
#include "raw.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- two cache lines, one written by each side ---- */

typedef struct lines {
	board *b;
	int id;
	uint64_t turn;
} lines;

static void line_rounds(void *arg, uint64_t n)
{
	lines *l = arg;
	volatile uint64_t *mine = &l->b->word[2 + l->id].value,
			  *peer = &l->b->word[3 - l->id].value;
	uint64_t end = l->turn + n;

	while (l->turn < end) {
		l->turn++;
		if (l->id == 0)
			__atomic_store_n(mine, l->turn, __ATOMIC_RELEASE);
		while (__atomic_load_n(peer, __ATOMIC_ACQUIRE) < l->turn)
			poll_pause();
		if (l->id == 1)
			__atomic_store_n(mine, l->turn, __ATOMIC_RELEASE);
	}
}

static void cacheline_body(board *b, const bench_options *o, int id, void *arg)
{
	lines l = {b, id, 0};
	measured r = raw_measure(b, o, id, line_rounds, &l);

	(void)arg;
	if (id == 0)
		print_row("cacheline", "oneway", 0, r.ns / 2, "ns", r.before, r.after, r.preempted);
}

void raw_cacheline(board *b, const bench_options *o)
{
	raw_spawn(b, o, 2, cacheline_body, NULL);
}

/* ---- a queue of one producer and one consumer: the limit of the rate of small messages ---- */

#define SLOTS 64

typedef struct slot {
	uint64_t word[7];
	uint64_t sequence; /* stored last (release): publishes the slot to the consumer */
} slot;

typedef struct queue {
	slot slots[SLOTS] __attribute__((aligned(64)));
	board_line consumed; /* published a quarter of the ring at a time */
} queue;

typedef struct queue_side {
	queue *q;
	int id;
	uint64_t at, room;
	uint64_t place[8]; /* where the consumer puts the payload */
} queue_side;

static void queue_rounds(void *arg, uint64_t n)
{
	queue_side *s = arg;
	uint64_t end = s->at + n;

	for (; s->at < end; s->at++) {
		slot *m = &s->q->slots[s->at % SLOTS];

		if (s->id == 0) {
			while (s->at - s->room >= SLOTS)
				s->room = __atomic_load_n(&s->q->consumed.value, __ATOMIC_ACQUIRE);
			m->word[0] = s->at;
			__atomic_store_n(&m->sequence, s->at + 1, __ATOMIC_RELEASE);
			continue;
		}
		while (__atomic_load_n(&m->sequence, __ATOMIC_ACQUIRE) != s->at + 1)
			__atomic_thread_fence(
				__ATOMIC_SEQ_CST); /* keeps the poll from running ahead: cheaper
			                              than pause here */
		((volatile uint64_t *)s->place)[s->at % 8] = m->word[0];
		if (s->at % (SLOTS / 4) == SLOTS / 4 - 1)
			__atomic_store_n(&s->q->consumed.value, s->at + 1, __ATOMIC_RELEASE);
	}
	/* The producer's round ends when the consumer has everything. n need not fill a quarter:
	 * publish the rest. */
	if (s->id == 1)
		__atomic_store_n(&s->q->consumed.value, s->at, __ATOMIC_RELEASE);
	while (s->id == 0 && __atomic_load_n(&s->q->consumed.value, __ATOMIC_ACQUIRE) < s->at)
		poll_pause();
}

static void queue_body(board *b, const bench_options *o, int id, void *arg)
{
	queue_side s = {arg, id, 0, 0, {0}};
	measured r = raw_measure(b, o, id, queue_rounds, &s);

	if (id == 0)
		print_row("queue", "rate", 8, 1e3 / r.ns, "M/s", r.before, r.after, r.preempted);
}

static void *shared_memory(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mapping %zu bytes: %s", n, strerror(errno));
	return p;
}

void raw_queue(board *b, const bench_options *o)
{
	raw_spawn(b, o, 2, queue_body, shared_memory(sizeof(queue)));
}

/* ---- a barrier of n processes: central counter, a short spin, then yields ---- */

static void central_barrier(board *b, int n)
{
	uint64_t g = __atomic_load_n(&b->word[3].value, __ATOMIC_ACQUIRE);
	int turns = 0;

	if (__atomic_add_fetch(&b->word[2].value, 1, __ATOMIC_ACQ_REL) == (uint64_t)n) {
		__atomic_store_n(&b->word[2].value, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&b->word[3].value, g + 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&b->word[3].value, __ATOMIC_ACQUIRE) == g) {
		if (n <= usable_cores() || ++turns < 100)
			poll_pause();
		else
			sched_yield();
	}
}

static void one_barrier(void *arg)
{
	const barrier_measurement *m = arg;

	central_barrier(m->b, m->n);
}

static void barrier_body(board *b, const bench_options *o, int id, void *arg)
{
	barrier_measurement m = {b, o, id, o->tasks, one_barrier, NULL, &m};
	measured r = measure_barrier(&m);

	(void)arg;
	if (id == 0)
		print_row("barrier", "central", (size_t)o->tasks, r.ns / 1e3, "us", r.before,
		          r.after, r.preempted);
}

void raw_barrier(board *b, const bench_options *o)
{
	raw_spawn(b, o, o->tasks, barrier_body, NULL);
}

/* ---- copies ---- */

typedef struct copy {
	char *from, *to; /* to: an address of the target */
	size_t n;
	pid_t target; /* 0: this process */
} copy;

static char *buffer(size_t n)
{
	char *p;

	if (posix_memalign((void **)&p, 4096, n))
		fail("no memory for %zu bytes", n);
	memset(p, 1, n);
	return p;
}

static void copies(const copy *c, uint64_t n)
{
	struct iovec l = {c->from, c->n}, r = {c->to, c->n};

	while (n-- > 0) {
		if (!c->target) {
			memcpy(c->to, c->from, c->n);
			/* the compiler must not merge copies whose result nobody reads */
			__asm__ volatile("" : : "r"(c->to) : "memory");
		} else if (process_vm_writev(c->target, &l, 1, &r, 1, 0) != (ssize_t)c->n) {
			fail("process_vm_writev of %zu bytes: %s", c->n, strerror(errno));
		}
	}
}

static void print_copy(board *b, const bench_options *o, copy *c, const char *test)
{
	batches s = {.count = 0};
	double before, after, ns;
	uint64_t n, t;

	board_barrier(b, 2, NULL, NULL);
	before = board_state(b, 0);
	copies(c, 2); /* cold: not to be timed */
	t = clock_ns();
	copies(c, 8);
	n = batch_iterations(o, (double)(clock_ns() - t), 8);
	while (s.count < BATCHES) {
		batch_begin(&s);
		copies(c, n);
		batch_end(&s, n);
	}
	ns = batches_median(&s);
	board_barrier(b, 2, NULL, NULL);
	after = board_state(b, 0);
	print_row(test, "time", c->n, ns, "ns", before, after, batches_preempted(&s));
	print_row(test, "bandwidth", c->n, (double)c->n / ns, "GB/s", before, after,
	          batches_preempted(&s));
}

typedef enum copy_kind { WITHIN, TO_SLEEPING, TO_COMPUTING } copy_kind;

/* Until the other side has arrived at the board's next barrier. */
static void compute(board *b)
{
	volatile double x = 1;

	while (__atomic_load_n(&b->arrived.value, __ATOMIC_ACQUIRE) == 0)
		x = x * 1.0000001 + 1e-9;
}

/* The target waits asleep in the barrier, idle, as the target of a one-sided copy may be; or it
 * computes. */
static void copy_body(board *b, const bench_options *o, int id, void *arg)
{
	size_t most = o->sizes[o->num_sizes - 1];
	copy_kind kind = *(copy_kind *)arg;
	int i;
	char *from = buffer(most), *to = buffer(most);
	copy c = {from, to, 0, 0};

	if (id == 1) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		b->word[2].value = (uintptr_t)c.to;
		b->word[3].value = (uint64_t)getpid();
	}
	board_barrier(b, 2, NULL, NULL);
	if (kind != WITHIN) {
		c.to = (char *)(uintptr_t)b->word[2].value;
		c.target = (pid_t)b->word[3].value;
	}
	for (i = 0; i < o->num_sizes; i++) {
		c.n = o->sizes[i];
		if (id == 0) {
			print_copy(b, o, &c, o->test);
			continue;
		}
		board_barrier(b, 2, NULL, NULL);
		board_state(b, 1);
		if (kind == TO_COMPUTING)
			compute(b);
		board_barrier(b, 2, NULL, NULL);
		board_state(b, 1);
	}
	free(from);
	free(to);
}

void raw_memcpy(board *b, const bench_options *o)
{
	copy_kind kind = WITHIN;

	raw_spawn(b, o, 2, copy_body, &kind);
}

void raw_writev(board *b, const bench_options *o)
{
	copy_kind kind = TO_SLEEPING;

	raw_spawn(b, o, 2, copy_body, &kind);
}

void raw_writev_computing(board *b, const bench_options *o)
{
	copy_kind kind = TO_COMPUTING;

	raw_spawn(b, o, 2, copy_body, &kind);
}

/* ---- a write to a target that polls memory, to and fro ---- */

typedef struct turns {
	volatile uint64_t *in; /* the other side writes it */
	uint64_t turn, theirs; /* theirs: address of the other side's in */
	pid_t target;
	int id;
} turns;

static void look(const turns *t)
{
	while (*t->in != t->turn)
		poll_pause();
}

static void turn_rounds(void *arg, uint64_t n)
{
	turns *t = arg;
	struct iovec l = {&t->turn, sizeof t->turn}, r = {(void *)(uintptr_t)t->theirs, l.iov_len};

	for (; n > 0; n--) {
		t->turn++;
		if (t->id == 1)
			look(t);
		if (process_vm_writev(t->target, &l, 1, &r, 1, 0) != (ssize_t)l.iov_len)
			fail("process_vm_writev: %s", strerror(errno));
		if (t->id == 0)
			look(t);
	}
}

static void turns_body(board *b, const bench_options *o, int id, void *arg)
{
	turns t = {.id = id};
	measured m;

	(void)arg;
	t.in = (volatile uint64_t *)buffer(4096);
	*t.in = 0;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	b->task[id].begin = (uintptr_t)t.in;
	b->task[id].end = (uint64_t)getpid();
	board_barrier(b, 2, NULL, NULL);
	t.theirs = b->task[1 - id].begin;
	t.target = (pid_t)b->task[1 - id].end;
	m = raw_measure(b, o, id, turn_rounds, &t);
	if (id == 0)
		print_row(o->test, "oneway", sizeof t.turn, m.ns / 2, "ns", m.before, m.after,
		          m.preempted);
}

void raw_writev_turns(board *b, const bench_options *o)
{
	raw_spawn(b, o, 2, turns_body, NULL);
}
