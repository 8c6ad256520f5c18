/*
 * test_pmix_hostile.c - pmix.c with a library behind it that returns anything: statuses, ranks,
 * values of any type or none, bytes without a length, lengths without bytes, names without an end,
 * reasons of any length or none. A call succeeds only with what pmix.h promises; else it returns -1
 * and a sentence. The sanitizers find nothing.
 *
 * This program is the library: pmix.c opens it by no name. It is an MPI as well. CSHIM_FUZZ and
 * CSHIM_SEED: see random.h.
 */
#define _GNU_SOURCE
#include "ctest/fake.h"
#include "pmix/abi.h"
#include "pmix/pmix.h"
#include "ctest/random.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY __attribute__((visibility("default")))

enum { CALLS = 20000, LONG = 5000, CARD = 300, VERSION = 8192, GUARD = 0x5a };
#define KEY "lapi.card"

static uint64_t state;
static int connections;          /* PMIx_Init less PMIx_Finalize */
static struct pmix_proc me;      /* as PMIx_Init said */
static struct pmix_value *value; /* the last value of PMIx_Get */
static uint16_t type;            /* and its content */
static char *bytes;
static size_t size;
static uint64_t tasks;
static char reason[LONG];

static int any_status(void)
{
	return random_below(&state, 6) ? PMIX_OK : (int)random_next(&state);
}

LIBRARY const char *PMIx_Error_string(int status)
{
	size_t n = random_below(&state, 3) ? random_below(&state, 300) : random_below(&state, LONG);

	(void)status;
	memset(reason, 'a', n);
	reason[n] = 0;
	return random_below(&state, 4) ? reason : NULL;
}

LIBRARY int PMIx_Init(struct pmix_proc *proc, struct pmix_info *infos, size_t count)
{
	int status = any_status();

	CHECK(proc != NULL && infos == NULL && count == 0);
	memset(proc->nspace, 'n', sizeof proc->nspace); /* no zero byte */
	proc->rank = random_below(&state, 8) ? random_below(&state, 9) : (uint32_t)random_next(&state);
	me = *proc;
	connections += status == PMIX_OK;
	return status;
}

LIBRARY int PMIx_Finalize(const struct pmix_info *infos, size_t count)
{
	CHECK(infos == NULL && count == 0 && connections == 1);
	connections--;
	return any_status();
}

LIBRARY int PMIx_Put(uint8_t scope, const char *key, struct pmix_value *v)
{
	CHECK(scope == PMIX_GLOBAL && strcmp(key, KEY) == 0 && v->type == PMIX_BYTES);
	return any_status();
}

LIBRARY int PMIx_Commit(void)
{
	return any_status();
}

LIBRARY int PMIx_Fence(const struct pmix_proc *procs, size_t n, const struct pmix_info *infos,
                       size_t count)
{
	CHECK(procs == NULL && n == 0 && infos != NULL && count == 1);
	return any_status();
}

LIBRARY int PMIx_Abort(int code, const char *text, struct pmix_proc *procs, size_t n)
{
	CHECK(code == 7 && text != NULL && procs == NULL && n == 0);
	return any_status();
}

/* A number of tasks: in 8 bytes what a narrower type has in its first. */
static void fill_number(struct pmix_value *v)
{
	static const uint16_t types[] = {PMIX_INT, PMIX_INT32, PMIX_UINT16, PMIX_UINT32, PMIX_UINT64};

	type = random_below(&state, 8) ? types[random_below(&state, 5)] : (uint16_t)random_next(&state);
	tasks = random_below(&state, 4) ? random_below(&state, 12) : random_next(&state);
	v->type = type;
	memset(&v->of, GUARD, sizeof v->of);
	switch (type) {
	case PMIX_UINT16:
		v->of.uint16 = (uint16_t)tasks, tasks = v->of.uint16;
		break;
	case PMIX_UINT32:
		v->of.uint32 = (uint32_t)tasks, tasks = v->of.uint32;
		break;
	case PMIX_UINT64:
		v->of.uint64 = tasks;
		break;
	case PMIX_INT:
	case PMIX_INT32:
		v->of.int32 = (int32_t)tasks, tasks = (uint64_t)v->of.int32;
		break;
	default:
		tasks = 0;
	}
}

