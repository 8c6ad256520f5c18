/* coll_frame.c - the processes of a test of collectives, where they meet, and their groups. */
#define _GNU_SOURCE
#include "coll.h"

#include <float.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	HANG_S = 280,
	MICROSECONDS = 1000000,
	SELF = 8, /* of a command that starts on another node: where the command begins */
	OTHER_WORDS = 8,
};

extern char **environ;

struct coll_me coll_me;

/* Each member writes its own slot; arrivals are counted, and a dead member's are not awaited. */
static struct board {
	uint32_t flag;
	struct {
		uint32_t arrived, dead;
		unsigned char bytes[COLL_BLOB];
	} slot[COLL_MEMBERS];
} * board;

static void map(int fd)
{
	board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(board != MAP_FAILED);
}

/* A member that has waited HANG_S for one event hangs. A slow member is ended by the test's caller. The
 * number of events so far tells the two apart. */
static unsigned events;

static unsigned patience(void)
{
	return strcmp(coll_me.test, "full") == 0 ? 12 * HANG_S : HANG_S;
}

/* Its output then, made beforehand: a signal handler writes it, and cannot format. */
static char last_words[128];
static volatile size_t last_length;

static void give_up(int signal)
{
	(void)signal;
	(void)!write(1, last_words, last_length);
	_exit(1);
}

static void watch_progress(void)
{
	static timer_t timer; /* alarm is the programs' */
	static int made;
	struct itimerspec after = {{0, 0}, {patience(), 0}};

	if (!made) {
		struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};

		signal(SIGUSR2, give_up);
		CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
		made = 1;
	}
	last_length = (size_t)snprintf(last_words, sizeof last_words,
	                               "%s: member %d of %d: no event for %u s, %u before\n", coll_me.test,
	                               coll_me.rank, coll_me.size, patience(), events);
	CHECK(timer_settime(timer, 0, &after, NULL) == 0);
}

int coll_is_member(int argc, char **argv)
{
	if (argc < 7 || strcmp(argv[1], "member") != 0)
		return 0;
	map(atoi(argv[2]));
	coll_me.rank = atoi(argv[3]);
	coll_me.size = atoi(argv[4]);
	coll_me.test = argv[5];
	coll_me.seed = (unsigned)strtoul(argv[6], NULL, 10);
	watch_progress();
	return 1;
}

/* The number of nodes besides this one; 0: all members are here. */
static int nodes(void)
{
	const char *n = getenv("COLL_NODES");

	return n ? atoi(n) : 0;
}

int coll_node_of(int rank, int size)
{
	return nodes() == 0 ? 0 : nodes() == 2 ? rank * 2 / size : rank % nodes();
}

/* The process whose namespaces are the node of a member. */
static void find_node(int rank, int size, char *pid, size_t room)
{
	char name[64];
	FILE *file;

	snprintf(name, sizeof name, "/run/lapi-nodes/n%d", coll_node_of(rank, size));
	file = fopen(name, "r");
	CHECK(file != NULL && fgets(pid, (int)room, file) != NULL);
	fclose(file);
	pid[strcspn(pid, "\n")] = 0;
}

/* COLL_OTHER is a command by which members of odd rank are started in place of this program, such as
 * an emulator and the program of another architecture. The members' arguments go behind its words. */
