/*
 * dump.c - see dump.h. The thread answers each connection with one text and closes it.
 *
 * It is a thread of its own, since a service thread may wait for the lock that the dump is to explain,
 * or be parked. It takes a lock with a bound, and prints without it what can be read: records of waits
 * (waiting.h), who has the lock, and how often it was taken. The memory of the text is there from the
 * beginning.
 *
 * The socket has an abstract name, lapi-dump.<user>.<process>.<random number>, which goes with the
 * process. A process of another user gets nothing.
 */
#define _GNU_SOURCE
#include "progress/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "progress/futex.h"
#include "progress/lock.h"
#include "progress/signals.h"
#include "progress/waiting.h"

enum {
	TEXT_SIZE = 64 << 10,
	STACK_SIZE = 256 << 10,
	LOCK_TRIES = 300, /* for a lock, one a millisecond */
	SEND_MS = 1000,   /* for a client that does not read */
	LEAST_FD = 3
};

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static int contexts; /* under starting */
static pthread_t thread;
static int listener = -1, bell = -1; /* constant while the thread runs; bell: atomic */
static int stopping, signalled;      /* atomic */
static void (*printer)(char *text, size_t size);
static char text[TEXT_SIZE]; /* the thread's */
static int handled;          /* a signal, 0: none; under starting */
static struct sigaction replaced;
static void on_signal(int number);

void cshim_dump_line(cshim_dump *dump, const char *format, ...)
{
	size_t room = dump->size - dump->used;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(dump->text + dump->used, room, format, arguments);
	va_end(arguments);
	if (n >= 0 && (size_t)n + 1 < room) {
		dump->used += (size_t)n;
		dump->text[dump->used++] = '\n';
	}
}

/* Reads this process's own memory, which may be gone by now; 0: it is. */
static int read_own(void *to, const void *from, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static const char *name_of(const cshim_progress *progress)
{
	return progress && progress->owner.at ? progress->owner.at->name : "none";
}

static void write_waiting(cshim_dump *dump)
{
	int64_t now = cshim_now_ns();
	int i;

	for (i = 0; i < CSHIM_WAITING_MOST; i++) {
		cshim_waiting record;
		char value[48] = "";
		int counter;

		if (!cshim_waiting_read(i, &record))
			continue;
		if (record.shows == CSHIM_SHOWS_COUNTER &&
		    read_own(&counter, record.object, sizeof(counter)))
			snprintf(value, sizeof(value), " counter=%#lx value=%d",
			         (unsigned long)record.object, counter);
		else if (record.shows == CSHIM_SHOWS_COUNTER)
			snprintf(value, sizeof(value), " counter=%#lx", (unsigned long)record.object);
		cshim_dump_line(dump, "thread tid=%u api=%s context=%u call=%s ms=%lld wanted=%lld%s",
		                record.tid, name_of(record.progress),
		                record.progress ? __atomic_load_n(&record.progress->handle,
		                                                  __ATOMIC_RELAXED)
		                                : 0,
		                record.call, (long long)((now - record.since_ns) / 1000000),
		                (long long)record.wanted, value);
	}
	if (cshim_waiting_without())
		cshim_dump_line(dump, "threads without=%u", cshim_waiting_without());
}

static void nap(void)
{
	uint32_t word = 0;

	cshim_futex_wait(&word, 0, 1000000);
}

/* Takes a lock, within a bound; 1 if so. */
static int take(cshim_progress *progress)
{
	int tries;

	for (tries = 0; tries < LOCK_TRIES; tries++) {
		if (cshim_trylock(progress) == 0)
			return 1;
		nap();
	}
	return 0;
}

#define LOOK(member) __atomic_load_n(&progress->member, __ATOMIC_RELAXED)

static void write_block(cshim_dump *dump, cshim_progress *progress)
{
	const cshim_owner *owner = progress->owner.at;
	uint32_t handle = LOOK(handle), taken = LOOK(lock_count), polls = LOOK(polls);

	if (!cshim_alive(progress, handle) || !owner->dump)
		return;
	owner->dump(progress, dump, 0);
	if (take(progress)) {
		if (cshim_alive(progress, handle))
			owner->dump(progress, dump, 1);
		cshim_unlock(progress);
		return;
	}
	cshim_dump_line(dump, "lock context=%u tid=%u handler=%d same=%d polls=%u ms=%d", handle,
	                LOOK(lock_word), LOOK(lock_floor) != 0, LOOK(lock_count) == taken,
	                LOOK(polls) - polls, LOCK_TRIES);
}

static size_t write_all(void)
{
	cshim_dump dump = {text, sizeof(text) - 8, 0};
	cshim_progress *progress = NULL;

	cshim_dump_line(&dump, "lapi-dump version=1 pid=%d", (int)getpid());
	write_waiting(&dump);
	while ((progress = cshim_lock_next(progress)) != NULL)
		write_block(&dump, progress);
	dump.size = sizeof(text);
	cshim_dump_line(&dump, "end");
	return dump.used;
}

/* 1 if the process at the other end is this user's, or root's. */
static int may_ask(int client)
{
	struct ucred other;
	socklen_t size = sizeof(other);

	return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
	       (other.uid == geteuid() || other.uid == 0);
}

static void send_all(int client, const char *from, size_t size)
{
	struct pollfd writable = {.fd = client, .events = POLLOUT};

	while (size > 0 && poll(&writable, 1, SEND_MS) == 1) {
		ssize_t n = send(client, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0 && errno != EAGAIN)
			return;
		if (n > 0) {
			from += n;
			size -= (size_t)n;
		}
	}
}

static void answer(void)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client < 0)
		return;
	if (may_ask(client))
		send_all(client, text, write_all());
	close(client);
}

