/*
 * test_rc.c - each operation of the node engine, and each of its errors: what arrives, which events
 * there are and in which order, and how the connection ends. One thread.
 */
#include "ctest/dat/fake_rc.h"

#include <string.h>

enum { AT = 4096, N = 64, LONG = 300000, FAR = 512 << 10 };

static const uint32_t OK = DAT_DTO_SUCCESS, FLUSHED = DAT_DTO_ERR_FLUSHED,
		      LOCAL = DAT_DTO_ERR_LOCAL_PROTECTION, ACCESS = DAT_DTO_ERR_REMOTE_ACCESS;

static unsigned char one[FAKE_DAT_MEMORY], two[FAKE_DAT_MEMORY];

static void pattern(int side)
{
	uint32_t i;

	for (i = 0; i < FAKE_DAT_MEMORY; i++)
		fake_dat[side].memory[i] = (unsigned char)(i * 7 + i / 251);
}

static void post_list(int op, const DAT_LMR_TRIPLET *list, uint64_t n)
{
	const DAT_RMR_TRIPLET there = fake_dat_remote(1, FAR, n);
	const dat_post post = {.op = op,
	                       .params = op == RC_SEND ? RC_PARAMS_SEND : RC_PARAMS_RDMA,
	                       .num_segments = FAKE_DAT_IOV,
	                       .local_iov = list,
	                       .cookie = 5,
	                       .remote_iov = &there};

	CHECK(rc_post(fake_dat[0].ep, &post) == DAT_SUCCESS);
}

/* The bytes of a list are there, and nothing beside them has changed. */
static void list_of(int op, uint64_t n, int direct)
{
	DAT_LMR_TRIPLET here[FAKE_DAT_IOV], there[FAKE_DAT_IOV];
	const int to = op != RC_READ;

	fake_rc_open(direct);
	pattern(1 - to);
	fake_rc_list(0, AT, n, here);
	fake_rc_list(1, AT + N, n, there);
	if (op == RC_SEND)
		CHECK(second_rc_post_receive(fake_dat[1].ep, FAKE_DAT_IOV, there, 6, 0) ==
		      DAT_SUCCESS);
	post_list(op, here, n);
	fake_dat_turns();
	REQUESTS_ARE(0, {5, OK});
	fake_rc_gather(here, one);
	if (op == RC_SEND) {
		fake_dat_expect(1, fake_dat[1].recv, 6, OK);
		fake_rc_gather(there, two);
	} else {
		memcpy(two, fake_dat[1].memory + FAR, n);
	}
	CHECK(memcmp(one, two, n) == 0);
	memset(one, to ? 9 : 3, N);
	if (op == RC_READ)
		CHECK(memcmp(fake_dat[0].memory + here[1].virtual_address % AT, one, 1) == 0 &&
		      memcmp(fake_dat[0].memory + AT + 72 + n / 5, one, N) == 0);
	else if (op == RC_SEND)
		CHECK(memcmp(fake_dat[1].memory + AT + N + 72 + n / 5, one, N) == 0);
	else
		CHECK(memcmp(fake_dat[1].memory + FAR + n, one, N) == 0);
	CHECK(fake_dat[0].end->on && fake_dat[1].end->on && fake_dat[0].end->tx.posted == 0);
	fake_dat_close();
}

static void lists(void)
{
	static const uint64_t sizes[] = {7, 160, 500, 3000, LONG};
	size_t i;
	int op, direct;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (op = RC_SEND; op <= RC_READ; op++)
			for (direct = 0; direct < 2; direct++)
				list_of(op, sizes[i], direct);
}

/* A request may not access the peer's memory so: both are over, and the peer's receives flushed. It
 * is behind other requests, which complete. */
