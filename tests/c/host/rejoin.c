/*
 * rejoin.c - tasks of a job started by hand on one node are killed with SIGKILL in the midst of
 * traffic and started again with the same MP_CHILD. The others purge and resume them (guide,
 * Chapter 19), before or after they are back; then all work with all again, over shared memory, or
 * over UDP to the tasks that are said to be on another node. Every active message names the
 * generation of its sender and of its target, and is counted: no message of a dead generation
 * arrives, none between survivors is lost. This program starts the tasks, which are itself with the
 * argument "task".
 */
#define _GNU_SOURCE
#include "rejoin.h"
#include "by_hand.h"
#include <glob.h>
#include <time.h>

static board *common;
static const plan *now;
static lapi_handle_t handle;
/* incarnation: this task's generation; seen: of each task, the oldest generation that may send */
static int task, incarnation, seen[MOST_TASKS];
static int sent[MOST_TASKS], received[MOST_TASKS], outstanding[MOST_TASKS];
static unsigned char source[SIZE], sink[MOST_TASKS][SIZE];
static int word, one = 1, previous;
static long long got;
static lapi_cntr_t completed[MOST_TASKS], arrived;

static int is_victim(int t)
{
	return (__atomic_load_n(&common->victims, __ATOMIC_ACQUIRE) >> t & 1) != 0;
}

/* The error handler may report only victims as gone. */
static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h, (void)type, (void)own;
	if (*code == LAPI_ERR_NO_CONNECTIVITY && is_victim(*src))
		return;
	fprintf(stderr, "task %d: error handler: code %d, task %d\n", task, *code, *src);
	host_case_failures++;
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **handler, void **info)
{
	int src = (int)((lapi_return_info_t *)(void *)msg_len)->src;
	const label *l = (const label *)uhdr;
	(void)h, (void)uhdr_len;
	HOST_CHECK(l->from >= seen[src]);
	HOST_CHECK(l->to == incarnation);
	__atomic_add_fetch(&received[src], 1, __ATOMIC_RELAXED);
	*handler = NULL;
	*info = NULL;
	return sink[src];
}

static void enter_addresses(void)
{
	common->sinks[task] = (uintptr_t)sink;
	common->counters[task] = (uintptr_t)&arrived;
	common->words[task] = (uintptr_t)&word;
	common->handlers[task] = (uintptr_t)take;
	__atomic_store_n(&common->incarnation[task], incarnation, __ATOMIC_RELEASE);
}

/* Returns whether the operation began: to a victim it may fail. */
static int begun(int rc, int t)
{
	if (rc == LAPI_ERR_NO_CONNECTIVITY && is_victim(t))
		return 0;
	HOST_OK(rc);
	return rc == LAPI_SUCCESS;
}

/* A put, an active message, a get and a read-modify-write. Its active message's length changes from
 * one to the next. */
static void work(int t)
{
	static const ulong lengths[] = {0, 300, 5000, 40000};
	label l = {incarnation, value_of(&common->incarnation[t])};
	lapi_cntr_t *counter = (lapi_cntr_t *)there(common->counters[t]);
	char *place = (char *)there(common->sinks[t]) + (size_t)task * SIZE;
	ulong length = lengths[sent[t] % 4];
	outstanding[t] += begun(LAPI_Put(handle, (uint)t, (ulong)(sent[t] * 997 % SIZE), place,
	                                 source, counter, NULL, &completed[t]),
	                        t);
	if (begun(LAPI_Amsend(handle, (uint)t, there(common->handlers[t]), &l, sizeof l, source,
	                      length, counter, NULL, &completed[t]),
	          t)) {
		outstanding[t]++;
		sent[t]++;
	}
	/* Not to source: the data that it gets may be older than the put, as nothing orders the
	 * two. */
	outstanding[t] +=
		begun(LAPI_Get(handle, (uint)t, sizeof got, place, &got, NULL, &completed[t]), t);
	outstanding[t] +=
		begun(LAPI_Rmw(handle, FETCH_AND_ADD, (uint)t, (int *)there(common->words[t]), &one,
	                       &previous, &completed[t]),
	              t);
}

