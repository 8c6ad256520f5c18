/*
 * rejoin.h - what rejoin.c tries, and what its processes share.
 */
#ifndef REJOIN_H
#define REJOIN_H

#include <stdint.h>

enum { MOST_TASKS = 4, SIZE = 60000, CHECKED = 25 };

typedef struct plan {
	const char *name, *shm;
	int tasks, rounds;
	unsigned victims[3]; /* bits; one set after the other in turn; 0: one task at random */
	int resume_late;     /* survivors resume when the task is back, not before it is started */
	/* the lower half of the tasks and the upper half reach each other by UDP */
	int two_nodes;
	int polling;
	int again; /* kill it as often while it comes back */
	/* all are the persistent subsystem, which root may be: without collective calls, as here
	 * anyway */
	int persistent;
} plan;

static const plan plans[] = {
	{"two_tasks", "only", 2, 5, {2, 0, 0}, 0, 0, 0, 0, 0},
	{"two_tasks_resumed_late", "only", 2, 5, {1, 2, 1}, 1, 0, 0, 0, 0},
	{"three_tasks", "yes", 3, 6, {2, 1, 4}, 0, 0, 0, 0, 0},
	{"three_tasks_polling", "yes", 3, 5, {1, 2, 4}, 1, 0, 1, 0, 0},
	{"three_tasks_at_random", "only", 3, 12, {0, 0, 0}, 0, 0, 0, 0, 0},
	{"two_of_four", "only", 4, 4, {6, 9, 12}, 0, 0, 0, 0, 0},
	{"two_of_four_resumed_late", "yes", 4, 4, {3, 10, 6}, 1, 0, 0, 0, 0},
	{"three_of_four", "yes", 4, 3, {7, 14, 11}, 0, 0, 0, 0, 0},
	{"killed_while_coming_back", "only", 3, 4, {1, 4, 6}, 0, 0, 0, 3, 0},
	{"on_two_nodes", "yes", 4, 4, {2, 8, 1}, 0, 1, 0, 0, 0},
	{"persistent_subsystem", "only", 3, 4, {2, 5, 4}, 1, 0, 0, 1, 1},
	{"persistent_subsystem_on_two_nodes", "yes", 4, 3, {2, 9, 4}, 0, 1, 0, 0, 1},
	{"two_of_four_on_two_nodes", "yes", 4, 3, {6, 3, 12}, 1, 1, 0, 0, 0},
};
enum { PLANS = sizeof plans / sizeof plans[0] };

/* In a file that all processes map. */
typedef struct board {
	uint64_t sinks[MOST_TASKS], counters[MOST_TASKS], words[MOST_TASKS], handlers[MOST_TASKS];
	/* active messages from one to another, both as they are now */
	int sent[MOST_TASKS][MOST_TASKS];
	int incarnation[MOST_TASKS];  /* of the process that has entered its addresses */
	unsigned victims;             /* of this round */
	int least[MOST_TASKS];        /* the oldest generation of a task that may still send */
	int working;                  /* tasks in the traffic of all rounds so far */
	int killed, resumed, settled; /* rounds; tasks of all rounds; rounds */
	int checked[4];               /* tasks at the stations of the check, of all rounds */
} board;

/* The header of an active message. */
typedef struct label {
	int from, to;
} label;

#endif
