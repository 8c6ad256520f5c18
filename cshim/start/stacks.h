/*
 * stacks.h - what the program's signal handlers find in threads that enter Go: stacks of at least
 * 1 MiB above a guard page.
 */
#ifndef CSHIM_START_STACKS_H
#define CSHIM_START_STACKS_H

/* Before the run-time starts. */
void cshim_stacks_begin(void);

/* This thread is prepared, or is being. */
extern __thread int cshim_stacks_ready __attribute__((tls_model("initial-exec")));
void cshim_stacks_prepare(void);

/* Prepares the calling thread at its first entry into Go. */
static inline void cshim_stacks_enter(void)
{
	if (__builtin_expect(!cshim_stacks_ready, 0))
		cshim_stacks_prepare();
}

#endif
