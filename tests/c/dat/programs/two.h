/*
 * two.h - for programs that test uDAPL between two processes: a server, whose memory is accessed,
 * and a client, which meet by pipes. Each has one endpoint (pair.h). An error ends the process.
 */
#ifndef TWO_H
#define TWO_H

#include "pair.h"

#include <spawn.h>
#include <unistd.h>

extern char **environ;

/* This process. */
static struct {
	int from, to, is_server;
	pair p; /* of which a is in use */
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote, theirs;
	DAT_VADDR address; /* of the peer's memory */
	unsigned char *memory;
} me;

static void say(const void *bytes, size_t n)
{
	CHECK(write(me.to, bytes, n) == (ssize_t)n);
}

static void hear(void *bytes, size_t n)
{
	CHECK(read(me.from, bytes, n) == (ssize_t)n);
}

static void meet(void)
{
	char c = 0;

	say(&c, 1);
	hear(&c, 1);
}

static inline DAT_LMR_TRIPLET local(size_t at, DAT_SEG_LENGTH n)
{
	DAT_LMR_TRIPLET t = {(DAT_VADDR)(size_t)(me.memory + at), n, me.local};

	return t;
}

static inline DAT_DTO_COOKIE cookie(DAT_UINT64 n)
{
	DAT_DTO_COOKIE c = {.as_64 = n};

	return c;
}

static inline void connect_sides(void)
{
	struct sockaddr_in to;
	DAT_CONN_QUAL qualifier;
	DAT_EVENT event;

	if (me.is_server) {
		MUST(dat_psp_create_any(me.p.ia, &qualifier, me.p.requests, DAT_PSP_CONSUMER_FLAG,
		                        &me.psp));
		say(&qualifier, sizeof qualifier);
		event = pair_event(me.p.requests, DAT_CONNECTION_REQUEST_EVENT);
		MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, me.p.a.ep, 0,
		                   NULL));
	} else {
		memset(&to, 0, sizeof to);
		to.sin_family = AF_INET;
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		hear(&qualifier, sizeof qualifier);
		MUST(dat_ep_connect(me.p.a.ep, (DAT_IA_ADDRESS_PTR)&to, qualifier, PAIR_WAIT, 0,
		                    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	}
	pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Starts this program again as one of the two, with the ends of its pipes and further arguments. */
static pid_t start(char *program, const char *role, int from, int to, char *which, char *when)
{
	char in[16], out[16];
	char *argv[] = {program, (char *)role, in, out, which, when, NULL};
	pid_t pid;

	snprintf(in, sizeof in, "%d", from);
	snprintf(out, sizeof out, "%d", to);
	CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
	return pid;
}

/* Sets the role and the pipes of a process that was started with argv. */
static void begin(char **argv)
{
	me.is_server = !strcmp(argv[1], "server");
	me.from = atoi(argv[2]);
	me.to = atoi(argv[3]);
}

#endif
