/*
 * overrun.c - preloaded, gives the first completion queue of many entries OVERRUN_ROOM of them, so
 * that the kernel's adapter overruns it: libibverbs asks the kernel for a queue by ioctl.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

enum { MANY = 16 };

static void shrink(struct ib_uverbs_ioctl_hdr *h)
{
	const char *room = getenv("OVERRUN_ROOM");
	static int done;
	int i;

	if (!room || done || h->object_id != UVERBS_OBJECT_CQ ||
	    h->method_id != UVERBS_METHOD_CQ_CREATE)
		return;
	for (i = 0; i < h->num_attrs; i++)
		if (h->attrs[i].attr_id == UVERBS_ATTR_CREATE_CQ_CQE && h->attrs[i].data > MANY) {
			h->attrs[i].data = (__u64)atoi(room);
			done = 1;
		}
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, void *);
	void *argument;
	va_list list;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	if (request == RDMA_VERBS_IOCTL)
		shrink(argument);
	return next(fd, request, argument);
}
