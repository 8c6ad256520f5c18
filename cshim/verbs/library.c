/* library.c - see library.h */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlvsym */
#endif
#include "verbs/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "verbs/verbs.h"

struct verbs_library verbs;

static int find(void *file, const char *library, const char *name, const char *version, void *to,
                char *why)
{
	void *found = dlvsym(file, name, version);

	if (!found && why) {
		snprintf(why, CSHIM_VERBS_WHY, "%s has no %s of %s", library, name, version);
		return -1;
	}
	memcpy(to, &found, sizeof found);
	return 0;
}

int verbs_load(const char *library, char *why)
{
	static char loaded[64]; /* its name */
	struct verbs_library l;

	if (strcmp(loaded, library) == 0)
		return 0;
	void *file = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!file) {
		snprintf(why, CSHIM_VERBS_WHY, "%s", dlerror());
		return -1;
	}
#define FIND(name, version) find(file, library, "ibv_" #name, version, &l.name, why) ||
	int failed = CSHIM_VERBS_CALLS(FIND) find(file, library, "ibv_query_port", "IBVERBS_1.1",
	                                          &l.query_port, why) ||
	             find(file, library, "ibv_reg_mr", "IBVERBS_1.1", &l.reg_mr, why);
#undef FIND
	if (failed) {
		dlclose(file);
		return -1;
	}
	find(file, library, "_ibv_query_gid_ex", "IBVERBS_1.11", &l.query_gid_ex, NULL);
	verbs = l;
	snprintf(loaded, sizeof loaded, "%s", library);
	return 0;
}
