/*
 * calls.c - counts the instructions of uDAPL's calls over an adapter, outside of the adapter's own
 * libraries: a process is stepped from one mark to the next. Two endpoints of one process are
 * connected. Each row is the least of some rounds: nothing else came in between.
 *
 * usage: calls NAME ADDRESS (CALLS_TRACE=ROW writes the addresses of that row's instructions)
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../c/dat/programs/pair.h"

enum { REQUESTS = 16, ROUNDS = 8, ROWS = 20, RANGES = 64, TOO_MANY = 20000 };

static const char *const names[ROWS] = {
	"dat_ep_post_recv", "dat_ep_post_send", "dequeue of a send", "dequeue of a receive",
	"dequeue of nothing", "dat_ep_post_rdma_write", "dequeue of a write",
	"dat_ep_post_rdma_read", "dequeue of a read", "dat_ep_post_send, 1 KiB",
	"dequeue of a send of 1 KiB", "dat_ep_post_send, suppressed", "dat_ib_post_fetch_and_add",
	"dequeue of a fetch and add", "dat_ib_post_rdma_write_immed", "dequeue at the target",
	"dat_evd_wait, event there"};

/* A mark: the tracer counts between two of them. The row is in a register. */
static inline void mark(long row)
{
	__asm__ volatile("int3" : : "a"(row) : "memory");
}

static pair p;
static const DAT_DTO_COOKIE none;

#define MEASURED(row, call)            \
	do {                           \
		mark(row);             \
		DAT_RETURN r = (call); \
		mark(-1);              \
		MUST(r);               \
	} while (0)

static void connect_both(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(address)};
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	MUST(dat_psp_create(p.ia, 4711, p.requests, DAT_PSP_CONSUMER_FLAG, &psp));
	MUST(dat_ep_connect(p.a.ep, (DAT_IA_ADDRESS_PTR)&to, 4711, PAIR_WAIT, 0, NULL,
	                    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = pair_event(p.requests, DAT_CONNECTION_REQUEST_EVENT);
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p.b.ep, 0, NULL));
	pair_event(p.a.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
	pair_event(p.b.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void open_both(char *name, const char *address)
{
	DAT_REGION_DESCRIPTION region = {.for_va = p.memory};
	DAT_VLEN size;
	DAT_VADDR at;

	MUST(dat_ia_open(name, 8, &p.async, &p.ia));
	MUST(dat_pz_create(p.ia, &p.pz));
	MUST(dat_lmr_create(p.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof p.memory, p.pz,
	                    DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC, DAT_VA_TYPE_VA,
	                    &p.lmr, &p.local, &p.remote, &size, &at));
	MUST(dat_evd_create(p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p.requests));
	pair_side(&p, &p.a, REQUESTS);
	pair_side(&p, &p.b, REQUESTS);
	connect_both(address);
}

static void take(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		usleep(1000);
	CHECK(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
}

/* By then an event is there, and the service thread does not take the program for a program that has stopped
 * polling. */
static void soon(void)
{
	struct timespec now;
	int64_t until = 0;

	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!until)
			until = now.tv_sec * 1000000000LL + now.tv_nsec + 50000;
	} while (now.tv_sec * 1000000000LL + now.tv_nsec < until);
}

/* A call, and the dequeue of its event once that is there for sure. */
static void taken(int row, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	soon();
	MEASURED(row, dat_evd_dequeue(evd, &event));
	CHECK(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
}

static void round_of_all(void)
{
	DAT_LMR_TRIPLET eight = pair_local(&p, 0, 8), long_one = pair_local(&p, 4096, 1024);
	DAT_LMR_TRIPLET there = pair_local(&p, 8192, 2048);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 16384, 8);
	DAT_EVENT event;
	DAT_RETURN result;
	DAT_COUNT more;

	MEASURED(0, dat_ep_post_recv(p.b.ep, 1, &there, none, 0));
	dat_evd_dequeue(p.b.recv, &event); /* the program polls, though each row takes long */
	MEASURED(1, dat_ep_post_send(p.a.ep, 1, &eight, none, 0));
	taken(3, p.b.recv); /* first, as the adapter completes it first */
	taken(2, p.a.request);
	mark(4);
	result = dat_evd_dequeue(p.b.recv, &event);
	mark(-1);
	CHECK(result != DAT_SUCCESS);
	MEASURED(5, dat_ep_post_rdma_write(p.a.ep, 1, &eight, none, &remote, 0));
	taken(6, p.a.request);
	MEASURED(7, dat_ep_post_rdma_read(p.a.ep, 1, &eight, none, &remote, 0));
	taken(8, p.a.request);
	MUST(dat_ep_post_recv(p.b.ep, 1, &there, none, 0));
	MEASURED(9, dat_ep_post_send(p.a.ep, 1, &long_one, none, 0));
	taken(10, p.a.request);
	take(p.b.recv);
	MUST(dat_ep_post_recv(p.b.ep, 1, &there, none, 0));
	MEASURED(11, dat_ep_post_send(p.a.ep, 1, &eight, none, DAT_COMPLETION_SUPPRESS_FLAG));
	take(p.b.recv);
	MEASURED(12, dat_ib_post_fetch_and_add(p.a.ep, 1, &eight, none, &remote, 0));
	taken(13, p.a.request);
	MUST(dat_ep_post_recv(p.b.ep, 1, &there, none, 0));
	MEASURED(14, dat_ib_post_rdma_write_immed(p.a.ep, 1, &eight, none, &remote, 7, 0));
	take(p.a.request);
	taken(15, p.b.recv);
	MUST(dat_ep_post_rdma_write(p.a.ep, 1, &eight, none, &remote, 0));
	soon();
	MEASURED(16, dat_evd_wait(p.a.request, PAIR_WAIT, 1, &event, &more));
}

static void run(char *name, const char *address)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(3);
	open_both(name, address);
	for (int i = 0; i < ROUNDS; i++)
		round_of_all();
	_exit(0);
}

