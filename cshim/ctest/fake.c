#define _GNU_SOURCE
#include "fake.h"
#include "fake_barrier.h"
#include "fake_lane.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "../futex.h"

enum { QUEUE = 4096, TURN = 16, TICKETS = 64 };

struct fake_settings fake_settings = {200, 20, 0, 0, -1};
struct fake_counts fake_counts;

typedef struct packet {
	fake_action *action;
	void *argument;
} packet;

typedef struct ticket {
	uint64_t number; /* 0: free */
	int done, result;
} ticket;

typedef struct fake_core {
	pthread_mutex_t mutex; /* of the "network": queue, head, tail */
	packet queue[QUEUE];
	unsigned head, tail;
	uint32_t armed; /* atomic */
	int bell;       /* eventfd, the link's descriptor */

	/* Under the context lock. */
	int open;
	int dispatching;
	ticket tickets[TICKETS];
	uint64_t last_ticket;
	cshim_completion completions[QUEUE];
	unsigned first_completion, end_completion;
	cshim_error errors[TURN];
	unsigned first_error, end_error;
	cshim_addr addresses[16];
	cshim_addr listed; /* the counter with a list */
	int purge_news;
} fake_core;

static fake_core cores[CSHIM_MAX_CONTEXTS] = {[0 ... CSHIM_MAX_CONTEXTS - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER}};
static int hold_tickets; /* atomic */

static void count(uint32_t *what)
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

/* Every golapi_ function that needs the lock: C must hold it, and the context must be open. */
static fake_core *enter(int context)
{
	CHECK(context >= 0 && context < CSHIM_MAX_CONTEXTS);
	CHECK(cshim_lock_owned(cshim_context_at(context)));
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
	count(&fake_counts.inits);
	CHECK(block->state == CSHIM_INITIALIZING);
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
	block->spin_turns = fake_settings.spin_turns;
	block->yield_turns = fake_settings.yield_turns;
	__atomic_store_n(&block->interrupt_set, fake_settings.polling ? 0 : 1, __ATOMIC_SEQ_CST);
	block->descriptors[0] = make_eventfd();
	block->descriptors[1] = core->bell;
	block->num_descriptors = 2;
	pthread_mutex_lock(&core->mutex);
	core->open = 1;
	pthread_mutex_unlock(&core->mutex);
	return LAPI_SUCCESS;
}

static int open_ticket(int context, uint64_t *number)
{
	fake_core *core = enter(context);
	int i;

	for (i = 0; i < TICKETS; i++)
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
	return open_ticket(context, number);
}

int golapi_gfence_begin(int context, uint64_t *number)
{
	return open_ticket(context, number);
}

int golapi_address_init_begin(int context, uint64_t value, cshim_addr table, uint32_t width, uint64_t *number)
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

	count(&fake_counts.term_ends);
	CHECK(block->state == CSHIM_TERMINATING);
	CHECK(__atomic_load_n(&block->watcher, __ATOMIC_SEQ_CST) == 0);
	CHECK(!core->dispatching);
	pthread_mutex_lock(&core->mutex);
	core->open = 0;
	close(core->bell);
	close(block->descriptors[0]);
	block->num_descriptors = 0;
	pthread_mutex_unlock(&core->mutex);
	return LAPI_SUCCESS;
}

static void event(int context)
{
	cshim_context *block = cshim_context_at(context);

	__atomic_add_fetch(&block->event_seq, 1, __ATOMIC_SEQ_CST);
}

static int take(fake_core *core, packet *taken)
{
	int some;

	pthread_mutex_lock(&core->mutex);
	some = core->head != core->tail;
	if (some)
		*taken = core->queue[core->head++ % QUEUE];
	pthread_mutex_unlock(&core->mutex);
	return some;
}

