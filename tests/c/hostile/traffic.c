/*
 * traffic.c - a job of two or more tasks that the tests of tests/hostile attack.
 *
 * usage: traffic check|small|large SECONDS
 *
 * check   each task writes a pattern into the next one's memory, round by round, with puts and
 *         active messages, and gets another; each looks whether it is as it must be, and whether
 *         anything beside it has changed
 * small   task 0 keeps 64 puts of 8 bytes under way; large: 8 of 64 KiB
 *
 * TIMEOUT is 10 seconds. At the end each task prints `task T rounds R ghosts G duplicates D
 * retransmitted X`; task 0 of small and large also `rate N`, puts a second.
 */
#include <arpa/inet.h>
#include <lapi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES 100000
#define MARGIN 65536
#define MOST 8 /* tasks */

#define CHECK(call)                                                                           \
	do {                                                                                  \
		int code_ = (call);                                                           \
		if (code_ != LAPI_SUCCESS) {                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, code_); \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static lapi_handle_t hndl;
static int task, tasks;
static struct {
	unsigned char before[MARGIN], data[BYTES], after[MARGIN];
} put_here, sent_here;
static unsigned char source[BYTES], got[BYTES];
static lapi_cntr_t arrived;
static int rounds;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *header_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*completion = NULL;
	*info = NULL;
	return sent_here.data;
}

static unsigned char pattern(int from, int round, int i)
{
	return (unsigned char)(i * 7 + round * 31 + from * 101 + (i >> 8));
}

static void wrong(const char *what, int i)
{
	fprintf(stderr, "task %d, round %d: %s is wrong at byte %d\n", task, rounds, what, i);
	exit(1);
}

static void compare(const char *what, const unsigned char *b, int from, int n)
{
	int i;
	for (i = 0; i < n; i++)
		if (b[i] != pattern(from, rounds, i))
			wrong(what, i);
}

static void untouched(const char *what, const unsigned char *b)
{
	int i;
	for (i = 0; i < MARGIN; i++)
		if (b[i] != 0xa5)
			wrong(what, i - MARGIN);
}

/* One round: a put, an active message and a get of each task to the next. All is checked before
 * the next round begins. */
static void check_round(void **puts, void **handlers, void **sources, void **counters)
{
	static const int sizes[] = {8, 100, 4000, BYTES};
	int n = sizes[rounds % 4], i;
	int to = (task + 1) % tasks, from = (task + tasks - 1) % tasks;
	lapi_cntr_t done;
	for (i = 0; i < n; i++)
		source[i] = pattern(task, rounds, i);
	CHECK(LAPI_Setcntr(hndl, &done, 0));
	CHECK(LAPI_Gfence(hndl));
	CHECK(LAPI_Put(hndl, (uint)to, (ulong)n, puts[to], source, counters[to], NULL, &done));
	CHECK(LAPI_Amsend(hndl, (uint)to, handlers[to], NULL, 0, source, (ulong)n, counters[to],
	                  NULL, &done));
	CHECK(LAPI_Get(hndl, (uint)to, (ulong)n, sources[to], got, NULL, &done));
	CHECK(LAPI_Waitcntr(hndl, &done, 3, NULL));
	CHECK(LAPI_Waitcntr(hndl, &arrived, 2, NULL));
	compare("put", put_here.data, from, n);
	compare("active message", sent_here.data, from, n);
	compare("get", got, to, n);
	untouched("before", put_here.before), untouched("after", put_here.after);
	untouched("before", sent_here.before), untouched("after", sent_here.after);
	CHECK(LAPI_Gfence(hndl));
}

/* Task 0 keeps window puts of n bytes under way until the time is over. */
static void flow(double seconds, int window, int n, void **puts)
{
	double begin = now();
	lapi_cntr_t done;
	long sent = 0;
	int i, seen;
	CHECK(LAPI_Setcntr(hndl, &done, 0));
	for (i = 0; i < window; i++, sent++)
		CHECK(LAPI_Put(hndl, 1, (ulong)n, puts[1], source, NULL, NULL, &done));
	while (now() - begin < seconds) {
		CHECK(LAPI_Waitcntr(hndl, &done, window / 2, &seen));
		for (i = 0; i < window / 2; i++, sent++)
			CHECK(LAPI_Put(hndl, 1, (ulong)n, puts[1], source, NULL, NULL, &done));
	}
	CHECK(LAPI_Waitcntr(hndl, &done, window, NULL));
	printf("rate %.0f\n", (double)sent / (now() - begin));
}

