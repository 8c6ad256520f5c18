/*
 * no_threads.c - a system that has no more threads for this process: LAPI_Init returns an error,
 * and the program goes on. A filter of system calls stands for the limit.
 */
#define _GNU_SOURCE
#include "host.h"
#include "refuse.h"

#include <pthread.h>

static void *nothing(void *unused)
{
	return unused;
}

int main(void)
{
	lapi_info_t info;
	lapi_handle_t handle = 77;
	pthread_t thread;
	int i;

	if (refuse_calls(EAGAIN, SYS_clone, SYS_clone3) != 0) {
		printf("no_threads: 0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	HOST_CHECK(pthread_create(&thread, NULL, nothing, NULL) == EAGAIN);
	for (i = 0; i < 3; i++) {
		host_info(&info);
		HOST_CODE(LAPI_ERR_MEMORY_EXHAUSTED, LAPI_Init(&handle, &info));
	}
	HOST_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Probe(handle));
	host_end_case("init_without_threads", 0);
	return host_close("no_threads", 0);
}
