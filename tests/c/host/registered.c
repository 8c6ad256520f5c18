/*
 * registered.c - the library registers the process for the kernel's barriers (membarrier) while it
 * has one thread. Later that would take the kernel ten milliseconds and more at each task's start.
 * This program sees the library's system calls: its syscall takes the place of the C library's.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>

enum { GLOBAL = 1 << 2, PRIVATE = 1 << 4 }; /* the commands that register */

static int with_one, with_more; /* the commands that came, by the number of threads then */

static int threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		n += entry->d_name[0] != '.';
	closedir(folder);
	return n;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6];
	va_list list;
	int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_membarrier && (a[0] == GLOBAL || a[0] == PRIVATE))
		__atomic_or_fetch(threads() == 1 ? &with_one : &with_more, (int)a[0],
		                  __ATOMIC_ACQ_REL);
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int main(void)
{
	lapi_handle_t handle;
	lapi_info_t info;
	int task = 0;

	HOST_CHECK(with_one == 0); /* nothing runs at load */
	memset(&info, 0, sizeof info);
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_CHECK(with_one == (GLOBAL | PRIVATE));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_CHECK(with_more & GLOBAL); /* else this program has not looked at what the library does */
	host_end_case("registered for barriers before there are threads", task != 0);
	HOST_OK(LAPI_Term(handle));
	return host_close("registered", task != 0);
}
