/*
 * init_codes.c - the return codes of LAPI_Init and the messages of docs/return-codes.md that need
 * more than an environment: a user who is not root, threads that cannot be made, addresses that are
 * not this machine's, the persistent subsystem, a job whose other task never comes. Each case is
 * this program again, in a process of its own, started by hand.
 */
#define _GNU_SOURCE
#include "host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int passed_over; /* cases that could not be run */

/* Two ports below those that the system gives away, other ones in each run of this program. */
static unsigned short port(int task)
{
	return htons((unsigned short)(10000 + atoi(getenv("INIT_CODES_RUN")) % 10000 * 2 + task));
}

/* One task, alone, over UDP with a list; a case changes what it needs. */
static void usual_environment(pid_t run)
{
	char number[16];

	clearenv();
	snprintf(number, sizeof number, "%d", (int)run);
	setenv("INIT_CODES_RUN", number, 1);
	setenv("MP_MSG_API", "lapi", 1);
	setenv("MP_CHILD", "0", 1);
	setenv("MP_PROCS", "1", 1);
	setenv("MP_PARTITION", "4712", 1);
	setenv("MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo", 1);
	setenv("MP_INFOLEVEL", "2", 1);
}

/* LAPI_Init of a two-task job with this list. */
static int init_with_list(lapi_udp_t *list)
{
	lapi_extend_t extend;
	lapi_handle_t h;
	lapi_info_t info;

	setenv("MP_PROCS", "2", 1);
	host_info(&info);
	bzero(&extend, sizeof extend);
	extend.add_udp_addrs = list;
	extend.num_udp_addr = 2;
	info.add_info = &extend;
	return LAPI_Init(&h, &info);
}

static void no_root_for_the_persistent_subsystem(void)
{
	lapi_handle_t h;
	lapi_info_t info;

	if (geteuid() == 0 && setuid(65534) != 0) {
		perror("setuid");
		host_case_failures++;
		return;
	}
	host_info(&info);
	info.protocol = (lapi_dev_t)LAPI_PSS_GPFS;
	HOST_CODE(LAPI_ERR_PSS_NON_ROOT, LAPI_Init(&h, &info));
}

/* For root: LAPI_Init gives nobody else the persistent subsystem. */
static void no_collectives_for_the_persistent_subsystem(void)
{
	lapi_handle_t h;
	lapi_info_t info;
	void *table[1];
	lapi_long_t table64[1];

	host_info(&info);
	info.protocol = (lapi_dev_t)LAPI_PSS_GPFS;
	HOST_OK(LAPI_Init(&h, &info));
	HOST_CODE(LAPI_ERR_COLLECTIVE_PSS, LAPI_Gfence(h));
	HOST_CODE(LAPI_ERR_COLLECTIVE_PSS, LAPI_Address_init(h, &h, table));
	HOST_CODE(LAPI_ERR_COLLECTIVE_PSS, LAPI_Address_init64(h, 1, table64));
	HOST_OK(LAPI_Fence(h));
	HOST_OK(LAPI_Term(h));
}

static void persistent_info(lapi_info_t *info, const char *adapter)
{
	host_info(info);
	info->protocol = (lapi_dev_t)LAPI_PSS_GPFS;
	info->adapter_name = (void *)(uintptr_t)adapter;
}

/* An error even if no task is reached over it; other programs' adapter_name is not read. */
static void adapter_that_is_not_there(void)
{
	lapi_handle_t h;
	lapi_info_t info;

	persistent_info(&info, "nosuch0");
	HOST_CODE(LAPI_ERR_UDP_SOCKET, LAPI_Init(&h, &info));
	persistent_info(&info, "");
	HOST_OK(LAPI_Init(&h, &info));
	HOST_OK(LAPI_Term(h));
	host_info(&info);
	info.adapter_name = (void *)1;
	HOST_OK(LAPI_Init(&h, &info));
	HOST_OK(LAPI_Term(h));
}

/* The task's own entry of the list is not the adapter's. */
static void list_against_the_adapter(void)
{
	lapi_udp_t list[2] = {{inet_addr("192.0.2.1"), port(0)}, {inet_addr("127.0.0.1"), port(1)}};
	lapi_extend_t extend;
	lapi_handle_t h;
	lapi_info_t info;

	setenv("MP_PROCS", "2", 1);
	persistent_info(&info, "lo");
	bzero(&extend, sizeof extend);
	extend.add_udp_addrs = list;
	info.add_info = &extend;
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, LAPI_Init(&h, &info));
}

