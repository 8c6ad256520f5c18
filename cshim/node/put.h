/* put.h - puts of any length, and copies straight between two processes. Under the owner's lock. */
#ifndef NODE_PUT_H
#define NODE_PUT_H

#include "node/guard.h"
#include "node/op.h"

/* A transfer between memory of this task and of a peer's. at moves on; a transfer that found no
 * room goes on with another call. */
typedef struct node_transfer {
	uint64_t local, remote; /* addresses */
	uint64_t n;             /* bytes */
	uint64_t at;            /* bytes that went */
	uint64_t notice[2];     /* for the peer's owner */
} node_transfer;

/* Further results of a single-copy transfer, beside those of send.h. */
#define NODE_BAD_REMOTE 5 /* an address of the peer cannot be accessed: link->event.addr */
#define NODE_DENIED 6     /* the kernel does not permit it, any more */

/* A put of at most NODE_PUT_SHORT bytes, in one slot: NODE_SENT, or why nothing was done. */
#define NODE_PUT_SHORT (NODE_ONE_SLOT - sizeof(node_put_header))
static inline int node_put_short(node_link *link, node_peer *peer, uint64_t remote, uint64_t local,
                                 uint64_t n, uint64_t notice0, uint64_t notice1)
{
	node_put_header *header = node_short_begin(peer);

	if (!header)
		return NODE_BUSY;
	*header = (node_put_header){remote, {notice0, notice1}};
	if (node_guarded_copy_short(header + 1, (const void *)(uintptr_t)local, n))
		return NODE_BAD_LOCAL;
	return node_short_end(link, peer, NODE_PUT, sizeof(*header), n);
}

/* A put in messages: whole, or in parts through chunks so that both ends copy at once. streamed:
 * the target's stores pass its caches. NODE_SENT: all went. */
int node_put(node_link *link, node_peer *peer, node_transfer *put, int streamed);

/*
 * cma.c: single-copy transfers (cross-memory attach): to the peer, or from it. The notice follows
 * by a message; for that alone at may be n and the result NODE_BUSY. A transfer without bytes is a
 * notice alone.
 */
int node_copy_to(node_link *link, node_peer *peer, node_transfer *transfer);
int node_copy_from(node_link *link, node_peer *peer, node_transfer *transfer);
/* Moves the rest of a transfer, to the peer or (read) from it, without a notice. */
int node_copy(node_link *link, node_peer *peer, int read, node_transfer *transfer);
/* The message of n bytes moved: NODE_WRITTEN, NODE_READ or NODE_HALF. */
int node_tell_copied(node_link *link, node_peer *peer, uint32_t kind, uint64_t n,
                     const uint64_t notice[2]);
/* Bytes of a transfer of n that the origin moves, of two halves: a part that both ends know, whatever the
 * kernel's pages are. */
#define NODE_HALF_STEP 4096
static inline uint64_t node_first_half(uint64_t n)
{
	return n / 2 & ~(uint64_t)(NODE_HALF_STEP - 1);
}

/*
 * pull.c: a put of which the peer reads all, or (halves) the second half while this task writes the
 * first. The operation, whose tags are the caller's to fill, or NULL: there is no room, or the peer
 * has left, and nothing was done. The answer ends it (node_serve): NODE_ANSWERED, or
 * NODE_AGAIN. Until then the data must stay as it is.
 */
node_op *node_pulled_put(node_link *link, node_peer *peer, uint8_t by, const node_transfer *put,
                         int halves);
/*
 * push.c: likewise a get of which the peer writes all, or (halves) the second half while this task
 * reads the first. Without a notice if halves: the peer would give it while this task still reads.
 * The answer ends it as that of node_get.
 */
node_op *node_pushed_get(node_link *link, node_peer *peer, uint8_t by, const node_transfer *get,
                         int halves);
/*
 * Nothing that the peer was asked to write to this process's memory is written once this has
 * returned. A copy that is under way is waited for, as long as one may take: a peer that was
 * stopped within the few instructions between its look and its copy, for longer than that, copies
 * late.
 */
void node_sever(const node_peer *peer);
/* The same wait alone, before which a full barrier orders earlier stores: while a word of the
 * peer's that is odd stays as it is. */
void node_await_copy(const node_peer *peer, const uint32_t *word);
/* Reports to the peer how many bytes were read of it, if that is not done yet. */
int node_say_read(node_link *link, node_peer *peer);

/* The kernel's iovec where words have 64 bits; where they have 32 the functions narrow it. */
typedef struct node_range {
	uint64_t addr, n;
} node_range;

/*
 * Moves the bytes of one list of ranges to another, up to the kernel's limit for one call: *moved
 * bytes. Neither list is empty, both have at most NODE_RANGES_MAX. read: from the peer's memory to
 * this process's.
 */
#define NODE_RANGES_MAX 1024
int node_copy_ranges(node_link *link, node_peer *peer, int read, const node_range *local,
                     uint32_t locals, const node_range *remote, uint32_t remotes, uint64_t *moved);
/* 1 if cross-memory attach reaches the process that says it has cookie at addr. */
int node_probe(node_link *link, const node_peer *peer, uint64_t addr, uint64_t cookie);

#endif
