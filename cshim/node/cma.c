/*
 * cma.c - copies straight between this process's memory and a peer's: cross-memory attach
 * (process_vm_readv, process_vm_writev). The peer takes no part.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "node/guard.h"
#include "node/put.h"

static ssize_t attach(pid_t pid, int read, const struct iovec *local, unsigned long locals,
                      const struct iovec *remote, unsigned long remotes)
{
	int saved = errno;
	ssize_t moved;

	do
		moved = read ? process_vm_readv(pid, local, locals, remote, remotes, 0)
		             : process_vm_writev(pid, local, locals, remote, remotes, 0);
	while (moved < 0 && errno == EINTR);
	if (moved < 0)
		moved = -errno;
	errno = saved;
	return moved;
}

/* One range on each side; *moved bytes were. The result is 0 or a negative error of the kernel's.
 */
static int attach_one(const node_peer *peer, int read, uint64_t local, uint64_t remote, uint64_t n,
                      uint64_t *moved)
{
	struct iovec here = {(void *)(uintptr_t)local, (size_t)n},
		     there = {(void *)(uintptr_t)remote, (size_t)n};
	ssize_t done = attach(peer->pid, read, &here, 1, &there, 1);

	*moved = done > 0 ? (uint64_t)done : 0;
	return done < 0 ? (int)done : 0;
}

/* 1 if n bytes at addr pass the end of this process's address space, or of any. */
static int beyond(uint64_t addr, uint64_t n)
{
	return addr + n < addr || addr + n > UINTPTR_MAX;
}

/* 1 if the first byte that could not be moved can be read: then its destination is at fault.
 * Reading the source is enough, and changes nothing. */
static int source_readable(node_link *link, const node_peer *peer, int read, uint64_t local,
                           uint64_t remote)
{
	unsigned char byte;
	uint64_t moved;

	if (!read)
		return !node_guarded_copy_short(&byte, (const void *)(uintptr_t)local, 1);
	return attach_one(peer, 1, (uintptr_t)&link->scratch, remote, 1, &moved) == 0 && moved == 1;
}

/* The link's word for an error of the kernel, which moved nothing between these addresses. */
static int explain(node_link *link, node_peer *peer, int error, int read, uint64_t local,
                   uint64_t remote)
{
	switch (-error) {
	case ESRCH:
		return NODE_GONE;
	case ENOMEM:
		return NODE_BUSY;
	case 0:
	case EFAULT:
	case EINVAL:
		break;
	default:
		/* EPERM, ENOSYS, or the error of a filter of system calls. It was permitted: the
		 * peer has changed its credentials, or this task has got a filter. */
		peer->direct = 0;
		return NODE_DENIED;
	}
	if (source_readable(link, peer, read, local, remote) == read) {
		link->event.addr = local;
		return NODE_BAD_LOCAL;
	}
	link->event.addr = remote;
	return NODE_BAD_REMOTE;
}

/* A system call is one packet of the statistics. */
static void count(node_link *link, int read, uint64_t moved)
{
	if (read) {
		link->packets_received++;
		link->data_received += moved;
	} else {
		link->packets_sent++;
		link->data_sent += moved;
	}
}

int node_copy(node_link *link, node_peer *peer, int read, node_transfer *t)
{
	if (!peer->direct)
		return NODE_DENIED;
	if (node_has_left(peer)) /* its memory may still be there */
		return NODE_GONE;
	link->event.addr = t->remote;
	if (beyond(t->remote, t->n))
		return NODE_BAD_REMOTE;
	link->event.addr = t->local;
	if (beyond(t->local, t->n))
		return NODE_BAD_LOCAL;
	while (t->at < t->n) {
		uint64_t n = t->n - t->at < NODE_COPY_MAX ? t->n - t->at : NODE_COPY_MAX, moved;
		int error = attach_one(peer, read, t->local + t->at, t->remote + t->at, n, &moved);

		if (error || moved == 0)
			return explain(link, peer, error, read, t->local + t->at,
			               t->remote + t->at);
		count(link, read, moved);
		t->at += moved;
	}
	return NODE_SENT;
}

