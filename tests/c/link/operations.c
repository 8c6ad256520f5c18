/* operations.c - puts, gets and atomic operations of all tasks on all, with and without callbacks. */
#include "link_test.h"

#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 20, WORDS = 64 };

static char *memory, *local;
static lapi_link_handle_t *mine, *my_local, *theirs;
static int ended, wrong;

static void done(lapi_link_t *link, lapi_link_endpoint_t *ep, void *at, lapi_link_handle_t *handle,
                 void *context, void *data, int status)
{
	(void)at;
	wrong += link != lnk || lapi_link_task(ep) >= attr.tasks || handle != my_local ||
	         context != &ended || data != (void *)7 || status != LAPI_LINK_SUCCESS;
	ended++;
}
#define CALLBACK done, &ended, (void *)7

static void await(int n)
{
	while (ended < n)
		progress();
	CHECK(ended == n && !wrong);
	ended = 0;
}

static char value(uint32_t from, size_t i, size_t n)
{
	return (char)(from * 31 + i * 7 + n);
}

/* Each task writes to the next one, which checks the data, and reads it back. */
static void move(size_t n, int callback)
{
	uint32_t next = (attr.task + 1) % attr.tasks, before = (attr.task + attr.tasks - 1) % attr.tasks;
	uint64_t to = theirs[next].base + n % 5;

	memset(memory, 0, MOST + 8);
	barrier();
	for (size_t i = 0; i < n; i++)
		local[i] = value(attr.task, i, n);
	if (callback) {
		MUST(TRY(lapi_link_put(lnk, peer[next], local, to, my_local, &theirs[next], n, 0,
		                       CALLBACK)));
		await(1);
	} else {
		MUST(TRY(lapi_link_put(lnk, peer[next], local, to, my_local, &theirs[next], n, 0, NULL,
		                       NULL, NULL)));
		MUST(lapi_link_flush(lnk, n % 2 ? peer[next] : NULL));
	}
	barrier();
	for (size_t i = 0; i < n; i++)
		CHECK(memory[n % 5 + i] == value(before, i, n));
	CHECK(memory[n % 5 + n] == 0);
	memset(local, 0, n);
	if (callback) {
		MUST(TRY(lapi_link_get(lnk, peer[next], local, to, my_local, &theirs[next], n, 0,
		                       CALLBACK)));
		await(1);
	} else {
		MUST(TRY(lapi_link_get(lnk, peer[next], local, to, my_local, NULL, n, 0, NULL, NULL,
		                       NULL)));
		MUST(lapi_link_flush(lnk, peer[next]));
	}
	for (size_t i = 0; i < n; i++)
		CHECK(local[i] == value(attr.task, i, n));
	barrier();
}

/* Starts more operations than may be under way, without waiting in between. */
static void many(void)
{
	uint64_t *words = (uint64_t *)(void *)local;
	uint32_t next = (attr.task + 1) % attr.tasks;
	int n = 50000, callbacks = 0;

	memset(memory, 0, MOST);
	barrier();
	for (int i = 0; i < n; i++) {
		words[i % WORDS] = (uint64_t)i;
		if (i % 3) {
			MUST(TRY(lapi_link_put(lnk, peer[next], &words[i % WORDS],
			                       theirs[next].base + 8 * (uint64_t)(i % 1000), my_local,
			                       &theirs[next], 8, 0, NULL, NULL, NULL)));
		} else {
			MUST(TRY(lapi_link_get(lnk, peer[next], &words[WORDS + i % WORDS],
			                       theirs[next].base + 8000, my_local, &theirs[next], 8, 0,
			                       CALLBACK)));
			callbacks++;
		}
	}
	MUST(lapi_link_flush(lnk, NULL));
	await(callbacks);
	barrier();
}

/* Without progress no callback runs: then there is room for as many operations and no more. */
static void full(void)
{
	uint32_t next = (attr.task + 1) % attr.tasks;
	int n = 0, rc;

	barrier();
	while ((rc = lapi_link_put(lnk, peer[next], local, theirs[next].base, my_local, &theirs[next], 8,
	                           0, CALLBACK)) == LAPI_LINK_SUCCESS)
		n++;
	CHECK(rc == LAPI_LINK_OUT_OF_RESOURCE && n >= 1000 && n <= 100000 && ended == 0);
	await(n);
	barrier();
}

/* A child has no link: each call returns an error, and none waits. */
static void forked(void)
{
	lapi_link_handle_t *handle;
	lapi_link_endpoint_t *ep;
	int status;
	pid_t child;

	barrier();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(20);
		_exit(lapi_link_progress(lnk) != LAPI_LINK_ERROR ||
		      lapi_link_flush(lnk, NULL) != LAPI_LINK_ERROR ||
		      lapi_link_endpoint(lnk, 0, &ep) != LAPI_LINK_ERROR ||
		      lapi_link_register(lnk, local, 8, 0, &handle) != LAPI_LINK_ERROR ||
		      lapi_link_send(lnk, peer[0], 1, "x", 1, NULL, 0, NULL, NULL, NULL) !=
		              LAPI_LINK_ERROR ||
		      lapi_link_put(lnk, peer[0], local, theirs[0].base, NULL, NULL, 8, 0, NULL, NULL,
		                    NULL) != LAPI_LINK_ERROR ||
		      lapi_link_close(lnk) != LAPI_LINK_ERROR);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	barrier();
}

