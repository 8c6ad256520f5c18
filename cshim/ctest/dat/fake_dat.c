/* fake_dat.c - see fake_dat.h. */
#define _GNU_SOURCE
#include "ctest/dat/fake_dat.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dat/api/providers.h"
#include "node/arm.h"

enum { AREA = 1 << DAT_AREA_SHIFT, TAG = 4711, ZONE = 0x1000 };

fake_dat_side fake_dat[2];

static unsigned char *area; /* aligned by hand: valgrind loads programs at any page */
static dat_table tables[2];
static unsigned char memories[2][FAKE_DAT_MEMORY] __attribute__((aligned(4096)));
static int bells[2], adapters;

/* What the two have of core. */

uint32_t godat_call(int number, uint64_t *arguments)
{
	if (number != DAT_CALL_ia_openv && number != DAT_CALL_ia_close)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES; /* it is for the lane */
	adapters = number == DAT_CALL_ia_openv;
	if (adapters)
		*(DAT_IA_HANDLE *)(uintptr_t)arguments[3] = &fake_dat[0];
	return DAT_SUCCESS;
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

/* There are no providers. */
const DAT_PROVIDER *dat_provider_of(DAT_HANDLE handle)
{
	(void)handle;
	return NULL;
}

const DAT_PROVIDER *dat_provider_of_ia(DAT_HANDLE handle)
{
	(void)handle;
	return NULL;
}

void dat_extensions_found(void)
{
}

static void open_queue(dat_slot *slot, dat_queue *queue, DAT_EVENT *events)
{
	*queue = (dat_queue){.events = (uintptr_t)events,
	                     .room = FAKE_DAT_EVENTS,
	                     .size = FAKE_DAT_EVENTS,
	                     .flags = DAT_QUEUE_TRANSFERS};
	*slot = (dat_slot){.kind = 1 + DAT_HANDLE_TYPE_EVD, .lane = (uintptr_t)queue};
}

static void open_table(fake_dat_side *s, int side)
{
	s->table = &tables[side];
	s->memory = memories[side];
	memset(s->table, 0, sizeof(*s->table));
	memset(s->memory, 0, FAKE_DAT_MEMORY);
	s->table->ends[FAKE_DAT_INDEX] =
		(dat_open){.pz = ZONE, .tag = TAG, .open = 1, .looks = 1};
	s->table->names[FAKE_DAT_NAME] =
		(dat_name){.addr = (uintptr_t)s->memory,
	                   .n = FAKE_DAT_MEMORY,
	                   .pz = ZONE,
	                   .context = FAKE_DAT_CONTEXT,
	                   .privileges = (uint16_t)(DAT_MEM_PRIV_ALL_FLAG |
	                                            (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)};
}

static void open_end(int side, uint64_t *ends)
{
	fake_dat_side *s = &fake_dat[side];
	const fake_dat_side *other = &fake_dat[1 - side];

	s->end = (dat_end){.config.link = (uintptr_t)fake_node_link(side),
	                   .config.peer = (uintptr_t)fake_node_peer(side),
	                   .config.ep = (uintptr_t)s->ep,
	                   .config.pz = ZONE,
	                   .config.recv = (uintptr_t)s->recv,
	                   .config.request = (uintptr_t)s->request,
	                   .config.table = (uintptr_t)other->table,
	                   .config.own = (uintptr_t)&s->table->ends[FAKE_DAT_INDEX],
	                   .config.peers = (uintptr_t)&other->table->ends[FAKE_DAT_INDEX],
	                   .config.requests = (uintptr_t)s->requests,
	                   .config.receives = (uintptr_t)s->receives,
	                   .config.room = FAKE_DAT_EVENTS,
	                   .config.max_requests = DAT_LANE_WINDOW,
	                   .config.max_receives = FAKE_DAT_EVENTS,
	                   .config.max_writes = 4,
	                   .config.max_reads = 4,
	                   .config.index = FAKE_DAT_INDEX,
	                   .config.tag = TAG,
	                   .config.peer_index = FAKE_DAT_INDEX,
	                   .config.peer_tag = TAG,
	                   .config.reads = 4,
	                   .on = 1};
	*s->ep = (dat_slot){.kind = 1 + DAT_HANDLE_TYPE_EP, .lane = (uintptr_t)&s->end};
	ends[FAKE_DAT_INDEX] = (uintptr_t)&s->end;
	memset(s->lane, 0, sizeof(*s->lane));
	s->lane->num_links = 1;
	s->lane->links[0] = (uintptr_t)fake_node_link(side);
	s->lane->bells[0] = bells[side];
	s->lane->ends = (uintptr_t)ends;
	s->lane->num_ends = 64;
	s->lane->table = (uintptr_t)s->table;
	handle_add_area((uintptr_t)area);
	second_handle_add_area((uintptr_t)area);
	s->lane->on = 1;
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
	fake_dat[0].lane = &dat_the_lane;
	fake_dat[1].lane = &second_lane;
	for (i = 0; i < 2; i++) {
		fake_dat_side *s = &fake_dat[i];

		s->ep = (dat_slot *)(void *)area + 1 + 3 * i;
		s->recv = s->ep + 1;
		s->request = s->ep + 2;
		open_queue(s->recv, &s->recv_queue, s->recv_events);
		open_queue(s->request, &s->request_queue, s->request_events);
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

void fake_dat_close(void)
{
	int i;

	if (adapters)
		CHECK(dat_close_own(&fake_dat[0], DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	for (i = 0; i < 2; i++) {
		close(bells[i]);
		memset(fake_dat[i].lane, 0, sizeof(*fake_dat[i].lane));
	}
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
