/*
 * init.c - LAPI_Init and LAPI_Term: instances, the requests of lapi_info_t, starting again. The
 * frame's own context stays open meanwhile, so most cases open further ones. The environment's
 * errors are in tests/c/host/init_env.c.
 */
#define _GNU_SOURCE
#include "conform.h"

static unsigned char source[20000], sink[20000];

static int open_context(lapi_handle_t *h, lapi_info_t *info)
{
	if (!LAPI_OK(LAPI_Init(h, info)))
		return 0;
	conform_set_mode(*h);
	return 1;
}

static int open_plain(lapi_handle_t *h)
{
	lapi_info_t info;
	conform_fill_info(&info);
	return open_context(h, &info);
}

/* Each task puts to the next over this context; collective over it. */
static void use_context(lapi_handle_t h, unsigned seed)
{
	void *sinks[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	lapi_cntr_t done;
	memset(&done, 0, sizeof done);
	LAPI_OK(LAPI_Setcntr(h, &done, 0));
	fill_pattern(source, sizeof source, (unsigned)task_id + seed);
	LAPI_OK(LAPI_Address_init(h, sink, sinks));
	LAPI_OK(LAPI_Put(h, (uint)next, sizeof source, sinks[next], source, NULL, NULL, &done));
	LAPI_OK(LAPI_Waitcntr(h, &done, 1, NULL));
	LAPI_OK(LAPI_Gfence(h));
	CHECK(same_pattern(sink, sizeof sink, (unsigned)previous + seed));
	LAPI_OK(LAPI_Gfence(h));
}

static void init_argument_errors(void)
{
	lapi_info_t info;
	lapi_handle_t h = 4711;
	conform_fill_info(&info);
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Init(NULL, &info));
	CHECK_CODE(LAPI_ERR_INFO_NULL, LAPI_Init(&h, NULL));
	info.info6 = 1;
	CHECK_CODE(LAPI_ERR_INFO_NONZERO, LAPI_Init(&h, &info));
	conform_sync(); /* none of these was collective */
}

static void init_and_term_many_times(void)
{
	lapi_handle_t h, before = LAPI_VOID_HANDLE;
	unsigned i;
	for (i = 0; i < 15; i++) {
		if (!open_plain(&h))
			return;
		CHECK(h != hndl);
		CHECK(h != before);
		use_context(h, i);
		LAPI_OK(LAPI_Term(h));
		before = h;
	}
}

/* Only Init and Term, in quick succession. */
static void init_and_term_at_once(void)
{
	lapi_handle_t h;
	int i;
	for (i = 0; i < 15; i++)
		if (open_plain(&h))
			LAPI_OK(LAPI_Term(h));
}

static void init_sixteen_instances(void)
{
	lapi_handle_t handles[15], h;
	lapi_info_t info;
	int i, k, opened;
	if (num_tasks > 3)
		SKIP("many threads: with up to 3 tasks only");
	for (opened = 0; opened < 15 && open_plain(&handles[opened]); opened++)
		for (k = 0; k < opened; k++)
			CHECK(handles[k] != handles[opened]);
	if (opened == 15) {
		conform_fill_info(&info);
		CHECK_CODE(LAPI_ERR_ALL_HNDL_IN_USE, LAPI_Init(&h, &info));
	}
	for (i = 0; i < opened; i++)
		use_context(handles[i], (unsigned)i);
	for (i = 0; i < opened; i++)
		LAPI_OK(LAPI_Term(handles[i]));
	if (open_plain(&h)) /* and there is room again */
		LAPI_OK(LAPI_Term(h));
}

static void init_instance_numbers(void)
{
	lapi_info_t info;
	lapi_handle_t seven, again;
	conform_fill_info(&info);
	info.instance_no = 7;
	if (!open_context(&seven, &info))
		return;
	conform_fill_info(&info);
	info.instance_no = 7;
	CHECK_CODE(LAPI_ERR_ALL_HNDL_IN_USE, LAPI_Init(&again, &info));
	conform_fill_info(&info);
	info.instance_no = 17;
	CHECK(LAPI_Init(&again, &info) != LAPI_SUCCESS);
	use_context(seven, 3);
	LAPI_OK(LAPI_Term(seven));
}

