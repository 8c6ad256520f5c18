/*
 * thread_func.h - what util.c and conditions.c share: the functions of LAPI_GET_THREAD_FUNC, and
 * threads to call them from.
 */
#ifndef THREAD_FUNC_H
#define THREAD_FUNC_H

#include "conform.h"

#include <errno.h>

static lapi_thread_func_t f;

static inline void get_functions(void)
{
	bzero(&f, sizeof f);
	f.Util_type = LAPI_GET_THREAD_FUNC;
	LAPI_OK(LAPI_Util(hndl, (lapi_util_t *)&f));
}

static inline pthread_t start(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, body, argument) != 0) {
		conform_failed(__FILE__, __LINE__, "no thread");
		exit(2);
	}
	return thread;
}

#endif