static void no_right(int op, uint8_t flags, int direct)
{
	dat_name *name;

	fake_rc_open(direct);
	name = &fake_dat[1].table->names[FAKE_DAT_NAME];
	name->privileges &= (uint16_t) ~(op == RC_WRITE  ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG
	                                 : op == RC_READ ? DAT_MEM_PRIV_REMOTE_READ_FLAG
	                                                 : (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_receive(1, 2, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	fake_rc_post(0, (fake_rc){.op = op, .flags = flags, .cookie = 2, .n = 8, .there = FAR});
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 3, .n = N});
	fake_rc_both_over(RC_BROKEN, RC_BROKEN);
	REQUESTS_ARE(0, {1, OK}, {2, ACCESS}, {3, FLUSHED});
	RECEIVES_ARE(1, {1, OK}, {2, FLUSHED});
	CHECK(fake_dat[1].memory[FAR] == 9);
	fake_dat_close();
}

static void rights(void)
{
	int op, direct;

	for (op = RC_WRITE; op <= RC_ADD; op++)
		for (direct = 0; direct < 2; direct++)
			no_right(op, 0, direct);
	no_right(RC_WRITE, RC_IMMEDIATE, 0);
}

static void atomics(void)
{
	uint64_t *there, *here;

	fake_rc_open(1);
	there = (void *)(fake_dat[1].memory + FAR);
	here = (void *)(fake_dat[0].memory + AT);
	*there = 40;
	fake_rc_post(
		0,
		(fake_rc){.op = RC_ADD, .cookie = 1, .at = AT, .there = FAR, .n = 8, .operand = 2});
	fake_rc_post(0, (fake_rc){.op = RC_SWAP,
	                          .cookie = 2,
	                          .at = AT + 8,
	                          .there = FAR,
	                          .n = 8,
	                          .compare = 41,
	                          .operand = 7});
	fake_rc_post(0, (fake_rc){.op = RC_SWAP,
	                          .cookie = 3,
	                          .at = AT + 16,
	                          .there = FAR,
	                          .n = 8,
	                          .compare = 42,
	                          .operand = 8});
	fake_dat_turns();
	CHECK(here[0] == 40 && here[1] == 42 && here[2] == 42 && *there == 8);
	CHECK(fake_dat_take(0, fake_dat[0].request).operation == (uint32_t)DAT_IB_DTO_FETCH_ADD);
	CHECK(fake_dat_take(0, fake_dat[0].request).operation == (uint32_t)DAT_IB_DTO_CMP_SWAP);
	REQUESTS_ARE(0, {3, OK});
	fake_dat_close();
}

/* A write with data takes a receive, of which it changes nothing. */
static void immediate(void)
{
	dat_completion c;

	fake_rc_open(1);
	fake_rc_receive(1, 6, AT, 4);
	fake_rc_post(0, (fake_rc){.op = RC_WRITE,
	                          .flags = RC_IMMEDIATE,
	                          .cookie = 5,
	                          .there = FAR,
	                          .n = N,
	                          .data = 0x1234});
	fake_dat_turns();
	c = fake_dat_take(1, fake_dat[1].recv);
	CHECK(c.cookie == 6 && c.data == 0x1234 && c.length == N && !c.status);
	CHECK(c.number == DAT_IB_DTO_EVENT && c.kind == DAT_IB_RDMA_WRITE_IMMED_DATA);
	c = fake_dat_take(0, fake_dat[0].request);
	CHECK(c.cookie == 5 && c.kind == DAT_IB_RDMA_WRITE_IMMED && c.length == N);
	CHECK(fake_dat[1].memory[FAR + N - 1] == 3 && fake_dat[1].memory[AT] == 9);
	fake_dat_close();
}

/* A read to the memory of an RMR, which by its context is no memory of others'. */
static void read_to_window(void)
{
	DAT_LMR_TRIPLET own;
	DAT_RMR_TRIPLET there;
	dat_post post = {.op = RC_READ,
	                 .flags = RC_TO_RMR,
	                 .params = RC_PARAMS_RMR,
	                 .num_segments = 1,
	                 .local_iov = &own,
	                 .remote_iov = &there};
	int direct;

	for (direct = 0; direct < 2; direct++) {
		fake_rc_open(direct);
		own = fake_dat_local(0, AT, N);
		there = fake_dat_remote(1, FAR, N);
		own.lmr_context = FAKE_DAT_WINDOW;
		CHECK(rc_post(fake_dat[0].ep, &post) == DAT_SUCCESS);
		fake_dat_turns();
		CHECK(fake_dat[0].memory[AT + N - 1] == 9 && fake_dat[0].memory[AT + N] == 3);
		REQUESTS_ARE(0, {0, OK});
		own.lmr_context = FAKE_DAT_CONTEXT; /* it is none */
		CHECK(rc_post(fake_dat[0].ep, &post) == DAT_SUCCESS);
		fake_rc_both_over(RC_BROKEN, RC_BROKEN);
		REQUESTS_ARE(0, {0, LOCAL});
		fake_dat_close();
	}
}

/* No event of a success that is suppressed; of an error there is one. */
static void suppressed(void)
{
	const uint32_t flag = DAT_COMPLETION_SUPPRESS_FLAG;

	fake_rc_open(1);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N, .completion = flag});
	fake_rc_post(0, (fake_rc){.op = RC_WRITE, .cookie = 2, .n = N, .completion = flag});
	fake_dat_turns();
	CHECK(fake_dat[0].request->length == 0 && fake_dat[0].end->tx.posted == 0);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 3, .n = N, .completion = flag});
	rc_disconnect(fake_dat[0].end, 0);
	fake_rc_both_over(RC_BY_USER, RC_BY_PEER);
	REQUESTS_ARE(0, {3, FLUSHED});
	fake_dat_close();
}

