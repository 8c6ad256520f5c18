/* fake_core.h - the fake core as its own files see it: a queue of packets, tickets, completions,
 * errors. */
#ifndef CTEST_FAKE_CORE_H
#define CTEST_FAKE_CORE_H

#include <pthread.h>

#include "ctest/fake.h"

enum { FAKE_QUEUE = 4096, FAKE_TURN = 16, FAKE_TICKETS = 64 };

typedef struct fake_packet {
	fake_action *action;
	void *argument;
} fake_packet;

typedef struct fake_ticket {
	uint64_t number; /* 0: free */
	int done, result;
} fake_ticket;

typedef struct fake_core {
	pthread_mutex_t mutex; /* of the "network": queue, head, tail */
	fake_packet queue[FAKE_QUEUE];
	unsigned head, tail;
	uint32_t armed; /* atomic */
	int bell;       /* eventfd, the link's descriptor */

	/* Under the context lock. */
	int open;
	int dispatching;
	fake_ticket tickets[FAKE_TICKETS];
	uint64_t last_ticket;
	cshim_completion completions[FAKE_QUEUE];
	unsigned first_completion, end_completion;
	cshim_error errors[FAKE_TURN];
	unsigned first_error, end_error;
	cshim_addr addresses[16];
	cshim_addr listed; /* the counter with a list */
	int purge_news;
} fake_core;

/* Of a golapi_ function that needs the lock: C must hold it, and the context must be open. */
fake_core *fake_enter(int context);
/* Something has changed that a thread may wait for. */
void fake_event(int context);
/* Adds 1 to a test's counter. */
void fake_note(uint32_t *what);

#endif
