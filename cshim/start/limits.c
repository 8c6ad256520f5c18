/* limits.c - the resources that the run-time needs, tried before it starts, and the limits that it
 * changes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "progress/progress.h"
#include "start/steps.h"

/*
 * Bytes that the run-time, a context and their threads map: Go's tables and heap, an arena of
 * malloc's, and the stacks of as many threads as the start and LAPI_Init may make.
 */
enum { TABLES_AND_HEAP = 96 << 20, MALLOC_ARENA = 64 << 20, THREADS = 10, OWN_STACK = 8 << 20 };
/* Those that the run-time has open at a time while it starts. */
enum { DESCRIPTORS = 8 };
/* Below this much each arena of malloc counts: by itself it makes one of 64 MiB for each thread. */
#define TIGHT ((rlim_t)1 << 30)

static size_t stack_of_thread(void)
{
	size_t bytes = OWN_STACK;
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes) == 0) {
		pthread_attr_getstacksize(&attributes, &bytes);
		pthread_attr_destroy(&attributes);
	}
	return bytes;
}

static void write_limit(char *text, size_t size, int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, size, "unlimited");
	else
		snprintf(text, size, "%llu MiB", (unsigned long long)limit.rlim_cur >> 20);
}

/* Private and writable, it counts for RLIMIT_AS and RLIMIT_DATA. Nothing is touched. */
static int memory_allows(const char *api)
{
	const size_t need = TABLES_AND_HEAP + MALLOC_ARENA + THREADS * stack_of_thread();
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *tried = mmap(NULL, need, PROT_READ | PROT_WRITE, flags, -1, 0);
	char space[32], data[32];

	if (tried != MAP_FAILED)
		return munmap(tried, need) == 0;
	write_limit(space, sizeof(space), RLIMIT_AS);
	write_limit(data, sizeof(data), RLIMIT_DATA);
	cshim_start_say(api,
	                "%zu MiB of address space are needed beside the program's, and are not to "
	                "be had: RLIMIT_AS (ulimit -v) is %s, RLIMIT_DATA (ulimit -d) %s",
	                need >> 20, space, data);
	return 0;
}

static int threads_allow(const char *api)
{
	int error = cshim_threads_probe();

	if (error == EPERM)
		cshim_start_say(api,
		                "the kernel refuses to make a thread: a filter of system calls that "
		                "has no clone3 must answer ENOSYS, for the C library asks no other call "
		                "after EPERM");
	else if (error != 0)
		cshim_start_say(api, "no more threads to be had (RLIMIT_NPROC, ulimit -u): %s",
		                strerror(error));
	return error == 0;
}

/* The run-time ends the process where its poller gets no descriptors. It raises the soft limit. */
static int descriptors_allow(const char *api)
{
	int files[DESCRIPTORS], n = 0, all;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_max - limit.rlim_cur >= (rlim_t)DESCRIPTORS)
		return 1;
	while (n < DESCRIPTORS && (files[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	all = n;
	while (n > 0)
		close(files[--n]);
	if (all < DESCRIPTORS)
		cshim_start_say(api,
		                "%d descriptors are needed, and only %d are to be had: "
		                "RLIMIT_NOFILE (ulimit -n) is %llu",
		                DESCRIPTORS, all, (unsigned long long)limit.rlim_cur);
	return all == DESCRIPTORS;
}

/* The run-time ends the process where it gets no random bytes. After ENOSYS it reads /dev/urandom. */
static int random_allows(const char *api)
{
	unsigned char byte;

	if (getrandom(&byte, 1, GRND_NONBLOCK) >= 0 || errno == ENOSYS || errno == EAGAIN)
		return 1;
	cshim_start_say(api, "the kernel refuses getrandom: %s", strerror(errno));
	return 0;
}

int cshim_limits_allow(const char *api)
{
	return memory_allows(api) && threads_allow(api) && descriptors_allow(api) &&
	       random_allows(api);
}

void cshim_limits_save(struct rlimit *limit)
{
	if (getrlimit(RLIMIT_NOFILE, limit) != 0)
		limit->rlim_cur = limit->rlim_max = 0;
#ifdef __GLIBC__
	struct rlimit space;

	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < TIGHT)
		mallopt(M_ARENA_MAX, 2);
#endif
}

/* Go's package syscall raises the soft limit up to the hard one, and has no switch for that. */
void cshim_limits_restore(const struct rlimit *limit)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_max == limit->rlim_max &&
	    now.rlim_cur > limit->rlim_cur) {
		now.rlim_cur = limit->rlim_cur;
		setrlimit(RLIMIT_NOFILE, &now);
	}
}
