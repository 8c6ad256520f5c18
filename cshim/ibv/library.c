/* library.c - see library.h */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlvsym */
#endif
#include "ibv/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ibv/ibv.h"

struct ibv_library ibv;
struct rdma_library rdma;

/* A library that is being opened. */
struct opened {
	const char *name;
	void *file;
	char *why;
};

#ifndef __GLIBC__
/* musl's loader knows no versions. */
static void *dlvsym(void *file, const char *name, const char *version)
{
	(void)version;
	return dlsym(file, name);
}
#endif

static int find(const struct opened *o, const char *name, const char *version, void *to, char *why)
{
	void *found = dlvsym(o->file, name, version);

	if (!found && why) {
		snprintf(why, CSHIM_IBV_WHY, "%s has no %s of %s", o->name, name, version);
		return -1;
	}
	memcpy(to, &found, sizeof found);
	return 0;
}

#define FIND(prefix, name, version, to) find(o, prefix #name, version, to, o->why)

static int find_ibv(const struct opened *o)
{
	struct ibv_library l;

#define ONE(name, version) FIND("ibv_", name, version, &l.name) ||
	if (CSHIM_IBV_CALLS(ONE) FIND("ibv_", query_port, "IBVERBS_1.1", &l.query_port) ||
	    FIND("ibv_", reg_mr, "IBVERBS_1.1", &l.reg_mr))
		return -1;
#undef ONE
	find(o, "ibv_reg_mr_iova", "IBVERBS_1.7", &l.reg_mr_iova, NULL);
	find(o, "_ibv_query_gid_ex", "IBVERBS_1.11", &l.query_gid_ex, NULL);
	ibv = l;
	return 0;
}

static int find_rdma(const struct opened *o)
{
	struct rdma_library l;

#define ONE(name, version) FIND("rdma_", name, version, &l.name) ||
	if (CSHIM_RDMA_CALLS(ONE) 0)
		return -1;
#undef ONE
	rdma = l;
	return 0;
}

/* Opens a library unless it is open: then its name is in loaded. */
static int load(const char *name, char loaded[64], int (*find_all)(const struct opened *),
                char *why)
{
	struct opened o = {.name = name, .why = why};

	if (strcmp(loaded, name) == 0)
		return 0;
	o.file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!o.file) {
		snprintf(why, CSHIM_IBV_WHY, "%s", dlerror());
		return -1;
	}
	if (find_all(&o)) {
		dlclose(o.file);
		return -1;
	}
	snprintf(loaded, 64, "%s", name);
	return 0;
}

int ibv_load(const char *library, const char *cm_library, char *why)
{
	static char loaded[64], cm_loaded[64];

	if (load(library, loaded, find_ibv, why))
		return -1;
	return cm_library ? load(cm_library, cm_loaded, find_rdma, why) : 0;
}