static int is_idle(int t)
{
	int value = 0;
	HOST_OK(LAPI_Getcntr(handle, &completed[t], &value));
	HOST_CHECK(value <= outstanding[t]);
	if (value < outstanding[t])
		return 0;
	outstanding[t] = 0;
	HOST_OK(LAPI_Setcntr(handle, &completed[t], 0));
	return 1;
}

static void traffic(int round)
{
	int t;
	add(&common->working);
	while (value_of(&common->killed) <= round)
		for (t = 0; t < now->tasks; t++) {
			if (t != task && is_idle(t))
				work(t);
			LAPI_Probe(handle);
		}
}

/* Purges a task and resumes it; it is, or will be, of another generation. */
static void purge(int t)
{
	HOST_OK(LAPI_Purge_totask(handle, (uint)t));
	HOST_CODE(LAPI_ERR_TGT_PURGED, LAPI_Put(handle, (uint)t, 0, NULL, NULL, NULL, NULL, NULL));
	HOST_OK(LAPI_Setcntr(handle, &completed[t], 0));
	outstanding[t] = sent[t] = received[t] = 0;
}

static void survive(int round)
{
	int t;
	for (t = 0; t < now->tasks; t++)
		if (t != task && is_victim(t)) {
			purge(t); /* until then what its last process has sent may arrive */
			seen[t] = value_of(&common->least[t]);
			if (!now->resume_late)
				HOST_OK(LAPI_Resume_totask(handle, (uint)t));
		}
	add(&common->resumed);
	UNTIL(handle, value_of(&common->settled) > round);
	for (t = 0; now->resume_late && t < now->tasks; t++)
		if (t != task && is_victim(t))
			HOST_OK(LAPI_Resume_totask(handle, (uint)t));
}

/* A task that was killed again while it came back has to be resumed again. */
static void reach(int t)
{
	int value = 0, rc;
	while (value == 0) {
		rc = LAPI_Put(handle, (uint)t, 0, NULL, NULL, NULL, NULL, &completed[t]);
		if (rc == LAPI_ERR_NO_CONNECTIVITY && now->again && is_victim(t)) {
			purge(t);
			HOST_OK(LAPI_Resume_totask(handle, (uint)t));
			continue;
		}
		HOST_OK(rc);
		if (rc != LAPI_SUCCESS)
			return;
		UNTIL(handle, (LAPI_Getcntr(handle, &completed[t], &value), value != 0) ||
		                      (now->again && is_victim(t) &&
		                       LAPI_Put(handle, (uint)t, 0, NULL, NULL, NULL, NULL, NULL) ==
		                               LAPI_ERR_NO_CONNECTIVITY));
	}
	HOST_OK(LAPI_Setcntr(handle, &completed[t], 0));
}

static void station(int number, int round)
{
	add(&common->checked[number]);
	UNTIL(handle, value_of(&common->checked[number]) >= now->tasks * (round + 1));
}

/* All tasks work with all, and count. */
static void check(int round)
{
	int t, i, before, value;
	for (t = 0; t < now->tasks; t++)
		if (t != task) {
			UNTIL(handle,
			      is_idle(t)); /* of the traffic among survivors nothing is lost */
			reach(t);
		}
	station(0, round);
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	before = word;
	memset(sink, 0, sizeof sink);
	station(1, round);
	for (i = 0; i < CHECKED; i++)
		for (t = 0; t < now->tasks; t++)
			if (t != task)
				work(t);
	for (t = 0; t < now->tasks; t++)
		if (t != task) {
			HOST_OK(LAPI_Waitcntr(handle, &completed[t], outstanding[t], NULL));
			HOST_CHECK(outstanding[t] == 4 * CHECKED);
			outstanding[t] = 0;
			common->sent[task][t] = sent[t];
		}
	HOST_OK(LAPI_Fence(handle));
	station(2, round);
	HOST_OK(LAPI_Getcntr(handle, &arrived, &value));
	HOST_CHECK(value == 2 * CHECKED * (now->tasks - 1));
	HOST_CHECK(word - before == CHECKED * (now->tasks - 1));
	for (t = 0; t < now->tasks; t++)
		if (t != task) {
			HOST_CHECK(received[t] == common->sent[t][task]);
			HOST_CHECK(memcmp(sink[t], source, 40000) == 0);
		}
	station(3, round);
}

