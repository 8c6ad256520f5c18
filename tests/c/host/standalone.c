/*
 * standalone.c - jobs started by hand, as the guide's Chapter 16 describes: every task a process of
 * its own with MP_ variables, the addresses from the user's list or the user's handler, with and
 * without shared memory. This program starts the tasks, which are itself with the argument "task".
 */
#define _GNU_SOURCE
#include "by_hand.h"

#include <sys/stat.h>
#include <time.h>

#define MOST_TASKS 4

static lapi_udp_t addresses[MOST_TASKS];
static int without_partition; /* what start_task starts */
static int handler_calls, handler_arguments_wrong, expected_unreached;

/* ---- a task ---- */

static int give_addresses(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list,
                          lapi_udpinfo_t *info)
{
	(void)h, (void)local;
	handler_calls++;
	handler_arguments_wrong |= (int)info->task_id != atoi(getenv("MP_CHILD"));
	handler_arguments_wrong |= (int)info->tot_num_tasks != atoi(getenv("MP_PROCS"));
	handler_arguments_wrong |= (int)info->num_tasks != expected_unreached;
	if (handler_arguments_wrong)
		fprintf(stderr,
		        "handler: task_id %u, tot_num_tasks %u, num_tasks %u, instance_no %u\n",
		        info->task_id, info->tot_num_tasks, info->num_tasks, info->instance_no);
	memcpy(list, addresses, info->tot_num_tasks * sizeof *list);
	return 0;
}

/* argv: task METHOD PORTS DELAY; METHOD is list, handler or both. */
static int be_task(char **argv)
{
	lapi_info_t info;
	lapi_extend_t extend;
	lapi_handle_t h;
	const char *method = argv[2];
	int i, tasks = atoi(getenv("MP_PROCS")), by_handler = strcmp(method, "list") != 0;
	const char *shm = getenv("LAPI_USE_SHM");
	struct timespec delay = {0, atoi(argv[4]) * 1000000L};
	nanosleep(&delay, NULL);
	alarm(300);
	read_ports(argv[3], addresses, tasks);
	expected_unreached = shm && strcmp(shm, "no") != 0 ? 0 : tasks;
	host_info(&info);
	bzero(&extend, sizeof extend);
	if (by_handler)
		extend.udp_hndlr = give_addresses;
	if (strcmp(method, "handler") != 0) {
		extend.add_udp_addrs = addresses;
		extend.num_udp_addr = (uint)tasks;
	}
	info.add_info = &extend;
	HOST_OK(LAPI_Init(&h, &info));
	if (host_case_failures)
		return 1;
	if (strcmp(method, "list") != 0 && expected_unreached)
		HOST_CHECK(handler_calls == 1);
	HOST_CHECK(!handler_arguments_wrong);
	for (i = 0; i < 50; i++)
		host_use(h);
	HOST_OK(LAPI_Term(h));
	return host_case_failures != 0;
}

/* ---- the starter ---- */

static pid_t start_task(int task, int tasks, const char *method, const char *shm, const int *ports)
{
	char list[64], delay[16];
	pid_t pid;
	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	be_by_hand(task, tasks, shm, ~0u);
	if (without_partition)
		unsetenv("MP_PARTITION");
	/* tasks come one after the other, as when typed */
	snprintf(delay, sizeof delay, "%d", task * 120);
	execl("/proc/self/exe", "standalone", "task", method,
	      list_of(ports, tasks, list, sizeof list), delay, (char *)NULL);
	_exit(127);
}

static void job(int tasks, const char *method, const char *shm)
{
	int ports[MOST_TASKS], i;
	pid_t pids[MOST_TASKS];
	char what[64];
	HOST_CHECK(free_ports(ports, tasks));
	snprintf(what, sizeof what, "%s, shared memory %s", method, shm ? shm : "unset");
	for (i = 0; i < tasks; i++)
		pids[i] = start_task(i, tasks, method, shm, ports);
	for (i = 0; i < tasks; i++)
		ends_well(what, i, pids[i]);
}

/* The same with a key file: mode 0600 works, a file that others can read is refused. */
static void keyed_job(void)
{
	char path[] = HOST_FOLDER "/key-XXXXXX";
	int fd = mkstemp(path), status;
	pid_t pid;
	int ports[2];
	HOST_CHECK(fd >= 0);
	if (fd < 0)
		return;
	HOST_CHECK(write(fd, "0123456789abcdef0123456789abcdef", 32) == 32);
	close(fd);
	setenv("LAPI_JOB_KEY_FILE", path, 1);
	job(2, "list", NULL);
	HOST_CHECK(chmod(path, 0644) == 0);
	HOST_CHECK(free_ports(ports, 2));
	pid = start_task(0, 2, "list", NULL, ports);
	waitpid(pid, &status, 0);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1); /* LAPI_Init refused */
	unsetenv("LAPI_JOB_KEY_FILE");
	unlink(path);
}

int main(int argc, char **argv)
{
	static const char *const methods[] = {"list", "handler", "both"};
	static const char *const paths[] = {NULL, "no", "yes", "only"};
	char name[64];
	int m, p;
	if (argc == 5 && strcmp(argv[1], "task") == 0)
		return be_task(argv);
	for (m = 0; m < 3; m++)
		for (p = 0; p < 4; p++) {
			if (m == 2 && p > 0)
				continue;
			job(p == 1 ? 2 : 3, methods[m], paths[p]);
			snprintf(name, sizeof name, "by_hand_with_%s_shared_memory_%s", methods[m],
			         paths[p] ? paths[p] : "unset");
			host_end_case(name, 0);
		}
	without_partition = 1; /* the addresses say as much */
	job(3, "list", NULL);
	job(2, "handler", "no");
	without_partition = 0;
	host_end_case("by_hand_without_a_partition", 0);
	keyed_job();
	host_end_case("by_hand_with_a_key_file", 0);
	return host_close("standalone", 0);
}
