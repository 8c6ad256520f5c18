/* board.c - see board.h. */
#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define STATE_BATCHES 5
#define STATE_ROUNDS 800 /* about 0.1 ms a batch */

void fail(const char *format, ...)
{
	va_list ap;

	fputs("bench: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

board *board_open(const char *path)
{
	int fd = -1;
	void *p;

	if (path) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, sizeof(board)) < 0)
			fail("%s: %s", path, strerror(errno));
	}
	p = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE,
	         MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), fd, 0);
	if (p == MAP_FAILED)
		fail("mapping the board: %s", strerror(errno));
	if (path)
		close(fd);
	return p;
}

static uint64_t nanoseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void board_account(board *b)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	__atomic_add_fetch(&b->cpu.value, nanoseconds(u.ru_utime) + nanoseconds(u.ru_stime),
	                   __ATOMIC_RELAXED);
}

void ordinary_priority(void)
{
	struct sched_param ordinary = {.sched_priority = 0};

	if (sched_setscheduler(0, SCHED_OTHER, &ordinary) < 0)
		fail("sched_setscheduler: %s", strerror(errno));
}

void poll_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

void board_barrier(board *b, int n, board_progress *progress, void *arg)
{
	/* The generation is read before arriving: the last to arrive changes it at once (release,
	 * pairs with the acquire of the loop; publishes what tasks wrote to the board before). */
	uint64_t g = __atomic_load_n(&b->generation.value, __ATOMIC_ACQUIRE);
	struct timespec nap = {0, n > usable_cores() ? 2000000 : 50000};
	unsigned turns = 0;

	if (__atomic_add_fetch(&b->arrived.value, 1, __ATOMIC_ACQ_REL) == (uint64_t)n) {
		__atomic_store_n(&b->arrived.value, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&b->generation.value, g + 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&b->generation.value, __ATOMIC_ACQUIRE) == g) {
		if (progress)
			progress(arg);
		if (++turns < 2000)
			poll_pause();
		else
			nanosleep(&nap, NULL);
	}
}

/* One batch: role 0 writes its line and waits for the answer on the other. Values only grow, so no
 * reset is needed. */
static void state_batch(board *b, int role, uint64_t from)
{
	volatile uint64_t *mine = &b->state[role].value, *peer = &b->state[1 - role].value;
	uint64_t i;

	for (i = from + 1; i <= from + STATE_ROUNDS; i++) {
		if (role == 0)
			__atomic_store_n(mine, i, __ATOMIC_RELEASE);
		while (__atomic_load_n(peer, __ATOMIC_ACQUIRE) < i)
			poll_pause();
		if (role == 1)
			__atomic_store_n(mine, i, __ATOMIC_RELEASE);
	}
}

double board_state(board *b, int role)
{
	double v[STATE_BATCHES];
	uint64_t from = b->state[role].value, t;
	int k;

	for (k = 0; k < STATE_BATCHES; k++, from += STATE_ROUNDS) {
		t = clock_ns();
		state_batch(b, role, from);
		v[k] = (double)(clock_ns() - t) / (2.0 * STATE_ROUNDS);
	}
	return median(v, STATE_BATCHES);
}

uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The cores that the process was started with: read once, before any pinning narrows them. */
static const cpu_set_t *start_cores(void)
{
	static cpu_set_t set;
	static int known;

	if (!known) {
		if (sched_getaffinity(0, sizeof set, &set) < 0)
			fail("sched_getaffinity: %s", strerror(errno));
		known = 1;
	}
	return &set;
}

int usable_cores(void)
{
	return CPU_COUNT(start_cores());
}

void pin_to_core(int index)
{
	const cpu_set_t *all = start_cores();
	int skip = index % CPU_COUNT(all), cpu;
	cpu_set_t one;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all) && skip-- == 0)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof one, &one) < 0)
		fail("pinning to core %d: %s", cpu, strerror(errno));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double fraction(double *v, int n, double p)
{
	int i = (int)(p * (n - 1) + 0.5);

	qsort(v, (size_t)n, sizeof *v, by_value);
	return v[i];
}

