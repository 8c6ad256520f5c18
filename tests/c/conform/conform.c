/*
 * conform.c - the frame: initialisation, running the cases, verdicts.
 */
#include "conform.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>

lapi_handle_t hndl;
int task_id;
int num_tasks;
int conform_polling;
int conform_checking;
lapi_lib_t conform_lib;
int conform_initial_interrupt;
int conform_initial_checking;
lapi_dev_t conform_protocol;

enum { PASSED = 1, SKIPPED = 2, FAILED = 3 };

/* The running case. Set by the main thread, read by the guard and by failing checks in any thread:
 * atomics throughout. */
static const char *case_name = "(before the first case)";
static const char *skip_reason;
static int case_failures;
static int last_line;
static unsigned case_turn;

static conform_error errors[CONFORM_MAX_ERRORS];
static int error_count;
static int errors_expected;

const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value ? value : "";
}

double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void sleep_ms(int ms)
{
	struct timespec rest = {ms / 1000, (long)(ms % 1000) * 1000000};
	while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
		;
}

/* ---- verdicts ---- */

void conform_failed(const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	/* After some dozens of failures a loop is failing: the first ones are enough. */
	if (__atomic_add_fetch(&case_failures, 1, __ATOMIC_ACQ_REL) <= 25)
		fprintf(stderr, "task %d: %s:%d: %s: %s\n", task_id, file, line,
		        __atomic_load_n(&case_name, __ATOMIC_ACQUIRE), text);
}

int conform_check(int ok, const char *file, int line, const char *expression)
{
	__atomic_store_n(&last_line, line, __ATOMIC_RELAXED);
	if (!ok)
		conform_failed(file, line, "not true: %s", expression);
	return ok;
}

int conform_check_equal(long long a, long long b, const char *file, int line, const char *ea,
                        const char *eb)
{
	__atomic_store_n(&last_line, line, __ATOMIC_RELAXED);
	if (a != b)
		conform_failed(file, line, "%s is %lld, %s is %lld", ea, a, eb, b);
	return a == b;
}

int conform_check_code(int got, int want, const char *file, int line, const char *expression)
{
	char got_text[LAPI_MAX_ERR_STRING + 1] = "";
	__atomic_store_n(&last_line, line, __ATOMIC_RELAXED);
	if (got == want)
		return 1;
	if (got != LAPI_SUCCESS)
		LAPI_Msg_string(got, got_text);
	conform_failed(file, line, "%s returned %d (%s), not %d", expression, got, got_text, want);
	return 0;
}

void conform_skip(const char *reason)
{
	__atomic_store_n(&skip_reason, reason, __ATOMIC_RELEASE);
}

/* ---- errors reported by the library ---- */

void conform_error_handler(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *src)
{
	int slot = __atomic_fetch_add(&error_count, 1, __ATOMIC_ACQ_REL);
	(void)h;
	if (slot < CONFORM_MAX_ERRORS) {
		conform_error e = {*code, (int)*type, *task, *src};
		errors[slot] = e;
	}
	if (!__atomic_load_n(&errors_expected, __ATOMIC_ACQUIRE))
		conform_failed(__FILE__, __LINE__,
		               "the error handler was called: code %d, type %d, task %d, src %d",
		               *code, (int)*type, *task, *src);
}

void conform_expect_errors(int expect)
{
	__atomic_store_n(&error_count, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&errors_expected, expect, __ATOMIC_RELEASE);
}

int conform_errors(void)
{
	return __atomic_load_n(&error_count, __ATOMIC_ACQUIRE);
}

conform_error conform_error_at(int index)
{
	return errors[index];
}

/* ---- the guard against hangs ---- */

/* Prints where every thread of this process is, as far as the kernel shows it, and runs the command
 * of CONFORM_ON_HANG. */
static void describe_hang(void)
{
	char command[1200];
	snprintf(
		command, sizeof command,
		"PID=%d; for t in /proc/$PID/task/*; do echo \"  $(cat $t/comm) $(cat $t/wchan 2>/dev/null) $(cat $t/syscall 2>/dev/null)\"; "
		"done >&2; %s",
		(int)getpid(), variable("CONFORM_ON_HANG"));
	if (system(command) == -1)
		perror("system");
}

static void *guard(void *unused)
{
	double limit = atof(variable("CONFORM_HANG_SECONDS"));
	unsigned turn = ~0u;
	double since = now();
	(void)unused;
	if (limit <= 0)
		limit = 300;
	for (;;) {
		unsigned current = __atomic_load_n(&case_turn, __ATOMIC_ACQUIRE);
		if (current != turn) {
			turn = current;
			since = now();
		}
		if (now() - since > limit) {
			fprintf(stderr,
			        "task %d: HANG: case %s did not end within %g s; last line checked: %d\n",
			        task_id, __atomic_load_n(&case_name, __ATOMIC_ACQUIRE), limit,
			        __atomic_load_n(&last_line, __ATOMIC_RELAXED));
			fflush(stdout);
			describe_hang();
			_exit(3);
		}
		sleep_ms(200);
	}
	return NULL;
}

/* The guard is a thread, not SIGALRM: a program under test may use signals, and a signal may land
 * in any thread. */