static int initialize(const char *ports)
{
	static lapi_udp_t addresses[MOST_TASKS];
	lapi_info_t info;
	lapi_extend_t extend;
	read_ports(ports, addresses, now->tasks);
	bzero(&info, sizeof info);
	bzero(&extend, sizeof extend);
	info.err_hndlr = hear;
	info.lib_vers = LAST_LIB;
	info.add_info = &extend;
	extend.add_udp_addrs = addresses;
	extend.num_udp_addr = (uint)now->tasks;
	if (now->persistent)
		info.protocol = (lapi_dev_t)LAPI_PSS_GPFS;
	HOST_OK(LAPI_Init(&handle, &info));
	if (host_case_failures == 0 && now->polling)
		HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, 0));
	return host_case_failures == 0;
}

/* How many segments of shared memory this process maps. */
static int segments(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;
	while (f && fgets(line, sizeof line, f))
		n += strstr(line, "memfd:lapi-shm") != NULL;
	if (f)
		fclose(f);
	return n;
}

/* argv: task FILE PORTS PLAN ROUND GENERATION; ROUND is the first one, or the round in which the
 * task comes back. */
static int be_task(char **argv)
{
	int round = atoi(argv[5]), i;
	now = &plans[atoi(argv[4])];
	incarnation = atoi(argv[6]);
	common = map_board(argv[2], sizeof *common);
	if (!common)
		return 2;
	alarm(300);
	task = atoi(getenv("MP_CHILD"));
	for (i = 0; i < SIZE; i++)
		source[i] = (unsigned char)(i * 7 + 3);
	for (i = 0; i < MOST_TASKS; i++)
		completed[i].cntr = 0;
	if (!initialize(argv[3]))
		return 1;
	for (i = 0; i < now->tasks; i++)
		HOST_OK(LAPI_Setcntr(handle, &completed[i], 0));
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	enter_addresses();
	if (incarnation > 1) {
		UNTIL(handle, value_of(&common->settled) > round);
		check(round++);
	} else
		for (i = 0; i < now->tasks; i++)
			UNTIL(handle, value_of(&common->incarnation[i]) > 0);
	for (; round < now->rounds && host_case_failures == 0; round++) {
		traffic(round);
		survive(round);
		check(round);
	}
	HOST_CHECK(segments() == (now->two_nodes ? now->tasks / 2 : now->tasks));
	HOST_OK(LAPI_Term(handle));
	HOST_CHECK(segments() == 0);
	return host_case_failures != 0;
}

/* ---- the starter ---- */

static char file[] = HOST_FOLDER "/rejoin-XXXXXX", ports[128];
static pid_t pids[MOST_TASKS];

static void start_task(int id, int round, int which)
{
	char plan_text[16], round_text[16], which_text[16];
	unsigned lower = (1u << now->tasks / 2) - 1;
	fflush(NULL);
	pids[id] = fork();
	if (pids[id] != 0)
		return;
	be_by_hand(id, now->tasks, now->shm,
	           !now->two_nodes   ? ~0u
	           : lower >> id & 1 ? lower
	                             : ~lower);
	snprintf(plan_text, sizeof plan_text, "%d", (int)(now - plans));
	snprintf(round_text, sizeof round_text, "%d", round);
	snprintf(which_text, sizeof which_text, "%d", which);
	execl("/proc/self/exe", "rejoin", "task", file, ports, plan_text, round_text, which_text,
	      (char *)NULL);
	_exit(127);
}

static void doze(int most_us)
{
	usleep((useconds_t)(rand() % most_us));
}

