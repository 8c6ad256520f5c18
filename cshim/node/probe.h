/* probe.h - whether memory that a program names can be accessed. */
#ifndef CSHIM_NODE_PROBE_H
#define CSHIM_NODE_PROBE_H

#include "cpu/cpu.h"
#include "node/guard.h"
#include "node/segment.h"

/*
 * 1 if n bytes, at least 4, can be read; likewise written, if nothing else writes them at the same
 * time. A word of each page is tried.
 */
int node_can_read_pages(const void *at, size_t n);
int node_can_write_pages(void *at, size_t n);

/* Of at most a page the first and the last byte are tried. */
static inline __attribute__((always_inline)) int node_can_read(const void *at, size_t n)
{
	return n <= CSHIM_LEAST_PAGE ? node_readable(at) && node_readable((const char *)at + n - 1)
	                      : node_can_read_pages(at, n);
}

static inline __attribute__((always_inline)) int node_can_write(void *at, size_t n)
{
	return n <= CSHIM_LEAST_PAGE ? node_writable(at) && node_writable((char *)at + n - 1)
	                      : node_can_write_pages(at, n);
}

#endif
