/* cm.c - the connection manager. */
#include "check.h"

#include <arpa/inet.h>

enum { PORT = 7000 };

struct manager {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

static struct sockaddr_in address(int device, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	char text[32];

	snprintf(text, sizeof text, "10.9.8.%d", device);
	inet_pton(AF_INET, text, &a.sin_addr);
	return a;
}

static void manager_open(struct manager *m, enum rdma_port_space space)
{
	MUST(m->channel = rdma_create_event_channel());
	MUST(rdma_create_id(m->channel, &m->id, m, space) == 0);
}

static void manager_close(struct manager *m)
{
	if (m->id->qp)
		rdma_destroy_qp(m->id);
	MUST(rdma_destroy_id(m->id) == 0);
	rdma_destroy_event_channel(m->channel);
}

/* The next event, which is of that type; it is acknowledged by the caller. */
static struct rdma_cm_event *next(struct manager *m, enum rdma_cm_event_type type)
{
	struct pollfd file = {.fd = m->channel->fd, .events = POLLIN};
	struct rdma_cm_event *e;

	MUST(poll(&file, 1, 10000) == 1 && rdma_get_cm_event(m->channel, &e) == 0);
	if (e->event != type)
		fprintf(stderr, "%s, not %s\n", rdma_event_str(e->event), rdma_event_str(type));
	MUST(e->event == type);
	return e;
}

static void took(struct manager *m, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *e = next(m, type);

	MUST(e->status == status && rdma_ack_cm_event(e) == 0);
}

static void listen_at(struct manager *m, int device, int port, enum rdma_port_space space)
{
	struct sockaddr_in a = address(device, port);

	manager_open(m, space);
	MUST(rdma_bind_addr(m->id, (struct sockaddr *)&a) == 0);
	MUST(m->id->verbs && !strcmp(ibv_get_device_name(m->id->verbs->device), "rig1"));
	MUST(rdma_listen(m->id, 2) == 0);
}

static void route_to(struct manager *m, int device, int port, enum rdma_port_space space)
{
	struct sockaddr_in from = address(2, 0), to = address(device, port);

	manager_open(m, space);
	MUST(rdma_connect(m->id, NULL) == -1 && errno == EINVAL);
	MUST(rdma_resolve_addr(m->id, (struct sockaddr *)&from, (struct sockaddr *)&to, 1000) == 0);
	took(m, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	MUST(rdma_resolve_route(m->id, 1000) == 0);
	took(m, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static struct ibv_cq *give_qp(struct rdma_cm_id *id)
{
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, DEPTH, NULL, NULL, 0);
	struct ibv_qp_init_attr a = {.send_cq = cq,
	                             .recv_cq = cq,
	                             .sq_sig_all = 1,
	                             .cap = {DEPTH, DEPTH, 1, 1, 0},
	                             .qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC};

	MUST(pd && cq && rdma_create_qp(id, pd, &a) == 0);
	return cq;
}

static void connected(void)
{
	char hello[56] = "hello", answer[196] = "answer";
	struct rdma_conn_param ask = {.private_data = hello,
	                              .private_data_len = sizeof hello,
	                              .responder_resources = 3,
	                              .initiator_depth = 2,
	                              .retry_count = 1,
	                              .rnr_retry_count = 7};
	struct rdma_conn_param give = {.private_data = answer,
	                               .private_data_len = 6,
	                               .responder_resources = 2,
	                               .initiator_depth = 1};
	struct manager server, client;

	listen_at(&server, 1, PORT, RDMA_PS_TCP);
	route_to(&client, 1, PORT, RDMA_PS_TCP);
	struct ibv_cq *cq = give_qp(client.id);
	ask.private_data_len = 57;
	MUST(rdma_connect(client.id, &ask) == -1 && errno == EINVAL);
	ask.private_data_len = 5;
	MUST(rdma_connect(client.id, &ask) == 0);
	struct rdma_cm_event *e = next(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *child = e->id;
	/* lengths do not go along */
	MUST(e->listen_id == server.id && e->param.conn.private_data_len == 56 &&
	     !strcmp(e->param.conn.private_data, "hello"));
	MUST(e->param.conn.responder_resources == 2 && e->param.conn.initiator_depth == 3);
	MUST(child->context == &server && child->verbs == server.id->verbs);
	MUST(rdma_ack_cm_event(e) == 0);
	struct ibv_cq *child_cq = give_qp(child);
	give.private_data_len = 197;
	MUST(rdma_accept(child, &give) == -1 && errno == EINVAL);
	give.private_data_len = 6;
	MUST(rdma_accept(child, &give) == 0);
	e = next(&client, RDMA_CM_EVENT_ESTABLISHED);
	MUST(e->param.conn.private_data_len == 196 &&
	     !strcmp(e->param.conn.private_data, "answer"));
	MUST(rdma_ack_cm_event(e) == 0);
	took(&server, RDMA_CM_EVENT_ESTABLISHED, 0);
	struct ibv_recv_wr *bad_receive, r = {.wr_id = 5};
	struct ibv_send_wr *bad, w = {.opcode = IBV_WR_SEND};
	MUST(ibv_post_recv(child->qp, &r, &bad_receive) == 0);
	MUST(ibv_post_send(client.id->qp, &w, &bad) == 0);
	MUST(completion(cq).status == IBV_WC_SUCCESS && completion(child_cq).wr_id == 5);
	MUST(rdma_disconnect(client.id) == 0);
	took(&server, RDMA_CM_EVENT_DISCONNECTED, 0);
	MUST(rdma_disconnect(child) == 0);
	took(&client, RDMA_CM_EVENT_DISCONNECTED, 0);
	took(&client, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	rdma_destroy_qp(child);
	MUST(rdma_destroy_id(child) == 0);
	manager_close(&client);
	manager_close(&server);
}

static void refused(void)
{
	char why[148] = "no";
	struct manager server, client;

	route_to(&client, 1, PORT, RDMA_PS_TCP);
	MUST(rdma_connect(client.id, NULL) == 0);
	took(&client, RDMA_CM_EVENT_REJECTED, 8);
	manager_close(&client);
	listen_at(&server, 1, PORT, RDMA_PS_TCP);
	route_to(&client, 1, PORT, RDMA_PS_TCP);
	MUST(rdma_connect(client.id, NULL) == 0);
	struct rdma_cm_event *e = next(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *child = e->id;
	MUST(rdma_ack_cm_event(e) == 0);
	MUST(rdma_reject(child, why, 149) == -1 && rdma_reject(child, why, 3) == 0);
	MUST(rdma_accept(child, NULL) == -1 && rdma_destroy_id(child) == 0);
	e = next(&client, RDMA_CM_EVENT_REJECTED);
	MUST(e->status == 28 && e->param.conn.private_data_len == 148 &&
	     !strcmp(e->param.conn.private_data, "no") && rdma_ack_cm_event(e) == 0);
	manager_close(&client);
	manager_close(&server);
}

/* With RIG_PATIENCE a request waits for a listener that comes late, and for none that does not. */
static void patient(void)
{
	struct manager server, client;

	MUST(setenv("RIG_PATIENCE", "30000", 1) == 0);
	route_to(&client, 1, PORT, RDMA_PS_TCP);
	MUST(rdma_connect(client.id, NULL) == 0);
	listen_at(&server, 1, PORT, RDMA_PS_TCP);
	struct rdma_cm_event *e = next(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *child = e->id;
	MUST(rdma_ack_cm_event(e) == 0 && rdma_reject(child, NULL, 0) == 0);
	MUST(rdma_destroy_id(child) == 0);
	took(&client, RDMA_CM_EVENT_REJECTED, 28);
	manager_close(&client);
	manager_close(&server);
	MUST(setenv("RIG_PATIENCE", "20", 1) == 0);
	route_to(&client, 1, PORT, RDMA_PS_TCP);
	MUST(rdma_connect(client.id, NULL) == 0);
	took(&client, RDMA_CM_EVENT_REJECTED, 8);
	manager_close(&client);
}

/* Two requests wait at the most; who is destroyed refuses those that wait. */
static void backlog(void)
{
	struct manager server, client[3];

	listen_at(&server, 1, PORT, RDMA_PS_TCP);
	for (int i = 0; i < 3; i++) {
		route_to(&client[i], 1, PORT, RDMA_PS_TCP);
		MUST(rdma_connect(client[i].id, NULL) == 0);
	}
	took(&client[2], RDMA_CM_EVENT_REJECTED, 28);
	manager_close(&server);
	took(&client[0], RDMA_CM_EVENT_REJECTED, 28);
	took(&client[1], RDMA_CM_EVENT_REJECTED, 28);
	for (int i = 0; i < 3; i++)
		manager_close(&client[i]);
}

static void addresses(void)
{
	struct sockaddr_in own = address(1, PORT), none = address(99, PORT);
	struct manager server, other;

	listen_at(&server, 1, PORT, RDMA_PS_TCP);
	MUST(rdma_get_src_port(server.id) == htons(PORT));
	manager_open(&other, RDMA_PS_TCP);
	MUST(rdma_bind_addr(other.id, (struct sockaddr *)&own) == -1 && errno == EADDRINUSE);
	MUST(rdma_bind_addr(other.id, (struct sockaddr *)&none) == -1 && errno == EADDRNOTAVAIL);
	own.sin_port = 0;
	MUST(rdma_bind_addr(other.id, (struct sockaddr *)&own) == 0 && rdma_get_src_port(other.id));
	MUST(rdma_resolve_addr(other.id, NULL, (struct sockaddr *)&none, 50) == 0);
	took(&other, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	manager_close(&other);
	manager_open(&other, RDMA_PS_UDP); /* ports of its own */
	own.sin_port = htons(PORT);
	MUST(rdma_bind_addr(other.id, (struct sockaddr *)&own) == 0);
	manager_close(&other);
	manager_close(&server);
}

static void datagrams(void)
{
	struct rdma_conn_param param = {.private_data = "me", .private_data_len = 3};
	struct manager server, client;

	listen_at(&server, 1, PORT, RDMA_PS_UDP);
	route_to(&client, 1, PORT, RDMA_PS_UDP);
	give_qp(client.id);
	MUST(rdma_connect(client.id, &param) == 0);
	struct rdma_cm_event *e = next(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *child = e->id;
	MUST(e->param.ud.private_data_len == 180 && !strcmp(e->param.ud.private_data, "me"));
	MUST(rdma_ack_cm_event(e) == 0);
	give_qp(child);
	param.qp_num = child->qp->qp_num;
	MUST(rdma_accept(child, &param) == 0);
	e = next(&client, RDMA_CM_EVENT_ESTABLISHED);
	MUST(e->param.ud.qp_num == child->qp->qp_num && e->param.ud.qkey == 0x01234567 &&
	     e->param.ud.ah_attr.is_global && e->param.ud.private_data_len == 136);
	MUST(rdma_ack_cm_event(e) == 0);
	rdma_destroy_qp(child);
	MUST(rdma_destroy_id(child) == 0);
	manager_close(&client);
	route_to(&client, 1, PORT + 1, RDMA_PS_UDP);
	MUST(rdma_connect(client.id, NULL) == 0);
	took(&client, RDMA_CM_EVENT_UNREACHABLE, 1);
	manager_close(&client);
	manager_close(&server);
}

/* The other side's process ends in the middle of everything. */
static void died(void)
{
	struct manager client;
	int pipes[2];

	MUST(pipe(pipes) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct manager server;
		listen_at(&server, 1, PORT, RDMA_PS_TCP);
		MUST(write(pipes[1], "l", 1) == 1);
		for (;;) {
			struct rdma_cm_event *e = next(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
			give_qp(e->id);
			MUST(rdma_accept(e->id, NULL) == 0);
			rdma_ack_cm_event(e);
			took(&server, RDMA_CM_EVENT_ESTABLISHED, 0);
			MUST(write(pipes[1], "c", 1) == 1);
		}
	}
	char byte;
	MUST(read(pipes[0], &byte, 1) == 1);
	route_to(&client, 1, PORT, RDMA_PS_TCP);
	give_qp(client.id);
	MUST(rdma_connect(client.id, NULL) == 0);
	took(&client, RDMA_CM_EVENT_ESTABLISHED, 0);
	MUST(read(pipes[0], &byte, 1) == 1);
	MUST(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	took(&client, RDMA_CM_EVENT_DISCONNECTED, 0);
	manager_close(&client);
	/* nobody listens any more */
	route_to(&client, 1, PORT, RDMA_PS_TCP);
	MUST(rdma_connect(client.id, NULL) == 0);
	took(&client, RDMA_CM_EVENT_REJECTED, 8);
	manager_close(&client);
}

const struct check cm_checks[] = {{"connected", connected},
                                  {"refused", refused},
                                  {"patient", patient},
                                  {"backlog", backlog},
                                  {"addresses", addresses},
                                  {"cm_datagrams", datagrams},
                                  {"died", died},
                                  {NULL, NULL}};
