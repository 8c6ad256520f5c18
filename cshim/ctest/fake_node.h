/* fake_node.h - two ends of one node link in this process, as transport/shm makes them: segments,
 * rings, chunk areas. */
#ifndef CTEST_FAKE_NODE_H
#define CTEST_FAKE_NODE_H

#include <stddef.h>

#include "node/node.h"

/* The thread sanitizer knows no membarrier: senders have barriers of their own under it. */
#if defined(__SANITIZE_THREAD__)
#define FAKE_NODE_FENCED 1
#else
#define FAKE_NODE_FENCED 0
#endif

/* Makes both ends anew; bells are the eventfds that wake task 0 and 1. Nothing else may use them
 * meanwhile. */
void fake_node_make(const int bells[2]);
/* The same without bells: each end can copy to and from the other's memory. source gets n bytes
 * that differ, sink n zeroes. */
void fake_node_make_direct(unsigned char *source, unsigned char *sink, size_t n);
/* A task's end, and its state of the other task. */
node_link *fake_node_link(int task);
node_peer *fake_node_peer(int task);

#endif
