/*
 * provided_lib.c - libprovided.so: a provider for the test provided.c, which loads it by dat.conf.
 * It does nothing, but keeps a record of each call with its arguments, and returns the result that
 * the test asks for. The last word of its parameters: "mute": init registers nothing; "open": init
 * tries to open an adapter; "keep": fini leaves the table registered. The names "refuse" and
 * "lapi-lo" do not open.
 */
#include "provided.h"

#include <stdlib.h>
#include <string.h>

static provided_record record;
static DAT_PROVIDER table;
static int kept;
/* An object: a table first. All handles but an adapter's are this one. */
static struct {
	const DAT_PROVIDER *table;
	uint64_t rest;
} object = {&table, 0};

provided_record *provided_get(void)
{
	return &record;
}

void *provided_object(void)
{
	return &object;
}

/* On this machine's calling convention all of a call's arguments are words, wherever they are. */
#define WORDS                                                                                      \
	uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, \
		uint64_t a7, uint64_t a8, uint64_t a9, uint64_t a10, uint64_t a11, uint64_t a12

static DAT_RETURN called(const char *name, const uint64_t *words)
{
	record.name = name;
	record.calls++;
	memcpy(record.words, words, sizeof record.words);
	return PROVIDED_RESULT;
}

#define DEFINE(name)                                                                              \
	static DAT_RETURN fake_##name(WORDS)                                                      \
	{                                                                                         \
		const uint64_t words[] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12}; \
                                                                                                  \
		return called(#name, words);                                                      \
	}
PROVIDED_NAMES(DEFINE)

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT size, DAT_EVD_HANDLE *evd,
                          DAT_IA_HANDLE *ia)
{
	void **adapter;

	record.opens++;
	strcpy(record.opened, name);
	record.size = size;
	if (!strcmp(name, "refuse") || !strcmp(name, "lapi-lo")) {
		*evd = &object;
		return PROVIDED_REFUSED;
	}
	adapter = calloc(1, 64);
	if (!adapter)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES;
	*adapter = &table;
	*evd = &object;
	*ia = adapter;
	return dats_get_ia_handle(adapter, &record.known);
}

static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK mask,
                           DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR_MASK provider_mask,
                           DAT_PROVIDER_ATTR *provider)
{
	const uint64_t words[13] = {(uintptr_t)ia,   (uintptr_t)evd, mask,
	                            (uintptr_t)attr, provider_mask,  (uintptr_t)provider};

	called("ia_query", words);
	if (attr && mask == DAT_IA_FIELD_ALL)
		attr->extension_supported = DAT_EXTENSION_IB;
	if (provider &&
	    provider_mask == DAT_PROVIDER_FIELD_ALL) { /* the reference, when it closes */
		strcpy(provider->provider_name, record.opened);
		provider->dapl_version_major = DAT_VERSION_MAJOR;
		provider->dapl_version_minor = DAT_VERSION_MINOR;
		provider->is_thread_safe = DAT_FALSE;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	record.closes++;
	record.flags = flags;
	if (flags == DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;
	free(ia);
	return DAT_SUCCESS;
}

static DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	uint64_t words[13] = {(uintptr_t)handle, (uint64_t)op};
	int i;

	for (i = 2; i < 13; i++)
		words[i] = va_arg(list, uint64_t);
	called("handle_extendedop", words);
	if (op == DAT_IB_OPEN_QUERY_OP) {
		*(void **)(uintptr_t)words[2] = &object;
		return DAT_SUCCESS;
	}
	return op == DAT_IB_CLOSE_QUERY_OP ? DAT_SUCCESS : PROVIDED_RESULT;
}

DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	return extended(handle, op, list);
}

#define STORE(name)                                                     \
	{                                                               \
		DAT_RETURN (*fake)(WORDS) = fake_##name;                \
		memcpy((void *)&table.name##_func, &fake, sizeof fake); \
	}

static int asks(const char *params, const char *word)
{
	size_t n = strlen(params), w = strlen(word);

	return n >= w && strcmp(params + n - w, word) == 0;
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	record.inits++;
	record.info = *info;
	strcpy(record.params, params);
	if (asks(params, "mute"))
		return;
	if (asks(params, "open"))
		record.inside = dat_ia_open("lapi-lo", 8, &evd, &ia);
	kept = asks(params, "keep");
	PROVIDED_NAMES(STORE)
	table.device_name = "none";
	table.ia_open_func = ia_open;
	table.ia_query_func = ia_query;
	table.ia_close_func = ia_close;
	table.handle_extendedop_func = extended;
	record.added = dat_registry_add_provider(&table, info);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	record.finis++;
	if (!kept)
		record.removed = dat_registry_remove_provider(&table, info);
	if (record.end) /* the program's */
		*record.end = record;
}
