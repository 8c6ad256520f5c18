/*
 * exit_notice.c - a task that ends on purpose, by exit(0) or the end of main, but without
 * LAPI_Term, sends a notice to the other tasks' job sessions. Else they could not distinguish it
 * from a crashed task: if tasks are started by hand, no process that would know the status is their
 * parent.
 *
 * Nothing here may wait for a lock that this thread has: exit may be called in a handler, in a
 * signal handler, with the context lock held. So core leaves the one record to be sent and the
 * sockets here when the context begins, and when another process takes a task's place.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lapi/internal.h"

enum { FLUSH_MS = 1000, ANSWER_MS = 2000 };

typedef struct notice_socket {
	int fd;
	ino_t inode; /* tells whether fd is still that socket */
} notice_socket;

typedef struct notice {
	unsigned char record[CSHIM_EXIT_NOTICE_BYTES];
	size_t bytes, sockets;
	notice_socket to[];
} notice;

/*
 * By context. Atomic: LAPI_Term in one thread and exit in another may meet here; the thread that
 * takes it out has it.
 */
static notice *notices[CSHIM_MAX_CONTEXTS];

static notice *take(int context)
{
	return __atomic_exchange_n(&notices[context], (notice *)NULL, __ATOMIC_ACQ_REL);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

void cshim_exit_notice_set(int context, const void *record, size_t bytes, const int *fds, size_t n)
{
	notice *f = malloc(sizeof(*f) + n * sizeof(f->to[0]));
	size_t i;

	if (!f || bytes > sizeof(f->record)) {
		free(f);
		return; /* then an exit without LAPI_Term counts as a death */
	}
	memcpy(f->record, record, bytes);
	f->bytes = bytes;
	f->sockets = n;
	for (i = 0; i < n; i++) {
		f->to[i].fd = fds[i];
		f->to[i].inode = inode_of(fds[i]);
	}
	free(__atomic_exchange_n(&notices[context], f, __ATOMIC_ACQ_REL));
}

void cshim_exit_notice_clear(int context)
{
	free(take(context));
}

static int waits;        /* its hub answers */
static uint32_t answers; /* how many have come; atomic */

void cshim_exit_notice_wait(void)
{
	__atomic_store_n(&waits, 1, __ATOMIC_RELAXED);
}

void cshim_exit_notice_answered(void)
{
	__atomic_fetch_add(&answers, 1, __ATOMIC_RELEASE);
}

/*
 * Waits until an answer has come beyond the seen ones, or the socket's other end is closed: there
 * is no hub any more. That the socket can be read proves nothing, as it brings news of other tasks,
 * too. The threads that pass notice and answer on take no lock that this one may hold.
 */
static void await_hub(const notice *f, uint32_t seen)
{
	struct pollfd hub = {.fd = f->sockets ? f->to[0].fd : -1}; /* POLLHUP comes unasked */
	long long end = cshim_exit_clock() + ANSWER_MS;

	while (__atomic_load_n(&waits, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&answers, __ATOMIC_ACQUIRE) == seen && cshim_exit_clock() < end)
		if (poll(&hub, 1, 1) > 0)
			return;
}

/*
 * Everything this task has sent to other nodes is to arrive, though the process ends: its last
 * messages may wait for the peer's first answer, or be lost on the way. Not where this thread is in
 * a handler, or another has the lock for good. The limit is for peers that are stopped.
 */
static void flush(int index)
{
	cshim_context *context = &cshim_contexts[index];
	cshim_progress *progress = &context->progress;
	long long end = cshim_exit_clock() + FLUSH_MS;
	uint64_t ticket = 0;

	if (context->barrier || cshim_lock_owned(progress)) /* all tasks share memory; a handler */
		return;
	while (cshim_trylock(progress) != 0) {
		if (cshim_exit_clock() >= end)
			return;
		(void)sched_yield();
	}
	/* One progress call at least: acknowledgements that this task owes go then. */
	if (golapi_fence_begin(index, &ticket) == LAPI_SUCCESS)
		while (!(golapi_dispatch(index, ticket) & CSHIM_PROGRESS_TICKET) && ticket &&
		       cshim_exit_clock() < end)
			(void)sched_yield();
	cshim_lock_drop(progress);
}

/*
 * Best effort: a socket that is full, or closed, is left alone. The notices that were sent are not
 * freed, as that takes a lock.
 */
static void send_notices(int status)
{
	static notice *sent[CSHIM_MAX_CONTEXTS];
	notice *f;
	uint32_t seen;
	size_t i;
	int context;

	if ((status & 0xff) != 0)
		return;
	for (context = 0; context < CSHIM_MAX_CONTEXTS; context++) {
		if (__atomic_load_n(&notices[context], __ATOMIC_ACQUIRE))
			flush(context);
		f = sent[context] = take(context);
		seen = __atomic_load_n(&answers, __ATOMIC_RELAXED);
		for (i = 0; f && i < f->sockets; i++)
			if (f->to[i].inode && inode_of(f->to[i].fd) == f->to[i].inode)
				(void)!send(f->to[i].fd, f->record, f->bytes,
				            MSG_DONTWAIT | MSG_NOSIGNAL);
		if (f)
			await_hub(f, seen);
	}
}

static int any_notice(void)
{
	int context;

	for (context = 0; context < CSHIM_MAX_CONTEXTS; context++)
		if (__atomic_load_n(&notices[context], __ATOMIC_ACQUIRE))
			return 1;
	return 0;
}

static void at_exit(int status, void *unused)
{
	int live = any_notice(); /* without LAPI_Term */

	(void)unused;
	if (__atomic_load_n(&cshim_forked, __ATOMIC_RELAXED))
		return;
	send_notices(status);
	cshim_exit_launcher(status, live);
}

/*
 * When the library is loaded, so that it runs after the program's own exit handlers: those may
 * still call LAPI_Term.
 */
__attribute__((constructor)) static void loaded(void)
{
#ifdef __GLIBC__ /* others tell no exit handler the status: there such an exit counts as a death \
                  */
	on_exit(at_exit, NULL);
#else
	(void)at_exit;
#endif
}
