/*
 * files.c - the files of an adapter. A program may close all descriptors, and give their numbers to
 * files of its own: from these nothing is taken, and none of them is closed. A file is known by its
 * inode, which those without a name (an eventfd, an epoll, some of the kernel's own) have in common.
 */
#include <poll.h>
#include <sys/stat.h>

#include "ibv/library.h"

void ibv_know(struct ibv_file *file, int number)
{
	struct stat st;

	*file = (struct ibv_file){.number = -1};
	if (number >= 0 && fstat(number, &st) == 0)
		*file = (struct ibv_file){number, st.st_dev, st.st_ino};
}

int ibv_is_ours(const struct ibv_file *file)
{
	struct stat st;

	return file->number < 0 || (fstat(file->number, &st) == 0 && st.st_dev == file->device &&
	                            st.st_ino == file->inode);
}

int ibv_has_some(const struct ibv_file *file)
{
	struct pollfd p = {.fd = file->number, .events = POLLIN};

	return file->number >= 0 && poll(&p, 1, 0) > 0 && ibv_is_ours(file);
}