static uint32_t turn_ticket(fake_core *core, uint64_t number)
{
	int i;

	for (i = 0; i < TICKETS; i++) {
		ticket *t = &core->tickets[i];

		if (t->number == number) {
			if (!__atomic_load_n(&hold_tickets, __ATOMIC_SEQ_CST))
				t->done = 1;
			return t->done ? CSHIM_DISPATCH_TICKET : 0;
		}
	}
	CHECK(!"a known ticket");
	return 0;
}

uint32_t golapi_dispatch(int context, uint64_t number)
{
	fake_core *core = enter(context);
	uint32_t flags = 0;
	packet p;
	int i;

	CHECK(!core->dispatching);
	core->dispatching = 1;
	count(&fake_counts.dispatches);
	for (i = 0; i < TURN && take(core, &p); i++) {
		p.action(context, p.argument);
		flags |= CSHIM_DISPATCH_PROGRESS;
	}
	if (fake_lane_turn(context))
		flags |= CSHIM_DISPATCH_PROGRESS;
	if (number)
		flags |= turn_ticket(core, number);
	if (core->first_error != core->end_error)
		flags |= CSHIM_DISPATCH_ERROR;
	core->dispatching = 0;
	return flags;
}

int golapi_ticket_result(int context, uint64_t number)
{
	fake_core *core = enter(context);
	int i;

	for (i = 0; i < TICKETS; i++)
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
	fake_core *core = enter(context);
	int some;

	count(&fake_counts.arms);
	__atomic_store_n(&core->armed, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&core->mutex);
	some = core->head != core->tail;
	pthread_mutex_unlock(&core->mutex);
	*timeout_ns = fake_settings.timeout_ns;
	return fake_lane_arm(cshim_context_at(context), timeout_ns) || fake_barrier_arm(cshim_context_at(context)) || some;
}

void golapi_disarm(int context)
{
	fake_core *core = enter(context);
	uint64_t rings;

	count(&fake_counts.disarms);
	__atomic_store_n(&core->armed, 0, __ATOMIC_SEQ_CST);
	fake_lane_disarm(cshim_context_at(context));
	fake_barrier_disarm(cshim_context_at(context));
	if (read(core->bell, &rings, sizeof(rings)) < 0)
		CHECK(errno == EAGAIN);
}

void golapi_away(int context, int away)
{
	enter(context);
	__atomic_store_n(&fake_counts.away, (uint32_t)away, __ATOMIC_SEQ_CST);
}

void fake_arrive(cshim_context *context, fake_action *action, void *argument)
{
	fake_core *core = &cores[cshim_index_of(context)];
	uint64_t one = 1;

	for (;;) {
		pthread_mutex_lock(&core->mutex);
		if (!core->open || core->tail - core->head < QUEUE)
			break;
		pthread_mutex_unlock(&core->mutex);
		fake_sleep_us(50);
	}
	if (core->open) {
		core->queue[core->tail++ % QUEUE] = (packet){action, argument};
		if (__atomic_exchange_n(&core->armed, 0, __ATOMIC_SEQ_CST))
			CHECK(write(core->bell, &one, sizeof(one)) == sizeof(one));
	}
	pthread_mutex_unlock(&core->mutex);
}

void fake_add(int context, int *counter, int n)
{
	enter(context);
	__atomic_add_fetch(counter, n, __ATOMIC_SEQ_CST);
	event(context);
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
	enter(context);
	cshim_context_at(context)->msg_state |= bits;
	event(context);
}

void fake_finish_tickets(int context, int result)
{
	fake_core *core = enter(context);
	int i;

	for (i = 0; i < TICKETS; i++)
		if (core->tickets[i].number) {
			core->tickets[i].done = 1;
			core->tickets[i].result = result;
		}
	event(context);
}

void fake_hold_tickets(int hold)
{
	__atomic_store_n(&hold_tickets, hold, __ATOMIC_SEQ_CST);
}