static int counted;

static void count(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                  size_t size, void *context)
{
	(void)link, (void)ep, (void)tag, (void)message, (void)size, (void)context;
	counted++;
}

/* lapi_link_progress returns how many callbacks it has run, and operations without one are none. */
static void progress_counts(void)
{
	enum { TAG = 3, MESSAGES = 40, OPERATIONS = 30 };
	uint32_t next = (attr.task + 1) % attr.tasks, before;
	int sum, rc;

	MUST(lapi_link_set_receive(lnk, TAG, count, NULL));
	barrier();
	before = own_callbacks;
	sum = counted; /* some may have come during the barrier */
	for (int i = 0; i < MESSAGES; i++)
		CHECK(lapi_link_send(lnk, peer[next], TAG, "x", 1, NULL, 0, NULL, NULL, NULL) ==
		      LAPI_LINK_DONE);
	for (int i = 0; i < OPERATIONS; i++) {
		MUST(lapi_link_put(lnk, peer[next], local, theirs[next].base, my_local, &theirs[next],
		                   8, 0, CALLBACK));
		MUST(lapi_link_put(lnk, peer[next], local, theirs[next].base, my_local, &theirs[next],
		                   8, 0, NULL, NULL, NULL));
	}
	while (counted < MESSAGES || ended < OPERATIONS) {
		rc = lapi_link_progress(lnk);
		CHECK(rc >= 0);
		sum += rc;
		CHECK((uint32_t)sum == (uint32_t)(counted + ended) + own_callbacks - before);
	}
	CHECK(counted == MESSAGES && ended == OPERATIONS);
	ended = 0;
	barrier();
}

/* All tasks on the words of task 0. */
static void atomics(uint32_t flags)
{
	uint64_t *words = (uint64_t *)(void *)memory, *old = (uint64_t *)(void *)local, at, mask;
	const int width = flags & LAPI_LINK_32BIT ? 4 : 8, n = 200;
	uint64_t bit = (uint64_t)1 << attr.task;

	mask = width == 4 ? UINT32_MAX : UINT64_MAX;
	memset(memory, 0, MOST);
	words[1] = mask; /* and */
	words[4] = (uint64_t)INT64_MAX & (mask >> 1);
	memset(local, 0, 1024);
	barrier();
	for (int i = 0; i < n; i++) {
		at = theirs[0].base;
		MUST(TRY(lapi_link_atomic_op(lnk, peer[0], at, &theirs[0], LAPI_LINK_ADD, 1, flags, NULL,
		                             NULL, NULL)));
		MUST(TRY(lapi_link_atomic_fop(lnk, peer[0], &old[1], at + 8, my_local, &theirs[0],
		                              LAPI_LINK_AND, ~bit, flags, CALLBACK)));
		MUST(TRY(lapi_link_atomic_op(lnk, peer[0], at + 16, &theirs[0], LAPI_LINK_OR, bit, flags,
		                             NULL, NULL, NULL)));
		MUST(TRY(lapi_link_atomic_fop(lnk, peer[0], &old[3], at + 24, my_local, &theirs[0],
		                              LAPI_LINK_XOR, bit, flags, NULL, NULL, NULL)));
		MUST(TRY(lapi_link_atomic_op(lnk, peer[0], at + 32, &theirs[0], LAPI_LINK_MIN,
		                             (uint64_t)-(int64_t)(attr.task + 1), flags, NULL, NULL,
		                             NULL)));
		MUST(TRY(lapi_link_atomic_op(lnk, peer[0], at + 40, &theirs[0], LAPI_LINK_MAX,
		                             attr.task + 1, flags, NULL, NULL, NULL)));
		MUST(TRY(lapi_link_atomic_fop(lnk, peer[0], &old[6], at + 48, my_local, &theirs[0],
		                              LAPI_LINK_SWAP, attr.task + 5, flags, CALLBACK)));
		MUST(lapi_link_flush(lnk, peer[0]));
		CHECK((old[6] & mask) < attr.tasks + 5);
		/* a counter by compare and swap */
		for (uint64_t seen = 0;;) {
			MUST(TRY(lapi_link_atomic_cswap(lnk, peer[0], &old[7], at + 56, my_local,
			                                &theirs[0], seen, seen + 1, flags, NULL, NULL,
			                                NULL)));
			MUST(lapi_link_flush(lnk, peer[0]));
			if ((old[7] & mask) == seen)
				break;
			seen = old[7] & mask;
		}
	}
	await(2 * n);
	barrier();
	if (attr.task == 0) {
		CHECK(words[0] == (uint64_t)n * attr.tasks);
		CHECK(words[1] == (mask & ~(((uint64_t)1 << attr.tasks) - 1)));
		CHECK(words[2] == ((uint64_t)1 << attr.tasks) - 1);
		CHECK(words[3] == 0); /* each an even number of times */
		CHECK(words[4] == ((uint64_t)-(int64_t)attr.tasks & mask));
		CHECK(words[5] == attr.tasks);
		CHECK(words[7] == (uint64_t)n * attr.tasks);
	}
	barrier();
}

