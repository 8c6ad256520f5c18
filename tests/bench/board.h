/*
 * board.h - shared by all benchmark programs: a page of memory common to its tasks, through which
 * they meet outside LAPI; the clock; pinning; the check of the machine's state; the rows that the
 * harness reads.
 *
 * The board is beside the library under test on purpose: agreeing on an iteration count or checking
 * the state of the machine must neither use nor disturb what is measured.
 */
#ifndef BENCH_BOARD_H
#define BENCH_BOARD_H

#include <stddef.h>
#include <stdint.h>

#define BOARD_MAX_TASKS 128
#define BOARD_MAX_BATCHES 64

/* One cache line that one task writes and another polls. */
typedef struct board_line {
	volatile uint64_t value;
	/* 128: adjacent-line prefetch would couple neighbours of 64 */
	char pad[128 - sizeof(uint64_t)];
} board_line;

typedef struct board {
	/* first, the harness reads it: ns of processor time that the tasks used, added when each
	 * ends */
	board_line cpu;
	board_line arrived;    /* tasks that have reached the current barrier */
	board_line generation; /* barriers completed */
	board_line state[2];   /* the two lines of the state check */
	/* values that one task publishes before a barrier and others read after it */
	board_line word[4];
	board_line count; /* tasks that are through, or messages served: the test's own */
	struct {
		volatile uint64_t begin, end; /* clock_ns */
		volatile double value;
	} task[BOARD_MAX_TASKS];
	volatile double sample[4096]; /* samples that one task writes and another prints */
} board;

/* Adds this process's processor time to the board: the last thing a task does. */
void board_account(board *b);

/* Called in a waiting loop, so that the tasks waited for can go on. NULL: nothing to drive. */
typedef void board_progress(void *arg);

/* Maps the board: of the file at path, which the harness made and which all tasks name; NULL:
 * anonymous memory that children inherit. Ends the program with a message if it cannot. */
board *board_open(const char *path);

/* Returns when all n tasks have called it. Waits by polling with progress; sleeps between polls
 * once it has waited for long, so that tasks that share a core with others let them work. */
void board_barrier(board *b, int n, board_progress *progress, void *arg);

/* State of the machine: one-way time in ns of a ping-pong over two cache lines, median of five
 * short batches. Tasks with role 0 and 1 call it together, each on its own core; both get the
 * result. */
double board_state(board *b, int role);

/* Nanoseconds of the monotonic clock; comparable between processes of one machine. */
uint64_t clock_ns(void);

/* Keeps the calling thread on the index-th core that the process may use, modulo their number;
 * children and threads made afterwards inherit it. */
void pin_to_core(int index);
/* How many cores the process may use. */
int usable_cores(void);

/* For tests whose tasks compute. At a real-time priority inherited from the caller they would keep
 * all other threads from running, the library's service thread included, until the harness ends the
 * trial. */
void ordinary_priority(void);

/* Between two polls of memory that another core writes: without it, speculated loads of the polled
 * line have to be flushed when it changes. */
void poll_pause(void);

/* Median and p-th fraction (0 to 1) of n values; both sort v. */
double median(double *v, int n);
double fraction(double *v, int n, double p);

/* How often this thread was preempted so far. */
long preemptions(void);

/* A measurement is a row of batches. */
#define BATCHES 30
typedef struct batches {
	double ns[BATCHES]; /* of one iteration */
	int preempted[BATCHES];
	int count;
	uint64_t start;
	long preemptions_before;
} batches;

/* Around each batch of n iterations. */
void batch_begin(batches *s);
void batch_end(batches *s, uint64_t n);
/* Median of the batches in which this thread kept its core; of all, if those are less than a sixth.
 * ns of one iteration. */
double batches_median(const batches *s);
/* In how many batches the thread lost its core. */
long batches_preempted(const batches *s);

/* Prints one result for the harness: test and op name it, size in bytes (0 if it has none). before
 * and after are the results of board_state around it (0: not measured), preempted is how often its
 * thread lost the core meanwhile. */
void print_row(const char *test, const char *op, size_t size, double value, const char *unit,
               double before, double after, long preempted);

/* Ends the program with a message. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Command line. Sizes are bytes, ascending. */
typedef struct bench_options {
	const char *test;
	const char *board_path;
	size_t sizes[32];
	int num_sizes;
	double seconds; /* of measuring, for each point */
	int tasks;      /* processes, where the program makes them itself */
	/* of the buffers of compared programs from a page boundary, bytes; malloc's large blocks
	 * have 16 */
	size_t offset;
	const char *ops; /* of the test, which it shall measure, separated by commas; NULL: all */
	size_t datagram; /* largest datagram of the bare UDP tests, bytes */
} bench_options;

/* Reads "test --board=f --sizes=8,64 --seconds=0.02 --tasks=2 --datagram=65507 --ops=put,get
 * --offset=16"; ends the program on anything else. */
void parse_options(int argc, char **argv, bench_options *o);

/* How many iterations fill one batch, when count iterations took ns nanoseconds. At least 1. */
uint64_t batch_iterations(const bench_options *o, double ns, uint64_t count);

#endif
