/*
 * test_direct.c - writes and reads of uDAPL's lane between two processes: which memory may be
 * accessed by one copy and by messages, that copies keep to the order of requests, and by which
 * pipeline long ones go. One thread.
 */
#include "ctest/dat/fake_dat.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { AT = 4096, N = 64, LONG = 600 << 10 };

static dat_end *origin;
static dat_name *name;
static dat_open *opened;

static void open_both(void)
{
	fake_dat_open(0);
	origin = fake_dat[0].end;
	name = &fake_dat[1].table->names[FAKE_DAT_NAME];
	opened = &fake_dat[1].table->ends[FAKE_DAT_INDEX];
	memset(fake_dat[0].memory, 3, FAKE_DAT_MEMORY);
	memset(fake_dat[1].memory, 9, FAKE_DAT_MEMORY);
}

static int all_are(const unsigned char *bytes, uint64_t n, unsigned char value)
{
	while (n > 0)
		if (bytes[--n] != value)
			return 0;
	return 1;
}

/* Posts a write, or a read, between the first bytes of the origin's memory and what to names. */
static DAT_RETURN post(int op, uint64_t n, const DAT_RMR_TRIPLET *to)
{
	const DAT_LMR_TRIPLET from = fake_dat_local(0, 0, n);
	const dat_post post = {.op = op,
	                       .params = RC_PARAMS_RDMA,
	                       .num_segments = 1,
	                       .local_iov = &from,
	                       .remote_iov = to};

	return rc_post(fake_dat[0].ep, &post);
}

/* How many of the origin's requests are complete. */
static uint32_t completed(void)
{
	return fake_dat[0].request->length;
}

/* The reasons for which memory may not be accessed, one at a time. */
enum {
	CLOSED,
	OTHER_TAG,
	NO_END,
	NO_NAME,
	NO_CONTEXT,
	OLD_CONTEXT,
	CLEARED,
	OTHER_ZONE,
	NO_RIGHT,
	TOO_LONG,
	BEHIND,
	BEFORE,
	FORBIDDEN
};

