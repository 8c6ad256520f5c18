/* limits.c - what the run-time needs, tried before it starts, and what it changes. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/resource.h>

#include "progress.h"
#include "steps.h"

int cshim_limits_allow(const char *api)
{
	int error = cshim_threads_probe();

	if (error != 0)
		cshim_start_say(api, "no more threads to be had: %s", strerror(error));
	return error == 0;
}

/* Under the mutex of the start. */
static struct rlimit saved;
static int is_saved;

void cshim_limits_save(void)
{
	is_saved = getrlimit(RLIMIT_NOFILE, &saved) == 0;
}

/* Go's package syscall raises the soft limit up to the hard one, and has no switch for that. */
void cshim_limits_restore(void)
{
	struct rlimit now;

	if (!is_saved || getrlimit(RLIMIT_NOFILE, &now) != 0)
		return;
	if (now.rlim_max == saved.rlim_max && now.rlim_cur > saved.rlim_cur) {
		now.rlim_cur = saved.rlim_cur;
		setrlimit(RLIMIT_NOFILE, &now);
	}
}
