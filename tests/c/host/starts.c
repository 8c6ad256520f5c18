/*
 * starts.c - which calls start core, row by row of the table in docs/scope.md: after a call that
 * does not, a child made by fork opens an adapter, or calls LAPI_Init, as if there had been none.
 *
 * Argument: the list of the library's symbols (tests/c/abi/symbols.golden). Each function in it that
 * has no row of its own is called with arguments that are all 0, in a process of its own.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

/* There is no uDAPL for 32-bit programs. */
#define HAS_DAT (sizeof(void *) == 8)

enum { SECONDS = 120, STARTED = 40 };

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static int handled_faults(void)
{
	struct sigaction action;

	return sigaction(SIGSEGV, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
}

/* ---- The calls that have rows ---- */

static DAT_PROVIDER_INFO info = {.ia_name = "starts", .dapl_version_major = 2};
static DAT_PROVIDER table;

static void open_adapter(void)
{
	DAT_EVD_HANDLE events = DAT_HANDLE_NULL;
	DAT_IA_HANDLE adapter;

	HOST_CHECK(dat_ia_open("lapi-lo", 8, &events, &adapter) == DAT_SUCCESS);
	HOST_CHECK(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

static void open_query(void)
{
	extern DAT_RETURN dat_ib_open_query(const DAT_NAME_PTR, DAT_HANDLE *, DAT_IA_ATTR_MASK,
	                                    DAT_IA_ATTR *, DAT_PROVIDER_ATTR_MASK,
	                                    DAT_PROVIDER_ATTR *) __attribute__((weak));
	DAT_HANDLE handle;

	HOST_CHECK(dat_ib_open_query("lapi-lo", &handle, 0, NULL, 0, NULL) == DAT_SUCCESS);
}

static void list(void)
{
	static DAT_PROVIDER_INFO infos[100];
	DAT_PROVIDER_INFO *to[100];
	DAT_COUNT n = 0, i, found = 0;

	for (i = 0; i < 100; i++)
		to[i] = &infos[i];
	HOST_CHECK(dat_registry_list_providers(100, &n, to) == DAT_SUCCESS && n > 0);
	for (i = 0; i < n && i < 100; i++)
		found += strcmp(infos[i].ia_name, "lapi-lo") == 0;
	HOST_CHECK(found == 1);
	HOST_CHECK(DAT_GET_TYPE(dat_registry_list_providers(100, (DAT_COUNT *)8, to)) ==
	           DAT_INVALID_PARAMETER);
}

static void add(void)
{
	HOST_CHECK(dat_registry_add_provider(&table, &info) == DAT_SUCCESS);
}

static void take_out(void)
{
	add();
	HOST_CHECK(dat_registry_remove_provider(&table, &info) == DAT_SUCCESS);
}

static void related(void)
{
	DAT_HA_RELATIONSHIP answer = 77;

	HOST_CHECK(dat_registry_providers_related("lapi", "lapi-lo", &answer) == DAT_SUCCESS);
	HOST_CHECK(answer == DAT_HA_FALSE);
}

static void words_of_dat(void)
{
	const char *major, *minor;

	HOST_CHECK(dat_strerror(DAT_INVALID_STATE, &major, &minor) == DAT_SUCCESS);
}

static void words_of_lapi(void)
{
	char text[LAPI_MAX_ERR_STRING];

	HOST_OK(LAPI_Msg_string(LAPI_ERR_TGT, text));
	HOST_CHECK(strcmp(text, "The target is not a task of this job.") == 0);
}

static void address(void)
{
	ulong where = 0;

	HOST_OK(LAPI_Address(&where, &where));
	HOST_CHECK(where == (ulong)(uintptr_t)&where);
}

/* A job of one task, started by hand. */
static void init(void)
{
	lapi_handle_t handle;
	lapi_info_t parameters;

	setenv("MP_MSG_API", "lapi", 1);
	setenv("MP_CHILD", "0", 1);
	setenv("MP_PROCS", "1", 1);
	setenv("MP_PARTITION", "4711", 1);
	memset(&parameters, 0, sizeof parameters);
	parameters.lib_vers = LAST_LIB;
	HOST_OK(LAPI_Init(&handle, &parameters));
	HOST_OK(LAPI_Term(handle));
}

static lapi_dgsm_copy_t copy = {LAPI_DGSM_COPY, 8, 0};

static lapi_dg_handle_t dgsp(void)
{
	static lapi_dgsp_descr_t descriptor;
	lapi_util_t command;

	descriptor.code = (int *)&copy;
	descriptor.code_size = sizeof copy / sizeof(int);
	descriptor.depth = 1;
	descriptor.density = LAPI_DGSM_CONTIG;
	descriptor.size = descriptor.extent = descriptor.rext = 8;
	memset(&command, 0, sizeof command);
	command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
	command.RegDgsp.idgsp = &descriptor;
	LAPI_Util(0, &command);
	return command.RegDgsp.dgsp_handle;
}

static void register_dgsp(void)
{
	dgsp();
}

static const struct row {
	const char *call;
	void (*run)(void);
	int starts;
	int dat;
} rows[] = {
	{"LAPI_Init", init, 1, 0},
	{"LAPI_Util", register_dgsp, 1, 0},
	{"LAPI_Msg_string", words_of_lapi, 0, 0},
	{"LAPI_Address", address, 0, 0},
	{"dat_ia_openv", open_adapter, 1, 1},
	{"dat_ib_open_query", open_query, 1, 1},
	{"dat_registry_list_providers", list, 0, 1},
	{"dat_registry_add_provider", add, 0, 1},
	{"dat_registry_remove_provider", take_out, 0, 1},
	{"dat_registry_providers_related", related, 0, 1},
	{"dat_strerror", words_of_dat, 0, 1},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- Each call in a process of its own ---- */

static int ended_well(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static pid_t child(void (*run)(void))
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		run();
		_exit(host_case_failures > 0);
	}
	return pid;
}

static void no_trace(void)
{
	HOST_CHECK(threads() == 1 && !handled_faults());
	HOST_CHECK(ended_well(child(init)));
	if (HAS_DAT)
		HOST_CHECK(ended_well(child(open_adapter)));
}

static const struct row *now;

static void run_row(void)
{
	now->run();
	if (now->starts)
		HOST_CHECK(threads() > 1);
	else
		no_trace();
}

typedef int any_function(long, long, long, long, long, long, long, long, long, long, long, long);
static any_function *unknown;

/* Exits with STARTED if the call has started core. */
static void run_zeros(void)
{
	unknown(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	_exit(threads() > 1 ? STARTED : 0);
}

/* 1 or 0: a call starts core or not; -1: it has not ended as it should. */
static int zeros_start(const char *name)
{
	int status = -1;
	pid_t pid;

	unknown = (any_function *)(uintptr_t)dlsym(RTLD_DEFAULT, name);
	if (!unknown)
		return -1;
	pid = child(run_zeros);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) == STARTED ? 1 : WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int has_row(const char *name)
{
	int i;

	for (i = 0; i < ROWS; i++)
		if (strcmp(name, rows[i].call) == 0)
			return 1;
	return 0;
}

/* Of LAPI no other call starts core; of uDAPL each one does that looks for an object. */
static int should_start(const char *name)
{
	return strncmp(name, "dat", 3) == 0 && strcmp(name, "dat_extension") != 0;
}

static void all_others(FILE *symbols)
{
	char kind, name[200];
	int n = 0, started;

	while (fscanf(symbols, " %c %199s", &kind, name) == 2) {
		int dat = strncmp(name, "dat", 3) == 0;

		/* the names of Fortran's are those of C's in other letters */
		if ((kind != 'T' && kind != 'W') || has_row(name) || (dat && !HAS_DAT) ||
		    (!dat && (strncmp(name, "LAPI_", 5) != 0 || name[6] < 'a' || name[6] > 'z')))
			continue;
		n++;
		started = zeros_start(name);
		if (started != should_start(name))
			fprintf(stderr, "%s: %d\n", name, started);
		HOST_CHECK(started == should_start(name));
	}
	HOST_CHECK(n > 20);
}

int main(int argc, char **argv)
{
	FILE *symbols = argc > 1 ? fopen(argv[1], "r") : NULL;
	int i;

	alarm(10 * SECONDS);
	for (i = 0; i < ROWS; i++) {
		if (rows[i].dat && !HAS_DAT)
			continue;
		now = &rows[i];
		HOST_CHECK(ended_well(child(run_row)));
		host_end_case(now->call, 0);
	}
	HOST_CHECK(symbols != NULL);
	if (symbols)
		all_others(symbols);
	host_end_case("others", 0);
	return host_close("starts", 0);
}
