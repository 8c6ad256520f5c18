/*
 * test_dev.c - the device engine (dat/dev/dev.h) over an adapter that records what is posted and
 * completes what the test says.
 */
#include <infiniband/verbs.h>
#include <string.h>

#include "ctest/dat/fake_dat.h"
#include "dat/dev/quick.h"

enum { RECV, REQUEST, SLOTS, ZONE = 77, BASED = 5, PLAIN = 6, READ_ONLY = 8, SIZE = 4096 };

static _Alignas(1 << DAT_AREA_SHIFT) union {
	dat_slot slots[SLOTS];
	char all[1 << DAT_AREA_SHIFT];
} area;
static char memory[SIZE];

/* The latest posts, and the completions of the queue. */
static struct ibv_send_wr posted;
static struct ibv_recv_wr received;
static struct ibv_sge segments[4];
static struct ibv_wc list[64];
static int sends, receives, refuse, next, end, most_asked;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (refuse)
		return refuse;
	posted = *wr;
	memcpy(segments, wr->sg_list, (size_t)wr->num_sge * sizeof *segments);
	sends++;
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	received = *wr;
	receives++;
	return refuse;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	received = *wr;
	receives++;
	return refuse;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
	int n = 0;

	most_asked = most;
	while (n < most && next < end)
		out[n++] = list[next++];
	return n;
}

static struct ibv_context context = {.ops = {.post_send = post_send,
                                             .post_recv = post_recv,
                                             .post_srq_recv = post_srq_recv,
                                             .poll_cq = poll_cq}};
static struct ibv_qp qp = {.context = &context};
static struct ibv_cq cq = {.context = &context};
static struct ibv_srq srq = {.context = &context};

static uint64_t evd(int i)
{
	return (uintptr_t)&area.slots[i];
}

static dev_adapter *adapter;
static dev_pool *pool;
static dev_pair *pair;

static void name(uint32_t context_of, uint64_t start, uint16_t privileges)
{
	const dev_memory m = {.addr = (uintptr_t)memory,
	                      .n = SIZE,
	                      .start = start,
	                      .pz = ZONE,
	                      .context = context_of,
	                      .key = context_of + 1000,
	                      .privileges = privileges,
	                      .of = DEV_OF_LMR};

	CHECK(dev_add_memory(adapter, &m));
}

static dev_pair *new_pair(uint32_t number, dev_queue *queue)
{
	dev_pair *p = dev_open_pair(adapter, 8, queue ? 0 : 8);

	CHECK(p && dev_begin_pair(p, (uintptr_t)&qp, number, queue));
	p->ep = number;
	p->pz = ZONE;
	p->recv = evd(RECV);
	p->request = evd(REQUEST);
	p->open = 1;
	return p;
}

