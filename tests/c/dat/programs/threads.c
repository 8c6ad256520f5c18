/*
 * threads.c - several threads on one endpoint, one EVD and one CNO: some post sends, others take
 * completions by waits, dequeues and the CNO, one asks for states. Every transfer is reported
 * exactly once, and no thread waits for ever.
 */
#include "pair.h"

#include <pthread.h>
#include <sched.h>

enum { SENDERS = 4, TAKERS = 3, EACH = 5000, ALL = SENDERS * EACH, DEPTH = 256 };

static pair p;
static DAT_CNO_HANDLE cno;
static unsigned char sent[ALL], received[ALL]; /* how often each was reported */
static int sent_all, received_all;

/* A post to a full queue is tried again. */
static int full(DAT_RETURN result)
{
	if (DAT_GET_TYPE(result) != DAT_INSUFFICIENT_RESOURCES) {
		MUST(result);
		return 0;
	}
	sched_yield();
	return 1;
}

/* Posts sends. A send's cookie is its number, which the receiver sees as data. */
static void *send_each(void *argument)
{
	const int me = (int)(size_t)argument;
	DAT_LMR_TRIPLET local;
	DAT_DTO_COOKIE cookie;
	int i;

	for (i = 0; i < EACH; i++) {
		const int number = me * EACH + i, slot = number % 1024 + me * 1024;

		cookie.as_64 = (DAT_UINT64)number;
		p.memory[slot] = (DAT_UINT64)number;
		local = pair_local(&p, (size_t)slot * 8, 8);
		while (full(
			dat_ep_post_send(p.a.ep, 1, &local, cookie, DAT_COMPLETION_DEFAULT_FLAG)))
			;
	}
	return NULL;
}

/* Posts a receive for each send. */
static void *receive_each(void *argument)
{
	const int slot = 4096;
	DAT_LMR_TRIPLET local;
	DAT_DTO_COOKIE cookie;
	int i;

	for (i = (int)(size_t)argument; i < ALL; i += 2) {
		cookie.as_64 = (DAT_UINT64)i;
		local = pair_local(&p, (size_t)(slot + i % 1024) * 8, 8);
		while (full(
			dat_ep_post_recv(p.b.ep, 1, &local, cookie, DAT_COMPLETION_DEFAULT_FLAG)))
			;
	}
	return NULL;
}

/* Takes an event of either EVD. */
static void take(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *end = &event->event_data.dto_completion_event_data;
	const int sends = event->evd_handle == p.a.request;

	CHECK(event->event_number == DAT_DTO_COMPLETION_EVENT && end->status == DAT_DTO_SUCCESS);
	CHECK(end->transfered_length == 8 && end->user_cookie.as_64 < ALL);
	CHECK(__atomic_fetch_add(&(sends ? sent : received)[end->user_cookie.as_64], 1,
	                         __ATOMIC_RELAXED) == 0);
	__atomic_fetch_add(sends ? &sent_all : &received_all, 1, __ATOMIC_RELAXED);
}

static int over(void)
{
	return __atomic_load_n(&sent_all, __ATOMIC_RELAXED) == ALL &&
	       __atomic_load_n(&received_all, __ATOMIC_RELAXED) == ALL;
}

/* One thread waits on an EVD, others may be refused. */
static void wait_for(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN result = dat_evd_wait(evd, 1000, 1, &event, &more);

	if (result == DAT_SUCCESS)
		take(&event);
	else
		CHECK(DAT_GET_TYPE(result) == DAT_TIMEOUT_EXPIRED ||
		      DAT_GET_TYPE(result) == DAT_INVALID_STATE);
}

static void dequeue(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN result;

	while ((result = dat_evd_dequeue(evd, &event)) == DAT_SUCCESS)
		take(&event);
	CHECK(DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY || DAT_GET_TYPE(result) == DAT_INVALID_STATE);
}

static void *take_each(void *argument)
{
	DAT_EVD_HANDLE evd;

	while (!over()) {
		switch ((size_t)argument) {
		case 0:
			wait_for(p.b.recv);
			break;
		case 1:
			wait_for(p.a.request);
			dequeue(p.b.recv);
			break;
		default:
			if (dat_cno_wait(cno, 1000, &evd) == DAT_SUCCESS) {
				CHECK(evd == p.a.request || evd == p.b.recv);
				dequeue(evd);
			}
		}
	}
	return NULL;
}

/* Queries, all the while, the states that the others change. */
static void *look(void *argument)
{
	DAT_EP_PARAM ep;
	DAT_EVD_PARAM evd;
	DAT_EP_STATE state;

	(void)argument;
	while (!over()) {
		MUST(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &ep));
		MUST(dat_ep_get_status(p.b.ep, &state, NULL, NULL));
		MUST(dat_evd_query(p.b.recv, DAT_EVD_FIELD_ALL, &evd));
		CHECK(state == DAT_EP_STATE_CONNECTED && evd.cno_handle == cno);
		sched_yield();
	}
	return NULL;
}

static void *wait_for_ever(void *evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK(DAT_GET_TYPE(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more)) ==
	      DAT_ABORT);
	return NULL;
}

/* A wait on an EVD that another thread frees ends with an error. */
static void free_under_a_wait(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;
	pthread_t waiter;

	MUST(dat_evd_create(p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK(pthread_create(&waiter, NULL, wait_for_ever, evd) == 0);
	while (DAT_GET_TYPE(dat_evd_wait(evd, 0, 1, &event, &more)) != DAT_INVALID_STATE)
		sched_yield(); /* until the thread waits */
	MUST(dat_evd_free(evd));
	CHECK(pthread_join(waiter, NULL) == 0);
}

int main(void)
{
	pthread_t threads[SENDERS + 2 + TAKERS + 1 + 1];
	int n = 0;
	size_t i;

	pair_open(&p, DEPTH);
	MUST(dat_evd_resize(p.a.request, ALL)); /* whoever is slow, nothing is dropped */
	MUST(dat_evd_resize(p.b.recv, ALL));
	MUST(dat_cno_create(p.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	MUST(dat_evd_modify_cno(p.a.request, cno));
	MUST(dat_evd_modify_cno(p.b.recv, cno));
	for (i = 0; i < TAKERS + 1; i++)
		CHECK(pthread_create(&threads[n++], NULL, take_each, (void *)i) == 0);
	CHECK(pthread_create(&threads[n++], NULL, look, NULL) == 0);
	for (i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[n++], NULL, receive_each, (void *)i) == 0);
	for (i = 0; i < SENDERS; i++)
		CHECK(pthread_create(&threads[n++], NULL, send_each, (void *)i) == 0);
	while (n > 0)
		CHECK(pthread_join(threads[--n], NULL) == 0);
	MUST(dat_evd_modify_cno(p.a.request, DAT_HANDLE_NULL));
	MUST(dat_evd_modify_cno(p.b.recv, DAT_HANDLE_NULL));
	MUST(dat_cno_free(cno));
	free_under_a_wait();
	pair_close(&p);
	puts("threads: passed");
	return 0;
}
