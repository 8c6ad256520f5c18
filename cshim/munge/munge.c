/* munge.c - see munge.h */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "munge/munge.h"

/* The part of the binary interface of libmunge.so.2 that is used here. */
enum { MUNGE_OK = 0, MUNGE_REPLAYED = 17 };
enum { MUNGE_UID_RESTRICTION = 9 };

struct context;

static struct {
	int (*encode)(char **credential, struct context *, const void *data, int length);
	int (*decode)(const char *credential, struct context *, void **data, int *length, uid_t *,
	              gid_t *);
	const char *(*text)(int status);
	struct context *(*create)(void);
	void (*destroy)(struct context *);
	int (*set)(struct context *, int option, ...);
	const char *(*reason)(struct context *);
} calls;

/* The library stays open. */
static int load(const char *library, char *why)
{
	static const char *const names[] = {"munge_encode",    "munge_decode",     "munge_strerror",
	                                    "munge_ctx_create", "munge_ctx_destroy", "munge_ctx_set",
	                                    "munge_ctx_strerror"};
	void *found[sizeof names / sizeof *names];
	_Static_assert(sizeof found == sizeof calls, "a name for each call");

	if (calls.encode)
		return 0;
	void *file = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!file) {
		snprintf(why, CSHIM_MUNGE_WHY, "%s", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		found[i] = dlsym(file, names[i]);
		if (!found[i]) {
			snprintf(why, CSHIM_MUNGE_WHY, "%s has no %s", library, names[i]);
			dlclose(file);
			return -1;
		}
	}
	memcpy(&calls, found, sizeof calls);
	return 0;
}

static int fail(struct context *context, int status, char *why)
{
	const char *reason = calls.reason(context);

	if (!reason)
		reason = calls.text(status);
	snprintf(why, CSHIM_MUNGE_WHY, "%s", reason ? reason : "munge gives no reason");
	return -1;
}

int cshim_munge_seal(const char *library, const void *secret, size_t length, char **credential,
                     char *why)
{
	*credential = NULL;
	if (length > INT_MAX) {
		snprintf(why, CSHIM_MUNGE_WHY, "%zu bytes are too many", length);
		return -1;
	}
	if (load(library, why))
		return -1;

	struct context *context = calls.create();
	if (!context) {
		snprintf(why, CSHIM_MUNGE_WHY, "out of memory");
		return -1;
	}
	int status = calls.set(context, MUNGE_UID_RESTRICTION, geteuid());
	if (status == MUNGE_OK)
		status = calls.encode(credential, context, secret, (int)length);
	int result = status == MUNGE_OK && *credential ? 0 : fail(context, status, why);
	if (result)
		*credential = NULL;
	calls.destroy(context);
	return result;
}

static void forget(void *data, int length)
{
	if (data && length > 0)
		explicit_bzero(data, (size_t)length);
	free(data);
}

int cshim_munge_open(const char *library, const char *credential, void **secret, size_t *length,
                     char *why)
{
	void *data = NULL;
	int n = 0;
	uid_t uid = (uid_t)-1;
	gid_t gid;

	if (load(library, why))
		return -1;
	struct context *context = calls.create();
	if (!context) {
		snprintf(why, CSHIM_MUNGE_WHY, "out of memory");
		return -1;
	}
	int status = calls.decode(credential, context, &data, &n, &uid, &gid);
	int result = 0;
	if (status != MUNGE_OK && status != MUNGE_REPLAYED) {
		result = fail(context, status, why);
	} else if (uid != geteuid()) {
		snprintf(why, CSHIM_MUNGE_WHY, "user %u has sealed it, and this is user %u", (unsigned)uid,
		         (unsigned)geteuid());
		result = -1;
	} else if (!data || n < 0) {
		snprintf(why, CSHIM_MUNGE_WHY, "nothing was sealed");
		result = -1;
	}
	calls.destroy(context);
	if (result) {
		forget(data, n);
		return result;
	}
	*secret = data;
	*length = (size_t)n;
	return 0;
}
