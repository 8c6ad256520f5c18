/*
 * exit.c - the end of a program that has groups of collectives. The other members must get
 * everything sent to them, and be notified of the end, though nothing of the library runs after it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "dat/godat.h"
#include "progress/lock.h"
#include "dat/api/block.h"

/* How often the lock is tried: a thread that exit has stopped in the library may have it. */
enum { TRIES = 1000, PAUSE_US = 1000 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t self;

static void leave(void)
{
	int i;

	if (getpid() != self) /* the child of a fork has no groups */
		return;
	for (i = 0; cshim_trylock(&dat_progress) != 0; i++) {
		if (i == TRIES)
			return;
		usleep(PAUSE_US);
	}
	if (CSHIM_OWN(dat_progress.state) == CSHIM_ACTIVE)
		godat_exit();
	cshim_lock_drop(&dat_progress);
}

static void at_exit(void)
{
	self = getpid();
	atexit(leave);
}

void dat_has_groups(void)
{
	pthread_once(&once, at_exit);
}