static void *serve(void *unused)
{
	struct pollfd both[2] = {{.fd = listener, .events = POLLIN}, {.fd = bell, .events = POLLIN}};
	uint64_t rings;

	(void)unused;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_setname_np(pthread_self(), "lapi-dump");
	while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		if (poll(both, 2, -1) < 0)
			continue;
		if (both[1].revents && read(bell, &rings, sizeof(rings)) > 0 &&
		    __atomic_exchange_n(&signalled, 0, __ATOMIC_RELAXED))
			printer(text, write_all());
		if (both[0].revents & POLLIN)
			answer();
	}
	return NULL;
}

/* A descriptor out of the way of the standard ones. */
static int above(int fd)
{
	int moved;

	if (fd < 0 || fd >= LEAST_FD)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, LEAST_FD);
	close(fd);
	return moved;
}

static int listen_there(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = above(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	uint32_t random = 0;
	int n;

	if (fd < 0 || getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)cshim_now_ns();
	n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "lapi-dump.%u.%d.%08x",
	             (unsigned)geteuid(), (int)getpid(), random);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address,
	                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0 &&
	    listen(fd, 4) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int start_thread(void)
{
	pthread_attr_t attributes;
	sigset_t before;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	cshim_signals_block(&before);
	error = pthread_create(&thread, &attributes, serve, NULL);
	cshim_signals_restore(&before);
	pthread_attr_destroy(&attributes);
	return error == 0;
}

static void close_all(void)
{
	int fd = __atomic_exchange_n(&bell, -1, __ATOMIC_SEQ_CST);

	if (fd >= 0)
		close(fd);
	if (listener >= 0)
		close(listener);
	listener = -1;
}

/* Without the thread, for want of something, all works but dumps. */
static void start(void)
{
	__atomic_store_n(&stopping, 0, __ATOMIC_RELAXED);
	listener = listen_there();
	__atomic_store_n(&bell, above(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), __ATOMIC_SEQ_CST);
	if (listener < 0 || bell < 0 || !start_thread())
		close_all();
}

static void ring(void)
{
	static const uint64_t one = 1;
	int fd = __atomic_load_n(&bell, __ATOMIC_SEQ_CST);

	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return; /* it rings already */
}

/* Gives the signal back, unless the program has a handler for it by now. */
static void forget_signal(void)
{
	struct sigaction now;

	if (handled && sigaction(handled, NULL, &now) == 0 && now.sa_handler == on_signal)
		sigaction(handled, &replaced, NULL);
	handled = 0;
}

void cshim_dump_begin(void (*print)(char *text, size_t size))
{
	pthread_mutex_lock(&starting);
	printer = print;
	if (contexts++ == 0)
		start();
	pthread_mutex_unlock(&starting);
}

void cshim_dump_end(void)
{
	pthread_mutex_lock(&starting);
	if (--contexts == 0)
		forget_signal();
	if (contexts == 0 && listener >= 0) {
		__atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
		ring();
		pthread_join(thread, NULL);
		close_all();
	}
	pthread_mutex_unlock(&starting);
}

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	__atomic_store_n(&signalled, 1, __ATOMIC_RELAXED);
	ring();
	errno = saved;
}

int cshim_dump_on_signal(int number)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction before;
	int refused;

	pthread_mutex_lock(&starting);
	refused = sigaction(number, NULL, &before) != 0 || before.sa_flags & SA_SIGINFO ||
	          (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN &&
	           before.sa_handler != on_signal);
	if (!refused && before.sa_handler != on_signal && sigaction(number, &action, NULL) == 0) {
		handled = number;
		replaced = before;
	}
	pthread_mutex_unlock(&starting);
	return refused;
}

int cshim_dump_first_signal(void) { return SIGRTMIN; }
