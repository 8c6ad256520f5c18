/*
 * watch.h - reports changes of memory: that pages were unmapped, moved, or given back, so that the
 * memory an adapter has registered is no longer the memory the program sees. Knows nothing of the
 * rest of the library.
 *
 * The kernel reports by a userfaultfd, and makes the thread that changes memory wait until the
 * event was read. A thread of this part reads. It takes no lock, allocates nothing and runs nothing
 * of Go, so that it reads whatever the waiting thread holds: the context lock, malloc's, the
 * run-time's while the world is stopped.
 */
#ifndef CSHIM_WATCH_H
#define CSHIM_WATCH_H

#include <stddef.h>
#include <stdint.h>

typedef struct cshim_watch cshim_watch;

enum {
	CSHIM_WATCH_GONE = 1, /* lo to hi was unmapped */
	CSHIM_WATCH_TAKEN,    /* the pages of lo to hi are about to be given back (madvise) */
	CSHIM_WATCH_MOVED     /* lo to hi was moved to `to` (mremap) */
};

typedef struct {
	uint64_t kind, lo, hi, to;
} cshim_watch_event;

/* The results of cshim_watch_look, bits. */
enum {
	CSHIM_WATCH_SETTLED = 1, /* no change is under way that was not reported */
	CSHIM_WATCH_EVENTS = 2   /* cshim_watch_take has some */
};

/* NULL: *error is an errno, *step says of what. */
cshim_watch *cshim_watch_open(int *error, const char **step);

/* The mappings from lo to hi are watched, or no longer. 0 or an errno. Any thread. */
int cshim_watch_add(cshim_watch *watch, uint64_t lo, uint64_t hi);
int cshim_watch_remove(cshim_watch *watch, uint64_t lo, uint64_t hi);

/* One system call. One thread at a time, of this and cshim_watch_take. */
int cshim_watch_look(cshim_watch *watch);

/*
 * At most max events, in order. *lost: there were more than there was room for, so that anything
 * may have happened to any memory.
 */
size_t cshim_watch_take(cshim_watch *watch, cshim_watch_event *events, size_t max, int *lost);

/* Sleeps until there are events; 0 after cshim_watch_end. One thread. */
int cshim_watch_wait(cshim_watch *watch);
void cshim_watch_end(cshim_watch *watch);

/* After all others have returned, and with nothing watched. */
void cshim_watch_close(cshim_watch *watch);

#endif