void fake_queue_completion(int context, compl_hndlr_t *handler, void *info)
{
	fake_core *core = enter(context);
	cshim_context *block = cshim_context_at(context);

	CHECK(core->end_completion - core->first_completion < QUEUE);
	core->completions[core->end_completion++ % QUEUE] = (cshim_completion){CSHIM_ADDR(handler), CSHIM_ADDR(info), 7};
	__atomic_add_fetch(&block->completion_seq, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&block->completion_seq, 1);
}

int golapi_next_completion(int context, cshim_completion *completion)
{
	fake_core *core = enter(context);

	if (core->first_completion == core->end_completion)
		return 0;
	*completion = core->completions[core->first_completion++ % QUEUE];
	return 1;
}

void golapi_completion_done(int context, uint64_t id)
{
	enter(context);
	CHECK(id == 7);
	count(&fake_counts.completions_done);
	event(context);
}

void fake_queue_error(int context, LAPI_err_hndlr *handler, int code)
{
	fake_core *core = enter(context);
	cshim_error *e = &core->errors[core->end_error++ % TURN];

	e->handler = CSHIM_ADDR(handler);
	e->code = code;
	e->type = PUT_ERR;
	e->task = 0;
	e->src = 3;
	snprintf(e->text, sizeof(e->text), "fake failure %d", code);
}

int golapi_next_error(int context, cshim_error *error)
{
	fake_core *core = enter(context);

	if (core->first_error == core->end_error)
		return 0;
	*error = core->errors[core->first_error++ % TURN];
	return 1;
}

/* The transfers only note that they were called; core's own tests are elsewhere. What a lane passes on they refuse. */

static int refused(int context, uint32_t tgt)
{
	return tgt != 0 || cshim_context_at(context)->lane;
}

static int transfer(int context, uint32_t tgt, cshim_addr org_cntr)
{
	enter(context);
	if (refused(context, tgt))
		return LAPI_ERR_TGT;
	if (org_cntr)
		fake_add(context, (int *)(uintptr_t)org_cntr, 1);
	return LAPI_SUCCESS;
}

int golapi_put(int context, uint32_t tgt, uint64_t len, cshim_addr tgt_addr, cshim_addr org_addr, cshim_addr tgt_cntr,
               cshim_addr org_cntr, cshim_addr cmpl_cntr)
{
	(void)tgt_cntr, (void)cmpl_cntr;
	if (!refused(context, tgt))
		memcpy((void *)(uintptr_t)tgt_addr, (void *)(uintptr_t)org_addr, len);
	return transfer(context, tgt, org_cntr);
}

int golapi_get(int context, uint32_t tgt, uint64_t len, cshim_addr tgt_addr, cshim_addr org_addr, cshim_addr tgt_cntr,
               cshim_addr org_cntr)
{
	(void)tgt_cntr;
	if (!refused(context, tgt))
		memcpy((void *)(uintptr_t)org_addr, (void *)(uintptr_t)tgt_addr, len);
	return transfer(context, tgt, org_cntr);
}

int golapi_amsend(int context, uint32_t tgt, cshim_addr hdr_hdl, cshim_addr uhdr, uint32_t uhdr_len, cshim_addr udata,
                  uint64_t udata_len, cshim_addr tgt_cntr, cshim_addr org_cntr, cshim_addr cmpl_cntr)
{
	(void)uhdr, (void)uhdr_len, (void)udata, (void)udata_len, (void)tgt_cntr, (void)cmpl_cntr;
	if (!hdr_hdl)
		return LAPI_ERR_HDR_HNDLR_NULL;
	return transfer(context, tgt, org_cntr);
}

/* Of vectors the fake knows only the counters. */
int golapi_putv(int context, uint32_t tgt, cshim_addr tgt_vec, cshim_addr org_vec, cshim_addr tgt_cntr, cshim_addr org_cntr,
                cshim_addr cmpl_cntr)
{
	(void)tgt_cntr, (void)cmpl_cntr;
	if (!org_vec)
		return LAPI_ERR_ORG_VEC_NULL;
	return tgt_vec ? transfer(context, tgt, org_cntr) : LAPI_ERR_TGT_VEC_NULL;
}

