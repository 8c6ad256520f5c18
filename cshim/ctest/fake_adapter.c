#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibv/library.h"
#include "ctest/fake_adapter.h"

enum { QUEUE = 256 };

typedef struct device {
	struct cshim_ibv opened;
	struct ibv_context context;
	struct ibv_cq cq;
	struct ibv_srq srq;
	struct ibv_qp qp;
	cshim_ibv_object opened_cq;
	struct ibv_wc found[QUEUE];
	unsigned first_found, end_found;
	struct {
		uint64_t id, addr;
	} buffers[QUEUE];
	unsigned first_buffer, end_buffer;
	fake_adapter face;
} device;

static device devices[2];
static verbs_link links[2];
static verbs_port ports[2];
static verbs_peer pairs[2];
static uint64_t tasks[2][2];
static unsigned char slots[2][FAKE_SLOTS][VERBS_SLOT] __attribute__((aligned(4096)));
static cshim_lane lanes[2] __attribute__((aligned(64)));
static node_link ringless[2] __attribute__((aligned(64)));
static node_segment_head heads[2] __attribute__((aligned(64)));
static int16_t no_ring[2] = {-1, -1};
static uint64_t scratch[2][CSHIM_LANE_UHDR / 8];
int fake_packets_handled, fake_packets_told;

static int number_of(const struct ibv_context *context)
{
	return context == &devices[1].context;
}

void fake_adapter_complete(int task, const struct ibv_wc *like, const void *packet, uint32_t n)
{
	device *d = &devices[task];
	struct ibv_wc *wc = &d->found[d->end_found++ % QUEUE];

	CHECK(d->end_found - d->first_found <= QUEUE);
	*wc = *like;
	if (!packet)
		return;
	CHECK(d->first_buffer != d->end_buffer); /* else the sender would have to wait */
	wc->wr_id = d->buffers[d->first_buffer % QUEUE].id;
	wc->byte_len = n;
	wc->opcode = IBV_WC_RECV;
	memcpy((void *)(uintptr_t)d->buffers[d->first_buffer % QUEUE].addr, packet, n);
	d->first_buffer++;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int task = number_of(qp->context);
	device *d = &devices[task];
	struct ibv_wc wc = {.qp_num = FAKE_QPN, .status = IBV_WC_SUCCESS};

	*bad = wr;
	if (d->face.refuses_sends)
		return ENOMEM;
	CHECK(wr->opcode == IBV_WR_SEND && wr->num_sge == 1 && !wr->next);
	CHECK(wr->sg_list->lkey == (uint32_t)task + 7);
	d->face.sends++;
	d->face.last_inline = (wr->send_flags & IBV_SEND_INLINE) != 0;
	d->face.last_signaled = (wr->send_flags & IBV_SEND_SIGNALED) != 0;
	CHECK(d->face.last_inline == (wr->sg_list->length <= 64));
	fake_adapter_complete(1 - task, &wc, (const void *)(uintptr_t)wr->sg_list->addr,
	                      wr->sg_list->length);
	wc.wr_id = wr->wr_id;
	wc.opcode = IBV_WC_SEND;
	if (d->face.last_signaled)
		fake_adapter_complete(task, &wc, NULL, 0);
	return 0;
}

static int post_buffers(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	device *d = &devices[number_of(srq->context)];

	for (; wr; wr = wr->next) {
		*bad = wr;
		if (d->face.refuses_buffers && --d->face.refuses_buffers == 0)
			return ENOMEM;
		CHECK(wr->sg_list->length == VERBS_SLOT && d->end_buffer - d->first_buffer < QUEUE);
		d->buffers[d->end_buffer % QUEUE].id = wr->wr_id;
		d->buffers[d->end_buffer++ % QUEUE].addr = wr->sg_list->addr;
		d->face.buffers++;
	}
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	device *d = &devices[number_of(cq->context)];
	int n;

	d->face.polls++;
	if (d->face.broken)
		return -1;
	for (n = 0; n < most && d->first_found != d->end_found; n++)
		wc[n] = d->found[d->first_found++ % QUEUE];
	return n;
}

static struct ibv_cq *create_cq(struct ibv_context *context, int entries, void *own,
                                struct ibv_comp_channel *channel, int vector)
{
	device *d = &devices[number_of(context)];

	(void)entries, (void)channel, (void)vector;
	free(d->cq.cq_context); /* of the test before */
	d->cq.cq_context = own;
	return &d->cq;
}

