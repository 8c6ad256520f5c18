/*
 * descriptors.c - numbers 0, 1 and 2 are the program's, also where it has closed them: its output
 * must not go into a socket of the library's, nor end the process by SIGPIPE.
 *
 * A held number is a descriptor that only names a place (O_PATH): to read or write it fails with
 * EBADF, as if it were closed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "start/start.h"
#include "start/steps.h"

enum { STANDARD = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int held[STANDARD], holders; /* under the mutex */

static void hold(void)
{
	int fd;

	/* open takes the lowest free number */
	while ((fd = open("/", O_PATH | O_CLOEXEC)) >= 0 && fd < STANDARD)
		held[fd] = 1;
	if (fd >= 0)
		close(fd);
}

/* Also what the program has closed since another holder took the free ones. */
void cshim_descriptors_hold(void)
{
	pthread_mutex_lock(&mutex);
	holders++;
	hold();
	pthread_mutex_unlock(&mutex);
}

/*
 * The program may have put a file of its own in its place meanwhile, as dup2 does; the kernel has no
 * call that closes a number only if it names one file.
 */
static void give_back(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	held[fd] = 0;
	if (flags >= 0 && flags & O_PATH)
		close(fd);
}

void cshim_descriptors_release(void)
{
	int fd;

	pthread_mutex_lock(&mutex);
	if (--holders == 0)
		for (fd = 0; fd < STANDARD; fd++)
			if (held[fd])
				give_back(fd);
	pthread_mutex_unlock(&mutex);
}

/*
 * Of Go's poller: its epoll descriptor, and the eventfd that ends its sleep. The run-time ends the
 * process where one of them is closed. scripts/link-core gives them these names. Weak: a run-time
 * that has no such variables keeps its numbers.
 */
extern int32_t cshim_go_epoll_fd
	__attribute__((weak, visibility("hidden")));
extern uintptr_t cshim_go_event_fd
	__attribute__((weak, visibility("hidden")));

static int above(int fd, int least)
{
	return fd > 2 && fd < least ? fcntl(fd, F_DUPFD_CLOEXEC, least) : -1;
}

/*
 * The run-time's threads may be about to use the old numbers, so these stay open; the program may
 * close them.
 */
void cshim_descriptors_move_runtime(int least)
{
	int fd;

	if (!&cshim_go_epoll_fd || !&cshim_go_event_fd)
		return;
	fd = above(__atomic_load_n(&cshim_go_epoll_fd, __ATOMIC_SEQ_CST), least);
	if (fd >= 0)
		__atomic_store_n(&cshim_go_epoll_fd, fd, __ATOMIC_SEQ_CST);
	fd = above((int)__atomic_load_n(&cshim_go_event_fd, __ATOMIC_SEQ_CST), least);
	if (fd >= 0)
		__atomic_store_n(&cshim_go_event_fd, (uintptr_t)fd, __ATOMIC_SEQ_CST);
}

int cshim_descriptors_runtime_works(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &cshim_go_event_fd};

	return !&cshim_go_epoll_fd || !&cshim_go_event_fd || cshim_go_epoll_fd < 0 ||
	       epoll_ctl(cshim_go_epoll_fd, EPOLL_CTL_MOD, (int)cshim_go_event_fd, &event) == 0;
}

/* Only goroutines that wait for sockets, which are closed as well, miss something. */
void cshim_descriptors_repair_runtime(int poller, int bell)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &cshim_go_event_fd};

	if (epoll_ctl(poller, EPOLL_CTL_ADD, bell, &event) != 0)
		return;
	__atomic_store_n(&cshim_go_event_fd, (uintptr_t)bell, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cshim_go_epoll_fd, poller, __ATOMIC_SEQ_CST);
}