/* Handles pair by instance number, whatever the order in which the threads of different tasks
 * come. */
static void *open_numbered(void *argument)
{
	static lapi_handle_t handles[8];
	lapi_info_t info;
	intptr_t number = (intptr_t)argument;
	if ((number + task_id) % 2)
		sleep_ms(30);
	conform_fill_info(&info);
	info.instance_no = (uint)number;
	return LAPI_OK(LAPI_Init(&handles[number], &info)) ? &handles[number] : NULL;
}

static void init_from_two_threads_at_once(void)
{
	pthread_t threads[2];
	void *handles[2] = {NULL, NULL};
	int i;
	for (i = 0; i < 2; i++)
		CHECK_EQUAL(
			pthread_create(&threads[i], NULL, open_numbered, (void *)(intptr_t)(i + 4)),
			0);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], &handles[i]);
	for (i = 0; i < 2; i++)
		if (handles[i]) {
			use_context(*(lapi_handle_t *)handles[i], 9);
			LAPI_OK(LAPI_Term(*(lapi_handle_t *)handles[i]));
		}
}

static void *term_it(void *h)
{
	LAPI_OK(LAPI_Term(*(lapi_handle_t *)h));
	return NULL;
}

static void term_from_another_thread(void)
{
	pthread_t thread;
	lapi_handle_t h;
	int i;
	for (i = 0; i < 5 && open_plain(&h); i++) {
		use_context(h, 5);
		CHECK_EQUAL(pthread_create(&thread, NULL, term_it, &h), 0);
		pthread_join(thread, NULL);
		CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Probe(h));
	}
}

/* ---- handler threads ---- */

static pthread_barrier_t meeting;
static __thread int initialised_with;
static void *seen_parameter, *seen_extra;
static int init_calls, handler_without_init;
static int small_stack, checked;
static pthread_t main_thread;
enum { HANDLERS = 3, STACK = 3 << 20 };

static void init_thread(void *parameter, void *extra)
{
	seen_parameter = parameter;
	seen_extra = extra;
	initialised_with = 1;
	__atomic_add_fetch(&init_calls, 1, __ATOMIC_ACQ_REL);
}

/* A handler runs: in the program's thread, or in a thread of the library with the requested
 * attributes.
 */
static void check_thread(void)
{
	pthread_attr_t attributes;
	size_t stack = 0;
	if (pthread_equal(pthread_self(), main_thread))
		return;
	if (!initialised_with)
		__atomic_store_n(&handler_without_init, 1, __ATOMIC_RELEASE);
	if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
		pthread_attr_getstacksize(&attributes, &stack);
		pthread_attr_destroy(&attributes);
	}
	if (stack < STACK)
		__atomic_store_n(&small_stack, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&checked, 1, __ATOMIC_ACQ_REL);
}

static void meet(lapi_handle_t *h, void *unused)
{
	(void)h, (void)unused;
	check_thread();
	pthread_barrier_wait(&meeting); /* needs all of them at once */
}

static void *ask_to_meet(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                         compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)user_info;
	check_thread();
	*completion = meet;
	return NULL;
}

/*
 * As many completion handlers at once as were asked for. They, and header handlers, run in threads
 * with the program's attributes and start function; main makes no calls when its neighbour sends.
 */
