/* states.c - endpoints in each state that can be reached, and of each make. */
#define _GNU_SOURCE
#include "sweep.h"

#include <signal.h>
#include <sys/wait.h>

static const char *const names[STATES_END] = {"UNCONNECTED",
                                              "UNCONFIGURED_UNCONNECTED",
                                              "RESERVED",
                                              "UNCONFIGURED_RESERVED",
                                              "PASSIVE_CONNECTION_PENDING",
                                              "UNCONFIGURED_PASSIVE",
                                              "ACTIVE_CONNECTION_PENDING",
                                              "TENTATIVE_CONNECTION_PENDING",
                                              "UNCONFIGURED_TENTATIVE",
                                              "CONNECTED",
                                              "DISCONNECT_PENDING",
                                              "DISCONNECTED",
                                              "COMPLETION_PENDING",
                                              [UD] = "UD",
                                              "CONNECTED, no request EVD",
                                              "no receive EVD",
                                              "no connection EVD",
                                              "with SRQ",
                                              "CONNECTED, queues full"};

static struct made {
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	DAT_RSP_HANDLE rsp;
	int stopped; /* the peer */
} made[STATES_END];

static DAT_IB_ADDR_HANDLE ah;
static DAT_UINT64 context_of_ud;

const char *name_of_state(int state)
{
	return names[state];
}

int next_state(int state)
{
	do
		state++;
	while (state < STATES_END && !names[state]);
	return state < STATES_END ? state : -1;
}

static void drop(struct made *m)
{
	if (m->stopped)
		CHECK(kill(peer->pid, SIGCONT) == 0);
	if (type_of(m->cr) == DAT_HANDLE_TYPE_CR)
		dat_cr_reject(m->cr, 0, NULL);
	if (type_of(m->rsp) == DAT_HANDLE_TYPE_RSP)
		dat_rsp_free(m->rsp);
	if (type_of(m->ep) == DAT_HANDLE_TYPE_EP)
		MUST(dat_ep_free(m->ep));
	memset(m, 0, sizeof *m);
}

void drop_endpoint(DAT_EP_HANDLE ep)
{
	int i;

	for (i = 0; i < STATES_END; i++)
		if (made[i].ep == ep && ep)
			drop(&made[i]);
}

DAT_EP_HANDLE endpoint_if_stopped(void)
{
	const struct made *m = &made[DAT_EP_STATE_COMPLETION_PENDING];

	return m->stopped ? m->ep : DAT_HANDLE_NULL;
}

void drop_endpoints(void)
{
	int i;

	for (i = 0; i < STATES_END; i++)
		drop(&made[i]);
}

/* A request from the peer, at a service point of the adapter that is freed by now. */
static DAT_CR_HANDLE request_at(objects *o, DAT_CONN_QUAL qualifier, int service)
{
	peer_do(service == DAT_SERVICE_TYPE_RC ? PEER_CALL : PEER_CALL_UD, qualifier);
	return pair_event(o->requests, service == DAT_SERVICE_TYPE_RC
	                                       ? (unsigned)DAT_CONNECTION_REQUEST_EVENT
	                                       : (unsigned)DAT_IB_UD_CONNECTION_REQUEST_EVENT)
	        .event_data.cr_arrival_event_data.cr_handle;
}

