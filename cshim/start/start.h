/*
 * start.h - core's run-time (Go's) starts at a process's first call that needs it. Before that the
 * library is C without a thread, a descriptor or a signal handler: the program's calls until then
 * (fork, daemon, limits, signal masks) work as without the library, and each process that a fork
 * has made before it may start a run-time of its own.
 */
#ifndef CSHIM_START_H
#define CSHIM_START_H

/* Why the run-time is not there. */
enum {
	CSHIM_STARTED,
	CSHIM_START_FORKED, /* a parent process has started it: nothing but exec works here */
	CSHIM_START_LIMITS, /* the process may not have the memory or threads; stderr has a line */
};

extern int cshim_start_state; /* atomic */
enum { CSHIM_START_NONE, CSHIM_START_UNDER_WAY, CSHIM_START_DONE, CSHIM_START_LOST };

int cshim_start_now(const char *api);

/*
 * Starts it, once a process. Any thread; others that come meanwhile wait. An API calls it before
 * anything else of core, and returns its documented error if that fails; a later call tries again.
 * The line on stderr begins with api. Whatever calls into Go without it passes the same gate
 * (__wrap__cgo_wait_runtime_init_done), but cannot be refused there: the process ends.
 */
static inline int cshim_start(const char *api)
{
	/* acquire pairs with the release of the thread that has started it */
	if (__builtin_expect(__atomic_load_n(&cshim_start_state, __ATOMIC_ACQUIRE) ==
	                             CSHIM_START_DONE,
	                     1))
		return CSHIM_STARTED;
	return cshim_start_now(api);
}

/*
 * Between the two no descriptor that anybody opens is 0, 1 or 2, also where the program has closed
 * these: around calls that open the library's. Any thread, also several at once.
 */
void cshim_descriptors_hold(void);
void cshim_descriptors_release(void);

/*
 * After the start, while the soft limit is raised: the descriptors of the run-time's poller get
 * numbers from least on.
 */
void cshim_descriptors_move_runtime(int least);
/*
 * 0: the program has closed them, for which the run-time would end the process at its next look.
 * Then repair_runtime gives it an epoll descriptor and an eventfd as netpollinit makes them.
 */
int cshim_descriptors_runtime_works(void);
void cshim_descriptors_repair_runtime(int poller, int bell);

/* atomic: 1 in the child of a fork that came after the start, or during it */
extern int cshim_forked;

#endif
