/* fake.c - the core in place of Go: a context, its queue of packets, its tickets, and a
 * dispatcher's turn over them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctest/fake_barrier.h"
#include "ctest/fake_core.h"
#include "ctest/fake_lane.h"

struct fake_settings fake_settings = {200, 20, 0, 0, -1, 0};
struct fake_counts fake_counts;

static fake_core cores[CSHIM_MAX_CONTEXTS] = {
	[0 ... CSHIM_MAX_CONTEXTS - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER}};
static int hold_tickets; /* atomic */

void fake_note(uint32_t *what)
{
	__atomic_add_fetch(what, 1, __ATOMIC_SEQ_CST);
}

void fake_reset_counts(void)
{
	__atomic_store_n(&fake_counts.dispatches, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fake_counts.arms, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fake_counts.disarms, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fake_counts.inits, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fake_counts.term_ends, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fake_counts.completions_done, 0, __ATOMIC_SEQ_CST);
}

fake_core *fake_enter(int context)
{
	CHECK(context >= 0 && context < CSHIM_MAX_CONTEXTS);
	CHECK(cshim_lock_owned(&cshim_context_at(context)->progress));
	CHECK(cores[context].open);
	return &cores[context];
}

static int make_eventfd(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

int golapi_init(int context, cshim_addr info)
{
	cshim_context *block = cshim_context_at(context);
	fake_core *core = &cores[context];

	(void)info;
	fake_note(&fake_counts.inits);
	CHECK(block->progress.state == CSHIM_INITIALIZING);
	CHECK(!core->open);
	if (fake_settings.init_code)
		return fake_settings.init_code;
	core->head = core->tail = 0;
	core->listed = 0;
	core->purge_news = 0;
	memset(core->tickets, 0, sizeof(core->tickets));
	core->first_completion = core->end_completion = core->first_error = core->end_error = 0;
	core->bell = make_eventfd();
	block->task = 0;
	block->num_tasks = 1;
	block->progress.spin_calls = fake_settings.spin_turns;
	block->progress.yields = fake_settings.yield_turns;
	__atomic_store_n(&block->progress.interrupts, fake_settings.polling ? 0 : 1,
	                 __ATOMIC_SEQ_CST);
	block->progress.descriptors[0] = make_eventfd();
	block->progress.descriptors[1] = core->bell;
	block->progress.num_descriptors = 2;
	pthread_mutex_lock(&core->mutex);
	core->open = 1;
	pthread_mutex_unlock(&core->mutex);
	return LAPI_SUCCESS;
}

static int open_ticket(int context, uint64_t *number)
{
	fake_core *core = fake_enter(context);
	int i;

	for (i = 0; i < FAKE_TICKETS; i++)
		if (!core->tickets[i].number) {
			*number = core->tickets[i].number = ++core->last_ticket;
			core->tickets[i].done = core->tickets[i].result = 0;
			return LAPI_SUCCESS;
		}
	CHECK(!"a free ticket");
	return LAPI_ERR_UNKNOWN;
}

int golapi_term_begin(int context, uint64_t *number)
{
	return open_ticket(context, number);
}

int golapi_fence_begin(int context, uint64_t *number)
{
	__atomic_add_fetch(&fake_lane_counts.fences, 1, __ATOMIC_SEQ_CST);
	if (fake_settings.fence_over) {
		*number = 0;
		return LAPI_SUCCESS;
	}
	return open_ticket(context, number);
}

int golapi_gfence_begin(int context, uint64_t *number)
{
	return open_ticket(context, number);
}

int golapi_address_init_begin(int context, uint64_t value, cshim_addr table, uint32_t width,
                              uint64_t *number)
{
	if (width == 8)
		*(uint64_t *)(uintptr_t)table = value;
	else
		*(uint32_t *)(uintptr_t)table = (uint32_t)value;
	return open_ticket(context, number);
}

int golapi_term_end(int context)
{
	cshim_context *block = cshim_context_at(context);
	fake_core *core = &cores[context];

	fake_note(&fake_counts.term_ends);
	CHECK(block->progress.state == CSHIM_TERMINATING);
	CHECK(__atomic_load_n(&block->progress.poller, __ATOMIC_SEQ_CST) == 0);
	CHECK(!core->dispatching);
	pthread_mutex_lock(&core->mutex);
	core->open = 0;
	close(core->bell);
	close(block->progress.descriptors[0]);
	block->progress.num_descriptors = 0;
	pthread_mutex_unlock(&core->mutex);
	return LAPI_SUCCESS;
}

void fake_event(int context)
{
	cshim_context *block = cshim_context_at(context);

	__atomic_add_fetch(&block->progress.event_seq, 1, __ATOMIC_SEQ_CST);
}

static int take(fake_core *core, fake_packet *taken)
{
	int some;

	pthread_mutex_lock(&core->mutex);
	some = core->head != core->tail;
	if (some)
		*taken = core->queue[core->head++ % FAKE_QUEUE];
	pthread_mutex_unlock(&core->mutex);
	return some;
}

static uint32_t turn_ticket(fake_core *core, uint64_t number)
{
	int i;

	for (i = 0; i < FAKE_TICKETS; i++) {
		fake_ticket *t = &core->tickets[i];

		if (t->number == number) {
			if (!__atomic_load_n(&hold_tickets, __ATOMIC_SEQ_CST))
				t->done = 1;
			return t->done ? CSHIM_PROGRESS_TICKET : 0;
		}
	}
	CHECK(!"a known ticket");
	return 0;
}

uint32_t golapi_dispatch(int context, uint64_t number)
{
	fake_core *core = fake_enter(context);
	uint32_t flags = 0;
	fake_packet p;
	int i;

	CHECK(!core->dispatching);
	core->dispatching = 1;
	fake_note(&fake_counts.dispatches);
	for (i = 0; i < FAKE_TURN && take(core, &p); i++) {
		p.action(context, p.argument);
		flags |= CSHIM_PROGRESS_MADE;
	}
	if (fake_lane_turn(context))
		flags |= CSHIM_PROGRESS_MADE;
	if (number)
		flags |= turn_ticket(core, number);
	if (core->first_error != core->end_error)
		flags |= CSHIM_PROGRESS_ERROR;
	core->dispatching = 0;
	return flags;
}

int golapi_ticket_result(int context, uint64_t number)
{
	fake_core *core = fake_enter(context);
	int i;

	for (i = 0; i < FAKE_TICKETS; i++)
		if (core->tickets[i].number == number) {
			CHECK(core->tickets[i].done);
			core->tickets[i].number = 0;
			return core->tickets[i].result;
		}
	CHECK(!"a known ticket");
	return 0;
}

int golapi_arm(int context, int64_t *timeout_ns)
{
	fake_core *core = fake_enter(context);
	int some;

	fake_note(&fake_counts.arms);
	__atomic_store_n(&core->armed, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&core->mutex);
	some = core->head != core->tail;
	pthread_mutex_unlock(&core->mutex);
	*timeout_ns = fake_settings.timeout_ns;
	return fake_lane_arm(cshim_context_at(context), timeout_ns) ||
	       fake_barrier_arm(cshim_context_at(context)) || some;
}

void golapi_disarm(int context)
{
	fake_core *core = fake_enter(context);
	uint64_t rings;

	fake_note(&fake_counts.disarms);
	__atomic_store_n(&core->armed, 0, __ATOMIC_SEQ_CST);
	fake_lane_disarm(cshim_context_at(context));
	fake_barrier_disarm(cshim_context_at(context));
	if (read(core->bell, &rings, sizeof(rings)) < 0)
		CHECK(errno == EAGAIN);
}

void golapi_away(int context, int away)
{
	fake_enter(context);
	if (!away)
		fake_note(&fake_counts.back[context]);
	__atomic_store_n(&fake_counts.away, (uint32_t)away, __ATOMIC_SEQ_CST);
}

void fake_arrive(cshim_context *context, fake_action *action, void *argument)
{
	fake_core *core = &cores[cshim_index_of(context)];
	uint64_t one = 1;

	for (;;) {
		pthread_mutex_lock(&core->mutex);
		if (!core->open || core->tail - core->head < FAKE_QUEUE)
			break;
		pthread_mutex_unlock(&core->mutex);
		fake_sleep_us(50);
	}
	if (core->open) {
		core->queue[core->tail++ % FAKE_QUEUE] = (fake_packet){action, argument};
		if (__atomic_exchange_n(&core->armed, 0, __ATOMIC_SEQ_CST))
			CHECK(write(core->bell, &one, sizeof(one)) == sizeof(one));
	}
	pthread_mutex_unlock(&core->mutex);
}

void fake_add(int context, int *counter, int n)
{
	fake_enter(context);
	__atomic_add_fetch(counter, n, __ATOMIC_SEQ_CST);
	fake_event(context);
}

static void add_one(int context, void *counter)
{
	fake_add(context, counter, 1);
}

void fake_count(cshim_context *context, int *counter)
{
	fake_arrive(context, add_one, counter);
}

void fake_set_state(int context, uint32_t bits)
{
	fake_enter(context);
	cshim_context_at(context)->msg_state |= bits;
	fake_event(context);
}

void fake_finish_tickets(int context, int result)
{
	fake_core *core = fake_enter(context);
	int i;

	for (i = 0; i < FAKE_TICKETS; i++)
		if (core->tickets[i].number) {
			core->tickets[i].done = 1;
			core->tickets[i].result = result;
		}
	fake_event(context);
}

void fake_hold_tickets(int hold)
{
	__atomic_store_n(&hold_tickets, hold, __ATOMIC_SEQ_CST);
}

__thread uint32_t fake_yields;

/* In the place of the C library's. */
int sched_yield(void)
{
	fake_yields++;
	return (int)syscall(SYS_sched_yield);
}
