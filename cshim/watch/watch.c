/* watch.c - the userfaultfd, and the thread that reads it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "watch/watch.h"
#include "cpu/shared.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The exact address is not needed: a kernel that offers it is Linux 5.18 or later. Before 5.15 the
 * kernel had a flag in place of the count of changes, which the end of one change cleared for all.
 */
#define FEATURES                                                                           \
	(UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | \
	 UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EXACT_ADDRESS)

enum { ROOM = 4096 }; /* a power of two */

struct cshim_watch {
	int fd;         /* the userfaultfd */
	int bell;       /* an eventfd: there are events */
	int stop;       /* an eventfd: the thread ends */
	CSHIM_SHARED uint32_t ended; /* cshim_watch_wait returns 0 */
	pthread_t thread;
	/*
	 * Not 0 from before an event is read until it can be taken: the thread whose event was read
	 * goes on meanwhile.
	 */
	CSHIM_SHARED uint32_t reading;
	CSHIM_SHARED uint32_t lost;
	CSHIM_SHARED uint32_t put, taken; /* counts of events; one writer each */
	cshim_watch_event events[ROOM];
};

/* 0 if the kind of the message is no change of memory. */
static uint64_t convert(const struct uffd_msg *message, cshim_watch_event *event)
{
	event->to = 0;
	switch (message->event) {
	case UFFD_EVENT_UNMAP:
	case UFFD_EVENT_REMOVE:
		event->kind =
			message->event == UFFD_EVENT_UNMAP ? CSHIM_WATCH_GONE : CSHIM_WATCH_TAKEN;
		event->lo = message->arg.remove.start;
		event->hi = message->arg.remove.end;
		return event->kind;
	case UFFD_EVENT_REMAP:
		event->kind = CSHIM_WATCH_MOVED;
		event->lo = message->arg.remap.from;
		event->hi = event->lo + message->arg.remap.len;
		event->to = message->arg.remap.to;
		return event->kind;
	default:
		return 0;
	}
}

static void put(cshim_watch *watch, const struct uffd_msg *message)
{
	uint32_t at = CSHIM_OWN(watch->put);
	cshim_watch_event *event = &watch->events[at % ROOM];

	if (at - __atomic_load_n(&watch->taken, __ATOMIC_ACQUIRE) == ROOM)
		__atomic_store_n(&watch->lost, 1, __ATOMIC_RELEASE);
	else if (convert(message, event))
		__atomic_store_n(&watch->put, at + 1, __ATOMIC_RELEASE);
}

static void ring(int eventfd)
{
	uint64_t one = 1;

	if (write(eventfd, &one, sizeof one) < 0)
		return; /* it is full: has been rung */
}

/* Until a moment when there are none. */
static void read_events(cshim_watch *watch)
{
	struct uffd_msg message;

	__atomic_store_n(&watch->reading, 1, __ATOMIC_SEQ_CST);
	while (read(watch->fd, &message, sizeof message) == (ssize_t)sizeof message)
		put(watch, &message);
	__atomic_store_n(&watch->reading, 0, __ATOMIC_RELEASE);
	ring(watch->bell);
}

static void *reader(void *argument)
{
	cshim_watch *watch = argument;
	struct pollfd files[2] = {{.fd = watch->fd, .events = POLLIN},
	                          {.fd = watch->stop, .events = POLLIN}};

	pthread_setname_np(pthread_self(), "lapi-watch");
	while (!files[1].revents) {
		if (poll(files, 2, -1) > 0 && files[0].revents)
			read_events(watch);
	}
	return NULL;
}

