/*
 * interrupted.c - signals and cancelled threads. A call from a signal handler works where it has
 * interrupted the program's own code, and is refused with DAT_INVALID_STATE where it has interrupted
 * uDAPL. A thread that waits for an EVD or a CNO can be cancelled, and the object goes on. A handler
 * for SIGSEGV that the program installs gets none of the library's faults.
 */
#define _GNU_SOURCE
#include "pair.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { TRANSFERS = 100000, ENOUGH = 20 };

static pair p;
static DAT_CNO_HANDLE cno;
static volatile sig_atomic_t worked, refused, wrong;

static void handler(int number)
{
	const int saved = errno;
	DAT_RETURN result;
	DAT_EP_STATE state;
	DAT_EVENT event;

	(void)number;
	result = dat_ep_get_status(p.a.ep, &state, NULL, NULL);
	if (result == DAT_SUCCESS)
		worked++;
	else if (result == (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_STATE))
		refused++;
	else
		wrong++;
	result = dat_evd_dequeue(p.b.connection, &event);
	wrong += DAT_GET_TYPE(result) != DAT_QUEUE_EMPTY &&
	         DAT_GET_TYPE(result) != DAT_INVALID_STATE;
	errno = saved;
}

static void transfer(void)
{
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 64);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 8192, 64);
	const DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN result;

	MUST(dat_ep_post_rdma_write(p.a.ep, 1, &local, cookie, &remote, 0));
	do
		result = dat_evd_wait(p.a.request, PAIR_WAIT, 1, &event, &more);
	while (DAT_GET_TYPE(result) == DAT_INTERRUPTED_CALL);
	MUST(result);
	CHECK(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
}

static void storm(void)
{
	const struct itimerval often = {{0, 211}, {0, 211}}, never = {{0, 0}, {0, 0}};
	struct sigaction action;
	volatile unsigned own = 0;
	int i;

	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < TRANSFERS && (worked < ENOUGH || refused < ENOUGH); i++) {
		transfer();
		for (own = 0; own < 2000; own++)
			; /* the program's own code */
	}
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(wrong == 0 && worked > 0 && refused > 0);
}

static void *wait_evd(void *argument)
{
	DAT_EVENT event;
	DAT_COUNT more;

	dat_evd_wait(argument, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	return NULL;
}

static void *wait_cno(void *argument)
{
	DAT_EVD_HANDLE evd;

	dat_cno_wait(argument, DAT_TIMEOUT_INFINITE, &evd);
	return NULL;
}

static void cancel(void *(*wait)(void *), DAT_HANDLE object)
{
	pthread_t thread;
	void *how;

	CHECK(pthread_create(&thread, NULL, wait, object) == 0);
	usleep(20000);
	CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &how) == 0);
	CHECK(how == PTHREAD_CANCELED);
}

static void cancelled(void)
{
	DAT_EVENT event;
	DAT_EVD_HANDLE evd, told;

	memset(&event, 0, sizeof event);
	event.event_number = DAT_SOFTWARE_EVENT;
	MUST(dat_cno_create(p.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	MUST(dat_evd_create(p.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	cancel(wait_evd, evd);
	cancel(wait_cno, cno);
	MUST(dat_evd_post_se(evd, &event)); /* both go on: nobody waits there */
	MUST(dat_cno_wait(cno, PAIR_WAIT, &told));
	CHECK(told == evd);
	pair_event(evd, DAT_SOFTWARE_EVENT);
	transfer();
	MUST(dat_evd_free(evd));
	MUST(dat_cno_free(cno));
}

static void stray(int number)
{
	static const char text[] = "the program got a fault of the library's\n";

	(void)number;
	if (write(1, text, sizeof text - 1) > 0)
		_exit(9);
	_exit(8);
}

/* A peer's write to memory that is gone is the library's fault to take. */
static void bad_memory(void)
{
	const size_t size = 65536;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 64);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 0, 64);
	const DAT_DTO_COOKIE cookie = {.as_64 = 1};
	struct sigaction action;
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_EVENT event;
	DAT_COUNT more;

	memset(&action, 0, sizeof action);
	action.sa_handler = stray;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	region.for_va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(region.for_va != MAP_FAILED);
	MUST(dat_lmr_create(p.ia, DAT_MEM_TYPE_VIRTUAL, region, size, p.pz, DAT_MEM_PRIV_ALL_FLAG,
	                    DAT_VA_TYPE_VA, &lmr, &context, &remote.rmr_context, NULL, NULL));
	remote.virtual_address = (DAT_VADDR)(size_t)region.for_va;
	munmap(region.for_va, size);
	MUST(dat_ep_post_rdma_write(p.a.ep, 1, &local, cookie, &remote, 0));
	MUST(dat_evd_wait(p.a.request, PAIR_WAIT, 1, &event, &more));
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	MUST(dat_lmr_free(lmr));
}

int main(void)
{
	alarm(0);
	pair_open(&p, 8);
	storm();
	cancelled();
	bad_memory();
	MUST(dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG));
	puts("interrupted: passed");
	return 0;
}
