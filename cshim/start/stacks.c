/*
 * stacks.c - the stacks that the program's signal handlers run on, in threads that enter Go.
 *
 * A handler with SA_ONSTACK runs on the thread's alternate stack. If the thread has none, Go's
 * run-time gives it one of 32 KiB without a guard page. So the library comes first, with one of
 * 2 MiB above a guard page. The run-time uses it too, for faults.
 *
 * Other handlers run on the stack in use. While Go code runs that is a goroutine's: a few KiB in
 * the middle of Go's heap. Core makes it 2.25 MiB above a guard page (transport/memory, Prepare).
 * The signals are blocked until that is done.
 *
 * The run-time is entered with all signals blocked but faults, and gives the thread this mask when
 * the thread ends. So the destructor here keeps the right one.
 */
#define _GNU_SOURCE
#include "start/stacks.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "progress/signals.h"

enum { ALTERNATE = 2 << 20 };

/* At the beginning of the page above the alternate stack, if there is one. */
typedef struct thread_stack {
	char *mapping;
	size_t bytes, alternate; /* alternate: of the stack; 0: it is the program's */
	int ends;                /* the first round of destructors is over */
	sigset_t mask;           /* then: the thread's */
} thread_stack;

__thread int cshim_stacks_ready;

/* capi's: Prepare of transport/memory. Weak: tests of C alone have none. */
extern void golapi_thread(void) __attribute__((weak));

/* Made before the run-time starts, so that its destructor runs before that of the run-time. */
static pthread_key_t key;

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * Maps guard page, stack and record, of which the first two may be missing. mmap and no malloc: the
 * caller may be a signal handler.
 */
static thread_stack *map(size_t alternate)
{
	size_t page = page_size(), guard = alternate ? page : 0,
	       bytes = guard + alternate + page;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	thread_stack *own;

	if (at == MAP_FAILED)
		return NULL;
	if (guard)
		mprotect(at, guard, PROT_NONE);
	own = (thread_stack *)(void *)(at + guard + alternate);
	own->mapping = at;
	own->bytes = bytes;
	own->alternate = alternate;
	return own;
}

static char *stack_of(const thread_stack *own)
{
	return own->mapping + page_size();
}

/* Without memory the run-time's own small stack has to do. */
static void give_alternate(void)
{
	stack_t now;
	thread_stack *own;

	if (sigaltstack(NULL, &now) != 0)
		return;
	own = map(now.ss_flags & SS_DISABLE ? ALTERNATE : 0);
	if (!own)
		return;
	if (own->alternate) {
		now = (stack_t){.ss_sp = stack_of(own), .ss_size = own->alternate};
		sigaltstack(&now, NULL);
	}
	pthread_setspecific(key, own);
}

/*
 * The thread ends. Destructors run in rounds, and those of the program may still call the library:
 * then the thread is prepared again. In the first round the run-time's destructor is yet to come.
 */
static void thread_ends(void *stack)
{
	thread_stack *own = stack;
	stack_t now;

	cshim_stacks_ready = 0;
	if (!own->ends) {
		own->ends = 1;
		pthread_sigmask(SIG_SETMASK, NULL, &own->mask);
		pthread_setspecific(key, own);
		return;
	}
	pthread_sigmask(SIG_SETMASK, &own->mask, NULL);
	if (own->alternate && sigaltstack(NULL, &now) == 0 && now.ss_sp == stack_of(own)) {
		now = (stack_t){.ss_flags = SS_DISABLE};
		sigaltstack(&now, NULL);
	}
	munmap(own->mapping, own->bytes);
}

void cshim_stacks_begin(void)
{
	pthread_key_create(&key, thread_ends);
}

/* SIGSEGV and SIGBUS stay open: the library turns faults on user addresses into errors. */
void cshim_stacks_prepare(void)
{
	sigset_t before;

	cshim_signals_block(&before);
	cshim_stacks_ready = 1; /* its own entry into Go passes */
	if (!pthread_getspecific(key))
		give_alternate();
	golapi_thread();
	cshim_signals_open_faults(&before);
	cshim_signals_restore(&before);
}
