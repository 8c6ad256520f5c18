/*
 * exit_launcher.c - the end of a task that mpiexec.hydra or srun --mpi=pmi2 has started (PMI-1).
 * A process that has begun with its launcher must say that it ends, else the launcher takes its
 * end, even with status 0, for a crash. It can be said once, so only when the process ends.
 *
 * Where MPI is in the process, MPI_Finalize says it; a second time would be answered with a signal.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lapi/internal.h"

/* The launcher's socket; -1: none. Its inode tells whether the descriptor is still that socket. */
static int launcher = -1;
static ino_t launcher_inode;
static bool was_asked;
static bool init_failed; /* the latest LAPI_Init: other tasks may wait for this one */

void cshim_exit_launcher_set(int fd, bool asked, bool failed)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return;
	launcher_inode = st.st_ino;
	__atomic_store_n(&was_asked, asked, __ATOMIC_RELAXED);
	__atomic_store_n(&init_failed, failed, __ATOMIC_RELAXED);
	__atomic_store_n(&launcher, fd, __ATOMIC_RELEASE);
}

static int is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int cshim_mpi_is_used(void)
{
	int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
	int flag = 0;

	return initialized && initialized(&flag) == 0 && flag;
}

/*
 * The launcher acknowledges, on a loaded host after seconds. A task that is gone by then ends its
 * launcher's daemon by a broken pipe, and all tasks of the node. The limit is against launchers
 * that are stopped; if the launcher is gone, poll returns at once.
 */
enum { LEAVE_MS = 60000 };

long long cshim_exit_clock(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Signals, such as a profiler's, do not shorten the wait. */
static void await_answer(int fd, int limit_ms)
{
	struct pollfd answer = {.fd = fd, .events = POLLIN};
	long long end = cshim_exit_clock() + limit_ms;

	while (limit_ms > 0 && poll(&answer, 1, limit_ms) < 0 && errno == EINTR)
		limit_ms = (int)(end - cshim_exit_clock());
}

static void finalize(int fd)
{
	static const char word[] = "cmd=finalize\n";

	if (send(fd, word, sizeof(word) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		await_answer(fd, LEAVE_MS);
}

/*
 * A launcher that ends a job throws away what tasks have said and it has not read, and with it the
 * reason. Waits until it has, a second at most. exit itself would write stdout's buffer too late.
 */
static void await_output(void)
{
	static const struct timespec while_it_reads = {.tv_nsec = 1000000};
	int fd, turn, left, unread = 1;

	(void)fflush(stdout);
	for (turn = 0; turn < 1000 && unread; turn++) {
		for (unread = 0, fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
			unread |= ioctl(fd, FIONREAD, &left) == 0 && left > 0 && is_pipe(fd);
		if (unread)
			(void)nanosleep(&while_it_reads, NULL);
	}
}

void cshim_exit_launcher(int status, int live)
{
	int fd = __atomic_exchange_n(&launcher, -1, __ATOMIC_ACQ_REL);
	struct stat st;
	char word[40];

	status &= 0xff;
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_ino != launcher_inode)
		return;
	if (status != 0 && (live || __atomic_load_n(&init_failed, __ATOMIC_RELAXED))) {
		/* A failure: the others must not wait for this task, and the job has its status. */
		await_output();
		(void)snprintf(word, sizeof(word), "cmd=abort exitcode=%d\n", status);
		(void)!send(fd, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	}
	if (__atomic_load_n(&was_asked, __ATOMIC_RELAXED) && !cshim_mpi_is_used())
		finalize(fd);
}
