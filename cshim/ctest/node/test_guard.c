/* test_guard.c - guarded accesses: right for every length and offset, and a bad address is an
 * answer, not the end. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node/probe.h"

enum { PAGE = 4096, SPACE = 3 * PAGE };

static volatile sig_atomic_t seen;

static void see(int number)
{
	seen = number;
}

/* SPACE bytes between two pages that cannot be accessed. */
static unsigned char *fenced_memory(void)
{
	unsigned char *all =
		mmap(NULL, SPACE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(all != MAP_FAILED && mprotect(all + PAGE, SPACE, PROT_READ | PROT_WRITE) == 0);
	return all + PAGE;
}

static void every_length(unsigned char *from, unsigned char *to)
{
	static const int offsets[] = {0, 1, 4, 7, 16, 33};
	size_t n, i;
	int k;

	for (n = 0; n < 2200; n += n < 300 ? 1 : 97)
		for (k = 0; k < 6; k++) {
			unsigned char *a = from + SPACE - n,
				      *b = to + SPACE - n -
			                   (size_t)offsets[k]; /* a ends where memory does */

			memset(to, 0xEE, SPACE);
			for (i = 0; i < n; i++)
				a[i] = (unsigned char)(i * 31 + n);
			CHECK(node_guarded_copy(b, a, n) == 0);
			CHECK(memcmp(a, b, n) == 0);
			CHECK(b[-1] == 0xEE && (offsets[k] == 0 || b[n] == 0xEE));
			memset(b, 0xEE, n);
			CHECK(node_guarded_string(b, a, n) == 0);
			CHECK(memcmp(a, b, n) == 0);
			CHECK(b[-1] == 0xEE && (offsets[k] == 0 || b[n] == 0xEE));
		}
}

static void bad_addresses(unsigned char *good, unsigned char *end)
{
	static const size_t lengths[] = {1,  2,  3,   5,    8,    12,   16,  31,
	                                 32, 33, 100, 1000, 1024, 4096, 8000};
	uint64_t old;
	size_t i;
	int op;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK(node_guarded_copy(end - lengths[i] + 1, good, lengths[i]) == 1);
		CHECK(node_guarded_copy(good, end - lengths[i] + 1, lengths[i]) == 1);
		CHECK(node_guarded_string(end - lengths[i] + 1, good, lengths[i]) == 1);
		CHECK(node_guarded_string(good, end - lengths[i] + 1, lengths[i]) == 1);
		CHECK(node_guarded_copy((void *)16, good, lengths[i]) == 1);
		/* Not canonical: the processor tells no address. */
		CHECK(node_guarded_copy((void *)0x0123456789abcdef, good, lengths[i]) == 1);
	}
	CHECK(node_guarded_copy(end, good, 0) == 0);
	CHECK(node_memory_at((uintptr_t)good) == good && node_memory_at(0) == NULL);
	if (sizeof(void *) == 4)
		CHECK(node_memory_at((uintptr_t)good | (uint64_t)1 << 32) == NULL &&
		      node_memory_at((uintptr_t)good | (uint64_t)1 << 63) == NULL);
	CHECK(node_guarded_count((int32_t *)end, 0) == 1);
	CHECK(node_guarded_count((int32_t *)end, 1) == 1);
	CHECK(node_guarded_count(NULL, 0) == 1);
	for (op = FETCH_AND_ADD; op <= COMPARE_AND_SWAP; op++) {
		CHECK(node_guarded_rmw(op, 4, end, 1, 0, &old) == 1);
		CHECK(node_guarded_rmw(op, 8, end, 1, 0, &old) == 1);
	}
}

/* The last byte is written last: a task that polls it sees the others. Here it cannot be written.
 * The bytes before it were, but for those that one store of 32 bytes writes together with it. */
static void last_byte_last(unsigned char *from, unsigned char *end)
{
	size_t n, together, i;

	for (i = 0; i < SPACE; i++)
		from[i] = (unsigned char)(i % 251 + 1);
	for (n = 2; n < 9000; n += n < 300 ? 1 : 97) {
		unsigned char *to = end - n + 1;

		together = n == 2 ? 2 : n < 4 ? 1 : n < 16 ? 8 : 32;
		memset(to, 0, n - 1);
		CHECK(node_guarded_copy(to, from, n) == 1);
		CHECK(n < together || memcmp(to, from, n - together) == 0);
	}
}

/* Signed numbers, also those whose other half would compare differently. */
static void combinations(void)
{
	static const struct {
		int op, width;
		uint64_t before, operand, after;
	} all[] = {
		{NODE_AND, 4, 0xfffffff0, 0x3c, 0x30},
		{NODE_AND, 8, 0xfffffffffffffff0, 0xff0000003c, 0xff00000030},
		{NODE_XOR, 4, 0xffffffff, 1, 0xfffffffe},
		{NODE_XOR, 8, 1, (uint64_t)1 << 63, (uint64_t)1 << 63 | 1},
		{NODE_MIN, 4, 5, 0xffffffff, 0xffffffff},
		{NODE_MIN, 4, 0x80000000, 7, 0x80000000},
		{NODE_MIN, 8, 5, (uint64_t)-6, (uint64_t)-6},
		{NODE_MIN, 8, 0xffffffff, 7, 7},
		{NODE_MAX, 4, 5, 0xffffffff, 5},
		{NODE_MAX, 4, 0x80000000, 7, 7},
		{NODE_MAX, 8, 5, (uint64_t)-6, 5},
		{NODE_MAX, 8, 7, 0xffffffff, 0xffffffff},
	};
	size_t i;

	for (i = 0; i < sizeof all / sizeof *all; i++) {
		uint32_t narrow = (uint32_t)all[i].before;
		uint64_t wide = all[i].before, old = 1;
		void *at = all[i].width == 8 ? (void *)&wide : &narrow;

		CHECK(node_guarded_rmw(all[i].op, all[i].width, at, all[i].operand, 0, &old) == 0);
		CHECK(old == all[i].before);
		CHECK((all[i].width == 8 ? wide : narrow) == all[i].after);
	}
}

