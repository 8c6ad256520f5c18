/*
 * registry.h - the registry of providers (docs/dev/dat.md, "Other providers"): which library serves a
 * name of dat.conf, which handles are another library's, and what an entry point has that library
 * do. The contract of this room, which knows neither core nor the block of uDAPL.
 *
 * Everything that an entry point does not meet each time is in one word, so that its first look,
 * the only one of a process without such providers, costs a compare and a branch.
 */
#ifndef REGISTRY_H
#define REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
extern int dat_extensions; /* of dat/dat_extensions.h */
#pragma GCC visibility pop

#define DAT_UNPREPARED 1u    /* no entry has prepared the block yet: nobody handles faults */
#define DAT_FORKED 2u        /* this is the child of a fork */
#define DAT_PROVIDERS 4u     /* a table of another provider is registered */
extern uint32_t dat_unusual; /* atomic */

/*
 * The table of the provider that has made an object, if that is another library's; else NULL: the
 * handle is core's to judge. Any value is safe. It looks at the first 8 bytes of the object.
 */
const DAT_PROVIDER *dat_provider_of(DAT_HANDLE handle);
/* The same for an adapter, which has a provider only while it is open, or being opened. */
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

/* An opening of a name: by dat_ia_openv, or by dat_ib_open_query. */
typedef struct dat_opening {
	DAT_PROVIDER_INFO info;
	int query;
	DAT_COUNT qlen;
	DAT_EVD_HANDLE *evd;
	DAT_HANDLE *handle;
	DAT_IA_ATTR_MASK ia_mask;
	DAT_IA_ATTR *ia_attr;
	DAT_PROVIDER_ATTR_MASK provider_mask;
	DAT_PROVIDER_ATTR *provider_attr;
	/* of this library's own adapter: parameters of the name, a string that stays; and the table
	 * by which another registry knows its objects, NULL: none does */
	const char *params;
	const DAT_PROVIDER *mark;
} dat_opening;

/*
 * Opens by the providers of a name, in order, until one succeeds: 1, and *result is the first one's
 * failure that was opened at all if none does, or the code of a name that no registry can have. 0:
 * it is this library's turn, with params and mark.
 */
int dat_provider_open(dat_opening *opening, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
                      DAT_BOOLEAN safe, DAT_RETURN *result);
/* Closes what another provider has opened; 0: the handle is none of these. */
int dat_provider_close(DAT_HANDLE handle, int query, DAT_CLOSE_FLAGS flags, DAT_RETURN *result);
/* 1 in a provider's init or fini, which open nothing. */
int dat_provider_is_inside(void);

/* Of the proposal of 2005: dat_extensions is 1 from now on, here and in the program. */
void dat_extensions_found(void);

/*
 * pointers.c - memory that a program points to, in calls that need no core: memory that cannot be
 * accessed is noticed also before core has started, when nobody handles faults. 0, or -1: it cannot
 * be read, or written.
 */
int dat_copy_in(void *to, const void *from, size_t n);
int dat_copy_out(void *to, const void *from, size_t n);
/* A string with its 0, at most n bytes in all. -1: it cannot be read. 1: it is longer. */
int dat_copy_string(char *to, const char *from, size_t n);

#endif
