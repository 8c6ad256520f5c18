/*
 * test_owed.c - a signal handler that is to run again (cshim/progress/owed.c) comes at each moment
 * before a sleep. None may be slept over: the sleeps here have no other end.
 */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "progress/sleep.h"

static int raise_in_arm, sleeps, runs, ran_inside;
static const char *raise_in; /* the text of the trace */

static int arm(cshim_progress *progress, int64_t *timeout_ns)
{
	(void)progress;
	*timeout_ns = -1;
	if (raise_in_arm)
		raise(SIGTERM);
	return 0;
}

static void disarm(cshim_progress *progress)
{
	(void)progress;
}

/* The trace comes behind the look and before the sleep of the poller, before both of a follower. */
static void trace(cshim_progress *progress, const char *what, int32_t code)
{
	struct pollfd kicked = {.fd = progress->descriptors[0], .events = POLLIN};

	(void)code;
	if (!what)
		return;
	sleeps++;
	if (!raise_in || strcmp(what, raise_in) != 0)
		return;
	raise(SIGTERM);
	CHECK(strcmp(what, "asleep") != 0 || poll(&kicked, 1, 0) == 1);
}

static int never(cshim_progress *progress, const cshim_goal *goal)
{
	(void)progress, (void)goal;
	return 0;
}

static const cshim_owner owner = {.name = "owed", .arm = arm, .disarm = disarm, .trace = trace};
static const cshim_goal_kind kind = {.over = never};
static const cshim_goal goal = {.kind = &kind};
static cshim_progress own_block, *const block = &own_block;

static void handler(int signal)
{
	(void)signal;
	runs++;
	if (cshim_this_thread.inside) {
		ran_inside++;
		cshim_owe_signal();
	}
}

static void begins(int in_arm, const char *in)
{
	raise_in_arm = in_arm;
	raise_in = in;
	sleeps = runs = ran_inside = 0;
	CHECK(cshim_inside_begins());
	cshim_lock(block);
}

/* The handler has been refused, and runs again when the call is left: once. */
static void ends(int slept)
{
	CHECK(runs == 1 && ran_inside == 1 && sleeps == slept && cshim_signal_due());
	cshim_unlock(block);
	CHECK(runs == 1 && !cshim_this_thread.sleeps);
	cshim_inside_ends();
	CHECK(runs == 2 && ran_inside == 1 && !cshim_this_thread.owed);
}

static void sleepers(void)
{
	cshim_wait wait = {.progress = block, .goal = &goal, .handle = 1};

	begins(1, NULL);
	CHECK(cshim_poll_descriptors(block, &wait) && block->poller == 0);
	ends(0);
	begins(0, "asleep");
	CHECK(cshim_poll_descriptors(block, &wait) && block->poller == 0);
	ends(1);
	begins(0, "following");
	cshim_follow(block, &wait, 0);
	CHECK(!wait.following && block->followers == 0);
	ends(1);
	/* As if it came right before the futex. */
	wait.signal = 0;
	cshim_sleep_not(&wait);
	CHECK(wait.signal != 0);
}

/* A signal that the thread blocks waits, and where the signal may be another's nothing is owed. */
static void not_now(void)
{
	struct sigaction other = {.sa_handler = handler};
	sigset_t term, before;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	begins(0, NULL);
	cshim_unlock(block);
	raise(SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, &before);
	cshim_inside_ends();
	CHECK(runs == 1 && cshim_this_thread.owed == SIGTERM);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	CHECK(cshim_inside_begins());
	cshim_inside_ends();
	CHECK(runs == 2 && !cshim_this_thread.owed);

	sigaction(SIGUSR1, &other, NULL);
	begins(0, NULL);
	cshim_unlock(block);
	raise(SIGUSR1);
	CHECK(ran_inside == 1 && !cshim_this_thread.owed);
	cshim_inside_ends();
	CHECK(runs == 1);
	other.sa_handler = SIG_DFL;
	sigaction(SIGUSR1, &other, NULL);
}

/* ThreadSanitizer runs handlers with all signals blocked: which of them it is cannot be known. */
#if defined(__SANITIZE_THREAD__)
enum { KNOWS_THE_SIGNAL = 0 };
#else
enum { KNOWS_THE_SIGNAL = 1 };
#endif

void test_owed(void)
{
	struct sigaction action = {.sa_handler = handler}, before;

	if (!KNOWS_THE_SIGNAL)
		return;
	cshim_progress_prepare();
	if (!block->owner.at)
		cshim_progress_add(block, &owner);
	block->state = CSHIM_ACTIVE;
	block->handle = 1; /* an incarnation, as it were */
	block->num_descriptors = 1;
	block->descriptors[0] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	sigaction(SIGTERM, &action, &before);
	sleepers();
	not_now();
	sigaction(SIGTERM, &before, NULL);
	block->num_descriptors = 0;
	close(block->descriptors[0]);
}