static void atomics(void)
{
	int32_t counter = 41;
	uint32_t narrow = 0xfffffffe;
	uint64_t wide = 5, old = 0;

	CHECK(node_guarded_count(&counter, 0) == 0 && node_guarded_count(&counter, 1) == 0 &&
	      counter == 43);
	CHECK(node_guarded_rmw(FETCH_AND_ADD, 4, &narrow, 3, 0, &old) == 0 && old == 0xfffffffe &&
	      narrow == 1);
	CHECK(node_guarded_rmw(FETCH_AND_OR, 4, &narrow, 6, 0, &old) == 0 && old == 1 &&
	      narrow == 7);
	CHECK(node_guarded_rmw(SWAP, 4, &narrow, 0x80000000u, 0, &old) == 0 && old == 7 &&
	      narrow == 0x80000000u);
	CHECK(node_guarded_rmw(COMPARE_AND_SWAP, 4, &narrow, 9, 8, &old) == 0 &&
	      old == 0x80000000u && narrow == 0x80000000u);
	CHECK(node_guarded_rmw(COMPARE_AND_SWAP, 4, &narrow, 9, 0x80000000u, &old) == 0 &&
	      old == 0x80000000u && narrow == 9);
	CHECK(node_guarded_rmw(FETCH_AND_ADD, 8, &wide, ~(uint64_t)0, 0, &old) == 0 && old == 5 &&
	      wide == 4);
	CHECK(node_guarded_rmw(FETCH_AND_OR, 8, &wide, (uint64_t)1 << 40, 0, &old) == 0 &&
	      old == 4 && wide == ((uint64_t)1 << 40) + 4);
	CHECK(node_guarded_rmw(SWAP, 8, &wide, 1, 0, &old) == 0 && old == ((uint64_t)1 << 40) + 4 &&
	      wide == 1);
	CHECK(node_guarded_rmw(COMPARE_AND_SWAP, 8, &wide, 2, 1, &old) == 0 && old == 1 &&
	      wide == 2);
	CHECK(node_guarded_rmw(COMPARE_AND_SWAP, 8, &wide, 3, 1, &old) == 0 && old == 2 &&
	      wide == 2);
	combinations();
}

static void touch(void *at)
{
	++*(volatile unsigned char *)at;
}

/* A function that a fault ends, in a thread whose signals are as before; then a function without a
 * fault.
 */
static void calls(unsigned char *end)
{
	sigset_t mask, before;
	int i;

	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &before));
	for (i = 0; i < 3; i++) {
		end[-1] = 1;
		CHECK(node_guarded_call(touch, end) == 1);
		CHECK(node_bad_address((uintptr_t)end - 8, 16) == (uintptr_t)end);
		CHECK(node_guarded_call(touch, end - 1) == 0 && end[-1] == 2);
	}
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &mask));
	for (i = 1; i < 32; i++)
		CHECK(sigismember(&mask, i) == sigismember(&before, i));
}

/* Memory that a program names: each page counts, also for one byte, and nothing changes. */
static void probes(unsigned char *start)
{
	unsigned char *end = start + SPACE, *last = end - PAGE;
	size_t n;

	memset(start, 0xA5, SPACE);
	for (n = 4; n < SPACE; n += n < 12 ? 1 : 509) {
		CHECK(node_can_read(end - n, n) && node_can_write(end - n, n));
		CHECK(!node_can_read(end - n + 1, n) && !node_can_write(end - n + 1, n));
		CHECK(!node_can_read(start - 1, n) && !node_can_write(start - 1, n));
	}
	CHECK(!node_can_read(start - PAGE, 3 * PAGE)); /* the first alone */
	CHECK(!node_can_read(NULL, 8) && !node_can_write(NULL, 8));
	CHECK(!mprotect(last, PAGE, PROT_READ));
	CHECK(node_can_read(last - 7, 8) && !node_can_write(last - 7, 8));
	CHECK(node_can_write(last - 8, 8));
	CHECK(!node_can_write(last - PAGE - 1, PAGE + 2));
	CHECK(!mprotect(last, PAGE, PROT_READ | PROT_WRITE));
	for (n = 0; n < SPACE; n++)
		CHECK(start[n] == 0xA5);
}

static void raise_one(void *unused)
{
	(void)unused;
	raise(SIGSEGV);
}

void test_guard(void)
{
	unsigned char *from = fenced_memory(), *to = fenced_memory();
	/* The handler that the guard finds gets the faults that are not the guard's. */
	signal(SIGSEGV, see);
	node_guard_install();
	every_length(from, to);
	if (sizeof(void *) == 8)
		last_byte_last(from, to + SPACE);
	bad_addresses(from, to + SPACE);
	atomics();
	calls(to + SPACE);
	probes(from);
	CHECK(seen == 0);
	raise(SIGSEGV);
	CHECK(seen == SIGSEGV);
	seen = 0; /* nor is a signal that somebody sends */
	CHECK(node_guarded_call(raise_one, NULL) == 0 && seen == SIGSEGV);
	munmap(from - PAGE, SPACE + 2 * PAGE);
	munmap(to - PAGE, SPACE + 2 * PAGE);
}
