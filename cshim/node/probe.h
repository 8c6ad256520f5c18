/* probe.h - whether memory that a program names can be accessed. */
#ifndef CSHIM_NODE_PROBE_H
#define CSHIM_NODE_PROBE_H

#include "node/guard.h"
#include "node/segment.h"

/*
 * 1 if n bytes, at least 4, can be read; likewise written, if nothing else writes them at the same
 * time. A word of each page is tried.
 */
int node_can_read_pages(const void *at, size_t n);
int node_can_write_pages(void *at, size_t n);

static inline int node_in_one_page(const void *at, size_t n)
{
	return ((uintptr_t)at & (NODE_PAGE - 1)) + n <= NODE_PAGE;
}

static inline int node_can_read(const void *at, size_t n)
{
	return node_in_one_page(at, n) ? !node_guarded_load(at) : node_can_read_pages(at, n);
}

static inline int node_can_write(void *at, size_t n)
{
	return node_in_one_page(at, n) ? !node_guarded_keep(at) : node_can_write_pages(at, n);
}

#endif
