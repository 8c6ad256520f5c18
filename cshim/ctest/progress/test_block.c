/*
 * test_block.c - rules of a block's lock and of its poller, one at a time, without chance:
 * cshim/model covers the interleavings. Each case is one of the defects of tests/mutants.
 */
#include "ctest/fake.h"

#include "progress/sleep.h"

static struct counts {
	int arms, disarms, sleeps;
} counts;
static int work; /* the result of arm */

static int arm(cshim_progress *progress, int64_t *timeout_ns)
{
	(void)progress;
	*timeout_ns = 1000000;
	counts.arms++;
	return work;
}

static void disarm(cshim_progress *progress)
{
	(void)progress;
	counts.disarms++;
}

static void trace(cshim_progress *progress, const char *what, int32_t code)
{
	(void)progress, (void)code;
	counts.sleeps += what != NULL;
}

static const cshim_owner owner = {.name = "block", .arm = arm, .disarm = disarm, .trace = trace};
static cshim_progress own_block, *const block = &own_block;

/* A poller that finds work once the links are armed does not sleep. */
static void armed_finds_work(void)
{
	cshim_lock(block);
	work = 1;
	CHECK(cshim_poll_descriptors(block, NULL));
	CHECK(counts.arms == 1 && counts.disarms == 1 && counts.sleeps == 0 && block->poller == 0);
	work = 0;
	CHECK(cshim_poll_descriptors(block, NULL));
	CHECK(counts.arms == 2 && counts.disarms == 2 && counts.sleeps == 1 && block->poller == 0);
	cshim_unlock(block);
}

/* A thread that releases the lock while another is about to sleep for it changes the word that the
 * other has read, so that it does not sleep. */
static void release_changes_the_word(void)
{
	uint32_t before = block->lock_wakes;

	cshim_lock(block);
	cshim_unlock(block);
	CHECK(block->lock_wakes == before);
	cshim_lock(block);
	__atomic_fetch_or(&block->lock_after, CSHIM_LOCK_WAKE, __ATOMIC_SEQ_CST);
	cshim_unlock(block);
	CHECK(block->lock_wakes == before + 1 && !(block->lock_after & CSHIM_LOCK_WAKE));
}

static uint32_t entered; /* atomic */

static void *wait_for_lock(void *argument)
{
	cshim_lock(block);
	__atomic_store_n(&entered, 1, __ATOMIC_SEQ_CST);
	cshim_unlock(block);
	return argument;
}

/* Inside a progress call, or a handler, the lock is not passed on, even if threads wait for it. */
static void handlers_keep_the_lock(void)
{
	pthread_t waiter;
	int i;

	cshim_lock(block);
	waiter = fake_thread(wait_for_lock, NULL);
	fake_await(&block->lock_waiters, 1);
	for (i = 0; i < 2; i++) {
		uint32_t count = block->lock_count;

		block->calling = i == 0;
		block->lock_floor = i == 1;
		cshim_lock_pass(block);
		CHECK(block->lock_count == count && !__atomic_load_n(&entered, __ATOMIC_SEQ_CST));
	}
	block->lock_floor = 0;
	while (!__atomic_load_n(&entered, __ATOMIC_SEQ_CST))
		cshim_lock_pass(block);
	cshim_unlock(block);
	CHECK(pthread_join(waiter, NULL) == 0);
}

void test_block(void)
{
	cshim_progress_prepare();
	if (!block->owner.at)
		cshim_progress_add(block, &owner);
	block->state = CSHIM_ACTIVE;
	block->handle = 1; /* an incarnation, as it were */
	counts = (struct counts){0, 0, 0};
	armed_finds_work();
	release_changes_the_word();
	handlers_keep_the_lock();
}