static void init_completion_handler_threads(void)
{
	static int parameter, extra;
	pthread_attr_t attributes;
	com_thread_info_t threads;
	lapi_info_t info;
	lapi_handle_t h;
	lapi_cntr_t done;
	int i, next = (task_id + 1) % num_tasks, interrupts = 0;
	void *handlers[CONFORM_MAX_TASKS];
	init_calls = handler_without_init = small_stack = checked = 0;
	main_thread = pthread_self();
	pthread_barrier_init(&meeting, NULL, HANDLERS);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	bzero(&threads, sizeof threads);
	threads.thread_attr = &attributes;
	threads.thread_init_func = init_thread;
	threads.parm_ptr = &parameter;
	threads.extra_ptr = &extra;
	conform_fill_info(&info);
	info.num_compl_hndlr_thr = HANDLERS;
	info.lapi_thread_attr = &threads;
	if (open_context(&h, &info)) {
		LAPI_OK(LAPI_Address_init(h, (void *)(uintptr_t)ask_to_meet, handlers));
		memset(&done, 0, sizeof done);
		LAPI_OK(LAPI_Setcntr(h, &done, 0));
		for (i = 0; i < HANDLERS; i++)
			LAPI_OK(LAPI_Amsend(h, (uint)next, handlers[next], NULL, 0, NULL, 0, NULL,
			                    NULL, &done));
		LAPI_OK(LAPI_Qenv(h, INTERRUPT_SET, &interrupts));
		while (peek(&checked) < HANDLERS)
			if (interrupts)
				usleep(100); /* all comes by itself */
			else
				LAPI_OK(LAPI_Probe(h));
		LAPI_OK(LAPI_Waitcntr(h, &done, HANDLERS, NULL));
		while (peek(&init_calls) < HANDLERS + 1)
			usleep(100); /* the service thread may not have run yet */
		CHECK_EQUAL(peek(&init_calls), HANDLERS + 1);
		CHECK(!peek(&handler_without_init));
		CHECK(seen_parameter == &parameter && seen_extra == &extra);
		CHECK(!peek(&small_stack));
		LAPI_OK(LAPI_Gfence(h));
		LAPI_OK(LAPI_Term(h));
	}
	pthread_attr_destroy(&attributes);
	pthread_barrier_destroy(&meeting);
}

/* LAPI_INTERRUPT_OFF in lapi_info_t.protocol: the context begins in polling mode. LAPI_Init
 * replaces it by the device. */
static void init_in_polling_mode(void)
{
	lapi_info_t info;
	lapi_handle_t h;
	int on = -1;
	conform_fill_info(&info);
	info.protocol = (lapi_dev_t)LAPI_INTERRUPT_OFF;
	if (!LAPI_OK(LAPI_Init(&h, &info)))
		return;
	CHECK_EQUAL(info.protocol, UDP_DEV);
	LAPI_OK(LAPI_Qenv(h, INTERRUPT_SET, &on));
	CHECK_EQUAL(on, 0);
	use_context(h, 1);
	LAPI_OK(LAPI_Term(h));
}

/* ---- leaving ---- */

static lapi_cntr_t arrivals;
static void *arrivals_of[CONFORM_MAX_TASKS], *sinks_of[CONFORM_MAX_TASKS];

/* Messages sent right before LAPI_Term arrive: Term waits until all are acknowledged. */
static void term_delivers_what_was_sent(void)
{
	enum { MESSAGES = 300 };
	lapi_handle_t h;
	int i, next = (task_id + 1) % num_tasks, round;
	for (round = 0; round < 3; round++) {
		if (!open_plain(&h))
			return;
		memset(&arrivals, 0, sizeof arrivals);
		LAPI_OK(LAPI_Setcntr(h, &arrivals, 0));
		LAPI_OK(LAPI_Address_init(h, &arrivals, arrivals_of));
		LAPI_OK(LAPI_Address_init(h, sink, sinks_of));
		if ((task_id + round) % 2 == 0)
			for (i = 0; i < MESSAGES; i++)
				LAPI_OK(LAPI_Put(h, (uint)next, (ulong)(i % 3) * 4000,
				                 sinks_of[next], source,
				                 (lapi_cntr_t *)arrivals_of[next], NULL, NULL));
		if (((task_id + num_tasks - 1) % num_tasks + round) % 2 == 0)
			LAPI_OK(LAPI_Waitcntr(h, &arrivals, MESSAGES, NULL));
		LAPI_OK(LAPI_Term(h));
	}
}

