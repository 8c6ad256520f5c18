/*
 * entry.h - the node part as transport/shm calls it, through node.go: each function is one call out
 * of Go. Peers are named by ring. Results are those of send.h, receive.h, serve.h and put.h, and
 * the ones below.
 */
#ifndef NODE_ENTRY_H
#define NODE_ENTRY_H

#include "node.h"

/* Begins a message whose data Go writes: event.body and event.bytes say where header and data go.
 */
int node_link_begin(node_link *link, uint32_t ring, uint64_t header, uint64_t data);
/* Publishes it. */
int node_link_end(node_link *link, uint32_t ring, uint32_t kind, uint64_t header);
/* Sends a message whose header is the first bytes of link.out. */
int node_link_send(node_link *link, uint32_t ring, uint32_t kind, uint64_t header, uint64_t from,
                   uint64_t n);
/* The announcement of a new epoch. */
int node_link_begin_epoch(node_link *link, uint32_t ring);

/*
 * A step of receiving. took: what became of the message that the step before returned with
 * NODE_SOME or NODE_LATER. Looks for the next one, and deals with it if it is of message.h.
 */
#define NODE_LEFT 0 /* it is still there; or there was none */
#define NODE_TOOK 1 /* it was taken, and counts as received */
#define NODE_DROP 2 /* it was taken, and does not count */
/* or'd: what comes is of an epoch before, to be dropped up to the announcement */
#define NODE_SKIP 4
/* or'd: steps before, of this look at the ring, have brought messages */
#define NODE_RECEIVED 8
int node_link_step(node_link *link, uint32_t ring, uint32_t took);
#define NODE_EPOCH 32  /* the peer has announced a new epoch */
#define NODE_OWNERS 33 /* an answer that the owner's fast path takes */
/* Takes the message out that the step before returned, without a look at the next. */
void node_link_taken(node_link *link, uint32_t ring, uint32_t took);
/* The end of the steps for a ring: some: messages came. */
void node_link_stepped(node_link *link, uint32_t ring, int some);

/* link.transfer goes on. how: NODE_IN_MESSAGES, NODE_COPY_TO or NODE_COPY_FROM. */
#define NODE_IN_MESSAGES 0
#define NODE_COPY_TO 1
#define NODE_COPY_FROM 2
int node_link_transfer(node_link *link, uint32_t ring, int how);
/* link.transfer's get, in messages: the index of the operation, or -1 without room, or -2 to a peer
 * that has left. */
int node_link_get(node_link *link, uint32_t ring);
/* Likewise an operation on the word at link.transfer's remote. */
int node_link_rmw(node_link *link, uint32_t ring, uint32_t operation, uint32_t width,
                  uint64_t operand, uint64_t compare);
/* Goes on with the answer to a get: link.transfer has local, n and at. */
int node_link_answer_get(node_link *link, uint32_t ring, uint32_t token);
/* Makes everything that this process knows of a peer, and the ring in its own segment, as in the
 * beginning. */
void node_link_clear(node_link *link, uint32_t ring);

#endif
