/* pmix.c - see pmix.h */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmix/abi.h"
#include "pmix/pmix.h"

static struct pmix_calls calls;
static struct pmix_proc self;
static pid_t connected; /* the process that is connected; 0: none */
static pid_t left;      /* the process that has left the server to its MPI; 0: none */
static int handler;     /* the exit handler is there */

enum { FAR_SECONDS = 60 }; /* in which a server of another node is to answer */

static int fail(char *why, const char *what, int status)
{
	const char *text = calls.error_string(status);

	snprintf(why, CSHIM_PMIX_WHY, "%s: %s (%d)", what, text ? text : "no reason", status);
	return -1;
}

static int disconnected(char *why)
{
	if (connected == getpid())
		return 0;
	snprintf(why, CSHIM_PMIX_WHY, "this process is not connected to a PMIx server");
	return 1;
}

/* The library stays open: it has a thread. */
static int load(const char *library, char *why)
{
	static const char *const names[] = {"PMIx_Init",     "PMIx_Put",         "PMIx_Commit",
	                                    "PMIx_Fence",    "PMIx_Get",         "PMIx_Abort",
	                                    "PMIx_Finalize", "PMIx_Error_string"};
	void *found[sizeof names / sizeof *names];
	_Static_assert(sizeof found == sizeof calls, "a name for each call");

	/* not for others to bind to: they may have a libpmix of their own */
	void *file = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!file) {
		snprintf(why, CSHIM_PMIX_WHY, "%s", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		found[i] = dlsym(file, names[i]);
		if (!found[i]) {
			snprintf(why, CSHIM_PMIX_WHY, "%s has no %s", library, names[i]);
			dlclose(file);
			return -1;
		}
	}
	memcpy(&calls, found, sizeof calls);
	return 0;
}

/*
 * Whether an MPI has come and gone in this process. The server has seen this task end then. An
 * exchange that was begun again failed in some tasks and hung in others.
 */