static void make_device(int task)
{
	device *d = &devices[task];

	void *before = d->cq.cq_context;

	memset(d, 0, sizeof(*d));
	d->cq.cq_context = before;
	d->context.ops.post_send = post_send;
	d->context.ops.post_srq_recv = post_buffers;
	d->context.ops.poll_cq = poll_cq;
	d->cq.context = d->srq.context = d->qp.context = &d->context;
	d->qp.qp_num = FAKE_QPN;
	d->opened.context = &d->context;
	ibv.create_cq = create_cq;
	CHECK(cshim_ibv_create_cq(&d->opened, QUEUE, &d->opened_cq) == 0);
}

/* As transport/verbs makes them when a queue pair is open. */
static void make_link(int task)
{
	verbs_link *link = &links[task];
	verbs_port *port = &ports[task];
	verbs_peer *peer = &pairs[task];
	int other = 1 - task, i;

	memset(link, 0, sizeof(*link));
	memset(port, 0, sizeof(*port));
	memset(peer, 0, sizeof(*peer));
	*port = (verbs_port){.cq = CSHIM_ADDR(&devices[task].cq),
	                     .srq = CSHIM_ADDR(&devices[task].srq),
	                     .index = 3,
	                     .max_inline = 64,
	                     .target = FAKE_TARGET,
	                     .together = FAKE_TOGETHER};
	port->pairs[FAKE_QPN % VERBS_PAIRS] =
		(verbs_pair){.peer = CSHIM_ADDR(peer), .qpn = FAKE_QPN};
	*peer = (verbs_peer){.credit = VERBS_WINDOW,
	                     .granted = VERBS_WINDOW,
	                     .window = VERBS_WINDOW,
	                     .usable = 1,
	                     .task = other,
	                     .qp = CSHIM_ADDR(&devices[task].qp),
	                     .port = CSHIM_ADDR(port)};
	tasks[task][other] = CSHIM_ADDR(peer);
	link->peer_of = CSHIM_ADDR(tasks[task]);
	link->tasks = 2;
	link->port[0] = CSHIM_ADDR(port);
	link->ports = 1;
	link->used = INT32_MAX;
	link->limit_send = FAKE_SLOTS;
	for (i = 0; i < 2; i++) {
		link->chunks[i].memory = CSHIM_ADDR(slots[task][i * VERBS_CHUNK]);
		link->chunks[i].lkey[3] = (uint32_t)task + 7;
	}
	for (i = 0; i < FAKE_SLOTS; i++)
		link->free[link->num_free++] = i;
	for (i = 0; i < FAKE_TARGET; i++)
		verbs_give_back(link, port, link->free[--link->num_free]);
}

static void attach(int task, cshim_context *context)
{
	cshim_lane *lane = &lanes[task];

	memset(lane, 0, sizeof(*lane));
	memset(&ringless[task], 0, sizeof(ringless[task]));
	ringless[task].own_head = CSHIM_ADDR(&heads[task]);
	lane->link = CSHIM_ADDR(&ringless[task]);
	lane->ring_of = CSHIM_ADDR(no_ring);
	lane->verbs = CSHIM_ADDR(&links[task]);
	lane->scratch = CSHIM_ADDR(scratch[task]);
	lane->turns_max = 4096;
	lane->bulk_min = UINT64_MAX;
	cshim_lock(&context->progress);
	context->task = task;
	context->num_tasks = 2;
	context->lane = CSHIM_ADDR(lane);
	cshim_unlock(&context->progress);
}

void fake_adapter_attach(lapi_handle_t handles[2])
{
	int task;

	for (task = 0; task < 2; task++) {
		make_device(task);
		make_link(task);
	}
	for (task = 0; task < 2; task++)
		attach(task, fake_context(handles[task]));
	fake_packets_handled = fake_packets_told = 0;
}

void fake_adapter_detach(lapi_handle_t handle)
{
	cshim_context *context = fake_context(handle);

	cshim_lock(&context->progress);
	context->lane = 0;
	cshim_unlock(&context->progress);
}

fake_adapter *fake_adapter_of(int task)
{
	return &devices[task].face;
}

verbs_link *fake_packets_of(int task)
{
	return &links[task];
}

verbs_port *fake_port_of(int task)
{
	return &ports[task];
}

verbs_peer *fake_pair_of(int task)
{
	return &pairs[task];
}

cshim_lane *fake_packet_lane_of(int task)
{
	return &lanes[task];
}

void golapi_lane_packet_handled(int context, int32_t task, int32_t slot, uint32_t n,
                                cshim_header_result *result)
{
	(void)context, (void)result;
	CHECK((task == 0 || task == 1) && slot >= 0 && slot < FAKE_SLOTS && n >= 24);
	fake_packets_handled++;
}
