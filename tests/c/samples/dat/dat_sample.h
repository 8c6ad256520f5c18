/*
 * dat_sample.h - the little that the uDAPL samples share: who is server and who client, calls with
 * the result checked, the next event, and, of all but Hello, which shows it, how the two connect.
 *
 * Each program is server and client: without a host it listens and serves one client, with one it
 * is that client. Both must be given the same qualifier.
 */
#ifndef DAT_SAMPLE_H
#define DAT_SAMPLE_H

#include <netdb.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef SAMPLE_OF_2005
#include <dat/udat.h>
#else
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#endif

enum { MICROSECONDS = 1000000, PATIENCE = 60 * MICROSECONDS };

static const char *side_name = "server";
static const char *side_host; /* the server's, for the client; NULL: this is the server */
static DAT_CONN_QUAL side_qualifier = 15500;
static int side_wrong; /* results that were not as expected */

static DAT_IA_HANDLE adapter;
static DAT_PZ_HANDLE zone;
/* Asynchronous errors, requests at a service point, what becomes of connections, completions. */
static DAT_EVD_HANDLE errors_evd, request_evd, connect_evd, done_evd;

/* Calls uDAPL; when it fails, says which call and why, and ends the program. */
#define CALL(call) side_call((call), #call, __FILE__, __LINE__)

/* Checks a result; when it is wrong, prints it and makes side_end return a failure. */
#define EXPECT(condition) side_expect((condition) != 0, #condition, __FILE__, __LINE__)

static inline void side_call(DAT_RETURN result, const char *call, const char *file, int line)
{
	const char *major = "", *minor = "";

	if (result == DAT_SUCCESS)
		return;
	dat_strerror(result, &major, &minor);
	fprintf(stderr, "%s: %s:%d: %s: %s %s\n", side_name, file, line, call, major, minor);
	exit(1);
}

static inline void side_expect(int holds, const char *condition, const char *file, int line)
{
	if (holds)
		return;
	side_wrong++;
	fprintf(stderr, "%s: %s:%d: WRONG: not true that %s\n", side_name, file, line, condition);
}

/* Prints one line, with the side in front. */
__attribute__((format(printf, 1, 2), unused)) static void side_say(const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	printf("%s: %s\n", side_name, line);
	fflush(stdout);
}

/* Call last: the exit status of the program. */
static inline int side_end(void)
{
	side_say(side_wrong == 0 ? "passed" : "FAILED, %d wrong", side_wrong);
	return side_wrong != 0;
}

/* Reads the arguments: [-q qualifier] [host]. */
static inline void side_begin(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "q:")) == 'q')
		side_qualifier = strtoull(optarg, NULL, 0);
	if (option != -1 || argc > optind + 1) {
		fprintf(stderr, "usage: %s [-q qualifier] [host of the server]\n", argv[0]);
		exit(2);
	}
	side_host = argv[optind];
	if (side_host)
		side_name = "client";
}

/* The next event of an EVD, which must have this number. */
__attribute__((unused)) static DAT_EVENT side_event(DAT_EVD_HANDLE evd, int number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	CALL(dat_evd_wait(evd, PATIENCE, 1, &event, &more));
	if ((int)event.event_number != number) {
		fprintf(stderr, "%s: event %#x, not %#x\n", side_name, event.event_number, number);
		exit(1);
	}
	return event;
}

/* The completion of a transfer, of this number and with this cookie, which must be good. */
__attribute__((unused)) static DAT_EVENT side_done(int number, DAT_UINT64 cookie)
{
	DAT_EVENT event = side_event(done_evd, number);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (dto->status != DAT_DTO_SUCCESS || dto->user_cookie.as_64 != cookie) {
		fprintf(stderr, "%s: completion %d, status %d\n", side_name,
		        (int)dto->user_cookie.as_64, dto->status);
		exit(1);
	}
	return event;
}

static inline DAT_DTO_COOKIE side_cookie(DAT_UINT64 number)
{
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = number;
	return cookie;
}

/* Opens an adapter, with a zone and EVDs. */
static inline void side_open(void)
{
	CALL(dat_ia_open((DAT_NAME_PTR) "lapi", 8, &errors_evd, &adapter));
	CALL(dat_pz_create(adapter, &zone));
	CALL(dat_evd_create(adapter, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &request_evd));
	CALL(dat_evd_create(adapter, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connect_evd));
	CALL(dat_evd_create(adapter, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &done_evd));
}

#ifndef SAMPLE_OF_2005
/* Registers memory with all rights: the segment, and how the peer names it (may be NULL). */
__attribute__((unused)) static DAT_LMR_TRIPLET side_memory(void *start, DAT_SEG_LENGTH length,
                                                           DAT_RMR_TRIPLET *remote)
{
	const int rights = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET segment = {(uintptr_t)start, length, 0};
	DAT_RMR_TRIPLET theirs = {(uintptr_t)start, length, 0};
	DAT_LMR_HANDLE lmr;

	region.for_va = start;
	CALL(dat_lmr_create(adapter, DAT_MEM_TYPE_VIRTUAL, region, length, zone,
	                    (DAT_MEM_PRIV_FLAGS)rights, DAT_VA_TYPE_VA, &lmr, &segment.lmr_context,
	                    &theirs.rmr_context, NULL, NULL));
	if (remote)
		*remote = theirs;
	return segment;
}
#endif

/* Listens, and says so: whoever starts the client waits for that line. */
__attribute__((unused)) static DAT_PSP_HANDLE side_listen(void)
{
	DAT_PSP_HANDLE psp;

	CALL(dat_psp_create(adapter, side_qualifier, request_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	side_say("listening at qualifier %llu", (unsigned long long)side_qualifier);
	return psp;
}

/* Asks the server for a connection; size bytes of data go along. */
static inline void side_ask(DAT_EP_HANDLE ep, const void *data, DAT_COUNT size)
{
	struct addrinfo *found;

	if (getaddrinfo(side_host, NULL, NULL, &found) != 0) {
		fprintf(stderr, "client: no address of %s\n", side_host);
		exit(1);
	}
	CALL(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)found->ai_addr, side_qualifier, PATIENCE, size,
	                    (DAT_PVOID)data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	freeaddrinfo(found);
}

/*
 * Connects ep with the other side's. The server sends size bytes of data along, which the client
 * gets; private data may be longer than that. Post receives before.
 */
__attribute__((unused)) static void side_connect(DAT_EP_HANDLE ep, void *data, DAT_COUNT size)
{
	DAT_EVENT event;

	if (side_host) {
		side_ask(ep, NULL, 0);
		event = side_event(connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
		EXPECT(event.event_data.connect_event_data.private_data_size >= size);
		if (size > 0)
			memcpy(data, event.event_data.connect_event_data.private_data,
			       (size_t)size);
		return;
	}
	event = side_event(request_evd, DAT_CONNECTION_REQUEST_EVENT);
	CALL(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, size, data));
	side_event(connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Ends the connection, from the client's side, and closes the adapter with all that is in it. */
__attribute__((unused)) static void side_finish(DAT_EP_HANDLE ep)
{
	if (side_host)
		CALL(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	side_event(connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	CALL(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG));
}

#endif
