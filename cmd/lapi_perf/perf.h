/* perf.h - what the files of lapi_perf share: options, a task and its memory, rows. */
#ifndef LAPI_PERF_H
#define LAPI_PERF_H

#include <lapi.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A LAPI call that must succeed: otherwise the task ends with its text and status 1. */
#define MUST(call) must((call), #call)
void must(int code, const char *call);
/* Ends the task with a message and status 1. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- options ---- */

enum { SIZES = 40 };

typedef struct options {
	unsigned ops; /* bit i: operations[i] is wanted */
	size_t sizes[SIZES];
	int num_sizes;
	double seconds; /* of measuring, for each row */
	int csv, plot, pairs;
} options;

/* Reads the command line. Ends the program: with status 0 after -h and -V, 2 after bad usage. */
void read_options(int argc, char **argv, options *o);

/* ---- the tasks of a pair ---- */

/* Orders: of the origin to its peer, of task 0 to all. */
typedef enum duty {
	PREPARE,   /* fill the buffers for a row */
	ANSWER,    /* answer puts or active messages */
	LINES,     /* answer messages through the raw shared memory */
	DATAGRAMS, /* answer raw datagrams */
	GFENCES,   /* call LAPI_Gfence */
	CHECK,     /* look at the buffer: reply is the first wrong byte or -1 */
	WORD,      /* reply is the word that LAPI_Rmw changes */
	OPEN_RAW,  /* open the raw limits: reply is RAW_LINES and RAW_UDP, or'd */
	ROW,       /* measure a row as the origin of another pair */
	STOP
} duty;

/* LAPI_Put carries it, from and to memory of this type. */
typedef struct order {
	duty what;
	int op; /* index into operations */
	uint64_t size, count;
} order;

/* Each task's own description. */
typedef struct hello {
	char boot[40]; /* the running kernel's own name: equal on one host */
	cpu_set_t processors;
	int64_t pid;
	int memory;              /* descriptor of the raw shared memory, -1: none */
	struct sockaddr_in host; /* of the raw UDP socket, on a network; port 0: none */
	uint64_t magic;          /* a number of this process alone */
	void *magic_at;
	char *in, *out; /* buffers of the largest size */
	void *handler;  /* the header handler */
} hello;

/* One row. Times are seconds for one operation, one way where both sides do the same. */
typedef struct row {
	int op;
	uint64_t size;
	double median, least, p90, rate; /* rate: operations per second, all pairs together */
	int link;                        /* index into link_names */
	int way;                         /* index into way_names */
	int limit;                       /* which raw limit: index into limit_names */
	double raw;                      /* seconds, 0: none */
	int runnable;                    /* by /proc/loadavg */
} row;

enum { LINK_UNKNOWN, LINK_SELF, LINK_SHM, LINK_UDP, LINK_RDMA };
enum { WAY_UNKNOWN, WAY_SLOT, WAY_SINGLE, WAY_CHUNKS, WAY_DATAGRAMS, WAY_ADAPTER };
enum { LIMIT_NONE, LIMIT_LINES, LIMIT_COPY, LIMIT_UDP };
extern const char *const link_names[], *const way_names[], *const limit_names[];

/* Other tasks write into it, at the address that LAPI_Address_init exchanges. */
typedef struct shared {
	lapi_cntr_t ordered, arrived, replied, finished;
	order todo;
	int64_t reply;
	hello own, peer;
	int word; /* of rmw */
	row result[]; /* task 0: of each origin */
} shared;

typedef struct task {
	const options *o;
	lapi_handle_t handle;
	int id, num_tasks, pairs;
	int peer; /* the other task of the pair, -1: none */
	shared *mine;
	shared **of; /* of each task */
	lapi_cntr_t completed;
	int fetched;
	int opened;
	int raw; /* RAW_LINES, RAW_UDP, RAW_COPY, or'd: limits that can be measured */
} task;

/* Waits until a counter has grown by count, and takes that off again. */
void await(task *t, lapi_cntr_t *c, int count);
/* LAPI_Put, until it is complete. */
void write_to(task *t, int target, void *to, void *from, size_t n, lapi_cntr_t *counter);
/* Gives the target an order. */
void tell(task *t, int target, duty what, int op, uint64_t size, uint64_t count);
/* The same, and waits for the reply. */
int64_t ask(task *t, int target, duty what, int op, uint64_t size, uint64_t count);
/* Does what others order until STOP. */
void serve(task *t);

/* ---- operations ---- */

typedef struct operation {
	const char *name;
	int sized;   /* it has a row for each size */
	int one_way; /* its time is half of one there and back */
	int trips;   /* of a cache line, for the raw limit: 1 one way, 2 there and back */
	/* Tells other tasks what they do meanwhile; NULL: nothing. */
	void (*announce)(task *t, int op, uint64_t size, uint64_t count);
	void (*once)(task *t, int op, uint64_t size, uint64_t count);   /* one after the other */
	void (*stream)(task *t, int op, uint64_t size, uint64_t count); /* many under way */
} operation;

enum { PUT, GET, AM, RMW, FENCE, GFENCE, OPERATIONS };
extern const operation operations[OPERATIONS];

void *header_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                     compl_hndlr_t **completion, void **info);
/* The other side of put and am one after the other. */
void answer(task *t, int op, uint64_t size, uint64_t count);
void prepare(task *t, uint64_t size);
/* First byte of the task's buffer that the other task did not write, or -1. */
int64_t wrong_byte(const task *t, uint64_t size);

/* ---- measuring ---- */

double now(void);
/* The origin: learns about the other task, says about itself, and opens the raw limits. Once. */
void open_pair(task *t);

/* What LAPI_Qenv counted during operations. */
typedef struct counted {
	int64_t network, memory, self; /* packets */
	uint64_t operations;
} counted;

/* Adds what was counted so far, times sign. */
void count_packets(task *t, counted *c, int sign);
enum { LONGEST_SLOT = 512 }; /* bytes that go with their slot of shared memory */
/* Over which link they went, and how: indices into link_names and way_names. */
int link_of(task *t, const counted *c);
int way_of(const row *r, const counted *c);

void measure_row(task *t, int op, uint64_t size, row *r);

/* ---- raw limits, of the pair ---- */

enum { RAW_LINES = 1, RAW_UDP = 2, RAW_COPY = 4, RAW_LINE_MAX = 4096, RAW_UDP_MAX = 32768 };

/* Buffer: of the largest size, for what raw limits move. */
void raw_hello(hello *own, char *buffer);
/* Both sides, when mine->peer is known: what can be measured. */
int raw_open(task *t);
/* Both sides: count messages there and back. 0: the peer did not answer in time. */
int raw_lines(task *t, uint64_t size, uint64_t count);
int raw_datagrams(task *t, uint64_t size, uint64_t count);
/* Copies size bytes from the peer, count times. */
int raw_copies(task *t, uint64_t size, uint64_t count);

/* ---- report ---- */

void print_head(const options *o, const task *t);
void print_row(const options *o, const row *r, int pairs);
void print_plot(const row *rows, int n);
/* Lines about what disturbed the machine, to standard error. */
void print_warnings(task *t, const row *rows, int n);
int is_disturbed(const row *r);

#endif
