/* fake_dat.c - see fake_dat.h. */
#define _GNU_SOURCE
#include "ctest/dat/fake_dat.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dat/api/block.h"
#include "node/arm.h"

enum { AREA = 1 << DAT_AREA_SHIFT, SLOTS = 5, TAG = 4711, ZONE = 0x1000 };

fake_dat_side fake_dat[2];

static unsigned char *area; /* aligned by hand: valgrind loads programs at any page */
static dat_table tables[2];
static unsigned char memories[2][FAKE_DAT_MEMORY] __attribute__((aligned(4096)));
static int bells[2], adapters;

/* The functions of the second, as the header has those of the first. */
dat_end *second_rc_open(const dat_end_config *config);
void second_rc_close(dat_end *end);
int second_rc_bind(dat_end *end, uint64_t number, uint32_t completion);
void second_rc_disconnect(dat_end *end, int graceful);
void second_rc_cut(dat_end *end, uint32_t how);
void second_rc_flush(dat_end *end);
DAT_RETURN second_rc_post_shared(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                                 const DAT_LMR_TRIPLET *local_iov, uint64_t cookie);
dat_srq *second_rc_open_shared(uint64_t handle, uint64_t pz, uint32_t max, uint32_t max_iov,
                               uint64_t device);
void second_rc_close_shared(dat_srq *srq);
int second_evd_open(uint64_t evd, uint32_t size, uint32_t flags, uint64_t async);
void second_evd_close(uint64_t evd);
int second_evd_post(uint64_t evd, const evd_event *event, int silent);
void second_handle_add_area(uint64_t area);

#define CALLS_OF(name)                                                                     \
	{                                                                                  \
		name(rc_post), name(rc_post_receive), name(rc_post_shared), name(rc_open), \
			name(rc_close), name(rc_bind), name(rc_disconnect), name(rc_cut),  \
			name(rc_flush), name(rc_open_shared), name(rc_close_shared),       \
			name(rc_turn), name(evd_open), name(evd_close), name(evd_post),    \
			name(evd_take), name(handle_add_area)                              \
	}
#define FIRST(name) name
#define SECOND(name) second_##name
static const fake_dat_calls calls[2] = {CALLS_OF(FIRST), CALLS_OF(SECOND)};

/* The side that an endpoint is of. */
static int side_of(uint64_t ep)
{
	CHECK(ep == (uintptr_t)fake_dat[0].ep || ep == (uintptr_t)fake_dat[1].ep);
	return ep == (uintptr_t)fake_dat[1].ep;
}

/* The part of core that both sides have. */

/* A completion that is core's to post. */
static void complete(const fake_dat_side *s, uint64_t evd, uint32_t number, uint64_t cookie,
                     uint32_t status)
{
	dat_completion c = {
		.number = number, .ep = (uintptr_t)s->ep, .cookie = cookie, .status = status};
	evd_event event;

	memcpy(&event, &c, sizeof(event));
	s->rc->evd_post(evd, &event, 0);
}

/* A post to a connection that is over. */
static uint32_t flush_post(int number, const uint64_t *arguments)
{
	int side = side_of(arguments[0]);
	const fake_dat_side *s = &fake_dat[side];

	CHECK(s->posts.end && (!s->end->on || s->end->closing));
	fake_dat_over(side);
	if (number == DAT_CALL_post)
		complete(s, s->posts.request, DAT_DTO_COMPLETION_EVENT, arguments[5],
		         DAT_DTO_ERR_FLUSHED);
	else
		complete(s, s->posts.recv, DAT_DTO_COMPLETION_EVENT, arguments[3],
		         DAT_DTO_ERR_FLUSHED);
	return DAT_SUCCESS;
}

uint32_t godat_call(int number, uint64_t *arguments)
{
	if (number == DAT_CALL_post || number == DAT_CALL_ep_post_recv)
		return flush_post(number, arguments);
	if (number == DAT_CALL_collective) /* of the plan's engine */
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES;
	CHECK(number == DAT_CALL_ia_openv || number == DAT_CALL_ia_close);
	adapters = number == DAT_CALL_ia_openv;
	if (adapters)
		*(DAT_IA_HANDLE *)(uintptr_t)arguments[3] = &fake_dat[0];
	return DAT_SUCCESS;
}

int godat_bind(uint64_t ep, uint64_t number, uint32_t status)
{
	fake_dat_side *s = &fake_dat[side_of(ep)];

	if (!status && s->fails_binds)
		status = DAT_RMR_OPERATION_FAILED;
	s->binds++;
	complete(s, s->posts.request, DAT_RMR_BIND_COMPLETION_EVENT, number, status);
	return status != DAT_RMR_OPERATION_FAILED;
}

int godat_invalidate(uint64_t ep, uint32_t context)
{
	fake_dat_side *s = &fake_dat[side_of(ep)];

	s->invalidated = context;
	return !s->refuses;
}

void (*fake_dat_core)(void);

uint32_t godat_progress(void)
{
	if (fake_dat_core)
		fake_dat_core();
	return 0;
}