/* Where only solicited receives wake others are there, but not ready. */
static void solicited(void)
{
	const dat_slot *recv;
	uint32_t i;

	fake_rc_open(1);
	recv = fake_dat[1].recv;
	fake_dat[1].end->config.solicited = 1;
	for (i = 0; i < 4; i++)
		fake_rc_receive(1, i, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .n = N});
	fake_dat_turns();
	CHECK(recv->length == 1 && recv->ready == 0);
	fake_rc_post(
		0,
		(fake_rc){.op = RC_SEND, .n = N, .completion = DAT_COMPLETION_SOLICITED_WAIT_FLAG});
	fake_dat_turns();
	CHECK(recv->length == 2 && recv->ready == 2);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .n = N});
	fake_dat_turns();
	CHECK(recv->length == 3 && recv->ready == 2);
	fake_dat_close();
	fake_rc_open(1); /* a flush wakes all the same */
	fake_dat[1].end->config.solicited = 1;
	fake_rc_receive(1, 1, AT, N);
	second_lane.ended = 0;
	fake_dat[1].rc->cut(fake_dat[1].end, RC_BROKEN);
	CHECK(second_lane.ended && fake_dat_over(1) && fake_dat[1].recv->ready == 1);
	fake_dat_close();
}

/* At most FAKE_DAT_READS reads are under way, and a fence lets nothing pass until none is. */
static void reads_under_way(void)
{
	const dat_end *end;
	uint32_t i;

	fake_rc_open(0);
	end = fake_dat[0].end;
	for (i = 0; i < FAKE_DAT_READS + 2; i++)
		fake_rc_post(
			0,
			(fake_rc){.op = i % 2 ? RC_ADD : RC_READ, .cookie = i, .at = AT, .n = 8});
	CHECK(end->tx.sent == FAKE_DAT_READS && end->tx.asked == FAKE_DAT_READS);
	second_rc_turn();
	CHECK(end->tx.sent == FAKE_DAT_READS);
	rc_turn();
	CHECK(end->tx.posted == 2 && end->tx.sent == 2);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_receive(1, 2, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 6, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_SEND,
	                          .cookie = 7,
	                          .n = N,
	                          .completion = DAT_COMPLETION_BARRIER_FENCE_FLAG});
	CHECK(end->tx.sent == 3 && end->tx.posted == 4);
	second_rc_turn();
	RECEIVES_ARE(1, {1, OK});
	fake_dat_turns();
	RECEIVES_ARE(1, {2, OK});
	REQUESTS_ARE(0, {0, OK}, {1, OK}, {2, OK}, {3, OK}, {4, OK}, {5, OK}, {6, OK}, {7, OK});
	CHECK(end->tx.asked == 0);
	fake_dat_close();
}

/* The own memory of one of several requests is not as it should be: those in front complete. */
static void bad_local(int op, int direct)
{
	fake_rc_open(direct);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_receive(1, 2, AT, N);
	fake_rc_receive(1, 3, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 2, .n = N});
	fake_rc_post(0, (fake_rc){.op = op, .cookie = 3, .n = 8, .own = 0x700009});
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 4, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_WRITE, .cookie = 5, .there = FAR, .n = N});
	fake_rc_both_over(RC_BROKEN, RC_BROKEN);
	REQUESTS_ARE(0, {1, OK}, {2, OK}, {3, LOCAL}, {4, FLUSHED}, {5, FLUSHED});
	RECEIVES_ARE(1, {1, OK}, {2, OK}, {3, FLUSHED});
	CHECK(fake_dat[1].memory[FAR] == 9);
	fake_dat_close();
}