static pid_t start_other(char *const *arguments)
{
	static char command[4096];
	char *argv[OTHER_WORDS + SELF], *word, *rest;
	size_t n = 0;
	pid_t pid;

	snprintf(command, sizeof command, "%s", getenv("COLL_OTHER"));
	for (word = strtok_r(command, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		CHECK(n < OTHER_WORDS);
		argv[n++] = word;
	}
	while ((argv[n] = *arguments++) != NULL)
		n++;
	CHECK(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0);
	return pid;
}

static pid_t start(int fd, int rank, int size, const char *test, unsigned seed)
{
	char numbers[4][16], node[16], self[4096] = "";
	char *argv[] = {"nsenter",  "-t",         node,       "-n",     "-u",       "-m",
	                "-i",       "--wd=.",     self,       "member", numbers[0], numbers[1],
	                numbers[2], (char *)test, numbers[3], NULL};
	int here = nodes() == 0;
	pid_t pid;

	CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	if (!here)
		find_node(rank, size, node, sizeof node);

	snprintf(numbers[0], sizeof numbers[0], "%d", fd);
	snprintf(numbers[1], sizeof numbers[1], "%d", rank);
	snprintf(numbers[2], sizeof numbers[2], "%d", size);
	snprintf(numbers[3], sizeof numbers[3], "%u", seed);
	if (rank % 2 && getenv("COLL_OTHER"))
		return start_other(argv + SELF + 1);
	CHECK(posix_spawnp(&pid, here ? self : argv[0], NULL, NULL, here ? argv + SELF : argv,
	                   environ) == 0);
	return pid;
}

/* If a member fails, the others, which would wait for it, are killed. */
static void judge(pid_t *pids, int size, int rank, int status, unsigned killed, const char *test)
{
	int i;

	__atomic_store_n(&board->slot[rank].dead, 1, __ATOMIC_RELEASE);
	if (killed >> rank & 1 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0)
		return;
	printf("%s: member %d of %d ended with status %#x\n", test, rank, size, (unsigned)status);
	for (i = 0; i < size; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	exit(1);
}

void coll_run(const char *test, int size, unsigned seed, unsigned killed)
{
	pid_t pids[COLL_MEMBERS];
	struct timespec begin, end;
	int fd = memfd_create("board", 0), i, left, status;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	fflush(stdout);
	CHECK(fd >= 0 && ftruncate(fd, sizeof *board) == 0 && size <= COLL_MEMBERS);
	map(fd);
	for (i = 0; i < size; i++)
		pids[i] = start(fd, i, size, test, seed);
	for (left = size; left > 0; left--) {
		pid_t ended = wait(&status);

		for (i = 0; i < size && pids[i] != ended; i++)
			;
		CHECK(i < size);
		pids[i] = 0;
		judge(pids, size, i, status, killed, test);
	}
	munmap(board, sizeof *board);
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (getenv("COLL_TIMES"))
		printf("%s: %d members, seed %u: %.1f s\n", test, size, seed,
		       (double)(end.tv_sec - begin.tv_sec) +
		               (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
}

static int only_members;

int coll_wanted(int members, int usual)
{
	return only_members ? only_members == members : usual;
}

int coll_members_of(int usual)
{
	return only_members ? only_members : usual;
}

int coll_main(int argc, char **argv, void (*tests)(int full))
{
	/* LAPI_FASTLANE and LAPI_ROUTE */
	static const struct {
		const char *name, *lane, *route;
	} ways[] = {{"on", "on", "auto"},
	            {"copy", "on", "target"},
	            {"give", "on", "halves"}, /* as copy, but for groups of two */
	            {"off", "off", "auto"},
	            {"random", "random", "auto"}};
	int full = argc > 1 && strcmp(argv[1], "full") == 0, known = 0;
	int usable = argc == 1 || full || strcmp(argv[1], "short") == 0;
	const char *name = strrchr(argv[0], '/');
	size_t i;

	only_members = argc > 3 ? atoi(argv[3]) : 0;
	for (i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (argc > 2 && strcmp(argv[2], ways[i].name) != 0)
			continue;
		known = 1;
		CHECK(setenv("LAPI_FASTLANE", ways[i].lane, 1) == 0);
		CHECK(setenv("LAPI_ROUTE", ways[i].route, 1) == 0);
		tests(full);
	}
	if (!known || only_members < 0 || only_members > COLL_MEMBERS || !usable) {
		printf("usage: %s [full|short [on|copy|give|off|random [MEMBERS]]]\n", argv[0]);
		return 2;
	}
	printf("%s: passed\n", name ? name + 1 : argv[0]);
	return 0;
}

/* Waits until every living member has come as often as this one. */
static void gather_round(void)
{
	uint32_t turn = __atomic_add_fetch(&board->slot[coll_me.rank].arrived, 1, __ATOMIC_ACQ_REL);
	int i;

	for (i = 0; i < coll_me.size; i++)
		while ((int32_t)(__atomic_load_n(&board->slot[i].arrived, __ATOMIC_ACQUIRE) -
		                 turn) < 0 &&
		       !__atomic_load_n(&board->slot[i].dead, __ATOMIC_ACQUIRE))
			usleep(100);
}

void coll_meet(void)
{
	gather_round();
}

void coll_exchange(const void *mine, size_t n, void *all)
{
	int i;

	CHECK(n <= COLL_BLOB);
	memcpy(board->slot[coll_me.rank].bytes, mine, n);
	gather_round();
	for (i = 0; i < coll_me.size; i++)
		memcpy((unsigned char *)all + (size_t)i * n, board->slot[i].bytes, n);
	gather_round(); /* before anybody writes the next */
}

unsigned coll_flag(void)
{
	return __atomic_load_n(&board->flag, __ATOMIC_ACQUIRE);
}

void coll_set_flag(unsigned value)
{
	__atomic_store_n(&board->flag, value, __ATOMIC_RELEASE);
}

DAT_EVD_HANDLE coll_evd(void)
{
	int flags = (int)DAT_EVD_DTO_FLAG | (int)DAT_IB_EVD_EXTENSION_FLAG;
	DAT_EVD_HANDLE evd;

	MUST(dat_evd_create(coll_me.ia, 600, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

/* COLL_NAME names an RDMA adapter whose device's name is in COLL_DEVICE. */
static void check_device(const char *name)
{
	DAT_PROVIDER_ATTR p;
	const char *found = "";
	int i;

	MUST(dat_ia_query(coll_me.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &p));
	for (i = 0; i < p.num_provider_specific_attr; i++)
		if (strcmp(p.provider_specific_attr[i].name, "DAT_IB_DEVICE_NAME") == 0)
			found = p.provider_specific_attr[i].value;
	if (strncmp(found, name, strlen(name)) != 0) {
		printf("the device is %s, not %s\n", found, name);
		exit(1);
	}
}

void coll_open_adapter(void)
{
	char *name = getenv("COLL_NAME"), *device = getenv("COLL_DEVICE");

	if (!name)
		name = nodes() ? "lapi-eth0" : "lapi-lo";
	MUST(dat_ia_open(name, 8, &coll_me.async, &coll_me.ia));
	if (device)
		check_device(device);
	MUST(dat_pz_create(coll_me.ia, &coll_me.pz));
	coll_me.evd = coll_evd();
	MUST((dat_ib_collective_create_member)(coll_me.ia, NULL, &coll_me.member,
	                                       &coll_me.member_size));
	CHECK(coll_me.member != NULL && coll_me.member_size > 0);
}

void coll_members(DAT_IB_COLLECTIVE_MEMBER mine, DAT_UINT32 size,
                  DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS])
{
	static unsigned char blobs[8][COLL_MEMBERS][COLL_BLOB];
	static unsigned char one[COLL_BLOB];
	static int used;
	int i;

	CHECK(size <= COLL_BLOB && used < 8);
	memcpy(one, mine, size);
	coll_exchange(one, COLL_BLOB, blobs[used]);
	for (i = 0; i < coll_me.size; i++)
		members[i] = blobs[used][i];
	used++;
}

/* Long doubles may differ between members of several architectures. */
static void compare_floats(void)
{
	unsigned char bits = LDBL_MANT_DIG, all[COLL_MEMBERS];
	int i;

	coll_exchange(&bits, 1, all);
	for (i = 0; i < coll_me.size; i++)
		coll_me.differ |= all[i] != bits;
}

void coll_open(void)
{
	DAT_IB_COLLECTIVE_MEMBER members[COLL_MEMBERS];
	DAT_CONTEXT context;
	coll_event event;

	coll_open_adapter();
	coll_members(coll_me.member, coll_me.member_size, members);
	context.as_64 = 77;
	MUST((dat_ib_collective_create_group)(members, coll_me.size,
	                                      (DAT_IB_COLLECTIVE_RANK)coll_me.rank, 4711, NULL,
	                                      coll_me.evd, coll_me.pz, context));
	event = coll_wait(coll_me.evd);
	CHECK(event.type == DAT_IB_COLLECTIVE_CREATE_DATA && event.status == 0);
	CHECK(event.context == 77 && event.group != DAT_HANDLE_NULL);
	coll_me.group = event.group;
	compare_floats();
}

void coll_close(void)
{
	if (coll_me.group != DAT_HANDLE_NULL)
		MUST((dat_ib_collective_free_group)(coll_me.group));
	coll_me.group = DAT_HANDLE_NULL;
	MUST((dat_ib_collective_free_member)(coll_me.ia, coll_me.member));
	MUST(dat_evd_free(coll_me.evd));
	MUST(dat_pz_free(coll_me.pz));
	MUST(dat_ia_close(coll_me.ia, DAT_CLOSE_GRACEFUL_FLAG));
	coll_me.async = DAT_HANDLE_NULL; /* it was the adapter's */
}

coll_event coll_wait(DAT_EVD_HANDLE evd)
{
	const DAT_IB_EXTENSION_EVENT_DATA *data;
	coll_event e;
	DAT_EVENT event;
	DAT_COUNT more;

	/* Longer than a member may wait: give_up says more. */
	MUST(dat_evd_wait(evd, 2 * HANG_S * MICROSECONDS, 1, &event, &more));
	CHECK((int)event.event_number == (int)DAT_IB_COLLECTIVE_EVENT && event.evd_handle == evd);
	events++;
	watch_progress();
	data = (const DAT_IB_EXTENSION_EVENT_DATA *)(const void *)event.event_extension_data;
	e.type = (unsigned)data->type;
	e.status = (unsigned)data->status;
	e.group = data->coll.handle;
	e.context = data->coll.context.as_64;
	e.created = dat_ib_collective_created(&event);
	return e;
}

void coll_expect(DAT_EVD_HANDLE evd, DAT_IB_COLLECTIVE_HANDLE group, unsigned type,
                 DAT_UINT64 context)
{
	coll_event e = coll_wait(evd);

	if (e.type == type && e.status == 0 && e.group == group && e.context == context)
		return;
	printf("%s of rank %d of %d: expected type %u, context %llu; got type %u, status %u, "
	       "context %llu%s\n",
	       coll_me.test, coll_me.rank, coll_me.size, type, (unsigned long long)context, e.type,
	       e.status, (unsigned long long)e.context,
	       e.group == group ? "" : ", of another group");
	exit(1);
}

void coll_expect_none(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	CHECK(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY);
}

uint32_t coll_mix(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t x = a * UINT64_C(0x9E3779B97F4A7C15) + b * UINT64_C(0xC2B2AE3D27D4EB4F) +
	             c * UINT64_C(0x165667B19E3779F9) + 1;

	x ^= x >> 31;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	return (uint32_t)(x >> 32);
}
