/*
 * forbidden.c - accesses to another process's memory that must fail: without the privilege, from
 * another zone, beyond its bounds, of freed regions, of regions that never existed. The process
 * that copies checks rights, or the process that gets messages; each has made an allowed access
 * before.
 */
#define _GNU_SOURCE
#include "direct.h"

#include <poll.h>

/* 1 if LAPI_FASTLANE is set to on. */
static int lane_is_on(void)
{
	const char *setting = getenv("LAPI_FASTLANE");

	return setting && !strcmp(setting, "on");
}

static DAT_RMR_CONTEXT bad;
static DAT_VADDR bad_address;

/* Memory that the client may not access, by number; the client gets its context and address. */
enum { NO_WRITE, NO_READ, OTHER_ZONE, BOUNDS, BEFORE, STALE, NO_SUCH, BADS };

static void make_bad(int kind)
{
	unsigned char *at = me.memory + AREA;
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz = me.p.pz;
	int privileges = DAT_MEM_PRIV_ALL_FLAG;

	if (kind == NO_WRITE)
		privileges &= ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	if (kind == NO_READ)
		privileges &= ~DAT_MEM_PRIV_REMOTE_READ_FLAG;
	if (kind == OTHER_ZONE)
		MUST(dat_pz_create(me.p.ia, &pz));
	lmr = registered(at, PAGE, privileges, pz, &context, &bad);
	bad_address = (DAT_VADDR)(size_t)at + (kind == BOUNDS ? PAGE - 63 : 0);
	if (kind == BEFORE)
		bad_address -= 1;
	if (kind == STALE)
		MUST(dat_lmr_free(lmr));
	if (kind == NO_SUCH)
		bad ^= 0x7ff00000;
}

static void ask_bad(int kind)
{
	memset(me.memory, 3, PAGE);
	if (kind == NO_READ)
		post_read(64, bad_address, bad);
	else
		post_write(64, bad_address, bad);
}

/* Makes allowed accesses until the lane has the connection, and knows whether the server polls. */
static void warm_up(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		post_write(AREA, me.address, me.theirs);
		CHECK(status() == DAT_DTO_SUCCESS);
		post_read(64, me.address, me.theirs);
		CHECK(status() == DAT_DTO_SUCCESS);
	}
}

/* The server's part: it polls for events until the client is through, or does nothing meanwhile. */
static void look_on(int polls)
{
	struct pollfd heard = {.fd = me.from, .events = POLLIN};
	DAT_EVENT event;

	while (polls && poll(&heard, 1, 0) == 0)
		dat_evd_dequeue(me.p.a.recv, &event);
	meet();
}

/*
 * Forbidden accesses, each after an allowed one: to a server that polls, so that its lane gets
 * messages; and to a server that does nothing and, with the lane on, is stopped when it gets the
 * request: so the allowed access can only have been a single copy, and the client is next to check
 * rights.
 */
static void forbidden(void)
{
	int kind = this_time % BADS, polls = this_time / BADS, stop = !polls && lane_is_on();

	if (me.is_server) {
		memset(me.memory, 9, AREA + 2 * PAGE);
		make_bad(kind);
		say(&bad, sizeof bad);
		say(&bad_address, sizeof bad_address);
		look_on(polls);
		expect(AREA, 2 * PAGE, 9);
		meet();
		return;
	}
	hear(&bad, sizeof bad);
	hear(&bad_address, sizeof bad_address);
	if (stop)
		CHECK(kill(other, SIGSTOP) == 0);
	memset(me.memory, 5, AREA);
	warm_up();
	ask_bad(kind);
	if (stop)
		CHECK(kill(other, SIGCONT) == 0);
	CHECK(status() == DAT_DTO_ERR_REMOTE_ACCESS);
	expect(0, 64, 3);
	meet();
	meet();
}

static const struct direct_case cases[] = {
	{.name = "forbidden", .run = forbidden, .times = 2 * BADS},
};

int main(int argc, char **argv)
{
	return direct_main(argc, argv, "forbidden", cases, 1);
}
