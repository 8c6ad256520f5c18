/* run.c - makes the calls with one adapter, and prints a line for each: call, value, result. */
#include "kinds.h"

#include <dat/dat_extensions.h>

#include "report.h"
#include "sweep_calls.h"

enum { CALLS = COUNT_OF(calls) };

static FILE *out;

/* ---- Results in words ---- */

static const char *words_of(DAT_RETURN r)
{
	static char text[256];
	const char *major = "?", *minor = "";

	dat_strerror(r, &major, &minor);
	if (!strncmp(major, "unknown", 7))
		snprintf(text, sizeof text, "%#x", (unsigned)r);
	else
		snprintf(text, sizeof text, "%s%s%s%s", major, *minor ? " " : "", minor,
		         r == DAT_SUCCESS || r & (DAT_CLASS_ERROR | DAT_CLASS_WARNING)
		                 ? ""
		                 : " without class");
	return text;
}

static const char *status_in_words(int status)
{
	static const char *const names[] = {"SUCCESS",          "FLUSHED",
	                                    "LOCAL_LENGTH",     "LOCAL_EP",
	                                    "LOCAL_PROTECTION", "BAD_RESPONSE",
	                                    "REMOTE_ACCESS",    "REMOTE_RESPONDER",
	                                    "TRANSPORT",        "RECEIVER_NOT_READY",
	                                    "PARTIAL_PACKET",   "RMR_OPERATION_FAILED",
	                                    "LOCAL_MM_ERROR"};

	return status >= 0 && status < COUNT_OF(names) ? names[status]
	                                               : "a status that is not known";
}

static const char *event_in_words(unsigned number)
{
	switch (number) {
	case 0:
		return "nothing";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	default:
		return "another event";
	}
}

/* ---- What an accepted call leaves ---- */

static int is(const call *c, const char *part)
{
	return strstr(c->name, part) != NULL;
}

static int completes(const call *c)
{
	return (is(c, "_post_") || is(c, "rmr_bind")) && !is(c, "_recv") && !is(c, "evd_post_se");
}

static int argument_of(const call *c, const kind *k)
{
	int at;

	for (at = 0; at < MOST_ARGUMENTS && c->arguments[at].name; at++)
		if (c->arguments[at].kind == k)
			return at;
	return -1;
}

/* Waits for the completion of the post; -1: it does not come. */
static int completion(const call *c, const word *w)
{
	int flags = argument_of(c, &kind_completion);
	int suppressed = flags >= 0 && w[flags].number & DAT_COMPLETION_SUPPRESS_FLAG;
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	DAT_TIMEOUT wait;
	DAT_EVENT event;
	DAT_COUNT more;

	/* behind a request that waits for the peer there may be none */
	(void)dat_ep_get_status(w[0].pointer, &state, NULL, NULL);
	wait = suppressed                               ? 20000
	       : state == DAT_EP_STATE_DISCONNECT_PENDING ? 200000
	                                                : PAIR_WAIT;

	while (dat_evd_wait(mine.request, wait, 1, &event, &more) == DAT_SUCCESS) {
		if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT)
			return event.event_data.rmr_completion_event_data.status;
		if (event.event_data.dto_completion_event_data.user_cookie.as_64 ==
		    w[argument_of(c, &kind_context)].number)
			return event.event_data.dto_completion_event_data.status;
	}
	return -1;
}

/* The events of both sides after a post that has failed, or that the peer may have received. */
static void print_both_sides(DAT_EP_HANDLE ep, int failed)
{
	DAT_EVENT event;
	int i;

	if (failed)
		fprintf(out, ", here %s",
		        event_in_words(connection_event(mine.connection, ep, &event)));
	peer_do(PEER_OUTCOME, (DAT_CONN_QUAL)failed);
	if (failed)
		fprintf(out, ", there %s", event_in_words(peer->event));
	for (i = 0; i < peer->num_receives; i++)
		if (!failed || peer->receives[i] != DAT_DTO_ERR_FLUSHED)
			fprintf(out, ", received %s %d", status_in_words(peer->receives[i]),
			        peer->lengths[i]);
}

/* 1 if the endpoint is unchanged. */
static int print_completion(const call *c, const word *w, DAT_EP_HANDLE connected)
{
	int at = is(c, "rmr_bind") ? 5 : 0;
	int status = completion(c, w);

	if (status < 0)
		fprintf(out, ", then no completion");
	else
		fprintf(out, ", then %s", status_in_words(status));
	if (w[at].pointer == connected)
		print_both_sides(connected, status > 0);
	return status <= 0 && w[at].pointer == connected;
}

static void release_results(const call *c, const word *w)
{
	DAT_HANDLE handle;
	int at;

	if (is(c, "registry_add"))
		MUST(dat_registry_remove_provider(w[0].pointer, w[1].pointer));
	if (!is(c, "_create") && !is(c, "_open"))
		return;
	for (at = MOST_ARGUMENTS - 1; at >= 0; at--)
		if (c->arguments[at].kind == &kind_out) {
			memcpy(&handle, results[at], sizeof handle);
			release(handle);
		}
}