static void forbid(int what, int op, DAT_RMR_TRIPLET *to)
{
	switch (what) {
	case CLOSED:
		opened->open = 0;
		break;
	case OTHER_TAG:
		opened->tag++;
		break;
	case NO_END:
		/* behind it there are names, which are not 0 */
		origin->config.peer_index = DAT_TABLE_ENDS;
		fake_dat[1].table->names[0] = (dat_name){
			.n = (uint64_t)1 << 32 | origin->config.peer_tag, .addr = name->pz};
		break;
	case NO_NAME:
		to->rmr_context = DAT_CONTEXT_INDEX & ~1u;
		break;
	case NO_CONTEXT:
		fake_dat[1].table->names[0] = *name;
		fake_dat[1].table->names[0].context = to->rmr_context = 0;
		break;
	case OLD_CONTEXT:
		to->rmr_context ^= 1u << 21;
		break;
	case CLEARED:
		name->context = 0;
		break;
	case OTHER_ZONE:
		name->pz++;
		break;
	case NO_RIGHT:
		name->privileges &= (uint16_t) ~(op == RC_READ ? DAT_MEM_PRIV_REMOTE_READ_FLAG
		                                               : DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
		break;
	case TOO_LONG:
		name->n = AT + N - 1;
		break;
	case BEHIND:
		name->n = AT - 1;
		break;
	case BEFORE:
		name->addr += AT + 1;
		name->n -= AT + 1;
		break;
	}
}

/* By one copy, which the origin makes: if access was allowed earlier only, the copy is not made,
 * and nothing is complete. The request goes to the target in a message. */
static void copies_nothing(int what, int op)
{
	DAT_RMR_TRIPLET to;

	open_both();
	to = fake_dat_remote(1, AT, N);
	CHECK(post(op, N, &to) == DAT_SUCCESS && completed() == 1 && origin->tx.posted == 0);
	memset(fake_dat[0].memory, 3, N);
	memset(fake_dat[1].memory + AT, 9, N);
	forbid(what, op, &to);
	CHECK(post(op, N, &to) == DAT_SUCCESS && completed() == 1 && origin->tx.posted == 1);
	CHECK(all_are(fake_dat[0].memory, N, 3) && all_are(fake_dat[1].memory + AT, N, 9));
	fake_dat_close();
}

/* Both ends are over, and the origin's only request is complete with that status. */
static void both_over(uint32_t status)
{
	rc_turn();
	CHECK(fake_dat_over(1) && fake_dat[1].end->how == RC_BROKEN);
	CHECK(fake_dat_over(0) && origin->how == RC_BROKEN && origin->tx.posted == 0);
	fake_dat_expect(0, fake_dat[0].request, 0, status);
	CHECK(completed() == 0);
}

/* In a message: the target changes nothing, and ends the connection. */
static void takes_nothing(int what, int op)
{
	DAT_RMR_TRIPLET to;

	if (what < NO_NAME || what == NO_CONTEXT)
		return; /* these are the origin's to look at */
	open_both();
	fake_node_peer(0)->direct = 0;
	to = fake_dat_remote(1, AT, N);
	CHECK(post(op, N, &to) == DAT_SUCCESS && completed() == 0);
	CHECK(!(second_rc_turn() & DAT_LANE_CORE));
	rc_turn();
	CHECK(completed() == 1);
	memset(fake_dat[0].memory, 3, N);
	memset(fake_dat[1].memory + AT, 9, N);
	forbid(what, op, &to);
	CHECK(post(op, N, &to) == DAT_SUCCESS);
	CHECK(second_rc_turn() & DAT_LANE_CORE && fake_dat[1].end->rx.expected == 1);
	fake_dat_expect(0, fake_dat[0].request, 0, DAT_DTO_SUCCESS);
	both_over(DAT_DTO_ERR_REMOTE_ACCESS);
	CHECK(all_are(fake_dat[0].memory, N, 3) && all_are(fake_dat[1].memory + AT, N, 9));
	fake_dat_close();
}

/* An atomic operation needs a right of its own. */
static void atomics(void)
{
	DAT_LMR_TRIPLET result;
	DAT_RMR_TRIPLET to;
	const dat_post add = {.op = RC_ADD,
	                      .params = RC_PARAMS_ADD,
	                      .num_segments = 1,
	                      .local_iov = &result,
	                      .remote_iov = &to,
	                      .operand = 1};

	open_both();
	result = fake_dat_local(0, 0, 8);
	to = fake_dat_remote(1, AT, 8);
	name->privileges &= (uint16_t) ~(int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	CHECK(rc_post(fake_dat[0].ep, &add) == DAT_SUCCESS);
	CHECK(second_rc_turn() & DAT_LANE_CORE);
	CHECK(all_are(fake_dat[1].memory + AT, 8, 9) && completed() == 0);
	both_over(DAT_DTO_ERR_REMOTE_ACCESS);
	fake_dat_close();
}

/* The request is complete with an error of its own memory, and the connection over. */
static void own_is_bad(void)
{
	CHECK(completed() == 0 && dat_the_lane.ended);
	second_rc_turn();
	CHECK(all_are(fake_dat[1].memory + AT, N, 9) && all_are(fake_dat[0].memory, N, 3));
	both_over(DAT_DTO_ERR_LOCAL_PROTECTION);
}

/* The own memory: of another zone, too long, not writable for a read, a window. */
static void own_memory(void)
{
	static const int ops[] = {RC_WRITE, RC_READ};
	int what, i;

	for (i = 0; i < 2; i++)
		for (what = 0; what < 4; what++) {
			DAT_RMR_TRIPLET to;
			dat_name *own;

			open_both();
			own = &fake_dat[0].table->names[FAKE_DAT_NAME];
			to = fake_dat_remote(1, AT, N);
			own->pz += what == 0;
			if (what == 1)
				own->n = N - 1;
			if (what == 2)
				own->privileges &= (uint16_t)~DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
			own->window = what == 3;
			CHECK(post(ops[i], N, &to) == DAT_SUCCESS);
			if (what == 2 && ops[i] == RC_WRITE)
				CHECK(completed() == 1 && origin->on);
			else
				own_is_bad();
			fake_dat_close();
		}
}

/* A copy is made only when every request in front has taken effect. */
static void order(void)
{
	const dat_post send = {.op = RC_SEND};
	DAT_RMR_TRIPLET to;

	open_both();
	to = fake_dat_remote(1, AT, N);
	CHECK(rc_post(fake_dat[0].ep, &send) == DAT_SUCCESS); /* there is no receive for it */
	CHECK(post(RC_WRITE, N, &to) == DAT_SUCCESS);
	CHECK(origin->tx.posted == 2 && completed() == 0);
	CHECK(all_are(fake_dat[1].memory + AT, N, 9));
	CHECK(second_rc_post_receive(fake_dat[1].ep, 0, NULL, 0, 0) == DAT_SUCCESS);
	second_rc_turn();
	rc_turn();
	CHECK(completed() == 2 && all_are(fake_dat[1].memory + AT, N, 3));
	CHECK(post(RC_WRITE, N, &to) == DAT_SUCCESS && completed() == 3); /* now by a copy */
	fake_dat_close();
}

/* A copy is made though its event has no place: that is an asynchronous error. */
static void no_place(void)
{
	DAT_RMR_TRIPLET to;

	open_both();
	to = fake_dat_remote(1, AT, N);
	dat_queue_of(fake_dat[0].request)->size = 0;
	CHECK(post(RC_WRITE, N, &to) == DAT_SUCCESS);
	CHECK(origin->tx.posted == 0 && all_are(fake_dat[1].memory + AT, N, 3));
	CHECK(completed() == 0 && fake_dat[0].async->length == 1);
	CHECK(fake_dat_take(0, fake_dat[0].async).number == DAT_ASYNC_ERROR_EVD_OVERFLOW);
	fake_dat_close();
}

/* An endpoint is held to its numbers of segments, requests and receives. */
static void limits(void)
{
	const DAT_RETURN full = DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_TEP;
	DAT_LMR_TRIPLET two[2];
	DAT_RMR_TRIPLET to;
	dat_post post_two = {.op = RC_WRITE,
	                     .params = RC_PARAMS_RDMA,
	                     .num_segments = 2,
	                     .local_iov = two,
	                     .remote_iov = &to};

	open_both();
	to = fake_dat_remote(1, AT, N);
	two[0] = fake_dat_local(0, 0, N / 2);
	two[1] = fake_dat_local(0, 100, N / 2);
	CHECK(rc_post(fake_dat[0].ep, &post_two) == DAT_SUCCESS && completed() == 1);
	fake_dat[0].posts.max_write_iov = 1;
	CHECK(rc_post(fake_dat[0].ep, &post_two) == DAT_BAD_ARGUMENT(2) && completed() == 1);
	fake_dat[0].posts.max_requests = 0;
	CHECK(post(RC_WRITE, N, &to) == full && completed() == 1);
	CHECK(rc_post_receive(fake_dat[0].ep, 0, NULL, 0, 0) == DAT_SUCCESS);
	fake_dat[0].posts.max_receives = 1;
	CHECK(rc_post_receive(fake_dat[0].ep, 0, NULL, 0, 0) == full);
	fake_dat_close();
}

/* A write that has no room in the few chunks of one pipeline has room in the other's, and goes at
 * once. After it the link is as it was. */
static void widths(int op, uint32_t route, int whole)
{
	DAT_RMR_TRIPLET to;
	int i;

	open_both();
	to = fake_dat_remote(1, AT, LONG);
	for (i = 0; i < 2; i++) {
		fake_node_link(i)->chunk_units = NODE_CHUNK_AREA / NODE_CHUNK_UNIT;
		fake_node_link(i)->routes.forced = route;
	}
	origin->route.polls = 1;
	CHECK(post(op, LONG, &to) == DAT_SUCCESS);
	second_rc_turn();
	if (op == RC_WRITE)
		CHECK((origin->tx.sent == 1) == whole);
	else
		CHECK((fake_dat[1].end->rx.expected == 1) == whole);
	for (i = 0; i < 2; i++)
		CHECK(fake_node_link(i)->chunk_limit == fake_node_link(i)->chunk_narrow);
	while (completed() == 0) {
		second_rc_turn();
		rc_turn();
	}
	if (op == RC_WRITE)
		CHECK(all_are(fake_dat[1].memory + AT, LONG, 3));
	else
		CHECK(all_are(fake_dat[0].memory, LONG, 9));
	fake_dat_close();
}

/* Without leave to copy a route is chosen all the same: there are two pipelines. */
static void without_copies(void)
{
	DAT_RMR_TRIPLET to;

	open_both();
	to = fake_dat_remote(1, AT, LONG);
	fake_node_peer(0)->direct = 0;
	fake_node_link(0)->chunk_units = NODE_CHUNK_AREA / NODE_CHUNK_UNIT;
	fake_node_link(0)->routes.forced = NODE_ROUTE_WIDE;
	CHECK(post(RC_WRITE, LONG, &to) == DAT_SUCCESS && origin->tx.sent == 1);
	while (completed() == 0) {
		second_rc_turn();
		rc_turn();
	}
	CHECK(all_are(fake_dat[1].memory + AT, LONG, 3));
	fake_dat_close();
}

/* A write that is timed, and whose target does not look: the wait for it runs out, and that is its
 * time, whether all of it had room or not. The target does not poll. */
static void late(uint64_t n)
{
	node_route_class *class;
	DAT_RMR_TRIPLET to;

	open_both();
	to = fake_dat_remote(1, AT, n);
	class = &fake_node_link(0)->routes.class[NODE_ROUTE_PUT][node_route_class_of(n)];
	class->transfers = 6; /* of the first ones, which are timed */
	origin->route.polls = 1;
	CHECK(post(RC_WRITE, n, &to) == DAT_SUCCESS && completed() == 0);
	CHECK(node_route_time(class, NODE_ROUTE_PIPELINE) > 0 && !origin->route.polls);
	fake_dat_close();
}

/* A thread that has slept is awake for peers, and has read their bell, before core knows. */
static void awake(void)
{
	node_link *link;
	uint64_t ring = 1;

	open_both();
	link = fake_node_link(0);
	node_arm(link);
	dat_the_lane.untimed = 1;
	CHECK(write(dat_the_lane.bells[0], &ring, sizeof(ring)) == sizeof(ring));
	rc_disarm();
	CHECK(node_head(link->own_head)->armed == NODE_AWAKE);
	CHECK(read(dat_the_lane.bells[0], &ring, sizeof(ring)) < 0);
	CHECK(dat_the_lane.awake == 1 && !dat_the_lane.untimed);
	fake_dat_close();
}

/* A post wakes a thread that sleeps without a timeout, once: from then on a peer owes something. */
static void wakes_untimed(void)
{
	const dat_post send = {.op = RC_SEND};
	uint64_t kicks = 0;

	open_both();
	CHECK((dat_progress.descriptors[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
	dat_progress.num_descriptors = 1;
	CHECK(rc_post(fake_dat[0].ep, &send) == DAT_SUCCESS);
	CHECK(read(dat_progress.descriptors[0], &kicks, sizeof(kicks)) < 0);
	dat_the_lane.untimed = 1;
	CHECK(rc_post(fake_dat[0].ep, &send) == DAT_SUCCESS);
	CHECK(rc_post(fake_dat[0].ep, &send) == DAT_SUCCESS);
	CHECK(read(dat_progress.descriptors[0], &kicks, sizeof(kicks)) == sizeof(kicks));
	CHECK(kicks == 1);
	close(dat_progress.descriptors[0]);
	dat_progress.num_descriptors = 0;
	fake_dat_close();
}

void test_direct(void)
{
	int what;

	for (what = 0; what < FORBIDDEN; what++) {
		copies_nothing(what, RC_WRITE);
		copies_nothing(what, RC_READ);
		takes_nothing(what, RC_WRITE);
		takes_nothing(what, RC_READ);
	}
	atomics();
	own_memory();
	order();
	no_place();
	limits();
	widths(RC_WRITE, NODE_ROUTE_PIPELINE, 0);
	widths(RC_WRITE, NODE_ROUTE_WIDE, 1);
	widths(RC_READ, NODE_ROUTE_PIPELINE, 0);
	widths(RC_READ, NODE_ROUTE_WIDE, 1);
	without_copies();
	late(32 << 10);
	late(LONG);
	awake();
	wakes_untimed();
}