static void start_guard(void)
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t detached;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &detached, guard, NULL) != 0) {
		perror("pthread_create");
		exit(2);
	}
	pthread_attr_destroy(&detached);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- running ---- */

void conform_fill_info(lapi_info_t *info)
{
	bzero(info, sizeof *info);
	info->lib_vers = conform_lib;
	info->err_hndlr = conform_error_handler;
}

void conform_set_mode(lapi_handle_t h)
{
	LAPI_OK(LAPI_Senv(h, INTERRUPT_SET, !conform_polling));
	LAPI_OK(LAPI_Senv(h, ERROR_CHK, conform_checking));
}

static void read_environment(void)
{
	const char *lib = variable("CONFORM_LIB");
	conform_polling = strcmp(variable("CONFORM_MODE"), "polling") == 0;
	conform_checking = strcmp(variable("CONFORM_CHECK"), "on") == 0;
	conform_lib = strcmp(lib, "last") == 0 ? LAST_LIB
	              : strcmp(lib, "l2") == 0 ? L2_LIB
	                                       : L1_LIB;
}

void conform_start(void)
{
	read_environment();
	setvbuf(stdout, NULL, _IOLBF, 0);
	task_id = atoi(variable("MP_CHILD"));
	start_guard();
}

/* The worst verdict of all tasks; 0 if the gathering itself failed. */
static int gather(int mine)
{
	lapi_long_t table[CONFORM_MAX_TASKS] = {0};
	int worst = 0, i;
	if (LAPI_Address_init64(hndl, (lapi_long_t)mine, table) != LAPI_SUCCESS)
		return FAILED;
	for (i = 0; i < num_tasks; i++) {
		if (table[i] < PASSED || table[i] > FAILED)
			return FAILED;
		if ((int)table[i] > worst)
			worst = (int)table[i];
	}
	return worst;
}

static int run_case(const conform_case *c)
{
	double start = now();
	int mine, all;
	__atomic_store_n(&case_name, c->name, __ATOMIC_RELEASE);
	__atomic_add_fetch(&case_turn, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&case_failures, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&skip_reason, NULL, __ATOMIC_RELEASE);
	conform_expect_errors(0);
	conform_set_mode(hndl);
	conform_sync();
	c->run();
	conform_sync();
	mine = __atomic_load_n(&case_failures, __ATOMIC_ACQUIRE) ? FAILED
	       : skip_reason                                     ? SKIPPED
	                                                         : PASSED;
	all = gather(mine);
	if (task_id == 0) {
		static const char *words[] = {"FAIL", "pass", "skip", "FAIL"};
		printf("  %s %-44s %6.2f s%s%s\n", words[all], c->name, now() - start,
		       all == SKIPPED ? "  " : "",
		       all == SKIPPED && skip_reason ? skip_reason : "");
	}
	return all;
}

static int wanted(const char *name, int argc, char **argv)
{
	int i;
	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return argc <= 1;
}

static int names_are_known(int argc, char **argv, const conform_case *cases, size_t count)
{
	int i;
	size_t k;
	for (i = 1; i < argc; i++) {
		for (k = 0; k < count && strcmp(cases[k].name, argv[i]) != 0; k++)
			;
		if (k == count) {
			fprintf(stderr, "%s: no case is named %s\n", argv[0], argv[i]);
			return 0;
		}
	}
	return 1;
}

int conform_run(int argc, char **argv, const conform_case *cases, size_t count)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	int passed = 0, failed = 0, skipped = 0;
	size_t k;
	if (!names_are_known(argc, argv, cases, count))
		return 2;
	for (k = 0; k < count; k++) {
		if (!wanted(cases[k].name, argc, argv))
			continue;
		switch (run_case(&cases[k])) {
		case PASSED:
			passed++;
			break;
		case SKIPPED:
			skipped++;
			break;
		default:
			failed++;
		}
	}
	__atomic_store_n(&case_name, "(after the last case)", __ATOMIC_RELEASE);
	__atomic_add_fetch(&case_turn, 1, __ATOMIC_ACQ_REL);
	if (task_id == 0)
		printf("%s: %d passed, %d failed, %d skipped\n", name, passed, failed, skipped);
	return failed ? 1 : 0;
}

int conform_main(int argc, char **argv, const conform_case *cases, size_t count)
{
	lapi_info_t info;
	int code, result;
	conform_start();
	conform_fill_info(&info);
	code = LAPI_Init(&hndl, &info);
	if (code != LAPI_SUCCESS) {
		fprintf(stderr, "task %d: LAPI_Init returned %d\n", task_id, code);
		return 2;
	}
	conform_protocol = info.protocol;
	task_id = query(TASK_ID);
	num_tasks = query(NUM_TASKS);
	conform_initial_interrupt = query(INTERRUPT_SET);
	conform_initial_checking = query(ERROR_CHK);
	result = conform_run(argc, argv, cases, count);
	/* a task that ends with a failure takes the others down: first let task 0 say its closing
	 * line */
	conform_sync();
	code = LAPI_Term(hndl);
	if (code != LAPI_SUCCESS) {
		fprintf(stderr, "task %d: LAPI_Term returned %d\n", task_id, code);
		return 1;
	}
	return result;
}