static int mpi_has_ended(void)
{
	int (*finalized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Finalized");
	int flag = 0;

	return finalized && finalized(&flag) == 0 && flag;
}

/*
 * Whether an Open MPI of this process has yet to begin that wants the server for itself. From
 * version 5 on it calls PMIx_Init only where nobody has, and otherwise does not learn its rank:
 * MPI_Init fails.
 */
static int mpi_is_to_begin(void)
{
	int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
	int (*version)(char *, int *) =
		(int (*)(char *, int *))dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
	char text[8192 + 1] = ""; /* no MPI's is longer, with its zero byte or without */
	int flag = 1, length, major;

	return initialized && version && initialized(&flag) == 0 && !flag &&
	       version(text, &length) == 0 && sscanf(text, "Open MPI v%d", &major) == 1 && major >= 5;
}

static int number(const struct pmix_value *v, uint32_t *n)
{
	uint64_t u;

	switch (v->type) { /* servers differ */
	case PMIX_INT:
	case PMIX_INT32:
		u = (uint64_t)(int64_t)v->of.int32;
		break;
	case PMIX_UINT16:
		u = v->of.uint16;
		break;
	case PMIX_UINT32:
		u = v->of.uint32;
		break;
	case PMIX_UINT64:
		u = v->of.uint64;
		break;
	default:
		return -1;
	}
	if (u < 1 || u > INT32_MAX)
		return -1;
	*n = (uint32_t)u;
	return 0;
}

static int job_size(uint32_t *size, char *why)
{
	struct pmix_proc all = self;
	struct pmix_value *v = NULL;

	all.rank = PMIX_WILDCARD;
	int status = calls.get(&all, "pmix.job.size", NULL, 0, &v);
	if (status != PMIX_OK || !v)
		return fail(why, "the number of tasks", status);
	status = number(v, size);
	if (status < 0)
		snprintf(why, CSHIM_PMIX_WHY, "the number of tasks is no positive number (type %d)",
		         v->type);
	else if (self.rank >= *size) {
		snprintf(why, CSHIM_PMIX_WHY, "task %u of %u", self.rank, *size);
		status = -1;
	}
	free(v);
	return status;
}

int cshim_pmix_open(const char *library, uint32_t *rank, uint32_t *size, char *why)
{
	if (!calls.init && load(library, why) < 0)
		return -1;
	if (connected && connected != getpid()) {
		snprintf(why, CSHIM_PMIX_WHY,
		         "the PMIx server knows the process that forked this one");
		return -1;
	}
	if (!connected) {
		if (mpi_has_ended()) {
			snprintf(why, CSHIM_PMIX_WHY,
			         "MPI_Finalize has ended this process's use of the "
			         "PMIx server; LAPI_Init is to come before it");
			return -1;
		}
		int status = calls.init(&self, NULL, 0);
		if (status != PMIX_OK)
			return fail(why, "the PMIx server cannot be reached", status);
		connected = getpid();
		/* after init, so that it runs before what libpmix does at exit */
		if (!handler && atexit(cshim_pmix_end) == 0)
			handler = 1;
	}
	*rank = self.rank;
	return job_size(size, why);
}

int cshim_pmix_give(const char *key, const void *card, size_t length, char *why)
{
	struct pmix_value v = {.type = PMIX_BYTES,
	                       .of.object = {.bytes = (char *)card, .size = length}};
	struct pmix_info collect = {.key = "pmix.collect",
	                            .value = {.type = PMIX_BOOL, .of.flag = 1}};

	if (disconnected(why))
		return -1;
	int status = calls.put(PMIX_GLOBAL, key, &v);
	if (status == PMIX_OK)
		status = calls.commit();
	if (status != PMIX_OK)
		return fail(why, "this task's card", status);
	status = calls.fence(NULL, 0, &collect, 1); /* brings all cards here */
	return status == PMIX_OK ? 0 : fail(why, "the exchange of cards", status);
}

int cshim_pmix_take(const char *key, uint32_t rank, void **card, size_t *length, char *why)
{
	struct pmix_proc whose = self;
	struct pmix_value *v = NULL;
	/*
	 * The cards that the fence has brought are in this process; but with PMIx 5 the node's
	 * server alone has those of the node's other tasks, and under prun other nodes' servers
	 * have those of their tasks.
	 */
	struct pmix_info ways[] = {
		{.key = "pmix.optional", .value = {.type = PMIX_BOOL, .of.flag = 1}},
		{.key = "pmix.immediate", .value = {.type = PMIX_BOOL, .of.flag = 1}},
		/* a server that does not have it could wait for it for ever */
		{.key = "pmix.timeout", .value = {.type = PMIX_INT, .of.int32 = FAR_SECONDS}},
	};
	int status = PMIX_OK;

	if (disconnected(why))
		return -1;
	whose.rank = rank;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		v = NULL;
		status = calls.get(&whose, key, &ways[i], 1, &v);
		if (status == PMIX_OK)
			break;
	}
	if (status != PMIX_OK || !v)
		return fail(why, "a card", status);
	if (v->type != PMIX_BYTES) {
		snprintf(why, CSHIM_PMIX_WHY, "a card of type %d", v->type);
		free(v);
		return -1;
	}
	*card = v->of.object.bytes;
	*length = *card ? v->of.object.size : 0;
	free(v);
	return 0;
}

void cshim_pmix_leave_to_mpi(void)
{
	if (connected != getpid() || !mpi_is_to_begin())
		return;
	cshim_pmix_end();
	left = getpid();
}

int cshim_pmix_abort(int code, char *why)
{
	if (left == getpid() && connected != left) {
		int status = calls.init(&self, NULL, 0);
		if (status != PMIX_OK)
			return fail(why, "the PMIx server cannot be reached again", status);
		connected = left;
	}
	if (disconnected(why))
		return -1;
	int status = calls.abort(code, "LAPI ends the job", NULL, 0);
	return status == PMIX_OK ? 0 : fail(why, "the end of the job", status);
}

void cshim_pmix_give_up(void)
{
	connected = 0;
}

void cshim_pmix_end(void)
{
	if (connected != getpid())
		return;
	connected = 0;
	calls.finalize(NULL, 0);
}