static void fill_card(struct pmix_value *v)
{
	type = random_below(&state, 6) ? PMIX_BYTES : (uint16_t)random_next(&state);
	memset(&v->of, GUARD, sizeof v->of);
	v->type = type;
	if (type != PMIX_BYTES)
		return;
	size = random_below(&state, CARD);
	bytes = random_below(&state, 6) ? malloc(size) : NULL;
	if (bytes)
		memset(bytes, GUARD, size);
	else if (random_below(&state, 2))
		size = (size_t)random_next(&state);
	v->of.object.bytes = bytes;
	v->of.object.size = size;
}

LIBRARY int PMIx_Get(const struct pmix_proc *proc, const char *key, const struct pmix_info *infos,
                     size_t count, struct pmix_value **to)
{
	int status = any_status(), card = strcmp(key, KEY) == 0;

	CHECK(memcmp(proc->nspace, me.nspace, sizeof me.nspace) == 0 && count == (size_t)card);
	CHECK(!card || infos != NULL);
	value = NULL;
	bytes = NULL;
	if (status != PMIX_OK) {
		*to = random_below(&state, 2) ? (struct pmix_value *)&state : NULL; /* no value */
		return status;
	}
	if (random_below(&state, 16)) {
		value = malloc(sizeof *value);
		CHECK(value != NULL);
		if (card)
			fill_card(value);
		else
			fill_number(value);
		*to = value;
	}
	return PMIX_OK; /* without a value, too */
}

/* An MPI whose version is a text of any length, which may lack its end. */
LIBRARY int MPI_Finalized(int *flag)
{
	*flag = !random_below(&state, 8);
	return (int)random_below(&state, 2);
}

LIBRARY int MPI_Initialized(int *flag)
{
	*flag = (int)random_below(&state, 2);
	return random_below(&state, 4) == 0;
}

LIBRARY int MPI_Get_library_version(char *text, int *length)
{
	static const char *const begins[] = {"Open MPI v5", "Open MPI v4", "Open MPI v", "MPICH 4",
	                                     "Open MPI v99999999999999999999"};
	const char *begin = begins[random_below(&state, 5)];

	*length = random_below(&state, 2) ? (int)strlen(begin) : (int)random_next(&state);
	memset(text, '7', VERSION);
	memcpy(text, begin, strlen(begin));
	if (random_below(&state, 2))
		text[strlen(begin)] = 0;
	return random_below(&state, 4) == 0;
}

static int check_result(int result, const char *why)
{
	CHECK(result == 0 || result == -1 || result == 1);
	CHECK(why[CSHIM_PMIX_WHY] == GUARD);
	if (result != 0)
		CHECK(strnlen(why, CSHIM_PMIX_WHY) < CSHIM_PMIX_WHY);
	return result == 0;
}

static int opens(char *why)
{
	uint32_t rank = UINT32_MAX, of = 0;

	if (!check_result(cshim_pmix_open(NULL, &rank, &of, why), why))
		return 0;
	CHECK(connections == 1 && of >= 1 && of <= INT32_MAX && of == tasks);
	CHECK(rank == me.rank && rank < of);
	return 1;
}

static int takes(char *why)
{
	void *card = NULL;
	size_t n = 0;

	if (!check_result(cshim_pmix_take(KEY, random_below(&state, 9), &card, &n, why), why)) {
		CHECK(card == NULL && n == 0);
		return 0;
	}
	CHECK(connections == 1 && type == PMIX_BYTES && card == bytes);
	CHECK(n == (bytes ? size : 0));
	free(card);
	return 1;
}

void test_pmix_hostile(void)
{
	uint64_t calls = random_setting("CSHIM_FUZZ", CALLS), i, opened = 0, taken = 0;
	char why[CSHIM_PMIX_WHY + 1];

	state = random_setting("CSHIM_SEED", 1);
	for (i = 0; i < calls; i++) {
		memset(why, GUARD, sizeof why);
		switch (random_below(&state, 8)) {
		case 0:
			cshim_pmix_leave_to_mpi();
			break;
		case 1:
			check_result(cshim_pmix_abort(7, why), why);
			break;
		case 2:
			cshim_pmix_end();
			CHECK(connections == 0);
			break;
		case 3:
			check_result(cshim_pmix_give(KEY, "a card", 6, why), why);
			break;
		case 4:
		case 5:
			opened += (uint64_t)opens(why);
			break;
		default:
			taken += (uint64_t)takes(why);
		}
		CHECK(connections == 0 || connections == 1);
	}
	cshim_pmix_end();
	CHECK(opened > calls / 30 && taken > calls / 30); /* some are right */
}
