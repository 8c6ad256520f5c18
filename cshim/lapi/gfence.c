/*
 * gfence.c - LAPI_Gfence by the barrier of the node's tasks (barrier.h): waiting at it, and its
 * failure.
 *
 * The promise of LAPI_Gfence: everything any task sent before its call is in place at its target
 * before any task leaves. A task arrives after its own fence. Every progress call looks at the
 * words, for the threads that wait here. Each of several such threads has a generation of its own:
 * it arrives when the one before is over.
 */
#include "lapi/waits.h"

/*
 * Where tasks have a processor each, a task looks for about 40 us, the cost of a sleep and a
 * wake-up. The last to arrive on a processor that tasks share looks for about 10 us, several
 * switches on another processor. Both begin with a progress call: a task that goes from one
 * LAPI_Gfence to the next serves others all the same.
 *
 * A task that is not the last gives its processor to the others, after a progress call; once is
 * enough where all come at their time. The further steps of a wait, for other threads and for
 * sleep, would be done again in each of the processor's tasks, out of cold caches.
 */
/* clang-format off */
#define PATIENCE(...) \
	{{__VA_ARGS__, .call_first = 1, .crowded = 1}, \
	 {__VA_ARGS__, .call_first = 1, .crowded = 1, .sockets = 1}}
/* clang-format on */
static const cshim_patience spins[] = PATIENCE(.looks = 2400, .looks_per_call = 8);
static const cshim_patience spins_as_last[] = PATIENCE(.looks = 400, .looks_per_call = 8);
static const cshim_patience yields[] = PATIENCE(.looks = 16, .looks_per_call = 1, .yields = 1);

/* The generation is over: so may be the waits of other threads. */
static void tell_others(cshim_context *context)
{
	if (context->progress.waits.at)
		cshim_event(&context->progress);
}

/* 1 if something has changed. */
static __attribute__((noinline)) int act_on(cshim_context *context, node_barrier_news news)
{
	int index = cshim_index_of(context);

	switch (news.what) {
	case NODE_BARRIER_QUIET:
		return 0;
	case NODE_BARRIER_OVER:
		tell_others(context);
		return 1;
	case NODE_BARRIER_REFUSED:
		golapi_barrier_refused(index, news.code == LAPI_ERR_TGT_PURGED
		                                      ? LAPI_ERR_TGT_PURGED
		                                      : LAPI_ERR_NO_CONNECTIVITY);
		return 1;
	case NODE_BARRIER_BROKEN:
		if (!cshim_link_at(context)->barrier.failed)
			golapi_barrier_broken(index, news.task);
		return 1;
	}
	return 0;
}

void cshim_gfence_stirred(cshim_context *context)
{
	if (node_barrier_look(cshim_link_at(context)))
		tell_others(context);
}

int cshim_gfence_check(cshim_context *context)
{
	return context->barrier && act_on(context, node_barrier_check(cshim_link_at(context)));
}

/* The generation is over, or will never be. */
static int over(cshim_progress *progress, const cshim_goal *goal)
{
	cshim_context *context = cshim_context_of(progress);
	const node_barrier *barrier;

	if (!context->barrier)
		return 1; /* the context has ended */
	cshim_gfence_look(context);
	barrier = &cshim_link_at(context)->barrier;
	return barrier->over >= goal->number || barrier->failed;
}

static const cshim_goal_kind generation_kind = {.over = over, .call = "LAPI_Gfence"};

static const cshim_patience *patience_of(const cshim_context *context)
{
	const node_barrier *barrier = &cshim_link_at(context)->barrier;

	if (barrier->rounds)
		return &spins[cshim_sockets(context)];
	return &(barrier->last ? spins_as_last : yields)[cshim_sockets(context)];
}

/* The fate of a generation that is reached. */
static int result_of(cshim_context *context, uint64_t generation)
{
	node_link *link = cshim_link_at(context);
	node_barrier *barrier = &link->barrier;

	if (barrier->over < generation && barrier->arrived == generation &&
	    node_barrier_settle(link))
		tell_others(context);
	return barrier->over >= generation ? LAPI_SUCCESS : (int)barrier->failed;
}

static int wait_for(cshim_context *context, uint64_t generation)
{
	const cshim_goal goal = {
		.kind = &generation_kind, .patience = patience_of(context), .number = generation};

	return cshim_wait_code(cshim_wait_for(&context->progress, &goal))
	               ?: result_of(context, generation);
}

int cshim_gfence_wait(cshim_context *context, uint64_t generation)
{
	const node_barrier *barrier = &cshim_link_at(context)->barrier;
	node_barrier_news news;
	int rc = LAPI_SUCCESS;

	if (barrier->over != generation - 1)
		rc = wait_for(context, generation - 1);
	if (rc != LAPI_SUCCESS)
		return rc;
	if (barrier->failed)
		return (int)barrier->failed;
	news = node_barrier_arrive(cshim_link_at(context));
	if (__builtin_expect(news.what != NODE_BARRIER_QUIET, 0))
		act_on(context, news);
	return wait_for(context, generation);
}
