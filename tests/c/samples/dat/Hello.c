/*
 * Hello.c - a connection, and messages in both directions.
 *
 * Everything that a uDAPL program needs is here, one after the other: an adapter, EVDs, memory that
 * is registered, an endpoint, the server's service point, a connection with private data, receives
 * that are posted before what they are for, sends, and the end.
 */
#include <ctype.h>
#include "dat_sample.h"

enum { ROUNDS = 3, ROOM = 64 };

static char outgoing[ROOM], incoming[ROOM];
static DAT_LMR_TRIPLET out, in;
static DAT_EP_HANDLE ep;

/* Memory must be registered before it is used. Nobody else is to have access to it. */
static DAT_LMR_TRIPLET register_memory(char *start)
{
	const int rights = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET segment = {(uintptr_t)start, ROOM, 0};
	DAT_LMR_HANDLE lmr;

	region.for_va = start;
	CALL(dat_lmr_create(adapter, DAT_MEM_TYPE_VIRTUAL, region, ROOM, zone,
	                    (DAT_MEM_PRIV_FLAGS)rights, DAT_VA_TYPE_VA, &lmr, &segment.lmr_context,
	                    NULL, NULL, NULL));
	return segment;
}

/* Sends what is in outgoing, which must not change until the completion has come. */
static void send_line(void)
{
	out.segment_length = (DAT_SEG_LENGTH)strlen(outgoing) + 1;
	CALL(dat_ep_post_send(ep, 1, &out, side_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
}

/* A message needs a receive: this is room for the next one. */
static void post_receive(void)
{
	CALL(dat_ep_post_recv(ep, 1, &in, side_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
}

/*
 * Completions of sends and of receives come to the same EVD here, in any order among each other;
 * each kind in the order of posting.
 */
static void await_both(void)
{
	int cookies = 0;

	for (int i = 0; i < 2; i++) {
		DAT_EVENT event = side_event(done_evd, DAT_DTO_COMPLETION_EVENT);

		EXPECT(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
		cookies += (int)event.event_data.dto_completion_event_data.user_cookie.as_64;
	}
	EXPECT(cookies == 1 + 2);
}

static void serve(void)
{
	DAT_PSP_HANDLE psp = side_listen();
	DAT_EVENT event = side_event(request_evd, DAT_CONNECTION_REQUEST_EVENT);
	DAT_CR_HANDLE request = event.event_data.cr_arrival_event_data.cr_handle;
	DAT_CR_PARAM who;

	CALL(dat_cr_query(request, DAT_CR_FIELD_ALL, &who));
	side_say("somebody asks \"%s\"", (char *)who.private_data);
	EXPECT(strcmp(who.private_data, "may I?") == 0);
	post_receive();
	CALL(dat_cr_accept(request, ep, 8, (DAT_PVOID) "welcome"));
	side_event(connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int i = 0; i < ROUNDS; i++) {
		if (i == 0)
			side_done(DAT_DTO_COMPLETION_EVENT, 2);
		else
			await_both(); /* the last answer is gone, the next line is there */
		side_say("got \"%s\"", incoming);
		for (int c = 0; c < ROOM; c++)
			outgoing[c] = (char)toupper((unsigned char)incoming[c]);
		if (i < ROUNDS - 1)
			post_receive(); /* before the answer, which has the client go on */
		send_line();
	}
	side_done(DAT_DTO_COMPLETION_EVENT, 1);
	CALL(dat_psp_free(psp));
}

static void ask(void)
{
	DAT_EVENT event;

	side_ask(ep, "may I?", 7);
	event = side_event(connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_say("connected: \"%s\"", (char *)event.event_data.connect_event_data.private_data);
	EXPECT(strcmp(event.event_data.connect_event_data.private_data, "welcome") == 0);
	for (int i = 0; i < ROUNDS; i++) {
		char expected[ROOM];

		snprintf(outgoing, sizeof outgoing, "line %d", i);
		snprintf(expected, sizeof expected, "LINE %d", i);
		post_receive();
		send_line();
		await_both();
		side_say("the answer is \"%s\"", incoming);
		EXPECT(strcmp(incoming, expected) == 0);
	}
}

int main(int argc, char **argv)
{
	side_begin(argc, argv);
	side_open();
	out = register_memory(outgoing);
	in = register_memory(incoming);
	CALL(dat_ep_create(adapter, zone, done_evd, done_evd, connect_evd, NULL, &ep));
	if (side_host)
		ask();
	else
		serve();
	side_finish(ep);
	return side_end();
}
