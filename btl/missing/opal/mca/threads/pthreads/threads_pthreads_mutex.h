/*
 * threads_pthreads_mutex.h - what Open MPI 5.0's headers of components want from this file, which
 * Debian's libopenmpi-dev lacks. Used only where Open MPI has none of its own (-idirafter). The component uses
 * no mutex of Open MPI's: this lets opal/mca/threads/mutex.h compile.
 */
#ifndef BTL_LAPI_THREADS_PTHREADS_MUTEX_H
#define BTL_LAPI_THREADS_PTHREADS_MUTEX_H

#include <pthread.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t *mutex)
{
	return pthread_mutex_trylock(mutex) != 0;
}

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}

#endif
