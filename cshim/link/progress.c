/* progress.c - callbacks, flushes. */
#include "link/link.h"

#include <stdlib.h>

static int has_ended(const link_op *op)
{
	return op->status != LAPI_LINK_SUCCESS || link_has_counted(op);
}

/* Moves what has ended of ep to a list, under the lock. 1: something is still under way. */
static int collect(lapi_link_endpoint_t *ep, link_list *over)
{
	int busy = 0;

	for (int kind = 0; kind < LINK_KINDS; kind++) {
		link_list *list = &ep->under_way[kind];
		link_op *op = list->first;

		for (; op && has_ended(op); op = list->first) {
			list->first = op->next;
			if (!op->next)
				list->last = NULL;
			op->next = NULL;
			link_append(over, op,
			            over->last ? (void **)&((link_op *)over->last)->next : NULL);
		}
		busy |= op != NULL;
	}
	return busy;
}

static link_op *take_ended(lapi_link_t *link)
{
	lapi_link_endpoint_t **at = &link->active, *ep;
	link_list over = {NULL, NULL};

	while ((ep = *at)) {
		if (collect(ep, &over)) {
			at = &ep->next_active;
			continue;
		}
		*at = ep->next_active;
		ep->listed = 0;
	}
	return over.first;
}

/* Messages without a handler wait in link->come. */
static link_message *take_messages(lapi_link_t *link)
{
	link_message *m = link->come.first, *next;
	link_list mine = {NULL, NULL}, stay = {NULL, NULL};

	for (; m; m = next) {
		link_list *list;

		m->call = link->tags[m->tag];
		list = m->call.receive ? &mine : &stay;
		next = m->next;
		m->next = NULL;
		link_append(list, m,
		            list->last ? (void **)&((link_message *)list->last)->next : NULL);
	}
	link->come = stay;
	return mine.first;
}

static int receive_all(lapi_link_t *link, link_message *m)
{
	link_message *next;
	int n = 0, report;

	for (; m; m = next, n++) {
		lapi_link_endpoint_t *ep = m->endpoint;

		next = m->next;
		m->call.receive(link, ep, m->tag, m->bytes, m->size, m->call.context);
		link_lock(link);
		ep->taken += m->size + LINK_COST;
		report = ep->taken - ep->taken_reported >= LINK_WINDOW / 4;
		if (report)
			ep->taken_reported = ep->taken;
		link_message_free(link, m);
		link_unlock(link);
		if (report)
			link_report(link, ep);
	}
	return n;
}

static int end_all(lapi_link_t *link, link_op *op)
{
	link_op *next;
	int n = 0;

	for (; op; op = next) {
		lapi_link_endpoint_t *ep = op->endpoint;
		uint32_t kind = op->kind;

		next = op->next;
		if (op->done) {
			op->done(link, ep, op->local, op->handle, op->context, op->data, op->status);
			n++;
		}
		link_lock(link);
		ep->ended[kind]++;
		if (op->status == LAPI_LINK_SUCCESS) {
			link_op_free(link, op);
		} else { /* LAPI may still write to its counter */
			op->next = link->lost;
			link->lost = op;
		}
		link_unlock(link);
	}
	return n;
}

int link_run(lapi_link_t *link)
{
	link_op *ended;
	link_message *come;

	if (!atomic_load_explicit(&link->news, memory_order_acquire))
		return 0;
	link_lock(link);
	ended = take_ended(link);
	come = take_messages(link);
	atomic_store_explicit(&link->news, link->active || link->come.first, memory_order_relaxed);
	link_unlock(link);
	return end_all(link, ended) + receive_all(link, come);
}

LINK_EXPORT int lapi_link_progress(lapi_link_t *link)
{
	int rc;

	if (!link)
		return LAPI_LINK_BAD_PARAM;
	rc = PLAPI_Probe(link->handle);
	if (rc != LAPI_SUCCESS)
		return link_result(rc);
	return link_run(link);
}

/* The operations at one endpoint that a flush waits for. */
typedef struct goal {
	int is;
	uint64_t begun[LINK_KINDS];
	uint32_t counted;
} goal;

static goal goal_of(const lapi_link_endpoint_t *ep)
{
	goal g = {.is = 1, .counted = ep->counted};

	for (int kind = 0; kind < LINK_KINDS; kind++)
		g.begun[kind] = ep->begun[kind];
	return g;
}

/*
 * 1: reached. *status: some operations without a callback have failed, now or since the last flush.
 * Under the lock.
 */
static int reached(lapi_link_endpoint_t *ep, const goal *g, int *status)
{
	for (int kind = 0; kind < LINK_KINDS; kind++)
		if ((int64_t)(ep->ended[kind] - g->begun[kind]) < 0)
			return 0;
	if ((int32_t)(ep->counted - link_uncounted(ep) - g->counted) < 0)
		return 0;
	if (ep->failed != ep->failed_reported)
		*status = ep->status == LAPI_LINK_SUCCESS ? LAPI_LINK_ERROR : ep->status;
	ep->failed_reported = ep->failed;
	return 1;
}

static int flush_one(lapi_link_t *link, lapi_link_endpoint_t *ep, const goal *g)
{
	int status = LAPI_LINK_SUCCESS, over, rc;

	for (;;) {
		link_lock(link);
		over = reached(ep, g, &status);
		link_unlock(link);
		if (over)
			return status;
		rc = lapi_link_progress(link);
		if (rc < 0)
			return rc;
	}
}

LINK_EXPORT int lapi_link_flush(lapi_link_t *link, lapi_link_endpoint_t *endpoint)
{
	int status = LAPI_LINK_SUCCESS, one;
	goal *goals, g;
	uint32_t task;

	if (!link || (endpoint && endpoint->link != link))
		return LAPI_LINK_BAD_PARAM;
	if (!link_usable(link))
		return LAPI_LINK_ERROR;
	if (endpoint) {
		link_lock(link);
		g = goal_of(endpoint);
		link_unlock(link);
		return flush_one(link, endpoint, &g);
	}
	goals = calloc(link->tasks, sizeof(*goals));
	if (!goals)
		return LAPI_LINK_OUT_OF_RESOURCE;
	link_lock(link);
	for (task = 0; task < link->tasks; task++)
		if (link->endpoints[task])
			goals[task] = goal_of(link->endpoints[task]);
	link_unlock(link);
	for (task = 0; task < link->tasks; task++)
		if (goals[task].is) {
			one = flush_one(link, link->endpoints[task], &goals[task]);
			status = status == LAPI_LINK_SUCCESS ? one : status;
		}
	free(goals);
	return status;
}