DAT_CR_HANDLE new_request(objects *o, int service, DAT_HANDLE *provided)
{
	DAT_CONN_QUAL qualifier;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	MUST(dat_psp_create_any(o->ia, &qualifier, o->requests,
	                        provided ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG, &psp));
	cr = request_at(o, qualifier, service);
	MUST(dat_psp_free(psp));
	if (provided) {
		MUST(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		*provided = param.local_ep_handle;
	}
	return cr;
}

static void connect_to_peer(DAT_EP_HANDLE ep)
{
	drain(mine.connection);
	peer->number++;
	MUST(dat_ep_connect(ep, address_of_peer(), peer->qualifier, DAT_TIMEOUT_INFINITE,
	                    sizeof peer->number, &peer->number, DAT_QOS_BEST_EFFORT,
	                    DAT_CONNECT_DEFAULT_FLAG));
}

static void connected(DAT_EP_HANDLE ep, int wanted)
{
	DAT_EVENT event;

	connect_to_peer(ep);
	peer_do(PEER_ACCEPT, (DAT_CONN_QUAL)wanted);
	CHECK(connection_event(mine.connection, ep, &event) == DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void post_sends(DAT_EP_HANDLE ep, int n)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 2};

	for (; n > 0; n--)
		MUST(dat_ep_post_send(ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void fill_queues(DAT_EP_HANDLE ep)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 2};
	int i;

	post_sends(ep, MOST_REQUESTS);
	for (i = 0; i < MOST_REQUESTS; i++)
		MUST(dat_ep_post_recv(ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static DAT_CONN_QUAL reserve(struct made *m)
{
	static DAT_CONN_QUAL qualifier = 4000;
	DAT_RETURN result;

	do
		result = dat_rsp_create(mine.ia, ++qualifier, m->ep, mine.requests, &m->rsp);
	while (DAT_GET_TYPE(result) == DAT_CONN_QUAL_IN_USE);
	MUST(result);
	return qualifier;
}

/* An endpoint that a service point has made; the request is rejected unless it is to stay. */
static void provide(struct made *m, int stays)
{
	m->cr = new_request(&mine, DAT_SERVICE_TYPE_RC, &m->ep);
	if (!stays)
		MUST(dat_cr_reject(m->cr, 0, NULL));
}

static void configure(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = {.pz_handle = mine.pz,
	                      .recv_evd_handle = mine.recv,
	                      .request_evd_handle = mine.request,
	                      .connect_evd_handle = mine.connection};

	MUST(dat_ep_modify(ep,
	                   DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
	                           DAT_EP_FIELD_REQUEST_EVD_HANDLE |
	                           DAT_EP_FIELD_CONNECT_EVD_HANDLE,
	                   &param));
}

/* Accepts a request whose peer is stopped: the connection cannot be established. */
static int accept_of_stopped(struct made *m)
{
	DAT_CR_HANDLE cr;
	int status;

	if (!peer->pid)
		return 0;
	cr = new_request(&mine, DAT_SERVICE_TYPE_RC, NULL);
	CHECK(kill(peer->pid, SIGSTOP) == 0);
	CHECK(waitpid(peer->pid, &status, WUNTRACED) == peer->pid && WIFSTOPPED(status));
	m->stopped = 1;
	MUST(dat_cr_accept(cr, m->ep, 0, NULL));
	return 1;
}

static void datagrams(struct made *m)
{
	DAT_EVENT event;
	const DAT_IB_EXTENSION_EVENT_DATA *data;

	connect_to_peer(m->ep);
	peer_do(PEER_ACCEPT_UD, 1);
	CHECK(connection_event(mine.connection, m->ep, &event) ==
	      (unsigned)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
	data = (DAT_IB_EXTENSION_EVENT_DATA *)&event.event_extension_data[0];
	ah = data->remote_ah;
	context_of_ud = data->context.as_64;
}

DAT_IB_ADDR_HANDLE *address_handle(void)
{
	endpoint(UD);
	return &ah;
}

DAT_UINT64 ud_context(void)
{
	endpoint(UD);
	return context_of_ud;
}

static DAT_EP_HANDLE without(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request, DAT_EVD_HANDLE connection)
{
	DAT_EP_ATTR attr = {.max_recv_dtos = recv ? 4 : 0,
	                    .max_request_dtos = request ? 4 : 0,
	                    .max_recv_iov = 1,
	                    .max_request_iov = 1};
	DAT_EP_HANDLE ep;

	MUST(dat_ep_create(mine.ia, mine.pz, recv, request, connection, &attr, &ep));
	return ep;
}

DAT_SRQ_HANDLE used_srq(void)
{
	static DAT_SRQ_HANDLE srq;
	DAT_SRQ_ATTR attr = {MOST_REQUESTS, MOST_SEGMENTS, DAT_SRQ_LW_DEFAULT};

	if (!srq)
		MUST(dat_srq_create(mine.ia, mine.pz, &attr, &srq));
	return srq;
}

static DAT_EP_HANDLE raw_endpoint(int state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONFIGURED_UNCONNECTED:
	case DAT_EP_STATE_UNCONFIGURED_RESERVED:
	case DAT_EP_STATE_UNCONFIGURED_PASSIVE:
	case DAT_EP_STATE_UNCONFIGURED_TENTATIVE:
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DAT_HANDLE_NULL; /* a service point makes it */
	case UD:
		return new_endpoint(&mine, DAT_IB_SERVICE_TYPE_UD, DAT_HANDLE_NULL);
	case NO_REQUEST_EVD:
		return without(mine.recv, DAT_HANDLE_NULL, mine.connection);
	case NO_RECV_EVD:
		return without(DAT_HANDLE_NULL, mine.request, mine.connection);
	case NO_CONNECT_EVD:
		return without(mine.recv, mine.request, DAT_HANDLE_NULL);
	case WITH_SRQ:
		return new_endpoint(&mine, DAT_SERVICE_TYPE_RC, used_srq());
	default:
		return new_endpoint(&mine, DAT_SERVICE_TYPE_RC, DAT_HANDLE_NULL);
	}
}

/* Brings an endpoint into a state; 0: that cannot be reached here. */
static int bring(struct made *m, int state)
{
	DAT_EVENT event;

	switch (state) {
	case DAT_EP_STATE_UNCONFIGURED_UNCONNECTED:
		provide(m, 0);
		break;
	case DAT_EP_STATE_RESERVED:
		reserve(m);
		break;
	case DAT_EP_STATE_UNCONFIGURED_RESERVED:
		provide(m, 0);
		reserve(m);
		break;
	case DAT_EP_STATE_UNCONFIGURED_PASSIVE:
		provide(m, 0); /* falls through */
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		m->cr = request_at(&mine, reserve(m), DAT_SERVICE_TYPE_RC);
		break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		connect_to_peer(m->ep);
		peer_do(PEER_TAKE, 0);
		break;
	case DAT_EP_STATE_UNCONFIGURED_TENTATIVE:
		provide(m, 1);
		break;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		provide(m, 1);
		configure(m->ep);
		break;
	case DAT_EP_STATE_CONNECTED:
		connected(m->ep, 1);
		break;
	case NO_REQUEST_EVD:
		connected(m->ep, 0);
		break;
	case FULL:
		connected(m->ep, 0);
		fill_queues(m->ep);
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		connected(m->ep, 0);
		post_sends(m->ep, 1);
		MUST(dat_ep_disconnect(m->ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case DAT_EP_STATE_DISCONNECTED:
		connected(m->ep, 0);
		MUST(dat_ep_disconnect(m->ep, DAT_CLOSE_ABRUPT_FLAG));
		CHECK(connection_event(mine.connection, m->ep, &event) ==
		      DAT_CONNECTION_EVENT_DISCONNECTED);
		break;
	case DAT_EP_STATE_COMPLETION_PENDING:
		return accept_of_stopped(m);
	case UD:
		datagrams(m);
		break;
	default:
		break;
	}
	return 1;
}

static int is_in_state(DAT_EP_HANDLE ep, int state)
{
	DAT_EP_STATE now;

	if (!ep || dat_ep_get_status(ep, &now, NULL, NULL) != DAT_SUCCESS)
		return 0;
	if (state == NO_REQUEST_EVD || state == FULL)
		state = DAT_EP_STATE_CONNECTED;
	return state > DAT_EP_STATE_COMPLETION_PENDING ? now == DAT_EP_STATE_UNCONNECTED
	                                               : (int)now == state;
}

DAT_EP_HANDLE endpoint(int state)
{
	struct made *m = &made[state];

	if (is_in_state(m->ep, state))
		return m->ep;
	drop(m);
	m->ep = raw_endpoint(state);
	if (!bring(m, state)) {
		drop(m);
		return DAT_HANDLE_NULL;
	}
	if (!is_in_state(m->ep, state))
		pair_fail(__FILE__, __LINE__, names[state], 0);
	return m->ep;
}
