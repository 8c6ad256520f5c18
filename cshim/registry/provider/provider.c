/*
 * provider.c - libdapllapi.so.2: the file that another registry, such as Debian's libdat2.so.2,
 * loads by a line of its dat.conf. It has no dat_* of its own, so it captures nobody's calls: it
 * loads the library, and gives the registry a table of the library's functions.
 *
 * A registry finds an object's provider by the table's address in the first 8 bytes that a handle
 * points to, in core/dat's Slot: the library writes it there from its registration on. The registry
 * numbers adapters itself; queries answer with its number.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params);
EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);
EXPORT DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list arguments);

#include "registry/provider/functions.h"

/* The table of each name: a registry finds a provider of its by the name in there. Never freed. */
struct known {
	DAT_PROVIDER table;
	DAT_PROVIDER_INFO info;
	char *params; /* OBJECT_PARAMS */
	struct known *next;
};

static struct known *first;
static DAT_PROVIDER table; /* without a name */
static void *library;

/* The library's functions that this object calls by name. */
static struct {
	typeof(dat_ia_openv) *ia_openv;
	typeof(dat_extension_op) *extension_op;
	typeof(dat_registry_add_provider) *add_provider;
	typeof(dat_registry_remove_provider) *remove_provider;
#define QUERY(name, kind) DAT_##kind##_QUERY_FUNC name##_query;
	QUERIES(QUERY)
#undef QUERY
} ours;

static DAT_RETURN open_adapter(const DAT_NAME_PTR name, DAT_COUNT size, DAT_EVD_HANDLE *evd,
                               DAT_IA_HANDLE *ia)
{
	return ours.ia_openv(name, size, evd, ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
}

/* *ia is the registry's number of an adapter from now on. */
static DAT_RETURN number(DAT_RETURN result, DAT_IA_HANDLE *ia)
{
	DAT_IA_HANDLE known;

	if (result == DAT_SUCCESS && ia && dats_get_ia_handle(*ia, &known) == DAT_SUCCESS)
		*ia = known;
	return result;
}

#define QUERY(name, kind)                                                                        \
	static DAT_RETURN query_##name(DAT_##kind##_HANDLE handle, DAT_##kind##_PARAM_MASK mask, \
	                               DAT_##kind##_PARAM *param)                                \
	{                                                                                        \
		return number(ours.name##_query(handle, mask, param),                            \
		              param ? &param->ia_handle : NULL);                                 \
	}
QUERIES(QUERY)
#undef QUERY

static DAT_RETURN related(DAT_IA_HANDLE ia, const DAT_NAME_PTR provider, DAT_BOOLEAN *answer)
{
	if (!ia)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA;
	if (!provider || !answer)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
	*answer = DAT_FALSE;
	return DAT_SUCCESS;
}

/*
 * Each argument of an operation is 8 bytes of the list, whatever its type; no operation has more
 * than 8. The words behind the last one are passed on, and not looked at.
 */
DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list arguments)
{
	uint64_t a[8];

	for (int i = 0; i < 8; i++)
		a[i] = va_arg(arguments, uint64_t);
	/* the registry has taken the name from the list, and gives it in place of a handle */
	if (op == DAT_IB_OPEN_QUERY_OP)
		return ours.extension_op(NULL, op, handle, a[0], a[1], a[2], a[3], a[4]);
	return ours.extension_op(handle, op, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

/* Stores the library's function of that name; 0: it has none. */
static int find(const char *name, void *function)
{
	void *address = dlsym(library, name);

	if (!address)
		fprintf(stderr, "libdapllapi: liblapi_r.so.1 has no %s\n", name);
	memcpy(function, &address, sizeof address);
	return address != NULL;
}

static int fill(void)
{
	int all = 1;

#define FUNCTION(name) all &= find("dat_" #name, &table.name##_func);
	FUNCTIONS(FUNCTION)
#undef FUNCTION
#define QUERY(name, kind)                                       \
	all &= find("dat_" #name "_query", &ours.name##_query); \
	table.name##_query_func = query_##name;
	QUERIES(QUERY)
#undef QUERY
	all &= find("dat_ia_openv", &ours.ia_openv) & find("dat_extension_op", &ours.extension_op) &
	       find("dat_registry_add_provider", &ours.add_provider) &
	       find("dat_registry_remove_provider", &ours.remove_provider);
	table.ia_open_func = open_adapter;
	table.ia_ha_related_func = related;
	table.handle_extendedop_func = dapl_extensions;
	return all;
}

static int load(void)
{
	if (library)
		return 1;
	library = dlopen("liblapi_r.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "libdapllapi: %s\n", dlerror());
	else if (!fill())
		library = NULL; /* it stays loaded; the registry finds no provider */
	return library != NULL;
}

static struct known *table_of(const DAT_PROVIDER_INFO *info)
{
	struct known *k;

	for (k = first; k; k = k->next)
		if (memcmp(&k->info, info, sizeof *info) == 0)
			return k;
	k = malloc(sizeof *k);
	if (!k)
		return NULL;
	k->table = table;
	k->info = *info;
	k->table.device_name = k->info.ia_name;
	k->params = NULL;
	k->next = first;
	first = k;
	return k;
}

/* 0: there is no memory. The library copies them when the table is registered with it. */
static int set_params(struct known *k, const char *params)
{
	free(k->params);
	if (asprintf(&k->params, OBJECT_PARAMS "%s", params) < 0)
		k->params = NULL;
	k->table.extension = k->params;
	return k->params != NULL;
}

/* Under the registry's lock, when the first adapter of a name is opened. */
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params)
{
	struct known *k = load() ? table_of(info) : NULL;

	if (!k || !set_params(k, ia_params ? ia_params : ""))
		return;
	ours.add_provider(&k->table, &k->info);
	dat_registry_add_provider(&k->table, &k->info);
}

/* Likewise, when the last one was closed. */
void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct known *k = library ? table_of(info) : NULL;

	if (!k)
		return;
	dat_registry_remove_provider(&k->table, &k->info);
	ours.remove_provider(&k->table, &k->info);
}
