/* threads_pthreads_threads.h - see threads_pthreads_mutex.h. */
#ifndef BTL_LAPI_THREADS_PTHREADS_THREADS_H
#define BTL_LAPI_THREADS_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void)
{
	sched_yield();
}

#endif
