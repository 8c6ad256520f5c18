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
 * Seconds by which the loss of a process is reported late to Open MPI. If a process was killed,
 * mpirun sees that itself, and ends the job with the process's status; another process's abort must
 * not come first. One rule for all ways: the link's error callback and operations that end with the
 * process are reported after this time; an operation that begins meanwhile finds no room, so that
 * Open MPI tries again; a flush lasts that long.
 */
enum { GRACE = 2 };

typedef struct failure {
	btl_lapi_news news;
	int status;
	opal_proc_t *proc;
	char text[];
} failure;

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1; /* never 0 */
}

/* The time when the loss of an endpoint's process was noticed: now, if it is new. */
static time_t lost(struct mca_btl_base_endpoint_t *ep)
{
	time_t before = 0, at = now();

	if (!ep || __atomic_compare_exchange_n(&ep->lost, &before, at, 0, __ATOMIC_RELAXED,
	                                       __ATOMIC_RELAXED))
		return at;
	return before;
}

/* The time when the latest loss was noticed: for a flush of all endpoints. */
static time_t latest(void)
{
	time_t at = 0, one;

	for (uint32_t i = 0; i < btl_lapi.attr.tasks; i++) {
		one = btl_lapi.endpoints[i] ? __atomic_load_n(&btl_lapi.endpoints[i]->lost, __ATOMIC_RELAXED) : 0;
		at = one > at ? one : at;
	}
	return at ? at : now();
}

static int is_over(time_t lost_at) { return now() - lost_at > GRACE; }

/* The list, about in the order of the losses, is under lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static btl_lapi_news *first, **last = &first;

void btl_lapi_later(struct mca_btl_base_endpoint_t *ep, btl_lapi_news *news)
{
	news->next = NULL;
	news->when = lost(ep);
	pthread_mutex_lock(&lock);
	*last = news;
	last = &news->next;
	pthread_mutex_unlock(&lock);
	__atomic_store_n(&btl_lapi.has_failures, 1, __ATOMIC_RELEASE);
}

static void report_failure(btl_lapi_news *news, int quiet)
{
	failure *f = (failure *)news;

	if (!quiet)
		opal_output(0, "btl lapi: %s", f->text);
	if (!quiet && btl_lapi.error && f->status == LAPI_LINK_UNREACHABLE)
		btl_lapi.error(&btl_lapi.base, MCA_BTL_ERROR_FLAGS_FATAL, f->proc, (char *)"lapi");
	free(f);
}

/*
 * Runs in any thread, at any time: even after Open MPI has unloaded the component whose function
 * gets the error.
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
	f->news.report = report_failure;
	f->status = status;
	f->proc = mine ? mine->proc : NULL;
	memcpy(f->text, text, n);
	btl_lapi_later(status == LAPI_LINK_UNREACHABLE ? mine : NULL, &f->news);
}

/*
 * Whether MPI_Finalize has begun here. If a process ends in good order it has: MPI_Finalize waits
 * until all have begun it. A message to an ended process is then lost without an error: MPI does
 * not promise that it is received. The state is libmpi's; a program without libmpi has none.
 */
static int is_finalizing(void)
{
	enum { FINALIZE_STARTED = 3 }; /* OMPI_MPI_STATE_FINALIZE_STARTED */
	const int32_t *state = dlsym(RTLD_DEFAULT, "ompi_mpi_state");

	return state && __atomic_load_n(state, __ATOMIC_ACQUIRE) >= FINALIZE_STARTED;
}

int btl_lapi_answer(struct mca_btl_base_endpoint_t *ep, int result)
{
	if (result == LAPI_LINK_UNREACHABLE && !is_finalizing() && !is_over(lost(ep)))
		return OPAL_ERR_OUT_OF_RESOURCE;
	return btl_lapi_code(result);
}

int btl_lapi_flushed(struct mca_btl_base_endpoint_t *ep, int result)
{
	const struct timespec pause = {0, 1000000};
	time_t at = 0;

	if (result == LAPI_LINK_UNREACHABLE)
		at = ep ? lost(ep) : latest();
	while (at && !is_finalizing() && !is_over(at)) {
		liblapi.lapi_link_progress(btl_lapi.link);
		nanosleep(&pause, NULL);
	}
	return btl_lapi_code(result);
}

int btl_lapi_report(void)
{
	int n = 0, quiet = btl_lapi.ends || is_finalizing();
	btl_lapi_news *news;

	for (;; n++) {
		pthread_mutex_lock(&lock);
		news = first;
		if (news && !quiet && !is_over(news->when))
			news = NULL;
		if (news)
			first = news->next;
		if (!first)
			last = &first;
		__atomic_store_n(&btl_lapi.has_failures, first != NULL, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&lock);
		if (!news)
			return n;
		news->report(news, quiet);
	}
}
