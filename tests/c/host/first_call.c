/*
 * first_call.c - core starts at a process's first call that needs it. Until then the library is a
 * C library: one thread, no descriptor, no handler of a signal, limits as the program had them, and
 * children made by fork use LAPI and uDAPL as their parent does. After it a child may use neither.
 *
 * Arguments: none: as a task of two, which uses LAPI; "daemon": by hand; "dat": uDAPL alone.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dat2/udat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CHILDREN = 3, SECONDS = 120 };

static int entries(const char *folder)
{
	DIR *dir = opendir(folder);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int threads(void)
{
	return entries("/proc/self/task") - 2;
}

/* The number of signals whose action is not the default: the library may not have changed it. */
static int handled_signals(void)
{
	struct sigaction action;
	int number, n = 0;

	for (number = 1; number < NSIG; number++)
		n += sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
		     action.sa_handler != SIG_IGN;
	return n;
}

static struct rlimit files(void)
{
	struct rlimit limit = {0, 0};

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit;
}

/* The status of a child that does work, or -1. */
static int await(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static pid_t child(int (*work)(void))
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		_exit(work());
	}
	return pid;
}

/* 1 if the process has closed its standard descriptors, and no other file has their numbers. */
static int are_closed;

static void closed_ones_are_free(void)
{
	int fd;

	for (fd = 0; are_closed && fd < 3; fd++)
		HOST_CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}

/* A complete use of LAPI in a job. 0: no error. */
static int use_lapi(void)
{
	lapi_info_t info;
	lapi_handle_t handle;

	host_info(&info);
	HOST_OK(LAPI_Init(&handle, &info));
	closed_ones_are_free();
	if (host_case_failures == 0)
		host_use(handle);
	closed_ones_are_free();
	HOST_OK(LAPI_Term(handle));
	return host_case_failures;
}

static void close_standard(void)
{
	are_closed = 1;
	close(0);
	close(1);
	close(2);
}

/* Closed between LAPI_Init and the first message to another task, which opens a way to it. */
static int use_lapi_close_standard(void)
{
	lapi_info_t info;
	lapi_handle_t handle;

	host_info(&info);
	HOST_OK(LAPI_Init(&handle, &info));
	close_standard();
	if (host_case_failures == 0)
		host_use(handle);
	closed_ones_are_free();
	HOST_OK(LAPI_Term(handle));
	closed_ones_are_free();
	return host_case_failures;
}

/* The program closes all numbers up to its soft limit, and files of its own take them. */
static int use_lapi_and_close(void)
{
	char name[] = "/tmp/first_call.XXXXXX";
	struct stat before, after;
	lapi_info_t info;
	lapi_handle_t handle;
	int fd, file, limit = (int)files().rlim_cur;

	host_info(&info);
	HOST_OK(LAPI_Init(&handle, &info));
	for (fd = 3; fd < limit; fd++)
		close(fd);
	file = mkstemp(name);
	HOST_CHECK(file == 3 && write(file, name, 1) == 1 && fstat(file, &before) == 0);
	while ((fd = dup(file)) >= 0)
		;
	if (host_case_failures == 0)
		host_use(handle);
	HOST_CHECK(fstat(file, &after) == 0 && after.st_size == before.st_size);
	unlink(name);
	for (fd = 3; fd < limit; fd++)
		close(fd);
	HOST_OK(LAPI_Term(handle));
	return host_case_failures;
}

static DAT_RETURN open_adapter(void)
{
	DAT_IA_HANDLE adapter = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE events = DAT_HANDLE_NULL;
	DAT_RETURN code = dat_ia_open("lapi-lo", 8, &events, &adapter);

	closed_ones_are_free();
	if (code == DAT_SUCCESS)
		dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG);
	return code;
}

static int use_dat(void)
{
	return open_adapter() != DAT_SUCCESS || host_case_failures > 0;
}

/* Closed once core has started: descriptors that are opened later get none of these numbers. */
static int use_dat_close_standard(void)
{
	DAT_IA_HANDLE adapter = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE events = DAT_HANDLE_NULL;
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_FD fd = -1;

	HOST_CHECK(dat_ia_open("lapi-lo", 8, &events, &adapter) == DAT_SUCCESS);
	close_standard();
	HOST_CHECK(dat_cno_fd_create(adapter, &fd, &cno) == DAT_SUCCESS && fd > 2);
	closed_ones_are_free();
	dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG);
	return host_case_failures;
}

static int without_standard(int (*work)(void))
{
	close_standard();
	return work();
}

static int use_lapi_without_standard(void)
{
	return without_standard(use_lapi);
}

static int use_dat_without_standard(void)
{
	return without_standard(use_dat);
}

static int lapi_is_refused(void)
{
	lapi_info_t info;
	lapi_handle_t handle;

	host_info(&info);
	return LAPI_Init(&handle, &info) != LAPI_ERR_UNKNOWN;
}

static int dat_is_refused(void)
{
	return DAT_GET_TYPE(open_adapter()) != DAT_INVALID_STATE;
}

/* There is no uDAPL for 32-bit programs. */
static const int has_dat = sizeof(void *) == 8;

static void children(int (*work)(void), int number)
{
	pid_t pids[CHILDREN];
	int i;

	for (i = 0; i < number; i++)
		pids[i] = child(work);
	for (i = 0; i < number; i++)
		HOST_CHECK(await(pids[i]) == 0);
}