static void refuses(void)
{
	lapi_link_handle_t narrow = theirs[0], *handle;
	lapi_link_config_t config = {.size = sizeof(config), .version = 99};
	lapi_link_t *other;

	CHECK(lapi_link_open(&config, &other) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_open(NULL, &other) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_endpoint(lnk, attr.tasks, &peer[0]) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_register(lnk, NULL, 8, 0, &handle) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_register(lnk, local, 8, 99, &handle) == LAPI_LINK_BAD_PARAM);
	narrow.size = 64;
	narrow.access = LAPI_LINK_REMOTE_READ;
#define PUT(at, handle, n)                                                                   \
	lapi_link_put(lnk, peer[0], local, at, my_local, handle, n, 0, CALLBACK)
	CHECK(PUT(narrow.base, &narrow, 8) == LAPI_LINK_BAD_PARAM); /* no right to write */
	narrow.access |= LAPI_LINK_REMOTE_WRITE;
	CHECK(PUT(narrow.base + 57, &narrow, 8) == LAPI_LINK_BAD_PARAM);
	CHECK(PUT(narrow.base - 1, &narrow, 8) == LAPI_LINK_BAD_PARAM);
	CHECK(PUT(narrow.base, &narrow, attr.put_limit + 1) == LAPI_LINK_BAD_PARAM);
	CHECK(PUT(narrow.base, NULL, attr.put_limit + 1) == LAPI_LINK_BAD_PARAM);
	narrow.version++;
	CHECK(PUT(narrow.base, &narrow, 8) == LAPI_LINK_BAD_PARAM);
	narrow.version--, narrow.handle_size -= 8;
	CHECK(PUT(narrow.base, &narrow, 8) == LAPI_LINK_BAD_PARAM);
	CHECK(theirs[0].version == LAPI_LINK_VERSION && theirs[0].handle_size == attr.handle_size);
	CHECK(PUT(0, NULL, 8) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_get(lnk, peer[0], local, theirs[0].base, my_local, &theirs[0], MOST + 9, 0,
	                    CALLBACK) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_get(lnk, peer[0], NULL, theirs[0].base, NULL, &theirs[0], 8, 0, CALLBACK) ==
	      LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_atomic_op(lnk, peer[0], theirs[0].base + 4, &theirs[0], LAPI_LINK_ADD, 1, 0,
	                          CALLBACK) == LAPI_LINK_NOT_SUPPORTED);
	CHECK(lapi_link_atomic_op(lnk, peer[0], theirs[0].base + 4, &theirs[0], (lapi_link_atomic_t)7,
	                          1, 0, CALLBACK) == LAPI_LINK_NOT_SUPPORTED);
	CHECK(lapi_link_atomic_op(lnk, peer[0], theirs[0].base, &theirs[0], LAPI_LINK_ADD, 1, 2,
	                          CALLBACK) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_send(lnk, peer[0], attr.tags, NULL, 0, NULL, 0, NULL, NULL, NULL) ==
	      LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_send(lnk, peer[0], 1, NULL, 0, local, attr.send_limit + 1, CALLBACK) ==
	      LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_send(lnk, peer[0], 1, local, attr.header_limit + 1, local, attr.copy_limit,
	                     CALLBACK) == LAPI_LINK_BAD_PARAM);
	CHECK(lapi_link_send(lnk, peer[0], 1, NULL, 0, local, attr.copy_limit + 1, NULL, NULL, NULL) ==
	      LAPI_LINK_BAD_PARAM);
	MUST(lapi_link_flush(lnk, NULL));
	CHECK(ended == 0);
	barrier();
}

int main(void)
{
	static const size_t sizes[] = {0, 1, 8, 100, 513, 4096, 16384, 65537, MOST};

	begin(NULL);
	memory = aligned_alloc(64, MOST + 64);
	local = aligned_alloc(64, MOST + 64);
	theirs = calloc(attr.tasks, sizeof(*theirs));
	CHECK(attr.handle_size <= 256 && attr.handle_size == sizeof(*theirs));
	MUST(lapi_link_register(lnk, local, MOST + 64, 0, &my_local));
	share(memory, MOST + 8,
	      LAPI_LINK_REMOTE_READ | LAPI_LINK_REMOTE_WRITE | LAPI_LINK_REMOTE_ATOMIC, &mine, theirs);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		section = "with callbacks";
		move(sizes[i], 1);
		section = "with flushes";
		move(sizes[i], 0);
	}
	section = "many";
	many();
	section = "atomics of 8 bytes";
	atomics(0);
	section = "atomics of 4 bytes";
	atomics(LAPI_LINK_32BIT);
	section = "progress's count";
	progress_counts();
	section = "no room";
	full();
	section = "a forked child";
	forked();
	section = "bad arguments";
	refuses();
	MUST(lapi_link_deregister(lnk, mine));
	MUST(lapi_link_deregister(lnk, my_local));
	end();
	return 0;
}