/* It is no packet of the statistics, as the copies were counted. */
int node_tell_copied(node_link *link, node_peer *peer, uint32_t kind, uint64_t n,
                     const uint64_t notice[2])
{
	node_copied_header *header = node_short_begin(peer);

	if (!header)
		return NODE_BUSY;
	*header = (node_copied_header){n, {notice[0], notice[1]}};
	return node_short_end(link, peer, kind, sizeof(*header), 0);
}

int node_copy_to(node_link *link, node_peer *peer, node_transfer *t)
{
	int rc = node_copy(link, peer, 0, t);

	return rc == NODE_SENT ? node_tell_copied(link, peer, NODE_WRITTEN, t->n, t->notice) : rc;
}

int node_copy_from(node_link *link, node_peer *peer, node_transfer *t)
{
	uint64_t before = t->at;
	int rc = node_copy(link, peer, 1, t);

	peer->unsaid += t->at - before;
	if (rc != NODE_SENT || (t->notice[0] | t->notice[1]) == 0)
		return rc; /* bytes alone are no reason for a message */
	rc = node_tell_copied(link, peer, NODE_READ, peer->unsaid, t->notice);
	if (rc == NODE_SENT)
		peer->unsaid = 0;
	return rc;
}

int node_say_read(node_link *link, node_peer *peer)
{
	static const uint64_t none[2];
	int rc;

	if (peer->unsaid == 0)
		return NODE_SENT;
	rc = node_tell_copied(link, peer, NODE_READ, peer->unsaid, none);
	if (rc == NODE_SENT)
		peer->unsaid = 0;
	return rc;
}

#if UINTPTR_MAX > UINT32_MAX
_Static_assert(sizeof(struct iovec) == sizeof(node_range) &&
                       offsetof(struct iovec, iov_len) == offsetof(node_range, n),
               "one layout");
#define NARROWED(list, count, error) ((const struct iovec *)(const void *)(list))
#else
/* A list for the kernel where words have 32 bits. 1 if a range cannot even be named there. */
static int narrow(node_link *link, struct iovec *to, const node_range *from, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (beyond(from[i].addr, from[i].n)) {
			link->event.addr = from[i].addr;
			return 1;
		}
		to[i].iov_base = (void *)(uintptr_t)from[i].addr;
		to[i].iov_len = (size_t)from[i].n;
	}
	return 0;
}
#define NARROWED(list, count, error)                                 \
	({                                                           \
		/* of the function: a block's array would be gone */ \
		struct iovec *out = list##_out;                      \
		if (narrow(link, out, list, count))                  \
			return error;                                \
		(const struct iovec *)out;                           \
	})
#define NARROWS 1
#endif

int node_copy_ranges(node_link *link, node_peer *peer, int read, const node_range *local,
                     uint32_t locals, const node_range *remote, uint32_t remotes, uint64_t *moved)
{
	uint64_t least = local[0].n < remote[0].n ? local[0].n : remote[0].n;
	const struct iovec *here, *there;
	ssize_t done;
	int error;
#ifdef NARROWS
	struct iovec local_out[NODE_RANGES_MAX], remote_out[NODE_RANGES_MAX];
#endif

	*moved = 0;
	if (!peer->direct)
		return NODE_DENIED;
	if (node_has_left(peer))
		return NODE_GONE;
	there = NARROWED(remote, remotes, NODE_BAD_REMOTE);
	here = NARROWED(local, locals, NODE_BAD_LOCAL);
	done = attach(peer->pid, read, here, locals, there, remotes);
	if (done == -EFAULT || done == -EINVAL) {
		/* Some range is bad, maybe not the first: the kernel looks at all local ones before
		 * it copies. */
		error = attach_one(peer, read, local[0].addr, remote[0].addr,
		                   least < NODE_COPY_MAX ? least : NODE_COPY_MAX, moved);
	} else {
		error = done < 0 ? (int)done : 0;
		*moved = done > 0 ? (uint64_t)done : 0;
	}
	if (error || *moved == 0)
		return explain(link, peer, error, read, local[0].addr, remote[0].addr);
	count(link, read, *moved);
	return NODE_SENT;
}

int node_probe(node_link *link, const node_peer *peer, uint64_t addr, uint64_t cookie)
{
	uint64_t moved;

	link->scratch = ~cookie;
	return attach_one(peer, 1, (uintptr_t)&link->scratch, addr, sizeof(link->scratch),
	                  &moved) == 0 &&
	       moved == sizeof(link->scratch) && link->scratch == cookie;
}