/* The memory of an answer, or of a posted request, is taken away meanwhile. */
static void taken_away(void)
{
	fake_rc_open(0);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_READ, .cookie = 2, .at = AT, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_READ, .cookie = 3, .at = AT, .n = N});
	fake_dat[0].table->names[FAKE_DAT_NAME].context = 0;
	fake_rc_both_over(RC_BROKEN, RC_BROKEN);
	REQUESTS_ARE(0, {1, OK}, {2, LOCAL}, {3, FLUSHED});
	RECEIVES_ARE(1, {1, OK});
	CHECK(fake_dat[0].memory[AT] == 3);
	fake_dat_close();

	fake_rc_open(0); /* of a receive */
	fake_rc_receive(1, 1, AT, N);
	fake_rc_receive(1, 2, AT, N);
	fake_dat[1].table->names[FAKE_DAT_NAME].context = 0;
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	fake_rc_both_over(RC_BROKEN, RC_BROKEN);
	REQUESTS_ARE(0, {1, DAT_DTO_ERR_REMOTE_RESPONDER});
	RECEIVES_ARE(1, {1, LOCAL}, {2, FLUSHED});
	CHECK(fake_dat[1].memory[AT] == 9);
	fake_dat_close();
}

/* Lengths that add up to more than a message may have, also beyond 32 bits. */
static void too_much(void)
{
	const DAT_RETURN much = DAT_CLASS_ERROR | DAT_LENGTH_ERROR;
	DAT_LMR_TRIPLET list[2];
	dat_post post = {.op = RC_SEND, .num_segments = 2, .local_iov = list};

	fake_rc_open(1);
	list[0] = fake_dat_local(0, 0, FAKE_DAT_MEMORY);
	list[1] = fake_dat_local(0, 0, 1);
	CHECK(rc_post(fake_dat[0].ep, &post) == much);
	list[0].segment_length = list[1].segment_length = 1u << 31;
	CHECK(rc_post(fake_dat[0].ep, &post) == much);
	CHECK(fake_dat[0].end->tx.posted == 0);
	fake_dat_close();
}

/* A receive whose segments add up to more than 32 bits takes any message. */
static void large_receive(void)
{
	DAT_LMR_TRIPLET list[2];

	fake_rc_open(1);
	fake_dat[1].table->names[FAKE_DAT_NAME].n = (uint64_t)1 << 32;
	list[0] = list[1] = fake_dat_local(1, 0, 0);
	list[0].segment_length = list[1].segment_length = 1u << 31;
	CHECK(second_rc_post_receive(fake_dat[1].ep, 2, list, 0, 0) == DAT_SUCCESS);
	CHECK(rc_receive_at(&fake_dat[1].end->rx.queue, 0)->local.n == UINT32_MAX);
	fake_dat_close();
}

/* Atomic operations are of eight bytes, at addresses of eight bytes. */
static void aligned(void)
{
	fake_rc add = {.op = RC_ADD, .at = AT, .there = FAR, .n = 8};

	fake_rc_open(1);
	add.at = AT + 4;
	CHECK(fake_rc_try(0, &add) == DAT_BAD_ARGUMENT(3));
	add.at = AT;
	add.there = FAR + 4;
	CHECK(fake_rc_try(0, &add) == DAT_BAD_ARGUMENT(5));
	add.there = FAR;
	add.n = 16;
	CHECK(fake_rc_try(0, &add) == DAT_BAD_ARGUMENT(3) && fake_dat[0].end->tx.posted == 0);
	fake_dat_close();
}

void test_rc(void)
{
	int op;

	lists();
	large_receive();
	rights();
	atomics();
	immediate();
	read_to_window();
	suppressed();
	solicited();
	reads_under_way();
	for (op = RC_SEND; op <= RC_ADD; op++) {
		bad_local(op, 0);
		bad_local(op, 1);
	}
	taken_away();
	too_much();
	aligned();
}
