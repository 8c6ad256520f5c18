/*
 * descriptors.c - numbers 0, 1 and 2 are the program's, also where it has closed them: what it
 * prints must not go into a socket of the library's, nor end the process by SIGPIPE.
 *
 * A held number is a descriptor that only names a place (O_PATH): to read or write it fails with
 * EBADF, as if it were closed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "start.h"

enum { STANDARD = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int held[STANDARD], num_held, holders; /* under the mutex */

static void hold(void)
{
	int fd;

	/* open takes the lowest free number */
	for (num_held = 0; num_held < STANDARD; num_held++) {
		fd = open("/", O_PATH | O_CLOEXEC);
		if (fd < 0)
			return;
		if (fd >= STANDARD) {
			close(fd);
			return;
		}
		held[num_held] = fd;
	}
}

void cshim_descriptors_hold(void)
{
	pthread_mutex_lock(&mutex);
	if (holders++ == 0)
		hold();
	pthread_mutex_unlock(&mutex);
}

void cshim_descriptors_release(void)
{
	pthread_mutex_lock(&mutex);
	if (--holders == 0)
		while (num_held > 0)
			close(held[--num_held]);
	pthread_mutex_unlock(&mutex);
}
