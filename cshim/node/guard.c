/*
 * guard.c - see guard.h. Which handler a fault belongs to; the accesses themselves are in a file for
 * each architecture (guard_piece.h).
 *
 * The handler comes first. It deals with a fault in one of these functions itself. A fault
 * elsewhere in the library is one of core's, which the Go run-time's handler turns into an error:
 * so that handler is called, also where the program has put its own in its place. All other faults
 * go to the handler that was there before. Handlers work on the context they are given, as if the
 * kernel had called them.
 */
#define _GNU_SOURCE
#include "node/guard_piece.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/*
 * The handlers of SIGSEGV and SIGBUS: the program's from before the library's first call, and the one
 * behind it now, as programs install handlers later.
 */
typedef struct others {
	struct sigaction first, behind;
} others;
static others segv, bus;

/* The run-time's handler, one for all its signals; its flags are 0 if there is no run-time. */
static struct sigaction runtime;

/* Written by on_fault, in the thread that it interrupted. */
static __thread volatile uint64_t fault_address __attribute__((tls_model("initial-exec")));

uint64_t node_bad_address(uint64_t from, uint64_t n)
{
	return fault_address - from < n ? fault_address : from;
}

/* The bounds of the library's code, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static int in_library(const char *at)
{
	return at >= __ehdr_start && at < etext;
}

/*
 * The fault that this thread gave to another handler last. That one may call the handler which it
 * has replaced, which is this file's: then it is deeper in the stack, with the same context.
 */
static __thread struct {
	const void *context;
	const char *frame;
} passed __attribute__((tls_model("initial-exec")));

static void pass_on(int number, siginfo_t *info, void *context)
{
	const others *who = number == SIGBUS ? &bus : &segv;
	const char *frame = __builtin_frame_address(0);
	int again = passed.context == context && frame < passed.frame;
	const struct sigaction *to = again ? &who->first : &who->behind;

	passed.context = context;
	passed.frame = frame;
	if (to->sa_flags & SA_SIGINFO) {
		to->sa_sigaction(number, info, context);
	} else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) {
		to->sa_handler(number);
	} else {
		/* After the return the process ends as it would have without us. */
		signal(number, SIG_DFL);
		raise(number);
	}
}

__thread sigjmp_buf *volatile node_guard_armed __attribute__((tls_model("initial-exec")));

/* Goes to the bracket of this thread, with the signals blocked that were so before. */
static void go_back(const siginfo_t *info, const ucontext_t *interrupted)
{
	sigjmp_buf *to = node_guard_armed;

	if (!to || info->si_code <= 0) /* that was no fault */
		return;
	fault_address = (uintptr_t)info->si_addr;
	node_guard_armed = NULL;
	pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
	siglongjmp(*to, 1);
}

int node_guarded_call(void (*call)(void *), void *argument)
{
	GUARDED(call(argument));
}

/* A fault at an instruction that is none of the functions'. */
static void leave_to_others(int number, siginfo_t *info, void *context, const char *at)
{
	if (runtime.sa_flags && in_library(at))
		runtime.sa_sigaction(number, info, context);
	else
		pass_on(number, info, context);
}

#ifdef __x86_64__
/* The places of node_readable and node_writable, by the linker; none where nothing uses them. */
extern const node_guard_place __start_node_guard_places[] __attribute__((weak, visibility("hidden")));
extern const node_guard_place __stop_node_guard_places[] __attribute__((weak, visibility("hidden")));
#endif

/* Where a guarded instruction goes on that has faulted; NULL: it is none. */
static const char *after_fault(const char *at)
{
	if (at >= node_guard_begin && at < node_guard_end)
		return node_guard_fault;
#ifdef __x86_64__
	const node_guard_place *place;

	for (place = __start_node_guard_places; place < __stop_node_guard_places; place++)
		if ((const char *)&place->at + place->at == at)
			return (const char *)&place->go_on + place->go_on;
#endif
	return NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	const char *at = (const char *)(uintptr_t)GUARD_COUNTER(interrupted);
	const char *after = after_fault(at);

	if (after) {
		fault_address = (uintptr_t)info->si_addr;
		GUARD_COUNTER(interrupted) = (uintptr_t)after;
	} else {
		go_back(info, interrupted);
		leave_to_others(number, info, context, at);
	}
}

#if GUARD_HAS_PIECE

/* Of a piece: the operations on words of 4 and 8 bytes. */
typedef int guard_word(void *at, uint64_t operand, uint64_t compare, uint64_t *old);
#define WORDS(name) extern guard_word name##4 __attribute__((visibility("hidden"))), \
	name##8 __attribute__((visibility("hidden")))
WORDS(guard_add);
WORDS(guard_or);
WORDS(guard_and);
WORDS(guard_xor);
WORDS(guard_min);
WORDS(guard_max);
WORDS(guard_swap);
WORDS(guard_cas);

int node_guarded_rmw(int op, int width, void *at, uint64_t operand, uint64_t compare, uint64_t *old)
{
	static guard_word *const functions[][2] = {
		[NODE_ADD] = {guard_add4, guard_add8},
		[NODE_OR] = {guard_or4, guard_or8},
		[NODE_SWAP] = {guard_swap4, guard_swap8},
		[NODE_CAS] = {guard_cas4, guard_cas8},
		[NODE_AND] = {guard_and4, guard_and8},
		[NODE_XOR] = {guard_xor4, guard_xor8},
		[NODE_MIN] = {guard_min4, guard_min8},
		[NODE_MAX] = {guard_max4, guard_max8},
	};

	return functions[op][width == 8](at, operand, compare, old);
}

#endif

/* One of the signals that the run-time handles: mostly it does still. */
void node_guard_runtime(void)
{
	static const int its[] = {SIGBUS, SIGSEGV};
	struct sigaction action;
	size_t i;

	for (i = 0; i < sizeof its / sizeof *its && !runtime.sa_flags; i++)
		if (sigaction(its[i], NULL, &action) == 0 && action.sa_flags & SA_SIGINFO &&
		    in_library((const char *)(uintptr_t)action.sa_sigaction))
			runtime = action;
}

static int is_own(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fault;
}

static void put_in_front(int number, others *who)
{
	struct sigaction now, action;

	if (sigaction(number, NULL, &now) != 0 || is_own(&now))
		return;
	who->behind = now;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	/* On the alternate stack, as the run-time demands of handlers in front of its own. */
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	sigfillset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

static void install(void)
{
	node_guard_choose();
	node_guard_runtime();
	sigaction(SIGSEGV, NULL, &segv.first);
	sigaction(SIGBUS, NULL, &bus.first);
}

void node_guard_install(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static int busy; /* atomic: one thread at a time; another does the same */

	pthread_once(&once, install);
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	put_in_front(SIGSEGV, &segv);
	put_in_front(SIGBUS, &bus);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