int golapi_getv(int context, uint32_t tgt, cshim_addr tgt_vec, cshim_addr org_vec, cshim_addr tgt_cntr, cshim_addr org_cntr)
{
	return golapi_putv(context, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, 0);
}

int golapi_amsendv(int context, uint32_t tgt, cshim_addr hdr_hdl, cshim_addr uhdr, uint32_t uhdr_len, cshim_addr org_vec,
                   cshim_addr tgt_cntr, cshim_addr org_cntr, cshim_addr cmpl_cntr)
{
	(void)uhdr, (void)uhdr_len, (void)tgt_cntr, (void)cmpl_cntr;
	if (!hdr_hdl)
		return LAPI_ERR_HDR_HNDLR_NULL;
	return org_vec ? transfer(context, tgt, org_cntr) : LAPI_ERR_ORG_VEC_NULL;
}

cshim_transfer fake_transfer;

/* A transfer's send completion handler runs at once, as core's does for small messages. */
int golapi_xfer(int context, uint32_t type, cshim_transfer *t)
{
	int rc = LAPI_ERR_XFER_CMD;

	fake_transfer = *t;
	if (type == LAPI_PUT_XFER)
		rc = golapi_put(context, t->tgt, t->len, t->tgt_addr, t->org_addr, t->tgt_cntr, t->org_cntr, t->cmpl_cntr);
	else if (type == LAPI_GET_XFER)
		rc = golapi_get(context, t->tgt, t->len, t->tgt_addr, t->org_addr, t->tgt_cntr, t->org_cntr);
	if (rc == LAPI_SUCCESS && t->handler && type == LAPI_PUT_XFER)
		cshim_call_send_completion(context, t->handler, t->info, t->tgt, LAPI_SUCCESS);
	return rc;
}

/* Groups of one member, which is their name. */
int golapi_group_create(int context, uint32_t num_tasks, cshim_addr list, cshim_addr group)
{
	CHECK(cshim_lock_owned(cshim_context_at(context)));
	if (!list || !group)
		return LAPI_ERR_RET_PTR_NULL;
	if (num_tasks != 1)
		return LAPI_ERR_TGT;
	*(lapi_group_t *)(uintptr_t)group = *(uint *)(uintptr_t)list;
	return LAPI_SUCCESS;
}

int golapi_group_free(int context, uint32_t group)
{
	CHECK(cshim_lock_owned(cshim_context_at(context)));
	return group == 5 ? LAPI_SUCCESS : LAPI_ERR_TGT;
}

int golapi_rmw(int context, uint32_t width, uint32_t op, uint32_t tgt, cshim_addr tgt_var, cshim_addr in_val,
               cshim_addr prev_tgt_val, cshim_addr org_cntr)
{
	if (refused(context, tgt))
		return LAPI_ERR_TGT;
	CHECK(op == FETCH_AND_ADD && tgt_var && in_val && prev_tgt_val);
	memcpy((void *)(uintptr_t)prev_tgt_val, (void *)(uintptr_t)tgt_var, width);
	if (width == 4)
		*(int32_t *)(uintptr_t)tgt_var += *(int32_t *)(uintptr_t)in_val;
	else
		*(int64_t *)(uintptr_t)tgt_var += *(int64_t *)(uintptr_t)in_val;
	return transfer(context, tgt, org_cntr);
}

int golapi_addr_set(int context, cshim_addr addr, int32_t index)
{
	if (index < 1 || index >= 16)
		return LAPI_ERR_ADDR_HNDL_RANGE;
	enter(context)->addresses[index] = addr;
	return LAPI_SUCCESS;
}

int golapi_addr_get(int context, int32_t index, cshim_addr *addr)
{
	if (index < 1 || index >= 16)
		return LAPI_ERR_ADDR_HNDL_RANGE;
	*addr = enter(context)->addresses[index];
	return LAPI_SUCCESS;
}