static long trace_row; /* CALLS_TRACE: the addresses of a row's instructions are written */

/* The code that does not count: the adapter's libraries. */
static struct range {
	uint64_t from, to;
} ranges[RANGES];
static int num_ranges;

static void find_ranges(pid_t child)
{
	char path[64], line[512], mode[8];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", child);
	f = fopen(path, "r");
	num_ranges = 0;
	while (f && fgets(line, sizeof line, f)) {
		unsigned long from, to;

		if (trace_row >= 0 && strchr(line, '/'))
			fprintf(stderr, "M %s", line);
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && mode[2] == 'x' &&
		    (strstr(line, "libibverbs.so") || strstr(line, "librdmacm.so")) &&
		    num_ranges < RANGES)
			ranges[num_ranges++] = (struct range){from, to};
	}
	if (f)
		fclose(f);
}

static int is_adapter(uint64_t at)
{
	for (int i = 0; i < num_ranges; i++)
		if (at >= ranges[i].from && at < ranges[i].to)
			return 1;
	return 0;
}

/* 1 if the next instruction counts: it is neither the adapter's nor that of a function which the
 * adapter calls. *inside: the stack pointer when the adapter was entered; 0: it is not. */
static int counts(const struct user_regs_struct *regs, uint64_t *inside)
{
	if (*inside && regs->rsp > *inside && !is_adapter(regs->rip))
		*inside = 0;
	if (!*inside && is_adapter(regs->rip))
		*inside = regs->rsp;
	return !*inside;
}

/* The child's other threads are stopped meanwhile: it takes a thousand times as long, so that each
 * call would meet the service thread's look. */
static pid_t others[64];
static int num_others;

static void stop_others(pid_t child)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;
	int status;

	snprintf(path, sizeof path, "/proc/%d/task", child);
	tasks = opendir(path);
	num_others = 0;
	while (tasks && (entry = readdir(tasks)) && num_others < 64) {
		pid_t thread = atoi(entry->d_name);

		if (thread > 0 && thread != child && !ptrace(PTRACE_SEIZE, thread, 0, 0) &&
		    !ptrace(PTRACE_INTERRUPT, thread, 0, 0) &&
		    waitpid(thread, &status, __WALL) == thread)
			others[num_others++] = thread;
	}
	if (tasks)
		closedir(tasks);
}

static void free_others(void)
{
	while (num_others > 0)
		ptrace(PTRACE_DETACH, others[--num_others], 0, 0);
}

static long best[ROWS];
/* Waits for the child's next step. A call that sleeps waits for one of the other threads. */
static int stepped(pid_t child, int *status)
{
	enum { LOOKS = 1000000 };
	pid_t found;

	for (int i = 0; (found = waitpid(child, status, WNOHANG)) == 0; i++)
		if (i == LOOKS)
			free_others();
	return found == child && WIFSTOPPED(*status);
}

/* Steps from a mark to the next; the signal that the child is to get. */
static void step_row(pid_t child, long row)
{
	struct user_regs_struct regs;
	siginfo_t info;
	uint64_t inside = 0;
	long n = 0;
	int status, deliver = 0;

	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, child, 0, (void *)(intptr_t)deliver) ||
		    !stepped(child, &status))
			return;
		deliver = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (ptrace(PTRACE_GETSIGINFO, child, 0, &info) == 0 && !deliver &&
		    info.si_code == SI_KERNEL)
			break; /* the next mark */
		ptrace(PTRACE_GETREGS, child, 0, &regs);
		if (!counts(&regs, &inside))
			continue;
		if (++n == TOO_MANY) /* it waits for one of them */
			free_others();
		if (row == trace_row)
			fprintf(stderr, "T %llx\n", regs.rip);
	}
	if (!best[row] || n < best[row])
		best[row] = n;
}

int main(int argc, char **argv)
{
	struct user_regs_struct regs;
	int status;
	pid_t child;

	if (argc != 3)
		return 2;
	trace_row = getenv("CALLS_TRACE") ? atol(getenv("CALLS_TRACE")) : -1;
	child = fork();
	if (!child)
		run(argv[1], argv[2]);
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		int deliver = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);

		if (!deliver) {
			ptrace(PTRACE_GETREGS, child, 0, &regs);
			find_ranges(child);
			stop_others(child);
			step_row(child, (long)regs.rax);
			free_others();
		}
		ptrace(PTRACE_CONT, child, 0, (void *)(intptr_t)deliver);
	}
	for (int i = 0; i < ROWS; i++)
		if (names[i])
			printf("%s\t%ld\n", names[i], best[i]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
