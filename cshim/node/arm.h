/* arm.h - before this task sleeps, and after. Under the owner's lock. segment.h has the rules. */
#ifndef NODE_ARM_H
#define NODE_ARM_H

#include "node/node.h"

/*
 * The barrier between this task's store of a word that says that it will not look, and its last
 * look: the look sees whatever a peer stored before the peer loads that word, or else the peer sees
 * the word. 0 if the barrier fails: the program has installed a filter of system calls since the
 * peers were notified that they need no barrier. From then on rings do not go cold, and no sleep is
 * longer than NODE_LOOK_AGAIN_NS.
 */
int node_order_peers(node_link *link);

/*
 * Arms this task: from here on a peer with news for it rings its bell; node_arm sees the news that
 * were there before. 1: a ring holds a message, or there is room again, so do not sleep; the task
 * is armed nevertheless.
 */
int node_arm(node_link *link);
/* Awake again. A peer that is slow may ring after this: then the next sleep is short. */
void node_disarm(node_link *link);

/*
 * 1 if everything sent to a peer before slot index mark was accepted, 0 if not yet, NODE_GONE and
 * NODE_NONSENSE as in send.h.
 */
int node_flushed(const node_peer *peer, uint64_t mark);

/* 1 if a peer has yet to consume something. */
int node_is_behind(node_peer *peer);
/*
 * 1 if something is due from a peer: it has not consumed all that was sent to it, or not answered
 * an operation. *heard changes whenever it does either.
 */
int node_is_due(node_link *link, node_peer *peer, uint64_t *heard);
/* 1 if a peer has left, and all that it sent was received. */
int node_is_over(const node_peer *peer);
/* This task reads no more: says so, and has all peers look (pending). After the last consumed and
 * held, see node_flushed. */
void node_leave(node_link *link);
/* Sends an empty message: a peer that looks at its ring consumes it. */
int node_ask(node_link *link, node_peer *peer);

#endif
