/* btl_lapi_failures.c - what the link reports, which Open MPI gets in its progress. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "btl_lapi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opal/util/output.h"

/*
 * How long Open MPI does not learn of a failure, in seconds. Where a process was killed mpirun sees that
 * itself, and ends the job with the status that tells it; another process's abort must not come first.
 */
enum { GRACE = 2 };

typedef struct failure {
	struct failure *next;
	time_t when;
	int status;
	opal_proc_t *proc;
	char text[];
} failure;

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* The list, the oldest first, is under lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static failure *first, **last = &first;

/*
 * In any thread, at any time: as late as when Open MPI has unloaded the component whose function gets
 * this.
 */
void btl_lapi_failed(lapi_link_t *link, lapi_link_endpoint_t *ep, int status, const char *text,
                     void *context)
{
	size_t n = strlen(text) + 1;
	failure *f = malloc(sizeof *f + n);
	struct mca_btl_base_endpoint_t *mine = NULL;

	(void)link, (void)context;
	if (!f)
		return;
	if (ep && btl_lapi.endpoints)
		mine = btl_lapi.endpoints[liblapi.lapi_link_task(ep)];
	f->next = NULL;
	f->when = now();
	f->status = status;
	f->proc = mine ? mine->proc : NULL;
	memcpy(f->text, text, n);
	pthread_mutex_lock(&lock);
	*last = f;
	last = &f->next;
	pthread_mutex_unlock(&lock);
	__atomic_store_n(&btl_lapi.has_failures, 1, __ATOMIC_RELEASE);
}

/*
 * Whether MPI_Finalize has begun here, as it has where a process ends in good order: MPI_Finalize waits
 * until all have begun it. A message to a process that has ended is lost then, and no error: MPI does
 * not say that it is received. The state is libmpi's; a program without it has none.
 */
static int is_finalizing(void)
{
	enum { FINALIZE_STARTED = 3 }; /* OMPI_MPI_STATE_FINALIZE_STARTED */
	const int32_t *state = dlsym(RTLD_DEFAULT, "ompi_mpi_state");

	return state && __atomic_load_n(state, __ATOMIC_ACQUIRE) >= FINALIZE_STARTED;
}

int btl_lapi_report(void)
{
	int n = 0, quiet = btl_lapi.ends || is_finalizing();
	time_t until = now() - GRACE;
	failure *f;

	for (;; n++) {
		pthread_mutex_lock(&lock);
		f = first;
		if (f && !quiet && f->when >= until)
			f = NULL;
		if (f)
			first = f->next;
		if (!first)
			last = &first;
		__atomic_store_n(&btl_lapi.has_failures, first != NULL, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&lock);
		if (!f)
			return n;
		if (!quiet)
			opal_output(0, "btl lapi: %s", f->text);
		if (!quiet && btl_lapi.error && f->status == LAPI_LINK_UNREACHABLE)
			btl_lapi.error(&btl_lapi.base, MCA_BTL_ERROR_FLAGS_FATAL, f->proc,
			               (char *)"lapi");
		free(f);
	}
}
