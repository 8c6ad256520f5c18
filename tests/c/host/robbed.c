/*
 * robbed.c - the program closes all descriptors, also the library's, and opens files of its own. The
 * library notices: one line, and the error handler, or the event of an adapter's end, also where
 * Go's run-time looks first. Nothing hangs, nothing is written to the files.
 *
 * Arguments: none: as a task of two, both of which do it; "dat": uDAPL alone.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dat2/udat.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { LIMIT = 300, FILES = 8, SECONDS = 1000000 };

static int reported, code_reported;
static int files[FILES];
static int late; /* the program computes after it, so that the run-time's poller looks first */
static char folder[] = "/tmp/robbed.XXXXXX";

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *here, int *src)
{
	(void)h, (void)type, (void)here, (void)src;
	if (*code != LAPI_ERR_UNKNOWN)
		return; /* the other task's end */
	code_reported = *code;
	__atomic_add_fetch(&reported, 1, __ATOMIC_SEQ_CST);
}

/* Soft and hard limit are the same: no number is out of reach. */
static void limit_files(void)
{
	const struct rlimit limit = {LIMIT, LIMIT};

	HOST_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void close_and_open(void)
{
	char name[100];
	int i;

	close_range(3, ~0u, 0);
	for (i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "%s/%d", folder, i);
		files[i] = open(name, O_RDWR | O_CREAT, 0600);
		HOST_CHECK(files[i] >= 0);
	}
}

static void files_are_open(void)
{
	int i;

	for (i = 0; i < FILES; i++)
		HOST_CHECK(fcntl(files[i], F_GETFD) >= 0);
}

static void files_are_empty(void)
{
	char name[100];
	struct stat status;
	int i;

	for (i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "%s/%d", folder, i);
		HOST_CHECK(stat(name, &status) == 0 && status.st_size == 0);
		unlink(name);
	}
	rmdir(folder);
}

static int as_task(void)
{
	lapi_info_t info;
	lapi_handle_t handle;
	lapi_cntr_t never;
	void *where[2];
	static int word;
	int task = 0, i, rc = LAPI_SUCCESS;

	host_info(&info);
	info.err_hndlr = (LAPI_err_hndlr *)on_error;
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Address_init(handle, &word, where));
	HOST_OK(LAPI_Setcntr(handle, &never, 0));
	HOST_OK(LAPI_Gfence(handle));
	close_and_open();
	usleep(late ? SECONDS / 2 : 0);
	for (i = 0; i < 3000 && !__atomic_load_n(&reported, __ATOMIC_SEQ_CST); i++) {
		if (rc == LAPI_SUCCESS)
			rc = LAPI_Put(handle, 1 - task, sizeof word, where[1 - task], &word, NULL,
			              NULL, NULL);
		LAPI_Probe(handle);
		usleep(5000);
	}
	HOST_CHECK(reported == 1 && code_reported == LAPI_ERR_UNKNOWN);
	HOST_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Probe(handle));
	sleep(1); /* the run-time looks at its own */
	HOST_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Term(handle));
	files_are_open();
	return host_case_failures != 0;
}

static int with_dat(void)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE asynchronous = DAT_HANDLE_NULL;
	DAT_EVENT event;
	DAT_COUNT more;

	HOST_CHECK(dat_ia_open("lapi-lo", 8, &asynchronous, &ia) == DAT_SUCCESS);
	close_and_open();
	usleep(late ? SECONDS / 2 : 0);
	HOST_CHECK(dat_evd_wait(asynchronous, 20 * SECONDS, 1, &event, &more) == DAT_SUCCESS);
	HOST_CHECK(event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	sleep(1);
	HOST_CHECK(DAT_GET_TYPE(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG)) == DAT_INTERNAL_ERROR);
	files_are_open();
	return host_case_failures != 0;
}

/* Runs work in a child: text is what it has written on its standard error. Its status. */
static int in_child(int (*work)(void), char *text, size_t size)
{
	int ends[2], status = -1;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	HOST_CHECK(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		alarm(60);
		limit_files();
		_exit(work());
	}
	close(ends[1]);
	while (used < size - 1 && (n = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = 0;
	close(ends[0]);
	HOST_CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void run_case(int (*work)(void))
{
	static char text[1 << 16];
	int status;

	strcpy(folder, "/tmp/robbed.XXXXXX");
	HOST_CHECK(mkdtemp(folder) != NULL);
	status = in_child(work, text, sizeof text);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	HOST_CHECK(strstr(text, "(docs/scope.md, Closed descriptors)\n") != NULL);
	HOST_CHECK(strstr(text, "goroutine") == NULL);
	if (host_case_failures)
		fprintf(stderr, "status %#x: %s\n", (unsigned)status, text);
	files_are_empty();
}

int main(int argc, char **argv)
{
	int dat = argc > 1 && strcmp(argv[1], "dat") == 0, quiet = 0;

	if (!dat && getenv("MP_CHILD"))
		quiet = atoi(getenv("MP_CHILD")) != 0;
	for (late = 0; late < 2; late++) {
		run_case(dat ? with_dat : as_task);
		host_end_case(late ? "after_a_look_of_the_runtime" : "closed_descriptors_are_named",
		              quiet);
	}
	return host_close("robbed", quiet);
}
