/*
 * entry.h - the node part as transport/shm calls it, through node.go: each function is one call out
 * of Go. Peers are named by ring. Results are those of send.h, receive.h, serve.h and put.h, and
 * the ones below.
 */
#ifndef NODE_ENTRY_H
#define NODE_ENTRY_H

#include "node/node.h"

/* Begins a message whose data Go writes: event.arrival says where header and data go. */
int node_link_begin(node_link *link, uint32_t ring, uint64_t header, uint64_t data);
/* Publishes it. */
int node_link_end(node_link *link, uint32_t ring, uint32_t kind, uint64_t header);
/* Sends a message whose header is the first bytes of link.out. */
int node_link_send(node_link *link, uint32_t ring, uint32_t kind, uint64_t header, uint64_t from,
                   uint64_t n);
/* The announcement of a new generation of the connection (NODE_KIND_EPOCH). */
int node_link_begin_epoch(node_link *link, uint32_t ring);

/*
 * A step of receiving. took: the outcome of the message that the previous step returned with
 * NODE_SOME or NODE_LATER. Looks for the next one, and deals with it if it is of message.h.
 */
#define NODE_LEFT 0 /* it is still there; or there was none */
#define NODE_TOOK 1 /* it was taken, and counts as received */
#define NODE_DROP 2 /* it was taken, and does not count */
/* or'd: messages are of an earlier generation, to be dropped up to the announcement */
#define NODE_SKIP 4
/* or'd: steps before, of this look at the ring, have brought messages */
#define NODE_RECEIVED 8
int node_link_step(node_link *link, uint32_t ring, uint32_t took);
#define NODE_EPOCH 32 /* the peer has announced a new generation */
/* The end of the steps for a ring. NODE_NONE has ended them. */
void node_link_stop(node_link *link, uint32_t ring, uint32_t took);

/* link.transfer goes on, one of these ways. */
#define NODE_IN_MESSAGES 0
#define NODE_COPY_TO 1
#define NODE_COPY_FROM 2
/* A get, in messages. NODE_ISSUED: event.done is the index of the operation. */
#define NODE_ASK 3
/* An operation on the word at remote: n is its width, at which one it is, notice its operands. */
#define NODE_OPERATE 4
/* The answer to a get: local, n and at, and for remote the token. */
#define NODE_ANSWER 5
/* Single copies without a notice. */
#define NODE_BARE_TO 6
#define NODE_BARE_FROM 7
int node_link_transfer(node_link *link, uint32_t ring, int how);
#define NODE_ISSUED 34
/* Makes everything that this process knows of a peer, and the ring in its own segment, as in the
 * beginning. */
void node_link_clear(node_link *link, uint32_t ring);

#endif
