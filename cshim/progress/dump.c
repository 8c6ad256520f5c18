/*
 * dump.c - see dump.h. The thread answers each connection with one text and closes it.
 *
 * It is a thread of its own, since a service thread may wait for the lock that the dump is to explain,
 * or be parked. It takes a lock with a bound, and prints without it what can be read: records of waits
 * (waiting.h), who has the lock, and how often it was taken. The memory of the text is there from the
 * beginning.
 *
 * The socket has an abstract name, lapi-dump.<user>.<process>.<random number>, which goes with the
 * process. A process of another user gets nothing. The process wakes the thread by a connection, too:
 * that needs no descriptor that the program may have closed, or given to a file of its own. The thread
 * makes sure that the descriptor is its socket before each use, and ends where it is not.
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
#include <string.h>
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
static int listener = -1; /* constant while the thread runs */
static struct sockaddr_un own_name; /* likewise */
static uint32_t own_size; /* atomic: its length; 0: there is no thread */
static int stopping, signalled; /* atomic */
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

/* 1 if the listener's number is still that of the socket. */
static int is_ours(void)
{
	struct sockaddr_un name;
	socklen_t size = sizeof(name);

	return getsockname(listener, (struct sockaddr *)&name, &size) == 0 && size == own_size &&
	       memcmp(&name, &own_name, size) == 0;
}

static void answer(int client)
{
	if (__atomic_exchange_n(&signalled, 0, __ATOMIC_RELAXED))
		printer(text, write_all());
	else if (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE) && may_ask(client))
		send_all(client, text, write_all());
}

static void *serve(void *unused)
{
	struct pollfd asked = {.fd = listener, .events = POLLIN};

	(void)unused;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_setname_np(pthread_self(), "lapi-dump");
	while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
		int client;

		if (poll(&asked, 1, -1) < 0)
			continue;
		if (!is_ours())
			break;
		client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client < 0)
			continue;
		answer(client);
		close(client);
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
	int fd = above(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	uint32_t random = 0;
	int n;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)cshim_now_ns();
	memset(&own_name, 0, sizeof(own_name));
	own_name.sun_family = AF_UNIX;
	n = snprintf(own_name.sun_path + 1, sizeof(own_name.sun_path) - 1, "lapi-dump.%u.%d.%08x",
	             (unsigned)geteuid(), (int)getpid(), random);
	own_size = (uint32_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&own_name, own_size) == 0 && listen(fd, 4) == 0)
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

static void close_listener(void)
{
	if (listener >= 0 && is_ours())
		close(listener);
	listener = -1;
	__atomic_store_n(&own_size, 0, __ATOMIC_RELAXED);
}

/* Without the thread, for want of something, all works but dumps. */
static void start(void)
{
	__atomic_store_n(&stopping, 0, __ATOMIC_RELAXED);
	listener = listen_there();
	if (listener < 0 || !start_thread())
		close_listener();
}

/*
 * Wakes the thread. Also in a signal handler. It does not wait: where others are waiting to be answered,
 * the thread is awake.
 */
static void wake(void)
{
	uint32_t size = __atomic_load_n(&own_size, __ATOMIC_RELAXED);
	int fd = size ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

	if (fd < 0)
		return;
	/* A failure: the thread has ended, or is awake. */
	(void)!connect(fd, (struct sockaddr *)&own_name, size);
	close(fd);
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
		wake();
		pthread_join(thread, NULL);
		close_listener();
	}
	pthread_mutex_unlock(&starting);
}

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	__atomic_store_n(&signalled, 1, __ATOMIC_RELAXED);
	wake();
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
