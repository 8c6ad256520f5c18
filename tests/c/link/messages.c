/* messages.c - messages of all lengths from each task to each, more than a task takes at once, to
 * itself too, and from callbacks; and tags without a function, whose messages wait. */
#include "link_test.h"

#include <unistd.h>

enum { EACH = 3000, LONG = 64 << 10, TAG = 3, LATE = 4, ECHO = 5, FULL = 6, NUMBER = 7 };

static uint64_t *next_of; /* by task: the number of its next message, as far as all have come */
static uint32_t *came_of;
static int sent_done, late, echoes, taken_full, sent_full = -1;
static char *buffer, *latest; /* latest: of a long message, which done frees */

static char value(uint32_t number, size_t i)
{
	return (char)(number * 13 + i * 3);
}

/* Of number n: header and data together. */
static size_t length(uint32_t n)
{
	static const size_t lengths[] = {8, 16, 100, 900, 1100, 4000, 4096, 8, 24, 8192, 8193, LONG};

	return n % 100 == 11 ? lengths[n % 12] : lengths[n % 9];
}

static void take(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                 size_t size, void *context)
{
	const char *bytes = message;
	uint32_t from = lapi_link_task(ep), number;

	(void)link;
	CHECK(tag == TAG && context == buffer && size >= 8 && (uintptr_t)message % 16 == 0);
	memcpy(&number, bytes, 4);
	CHECK(number < EACH && size == length(number));
	for (size_t i = 8; i < size; i++)
		CHECK(bytes[i] == value(number, i));
	next_of[from] += number;
	came_of[from]++;
}

static void done(lapi_link_t *link, lapi_link_endpoint_t *ep, void *local,
                 lapi_link_handle_t *handle, void *context, void *data, int status)
{
	(void)link, (void)ep, (void)handle, (void)data;
	CHECK(status == LAPI_LINK_SUCCESS && context == &sent_done && local);
	free((char *)local - 8);
	sent_done++;
}

static void send_all(void)
{
	int longer = 0;

	for (uint32_t number = 0; number < EACH; number++) {
		size_t n = length(number), header = number % 2 || n == 8 ? 8 : 8 + n % 17 * 8 % (n - 7);

		for (uint32_t to = 0; to < attr.tasks; to++) {
			char *bytes = malloc(n + 8), *split;
			int rc;

			CHECK(bytes);
			memset(bytes, 0, 8);
			memcpy(bytes, &number, 4);
			for (size_t i = 8; i < n; i++)
				bytes[i] = value(number, i);
			if (n > attr.copy_limit)
				header = 8;
			split = bytes + header;
			rc = TRY(lapi_link_send(lnk, peer[to], TAG, bytes, header, split, n - header,
			                        done, &sent_done, NULL));
			CHECK(rc == LAPI_LINK_DONE || (n > attr.copy_limit && rc == LAPI_LINK_SUCCESS));
			longer += rc == LAPI_LINK_SUCCESS;
			latest = bytes;
			if (rc == LAPI_LINK_DONE) {
				memset(bytes, 99, n);
				free(bytes);
			}
		}
	}
	for (uint32_t from = 0; from < attr.tasks; from++)
		while (came_of[from] < EACH || sent_done < longer)
			progress();
	for (uint32_t from = 0; from < attr.tasks; from++)
		CHECK(came_of[from] == EACH && next_of[from] == (uint64_t)EACH * (EACH - 1) / 2);
	CHECK(sent_done == longer);
}

/* A task that makes no progress takes in a bounded number of messages, and loses none. */
static void full(void)
{
	char bytes[1000] = {0};
	int n = 0, rc;

	if (attr.task == 0 && attr.tasks > 1) {
		while ((rc = lapi_link_send(lnk, peer[1], FULL, bytes, sizeof(bytes), NULL, 0, NULL, NULL,
		                            NULL)) == LAPI_LINK_DONE)
			n++;
		CHECK(rc == LAPI_LINK_OUT_OF_RESOURCE && n >= 100 && n * sizeof(bytes) <= 2 << 20);
		memcpy(bytes, &n, sizeof(n));
		CHECK(TRY(lapi_link_send(lnk, peer[1], NUMBER, bytes, sizeof(n), NULL, 0, NULL, NULL,
		                         NULL)) == LAPI_LINK_DONE);
	}
	if (attr.task == 1) {
		usleep(300000);
		while (sent_full < 0 || taken_full < sent_full)
			progress();
		CHECK(taken_full == sent_full);
	}
	barrier();
}

static void number(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                   size_t size, void *context)
{
	(void)link, (void)ep, (void)tag, (void)context;
	CHECK(size == sizeof(sent_full));
	memcpy(&sent_full, message, size);
}

static void count(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                  size_t size, void *context)
{
	(void)link, (void)ep, (void)tag, (void)message, (void)size;
	++*(int *)context;
}

/* Answers from within a callback. */
static void echo(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                 size_t size, void *context)
{
	int hops;

	memcpy(&hops, message, sizeof(hops));
	CHECK(size == sizeof(hops));
	++*(int *)context;
	if (--hops > 0)
		CHECK(lapi_link_send(link, ep, tag, &hops, sizeof(hops), NULL, 0, NULL, NULL, NULL) ==
		      LAPI_LINK_DONE);
}

int main(void)
{
	const int hops = 1000;

	begin(NULL);
	next_of = calloc(attr.tasks, sizeof(*next_of));
	came_of = calloc(attr.tasks, sizeof(*came_of));
	buffer = malloc(LONG);
	MUST(lapi_link_set_receive(lnk, TAG, take, buffer));
	barrier();
	section = "all to all";
	send_all();
	barrier();
	section = "a tag without a function";
	for (uint32_t to = 0; to < attr.tasks; to++)
		CHECK(TRY(lapi_link_send(lnk, peer[to], LATE, "x", 1, NULL, 0, NULL, NULL, NULL)) ==
		      LAPI_LINK_DONE);
	barrier();
	CHECK(late == 0);
	MUST(lapi_link_set_receive(lnk, LATE, count, &late));
	while (late < (int)attr.tasks)
		progress();
	section = "no room";
	MUST(lapi_link_set_receive(lnk, FULL, count, &taken_full));
	MUST(lapi_link_set_receive(lnk, NUMBER, number, NULL));
	barrier();
	full();
	section = "answers from a callback";
	MUST(lapi_link_set_receive(lnk, ECHO, echo, &echoes));
	barrier();
	CHECK(TRY(lapi_link_send(lnk, peer[(attr.task + 1) % attr.tasks], ECHO, &hops, sizeof(hops),
	                         NULL, 0, NULL, NULL, NULL)) == LAPI_LINK_DONE);
	while (echoes < hops)
		progress();
	end();
	return 0;
}
