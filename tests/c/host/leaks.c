/*
 * leaks.c - LAPI_Init and LAPI_Term many times leave no descriptor, no thread and no growing memory
 * behind.
 *
 * The run-time makes threads and takes memory at its own times, more where the machine is busy or
 * has many processors. A leak grows with each round: there are enough rounds, in several series,
 * for a leak to exceed that.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <time.h>

enum { SERIES = 3, ROUNDS = 20, MOST_KIB = 4096 };

static int task = -1;

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;
	if (!dir)
		return -1;
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static long resident_kib(void)
{
	char line[256];
	long kib = -1;
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "Private_Dirty: %ld", &kib) == 1)
			break;
	fclose(file);
	return kib;
}

static void rounds(int n)
{
	lapi_info_t info;
	lapi_handle_t h;
	int i;
	for (i = 0; i < n; i++) {
		host_info(&info);
		HOST_OK(LAPI_Init(&h, &info));
		if (host_case_failures)
			return;
		HOST_OK(LAPI_Qenv(h, TASK_ID, &task));
		host_use(h);
		HOST_OK(LAPI_Term(h));
	}
}

int main(void)
{
	int descriptors, threads, i, growing = 0;
	long kib, after;
	rounds(8); /* the run-time's own threads and memory settle */
	descriptors = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	kib = resident_kib();
	for (i = 0; i < SERIES; i++) {
		rounds(ROUNDS);
		after = resident_kib();
		growing += after > kib + MOST_KIB;
		fprintf(stderr, "task %d: %ld KiB of private memory, then %ld\n", task, kib, after);
		kib = after;
	}
	HOST_CHECK(entries("/proc/self/fd") <= descriptors);
	host_end_case("no_descriptor_is_left", task != 0);
	/* A detached thread may take a moment to go. */
	for (i = 0; i < 3000 && entries("/proc/self/task") > threads + ROUNDS; i++) {
		struct timespec rest = {0, 20000000};
		nanosleep(&rest, NULL);
	}
	HOST_CHECK(entries("/proc/self/task") <= threads + ROUNDS);
	host_end_case("no_thread_is_left", task != 0);
	HOST_CHECK(growing < SERIES);
	host_end_case("memory_does_not_grow", task != 0);
	return host_close("leaks", task != 0);
}