/* Stacks larger than any address space: pthread_create fails, and nothing of the attempt
 * remains. */
static void no_memory_for_threads(void)
{
	com_thread_info_t threads;
	pthread_attr_t attributes;
	lapi_handle_t h;
	lapi_info_t info;

	bzero(&threads, sizeof threads);
	HOST_CHECK(pthread_attr_init(&attributes) == 0);
	HOST_CHECK(pthread_attr_setstacksize(&attributes, (size_t)-1 / 2 + 1) == 0);
	threads.thread_attr = &attributes;
	host_info(&info);
	info.lapi_thread_attr = &threads;
	HOST_CODE(LAPI_ERR_MEMORY_EXHAUSTED, LAPI_Init(&h, &info));
	info.lapi_thread_attr = NULL;
	HOST_OK(LAPI_Init(&h, &info));
	host_use(h);
	HOST_OK(LAPI_Term(h));
	pthread_attr_destroy(&attributes);
}

static void list_without_own_port(void)
{
	lapi_udp_t list[2] = {{inet_addr("127.0.0.1"), 0}, {inet_addr("127.0.0.1"), port(1)}};

	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, init_with_list(list));
	/* Nothing is mapped in the first pages, nor past the last ones */
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, init_with_list((lapi_udp_t *)(uintptr_t)16));
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, init_with_list((lapi_udp_t *)(uintptr_t)-8));
}

/* An empty entry for another task, and entries with only an address or a port. */
static void list_without_anothers_entry(void)
{
	lapi_udp_t list[2] = {{inet_addr("127.0.0.1"), port(0)}, {0, 0}};

	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, init_with_list(list));
	list[1].ip_addr = inet_addr("127.0.0.1");
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, init_with_list(list));
	list[1] = (lapi_udp_t){0, port(1)};
	HOST_CODE(LAPI_ERR_UDP_PORT_INFO, init_with_list(list));
}

/* 192.0.2.0/24 is for documentation: no machine has such an address. */
static void address_of_no_machine(void)
{
	lapi_udp_t list[2] = {{inet_addr("192.0.2.1"), port(0)}, {inet_addr("127.0.0.1"), port(1)}};

	HOST_CODE(LAPI_ERR_UDP_SOCKET, init_with_list(list));
}

/* The variables of a lapirun that is gone. */
static void no_launcher_behind_its_variable(void)
{
	lapi_handle_t h;
	lapi_info_t info;

	setenv("LAPI_LAUNCHER_FD", "63:1", 1);
	host_info(&info);
	HOST_CHECK(LAPI_Init(&h, &info) != LAPI_SUCCESS);
}

static void shared_memory_of_one_task(void)
{
	lapi_handle_t h;
	lapi_info_t info;

	setenv("LAPI_USE_SHM", "yes", 1);
	host_info(&info);
	HOST_OK(LAPI_Init(&h, &info));
	HOST_OK(LAPI_Term(h));
}

/* Attention messages (guide, Appendix C): MP_INFOLEVEL 1 shows what failed, 2 also what is only
 * worth knowing. */
static void one_task_at_level(const char *level)
{
	setenv("MP_INFOLEVEL", level, 1);
	shared_memory_of_one_task();
}

static void nothing_at_level_0(void)
{
	one_task_at_level("0");
}

static void failures_at_level_1(void)
{
	one_task_at_level("1");
}

static const char *current_case;