static void *use_in_thread(void *status)
{
	*(int *)status = use_dat();
	return NULL;
}

/* Threads that meet in the first call: one starts core, the others wait for it. */
static void first_call_of_threads(void)
{
	pthread_t ids[8];
	int status[8], i;

	for (i = 0; i < 8; i++)
		HOST_CHECK(pthread_create(&ids[i], NULL, use_in_thread, &status[i]) == 0);
	for (i = 0; i < 8; i++) {
		pthread_join(ids[i], NULL);
		HOST_CHECK(status[i] == 0);
	}
}

/* The main of a daemon: its parent has ended, its standard descriptors are /dev/null. */
static int be_daemon(int (*work)(void))
{
	int ends[2];
	char status = 99;
	pid_t pid;

	HOST_CHECK(pipe(ends) == 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		if (daemon(1, 0) != 0)
			_exit(1);
		status = (char)work();
		_exit(write(ends[1], &status, 1) != 1);
	}
	close(ends[1]);
	HOST_CHECK(read(ends[0], &status, 1) == 1);
	close(ends[0]);
	await(pid);
	return status;
}

static void nothing_at_load(void)
{
	HOST_CHECK(threads() == 1);
	HOST_CHECK(handled_signals() == 0);
}

static int as_task(void)
{
	const struct rlimit limit = {256, files().rlim_max};
	int quiet = atoi(getenv("MP_CHILD")) != 0;

	nothing_at_load();
	HOST_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	host_end_case("nothing_at_load", quiet);
	children(use_lapi, 1); /* each task's child: they meet */
	host_end_case("children_are_the_tasks", quiet);
	children(use_lapi_without_standard, 1);
	children(use_lapi_close_standard, 1);
	host_end_case("standard_descriptors_closed", quiet);
	if (limit.rlim_max > 2 * limit.rlim_cur) {
		children(use_lapi_and_close, 1);
		host_end_case("all_descriptors_closed", quiet);
	}
	HOST_CHECK(threads() == 1);
	use_lapi();
	HOST_CHECK(files().rlim_cur == 256);
	host_end_case("then_the_parents", quiet);
	children(lapi_is_refused, 1);
	if (has_dat)
		children(dat_is_refused, 1);
	host_end_case("later_children_are_refused", quiet);
	return host_close("first_call", quiet);
}

/* Leaves this process mib MiB of a resource beyond the address space that it has. */
static void leave_mib(int resource, rlim_t mib)
{
	struct rlimit limit;
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	HOST_CHECK(file && fscanf(file, "%lu", &pages) == 1);
	if (file)
		fclose(file);
	HOST_CHECK(getrlimit(resource, &limit) == 0);
	limit.rlim_cur = mib ? (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (mib << 20)
	                     : limit.rlim_max;
	HOST_CHECK(setrlimit(resource, &limit) == 0);
}

static void cannot_start(void)
{
	lapi_info_t info;
	lapi_handle_t handle;
	char text[LAPI_MAX_ERR_STRING];

	HOST_CHECK(DAT_GET_TYPE(open_adapter()) == DAT_INSUFFICIENT_RESOURCES);
	host_info(&info);
	HOST_CODE(LAPI_ERR_MEMORY_EXHAUSTED, LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Msg_string(LAPI_ERR_UNKNOWN, text));
	HOST_CHECK(threads() == 1);
}

/* Too little memory, then enough: the same process tries again. */
static int limited(int resource)
{
	leave_mib(resource, 100);
	cannot_start();
	leave_mib(resource, 0);
	HOST_CHECK(use_dat() == 0);
	return host_case_failures;
}

static int limited_space(void)
{
	return limited(RLIMIT_AS);
}

static int limited_data(void)
{
	return limited(RLIMIT_DATA);
}

/* Under a limit with which Go's run-time alone could not start. */
static int works_in_little_space(void)
{
	leave_mib(RLIMIT_AS, 300);
	HOST_CHECK(use_dat() == 0);
	return host_case_failures;
}

static int with_dat(void)
{
	nothing_at_load();
	host_end_case("nothing_at_load", 0);
	HOST_CHECK(be_daemon(use_dat) == 0);
	host_end_case("daemon", 0);
	children(use_dat_without_standard, 1);
	children(use_dat_close_standard, 1);
	host_end_case("standard_descriptors_closed", 0);
	children(limited_space, 1);
	children(limited_data, 1);
	host_end_case("too_little_memory", 0);
	children(works_in_little_space, CHILDREN);
	host_end_case("little_memory", 0);
	children(use_dat, CHILDREN);
	first_call_of_threads();
	host_end_case("children_and_parent", 0);
	children(dat_is_refused, 1);
	children(lapi_is_refused, 1);
	host_end_case("later_children_are_refused", 0);
	return host_close("first_call", 0);
}

/* A job of one task, started by hand. */
static int by_hand(void)
{
	setenv("MP_MSG_API", "lapi", 1);
	setenv("MP_CHILD", "0", 1);
	setenv("MP_PROCS", "1", 1);
	setenv("MP_PARTITION", "4711", 1);
	HOST_CHECK(be_daemon(use_lapi) == 0);
	HOST_CHECK(threads() == 1);
	host_end_case("daemon", 0);
	return host_close("first_call", 0);
}

int main(int argc, char **argv)
{
	alarm(5 * SECONDS);
	if (argc < 2)
		return as_task();
	return strcmp(argv[1], "dat") == 0 ? with_dat() : by_hand();
}
