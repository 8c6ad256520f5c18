/* test_completions.c - completion queues of uDAPL's adapters: completions that a look finds are
 * kept for core, in order, with later ones behind them; queues that are gone are not asked. */
#include "ctest/fake.h"

#include <errno.h>
#include <string.h>

#include "ibv/ibv.h"
#include "ibv/library.h"

/* The completions of an adapter, by number. */
static struct {
	struct ibv_cq cq;
	uint64_t first, end;
	int asked;
} queues[2];
static struct ibv_context context;
static int made, freed, refuse, failing;

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
	int n = 0, i = cq == &queues[1].cq;

	queues[i].asked++;
	for (; n < most && queues[i].first < queues[i].end; n++)
		out[n] = (struct ibv_wc){
			.wr_id = queues[i].first++, .opcode = IBV_WC_RECV, .byte_len = 7};
	if (failing && n)
		out[0] = (struct ibv_wc){.status = IBV_WC_RETRY_EXC_ERR,
		                         .vendor_err = 0x81,
		                         .qp_num = 5,
		                         .byte_len = 9};
	return n;
}

static struct ibv_cq *create_cq(struct ibv_context *of, int entries, void *own,
                                struct ibv_comp_channel *channel, int vector)
{
	if (refuse) {
		errno = ENOSPC;
		return NULL;
	}
	queues[made].cq = (struct ibv_cq){.context = of, .cq_context = own};
	return &queues[made++].cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
	freed++;
	return 0;
}

/* Takes at most that number, which are to be those from first to end. */
static void take(cshim_ibv_object queue, int most, uint64_t first, uint64_t end)
{
	struct cshim_ibv_completion found[64];

	CHECK(cshim_ibv_poll(queue, most, found) == (int)(end - first));
	for (uint64_t i = first; i < end; i++)
		CHECK(found[i - first].id == i && found[i - first].n == 7 &&
		      found[i - first].status == 0);
}

void test_completions(void)
{
	struct rdma_event_channel channel;
	struct cshim_ibv a = {.context = &context, .cm = &channel};
	struct cshim_ibv_completion found[32];
	cshim_ibv_object one, two, none;

	ibv.create_cq = create_cq;
	ibv.destroy_cq = destroy_cq;
	context.ops.poll_cq = poll_cq;
	CHECK(cshim_ibv_create_cq(&a, 64, &one) == 0);
	CHECK(cshim_ibv_create_cq(&a, 64, &two) == 0);
	refuse = 1;
	CHECK(cshim_ibv_create_cq(&a, 64, &none) == ENOSPC);
	CHECK(!cshim_ibv_look());

	queues[1].end = 3;
	for (int i = 0; i < 20; i++) /* it stays there until it is taken */
		CHECK(cshim_ibv_look() == 1);
	take(one, 32, 0, 0);
	queues[1].end = 40; /* more comes */
	take(two, 2, 0, 2);
	take(two, 32, 2, 34);
	CHECK(cshim_ibv_look() == 1);
	take(two, 64, 34, 40);
	CHECK(!cshim_ibv_look());
	queues[0].end = queues[1].end = 50;
	CHECK(cshim_ibv_look() == 1);
	take(one, 64, 0, 50);
	take(two, 64, 40, 50);
	CHECK(!cshim_ibv_look());

	failing = 1; /* all that the adapter says of it is there, and nothing else */
	queues[0].end++;
	CHECK(cshim_ibv_poll(one, 32, found) == 1);
	CHECK(found[0].status == IBV_WC_RETRY_EXC_ERR && found[0].vendor_err == 0x81 &&
	      found[0].qpn == 5 && found[0].n == 0);
	failing = 0;

	CHECK(cshim_ibv_destroy_cq(two) == 0);
	queues[0].asked = queues[1].asked = 0;
	queues[1].end = 60;
	CHECK(!cshim_ibv_look());
	CHECK(queues[0].asked == 1 && queues[1].asked == 0);
	cshim_ibv_leave(one); /* its owner polls it */
	queues[0].end++;
	CHECK(!cshim_ibv_look() && queues[0].asked == 1);
	CHECK(cshim_ibv_destroy_cq(one) == 0 && freed == 2);
}
