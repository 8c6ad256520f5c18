/*
 * removed.c - notices that the kernel takes an adapter away: `rdma link delete`, a driver that is
 * unloaded, a card that is pulled out.
 *
 * A driver that can end the contexts of its users has libibverbs report DEVICE_FATAL. Others, as
 * soft-RoCE's of Linux 6.1, report nothing: the kernel removes the device's file and waits until the
 * last process has closed it, and queue pairs work until then (tests/verbs/removed.c). So the file's
 * entry is looked for: when the kernel announces a removal, by a netlink socket that also wakes a
 * thread that sleeps; and once a second, since a container may get no announcements.
 */
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ibv/library.h"

enum { KERNEL_GROUP = 1, MESSAGE = 2048 };

/* The inode of the adapter's entry; 0: there is none. Another adapter of that name has another. */
static ino_t entry_of(const struct cshim_ibv *a)
{
	char path[sizeof "/sys/class/infiniband_verbs/" + sizeof a->context->device->dev_name];
	struct stat entry;

	snprintf(path, sizeof path, "/sys/class/infiniband_verbs/%s", a->context->device->dev_name);
	return stat(path, &entry) ? 0 : entry.st_ino;
}

void ibv_watch(struct cshim_ibv *a)
{
	struct sockaddr_nl at = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};

	a->entry = entry_of(a);
	if (!a->entry || a->cm) /* the connection manager has a file that becomes readable */
		return;
	int file = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
	                  NETLINK_KOBJECT_UEVENT);
	if (file >= 0 && bind(file, (struct sockaddr *)&at, sizeof at)) {
		close(file);
		file = -1;
	}
	ibv_know(&a->notices, file);
}

void ibv_unwatch(struct cshim_ibv *a)
{
	if (a->notices.number >= 0 && ibv_is_ours(&a->notices))
		close(a->notices.number);
	a->notices.number = -1;
}

/* 1 if the message announces that the adapter's file is removed: "remove@" and its path. The
 * entry itself goes a little later. */
static int announces(const struct cshim_ibv *a, const char *text)
{
	const char *name = strrchr(text, '/');

	return strncmp(text, "remove@", sizeof "remove@" - 1) == 0 && name &&
	       strcmp(name + 1, a->context->device->dev_name) == 0 &&
	       strstr(text, "/infiniband_verbs/");
}

static int announced(const struct cshim_ibv *a)
{
	char text[MESSAGE];
	struct sockaddr_nl from;
	int found = 0;
	ssize_t n;

	if (!ibv_has_some(&a->notices)) /* mostly nothing waits, which one call tells */
		return 0;
	do {
		socklen_t size = sizeof from;

		n = recvfrom(a->notices.number, text, sizeof text - 1, 0, (struct sockaddr *)&from, &size);
		if (n <= 0 || from.nl_pid != 0) /* only the kernel is believed */
			continue;
		text[n] = 0;
		found |= announces(a, text);
	} while (n > 0);
	return found;
}

int ibv_is_removed(struct cshim_ibv *a)
{
	struct timespec now;

	if (!a->entry)
		return 0;
	if (!announced(a)) {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
		if (now.tv_sec == a->looked)
			return 0;
		a->looked = now.tv_sec;
		if (entry_of(a) == a->entry)
			return 0;
	}
	a->entry = 0;
	return 1;
}