/* Starts task 1 of the case, which comes to the same place in a process of its own. */
static pid_t start_second_task(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setenv("MP_CHILD", "1", 1);
		execl("/proc/self/exe", "init_codes", "child", current_case, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* A job of two tasks, started by hand. The caller is task 0, or the process that it has started. */
static void two_tasks(const char *use_shm, void (*before)(int task))
{
	lapi_udp_t list[2] = {{inet_addr("127.0.0.1"), port(0)}, {inet_addr("127.0.0.1"), port(1)}};
	int task = atoi(getenv("MP_CHILD")), status = -1;
	pid_t second = task == 0 ? start_second_task() : 0;
	lapi_extend_t extend;
	lapi_handle_t h;
	lapi_info_t info;

	setenv("MP_PROCS", "2", 1);
	setenv("LAPI_USE_SHM", use_shm, 1);
	setenv("MP_COMMON_TASKS", task == 0 ? "1:1" : "1:0", 1);
	if (before)
		before(task);
	host_info(&info);
	bzero(&extend, sizeof extend);
	extend.add_udp_addrs = list;
	extend.num_udp_addr = 2;
	info.add_info = &extend;
	HOST_OK(LAPI_Init(&h, &info));
	if (!host_case_failures) {
		host_use(h);
		HOST_OK(LAPI_Term(h));
	}
	if (task == 0) {
		HOST_CHECK(second > 0 && waitpid(second, &status, 0) == second);
		HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

static int heard;

static void *hear(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)handler, (void)info;
	__atomic_store_n(&heard, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Each sends to the other by index: there are no collectives. Term waits until all is
 * acknowledged. */
static void greet_each_other(lapi_handle_t h, int task)
{
	HOST_OK(LAPI_Addr_set(h, (void *)(uintptr_t)hear, 1));
	HOST_OK(LAPI_Amsend(h, (uint)(1 - task), (void *)(uintptr_t)1, NULL, 0, NULL, 0, NULL, NULL,
	                    NULL));
	while (!__atomic_load_n(&heard, __ATOMIC_ACQUIRE))
		HOST_OK(LAPI_Probe(h));
	HOST_OK(LAPI_Term(h));
}

/* The list leaves this task's own address open, and MP_LAPI_INET_ADDR names none of this machine:
 * the adapter decides. */
static void adapter_selects_the_interface(void)
{
	int task = atoi(getenv("MP_CHILD")), status = -1;
	pid_t second = task == 0 ? start_second_task() : 0;
	lapi_udp_t list[2] = {{inet_addr("127.0.0.1"), port(0)}, {inet_addr("127.0.0.1"), port(1)}};
	lapi_extend_t extend;
	lapi_handle_t h;
	lapi_info_t info;

	setenv("MP_PROCS", "2", 1);
	setenv("MP_LAPI_INET_ADDR", "@1:192.0.2.1,en0", 1);
	setenv("MP_COMMON_TASKS", task == 0 ? "1:1" : "1:0", 1);
	list[task].ip_addr = INADDR_ANY;
	persistent_info(&info, "lo");
	bzero(&extend, sizeof extend);
	extend.add_udp_addrs = list;
	info.add_info = &extend;
	HOST_OK(LAPI_Init(&h, &info));
	if (!host_case_failures)
		greet_each_other(h, task);
	if (task == 0) {
		HOST_CHECK(second > 0 && waitpid(second, &status, 0) == second);
		HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

static void two_tasks_over_udp(void)
{
	two_tasks("no", NULL);
}

/* The limit of file sizes is 0, and a memory segment is a file. */
static void without_files(int task)
{
	struct rlimit none = {0, 0};

	(void)task;
	signal(SIGXFSZ, SIG_IGN);
	HOST_CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
}

static void second_without_files(int task)
{
	if (task == 1)
		without_files(task);
}

/* Both fall back to UDP. */
static void no_segment(void)
{
	two_tasks("yes", without_files);
}

/* Task 0 has a segment, but cannot have that of task 1: UDP between them. */
static void no_segment_over_there(void)
{
	two_tasks("yes", second_without_files);
}

/* After fork without exec the library is not there: errors, no hang. */
static void calls_in_a_forked_child(void)
{
	char text[LAPI_MAX_ERR_STRING];
	lapi_handle_t h;
	lapi_info_t info;
	int status = -1;
	pid_t pid;

	host_info(&info);
	HOST_OK(LAPI_Init(&h, &info));
	pid = fork();
	if (pid == 0) {
		HOST_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Probe(h));
		HOST_OK(LAPI_Msg_string(LAPI_ERR_TGT, text)); /* it needs no core */
		HOST_CODE(LAPI_ERR_UNKNOWN, LAPI_Init(&h, &info));
		_exit(host_case_failures ? 1 : 0);
	}
	HOST_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	host_use(h);
	HOST_OK(LAPI_Term(h));
}

static const struct init_case {
	const char *name;
	void (*run)(void);
	/* what the library must print; with a ! in front, must not; several: parted by |; NULL:
	 * nothing asked */
	const char *mention;
	int needs_root;
} cases[] = {
	{"no_root_for_the_persistent_subsystem", no_root_for_the_persistent_subsystem, NULL, 0},
	{"no_collectives_for_the_persistent_subsystem", no_collectives_for_the_persistent_subsystem,
         NULL, 1},
	{"adapter_that_is_not_there", adapter_that_is_not_there, "nosuch0", 1},
	{"list_against_the_adapter", list_against_the_adapter, "not an address of adapter_name", 1},
	{"adapter_selects_the_interface", adapter_selects_the_interface, "bound to 127.0.0.1:", 1},
	{"no_memory_for_threads", no_memory_for_threads, NULL, 0},
	{"list_without_own_port", list_without_own_port, "no address and port", 0},
	{"list_without_anothers_entry", list_without_anothers_entry, "no address and port for task 1",
         0},
	{"address_of_no_machine", address_of_no_machine, "192.0.2.1", 0},
	{"no_launcher_behind_its_variable", no_launcher_behind_its_variable, NULL, 0},
	{"nothing_at_level_0", nothing_at_level_0, "!LAPI", 0},
	{"failures_at_level_1", failures_at_level_1, ": 504: |!501", 0},
	{"shared_memory_of_one_task", shared_memory_of_one_task, ": 504: |: 501: |, built 2",
         0}, /* LAPI_ATT_SHM_SINGLE_TASK, LAPI_ATT_VERSION */
	{"two_tasks_over_udp", two_tasks_over_udp, "509", 0}, /* LAPI_ATT_PORT_START */
	{"no_segment", no_segment, "502",
         0}, /* LAPI_ATT_SHMINIT_FAIL, after LAPI_ATT_SHM_CREATE_FAIL */
	{"no_segment_at_all", no_segment, "505", 0},                /* LAPI_ATT_SHM_CREATE_FAIL */
	{"no_segment_over_there", no_segment_over_there, "506", 0}, /* LAPI_ATT_SHM_GET_FAIL */
	{"calls_in_a_forked_child", calls_in_a_forked_child, NULL, 0},
};

static int run_child(const char *name)
{
	size_t i;

	current_case = name;
	alarm(300); /* only against a hang */
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(cases[i].name, name) == 0)
			cases[i].run();
	return host_case_failures ? 1 : 0;
}

/* Whether text is as mention says. */
static int as_mentioned(const char *text, const char *mention)
{
	char one[64];
	size_t n;

	for (; mention && *mention; mention += n + (mention[n] == '|')) {
		n = strcspn(mention, "|");
		snprintf(one, sizeof one, "%.*s", (int)n, mention);
		if (one[0] == '!' ? strstr(text, one + 1) != NULL : strstr(text, one) == NULL)
			return 0;
	}
	return 1;
}

/* Runs a case in a process of its own and reads all that it prints. */
static void run(const struct init_case *c)
{
	char text[8192];
	size_t have = 0;
	ssize_t n;
	int ends[2], status = -1;
	pid_t pid, self = getpid();

	if (pipe(ends) != 0 || (pid = fork()) < 0) {
		perror(c->name);
		host_case_failures++;
		return;
	}
	if (pid == 0) {
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		usual_environment(self);
		execl("/proc/self/exe", "init_codes", "child", c->name, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (have < sizeof text - 1 &&
	       (n = read(ends[0], text + have, sizeof text - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = 0;
	close(ends[0]);
	HOST_CHECK(waitpid(pid, &status, 0) == pid);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	HOST_CHECK(as_mentioned(text, c->mention));
	if (host_case_failures)
		fprintf(stderr, "  %s: status %#x, it printed:\n%s", c->name, status, text);
}

int main(int argc, char **argv)
{
	size_t i;
	int k;

	if (argc == 3 && strcmp(argv[1], "child") == 0)
		return run_child(argv[2]);
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (k = 1; k < argc && strcmp(argv[k], cases[i].name) != 0; k++)
			;
		if (argc > 1 && k == argc)
			continue;
		if (cases[i].needs_root && geteuid() != 0) {
			printf("  skip %s: needs root\n", cases[i].name);
			passed_over++;
			continue;
		}
		run(&cases[i]);
		host_end_case(cases[i].name, 0);
	}
	printf("init_codes: %d passed, %d failed, %d skipped\n", host_passed, host_failed,
	       passed_over);
	return host_failed ? 1 : 0;
}
