/* steps.h - what stands around the start of the run-time, one function pair for each concern. */
#ifndef CSHIM_START_STEPS_H
#define CSHIM_START_STEPS_H

#include <sys/resource.h>

/* A line on stderr. */
void cshim_start_say(const char *api, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* runtime.c: Go's run-time itself. 0 where it is there without us (tests of Go packages). */
int cshim_runtime_is_dormant(void);
/* Takes the memory that the start needs; -1: there is none. */
int cshim_runtime_prepare(void);
/* Returns when all packages are initialised. limit: of descriptors, before the start. */
void cshim_runtime_start(const struct rlimit *limit);

/* go_signals.c: before the run-time starts. */
void cshim_go_signals_clear(void);

/* limits.c: 1 if the process may have the memory, threads and descriptors that the run-time
 * needs; else it writes a line. */
int cshim_limits_allow(const char *api);
/* Around the start, in which Go raises the soft limit of descriptors. *limit: 0 if unknown. */
void cshim_limits_save(struct rlimit *limit);
void cshim_limits_restore(const struct rlimit *limit);

/* reserve.c: before the start. Under a limit of address space Go maps what it uses only. */
void cshim_reserve_prepare(void);

#endif
