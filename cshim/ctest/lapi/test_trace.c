/* test_trace.c - records of the C side: the records of calls, a full file, calls under way when the
 * context ends. */
#include <string.h>

#include "ctest/fake.h"

enum { CAPACITY = 4096, THREADS = 4 };

static struct {
	cshim_trace_head head;
	cshim_trace_record records[CAPACITY];
	cshim_trace_record canary;
} file;

static lapi_handle_t handle;

/* LAPI_Init, and what core does in it when tracing is on. */
static void begin(uint32_t level, uint64_t capacity)
{
	cshim_context *context;

	handle = fake_init(NULL);
	memset(&file, 0, sizeof(file));
	file.head.capacity = capacity;
	context = fake_context(handle);
	cshim_lock(&context->progress);
	context->trace_file = (uintptr_t)&file.head;
	__atomic_store_n(&context->trace_level, level, __ATOMIC_RELEASE);
	cshim_unlock(&context->progress);
}

static void end(void)
{
	cshim_context *context = fake_context(handle);

	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	__atomic_store_n(&context->trace_level, 0, __ATOMIC_RELEASE);
	CHECK(file.canary.kind == 0);
}

/* How many records of a kind and name there are; name NULL: of any. */
static int count_of(uint32_t kind, const char *name)
{
	uint64_t i;
	int n = 0;

	for (i = 0; i < file.head.next && i < file.head.capacity; i++)
		if (file.records[i].kind == kind &&
		    (!name || strcmp((const char *)file.records[i].name, name) == 0))
			n++;
	return n;
}

static void test_names_and_codes(void)
{
	long long in = 1, previous;
	int word = 1, was;
	lapi_cntr_t counter;

	begin(CSHIM_TRACE_CALLS, CAPACITY);
	CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	LAPI_Rmw(handle, FETCH_AND_ADD, 0, &word, &word, &was, NULL);
	LAPI_Rmw64(handle, FETCH_AND_ADD, 0, &in, &in, &previous, NULL);
	CHECK(LAPI_Fence(handle) == LAPI_SUCCESS);
	CHECK(LAPI_Gfence(handle) == LAPI_SUCCESS);
	CHECK(LAPI_Waitcntr(handle, NULL, 1, NULL) == LAPI_ERR_CNTR_NULL);
	CHECK(LAPI_Setcntr(handle, &counter, 0) == LAPI_SUCCESS);
	end();
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, "LAPI_Probe") == 1);
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, "LAPI_Rmw") == 1);
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, "LAPI_Rmw64") == 1);
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, "LAPI_Fence") == 1);
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, "LAPI_Gfence") == 1);
	/* Eight calls, of them LAPI_Term without an end. */
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, NULL) == 8);
	CHECK(count_of(CSHIM_TRACE_END | CSHIM_TRACE_CALL, NULL) == 7);
	CHECK(file.records[file.head.next - 4].code == LAPI_ERR_CNTR_NULL);
	CHECK(file.records[0].thread == (int32_t)cshim_tid() && file.records[0].peer == -1);
	CHECK(file.records[1].ns >= file.records[0].ns && file.records[0].ns > 0);
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_WAIT, NULL) == 0);
}

static void completed(lapi_handle_t *hndl, void *ran)
{
	(void)hndl;
	__atomic_add_fetch((uint32_t *)ran, 1, __ATOMIC_SEQ_CST);
}

static void queue(int context, void *ran)
{
	fake_queue_completion(context, completed, ran);
}

static void test_waits_and_handlers(void)
{
	uint32_t ran = 0;

	begin(CSHIM_TRACE_HANDLERS, CAPACITY);
	CHECK(LAPI_Fence(handle) == LAPI_SUCCESS);
	fake_arrive(fake_context(handle), queue, &ran);
	fake_await(&ran, 1);
	end();
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_WAIT, "wait") >= 1);
	CHECK(count_of(CSHIM_TRACE_BEGIN | CSHIM_TRACE_HANDLER, "completion handler") == 1);
}

static void test_full(void)
{
	int i;

	begin(CSHIM_TRACE_CALLS, 3);
	for (i = 0; i < 10; i++)
		CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	end();
	CHECK(file.head.next == 21);
	CHECK(file.records[2].kind != 0 && file.records[3].kind == 0);
}

static void *call_until_the_end(void *calls)
{
	while (LAPI_Probe(handle) == LAPI_SUCCESS)
		__atomic_add_fetch((uint32_t *)calls, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* The file goes with the context: calls that end after it leave no record. */
static void test_end_under_way(void)
{
	uint32_t calls[THREADS] = {0};
	pthread_t threads[THREADS];
	uint64_t records;
	int i;

	begin(CSHIM_TRACE_DISPATCHER, CAPACITY);
	for (i = 0; i < THREADS; i++)
		threads[i] = fake_thread(call_until_the_end, &calls[i]);
	for (i = 0; i < THREADS; i++)
		fake_await(&calls[i], 10);
	end();
	records = __atomic_load_n(&file.head.next, __ATOMIC_SEQ_CST);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(__atomic_load_n(&file.head.next, __ATOMIC_SEQ_CST) == records);
}

void test_trace(void)
{
	test_names_and_codes();
	test_waits_and_handlers();
	test_full();
	test_end_under_way();
}