static void begin(void)
{
	int i;

	handle_add_area((uintptr_t)&area);
	memset(&area, 0, sizeof area);
	for (i = 0; i < SLOTS; i++) {
		area.slots[i].kind = 1 + DAT_HANDLE_TYPE_EVD;
		CHECK(evd_open(evd(i), 64, DAT_QUEUE_DTO, 0));
	}
	sends = receives = refuse = next = end = dev_work = 0;
	adapter = dev_open(64, 0);
	pool = adapter ? dev_add_pool(adapter, (uintptr_t)&cq) : NULL;
	CHECK(pool);
	name(PLAIN, (uintptr_t)memory, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	name(BASED, 0, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	name(READ_ONLY, (uintptr_t)memory, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	pair = new_pair(7, NULL);
}

static void finish(void)
{
	int i;

	if (pair->qp)
		dev_end_pair(pair);
	dev_close_pair(pair);
	dev_close(adapter);
	for (i = 0; i < SLOTS; i++)
		evd_close(evd(i));
}

static DAT_RETURN post(int op, uint8_t flags, uint32_t of, uint64_t at, uint32_t n, uint64_t cookie,
                       uint32_t completion)
{
	const DAT_LMR_TRIPLET local[] = {{at, 0, 99}, {at, n, of}};
	const DAT_RMR_TRIPLET remote = {0x5000, 64, 0x77};
	const dat_post p = {.op = op,
	                    .flags = flags,
	                    .num_segments = 2,
	                    .local_iov = local,
	                    .cookie = cookie,
	                    .remote_iov = op == RC_SEND ? NULL : &remote,
	                    .data = 0x1234,
	                    .operand = 11,
	                    .compare = 12,
	                    .completion = completion};

	return dev_post(pair, &p);
}

/* The adapter completes what was posted with that number. */
static void complete(uint64_t id, int status, int opcode, uint32_t n)
{
	list[end++] = (struct ibv_wc){.wr_id = id,
	                              .status = (enum ibv_wc_status)status,
	                              .opcode = (enum ibv_wc_opcode)opcode,
	                              .byte_len = n,
	                              .qp_num = 7};
}

static DAT_DTO_COMPLETION_EVENT_DATA take(int i, uint32_t number)
{
	DAT_EVENT event;

	CHECK(evd_take(evd(i), (evd_event *)(void *)&event) == DAT_SUCCESS);
	CHECK(event.event_number == (DAT_EVENT_NUMBER)number);
	return event.event_data.dto_completion_event_data;
}

static void expect(int i, uint64_t cookie, uint32_t status, uint32_t n)
{
	DAT_DTO_COMPLETION_EVENT_DATA d = take(i, DAT_DTO_COMPLETION_EVENT);

	CHECK(d.user_cookie.as_64 == cookie && (uint32_t)d.status == status &&
	      d.transfered_length == n);
}

static void nothing(int i)
{
	CHECK(area.slots[i].length == 0);
}

/* Each operation's request as the adapter gets it. */
static void posts(void)
{
	uint64_t at = (uintptr_t)memory;

	begin();
	CHECK(post(RC_SEND, 0, PLAIN, at + 8, 16, 1, DAT_COMPLETION_SOLICITED_WAIT_FLAG) == 0);
	CHECK(posted.opcode == IBV_WR_SEND && posted.num_sge == 1 && segments[0].addr == at + 8 &&
	      segments[0].length == 16 && segments[0].lkey == PLAIN + 1000);
	CHECK(posted.send_flags == (IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE));
	/* inline data are taken from where they are, not from where the program counts them */
	CHECK(post(RC_SEND, 0, BASED, 8, 16, 2, 0) == 0 && segments[0].addr == at + 8);
	CHECK(post(RC_SEND, RC_INVALIDATE, BASED, 8, 100, 2, 0) == 0 && segments[0].addr == 8);
	CHECK(posted.opcode == IBV_WR_SEND_WITH_INV && posted.invalidate_rkey == 0x1234 &&
	      posted.send_flags == IBV_SEND_SIGNALED);
	CHECK(post(RC_WRITE, RC_IMMEDIATE, PLAIN, at, 16, 3, DAT_COMPLETION_BARRIER_FENCE_FLAG) ==
	      0);
	CHECK(posted.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && posted.imm_data == 0x1234 &&
	      posted.wr.rdma.remote_addr == 0x5000 && posted.wr.rdma.rkey == 0x77 &&
	      posted.send_flags == (IBV_SEND_SIGNALED | IBV_SEND_FENCE));
	pair->reads = 1;
	CHECK(post(RC_SWAP, 0, PLAIN, at, 8, 4, 0) == 0);
	CHECK(posted.opcode == IBV_WR_ATOMIC_CMP_AND_SWP && posted.wr.atomic.compare_add == 12 &&
	      posted.wr.atomic.swap == 11 && posted.wr.atomic.remote_addr == 0x5000 &&
	      posted.wr.atomic.rkey == 0x77);
	CHECK(post(RC_ADD, 0, PLAIN, at, 8, 5, 0) == 0 && posted.wr.atomic.compare_add == 11);
	CHECK(pair->requests == 6 && sends == 6 && pair->counters[DCNT_EP_POST_SEND] == 3 &&
	      pair->counters[DCNT_EP_POST_SEND + 1] == 132);
	finish();
}

/* A request whose memory is not accessible is not posted, nor is any request after it. */
static void refusals(void)
{
	uint64_t at = (uintptr_t)memory, first;
	dev_notice notice;
	uint32_t made = 0;

	begin();
	CHECK(post(RC_SEND, 0, PLAIN, at, 4, 1, 0) == 0);
	first = posted.wr_id;
	CHECK(post(RC_SEND, 0, PLAIN, at + SIZE - 4, 5, 2, 0) == 0 && sends == 1 && dev_work);
	CHECK(post(RC_SEND, 0, PLAIN, at, 4, 3, 0) == 0 && sends == 1);
	complete(first, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	CHECK(dev_step(adapter, NULL, &notice, &made) && notice.pair == pair && made == 1);
	CHECK(dev_oldest(pair)->known && notice.number == pair->sent);
	dev_finish_request(pair, DAT_DTO_SUCCESS);
	expect(REQUEST, 1, DAT_DTO_SUCCESS, 4);
	CHECK(!dev_oldest(pair)->known && dev_oldest(pair)->status == DAT_DTO_ERR_LOCAL_PROTECTION);
	dev_finish_request(pair, DAT_DTO_ERR_LOCAL_PROTECTION);
	CHECK(dev_oldest(pair)->status == DAT_DTO_ERR_FLUSHED);
	dev_finish_request(pair, DAT_DTO_ERR_FLUSHED);
	expect(REQUEST, 2, DAT_DTO_ERR_LOCAL_PROTECTION, 0);
	expect(REQUEST, 3, DAT_DTO_ERR_FLUSHED, 0);
	CHECK(!dev_oldest(pair) && !pair->special);
	/* nothing is posted any more: at once */
	CHECK(post(RC_SEND, 0, PLAIN, at, 4, 4, DAT_COMPLETION_SUPPRESS_FLAG) == 0 && sends == 1);
	expect(REQUEST, 4, DAT_DTO_ERR_FLUSHED, 0);
	pair->open = 1;
	CHECK(post(RC_READ, 0, PLAIN, at, 4, 5, 0) == 0 && sends == 1); /* no read may be under way */
	CHECK(dev_oldest(pair)->status == DAT_DTO_ERR_LOCAL_EP);
	dev_finish_request(pair, DAT_DTO_ERR_LOCAL_EP);
	pair->open = pair->reads = 1;
	CHECK(post(RC_READ, 0, READ_ONLY, at, 4, 6, 0) == 0 && sends == 1);
	CHECK(dev_oldest(pair)->status == DAT_DTO_ERR_LOCAL_PROTECTION);
	dev_finish_request(pair, DAT_DTO_ERR_LOCAL_PROTECTION);
	pair->open = refuse = 1;
	CHECK(post(RC_SEND, 0, PLAIN, at, 4, 7, 0) == 0);
	CHECK(dev_oldest(pair)->status == DAT_DTO_ERR_TRANSPORT);
	dev_finish_request(pair, DAT_DTO_ERR_TRANSPORT);
	finish();
}

/* A completion that is as usual is an event; any other stops the queue for core. */
static void completions(void)
{
	uint64_t at = (uintptr_t)memory, ids[4];
	const DAT_LMR_TRIPLET local = {at, 64, PLAIN};
	dev_notice notice;
	uint32_t made = 0;
	int i;

	begin();
	for (i = 0; i < 4; i++) {
		CHECK(post(RC_SEND, 0, PLAIN, at, 4, (uint64_t)i,
		           i == 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0) == 0);
		ids[i] = posted.wr_id;
	}
	complete(ids[0], IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	complete(ids[1], IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	CHECK(dev_poll() == 1);
	expect(REQUEST, 0, DAT_DTO_SUCCESS, 4);
	nothing(REQUEST);
	CHECK(dev_poll() == 0 && pair->requests == 2);
	for (i = 0; i < 2; i++) {
		CHECK(dev_post_receive(pair, 1, &local, 10 + (uint64_t)i) == 0);
		complete(received.wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 5);
	}
	complete(ids[2], IBV_WC_RETRY_EXC_ERR, 0, 0);
	list[end - 1].vendor_err = 0x81;
	complete(ids[3], IBV_WC_WR_FLUSH_ERR, 0, 0);
	dev_poll_for(evd(RECV)); /* no more than it needs */
	CHECK(most_asked == 1 && next == 3);
	expect(RECV, 10, DAT_DTO_SUCCESS, 5);
	CHECK(!dev_work && dev_poll() == 1 && dev_work);
	expect(RECV, 11, DAT_DTO_SUCCESS, 5);
	CHECK(dev_poll() == 1);
	nothing(REQUEST);
	CHECK(dev_step(adapter, NULL, &notice, &made) && notice.status == IBV_WC_RETRY_EXC_ERR &&
	      notice.vendor_err == 0x81 && notice.qpn == 7 && dev_oldest(pair)->local == at);
	dev_finish_request(pair, DAT_DTO_ERR_TRANSPORT);
	expect(REQUEST, 2, DAT_DTO_ERR_TRANSPORT, 0);
	CHECK(dev_step(adapter, NULL, &notice, &made) && notice.status == IBV_WC_WR_FLUSH_ERR);
	dev_finish_request(pair, DAT_DTO_ERR_FLUSHED);
	expect(REQUEST, 3, DAT_DTO_ERR_FLUSHED, 0);
	CHECK(!dev_step(adapter, NULL, &notice, &made));
	complete(ids[0], IBV_WC_SUCCESS, IBV_WC_SEND, 0); /* an old one */
	CHECK(dev_poll() == 1);
	nothing(REQUEST);
	finish();
}

/* A receive whose earlier ones have lost their completions is core's. */
static void skips(void)
{
	const DAT_LMR_TRIPLET local = {(uintptr_t)memory, 64, PLAIN};
	dev_notice notice;
	uint32_t made = 0;

	begin();
	CHECK(dev_post_receive(pair, 1, &local, 1) == 0);
	CHECK(dev_post_receive(pair, 1, &local, 2) == 0);
	complete(received.wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 5);
	CHECK(dev_poll() == 1 && dev_work);
	nothing(RECV);
	CHECK(dev_step(adapter, NULL, &notice, &made) && notice.skips && pair->receives == 2);
	dev_flush_receives(pair);
	expect(RECV, 1, DAT_DTO_ERR_FLUSHED, 0);
	expect(RECV, 2, DAT_DTO_ERR_FLUSHED, 0);
	complete(received.wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 5); /* an old one */
	CHECK(dev_poll() == 1);
	nothing(RECV);
	CHECK(!dev_step(adapter, NULL, &notice, &made));
	finish();
}

/* Receives that are flushed, of no queue pair, or not writable. */
static void own_receives(void)
{
	const DAT_LMR_TRIPLET good = {(uintptr_t)memory, 64, PLAIN},
			      bad = {(uintptr_t)memory, 64, READ_ONLY};

	begin();
	CHECK(dev_post_receive(pair, 1, &bad, 1) ==
	      (DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_WRITE));
	CHECK(receives == 0 && dev_post_receive(pair, 1, &good, 2) == 0 && pair->receives == 1);
	CHECK(received.num_sge == 1 && received.sg_list && receives == 1);
	dev_end_pair(pair);
	CHECK(dev_post_receive(pair, 1, &good, 3) == 0 && receives == 1);
	expect(RECV, 3, DAT_DTO_ERR_FLUSHED, 0);
	dev_flush_receives(pair);
	expect(RECV, 2, DAT_DTO_ERR_FLUSHED, 0);
	nothing(RECV);
	finish();
}

/* Receives of a shared queue complete in any order, and also after their pair is gone. */
static void shared(void)
{
	const DAT_LMR_TRIPLET local = {(uintptr_t)memory, 64, PLAIN};
	dev_queue *queue;
	uint64_t ids[4];
	int i;

	begin();
	dev_end_pair(pair);
	dev_close_pair(pair);
	queue = dev_open_queue(adapter, (uintptr_t)&srq, ZONE, 3);
	CHECK(queue);
	pair = new_pair(7, queue);
	for (i = 0; i < 3; i++) {
		CHECK(dev_post_shared(queue, 1, &local, (uint64_t)i) == 0);
		ids[i] = received.wr_id;
	}
	CHECK(dev_post_shared(queue, 1, &local, 9) ==
	      (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_SRQ));
	CHECK(dev_resize_queue(queue, 4) && dev_post_shared(queue, 1, &local, 3) == 0);
	ids[3] = received.wr_id;
	queue->low = 3;
	complete(ids[2], IBV_WC_SUCCESS, IBV_WC_RECV, 1);
	CHECK(dev_poll() == 1 && queue->posted == 3 && !queue->is_low);
	complete(ids[0], IBV_WC_SUCCESS, IBV_WC_RECV, 2);
	CHECK(dev_poll() == 1 && queue->posted == 2 && queue->is_low && dev_work);
	expect(RECV, 2, DAT_DTO_SUCCESS, 1);
	expect(RECV, 0, DAT_DTO_SUCCESS, 2);
	complete(ids[0], IBV_WC_SUCCESS, IBV_WC_RECV, 2); /* it is not posted */
	CHECK(dev_poll() == 1 && queue->posted == 2);
	dev_end_pair(pair);
	complete(ids[1], IBV_WC_SUCCESS, IBV_WC_RECV, 3);
	CHECK(dev_poll() == 1 && queue->posted == 1);
	expect(RECV, 1, DAT_DTO_SUCCESS, 3);
	dev_forget_evd(adapter, evd(RECV));
	complete(ids[3], IBV_WC_SUCCESS, IBV_WC_RECV, 3);
	CHECK(dev_poll() == 1 && queue->posted == 0);
	nothing(RECV);
	dev_close_queue(queue);
	finish();
}

/* Completions of pairs that are gone are dropped, whatever pairs come after them. */
static void serials(void)
{
	const DAT_LMR_TRIPLET local = {(uintptr_t)memory, 64, PLAIN};
	uint64_t id;
	int i;

	begin();
	CHECK(dev_post_receive(pair, 1, &local, 1) == 0);
	id = received.wr_id;
	for (i = 0; i < 200; i++) {
		dev_end_pair(pair);
		dev_close_pair(pair);
		pair = new_pair(7, NULL);
		CHECK(dev_post_receive(pair, 1, &local, 2) == 0 && received.wr_id != id);
		complete(id, IBV_WC_SUCCESS, IBV_WC_RECV, 3);
		CHECK(dev_poll() == 1 && pair->receives == 1);
		next = end = 0;
	}
	nothing(RECV);
	finish();
}

/* Contexts name their memory while others come and go. */
static void contexts(void)
{
	enum { CONTEXTS = 500 };
	dev_memory m = {.addr = (uintptr_t)memory, .n = 64, .start = 0, .pz = ZONE};
	uint32_t i, step;

	begin();
	for (step = 1; step <= 0x100; step *= 16) { /* as adapters number them */
		for (i = 0; i < CONTEXTS; i++) {
			m.context = 100 + i * step;
			m.key = i;
			m.of = DEV_OF_LMR;
			CHECK(dev_add_memory(adapter, &m));
		}
		for (i = 0; i < CONTEXTS; i += 3)
			dev_remove_memory(adapter, 100 + i * step, DEV_OF_LMR);
		for (i = 0; i < CONTEXTS; i++) {
			pair->open = 1;
			sends = 0;
			CHECK(post(RC_WRITE, 0, 100 + i * step, 0, 64, 1, 0) == 0);
			CHECK(sends == (i % 3 != 0) && (!sends || segments[0].lkey == i));
			dev_finish_request(pair, DAT_DTO_SUCCESS);
			take(REQUEST, DAT_DTO_COMPLETION_EVENT);
		}
		for (i = 0; i < CONTEXTS; i++)
			dev_remove_memory(adapter, 100 + i * step, DEV_OF_LMR);
	}
	finish();
}

/* A post in place, by its operation as the entry points have it. */
static int place(int op, uint8_t flags, const DAT_LMR_TRIPLET *local, const DAT_RMR_TRIPLET *remote,
                 uint32_t completion)
{
	const dev_quick p = {.op = op,
	                     .flags = flags,
	                     .local = local,
	                     .cookie = 9,
	                     .remote = remote,
	                     .completion = completion,
	                     .data = 0x1234,
	                     .operand = 11,
	                     .compare = 12};

	return dev_post_quickly(pair, &p);
}

/* The request in place is the same as the judged one, and so is its record. */
static void same_in_place(int op, uint8_t flags, uint32_t completion, uint64_t at, uint32_t n,
                          uint32_t of)
{
	const DAT_LMR_TRIPLET local = {at, n, of};
	const DAT_RMR_TRIPLET remote = {0x5000, 64, 0x77};
	const dev_request *noted;
	struct ibv_send_wr judged;
	struct ibv_sge segment;
	uint64_t bytes;

	CHECK(post(op, flags, of, at, n, 9, completion) == 0);
	judged = posted;
	segment = segments[0];
	bytes = pair->counters[DCNT_EP_POST_SEND + 1];
	CHECK(place(op, flags, &local, &remote, completion) == DEV_POSTED && sends == 2);
	CHECK(posted.wr_id == judged.wr_id + 1 && posted.opcode == judged.opcode &&
	      posted.send_flags == judged.send_flags && posted.num_sge == 1 && !posted.next &&
	      memcmp(&segments[0], &segment, sizeof segment) == 0);
	CHECK(!(flags & RC_IMMEDIATE) || posted.imm_data == judged.imm_data);
	CHECK(op == RC_SEND || op >= RC_SWAP ||
	      (posted.wr.rdma.remote_addr == 0x5000 && posted.wr.rdma.rkey == 0x77));
	CHECK(op < RC_SWAP || (posted.wr.atomic.remote_addr == 0x5000 && posted.wr.atomic.rkey == 0x77 &&
	                       posted.wr.atomic.compare_add == judged.wr.atomic.compare_add));
	CHECK(op != RC_SWAP || posted.wr.atomic.swap == 11);
	noted = dev_oldest(pair);
	CHECK(noted->known && noted[1].known && noted[1].cookie == 9 && noted[1].op == noted->op &&
	      noted[1].flags == noted->flags && noted[1].n == noted->n &&
	      noted[1].local == noted->local && noted[1].remote == noted->remote &&
	      noted[1].completion == noted->completion && noted[1].status == noted->status);
	CHECK(op != RC_SEND || pair->counters[DCNT_EP_POST_SEND + 1] == bytes + n);
}

static void begin_quick(void)
{
	begin();
	dev_set_limits(pair, 4, 2, 128);
	pair->reads = 1;
}

static void posts_in_place(void)
{
	static const struct {
		int op;
		uint8_t flags;
	} all[] = {{RC_SEND, 0}, {RC_WRITE, 0}, {RC_WRITE, RC_IMMEDIATE},
	           {RC_READ, 0}, {RC_SWAP, 0},  {RC_ADD, 0}};
	uint64_t at = (uintptr_t)memory;
	size_t i;

	for (i = 0; i < sizeof all / sizeof *all; i++) {
		begin_quick();
		same_in_place(all[i].op, all[i].flags, 0, at + 8, 8, PLAIN);
		finish();
		begin_quick();
		same_in_place(all[i].op, all[i].flags,
		              DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
		                      DAT_COMPLETION_BARRIER_FENCE_FLAG,
		              at + 8, 8, PLAIN);
		finish();
	}
	begin_quick(); /* not inline; addresses that count from 0 */
	same_in_place(RC_SEND, 0, 0, 16, 100, BASED);
	finish();
	begin_quick();
	same_in_place(RC_SEND, 0, 0, 16, 8, BASED);
	finish();
}

/* Whatever is not legal beyond doubt is judged: nothing is done of it. */
static void doubts(void)
{
	uint64_t at = (uintptr_t)memory;
	const DAT_LMR_TRIPLET good = {at, 8, PLAIN};
	const DAT_LMR_TRIPLET bad[] = {{at, 0, PLAIN},          {at, 129, PLAIN},
	                               {at, 8, 99},             {at + SIZE - 4, 8, PLAIN},
	                               {at - 4, 8, PLAIN},      {UINT64_MAX - 3, 8, PLAIN},
	                               {at + SIZE, 1, PLAIN}};
	const DAT_RMR_TRIPLET there = {0x5000, 8, 0x77}, small = {0x5000, 7, 0x77},
			      odd = {0x5004, 8, 0x77};
	const DAT_LMR_TRIPLET read_only = {at, 8, READ_ONLY}, four = {at, 4, PLAIN},
			      crooked = {at + 4, 8, PLAIN};
	size_t i;

	begin_quick();
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		CHECK(place(RC_SEND, 0, &bad[i], NULL, 0) == DEV_JUDGE);
		CHECK(dev_receive_quickly(pair, &bad[i], 1) == DEV_JUDGE);
	}
	CHECK(place(RC_SEND, 0, &good, NULL, 64) == DEV_JUDGE); /* no such flag */
	CHECK(place(RC_WRITE, 0, &good, &small, 0) == DEV_JUDGE);
	CHECK(place(RC_READ, 0, &good, &small, 0) == DEV_JUDGE);
	CHECK(place(RC_READ, 0, &read_only, &there, 0) == DEV_JUDGE);
	CHECK(dev_receive_quickly(pair, &read_only, 1) == DEV_JUDGE);
	CHECK(place(RC_ADD, 0, &four, &there, 0) == DEV_JUDGE);
	CHECK(place(RC_ADD, 0, &crooked, &there, 0) == DEV_JUDGE);
	CHECK(place(RC_SWAP, 0, &good, &odd, 0) == DEV_JUDGE);
	pair->reads = 0;
	CHECK(place(RC_READ, 0, &good, &there, 0) == DEV_JUDGE);
	CHECK(place(RC_ADD, 0, &good, &there, 0) == DEV_JUDGE);
	pair->reads = 1;
	((dev_names *)(void *)adapter)->lacks = DEV_NO_ATOMICS;
	CHECK(place(RC_ADD, 0, &good, &there, 0) == DEV_JUDGE);
	((dev_names *)(void *)adapter)->lacks = 0;
	pair->pz++; /* of another zone */
	CHECK(place(RC_SEND, 0, &good, NULL, 0) == DEV_JUDGE);
	CHECK(dev_receive_quickly(pair, &good, 1) == DEV_JUDGE);
	pair->pz--;
	dev_set_open(pair, 0);
	CHECK(place(RC_SEND, 0, &good, NULL, 0) == DEV_JUDGE);
	dev_set_limits(pair, 4, 2, 128); /* it stays closed */
	CHECK(place(RC_SEND, 0, &good, NULL, 0) == DEV_JUDGE);
	CHECK(sends == 0 && receives == 0 && pair->requests == 0 && pair->receives == 0);
	dev_set_open(pair, 1);
	for (i = 0; i < 4; i++)
		CHECK(place(RC_SEND, 0, &good, NULL, 0) == DEV_POSTED);
	CHECK(place(RC_SEND, 0, &good, NULL, 0) == DEV_JUDGE && sends == 4); /* no room */
	for (i = 0; i < 2; i++)
		CHECK(dev_receive_quickly(pair, &good, 1 + i) == DEV_POSTED);
	CHECK(dev_receive_quickly(pair, &good, 1) == DEV_JUDGE && receives == 2);
	dev_end_pair(pair);
	CHECK(!pair->most_receives && !pair->most_requests);
	dev_set_limits(pair, 4, 3, 128); /* a receive without a queue pair is flushed */
	CHECK(dev_receive_quickly(pair, &good, 1) == DEV_JUDGE && receives == 2);
	finish();
}

/* A request that the adapter refuses completes as if it had been judged. */
static void refused_in_place(void)
{
	const DAT_LMR_TRIPLET good = {(uintptr_t)memory, 8, PLAIN};

	begin_quick();
	refuse = 1;
	CHECK(place(RC_SEND, 0, &good, NULL, 0) == DEV_REFUSED && dev_work && !pair->open);
	CHECK(!dev_oldest(pair)->known && dev_oldest(pair)->status == DAT_DTO_ERR_TRANSPORT);
	CHECK(place(RC_SEND, 0, &good, NULL, 0) == DEV_JUDGE);
	dev_finish_request(pair, DAT_DTO_ERR_TRANSPORT);
	expect(REQUEST, 9, DAT_DTO_ERR_TRANSPORT, 0);
	CHECK(dev_receive_quickly(pair, &good, 4) == DEV_REFUSED && !pair->receives);
	expect(RECV, 4, DAT_DTO_ERR_FLUSHED, 0);
	finish();
}

/* A pair that is closed is found by its endpoint's handle no more. */
static void recent(void)
{
	dev_pair **place_of_it;

	begin();
	place_of_it = dev_recent_of(pair->ep);
	*place_of_it = pair;
	finish();
	CHECK(*place_of_it != pair && (*place_of_it)->ep == 1);
}

void test_dev(void)
{
	posts_in_place();
	doubts();
	refused_in_place();
	recent();
	posts();
	refusals();
	completions();
	own_receives();
	skips();
	shared();
	serials();
	contexts();
}
