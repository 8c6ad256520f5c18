/*
 * btl_lapi.h - an Open MPI component that moves data by lapi_link.h, and by it alone: one transfer
 * layer for MPI and LAPI (docs/mpi.md). One source for Open MPI 4.1 (BTL 3.1) and 5.0 (BTL 3.3).
 */
#ifndef BTL_LAPI_H
#define BTL_LAPI_H

#include <lapi_link.h>
#include <time.h>

#include "opal_config.h"

#include "opal/datatype/opal_convertor.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/util/proc.h"

/* A region's handle is the link's. */
struct mca_btl_base_registration_handle_t {
	lapi_link_handle_t link;
};

typedef struct mca_btl_base_endpoint_t mca_btl_base_endpoint_t;

struct mca_btl_base_endpoint_t {
	lapi_link_endpoint_t *link;
	opal_proc_t *proc;
	time_t lost; /* when it was noticed that the process is lost; 0: it is not; atomic */
};

/* An event that Open MPI gets later; the first member of its record. report frees it; quiet:
 * without reporting it. */
typedef struct btl_lapi_news {
	struct btl_lapi_news *next;
	time_t when;
	void (*report)(struct btl_lapi_news *, int quiet);
} btl_lapi_news;

/* A descriptor with its memory behind it. */
typedef struct btl_lapi_fragment {
	mca_btl_base_descriptor_t base;
	btl_lapi_news news; /* it was not sent */
	mca_btl_base_segment_t segment;
	struct mca_btl_base_endpoint_t *endpoint;
	char memory[];
} btl_lapi_fragment;

/* The callback of an operation, between its begin and its end. */
typedef struct btl_lapi_operation {
	btl_lapi_news news; /* it has failed */
	struct mca_btl_base_endpoint_t *endpoint;
	mca_btl_base_rdma_completion_fn_t done;
	void *context, *data, *local;
	struct mca_btl_base_registration_handle_t *handle;
} btl_lapi_operation;

/* Changed by MPI_Init and MPI_Finalize, and endpoints by add_procs; Open MPI calls these one at a time. */
typedef struct btl_lapi_module {
	mca_btl_base_module_t base;
	lapi_link_t *link; /* NULL: the component does not take part */
	lapi_link_attr_t attr;
	struct mca_btl_base_endpoint_t **endpoints; /* by task */
	mca_btl_base_module_error_cb_fn_t error;
	int instance;  /* parameter: the LAPI instance */
	int ends;         /* 1: nothing calls Open MPI any more */
	int has_failures; /* atomic: btl_lapi_report has something to report */
	char why[512]; /* the reason, where link is NULL */
} btl_lapi_module;

/* The functions of lapi_link.h, in the library that was loaded. */
#define BTL_LAPI_CALLS(X)                                                                         \
	X(lapi_link_open)                                                                         \
	X(lapi_link_close)                                                                        \
	X(lapi_link_query)                                                                        \
	X(lapi_link_endpoint)                                                                     \
	X(lapi_link_task)                                                                         \
	X(lapi_link_register)                                                                     \
	X(lapi_link_deregister)                                                                   \
	X(lapi_link_put)                                                                          \
	X(lapi_link_get)                                                                          \
	X(lapi_link_atomic_op)                                                                    \
	X(lapi_link_atomic_fop)                                                                   \
	X(lapi_link_atomic_cswap)                                                                 \
	X(lapi_link_set_receive)                                                                  \
	X(lapi_link_send)                                                                         \
	X(lapi_link_flush)                                                                        \
	X(lapi_link_progress)

typedef struct btl_lapi_library {
#define POINTER(call) __typeof__(call) *call;
	BTL_LAPI_CALLS(POINTER)
#undef POINTER
	const char *path;
} btl_lapi_library;

extern btl_lapi_library liblapi;
extern btl_lapi_module btl_lapi;
extern mca_btl_base_component_t mca_btl_lapi_component;

/* btl_lapi.c: the functions of the module. */
void btl_lapi_set_functions(mca_btl_base_module_t *module);
int btl_lapi_listen(void);
/* Open MPI's code for a result of lapi_link.h. */
int btl_lapi_code(int result);
/* btl_lapi_library.c: sets liblapi, or fails with one line of room bytes in why. */
int btl_lapi_load(char *why, size_t room);
/*
 * btl_lapi_failures.c: the link's error callback, and the reports in Open MPI's progress, with
 * their number. Open MPI learns that a process is lost only through these functions: btl_lapi_later
 * for operations that ended with their process, reported by btl_lapi_report; btl_lapi_answer for
 * the result of a call that starts an operation, and btl_lapi_flushed for that of a flush.
 */
lapi_link_error_t btl_lapi_failed;
int btl_lapi_report(void);
void btl_lapi_later(struct mca_btl_base_endpoint_t *endpoint, btl_lapi_news *news);
int btl_lapi_answer(struct mca_btl_base_endpoint_t *endpoint, int result);
int btl_lapi_flushed(struct mca_btl_base_endpoint_t *endpoint, int result);
/* btl_lapi_component.c: 1 if a process takes part; then *task is its task. */
int btl_lapi_offered(opal_proc_t *proc, uint32_t *task);

#endif
