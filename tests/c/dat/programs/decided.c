/*
 * decided.c - objects that end right after dat_cr_accept: a service point, which loses no
 * connection; an endpoint, freed or disconnected in DAT_EP_STATE_COMPLETION_PENDING, whose peer is
 * notified. In one process, and between two processes of a node by shared memory and by UDP.
 */
#include "two.h"

#include <sys/wait.h>

enum { ROUNDS = 20, QUALIFIER = 5100 };

/* When a service point ends, and which it is. */
enum { PSP_BEFORE, PSP_AFTER, RSP_BEFORE, RSP_AFTER, POINTS };

/* The server's action right after it has accepted. */
enum { FREES_POINT, FREES_EP, ABRUPT, GRACEFUL, CLOSES_ADAPTER, ENDS };

static const DAT_EP_STATE over = DAT_EP_STATE_DISCONNECTED;

static struct sockaddr_in loopback(void)
{
	struct sockaddr_in to;

	memset(&to, 0, sizeof to);
	to.sin_family = AF_INET;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return to;
}

static void dial(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier)
{
	struct sockaddr_in to = loopback();

	MUST(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, qualifier, PAIR_WAIT, 0, NULL,
	                    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* One connection in one process, whose service point ends early. */
static void alone(pair *p, int how)
{
	DAT_HANDLE point;
	DAT_EVENT event;
	const int reserved = how == RSP_BEFORE || how == RSP_AFTER;
	const int before = how == PSP_BEFORE || how == RSP_BEFORE;
	DAT_CR_HANDLE cr;

	if (reserved)
		MUST(dat_rsp_create(p->ia, QUALIFIER, p->b.ep, p->requests, &point));
	else
		MUST(dat_psp_create(p->ia, QUALIFIER, p->requests, DAT_PSP_CONSUMER_FLAG, &point));
	dial(p->a.ep, QUALIFIER);
	event = pair_event(p->requests, DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	if (before)
		MUST(reserved ? dat_rsp_free(point) : dat_psp_free(point));
	MUST(dat_cr_accept(cr, reserved ? DAT_HANDLE_NULL : p->b.ep, 0, NULL));
	if (!before)
		MUST(reserved ? dat_rsp_free(point) : dat_psp_free(point));
	pair_event(p->a.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
	pair_event(p->b.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
	MUST(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_event(p->a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_event(p->b.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	MUST(dat_ep_reset(p->a.ep));
	MUST(dat_ep_reset(p->b.ep));
}

static void in_one_process(void)
{
	pair p;
	int how, i;

	pair_open(&p, 8);
	MUST(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_event(p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_event(p.b.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	MUST(dat_ep_reset(p.a.ep));
	MUST(dat_ep_reset(p.b.ep));
	for (how = 0; how < POINTS; how++)
		for (i = 0; i < ROUNDS; i++)
			alone(&p, how);
	pair_close(&p);
}

static void serve(int what)
{
	DAT_CONN_QUAL qualifier;
	DAT_EVENT event;

	MUST(dat_psp_create_any(me.p.ia, &qualifier, me.p.requests, DAT_PSP_CONSUMER_FLAG,
	                        &me.psp));
	say(&qualifier, sizeof qualifier);
	event = pair_event(me.p.requests, DAT_CONNECTION_REQUEST_EVENT);
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, me.p.a.ep, 0, NULL));
	switch (what) {
	case FREES_POINT:
		MUST(dat_psp_free(me.psp));
		pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
		break;
	case FREES_EP:
		MUST(dat_ep_free(me.p.a.ep));
		break;
	case ABRUPT:
	case GRACEFUL:
		MUST(dat_ep_disconnect(me.p.a.ep, what == ABRUPT ? DAT_CLOSE_ABRUPT_FLAG
		                                                 : DAT_CLOSE_GRACEFUL_FLAG));
		pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
		break;
	default:
		MUST(dat_ia_close(me.p.ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	meet(); /* this process lives until the client has its event */
}

/* The client gets a rejection, or, if its connection was already established, the event of its
 * end. */
static void visit(int what)
{
	DAT_CONN_QUAL qualifier;
	DAT_EP_STATE state;
	DAT_EVENT event;
	DAT_COUNT more;

	hear(&qualifier, sizeof qualifier);
	dial(me.p.a.ep, qualifier);
	MUST(dat_evd_wait(me.p.a.connection, PAIR_WAIT, 1, &event, &more));
	if (what == FREES_POINT) {
		CHECK(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED);
		meet();
		return;
	}
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	else
		CHECK(event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED);
	MUST(dat_ep_get_status(me.p.a.ep, &state, NULL, NULL));
	CHECK(state == over);
	meet();
}

static void run_side(char **argv)
{
	const int what = atoi(argv[4]);

	begin(argv);
	MUST(dat_ia_open((DAT_NAME_PTR) "lapi-lo", 8, &me.p.async, &me.p.ia));
	MUST(dat_pz_create(me.p.ia, &me.p.pz));
	MUST(dat_evd_create(me.p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &me.p.requests));
	pair_side(&me.p, &me.p.a, 8);
	if (me.is_server)
		serve(what);
	else
		visit(what);
}

static void in_two_processes(char *program, int what, char *link)
{
	char text[16];
	int there[2], back[2], status, i;
	pid_t server, client;

	CHECK(pipe(there) == 0 && pipe(back) == 0);
	snprintf(text, sizeof text, "%d", what);
	server = start(program, "server", there[0], back[1], text, link);
	client = start(program, "client", back[0], there[1], text, link);
	for (i = 0; i < 2; i++) {
		CHECK(waitpid(i ? client : server, &status, 0) > 0);
		if (status)
			printf("way %d, LAPI_USE_SHM=%s: status %#x\n", what, link, status);
		CHECK(status == 0);
	}
	for (i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

int main(int argc, char **argv)
{
	static char *links[] = {"yes", "no"};
	int link, what, i;

	if (argc > 4) {
		run_side(argv);
		return 0;
	}
	in_one_process();
	for (link = 0; link < 2; link++) {
		setenv("LAPI_USE_SHM", links[link], 1);
		for (what = 0; what < ENDS; what++)
			for (i = 0; i < 3; i++)
				in_two_processes(argv[0], what, links[link]);
	}
	puts("decided: passed");
	return 0;
}