static void kill_task(int id)
{
	int status = 0;
	kill(pids[id], SIGKILL);
	HOST_CHECK(waitpid(pids[id], &status, 0) == pids[id]);
	HOST_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Kills the victims of a round and starts them again. */
static int one_round(int round, int *which)
{
	unsigned victims = now->victims[round % 3];
	int t, i, survivors = 0;
	if (victims == 0)
		victims = 1u << rand() % now->tasks;
	if (!await(&common->working, now->tasks * (round + 1)))
		return 0;
	doze(20000);
	__atomic_store_n(&common->victims, victims, __ATOMIC_RELEASE);
	for (t = 0; t < now->tasks; t++)
		if (victims >> t & 1) {
			kill_task(t);
			common->least[t] = which[t] + 1;
		} else
			survivors++;
	add(&common->killed);
	if (rand() % 2 && !await(&common->resumed, survivors))
		return 0;
	for (i = 0; i <= now->again; i++) {
		for (t = 0; t < now->tasks; t++)
			if (victims >> t & 1)
				start_task(t, round, ++which[t]);
		if (i == now->again)
			break;
		doze(60000);
		for (t = 0; t < now->tasks; t++)
			if (victims >> t & 1)
				kill_task(t);
	}
	for (t = 0; t < now->tasks; t++)
		if (victims >> t & 1 && !await(&common->incarnation[t], which[t]))
			return 0;
	if (!await(&common->resumed, survivors))
		return 0;
	__atomic_store_n(&common->resumed, 0, __ATOMIC_RELEASE);
	add(&common->settled);
	return 1;
}

static void job(void)
{
	int which[MOST_TASKS] = {1, 1, 1, 1}, numbers[MOST_TASKS], t, round, ok;
	common = new_board(file, sizeof *common);
	if (!common || !free_ports(numbers, MOST_TASKS)) {
		HOST_CHECK(!"room for the test");
		return;
	}
	list_of(numbers, MOST_TASKS, ports, sizeof ports);
	for (t = 0; t < now->tasks; t++)
		start_task(t, 0, 1);
	for (round = 0, ok = 1; ok && round < now->rounds; round++)
		ok = one_round(round, which);
	for (t = 0; t < now->tasks; t++) {
		if (!ok)
			kill(pids[t], SIGKILL);
		ends_well(now->name, t, pids[t]);
	}
	munmap(common, sizeof *common);
}

/* How many of the library's files there are in shared memory; the benchmarks', which may run beside
 * this, are not among them. */
static int leftovers(void)
{
	glob_t found = {0};
	int n = 0;
	if (glob("/dev/shm/*lapi*", 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			n += !strstr(found.gl_pathv[i], "/lapi-bench-");
	globfree(&found);
	return n;
}

/* argv: nothing, or the seed of an earlier run */
int main(int argc, char **argv)
{
	unsigned seed = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 0)
	                          : (unsigned)time(NULL) ^ (unsigned)getpid();
	char name[80], own[] = HOST_FOLDER "/rejoin-tmp-XXXXXX";
	int fd, i, before;
	if (argc == 7 && strcmp(argv[1], "task") == 0)
		return be_task(argv);
	srand(seed);
	printf("  seed %u\n", seed);
	fd = mkstemp(file);
	if (fd < 0 || !mkdtemp(own)) {
		perror(HOST_FOLDER);
		return 2;
	}
	close(fd);
	setenv("TMPDIR", own, 1);
	before = leftovers();
	for (i = 0; i < PLANS; i++) {
		now = &plans[i];
		if (now->persistent && geteuid() != 0) {
			printf("  not run: %s: only root may be that\n", now->name);
			continue;
		}
		job();
		snprintf(name, sizeof name, "comes_back_%s", now->name);
		host_end_case(name, 0);
	}
	HOST_CHECK(waitpid(-1, NULL, WNOHANG) == -1);
	HOST_CHECK(leftovers() <= before); /* other jobs of this machine may end meanwhile */
	HOST_CHECK(rmdir(own) == 0);       /* empty */
	host_end_case("nothing_is_left", 0);
	unlink(file);
	return host_close("rejoin", 0);
}
