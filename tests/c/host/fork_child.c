/*
 * fork_child.c - fork without exec: every call of the child returns an error, nothing hangs, and
 * the parent goes on; fork with exec: the new program inherits nothing of LAPI.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static lapi_handle_t handle;
static int task, tasks;

/* In the child: no call may succeed, none may block. Exit status: the number of calls that were
 * wrong. */
static int calls_in_child(void)
{
	int wrong = 0, value = 0;
	lapi_cntr_t c;
	lapi_info_t info;
	lapi_msg_info_t message;
	lapi_handle_t h;
	void *table[128], *address;
	static int word;
	memset(&c, 0, sizeof c);
	bzero(&info, sizeof info);
	wrong += LAPI_Put(handle, 0, 4, &word, &value, NULL, NULL, NULL) == LAPI_SUCCESS;
	wrong += LAPI_Get(handle, 0, 4, &word, &value, NULL, NULL) == LAPI_SUCCESS;
	wrong += LAPI_Amsend(handle, 0, &word, NULL, 0, NULL, 0, NULL, NULL, NULL) == LAPI_SUCCESS;
	wrong += LAPI_Rmw(handle, SWAP, 0, &word, &value, NULL, NULL) == LAPI_SUCCESS;
	wrong += LAPI_Waitcntr(handle, &c, 1, NULL) == LAPI_SUCCESS;
	wrong += LAPI_Setcntr(handle, &c, 1) == LAPI_SUCCESS;
	wrong += LAPI_Getcntr(handle, &c, &value) == LAPI_SUCCESS;
	wrong += LAPI_Probe(handle) == LAPI_SUCCESS;
	wrong += LAPI_Msgpoll(handle, 1, &message) == LAPI_SUCCESS;
	wrong += LAPI_Fence(handle) == LAPI_SUCCESS;
	wrong += LAPI_Gfence(handle) == LAPI_SUCCESS;
	wrong += LAPI_Address_init(handle, NULL, table) == LAPI_SUCCESS;
	wrong += LAPI_Addr_set(handle, &word, 1) == LAPI_SUCCESS;
	wrong += LAPI_Addr_get(handle, &address, 1) == LAPI_SUCCESS;
	wrong += LAPI_Qenv(handle, TASK_ID, &value) == LAPI_SUCCESS;
	wrong += LAPI_Senv(handle, TIMEOUT, 100) == LAPI_SUCCESS;
	wrong += LAPI_Term(handle) == LAPI_SUCCESS;
	wrong += LAPI_Init(&h, &info) == LAPI_SUCCESS;
	return wrong;
}

/* The exit status of pid, or -1 after 90 s, when it is killed. */
static int wait_child(pid_t pid)
{
	struct timespec rest = {0, 10000000};
	int status, i;
	for (i = 0; i < 9000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
		/* The peers may need this task meanwhile. */
		HOST_OK(LAPI_Probe(handle));
		nanosleep(&rest, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static void child_calls_return_errors(void)
{
	int i, status;
	for (i = 0; i < 5; i++) {
		pid_t pid;
		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			alarm(60);
			_exit(calls_in_child());
		}
		status = wait_child(pid);
		if (status != 0)
			fprintf(stderr,
			        "task %d: the forked child ended with %d (-1: it hung; above 255: a signal)\n",
			        task, status);
		HOST_CHECK(status == 0);
		host_use(handle);
	}
}

/* An ordinary exit() in the child runs exit handlers: it must neither hang nor harm the parent's
 * context. */
static void child_may_exit(void)
{
	pid_t pid;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(60);
		exit(7);
	}
	HOST_CHECK(wait_child(pid) == 7);
	host_use(handle);
}

/* Sockets, memory files and eventfds: LAPI's kinds. Pipes and files may come from whoever started
 * the job. */
static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;
	if (!dir)
		return 99;
	while ((entry = readdir(dir)) != NULL) {
		char target[256];
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
		if (length < 0 || atoi(entry->d_name) <= 2)
			continue;
		target[length] = 0;
		if (strncmp(target, "socket:", 7) == 0 || strstr(target, "memfd:") ||
		    strncmp(target, "anon_inode:", 11) == 0) {
			fprintf(stderr, "inherited: descriptor %s, %s\n", entry->d_name, target);
			n++;
		}
	}
	closedir(dir);
	return n;
}

/* A program started by a task has no descriptor of LAPI's. */
static void exec_inherits_nothing(void)
{
	pid_t pid;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "fork_child", "count", (char *)NULL);
		_exit(127);
	}
	HOST_CHECK(wait_child(pid) == 0);
	HOST_CHECK(system("true") == 0);
	host_use(handle);
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	if (argc > 1 && strcmp(argv[1], "count") == 0)
		return open_descriptors();
	host_info(&info);
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	child_calls_return_errors();
	host_end_case("child_calls_return_errors", task != 0);
	child_may_exit();
	host_end_case("child_may_exit", task != 0);
	exec_inherits_nothing();
	host_end_case("exec_inherits_nothing", task != 0);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Term(handle));
	return host_close("fork_child", task != 0);
}
