/*
 * routes.c - which way long data goes on a node follows what the machine is like, also when that
 * changes while the program runs. The program has process_vm_readv and process_vm_writev of its own
 * before the C library's: at first they take far longer than they should, then no time at all, as
 * they copy nothing, then far longer again. So the copies through shared memory must win, then the
 * kernel's, then again the others.
 */
#define _GNU_SOURCE
#include "host.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

enum {
	LENGTH = 64 << 10,
	SHORT = 4096,  /* up to here the calls are the kernel's: what is shorter goes by no route */
	WINDOW = 200,  /* transfers from count to count */
	WINDOWS = 400, /* at most: a route that was dear has its turn late */
	STEADY = 3,    /* windows, one after the other, that must be as they should */
	DEAR_US = 2000, /* more than a target takes that waits for a processor */
	DISTURBED = 40 /* preemptions a second; on an idle machine there are a few */
};

enum speed { DEAR, FREE };

static char mine[LENGTH], theirs[LENGTH];
static int speed; /* enum speed; task 0 writes that of both tasks */
static long calls;

static void spin(long us)
{
	struct timespec now, begin;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static ssize_t copied(long number, pid_t pid, const struct iovec *here, unsigned long heres,
                      const struct iovec *there, unsigned long theres, unsigned long flags)
{
	if (heres != 1 || theres != 1 || here->iov_len <= SHORT)
		return syscall(number, pid, here, heres, there, theres, flags);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&speed, __ATOMIC_RELAXED) == FREE)
		return (ssize_t)here->iov_len;
	spin(DEAR_US);
	return syscall(number, pid, here, heres, there, theres, flags);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                         const struct iovec *there, unsigned long theres, unsigned long flags)
{
	return copied(SYS_process_vm_readv, pid, here, heres, there, theres, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long heres,
                          const struct iovec *there, unsigned long theres, unsigned long flags)
{
	return copied(SYS_process_vm_writev, pid, here, heres, there, theres, flags);
}

/* Task 1's addresses. */
static struct {
	void *buffer, *speed, *calls;
} far;

static void wait_for(lapi_handle_t handle, lapi_cntr_t *counter)
{
	int value;
	HOST_OK(LAPI_Waitcntr(handle, counter, 1, &value));
}

static long calls_there(lapi_handle_t handle)
{
	lapi_cntr_t here;
	long n = 0;
	HOST_OK(LAPI_Setcntr(handle, &here, 0));
	HOST_OK(LAPI_Get(handle, 1, sizeof(n), far.calls, &n, NULL, &here));
	wait_for(handle, &here);
	return n;
}

static void set_speed(lapi_handle_t handle, int to)
{
	lapi_cntr_t done;
	HOST_OK(LAPI_Setcntr(handle, &done, 0));
	HOST_OK(LAPI_Put(handle, 1, sizeof(to), far.speed, &to, NULL, NULL, &done));
	wait_for(handle, &done);
	__atomic_store_n(&speed, to, __ATOMIC_RELAXED);
}

/* Calls of the kernel for a window of transfers, at both ends. */
static long window(lapi_handle_t handle, int get)
{
	long before = calls + calls_there(handle);
	lapi_cntr_t done;
	int i;

	for (i = 0; i < WINDOW; i++) {
		HOST_OK(LAPI_Setcntr(handle, &done, 0));
		if (get)
			HOST_OK(LAPI_Get(handle, 1, LENGTH, far.buffer, mine, NULL, &done));
		else
			HOST_OK(LAPI_Put(handle, 1, LENGTH, far.buffer, mine, NULL, NULL, &done));
		wait_for(handle, &done);
	}
	return calls + calls_there(handle) - before;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How often others were given this thread's processor before it was done. */
static long preemptions(void)
{
	struct rusage use;
	return getrusage(RUSAGE_THREAD, &use) == 0 ? use.ru_nivcsw : 0;
}

static void settles(lapi_handle_t handle, int get, int to, const char *name)
{
	int i, steady = 0;
	long n = -1, before = preemptions();
	double begin = seconds();

	set_speed(handle, to);
	for (i = 0; i < WINDOWS && steady < STEADY; i++) {
		n = window(handle, get);
		steady = (to == FREE ? n >= WINDOW * 9 / 10 : n <= WINDOW / 10) ? steady + 1 : 0;
	}
	/* A target that others keep from its processor is slow at random: nothing is settled then. */
	if (steady < STEADY && preemptions() - before > DISTURBED * (seconds() - begin)) {
		printf("  skip %s: other programs used the processors\n", name);
		return;
	}
	if (steady < STEADY)
		fprintf(stderr, "routes: %ld calls for %d transfers, after %d windows\n", n, WINDOW,
		        i);
	HOST_CHECK(steady == STEADY);
	host_end_case(name, 0);
}

static int processors(void)
{
	cpu_set_t may;
	return sched_getaffinity(0, sizeof(may), &may) == 0 ? CPU_COUNT(&may) : 1;
}

/* On one processor both ends never copy at the same time: the kernel's is the one way that is not
 * slow at random there. */
static void all(lapi_handle_t handle)
{
	int apart = processors() > 1, get;

	for (get = 0; get <= 1; get++) {
		if (apart)
			settles(handle, get, DEAR, get ? "get_dear_calls" : "put_dear_calls");
		settles(handle, get, FREE, get ? "get_calls_for_nothing" : "put_calls_for_nothing");
		if (apart)
			settles(handle, get, DEAR, get ? "get_dear_again" : "put_dear_again");
	}
	if (!apart)
		printf("routes: one processor: dear calls were not tried\n");
}

int main(void)
{
	void *buffers[2] = {NULL, NULL}, *speeds[2], *counts[2];
	lapi_handle_t handle;
	lapi_info_t info;
	int task;

	memset(&info, 0, sizeof(info));
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, 0));
	HOST_OK(LAPI_Address_init(handle, theirs, buffers));
	HOST_OK(LAPI_Address_init(handle, &speed, speeds));
	HOST_OK(LAPI_Address_init(handle, &calls, counts));
	far.buffer = buffers[1];
	far.speed = speeds[1];
	far.calls = counts[1];
	if (task == 0)
		all(handle);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Term(handle));
	return task == 0 ? host_close("routes", 0) : 0;
}