/* All tasks go on until task 0's clock says that it is over; and, if TRAFFIC_UNTIL names a file,
 * until that is there. */
static int go_on(double end)
{
	const char *until = getenv("TRAFFIC_UNTIL");
	void *votes[MOST];
	CHECK(LAPI_Address_init(
		hndl,
		(void *)(size_t)(task == 0 && now() >= end && (!until || access(until, F_OK) == 0)),
		votes));
	return votes[0] == NULL;
}

/* Started by hand, the tasks learn from TRAFFIC_PORTS, PORT,PORT, where they are. */
static int by_hand(lapi_udp_t *list)
{
	const char *ports = getenv("TRAFFIC_PORTS");
	unsigned p[2];
	int i;
	if (!ports || sscanf(ports, "%u,%u", &p[0], &p[1]) != 2)
		return 0;
	for (i = 0; i < 2; i++) {
		list[i].ip_addr = htonl(INADDR_LOOPBACK);
		list[i].port_no = htons((in_port_t)p[i]);
	}
	return 1;
}

int main(int argc, char **argv)
{
	void *puts[MOST], *handlers[MOST], *sources[MOST], *counters[MOST];
	lapi_statistics_t s;
	lapi_info_t info;
	lapi_extend_t extension;
	lapi_udp_t list[2];
	double seconds;
	if (argc != 3 || (seconds = atof(argv[2])) <= 0) {
		fprintf(stderr, "usage: traffic check|small|large SECONDS\n");
		return 2;
	}
	memset(&info, 0, sizeof info);
	if (by_hand(list)) {
		memset(&extension, 0, sizeof extension);
		extension.add_udp_addrs = list;
		extension.num_udp_addr = 2;
		info.add_info = &extension;
	}
	CHECK(LAPI_Init(&hndl, &info));
	CHECK(LAPI_Senv(hndl, TIMEOUT, 10));
	CHECK(LAPI_Qenv(hndl, TASK_ID, &task));
	CHECK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
	if (tasks < 2 || tasks > MOST) {
		fprintf(stderr, "this program needs 2 to %d tasks\n", MOST);
		return 2;
	}
	memset(&put_here, 0xa5, sizeof put_here);
	memset(&sent_here, 0xa5, sizeof sent_here);
	CHECK(LAPI_Setcntr(hndl, &arrived, 0));
	CHECK(LAPI_Address_init(hndl, put_here.data, puts));
	CHECK(LAPI_Address_init(hndl, (void *)header_handler, handlers));
	CHECK(LAPI_Address_init(hndl, source, sources));
	CHECK(LAPI_Address_init(hndl, &arrived, counters));
	printf("task %d ready\n", task);
	fflush(stdout);
	if (strcmp(argv[1], "check") == 0) {
		double end = now() + seconds;
		while (go_on(end)) {
			check_round(puts, handlers, sources, counters);
			rounds++;
		}
	} else if (task == 0) {
		flow(seconds, argv[1][0] == 's' ? 64 : 8, argv[1][0] == 's' ? 8 : 65536, puts);
	}
	CHECK(LAPI_Gfence(hndl));
	CHECK(LAPI_Qenv(hndl, QUERY_STATISTICS, (int *)&s));
	printf("task %d rounds %d ghosts %lld duplicates %lld retransmitted %lld\n", task, rounds,
	       (long long)s.Tot_gho_pkt_cnt, (long long)s.Tot_dup_pkt_cnt,
	       (long long)s.Tot_retrans_pkt_cnt);
	CHECK(LAPI_Gfence(hndl));
	CHECK(LAPI_Term(hndl));
	return 0;
}
