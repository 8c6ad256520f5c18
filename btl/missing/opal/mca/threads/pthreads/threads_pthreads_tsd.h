/* threads_pthreads_tsd.h - nothing of it is used: see threads_pthreads_mutex.h. */
