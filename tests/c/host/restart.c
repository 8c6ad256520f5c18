/*
 * restart.c - a job started by hand over UDP loses a task: it is killed with SIGKILL and started
 * again with the same MP_CHILD. The others purge and resume it (guide, Chapter 19), at its old
 * address or, by LAPI_Util(LAPI_ADD_UDP_DEST_PORT or _EXT), at a new one; then all work with all
 * again. This program starts the tasks, which are itself with the argument "task".
 */
#define _GNU_SOURCE
#include "by_hand.h"

enum { TASKS = 3, VICTIM = 1, SIZE = 50000, BEFORE = 5, AFTER = 30 };

/* How the survivors find the task that comes back. */
enum way {
	SAME_ADDRESS,
	NEW_PORT,
	NEW_PORT_EXT,
	RESUMED_BEFORE_THE_ADDRESS,
	LATER_ROUND,
	NEW_PORT_IPV6,
	WAYS
};

/* In a file that all processes map: addresses, and how far everybody is. Collective calls end with
 * the purge. */
typedef struct board {
	uint64_t sinks[TASKS], counters[TASKS], words[TASKS], handlers[TASKS];
	int ready[TASKS]; /* times that a task has entered its addresses */
	int before_over;  /* tasks that are through with the first part */
	int port;         /* where the task that comes back is */
	int killed;       /* the first one is no more */
	int resumed;      /* tasks that have resumed it */
	int done;         /* tasks through with the second part */
} board;

static board *common;
static lapi_handle_t handle;
static int task;
static lapi_udp_t addresses[TASKS];
static unsigned char source[SIZE], sink[TASKS][SIZE];
static int word, heard;
static lapi_cntr_t completed, arrived;

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h, (void)type, (void)own;
	fprintf(stderr, "task %d: error handler: code %d, task %d\n", task, *code, *src);
	add(&heard);
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len;
	*handler = NULL;
	*info = NULL;
	return sink[((lapi_return_info_t *)(void *)msg_len)->src];
}

static void enter_addresses(void)
{
	common->sinks[task] = (uintptr_t)sink;
	common->counters[task] = (uintptr_t)&arrived;
	common->words[task] = (uintptr_t)&word;
	common->handlers[task] = (uintptr_t)take;
	add(&common->ready[task]);
}

/* A put, an active message, a get and a read-modify-write to each other task; rounds times. */
static void work(int rounds)
{
	int i, target, one = 1, expected = 0;
	lapi_cntr_t *counter;
	for (i = 0; i < rounds; i++)
		for (target = 0; target < TASKS; target++) {
			char *place = (char *)there(common->sinks[target]) + (size_t)task * SIZE;
			if (target == task)
				continue;
			counter = (lapi_cntr_t *)there(common->counters[target]);
			HOST_OK(LAPI_Put(handle, (uint)target, SIZE, place, source, counter, NULL,
			                 &completed));
			HOST_OK(LAPI_Amsend(handle, (uint)target, there(common->handlers[target]),
			                    NULL, 0, source, 300, counter, NULL, &completed));
			HOST_OK(LAPI_Get(handle, (uint)target, 8, place, source, NULL, &completed));
			HOST_OK(LAPI_Rmw(handle, FETCH_AND_ADD, (uint)target,
			                 (int *)there(common->words[target]), &one, NULL,
			                 &completed));
			expected += 4;
		}
	HOST_OK(LAPI_Waitcntr(handle, &completed, expected, NULL));
}

static void check_second_part(void)
{
	int i, want = AFTER * (TASKS - 1);
	HOST_OK(LAPI_Waitcntr(handle, &arrived, 2 * want, NULL));
	UNTIL(handle, value_of(&common->done) >= TASKS);
	for (i = 0; i < TASKS; i++)
		HOST_CHECK(i == task || memcmp(sink[i], source, SIZE) == 0);
	HOST_CHECK(word == want);
	HOST_CHECK(completed.cntr == 0 && arrived.cntr == 0);
}

static lapi_udp_storage of_either_family(enum way way, int port)
{
	lapi_udp_storage storage;
	bzero(&storage, sizeof storage);
	storage.port_no = htons((unsigned short)port);
	storage.af = way == NEW_PORT_IPV6 ? AF_INET6 : AF_INET;
	if (way == NEW_PORT_IPV6)
		storage.ip_addr.ipv6_addr = in6addr_loopback;
	else
		storage.ip_addr.ipv4_addr = inet_addr("127.0.0.1");
	return storage;
}

