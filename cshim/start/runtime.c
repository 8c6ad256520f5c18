/*
 * runtime.c - calls the function that starts Go's run-time, with arguments as the loader gives them
 * to a program: argv, environment and auxiliary vector in one row. The row is made here, at the
 * start: the environment as it is then, and random bytes of this process alone, since processes
 * made by fork share those that the kernel has given to the program.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "start/steps.h"

typedef void starter(int argc, char **argv, char **environment);

/* The section that scripts/link-core has renamed. Weak: other builds have none. */
extern starter *__start_go_init[] __attribute__((weak, visibility("hidden")));
extern starter *__stop_go_init[] __attribute__((weak, visibility("hidden")));

/* capi: it returns after the initialisation of all packages. */
extern void golapi_started(uint64_t soft, uint64_t hard) __attribute__((weak));

int cshim_runtime_is_dormant(void)
{
	return &__start_go_init[0] != &__stop_go_init[0];
}

/* The entries that Go asks for, but for AT_RANDOM. */
static const unsigned long asked[] = {AT_PAGESZ, AT_SYSINFO_EHDR, AT_HWCAP, AT_HWCAP2, AT_SECURE};
enum { ASKED = sizeof asked / sizeof *asked, RANDOM = 16 };

static unsigned char random_bytes[RANDOM];
static char **row; /* kept: Go refers to it */

static uintptr_t *add(uintptr_t *at, uintptr_t kind, uintptr_t value)
{
	*at++ = kind;
	*at++ = value;
	return at;
}

static void auxiliary(uintptr_t *at)
{
	unsigned i;

	for (i = 0; i < ASKED; i++) {
		errno = 0;
		if (getauxval(asked[i]) != 0 || errno == 0)
			at = add(at, asked[i], getauxval(asked[i]));
	}
	if (getrandom(random_bytes, RANDOM, GRND_NONBLOCK) == RANDOM)
		at = add(at, AT_RANDOM, (uintptr_t)random_bytes);
	add(at, AT_NULL, 0);
}

/* The row: the program's name, NULL, the environment, NULL, pairs. Go keeps it. NULL: no memory. */
static char **arguments(void)
{
	size_t variables = 0, i;
	uintptr_t *made;

	while (environ && environ[variables])
		variables++;
	made = calloc(2 + variables + 1 + 2 * (ASKED + 2), sizeof(*made));
	if (!made)
		return NULL;
	made[0] = (uintptr_t)program_invocation_name;
	for (i = 0; i < variables; i++)
		made[2 + i] = (uintptr_t)environ[i];
	auxiliary(made + 2 + variables + 1);
	return (char **)made;
}

int cshim_runtime_prepare(void)
{
	row = arguments();
	return row ? 0 : -1;
}

void cshim_runtime_start(const struct rlimit *limit)
{
	starter **start;

	for (start = &__start_go_init[0]; start != &__stop_go_init[0]; start++)
		(*start)(1, row, row + 2);
	golapi_started(limit->rlim_cur, limit->rlim_max);
}
