/*
 * fence_mixed.c - LAPI_Fence covers operations of all kinds, by all ways, to all tasks: gets,
 * read-modify-writes, puts in one piece and in blocks, active messages with handlers of each kind;
 * and from several threads at once.
 *
 * The data is checked by reading it back: a get that waits for its own counter does not depend on
 * the fence.
 */
#include "conform.h"

enum {
	SLOTS = 12,         /* operations before a fence */
	MOST = 70000,       /* bytes of one */
	AREAS = 5,          /* threads of each task that write to a peer: the main one and others */
	ROUNDS = 40,
	THREADS = AREAS - 1,
};

/* Where every task writes, by task and slot; made when the number of tasks is known. */
static unsigned char *area;
static void *areas[CONFORM_MAX_TASKS];
static int words[CONFORM_MAX_TASKS]; /* by origin */
static void *words_of[CONFORM_MAX_TASKS], *takers[CONFORM_MAX_TASKS];
static int late; /* atomic: queued completion handlers that have begun */

static unsigned step(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

/* About equally many of each class of lengths: a slot, several, a chunk, many. */
static size_t some_length(unsigned *state)
{
	static const unsigned most[] = {8, 100, 600, 5000, MOST};

	return 1 + (step(state) << 8 | step(state)) % most[step(state) % 5];
}

/* Where a slot of this task's lies at a target. */
static unsigned char *place(int target, int slot)
{
	return (unsigned char *)areas[target] + (size_t)(task_id * SLOTS + slot) * MOST;
}

static void completed_late(lapi_handle_t *h, void *user_info)
{
	(void)h, (void)user_info;
	__atomic_add_fetch(&late, 1, __ATOMIC_ACQ_REL);
}

typedef struct header {
	unsigned long long to;
	int handler; /* 0: none, 1: queued, 2: inline */
	int filler;
} header;

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **user_info)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;
	const header *head = uhdr;

	(void)h, (void)uhdr_len;
	*completion = head->handler ? completed_late : NULL;
	*user_info = NULL;
	if (head->handler == 2)
		info->ret_flags = LAPI_LOCAL_STATE;
	return (void *)(uintptr_t)head->to;
}

static void prepare(void)
{
	if (!area)
		area = calloc((size_t)num_tasks * SLOTS, MOST);
	CHECK(area != NULL);
	exchange(area, areas);
	exchange(words, words_of);
	exchange((void *)(uintptr_t)take, takers);
}

/* One operation, and its effect that must be seen after the fence. */
typedef struct operation {
	int kind, target, before;
	size_t n;
	unsigned seed;
} operation;

enum { PUT, PUT_BLOCKS, MESSAGE, MESSAGE_QUEUED, MESSAGE_INLINE, GET, ADD, KINDS };

static unsigned char from[SLOTS][MOST], got[MOST];
static int before[SLOTS];
static int added[CONFORM_MAX_TASKS]; /* by target: what this task has added to its word there */

static void put_blocks(const operation *o, int slot)
{
	size_t half = o->n / 2;
	void *sources[2] = {from[slot], from[slot] + half};
	void *targets[2] = {place(o->target, slot), place(o->target, slot) + half};
	ulong lengths[2] = {half, o->n - half};
	lapi_vec_t here = {LAPI_GEN_IOVECTOR, 2, sources, lengths};
	lapi_vec_t there = {LAPI_GEN_IOVECTOR, 2, targets, lengths};

	LAPI_OK(LAPI_Putv(hndl, (uint)o->target, &there, &here, NULL, NULL, NULL));
}

static void begin(operation *o, int slot)
{
	header head = {(uintptr_t)place(o->target, slot), o->kind - MESSAGE, 0};
	uint target = (uint)o->target;
	int one = 1;

	fill_pattern(from[slot], o->n, o->seed);
	switch (o->kind) {
	case PUT:
		LAPI_OK(LAPI_Put(hndl, target, o->n, place(o->target, slot), from[slot], NULL,
		                 NULL, NULL));
		break;
	case PUT_BLOCKS:
		put_blocks(o, slot);
		break;
	case MESSAGE:
	case MESSAGE_QUEUED:
	case MESSAGE_INLINE:
		LAPI_OK(LAPI_Amsend(hndl, target, takers[target], &head, sizeof head, from[slot],
		                    o->n, NULL, NULL, NULL));
		break;
	case GET: /* what the last rounds have left there */
		memset(from[slot], 0xa5, o->n);
		LAPI_OK(LAPI_Get(hndl, target, o->n, place(o->target, slot), from[slot], NULL,
		                 NULL));
		break;
	case ADD:
		o->before = added[target]++;
		before[slot] = -1;
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, target, (int *)words_of[target] + task_id,
		                 &one, &before[slot], NULL));
		break;
	}
}

