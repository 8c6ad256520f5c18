/* dat_bench.h - two connected processes of a node with an endpoint each: shared by the tests of
 * uDAPL. */
#ifndef BENCH_DAT_H
#define BENCH_DAT_H

#include "measure.h"

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#define DAT_DEPTH 64 /* receives and requests of an endpoint */

typedef struct side {
	board *b;
	const bench_options *o;
	int id; /* 0 has connected to 1 */
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, requests, recv, request, connection;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	volatile char *in;
	char *out;
	size_t size;           /* of the operation that is measured */
	DAT_RMR_TRIPLET there; /* in of the other side */
	uint64_t turn;         /* of memory rounds: what the next write says */
} side;

void dat_check(DAT_RETURN result, const char *call);
#define DAT(call) dat_check((call), #call)

/* Polls until an event is there. */
void side_poll(DAT_EVD_HANDLE evd, DAT_EVENT *event);
/* Waits for an event of that number. */
DAT_EVENT side_wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
/* The request that has been posted is complete. */
void side_completed(side *s);
void side_post_recv(side *s);
DAT_LMR_TRIPLET side_triplet(const side *s, const volatile char *at, size_t n);
void side_new_endpoint(side *s);
/* Side 0 connects to side 1, which has a service point. */
void side_connect(side *s);

/* dat_rounds.c */
void dat_rounds(side *s);
/* dat_wait.c */
void dat_idle(side *s);
void dat_wake(side *s);
void dat_connections(side *s);

#endif
