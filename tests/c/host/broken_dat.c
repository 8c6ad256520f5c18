/*
 * broken_dat.c - an invariant of uDAPL breaks in a call, or in a goroutine: in a library that is
 * built for this (capi/inject_tag.go). Each adapter reports it, waits end, calls return
 * DAT_INTERNAL_ERROR, and the process goes on.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dat2/udat.h>
#include <pthread.h>

enum { ADAPTERS = 2, SECONDS = 1000000 };

typedef struct adapter {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE asynchronous, events;
	DAT_CNO_HANDLE cno;
	DAT_RETURN wait, cno_wait;
	pthread_t waiter, cno_waiter;
} adapter;

#define TYPE(want, call) HOST_CHECK(DAT_GET_TYPE(call) == (want))

static void *wait_for_event(void *arg)
{
	adapter *a = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	a->wait = dat_evd_wait(a->events, 60 * SECONDS, 1, &event, &more);
	return NULL;
}

static void *wait_for_cno(void *arg)
{
	adapter *a = arg;
	DAT_EVD_HANDLE evd;

	a->cno_wait = dat_cno_wait(a->cno, 60 * SECONDS, &evd);
	return NULL;
}

static void open_one(adapter *a)
{
	a->asynchronous = DAT_HANDLE_NULL;
	TYPE(DAT_SUCCESS, dat_ia_open("lapi-lo", 8, &a->asynchronous, &a->ia));
	TYPE(DAT_SUCCESS, dat_evd_create(a->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &a->events));
	TYPE(DAT_SUCCESS, dat_cno_create(a->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &a->cno));
	pthread_create(&a->waiter, NULL, wait_for_event, a);
	pthread_create(&a->cno_waiter, NULL, wait_for_cno, a);
}

static void ended(adapter *a)
{
	DAT_EVENT event;
	DAT_COUNT more;

	TYPE(DAT_SUCCESS, dat_evd_wait(a->asynchronous, 20 * SECONDS, 1, &event, &more));
	HOST_CHECK(event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	HOST_CHECK(event.event_data.asynch_error_event_data.dat_handle == a->ia);
	pthread_join(a->waiter, NULL);
	pthread_join(a->cno_waiter, NULL);
	TYPE(DAT_ABORT, a->wait);
	TYPE(DAT_ABORT, a->cno_wait);
}

int main(void)
{
	adapter all[ADAPTERS];
	DAT_IA_ATTR attributes;
	DAT_PZ_HANDLE pz;
	DAT_RETURN r = DAT_SUCCESS;
	int i;

	alarm(120);
	for (i = 0; i < ADAPTERS; i++)
		open_one(&all[i]);
	usleep(200000); /* they wait */
	setenv("LAPI_INJECT", getenv("LAPI_INJECT_LATER"), 1);
	for (i = 0; i < 3000 && r == DAT_SUCCESS; i++) {
		r = dat_ia_query(all[0].ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL);
		usleep(1000);
	}
	TYPE(DAT_INTERNAL_ERROR, r);
	for (i = 0; i < ADAPTERS; i++)
		ended(&all[i]);
	TYPE(DAT_INTERNAL_ERROR, dat_pz_create(all[1].ia, &pz));
	TYPE(DAT_INTERNAL_ERROR, dat_evd_free(all[1].events));
	TYPE(DAT_INTERNAL_ERROR, dat_ia_close(all[0].ia, DAT_CLOSE_ABRUPT_FLAG));
	host_end_case("a_broken_invariant_ends_each_adapter", 0);
	return host_close("broken_dat", 0);
}