double median(double *v, int n)
{
	return fraction(v, n, 0.5);
}

long preemptions(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nivcsw;
}

void print_row(const char *test, const char *op, size_t size, double value, const char *unit,
               double before, double after, long preempted)
{
	printf("row,%s,%s,%zu,%.4f,%s,%.1f,%.1f,%ld\n", test, op, size, value, unit, before, after,
	       preempted);
	fflush(stdout);
}

static void parse_sizes(const char *s, bench_options *o)
{
	char *end;

	o->num_sizes = 0;
	while (*s) {
		if (o->num_sizes == 32)
			fail("more than 32 sizes");
		o->sizes[o->num_sizes++] = strtoull(s, &end, 10);
		if (end == s || (*end != ',' && *end != 0) || o->sizes[o->num_sizes - 1] < 8 ||
		    (o->num_sizes > 1 && o->sizes[o->num_sizes - 1] <= o->sizes[o->num_sizes - 2]))
			fail("bad size in --sizes: %s (bytes, at least 8, ascending, separated by commas)",
			     s);
		s = *end ? end + 1 : end;
	}
}

void parse_options(int argc, char **argv, bench_options *o)
{
	int i;

	start_cores();
	memset(o, 0, sizeof *o);
	o->sizes[0] = 8;
	o->num_sizes = 1;
	o->seconds = 0.02;
	o->tasks = 2;
	o->datagram = 65507;
	for (i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--board=", 8))
			o->board_path = argv[i] + 8;
		else if (!strncmp(argv[i], "--sizes=", 8))
			parse_sizes(argv[i] + 8, o);
		else if (!strncmp(argv[i], "--seconds=", 10))
			o->seconds = atof(argv[i] + 10);
		else if (!strncmp(argv[i], "--tasks=", 8))
			o->tasks = atoi(argv[i] + 8);
		else if (!strncmp(argv[i], "--offset=", 9))
			o->offset = strtoull(argv[i] + 9, NULL, 10);
		else if (!strncmp(argv[i], "--ops=", 6))
			o->ops = argv[i] + 6;
		else if (!strncmp(argv[i], "--datagram=", 11))
			o->datagram = strtoull(argv[i] + 11, NULL, 10);
		else if (argv[i][0] != '-' && !o->test)
			o->test = argv[i];
		else
			fail("unknown argument %s", argv[i]);
	}
	if (!o->test || o->seconds <= 0 || o->tasks < 1 || o->tasks > BOARD_MAX_TASKS ||
	    o->datagram < 64 || o->datagram > 65507 || o->num_sizes == 0 || o->offset > 4096)
		fail("usage: %s test [--board=file] [--sizes=8,64] [--seconds=s] [--tasks=n] [--datagram=bytes] [--ops=put,get] [--offset=bytes]",
		     argv[0]);
}

void batch_begin(batches *s)
{
	s->preemptions_before = preemptions();
	s->start = clock_ns();
}

void batch_end(batches *s, uint64_t n)
{
	uint64_t end = clock_ns();

	s->ns[s->count] = (double)(end - s->start) / (double)n;
	s->preempted[s->count++] = preemptions() != s->preemptions_before;
}

double batches_median(const batches *s)
{
	double kept[BATCHES], all[BATCHES];
	int i, n = 0;

	for (i = 0; i < s->count; i++) {
		all[i] = s->ns[i];
		if (!s->preempted[i])
			kept[n++] = s->ns[i];
	}
	return n * 6 >= s->count ? median(kept, n) : median(all, s->count);
}

long batches_preempted(const batches *s)
{
	long n = 0;
	int i;

	for (i = 0; i < s->count; i++)
		n += s->preempted[i];
	return n;
}

uint64_t batch_iterations(const bench_options *o, double ns, uint64_t count)
{
	double n = o->seconds * 1e9 / BATCHES / (ns / (double)count + 1);

	return n < 1 ? 1 : (uint64_t)n;
}
