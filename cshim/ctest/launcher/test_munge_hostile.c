/*
 * test_munge_hostile.c - munge.c with a library behind it that returns anything: statuses, lengths
 * that are negative or 0, no text, no data, no reason, or a very long one. A call succeeds only with
 * what munge.h promises; else it returns -1 and a sentence. The sanitizers find nothing.
 *
 * This program is the library: munge.c opens it by no name. CSHIM_FUZZ and CSHIM_SEED: see random.h.
 */
#define _GNU_SOURCE
#include "ctest/fake.h"
#include "munge/munge.h"
#include "ctest/random.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY __attribute__((visibility("default")))

enum { CALLS = 20000, OK = 0, REPLAYED = 17, LONG = 5000, SECRET = 80, GUARD = 0x5a };

struct munge_ctx;

static uint64_t state;
static int contexts; /* that have not been destroyed */
static int status;   /* the result of the library's last call */
static int length;   /* and its length of the data */
static uid_t user;
static void *data;
static char *made; /* the credential that it made */
static char reason[LONG];

static int any_status(void)
{
	return random_below(&state, 2) ? OK : (int)random_below(&state, 40) - 10;
}

/* No reason, an empty one, or one of any length. */
static const char *any_text(void)
{
	size_t n = random_below(&state, 3) ? random_below(&state, 300) : random_below(&state, LONG);

	memset(reason, 'a', n);
	reason[n] = 0;
	return random_below(&state, 4) ? reason : NULL;
}

LIBRARY struct munge_ctx *munge_ctx_create(void)
{
	if (!random_below(&state, 50))
		return NULL;
	contexts++;
	return (struct munge_ctx *)&contexts;
}

LIBRARY void munge_ctx_destroy(struct munge_ctx *c)
{
	CHECK((void *)c == (void *)&contexts && contexts-- > 0);
}

LIBRARY int munge_ctx_set(struct munge_ctx *c, int option, ...)
{
	CHECK((void *)c == (void *)&contexts && option > 0);
	return status = random_below(&state, 8) ? OK : any_status();
}

LIBRARY const char *munge_ctx_strerror(struct munge_ctx *c)
{
	CHECK((void *)c == (void *)&contexts && contexts == 1);
	return any_text();
}

LIBRARY const char *munge_strerror(int code)
{
	CHECK(code == status);
	return any_text();
}

LIBRARY int munge_encode(char **credential, struct munge_ctx *c, const void *secret, int n)
{
	CHECK((void *)c == (void *)&contexts && secret != NULL && n >= 0);
	status = any_status();
	made = NULL;
	if (status == OK && random_below(&state, 8))
		made = strdup(any_text() ? reason : "MUNGE:");
	*credential = status == OK ? made : (char *)&contexts; /* means nothing then */
	return status;
}

LIBRARY int munge_decode(const char *credential, struct munge_ctx *c, void **to, int *n, uid_t *uid,
                         gid_t *gid)
{
	CHECK(credential != NULL && (void *)c == (void *)&contexts);
	status = random_below(&state, 4) ? any_status() : REPLAYED;
	length = random_below(&state, 3) ? (int)random_below(&state, SECRET)
	                                 : -(int)random_below(&state, 1u << 31);
	data = random_below(&state, 4) ? malloc(length > 0 ? (size_t)length : 1) : NULL;
	if (data && length > 0)
		memset(data, GUARD, (size_t)length);
	user = random_below(&state, 4) ? geteuid() : (uid_t)random_next(&state);
	*to = data;
	*n = length;
	*uid = user;
	*gid = (gid_t)random_next(&state);
	return status;
}

/* A sentence that ends within its room. */
static void check_why(const char *why)
{
	CHECK(strnlen(why, CSHIM_MUNGE_WHY) < CSHIM_MUNGE_WHY);
	CHECK(why[CSHIM_MUNGE_WHY] == GUARD);
}

static int seals(char *why)
{
	static const char secret[SECRET];
	char *credential = (char *)&contexts;
	int result = cshim_munge_seal(NULL, secret, random_below(&state, SECRET), &credential, why);

	if (result == 0) {
		CHECK(status == OK && credential != NULL && credential == made);
		free(credential);
		return 1;
	}
	CHECK(result == -1 && credential == NULL);
	check_why(why);
	return 0;
}

static int opens(char *why)
{
	void *secret = NULL;
	size_t n = 0;

	if (cshim_munge_open(NULL, "MUNGE:x", &secret, &n, why) == 0) {
		CHECK((status == OK || status == REPLAYED) && user == geteuid());
		CHECK(secret != NULL && secret == data && length >= 0 && n == (size_t)length);
		free(secret);
		return 1;
	}
	CHECK(secret == NULL && n == 0);
	check_why(why);
	return 0;
}

void test_munge_hostile(void)
{
	uint64_t calls = random_setting("CSHIM_FUZZ", CALLS), i, sealed = 0, opened = 0;
	char why[CSHIM_MUNGE_WHY + 1];

	state = random_setting("CSHIM_SEED", 1);
	for (i = 0; i < calls; i++) {
		memset(why, GUARD, sizeof why);
		made = NULL;
		if (i % 2)
			sealed += (uint64_t)seals(why);
		else
			opened += (uint64_t)opens(why);
		CHECK(contexts == 0);
	}
	CHECK(sealed > calls / 20 && opened > calls / 20); /* some are right */
}
