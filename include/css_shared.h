/*
 * css_shared.h - types that LAPI shares with other communication libraries of the same process.
 *
 * lapi.h includes this file; programs seldom need it by itself. C89 with gnu extensions and later, C++98 and later.
 */
#ifndef CSS_SHARED_H
#define CSS_SHARED_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A task id: 0 to the number of tasks - 1. */
typedef int css_task_t;

/*
 * Kinds of communication device. LAPI_Init stores one in lapi_info_t's protocol: UDP_DEV for UDP/IP. All others
 * name hardware of the original systems and are kept so that programs which list them still compile.
 */
typedef enum {
	NULL_DEV = 0,
	TB2_DEV,
	TB3_DEV,
	TB3MX_DEV,
	TB3PCI_DEV,
	HAL_COL1,
	HAL_COL2,
	HAL_COLS,
	UDP_DEV,
	VIRTUAL_DEV,
	HAL_COR1,
	HAL_COR2,
	HAL_CORS,
	HAL_CAN,
	HAL_RCANF,
	HAL_RCANFR,
	HAL_RCANPFR,
	HAL_RES2,
	HAL_RES3,
	LAST_DEV
} css_dev_t;

/*
 * A function that each thread made by the library runs first, in that thread. Its arguments are the parm_ptr and
 * the extra_ptr of the com_thread_info_t below.
 */
typedef void(thread_init_fptr)(void *parm_ptr, void *extra_ptr);

/*
 * How to make the library's threads (lapi_info_t, lapi_thread_attr). The caller owns it and all that it points at,
 * and keeps both until LAPI_Init has returned.
 */
typedef struct {
	pthread_attr_t *thread_attr;        /* attributes of each thread; NULL: the system's defaults */
	thread_init_fptr *thread_init_func; /* run first in each thread; NULL: nothing */
	void *parm_ptr;                     /* first argument of thread_init_func */
	void *extra_ptr;                    /* second argument of thread_init_func */
} com_thread_info_t;

#ifdef __cplusplus
}
#endif

#endif
