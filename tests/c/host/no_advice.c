/*
 * no_advice.c - a kernel, or a filter of system calls, that refuses madvise and mlock: LAPI uses
 * them for hygiene only, and works without them. The trace uses madvise, too.
 */
#define _GNU_SOURCE
#include "host.h"
#include "refuse.h"

#include <sys/mman.h>

int main(void)
{
	lapi_info_t info;
	lapi_handle_t handle;
	char trace[256];

	if (refuse_calls(EINVAL, SYS_madvise, SYS_mlock) != 0) {
		printf("no_advice: 0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	HOST_CHECK(madvise(NULL, 0, MADV_DONTDUMP) == -1);
	setenv("MP_LAPI_TRACE_LEVEL", "1", 1);
	setenv("LAPI_TRACE_DIR", HOST_FOLDER, 1);
	host_info(&info);
	HOST_OK(LAPI_Init(&handle, &info));
	if (!host_case_failures) {
		host_use(handle);
		HOST_OK(LAPI_Term(handle));
	}
	snprintf(trace, sizeof trace, HOST_FOLDER "/lapi-trace.%s.%s", getenv("MP_PARTITION"),
	         getenv("MP_CHILD"));
	HOST_CHECK(unlink(trace) == 0);
	host_end_case("works_without_advice", 0);
	return host_close("no_advice", 0);
}