static int give_address(enum way way)
{
	lapi_util_t cmd;
	lapi_udp_t port;
	lapi_udp_storage storage;
	bzero(&cmd, sizeof cmd);
	port.ip_addr = inet_addr("127.0.0.1");
	port.port_no = htons((unsigned short)common->port);
	if (way != NEW_PORT_EXT && way != NEW_PORT_IPV6) {
		cmd.Util_type = LAPI_ADD_UDP_DEST_PORT;
		cmd.Udp.tgt = VICTIM;
		cmd.Udp.udp_port = &port;
		return LAPI_Util(handle, &cmd);
	}
	storage = of_either_family(way, common->port);
	cmd.Util_type = LAPI_ADD_UDP_DEST_EXT;
	cmd.UdpExt.tgt = VICTIM;
	cmd.UdpExt.udp_port = &storage;
	return LAPI_Util(handle, &cmd);
}

static void refused_addresses(enum way way)
{
	lapi_util_t cmd;
	/* not the job's family */
	lapi_udp_storage other =
		of_either_family(way == NEW_PORT_IPV6 ? SAME_ADDRESS : NEW_PORT_IPV6, 9);
	lapi_udp_t port = {inet_addr("127.0.0.1"), htons(9)}, nothing = {inet_addr("127.0.0.1"), 0};
	bzero(&cmd, sizeof cmd);
	cmd.Util_type = LAPI_ADD_UDP_DEST_EXT;
	cmd.UdpExt.tgt = VICTIM;
	cmd.UdpExt.udp_port = &other;
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(handle, &cmd));
	other = of_either_family(SAME_ADDRESS, 9);
	other.af = 99; /* no family at all */
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(handle, &cmd));
	bzero(&cmd, sizeof cmd);
	cmd.Util_type = LAPI_ADD_UDP_DEST_PORT;
	cmd.Udp.tgt = VICTIM;
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(handle, &cmd));
	cmd.Udp.udp_port = &nothing;
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(handle, &cmd));
	cmd.Udp.udp_port = (lapi_udp_t *)(uintptr_t)16; /* not mapped */
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(handle, &cmd));
	cmd.Udp.udp_port = &port;
	cmd.Udp.instance_no = 16;
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(handle, &cmd));
	cmd.Udp.instance_no = 0;
	cmd.Udp.tgt = (uint)task;
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(handle, &cmd));
	cmd.Udp.tgt = TASKS;
	HOST_CODE(LAPI_ERR_TGT, LAPI_Util(handle, &cmd));
}

/* A survivor: gives the victim up, with what is under way, and takes it back. */
static void recover(enum way way)
{
	uint list[1] = {VICTIM};
	int status[1], lost;
	lapi_cntr_t listed;
	UNTIL(handle, value_of(&common->killed) >= 1);
	HOST_OK(LAPI_Setcntr_wstatus(handle, &listed, 1, list, status));
	/* nobody is there */
	HOST_OK(LAPI_Put(handle, VICTIM, SIZE, there(common->sinks[VICTIM]), source, NULL, NULL,
	                 &listed));
	refused_addresses(way);
	HOST_OK(LAPI_Purge_totask(handle, VICTIM));
	HOST_CODE(LAPI_ERR_TGT_PURGED, LAPI_Nopoll_wait(handle, &listed, 1, NULL));
	HOST_CHECK(status[0] == LAPI_MSG_PURGED);
	HOST_CODE(LAPI_ERR_TGT_PURGED, LAPI_Put(handle, VICTIM, 0, NULL, NULL, NULL, NULL, NULL));
	HOST_CODE(LAPI_ERR_TGT_PURGED, LAPI_Gfence(handle));
	if (way == NEW_PORT || way == NEW_PORT_EXT || way == NEW_PORT_IPV6)
		HOST_OK(give_address(way));
	HOST_OK(LAPI_Resume_totask(handle, VICTIM));
	if (way == RESUMED_BEFORE_THE_ADDRESS) {
		/* Goes to the old address at first. */
		HOST_OK(LAPI_Put(handle, VICTIM, 0, NULL, NULL, NULL, NULL, &listed));
		HOST_OK(give_address(way));
		HOST_OK(LAPI_Waitcntr(handle, &listed, 1, NULL));
	}
	add(&common->resumed);
	UNTIL(handle, value_of(&common->ready[VICTIM]) >= 2);
	lost = listed.cntr;
	HOST_CHECK(lost == 0);
}

static void first_part(void)
{
	void *table[TASKS];
	enter_addresses();
	HOST_OK(LAPI_Address_init(handle, NULL, table)); /* all addresses are there */
	work(BEFORE);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	word = 0;
	HOST_OK(LAPI_Gfence(handle));
	add(&common->before_over);
}

static int initialize(const char *ports, enum way way)
{
	lapi_udp_storage either[TASKS];
	lapi_info_t info;
	lapi_extend_t extend;
	int i;
	read_ports(ports, addresses, TASKS);
	for (i = 0; i < TASKS; i++)
		either[i] = of_either_family(way, ntohs(addresses[i].port_no));
	bzero(&info, sizeof info);
	bzero(&extend, sizeof extend);
	info.err_hndlr = hear;
	info.lib_vers = LAST_LIB;
	info.add_info = &extend;
	if (way == NEW_PORT_IPV6)
		extend.add_udp_ext_addrs = either;
	else
		extend.add_udp_addrs = addresses;
	extend.num_udp_addr = TASKS;
	HOST_OK(LAPI_Init(&handle, &info));
	return host_case_failures == 0;
}

