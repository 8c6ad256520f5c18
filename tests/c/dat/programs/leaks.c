/*
 * leaks.c - 10,000 connections, one after the other, that end in different ways: the process has as
 * many file descriptors as before, hardly more memory, and everything can be freed.
 */
#include "pair.h"

#include <dirent.h>
#include <unistd.h>

enum { CYCLES = 10000, WARM = 3000 };
/* The most by which the heap of a process may grow that repeats the same cycle: a leak of 1 KiB a
 * cycle is more.
 */
static const long most = 5 << 20;

static pair p;

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CHECK(dir != NULL);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static long resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size, pages;

	CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

/* Ends the connection in a way that the number says, and makes the next one. */
static void again(int number)
{
	const DAT_CLOSE_FLAGS flags = number % 2 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG;

	if (number % 4 == 3) { /* of new endpoints */
		pair_close_side(&p.a);
		pair_event(p.b.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_close_side(&p.b);
		pair_side(&p, &p.a, 4);
		pair_side(&p, &p.b, 4);
	} else {
		MUST(dat_ep_disconnect(number % 4 == 2 ? p.a.ep : p.b.ep, flags));
		pair_event(p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_event(p.b.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
		MUST(dat_ep_reset(p.a.ep));
		MUST(dat_ep_reset(p.b.ep));
	}
	pair_connect(&p);
}

int main(void)
{
	int i, files = 0;
	long memory = 0;

	pair_open(&p, 4);
	for (i = 0; i < CYCLES; i++) {
		if (i == WARM) {
			files = descriptors();
			memory = resident();
		}
		again(i);
	}
	if (descriptors() != files || resident() - memory > most) {
		printf("%d descriptors, before %d; %ld bytes more\n", descriptors(), files,
		       resident() - memory);
		return 1;
	}
	pair_close(&p);
	puts("leaks: passed");
	return 0;
}
