/*
 * no_threads.c - a system that has no more threads for this process: LAPI_Init and dat_ia_open
 * return an error, and the program goes on. A filter of system calls stands for the limit.
 */
#define _GNU_SOURCE
#include "host.h"
#include "refuse.h"

#include <dat2/udat.h>
#include <pthread.h>

static void *nothing(void *unused)
{
	return unused;
}

static void open_adapter(void)
{
	DAT_IA_HANDLE adapter = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE events = DAT_HANDLE_NULL;

	HOST_CODE((int)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_DEVICE),
	          (int)dat_ia_open("ofa-v2-lo", 8, &events, &adapter));
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
	for (i = 0; i < 3; i++)
		open_adapter();
	host_end_case("adapter_without_threads", 0);
	return host_close("no_threads", 0);
}
