/*
 * peer.c - the other end of connections: a process that is forked before uDAPL starts, or a thread.
 * It does one command at a time (sweep.h), which the program waits for.
 */
#define _GNU_SOURCE
#include "sweep.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

struct peer *peer;

enum { KEPT = 64, RECEIVES = 4 };

/* The peer's own. */
static objects its;
static DAT_HANDLE kept[KEPT]; /* endpoints and requests that are left as they are */
static unsigned num_kept;
static DAT_EP_HANDLE ep; /* of the connection whose outcome is wanted */

/* Keeps an object, and frees the oldest. */
static DAT_HANDLE keep(DAT_HANDLE handle)
{
	DAT_HANDLE *place = &kept[num_kept++ % KEPT];

	if (*place)
		release(*place);
	return *place = handle;
}

static void post_receive(void)
{
	DAT_LMR_TRIPLET to = {its.memory.address, SEGMENT, its.memory.local[ALL]};
	const DAT_DTO_COOKIE cookie = {.as_64 = 1};

	dat_ep_post_recv(ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/* The request that is meant; others that have come, of endpoints that are gone, are kept. */
static DAT_CR_HANDLE take(void)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_COUNT more;

	for (;; keep(cr)) {
		MUST(dat_evd_wait(its.requests, PAIR_WAIT, 1, &event, &more));
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		MUST(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		if (param.private_data_size >= (int)sizeof peer->number &&
		    !memcmp(param.private_data, &peer->number, sizeof peer->number))
			return cr;
	}
}

static void connect_to(int service)
{
	DAT_EP_HANDLE caller = keep(new_endpoint(&its, service, DAT_HANDLE_NULL));

	MUST(dat_ep_connect(caller, address_of_peer(), peer->argument, DAT_TIMEOUT_INFINITE, 0,
	                    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* Accepts the next request. Of the one whose outcome is wanted (argument 1) receives are posted. */
static void accept_next(int service)
{
	DAT_EP_HANDLE new = new_endpoint(&its, service, DAT_HANDLE_NULL);
	DAT_CR_HANDLE cr = take();
	DAT_EVENT event;
	int i;

	if (peer->argument) {
		if (ep)
			MUST(dat_ep_free(ep));
		ep = new;
		drain(its.recv);
		for (i = 0; i < RECEIVES; i++)
			post_receive();
	} else
		keep(new);
	drain(its.connection);
	MUST(dat_cr_accept(cr, new, 0, NULL));
	CHECK(connection_event(its.connection, new, &event));
}

/* Events of the connection since the last outcome; with an argument, after its end. */
static void outcome(void)
{
	DAT_EVENT event;

	peer->num_receives = 0;
	peer->event = peer->argument ? connection_event(its.connection, ep, &event) : 0;
	while (dat_evd_dequeue(its.recv, &event) == DAT_SUCCESS) {
		const DAT_DTO_COMPLETION_EVENT_DATA *data =
			&event.event_data.dto_completion_event_data;

		if (data->ep_handle != ep || peer->num_receives == RECEIVES)
			continue;
		peer->receives[peer->num_receives] = data->status;
		peer->lengths[peer->num_receives++] = (int)data->transfered_length;
		if (!peer->argument)
			post_receive();
	}
}

static void obey(void)
{
	switch (peer->command) {
	case PEER_CALL:
		connect_to(DAT_SERVICE_TYPE_RC);
		break;
	case PEER_CALL_UD:
		connect_to(DAT_IB_SERVICE_TYPE_UD);
		break;
	case PEER_TAKE:
		keep(take());
		break;
	case PEER_ACCEPT:
		accept_next(DAT_SERVICE_TYPE_RC);
		break;
	case PEER_ACCEPT_UD:
		accept_next(DAT_IB_SERVICE_TYPE_UD);
		break;
	case PEER_OUTCOME:
		outcome();
		break;
	default:
		break;
	}
}

static void *serve(void *nothing)
{
	DAT_PSP_HANDLE psp;

	objects_open(&its);
	mine.ia = mine.ia ? mine.ia : its.ia; /* a process has none of its own */
	peer->memory = its.memory;
	MUST(dat_psp_create_any(its.ia, &peer->qualifier, its.requests, DAT_PSP_CONSUMER_FLAG,
	                        &psp));
	sem_post(&peer->done);
	for (;;) {
		sem_wait(&peer->go);
		if (peer->command == PEER_END)
			break;
		obey();
		sem_post(&peer->done);
	}
	return nothing;
}

void peer_start(int as_process)
{
	pthread_t thread;
	pid_t pid = -1;

	peer = mmap(NULL, sizeof *peer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(peer != MAP_FAILED);
	CHECK(sem_init(&peer->go, 1, 0) == 0 && sem_init(&peer->done, 1, 0) == 0);
	if (!as_process) {
		objects_open(&mine);
		CHECK(pthread_create(&thread, NULL, serve, NULL) == 0);
	} else if ((pid = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(NULL);
		_exit(0);
	} else {
		CHECK(pid > 0);
		peer->pid = pid;
		objects_open(&mine);
	}
	sem_wait(&peer->done);
}

void peer_do(enum peer_command command, DAT_CONN_QUAL argument)
{
	struct timespec until;

	peer->command = command;
	peer->argument = argument;
	sem_post(&peer->go);
	if (command == PEER_END) {
		if (peer->pid)
			waitpid(peer->pid, NULL, 0);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	CHECK(sem_timedwait(&peer->done, &until) == 0);
}