/* Reads the target's data back by a get and waits for it. */
static void read_back(const operation *o, int slot)
{
	lapi_cntr_t here;

	counter_zero(&here);
	LAPI_OK(LAPI_Get(hndl, (uint)o->target, o->n, place(o->target, slot), got, NULL, &here));
	counter_wait(&here, 1);
}

static void check(const operation *o, int slot)
{
	if (o->kind == ADD) {
		CHECK_EQUAL(before[slot], o->before);
		return;
	}
	read_back(o, slot);
	if (o->kind == GET)
		CHECK(memcmp(from[slot], got, o->n) == 0);
	else
		CHECK(same_pattern(got, o->n, o->seed));
}

/* Operations of one kind, or (KINDS) of any. */
static void rounds_of(int kind)
{
	unsigned state = (unsigned)(task_id * 7919 + kind + 1);
	operation o[SLOTS];
	int i, slot, n;

	for (i = 0; i < (kind == KINDS ? 5 * ROUNDS : ROUNDS); i++) {
		n = 1 + (int)(step(&state) % SLOTS);
		for (slot = 0; slot < n; slot++) {
			o[slot].kind = kind == KINDS ? (int)(step(&state) % KINDS) : kind;
			o[slot].target = (int)(step(&state) % (unsigned)num_tasks);
			o[slot].n = some_length(&state);
			o[slot].seed = state;
			begin(&o[slot], slot);
		}
		LAPI_OK(LAPI_Fence(hndl));
		for (slot = 0; slot < n; slot++)
			check(&o[slot], slot);
	}
}

static void fence_covers_each_kind(void)
{
	int kind;

	prepare();
	for (kind = 0; kind < KINDS; kind++)
		rounds_of(kind);
	conform_sync();
}

static void fence_covers_kinds_in_any_mixture(void)
{
	prepare();
	rounds_of(KINDS);
	conform_sync();
}

/* ---- threads ---- */

/* Each thread writes to its own slot, and fences by itself: the others go on meanwhile. */
static void *fence_often(void *argument)
{
	int slot = (int)(intptr_t)argument, i;
	unsigned state = (unsigned)(task_id * 31 + slot);
	unsigned char *mine = malloc(2 * MOST);
	lapi_cntr_t here;

	for (i = 0; i < ROUNDS; i++) {
		int target = (int)(step(&state) % (unsigned)num_tasks);
		size_t n = some_length(&state);

		fill_pattern(mine, n, state);
		LAPI_OK(LAPI_Put(hndl, (uint)target, n, place(target, slot), mine, NULL, NULL,
		                 NULL));
		if (i % 4 == 0) {
			memset(mine + MOST, 0, n);
			LAPI_OK(LAPI_Get(hndl, (uint)task_id, n, mine, mine + MOST, NULL, NULL));
		}
		LAPI_OK(LAPI_Fence(hndl));
		if (i % 4 == 0)
			CHECK(same_pattern(mine + MOST, n, state));
		counter_zero(&here);
		LAPI_OK(LAPI_Get(hndl, (uint)target, n, place(target, slot), mine, NULL, &here));
		counter_wait(&here, 1);
		CHECK(same_pattern(mine, n, state));
	}
	free(mine);
	return NULL;
}

static void fences_of_several_threads(void)
{
	pthread_t threads[THREADS];
	int i;

	prepare();
	for (i = 0; i < THREADS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, fence_often, (void *)(intptr_t)i), 0);
	fence_often((void *)(intptr_t)THREADS);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	conform_sync();
}

/* A fence ends though another thread never stops sending: it covers what came before it. */
static int stop_sending; /* atomic */

static void *send_on(void *unused)
{
	int target = (task_id + 1) % num_tasks;

	while (!peek(&stop_sending)) {
		LAPI_OK(LAPI_Put(hndl, (uint)target, 8, place(target, 0), from[0], NULL, NULL,
		                 NULL));
		LAPI_OK(LAPI_Get(hndl, (uint)target, 8, place(target, 1), from[1], NULL, NULL));
	}
	return unused;
}

static void fence_ends_beside_a_sender(void)
{
	pthread_t sender;
	int i;

	prepare();
	stop_sending = 0;
	CHECK_EQUAL(pthread_create(&sender, NULL, send_on, NULL), 0);
	for (i = 0; i < ROUNDS; i++)
		LAPI_OK(LAPI_Fence(hndl));
	__atomic_store_n(&stop_sending, 1, __ATOMIC_RELEASE);
	pthread_join(sender, NULL);
	conform_sync();
}

static const conform_case cases[] = {
	CONFORM_CASE(fence_covers_each_kind),
	CONFORM_CASE(fence_covers_kinds_in_any_mixture),
	CONFORM_CASE(fences_of_several_threads),
	CONFORM_CASE(fence_ends_beside_a_sender),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
