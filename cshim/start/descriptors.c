/* descriptors.c - numbers 0, 1 and 2 are the program's, also where it has closed them. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "steps.h"

enum { STANDARD = 3 };

static int held[STANDARD], num_held; /* under the mutex of the start */

void cshim_descriptors_hold(void)
{
	int fd;

	/* open takes the lowest free number */
	for (num_held = 0; num_held < STANDARD; num_held++) {
		fd = eventfd(0, EFD_CLOEXEC);
		if (fd < 0)
			return;
		if (fd >= STANDARD) {
			close(fd);
			return;
		}
		held[num_held] = fd;
	}
}

void cshim_descriptors_release(void)
{
	while (num_held > 0)
		close(held[--num_held]);
}
