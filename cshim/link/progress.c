/* progress.c - callbacks, flushes. */
#include "link/link.h"

#include "lane/lane_send.h"
#include "lapi/waits.h"

#include <stdlib.h>

static int has_ended(const link_op *op)
{
	return op->status != LAPI_LINK_SUCCESS || link_has_counted(op);
}

/* Moves the operations of ep that have ended to a list, under the lock. 1: something is still under
 * way. */
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

enum { BATCH = 16 }; /* callbacks after which the lock is taken, to free their operations */

/* Messages whose callbacks have run; to: those that it goes on with. Some tasks are sent a report. */
static void free_received(lapi_link_t *link, link_message *m, const link_message *to)
{
	link_message *next;

	link_lock(link);
	for (; m != to; m = next) {
		lapi_link_endpoint_t *ep = m->endpoint;

		next = m->next;
		ep->taken += m->size + LINK_COST;
		link_message_free(link, m);
		if (ep->taken - ep->taken_reported >= LINK_WINDOW / 4)
			link_report(link, ep);
	}
	link_unlock(link);
}

static int receive_all(lapi_link_t *link, link_message *m)
{
	link_message *first;
	int n = 0, i;

	while (m) {
		first = m;
		for (i = 0; m && i < BATCH; m = m->next, i++)
			m->call.receive(link, m->endpoint, m->tag, m->bytes, m->size, m->call.context);
		n += i;
		free_received(link, first, m);
	}
	return n;
}

static void free_ended(lapi_link_t *link, link_op *op, const link_op *to)
{
	link_op *next;

	link_lock(link);
	for (; op != to; op = next) {
		next = op->next;
		op->endpoint->ended[op->kind]++;
		if (op->status == LAPI_LINK_SUCCESS) {
			link_op_free(link, op);
		} else { /* LAPI may still write to its counter */
			op->next = link->lost;
			link->lost = op;
		}
	}
	link_unlock(link);
}

static int end_all(lapi_link_t *link, link_op *op)
{
	link_op *first;
	int n = 0, i;

	while (op) {
		first = op;
		for (i = 0; op && i < BATCH; op = op->next, i++)
			if (op->done) {
				op->done(link, op->endpoint, op->local, op->handle, op->context, op->data,
				         op->status);
				n++;
			}
		free_ended(link, first, op);
	}
	return n;
}

/* Takes ended operations and received messages out of the link's lists. */
typedef struct batch {
	link_op *ended;
	link_message *come;
} batch;

/* Under the lock. */
static batch take(lapi_link_t *link)
{
	batch b = {NULL, NULL};

	if (!link->news)
		return b;
	b.ended = take_ended(link);
	b.come = take_messages(link);
	link->news = link->active || link->come.first;
	return b;
}

static inline int run(lapi_link_t *link, batch b)
{
	if (__builtin_expect(!b.ended && !b.come, 1))
		return 0;
	return end_all(link, b.ended) + receive_all(link, b.come);
}

int link_run(lapi_link_t *link)
{
	batch b;

	link_lock(link);
	b = take(link);
	link_unlock(link);
	return run(link, b);
}

/*
 * Looks at the rings a little longer: messages are noticed sooner than by the caller's next call,
 * before which the caller does other work.
 */
static void look(cshim_context *context)
{
	enum { LOOKS = 8 };
	static const int never;
	uint32_t seen;

	if (CSHIM_OWN(context->progress.calling) ||
	    CSHIM_OWN(context->progress.spin_calls) == 0 || !context->lane)
		return;
	seen = cshim_lane_await(context, &never, 1, LOOKS);
	if (seen & CSHIM_SEEN_CALL)
		cshim_probe(context);
}

/* A caller in a loop, such as an MPI, may yield after each call: so this does it seldom. */
enum { IDLE_PER_YIELD = 64 };

/* A progress call, under the lock. LAPI's result. */
static int call(cshim_context *context, lapi_link_t *link, batch *b)
{
	int rc = cshim_may_call(context, "lapi_link_progress")
	                 ?: cshim_probe_as(context, IDLE_PER_YIELD);

	if (rc == LAPI_SUCCESS && !link->come.first)
		look(context);
	*b = rc == LAPI_SUCCESS ? take(link) : (batch){NULL, NULL};
	return rc;
}

LINK_EXPORT int lapi_link_progress(lapi_link_t *link)
{
	cshim_context *context;
	batch b;
	int rc;

	if (!link)
		return LAPI_LINK_BAD_PARAM;
	context = cshim_enter(link->handle);
	if (!context)
		return link_refused(__func__, NULL);
	rc = cshim_leave(context, call(context, link, &b));
	return rc == LAPI_SUCCESS ? run(link, b) : link_result(rc);
}

/* The operations at one endpoint that a flush waits for. */
typedef struct goal {
	int is;
	uint32_t generation;
	uint64_t begun[LINK_KINDS];
} goal;

static goal goal_of(const lapi_link_endpoint_t *ep)
{
	goal g = {.is = 1, .generation = ep->generation};

	for (int kind = 0; kind < LINK_KINDS; kind++)
		g.begun[kind] = ep->begun[kind];
	return g;
}

/*
 * 1: no operation without a callback of generation g, or of one before, is under way. Those that
 * begin later do not count: else a flush would wait for other threads that go on. Where some have
 * failed it is not known of which generation, and none is counted out alone.
 */
static int is_drained(lapi_link_endpoint_t *ep, uint32_t g)
{
	if (link_uncounted(ep) == 0) {
		ep->counted[0] -= link_incomplete(ep, 0);
		ep->counted[1] -= link_incomplete(ep, 1);
		ep->absent = 0;
		return 1;
	}
	if (ep->generation == g && link_incomplete(ep, g + 1) == 0)
		ep->generation++;
	return ep->generation - g > 1 || (ep->generation != g && link_incomplete(ep, g) == 0);
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
	if (!is_drained(ep, g->generation))
		return 0;
	if (ep->failed != ep->failed_reported)
		*status = ep->status == LAPI_LINK_SUCCESS ? LAPI_LINK_ERROR : ep->status;
	ep->failed_reported = ep->failed;
	return 1;
}

/* begun: NULL: the operations under way now. */
static int flush_one(lapi_link_t *link, lapi_link_endpoint_t *ep, const goal *begun)
{
	int status = LAPI_LINK_SUCCESS, over, rc = LAPI_SUCCESS, first = 1;
	cshim_context *context;
	batch b = {NULL, NULL};
	goal g;

	for (;; first = 0) {
		context = cshim_enter(link->handle);
		if (!context)
			return link_refused("lapi_link_flush", ep);
		if (first)
			g = begun ? *begun : goal_of(ep);
		over = reached(ep, &g, &status);
		if (!over)
			rc = call(context, link, &b);
		cshim_leave(context, rc);
		if (over)
			return status;
		if (rc != LAPI_SUCCESS)
			return link_result(rc);
		run(link, b);
	}
}

LINK_EXPORT int lapi_link_flush(lapi_link_t *link, lapi_link_endpoint_t *endpoint)
{
	int status = LAPI_LINK_SUCCESS, one;
	uint32_t task;
	goal *goals;

	if (!link || (endpoint && endpoint->link != link))
		return LAPI_LINK_BAD_PARAM;
	if (!link_usable(link))
		return LAPI_LINK_ERROR;
	if (endpoint)
		return flush_one(link, endpoint, NULL);
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