int golapi_qenv(int context, uint32_t query, cshim_addr ret_val)
{
	enter(context);
	if (query != INTERRUPT_SET)
		return LAPI_ERR_QUERY_TYPE;
	*(int *)(uintptr_t)ret_val = (int)__atomic_load_n(&cshim_context_at(context)->interrupt_set, __ATOMIC_SEQ_CST);
	return LAPI_SUCCESS;
}

int golapi_senv(int context, uint32_t query, int32_t val)
{
	enter(context);
	if (query != INTERRUPT_SET)
		return LAPI_ERR_QUERY_TYPE;
	__atomic_store_n(&cshim_context_at(context)->interrupt_set, val ? 1 : 0, __ATOMIC_SEQ_CST);
	return LAPI_SUCCESS;
}

/* The fake core knows no DGSP. */
int golapi_dgsp_register(cshim_addr descriptor, cshim_addr *handle)
{
	(void)descriptor;
	*handle = 0;
	return LAPI_ERR_DGSP;
}

int golapi_dgsp_reserve(cshim_addr handle)
{
	(void)handle;
	return LAPI_ERR_DGSP;
}

int golapi_dgsp_unreserve(cshim_addr handle)
{
	(void)handle;
	return LAPI_ERR_DGSP_FREE;
}

void golapi_dgsp_ddm(int context, cshim_addr handler)
{
	enter(context);
	(void)handler;
}

int golapi_dgsp_pack(int context, cshim_addr handle, cshim_addr in, uint64_t n, cshim_addr out, uint64_t size, uint64_t *position)
{
	enter(context);
	(void)handle, (void)in, (void)n, (void)out, (void)size, (void)position;
	return LAPI_ERR_DGSP;
}

int golapi_dgsp_unpack(int context, cshim_addr handle, cshim_addr in, uint64_t in_size, uint64_t *position, cshim_addr out,
                       uint64_t n, uint64_t out_size)
{
	enter(context);
	(void)handle, (void)in, (void)in_size, (void)position, (void)out, (void)n, (void)out_size;
	return LAPI_ERR_DGSP;
}

int golapi_add_udp_dest(int context, uint32_t tgt, uint32_t instance_no, cshim_addr port, int with_family)
{
	enter(context);
	(void)instance_no, (void)with_family;
	return !port ? LAPI_ERR_UDP_PORT_INFO : tgt > 0 ? LAPI_ERR_TGT : LAPI_SUCCESS;
}

/* The only task whose purge counters may list is 0. */
int golapi_purge(int context, uint32_t dest)
{
	enter(context)->purge_news = 1;
	return dest > 0 ? LAPI_ERR_TGT : LAPI_SUCCESS;
}

int golapi_resume(int context, uint32_t dest)
{
	enter(context);
	return dest > 0 ? LAPI_ERR_TGT : LAPI_SUCCESS;
}

int golapi_counter_list(int context, cshim_addr cntr, int32_t num_dest, cshim_addr dest, cshim_addr status, cshim_addr member)
{
	(void)num_dest, (void)dest, (void)status;
	CHECK(member == cntr + offsetof(struct new_cntr, dest_status));
	enter(context)->listed = dest ? cntr : 0;
	return LAPI_SUCCESS;
}

void golapi_counter_unlist(int context, cshim_addr cntr)
{
	if (enter(context)->listed == cntr)
		enter(context)->listed = 0;
}

int golapi_counter_purged(int context, cshim_addr cntr)
{
	fake_core *core = enter(context);
	int news = core->purge_news;

	if (core->listed != cntr)
		return CSHIM_COUNTER_UNLISTED;
	core->purge_news = 0;
	return news ? CSHIM_COUNTER_PURGED : CSHIM_COUNTER_QUIET;
}

int golapi_msg_string(int code, cshim_addr buf)
{
	snprintf((char *)(uintptr_t)buf, LAPI_MAX_ERR_STRING, "code %d", code);
	return LAPI_SUCCESS;
}