/* An object that was passed has changed: another is made when needed. */
static void drop_idle(objects *o, DAT_HANDLE handle)
{
	int type;

	for (type = 0; type < KINDS; type++)
		if (handle && o->idle[type] == handle) {
			release(handle);
			o->idle[type] = DAT_HANDLE_NULL;
		}
}

static void clean(const call *c, const word *w, int keep)
{
	int at;

	release_results(c, w);
	for (at = 0; at < MOST_ARGUMENTS && c->arguments[at].name; at++) {
		if (!keep && c->arguments[at].kind->type == DAT_HANDLE_TYPE_EP)
			drop_endpoint(w[at].pointer);
		if (c->arguments[at].kind->type == NO_HANDLE)
			continue;
		drop_idle(&mine, w[at].pointer);
		drop_idle(&other, w[at].pointer);
	}
	drain(mine.requests);
	drain(mine.async);
}

/* ---- What a refused call leaves ---- */

typedef struct endpoint_state {
	DAT_EP_STATE state;
	DAT_BOOLEAN receives, requests;
} endpoint_state;

static endpoint_state state_of(const call *c, const word *w)
{
	endpoint_state s;
	int at;

	memset(&s, 0, sizeof s);
	for (at = 0; at < MOST_ARGUMENTS && c->arguments[at].name; at++)
		if (c->arguments[at].kind->type == DAT_HANDLE_TYPE_EP)
			dat_ep_get_status(w[at].pointer, &s.state, &s.receives, &s.requests);
	return s;
}

enum { UNTOUCHED = 0xa5 };

/* 1 if a call has written a result. */
static int has_written(const call *c, const word *w)
{
	size_t i;
	int at;

	for (at = 0; at < MOST_ARGUMENTS && c->arguments[at].name; at++)
		for (i = 0; w[at].pointer == results[at] && i < sizeof results[at]; i++)
			if (c->arguments[at].kind != &kind_async && results[at][i] != UNTOUCHED)
				return 1;
	return 0;
}

/* ---- Cases ---- */

/* Stores the i-th wrong value of an argument; 0: there is none, -1: not here. */
static int wrong_value(const call *c, int at, int i, word *w)
{
	const kind *k = c->arguments[at].kind;
	int handles = k->type == NO_HANDLE ? 0 : k->type < 0 ? KINDS + 2 : KINDS + 3;

	if (i < handles)
		return wrong_handle(i, w + at, k);
	return k->wrong(i - handles, w, at);
}

static void call_it(const call *c, const word *w)
{
	endpoint_state before = state_of(c, w), after;
	DAT_EP_HANDLE connected = endpoint(DAT_EP_STATE_CONNECTED);
	DAT_RETURN r;
	int keep = 0;

	if (completes(c)) {
		drain(mine.request);
		drain(mine.connection);
	}
	r = c->run(w);
	fprintf(out, "%s", words_of(r));
	if (r != DAT_SUCCESS) {
		after = state_of(c, w);
		if (memcmp(&before, &after, sizeof after))
			fprintf(out, ", endpoint changed");
		if (has_written(c, w))
			fprintf(out, ", result written");
		return;
	}
	if (completes(c))
		keep = print_completion(c, w, connected);
	clean(c, w, keep);
}

/* One call, with the i-th wrong value of an argument; at -1: all are right. 0: there is none. */
static int try(const call *c, int at, int i)
{
	word w[MOST_ARGUMENTS];
	int n, there = 1;

	memset(w, 0, sizeof w);
	memset(results, UNTOUCHED, sizeof results);
	for (n = 0; n < MOST_ARGUMENTS && c->arguments[n].name; n++)
		c->arguments[n].kind->right(w, n);
	if (at >= 0)
		there = wrong_value(c, at, i, w);
	if (there == 0)
		return 0;
	if (there > 0) {
		fprintf(out, at < 0 ? "%s right%.0s%.0s\t" : "%s %s %s\t", c->name,
		        at < 0 ? "" : c->arguments[at].name, label);
		call_it(c, w);
		fprintf(out, "\n");
		fflush(out);
	}
	drop_endpoint(endpoint_if_stopped());
	return 1;
}

static void sweep(const call *c)
{
	int at, i;

	try(c, -1, 0);
	for (at = 0; at < MOST_ARGUMENTS && c->arguments[at].name; at++)
		for (i = 0; try(c, at, i); i++)
			;
}

int run(int as_process, const char *only, FILE *to)
{
	int i;

	out = to;
	peer_start(as_process);
	objects_open(&other);
	for (i = 0; i < CALLS; i++)
		if (!only || !strcmp(only, calls[i].name))
			sweep(&calls[i]);
	drop_endpoints();
	peer_do(PEER_END, 0);
	return 0;
}