/* ---- messages to a task that is still inside LAPI_Init ---- */

static int early_calls;

static void *early(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                   compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)user_info;
	__atomic_add_fetch(&early_calls, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

/* Every task sends at once after its own LAPI_Init, by index, and registers the handler only
 * then. */
static void messages_to_a_task_inside_init(void)
{
	enum { INDEX = 3 };
	lapi_handle_t h;
	int round, target;
	for (round = 0; round < 8; round++) {
		early_calls = 0;
		conform_sync();
		if (round % num_tasks == task_id)
			sleep_ms(20);
		if (!open_plain(&h))
			return;
		for (target = 0; target < num_tasks; target++)
			LAPI_OK(LAPI_Amsend(h, (uint)target, (void *)(uintptr_t)INDEX, "early", 4,
			                    source, 3000, NULL, NULL, NULL));
		LAPI_OK(LAPI_Addr_set(h, (void *)(uintptr_t)early, INDEX));
		while (peek(&early_calls) < num_tasks) {
			LAPI_OK(LAPI_Probe(h));
			sched_yield();
		}
		LAPI_OK(LAPI_Gfence(h));
		CHECK_EQUAL(peek(&early_calls), num_tasks);
		LAPI_OK(LAPI_Term(h));
	}
}

/* ---- two contexts of a process ---- */

static void *gfence_on(void *h)
{
	LAPI_OK(LAPI_Gfence(*(lapi_handle_t *)h));
	return NULL;
}

/* Read-modify-write is atomic across contexts, and traffic of one does not disturb the other. */
static void two_contexts_at_once(void)
{
	static int word;
	static lapi_cntr_t done_a, done_b;
	void *words[CONFORM_MAX_TASKS];
	pthread_t other;
	lapi_handle_t h;
	int i, one = 1;
	word = 0;
	if (!open_plain(&h))
		return;
	counter_zero(&done_a);
	counter_zero(&done_b);
	exchange(&word, words);
	for (i = 0; i < 200; i++) {
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, (int *)words[0], &one, NULL, &done_a));
		LAPI_OK(LAPI_Rmw(h, FETCH_AND_ADD, 0, (int *)words[0], &one, NULL, &done_b));
	}
	/*
	 * In polling mode a context moves only in calls on it. Until all tasks are through, both
	 * must move everywhere (a lost packet of one is repeated by calls on that one), so each has
	 * a thread in a Gfence.
	 */
	CHECK_EQUAL(pthread_create(&other, NULL, gfence_on, &h), 0);
	LAPI_OK(LAPI_Waitcntr(hndl, &done_a, 200, NULL));
	conform_sync();
	pthread_join(other, NULL);
	LAPI_OK(LAPI_Waitcntr(h, &done_b, 200, NULL));
	if (task_id == 0)
		CHECK_EQUAL(word, 400 * num_tasks);
	LAPI_OK(LAPI_Term(h));
}

/* clang-format off */
static const conform_case cases[] = {
	CONFORM_CASE(init_argument_errors),
	CONFORM_CASE(init_and_term_many_times),
	CONFORM_CASE(init_and_term_at_once),
	CONFORM_CASE(init_sixteen_instances),
	CONFORM_CASE(init_instance_numbers),
	CONFORM_CASE(init_from_two_threads_at_once),
	CONFORM_CASE(term_from_another_thread),
	CONFORM_CASE(init_completion_handler_threads),
	CONFORM_CASE(init_in_polling_mode),
	CONFORM_CASE(term_delivers_what_was_sent),
	CONFORM_CASE(messages_to_a_task_inside_init),
	CONFORM_CASE(two_contexts_at_once),
};
/* clang-format on */

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
