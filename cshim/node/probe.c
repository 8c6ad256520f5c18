/* probe.c - memory of a program's in several pages: can it be accessed? */
#include "node/probe.h"

enum { WORD = 4 };

/*
 * Where the word lies that comes after the one at this place: the first that has a byte of the next
 * page, and none beyond n. n: there is none.
 */
static size_t next_word(uintptr_t base, size_t at, size_t n)
{
	size_t next = at + WORD + CSHIM_LEAST_PAGE - 1 -
	              (base + at + WORD - 1) % CSHIM_LEAST_PAGE;

	if (next >= n)
		return n;
	return next + WORD <= n ? next : n - WORD;
}

int node_can_read_pages(const void *at, size_t n)
{
	size_t i;

	for (i = 0; i < n; i = next_word((uintptr_t)at, i, n))
		if (node_guarded_load((const char *)at + i))
			return 0;
	return 1;
}

int node_can_write_pages(void *at, size_t n)
{
	size_t i;

	for (i = 0; i < n; i = next_word((uintptr_t)at, i, n))
		if (node_guarded_keep((char *)at + i))
			return 0;
	return 1;
}
