/*
 * Init.c - contexts: initialising, terminating, initialising again, and two at a time.
 *
 * The first LAPI_Init registers an error handler. A second context is then opened beside the first;
 * each has a handle of its own and its own traffic. After LAPI_Term a handle is worth nothing any
 * more, and the same variable can be used for a new one.
 */
#include "sample.h"

/* set by the error handler, which may run on any thread of the library */
static volatile int errors_seen;

/*
 * The error handler: LAPI calls it for errors that no call can return, such as a task that has
 * died. All its arguments are by reference: the context, the code, the kind of operation that
 * failed, this task, and the task concerned. When it returns, the program goes on; without an error
 * handler LAPI would end this task.
 */
static void on_error(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *task, int *src)
{
	char text[LAPI_MAX_ERR_STRING] = "";

	LAPI_Msg_string(*code, text);
	fprintf(stderr, "task %d: handle %u: error %d (kind %d) about task %d: %s\n", *task, *hndl,
	        *code, (int)*type, *src, text);
	errors_seen = 1;
}

static void open_context(lapi_handle_t *hndl, LAPI_err_hndlr *handler)
{
	lapi_info_t info;

	memset(&info, 0, sizeof info); /* fields that are not set must be zero */
	info.lib_vers = LAST_LIB;      /* counters are full structures, not bare integers */
	info.err_hndlr = handler;
	CALL(LAPI_Init(hndl, &info));
}

/* Shows that a context works: all tasks meet in it. */
static void use_context(lapi_handle_t hndl, const char *which)
{
	int task, num_tasks;

	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	EXPECT(task >= 0 && task < num_tasks);
	CALL(LAPI_Gfence(hndl));
	sample_say("%s context, handle %u: task %d of %d, all tasks met in it", which, hndl, task,
	           num_tasks);
}

int main(void)
{
	lapi_handle_t first, second, old;
	int answer;

	open_context(&first, on_error);
	use_context(first, "first");

	open_context(&second, NULL);
	EXPECT(first != second);
	use_context(second, "second");
	use_context(first, "first, again,");

	CALL(LAPI_Term(second));
	CALL(LAPI_Term(first));

	old = first;
	EXPECT(LAPI_Qenv(old, TASK_ID, &answer) == LAPI_ERR_HNDL_INVALID);
	sample_say("after LAPI_Term handle %u is refused, as it must be", old);

	open_context(&first, on_error);
	use_context(first, "new");
	EXPECT(LAPI_Qenv(old, TASK_ID, &answer) == LAPI_ERR_HNDL_INVALID || old == first);
	CALL(LAPI_Term(first));

	EXPECT(!errors_seen);
	return sample_end();
}