int godat_adapters(void)
{
	return adapters;
}

void godat_begin(void)
{
	dat_progress.spin_calls = 50;
	dat_progress.yields = 2;
	__atomic_store_n(&dat_progress.interrupts, 1, __ATOMIC_SEQ_CST);
	CHECK((dat_progress.descriptors[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
	dat_progress.descriptors[1] = bells[0];
	dat_progress.num_descriptors = 2;
}

void godat_end(void)
{
	close(dat_progress.descriptors[0]);
	dat_progress.num_descriptors = 0;
}

int godat_arm(int64_t *timeout_ns)
{
	node_link *link = fake_node_link(0);

	*timeout_ns = link->unordered ? NODE_LOOK_AGAIN_NS : -1;
	return node_arm(link);
}

void godat_disarm(void)
{
	uint64_t rings;

	node_disarm(fake_node_link(0));
	if (read(bells[0], &rings, sizeof(rings)) < 0)
		return; /* nobody has rung */
}

void godat_block(void *progress, void *lane)
{
	CHECK(progress == &dat_progress && lane == &dat_the_lane);
}

int godat_ends(void)
{
	return 0;
}

/* The registry knows the library's own tables by its address. */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	return DAT_NOT_IMPLEMENTED;
}

static void open_queue(const fake_dat_side *s, dat_slot *slot)
{
	*slot = (dat_slot){.kind = 1 + DAT_HANDLE_TYPE_EVD};
	CHECK(s->rc->evd_open((uintptr_t)slot, FAKE_DAT_EVENTS, 0, (uintptr_t)s->async));
	dat_queue_of(slot)->flags |= DAT_QUEUE_TRANSFERS;
}

static dat_name name_of(const fake_dat_side *s, uint32_t context)
{
	return (dat_name){.addr = (uintptr_t)s->memory,
	                  .n = FAKE_DAT_MEMORY,
	                  .pz = ZONE,
	                  .context = context,
	                  .privileges = (uint16_t)(DAT_MEM_PRIV_ALL_FLAG |
	                                           (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC),
	                  .window = context == FAKE_DAT_WINDOW};
}

static void open_table(fake_dat_side *s, int side)
{
	s->table = &tables[side];
	s->memory = memories[side];
	memset(s->table, 0, sizeof(*s->table));
	memset(s->memory, 0, FAKE_DAT_MEMORY);
	s->table->ends[FAKE_DAT_INDEX] = (dat_open){.pz = ZONE, .tag = TAG, .open = 1};
	s->table->names[FAKE_DAT_NAME] = name_of(s, FAKE_DAT_CONTEXT);
	s->table->names[FAKE_DAT_WINDOW_NAME] = name_of(s, FAKE_DAT_WINDOW);
}

static void open_posts(fake_dat_side *s)
{
	s->posts = (dat_ep){.end = (uintptr_t)s->end,
	                    .recv = (uintptr_t)s->recv,
	                    .request = (uintptr_t)s->request,
	                    .state = DAT_EP_CONNECTED,
	                    .max_message = FAKE_DAT_MEMORY,
	                    .max_requests = FAKE_DAT_REQUESTS,
	                    .max_receives = FAKE_DAT_EVENTS,
	                    .max_request_iov = FAKE_DAT_IOV,
	                    .max_receive_iov = FAKE_DAT_IOV,
	                    .max_write_iov = FAKE_DAT_IOV,
	                    .max_read_iov = FAKE_DAT_IOV};
	*s->ep = (dat_slot){.kind = 1 + DAT_HANDLE_TYPE_EP, .lane = (uintptr_t)&s->posts};
}

static void open_lane(const fake_dat_side *s, int side, uint64_t *ends)
{
	ends[FAKE_DAT_INDEX] = (uintptr_t)s->end;
	memset(s->lane, 0, sizeof(*s->lane));
	s->lane->num_links = 1;
	s->lane->links[0] = (uintptr_t)fake_node_link(side);
	s->lane->bells[0] = bells[side];
	s->lane->ends = (uintptr_t)ends;
	s->lane->num_ends = 64;
	s->lane->table = (uintptr_t)s->table;
	s->rc->add_area((uintptr_t)area);
	s->lane->on = 1;
}

static void open_end(int side, uint64_t *ends)
{
	fake_dat_side *s = &fake_dat[side];
	const fake_dat_side *other = &fake_dat[1 - side];
	const dat_end_config config = {.link = (uintptr_t)fake_node_link(side),
	                               .peer = (uintptr_t)fake_node_peer(side),
	                               .ep = (uintptr_t)s->ep,
	                               .pz = ZONE,
	                               .recv = (uintptr_t)s->recv,
	                               .request = (uintptr_t)s->request,
	                               .table = (uintptr_t)other->table,
	                               .own = (uintptr_t)&s->table->ends[FAKE_DAT_INDEX],
	                               .peers = (uintptr_t)&other->table->ends[FAKE_DAT_INDEX],
	                               .index = FAKE_DAT_INDEX,
	                               .tag = TAG,
	                               .peer_index = FAKE_DAT_INDEX,
	                               .peer_tag = TAG,
	                               .reads = FAKE_DAT_READS};

	CHECK((s->end = s->rc->open(&config)) != NULL);
	open_posts(s);
	open_lane(s, side, ends);
}

void fake_dat_open(int threads)
{
	static uint64_t ends[2][64];
	DAT_IA_HANDLE ia;
	int i;

	node_guard_install();
	for (i = 0; i < 2; i++)
		CHECK((bells[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
	fake_node_make(bells);
	if (!area)
		area = aligned_alloc(AREA, AREA);
	CHECK(area != NULL);
	memset(area, 0, AREA);
	for (i = 0; i < 2; i++) {
		fake_dat_side *s = &fake_dat[i];
		dat_slot *slots = (dat_slot *)(void *)area + 1 + SLOTS * i;

		*s = (fake_dat_side){.rc = &calls[i],
		                     .lane = i ? &second_lane : &dat_the_lane,
		                     .ep = slots,
		                     .recv = slots + 1,
		                     .request = slots + 2,
		                     .async = slots + 3,
		                     .srq_slot = slots + 4};
		open_queue(s, s->async);
		open_queue(s, s->recv);
		open_queue(s, s->request);
		open_table(s, i);
		fake_node_peer(i)->pid = getpid();
		fake_node_peer(i)->direct = 1;
	}
	for (i = 0; i < 2; i++)
		open_end(i, ends[i]);
	if (threads) {
		const uint64_t arguments[] = {0, 0, 0, (uintptr_t)&ia};

		CHECK(dat_open_own(arguments) == DAT_SUCCESS);
	}
}

/* As core frees an endpoint: posted requests complete first. */
static void close_side(fake_dat_side *s)
{
	s->rc->cut(s->end, RC_BY_USER);
	s->rc->flush(s->end);
	s->rc->close(s->end);
	if (s->srq)
		s->rc->close_shared(s->srq);
	s->rc->evd_close((uintptr_t)s->recv);
	s->rc->evd_close((uintptr_t)s->request);
	s->rc->evd_close((uintptr_t)s->async);
	memset(s->lane, 0, sizeof(*s->lane));
}

void fake_dat_close(void)
{
	int i;

	if (adapters)
		CHECK(dat_close_own(&fake_dat[0], DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	for (i = 0; i < 2; i++) {
		close(bells[i]);
		close_side(&fake_dat[i]);
	}
}

void fake_dat_share(int side, uint32_t max)
{
	fake_dat_side *s = &fake_dat[side];

	s->srq = s->rc->open_shared((uintptr_t)s->srq_slot, ZONE, max, FAKE_DAT_IOV, 0);
	CHECK(s->srq != NULL);
	*s->srq_slot = (dat_slot){.kind = 1 + DAT_HANDLE_TYPE_SRQ, .lane = (uintptr_t)s->srq};
	s->end->config.srq = (uintptr_t)s->srq;
	s->posts.srq = (uintptr_t)s->srq_slot;
}

int fake_dat_over(int side)
{
	fake_dat_side *s = &fake_dat[side];

	if (s->end->on)
		return 0;
	s->lane->ended = 0;
	if (s->end->collected)
		return 1;
	s->end->collected = 1;
	s->posts.state = DAT_EP_OVER;
	s->table->ends[FAKE_DAT_INDEX].open = 0;
	s->rc->flush(s->end);
	return 1;
}

void fake_dat_turns(void)
{
	enum { QUIET = 4 };
	int quiet = 0;

	while (quiet++ < QUIET) {
		int side;

		for (side = 0; side < 2; side++)
			if (fake_dat[side].rc->turn() & DAT_LANE_MADE)
				quiet = 0;
	}
}

dat_completion fake_dat_take(int side, const dat_slot *evd)
{
	dat_completion completion = {0};
	evd_event event;

	CHECK(fake_dat[side].rc->evd_take((uintptr_t)evd, &event) == DAT_SUCCESS);
	memcpy(&completion, &event, sizeof(event));
	return completion;
}

void fake_dat_expect(int side, const dat_slot *evd, uint64_t cookie, uint32_t status)
{
	const dat_completion c = fake_dat_take(side, evd);

	CHECK(c.cookie == cookie && c.status == status);
}

DAT_LMR_TRIPLET fake_dat_local(int side, uint64_t at, uint64_t n)
{
	return (DAT_LMR_TRIPLET){.virtual_address = (uintptr_t)fake_dat[side].memory + at,
	                         .segment_length = n,
	                         .lmr_context = FAKE_DAT_CONTEXT};
}

DAT_RMR_TRIPLET fake_dat_remote(int side, uint64_t at, uint64_t n)
{
	return (DAT_RMR_TRIPLET){.virtual_address = (uintptr_t)fake_dat[side].memory + at,
	                         .segment_length = n,
	                         .rmr_context = FAKE_DAT_CONTEXT};
}

int second_dev_poll(void)
{
	return 0;
}

void second_dev_poll_for(uint64_t evd)
{
	(void)evd;
}
