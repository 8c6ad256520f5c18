/* library.c - see library.h */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlvsym */
#endif
#include "rdma/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rdma/rdma.h"

struct rdma_library rdma;

static int find(void *file, const char *library, const char *name, const char *version, void *to,
                char *why)
{
	void *found = dlvsym(file, name, version);

	if (!found) {
		snprintf(why, CSHIM_RDMA_WHY, "%s has no %s of %s", library, name, version);
		return -1;
	}
	memcpy(to, &found, sizeof found);
	return 0;
}

static void *open_file(const char *library, char *why)
{
	void *file = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!file)
		snprintf(why, CSHIM_RDMA_WHY, "%s", dlerror());
	return file;
}

int rdma_load(const char *verbs_library, const char *cm_library, char *why)
{
	static char loaded[64]; /* its name */
	struct rdma_library l;

	if (verbs_load(verbs_library, why))
		return -1;
	if (strcmp(loaded, cm_library) == 0)
		return 0;
	void *verbs_file = open_file(verbs_library, why);
	void *file = verbs_file ? open_file(cm_library, why) : NULL;
#define FIND(name, version) find(file, cm_library, "rdma_" #name, version, &l.name, why) ||
	int failed = !file ||
	             CSHIM_RDMA_CALLS(FIND) find(verbs_file, verbs_library, "ibv_modify_srq",
	                                         "IBVERBS_1.1", &l.modify_srq, why) ||
	             find(verbs_file, verbs_library, "ibv_reg_mr_iova", "IBVERBS_1.7",
	                  &l.reg_mr_iova, why);
#undef FIND
	if (failed) {
		if (file)
			dlclose(file);
		if (verbs_file)
			dlclose(verbs_file);
		return -1;
	}
	rdma = l;
	snprintf(loaded, sizeof loaded, "%s", cm_library);
	return 0;
}

int rdma_reason(void)
{
	return errno ? errno : EINVAL;
}
