/* ends.c - addresses that are not there, and a task that is killed: each operation ends once, with a
 * status, and the others go on. For lapirun -k with three tasks or more; the last one is killed. */
#include "link_test.h"

#include <signal.h>

enum { PENDING = 200, SURVIVORS = 2, NAMED = 3 };

static uint64_t memory[4096], local[4096];
static lapi_link_handle_t *mine, *theirs;
static int ended[4], errors, error_status;
static uint32_t lost_task = UINT32_MAX, survivors, named; /* messages of these tags */

static void done(lapi_link_t *link, lapi_link_endpoint_t *ep, void *at, lapi_link_handle_t *handle,
                 void *context, void *data, int status)
{
	(void)link, (void)ep, (void)at, (void)handle, (void)data;
	CHECK(context == &ended);
	ended[status == LAPI_LINK_SUCCESS       ? 0
	      : status == LAPI_LINK_UNREACHABLE ? 1
	      : status == LAPI_LINK_ERROR       ? 2
	                                        : 3]++;
}
#define CALLBACK done, &ended, NULL

static void error(lapi_link_t *link, lapi_link_endpoint_t *ep, int status, const char *text,
                  void *context)
{
	(void)context;
	CHECK(link == lnk && text && *text);
	__atomic_store_n(&error_status, status, __ATOMIC_RELEASE);
	if (ep && status == LAPI_LINK_UNREACHABLE)
		__atomic_store_n(&lost_task, lapi_link_task(ep), __ATOMIC_RELEASE);
	__atomic_add_fetch(&errors, 1, __ATOMIC_ACQ_REL);
}

static void count(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                  size_t size, void *context)
{
	(void)link, (void)ep, (void)tag, (void)message, (void)size;
	++*(uint32_t *)context;
}

static void bad_address(void)
{
	uint32_t to = (attr.task + 1) % attr.tasks;
	int one;

	barrier();
	MUST(TRY(lapi_link_get(lnk, peer[to], local, 4096, NULL, NULL, 8, 0, CALLBACK)));
	while (ended[2] == 0)
		progress();
	CHECK(ended[2] == 1 && ended[0] == 0 && __atomic_load_n(&errors, __ATOMIC_ACQUIRE) >= 1);
	CHECK(error_status == LAPI_LINK_ERROR);
	MUST(TRY(lapi_link_get(lnk, peer[to], local, 4096, NULL, NULL, 8, 0, NULL, NULL, NULL)));
	one = lapi_link_flush(lnk, peer[to]);
	CHECK(one == LAPI_LINK_ERROR);
	barrier();
	/* the endpoint is as good as before */
	memory[0] = attr.task;
	barrier();
	MUST(TRY(lapi_link_get(lnk, peer[to], local, theirs[to].base, NULL, &theirs[to], 8, 0,
	                       CALLBACK)));
	MUST(lapi_link_flush(lnk, peer[to]));
	while (ended[0] == 0)
		progress();
	CHECK(local[0] == to);
	barrier();
	ended[0] = ended[2] = 0;
	errors = 0;
}

/* Task 0 names bad addresses of task 1, whose own operations to task 0 do not suffer. */
static void named_by_others(void)
{
	enum { BAD = 50 };
	int good = 0;

	ended[0] = ended[2] = 0;
	barrier();
	if (attr.task == 0) {
		for (int i = 1; i <= BAD; i++) {
			MUST(TRY(lapi_link_put(lnk, peer[1], local, 4096, NULL, NULL, 8, 0, CALLBACK)));
			while (ended[2] < i)
				progress();
		}
		CHECK(ended[2] == BAD);
		CHECK(lapi_link_send(lnk, peer[1], NAMED, NULL, 0, NULL, 0, NULL, NULL, NULL) ==
		      LAPI_LINK_DONE);
	}
	while (attr.task == 1 && named == 0) {
		while (good - ended[0] - ended[2] < 8)
			good += TRY(lapi_link_get(lnk, peer[0], local, theirs[0].base, NULL, &theirs[0], 8,
			                          0, CALLBACK)) == LAPI_LINK_SUCCESS;
		progress();
	}
	MUST(lapi_link_flush(lnk, NULL));
	CHECK(attr.task != 1 || (ended[0] == good && ended[2] == 0));
	barrier();
	ended[0] = ended[2] = errors = 0;
}

static void killed(void)
{
	uint32_t victim = attr.tasks - 1;
	int begun = 0, rc, all;

	if (attr.task == victim)
		raise(SIGKILL);
	/* more and more, until it is known */
	while (__atomic_load_n(&lost_task, __ATOMIC_ACQUIRE) != victim) {
		rc = lapi_link_get(lnk, peer[victim], &local[begun % PENDING], theirs[victim].base, NULL,
		                   &theirs[victim], 8, 0, CALLBACK);
		CHECK(rc == LAPI_LINK_SUCCESS || rc == LAPI_LINK_OUT_OF_RESOURCE ||
		      rc == LAPI_LINK_UNREACHABLE);
		begun += rc == LAPI_LINK_SUCCESS;
		rc = lapi_link_put(lnk, peer[victim], local, theirs[victim].base, NULL, &theirs[victim],
		                   8, 0, NULL, NULL, NULL);
		CHECK(rc == LAPI_LINK_SUCCESS || rc == LAPI_LINK_OUT_OF_RESOURCE ||
		      rc == LAPI_LINK_UNREACHABLE);
		progress();
	}
	do {
		progress();
		all = ended[0] + ended[1];
	} while (all < begun);
	CHECK(all == begun && ended[2] == 0 && ended[3] == 0);
	rc = lapi_link_flush(lnk, peer[victim]);
	CHECK(rc == LAPI_LINK_UNREACHABLE || rc == LAPI_LINK_SUCCESS);
	CHECK(lapi_link_put(lnk, peer[victim], local, theirs[victim].base, NULL, &theirs[victim], 8, 0,
	                    CALLBACK) == LAPI_LINK_UNREACHABLE);
	CHECK(lapi_link_send(lnk, peer[victim], 1, NULL, 0, NULL, 0, NULL, NULL, NULL) ==
	      LAPI_LINK_UNREACHABLE);
	/* the others are reached as before */
	MUST(TRY(lapi_link_put(lnk, peer[1 - attr.task % 2], local, theirs[1 - attr.task % 2].base, NULL,
	                       &theirs[1 - attr.task % 2], 8, 0, NULL, NULL, NULL)));
	MUST(lapi_link_flush(lnk, peer[1 - attr.task % 2]));
	CHECK(ended[0] + ended[1] == begun);
	for (uint32_t to = 0; to < victim; to++)
		CHECK(TRY(lapi_link_send(lnk, peer[to], SURVIVORS, NULL, 0, NULL, 0, NULL, NULL,
		                         NULL)) == LAPI_LINK_DONE);
	while (survivors < victim)
		progress();
}

int main(void)
{
	begin(error);
	theirs = calloc(attr.tasks, sizeof(*theirs));
	share(memory, sizeof(memory), LAPI_LINK_REMOTE_READ | LAPI_LINK_REMOTE_WRITE, &mine, theirs);
	MUST(lapi_link_set_receive(lnk, SURVIVORS, count, &survivors));
	MUST(lapi_link_set_receive(lnk, NAMED, count, &named));
	section = "a bad address";
	bad_address();
	section = "a bad address that another names";
	named_by_others();
	section = "a task that is killed";
	killed();
	section = "close";
	MUST(lapi_link_close(lnk));
	if (attr.task == 0)
		printf("passed\n");
	return 0;
}
