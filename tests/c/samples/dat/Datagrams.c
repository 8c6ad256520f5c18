/*
 * Datagrams.c - datagrams between endpoints without a connection.
 *
 * The client connects once, to learn the server's address handle; the server accepts, and learns
 * the client's. From then on each sends to the other whenever it likes. A datagram comes once or
 * not at all: the client asks again when it has no answer.
 */
#include "dat_sample.h"

enum {
	HEADER = 40,
	ROOM = 256,
	QUESTIONS = 3,
	RECEIVES = 8,
	AGAIN = MICROSECONDS,
	ASK_AT_MOST = 60
};

static char outgoing[ROOM], incoming[RECEIVES][HEADER + ROOM];
static DAT_LMR_TRIPLET out, in[RECEIVES];
static DAT_IB_ADDR_HANDLE peer;
static DAT_EVD_HANDLE sent_evd;
static DAT_EP_HANDLE ep;

/* An endpoint for datagrams. The first 40 bytes of a receive are an adapter's header. */
static void make_endpoint(void)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof attr);
	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr.max_message_size = ROOM;
	attr.max_recv_dtos = attr.max_request_dtos = RECEIVES;
	attr.max_recv_iov = attr.max_request_iov = 1;
	CALL(dat_evd_create(adapter, RECEIVES, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &sent_evd));
	CALL(dat_ep_create(adapter, zone, done_evd, sent_evd, connect_evd, &attr, &ep));
	out = side_memory(outgoing, sizeof outgoing, NULL);
	for (DAT_UINT64 i = 0; i < RECEIVES; i++) {
		in[i] = side_memory(incoming[i], sizeof incoming[i], NULL);
		CALL(dat_ep_post_recv(ep, 1, &in[i], side_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
	}
}

/* Keeps the address handle that an event tells. */
static void learn(DAT_IB_EXT_TYPE type)
{
	DAT_EVENT event = side_event(connect_evd, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
	DAT_IB_EXTENSION_EVENT_DATA *more =
		(DAT_IB_EXTENSION_EVENT_DATA *)event.event_extension_data;

	EXPECT(more->type == type);
	peer = more->remote_ah;
}

/* Sends a line. The completion says that the memory is free again, not that it has arrived. */
static void send_line(void)
{
	out.segment_length = (DAT_SEG_LENGTH)strlen(outgoing) + 1;
	CALL(dat_ib_post_send_ud(ep, 1, &out, &peer, side_cookie(99), DAT_COMPLETION_DEFAULT_FLAG));
	side_event(sent_evd, DAT_IB_DTO_EVENT);
}

/* The next line, copied to line, and a receive for another; 0: none within timeout. */
static int receive_line(char line[ROOM], DAT_TIMEOUT timeout)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_UINT64 i;
	DAT_RETURN result = dat_evd_wait(done_evd, timeout, 1, &event, &more);

	if (DAT_GET_TYPE(result) == DAT_TIMEOUT_EXPIRED)
		return 0;
	CALL(result);
	EXPECT(event.event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	EXPECT(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	i = event.event_data.dto_completion_event_data.user_cookie.as_64;
	memcpy(line, incoming[i] + HEADER, ROOM);
	EXPECT(event.event_data.dto_completion_event_data.transfered_length ==
	       HEADER + strlen(line) + 1);
	CALL(dat_ib_post_recv_ud(ep, 1, &in[i], side_cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
	return 1;
}

/* Answers until a message says stop. */
static void serve(void)
{
	char line[ROOM];
	DAT_EVENT event;

	side_listen();
	event = side_event(request_evd, DAT_IB_UD_CONNECTION_REQUEST_EVENT);
	CALL(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	learn(DAT_IB_UD_PASSIVE_REMOTE_AH);
	while (receive_line(line, PATIENCE)) {
		side_say("got \"%s\"", line);
		snprintf(outgoing, sizeof outgoing, "yes, %.200s", line);
		send_line();
		if (strcmp(line, "stop") == 0)
			return;
	}
	side_expect(0, "the client said stop", __FILE__, __LINE__);
}

/* Asks one thing until it is answered. */
static void ask(const char *question)
{
	char line[ROOM] = "", wanted[ROOM];

	snprintf(wanted, sizeof wanted, "yes, %s", question);
	for (int tries = 0; tries < ASK_AT_MOST && strcmp(line, wanted) != 0; tries++) {
		snprintf(outgoing, sizeof outgoing, "%s", question);
		send_line();
		while (receive_line(line, AGAIN) && strcmp(line, wanted) != 0)
			; /* an answer to what was asked twice */
	}
	side_say("the answer is \"%s\"", line);
	EXPECT(strcmp(line, wanted) == 0);
}

static void work(void)
{
	side_ask(ep, NULL, 0);
	learn(DAT_IB_UD_REMOTE_AH);
	for (int i = 0; i < QUESTIONS; i++) {
		char question[ROOM];

		snprintf(question, sizeof question, "question %d", i);
		ask(question);
	}
	ask("stop");
}

int main(int argc, char **argv)
{
	side_begin(argc, argv);
	side_open();
	make_endpoint();
	if (side_host)
		work();
	else
		serve();
	CALL(dat_ib_ud_ah_free(ep, &peer));
	CALL(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG));
	return side_end();
}