/* argv: task FILE PORTS WAY AGAIN */
static int be_task(char **argv)
{
	int again = atoi(argv[5]), i;
	enum way way = (enum way)atoi(argv[4]);
	common = map_board(argv[2], sizeof *common);
	if (!common)
		return 2;
	alarm(300);
	task = atoi(getenv("MP_CHILD"));
	for (i = 0; i < SIZE; i++)
		source[i] = (unsigned char)(i * 7 + 3);
	if (!initialize(argv[3], way))
		return 1;
	/* the task that comes back is in its first LAPI_Init, the others in their second */
	if (way == LATER_ROUND && !again) {
		HOST_OK(LAPI_Gfence(handle));
		HOST_OK(LAPI_Term(handle));
		if (!initialize(argv[3], way))
			return 1;
	}
	if (again)
		enter_addresses();
	else
		first_part();
	if (task == VICTIM && !again)
		for (;;)
			pause();
	if (!again)
		recover(way);
	UNTIL(handle, value_of(&common->resumed) >= TASKS - 1);
	work(AFTER);
	add(&common->done);
	check_second_part();
	if (again) /* those who have purged somebody take no part in collective calls any more */
		HOST_CODE(LAPI_ERR_TGT_PURGED, LAPI_Gfence(handle));
	HOST_CHECK(!value_of(&heard));
	add(&common->done);
	UNTIL(handle, value_of(&common->done) >= 2 * TASKS);
	HOST_OK(LAPI_Term(handle));
	return host_case_failures != 0;
}

/* ---- the starter ---- */

/* Whether the loopback interface has its address of that family; the family may be there
 * without. */
static int has_ipv6(void)
{
	struct sockaddr_in6 a;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), ok;
	memset(&a, 0, sizeof a);
	a.sin6_family = AF_INET6;
	a.sin6_addr = in6addr_loopback;
	ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static pid_t start_task(int id, const char *file, const int *ports, enum way way, int again)
{
	char list[64], way_text[8];
	pid_t pid;
	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	be_by_hand(id, TASKS, NULL, 0);
	snprintf(way_text, sizeof way_text, "%d", (int)way);
	execl("/proc/self/exe", "restart", "task", file, list_of(ports, TASKS, list, sizeof list),
	      way_text, again ? "1" : "0", (char *)NULL);
	_exit(127);
}

static void job(const char *file, enum way way)
{
	int ports[TASKS + 1], i, status;
	pid_t pids[TASKS];
	common = new_board(file, sizeof *common);
	if (!common || !free_ports(ports, TASKS + 1)) {
		HOST_CHECK(!"room for the test");
		return;
	}
	for (i = 0; i < TASKS; i++)
		pids[i] = start_task(i, file, ports, way, 0);
	await(&common->before_over, TASKS);
	kill(pids[VICTIM], SIGKILL);
	waitpid(pids[VICTIM], &status, 0);
	HOST_CHECK(WIFSIGNALED(status));
	if (way == NEW_PORT || way == NEW_PORT_EXT || way == NEW_PORT_IPV6 ||
	    way == RESUMED_BEFORE_THE_ADDRESS)
		ports[VICTIM] = ports[TASKS];
	common->port = ports[VICTIM];
	add(&common->killed);
	if (way != RESUMED_BEFORE_THE_ADDRESS) /* else it has to be there when the others go on */
		await(&common->resumed, TASKS - 1);
	pids[VICTIM] = start_task(VICTIM, file, ports, way, 1);
	for (i = 0; i < TASKS; i++)
		ends_well("restart", i, pids[i]);
	munmap(common, sizeof *common);
	unlink(file);
}

int main(int argc, char **argv)
{
	static const char *const names[WAYS] = {"at_its_old_address",
	                                        "at_a_new_port",
	                                        "at_a_new_port_of_either_family",
	                                        "resumed_before_its_address_is_known",
	                                        "while_the_others_are_in_a_later_round",
	                                        "at_a_new_port_over_ipv6"};
	char file[] = HOST_FOLDER "/restart-XXXXXX", name[80];
	int fd, way;
	if (argc == 6 && strcmp(argv[1], "task") == 0)
		return be_task(argv);
	fd = mkstemp(file);
	if (fd < 0) {
		perror(file);
		return 2;
	}
	close(fd);
	for (way = 0; way < WAYS; way++) {
		if (way == NEW_PORT_IPV6 && !has_ipv6()) {
			printf("  not run: %s: this machine has no IPv6\n", names[way]);
			continue;
		}
		job(file, (enum way)way);
		snprintf(name, sizeof name, "killed_task_comes_back_%s", names[way]);
		host_end_case(name, 0);
	}
	unlink(file);
	return host_close("restart", 0);
}
