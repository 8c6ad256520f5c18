/*
 * storm.h - the kill storm: declarations that the parts of its program share. Each task of a job
 * does random operations; some tasks end in a random way at a random moment, and the others check
 * the errors that they get. One seed gives the same tasks, ends and operations again, though not
 * the same order of events.
 */
#ifndef STORM_H
#define STORM_H

#include <lapi.h>
#include <stdint.h>

enum {
	STORM_TASKS = 8,         /* at most */
	STORM_OPS = 96,          /* operations under way at once */
	STORM_LONGEST = 300000,  /* bytes of one */
	STORM_AREA = 1 << 19,    /* bytes that each task may write in another's memory */
	STORM_MEETING = 180,     /* seconds that LAPI_Init may wait for tasks that do not come */
	STORM_CONNECTIVITY = 434 /* LAPI_ERR_NO_CONNECTIVITY, as the board has it */
};

/* A file that all tasks map, on one node or on several of one kernel. */
typedef struct storm_board {
	int ready[STORM_TASKS]; /* LAPI_Init is over there */
	int over[STORM_TASKS];  /* the task is about to end, in its own way */
	int done[STORM_TASKS];  /* it has no operations under way any more, and issues none */
	int fenced[STORM_TASKS]; /* its last fences are over: others may leave */
	uint64_t area[STORM_TASKS], handler[STORM_TASKS]; /* valid before LAPI_Init begins */
} storm_board;

#define STORM_RETURN 1.0 /* seconds that a call of a task without a processor may take to return */

typedef struct storm_task {
	lapi_handle_t handle;
	int id, tasks;
	uint64_t random; /* of this task */
	storm_board *board;
	char *area;             /* others write here, each its part; also what they read */
	int lapi_is_up;         /* between LAPI_Init and LAPI_Term */
	int told[STORM_TASKS];  /* calls of the error handler about each task */
	double told_at[STORM_TASKS];
	int fences;             /* LAPI_Fence and LAPI_Gfence that have returned */
} storm_task;

extern storm_task storm;

/* storm.c */

double storm_now(void);
/* Logs an error: the run is bad. The task goes on. */
void storm_bad(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A number from 0 to below - 1. */
unsigned storm_random(uint64_t *state, unsigned below);
/* 1 if the seed's plan ends this task, whatever its moment. */
int storm_is_doomed(int task);
int storm_is_over(int task);
/* Bracket a call that must return in bounded time; a thread watches that. */
void storm_enter(const char *call, int about);
void storm_leave(void);

/* operations.c */

/* The header handler of this task. */
uint64_t operations_handler(void);
/* Begins a random operation with a random other task. */
void operation_begin(void);
/* Notes the operations that are over; returns the number of the others. */
int operations_look(void);
/* Waits for a random operation; if its target is not to end, in a random way. */
void operation_wait(void);
/* Checks the result of a fence. number: the fences that had returned before it began. */
void operations_fenced(int number, int code, double began, double ended);
/* Every operation is over: checks the outcome of each. */
void operations_judge(void);
/* Logs the operations that are not over. */
void operations_complain(void);

#endif
