/*
 * providers.h - providers in other libraries, which dat.conf names or the program has registered
 * (docs/dat.md, "Other providers"): which handles are theirs, and what an entry point has them do.
 *
 * Everything that an entry point does not meet each time is in one word, so that its first look,
 * the only one of a process without such providers, costs a compare and a branch.
 */
#ifndef DAT_PROVIDERS_H
#define DAT_PROVIDERS_H

#include <pthread.h>

#include "dat/api/block.h"
#include "dat/api/names.h"

#define DAT_UNPREPARED 1u    /* no entry has prepared the block yet */
#define DAT_FORKED 2u        /* this is the child of a fork */
#define DAT_PROVIDERS 4u     /* a table of another provider is registered */
extern uint32_t dat_unusual; /* atomic */

/*
 * The table of the provider that has made an object, if that is another library's; else NULL: the
 * handle is core's to judge. Any value is safe. It looks at the first 8 bytes of the object.
 */
const DAT_PROVIDER *dat_provider_of(DAT_HANDLE handle);
/* The same for an adapter: only one that is open, or being opened, has a provider. */
const DAT_PROVIDER *dat_provider_of_ia(DAT_HANDLE handle);

/* An extended operation by the provider's function, with arguments of 8 bytes each. */
DAT_RETURN dat_provider_extended(const DAT_PROVIDER *table, DAT_HANDLE handle, DAT_EXTENDED_OP op,
                                 ...);

/*
 * The first line of each entry point: if the handle is another provider's, its function does it
 * all. DAT_PROVIDED_IA: the handle is an adapter. DAT_PROVIDED_OP: it is an extended operation.
 */
#define DAT_PROVIDED_BY(of, name, handle, ...)                                                   \
	do {                                                                                     \
		if (__builtin_expect(__atomic_load_n(&dat_unusual, __ATOMIC_RELAXED) != 0, 0)) { \
			const DAT_PROVIDER *dat_table = of(handle);                              \
			if (dat_table)                                                           \
				return dat_table->name##_func                                    \
				               ? dat_table->name##_func(handle, ##__VA_ARGS__)   \
				               : (DAT_RETURN)DAT_NOT_IMPLEMENTED;                \
		}                                                                                \
	} while (0)
#define DAT_PROVIDED(name, handle, ...) \
	DAT_PROVIDED_BY(dat_provider_of, name, handle, ##__VA_ARGS__)
#define DAT_PROVIDED_IA(name, handle, ...) \
	DAT_PROVIDED_BY(dat_provider_of_ia, name, handle, ##__VA_ARGS__)
#define DAT_PROVIDED_OP(op, handle, ...)                                                          \
	do {                                                                                      \
		if (__builtin_expect(__atomic_load_n(&dat_unusual, __ATOMIC_RELAXED) != 0, 0)) {  \
			const DAT_PROVIDER *dat_table = dat_provider_of(handle);                  \
			if (dat_table)                                                            \
				return dat_provider_extended(dat_table, handle, op, ##__VA_ARGS__); \
		}                                                                                 \
	} while (0)

/* Before the first call into Go: without threads to be had its run-time would end the process.
 * DAT_SUCCESS, or what dat_ia_open returns then. */
DAT_RETURN dat_may_enter(void);
/* block.c: dat_ia_openv and dat_ia_close of the library's own adapters. */
DAT_RETURN dat_open_own(const uint64_t *arguments);
DAT_RETURN dat_close_own(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags);

/*
 * providers.c. Its lock is recursive, and taken before the block's: a provider's init and fini,
 * which run under it, come back to register a table. Then dat_provider_inside is not 0.
 */
extern pthread_mutex_t dat_providers_lock;
extern int dat_provider_inside;

/* A provider that is in use, under one name: its library is loaded. */
typedef struct dat_provider_used {
	DAT_PROVIDER_INFO info;
	const char *path; /* of its library; NULL: the program has registered the table itself */
	void *library;
	DAT_PROVIDER_FINI_FUNC fini;
	const DAT_PROVIDER *table;
	int users; /* adapters that are open or being opened */
	struct dat_provider_used *next;
} dat_provider;

/*
 * One more user of the provider of *c, a name's adapter with that index in the order to try them.
 * The look and the loading are one step: a table that is found is not unloaded before it is used.
 * *p is NULL if it cannot be loaded. *own is 1, and there is no *p, if this library is the one.
 */
DAT_RETURN dat_provider_acquire(const DAT_PROVIDER_INFO *info, int index, dat_candidate *c,
                                dat_provider **p, int *own);
void dat_provider_release(dat_provider *p);

/* What the registry hears of a provider's table. */
DAT_RETURN dat_provider_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info);
DAT_RETURN dat_provider_remove(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info);

#endif