/* No signal of the program's is for the thread: a handler might unmap memory. */
static int start(cshim_watch *watch)
{
	sigset_t every, before;
	int error;

	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, &before);
	error = pthread_create(&watch->thread, NULL, reader, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

/*
 * Whether a thread is between the moment before its change and a moment after its event was read.
 * It is a copy of no bytes: the kernel looks at its count of changes first, and then finds the
 * arguments invalid.
 */
static int changing(cshim_watch *watch)
{
	struct uffdio_copy none = {0};

	return ioctl(watch->fd, UFFDIO_COPY, &none) == 0 || errno != EINVAL;
}

static int open_userfaultfd(cshim_watch *watch, const char **step)
{
	struct uffdio_api api = {.api = UFFD_API, .features = FEATURES};

	*step = "userfaultfd";
	watch->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (watch->fd < 0)
		return errno;
	*step = "userfaultfd has not what is needed (Linux 5.18)";
	if (ioctl(watch->fd, UFFDIO_API, &api) != 0)
		return errno;
	*step = "userfaultfd does not tell of changes under way";
	return changing(watch) ? ENOSYS : 0;
}

static int open_all(cshim_watch *watch, const char **step)
{
	int error = open_userfaultfd(watch, step);

	if (error)
		return error;
	*step = "eventfd";
	watch->bell = eventfd(0, EFD_CLOEXEC);
	watch->stop = eventfd(0, EFD_CLOEXEC);
	if (watch->bell < 0 || watch->stop < 0)
		return errno;
	*step = "a thread to watch memory";
	return start(watch);
}

static void close_files(cshim_watch *watch)
{
	const int files[] = {watch->fd, watch->bell, watch->stop};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		if (files[i] >= 0)
			close(files[i]);
	}
}

cshim_watch *cshim_watch_open(int *error, const char **step)
{
	cshim_watch *watch = calloc(1, sizeof *watch);

	*step = "memory for events";
	*error = ENOMEM;
	if (!watch)
		return NULL;
	watch->fd = watch->bell = watch->stop = -1;
	*error = open_all(watch, step);
	if (*error == 0)
		return watch;
	close_files(watch);
	free(watch);
	return NULL;
}

/*
 * In the mode for write-protection, and no page is ever protected: no fault goes another way than
 * before. In the mode for missing pages the program's next touch of what it has given back would
 * wait for an answer, and the kernel's own touch, as of read, would fail.
 */
int cshim_watch_add(cshim_watch *watch, uint64_t lo, uint64_t hi)
{
	struct uffdio_register range = {.range = {lo, hi - lo}, .mode = UFFDIO_REGISTER_MODE_WP};

	return ioctl(watch->fd, UFFDIO_REGISTER, &range) == 0 ? 0 : errno;
}

int cshim_watch_remove(cshim_watch *watch, uint64_t lo, uint64_t hi)
{
	struct uffdio_range range = {lo, hi - lo};

	return ioctl(watch->fd, UFFDIO_UNREGISTER, &range) == 0 ? 0 : errno;
}

/*
 * A change is off the kernel's count only after its event was read; so the count is looked at
 * first, then whether what was read can be taken, then whether there is any.
 */
int cshim_watch_look(cshim_watch *watch)
{
	int settled = !changing(watch), events;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	settled = settled && !__atomic_load_n(&watch->reading, __ATOMIC_ACQUIRE);
	events = __atomic_load_n(&watch->put, __ATOMIC_ACQUIRE) != CSHIM_OWN(watch->taken) ||
	         __atomic_load_n(&watch->lost, __ATOMIC_ACQUIRE);
	return (settled ? CSHIM_WATCH_SETTLED : 0) | (events ? CSHIM_WATCH_EVENTS : 0);
}

size_t cshim_watch_take(cshim_watch *watch, cshim_watch_event *events, size_t max, int *lost)
{
	uint32_t there = __atomic_load_n(&watch->put, __ATOMIC_ACQUIRE);
	uint32_t at = CSHIM_OWN(watch->taken);
	size_t n = 0;

	while (n < max && at != there)
		events[n++] = watch->events[at++ % ROOM];
	__atomic_store_n(&watch->taken, at, __ATOMIC_RELEASE);
	*lost = (int)__atomic_exchange_n(&watch->lost, 0, __ATOMIC_ACQ_REL);
	return n;
}

int cshim_watch_wait(cshim_watch *watch)
{
	uint64_t rung;

	while (read(watch->bell, &rung, sizeof rung) < 0 && errno == EINTR)
		;
	return !__atomic_load_n(&watch->ended, __ATOMIC_ACQUIRE);
}

void cshim_watch_end(cshim_watch *watch)
{
	__atomic_store_n(&watch->ended, 1, __ATOMIC_RELEASE);
	ring(watch->bell);
}

void cshim_watch_close(cshim_watch *watch)
{
	ring(watch->stop);
	pthread_join(watch->thread, NULL);
	close_files(watch);
	free(watch);
}
