/*
 * names.h - the names of interface adapters: the library's own, those of dat.conf, those that the
 * program and providers have registered. Private to this room.
 *
 *     names.c     the list: lookup, registrations
 *     conf.c      dat.conf and LAPI_DAT_NAMES
 *     built_in.c  the names that need neither
 *     providers.c other libraries: loading them, their tables
 *     adapters.c  what these have opened
 */
#ifndef REGISTRY_NAMES_H
#define REGISTRY_NAMES_H

#include <pthread.h>

#include "registry/registry.h"

#define BAD_ARG(n) (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | (DAT_INVALID_ARG1 + (n)-1))
#define NOT_REGISTERED (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED)
#define NO_MEMORY (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY)

/* One name, in a list in the order of lookup. */
typedef struct dat_ia_name {
	DAT_PROVIDER_INFO info; /* fields that a lookup matches exactly; the rest is 0 */
	/* strings that stay: the library that provides it, NULL if that is this one; parameters */
	const char *library, *params;
	const DAT_PROVIDER *table; /* that the program has registered; NULL: a file has the name */
	struct dat_ia_name *next;
} dat_ia_name;

typedef struct dat_ia_names {
	dat_ia_name *first, **end; /* new names go to end, in front of the names there */
	int number;
} dat_ia_names;

void dat_ia_names_begin(dat_ia_names *list);
/* Appends a name of version 2.0 unless the caller changes that. NULL: there is no memory, or the
 * name does not fit. library and params are copied. */
dat_ia_name *dat_ia_names_append(dat_ia_names *list, const char *name, const char *library,
                          const char *params);

/* Takes reports of faults, each a sentence without an end of line. */
typedef struct dat_faults {
	char first[512]; /* the first one, if only that is wanted */
	int number;
} dat_faults;

void dat_fault(dat_faults *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* conf.c: appends those of LAPI_DAT_NAMES, and of the file DAT_OVERRIDE or, without it, of file. */
void dat_conf_names(dat_ia_names *list, const char *file, dat_faults *faults);
/* The same of a text, which is changed; its name is for faults. */
void dat_conf_parse(dat_ia_names *list, const char *name, char *text, size_t n,
                    dat_faults *faults);
void dat_conf_pairs(dat_ia_names *list, const char *text, dat_faults *faults);

/* built_in.c */
void dat_built_in_names(dat_ia_names *list);

/* One of the adapters of a name, in the order to try them. */
typedef struct dat_candidate {
	const char *library, *params; /* as in dat_ia_name */
	const DAT_PROVIDER *table;    /* that the program has registered */
	const DAT_PROVIDER *mark;     /* of this library's: another registry's table; NULL: none */
} dat_candidate;

/*
 * names.c. Any thread; each locks for itself, and a fork leaves the lock free in the child. They
 * return the codes of the calls that they serve.
 */
/* The key that a program points to; 0: it cannot be read. */
int dat_names_key(DAT_PROVIDER_INFO *key, const DAT_PROVIDER_INFO *from);
/* own: the table's functions are this library's, so that its address is another registry's mark of
 * objects, and no way to open adapters; own is what that registry knows of the name, "" if nothing.
 * NULL: the table is another provider's. */
DAT_RETURN dat_names_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *key, const char *own);
DAT_RETURN dat_names_remove(const DAT_PROVIDER_INFO *key);
/* Whether a provider's table is registered under some name. */
int dat_names_have(const DAT_PROVIDER *table);
/* The adapter of a name with that index in the order to try them. */
DAT_RETURN dat_names_candidate(const DAT_PROVIDER_INFO *key, int index, dat_candidate *c);

/* A line for the user who asks for it by MP_INFOLEVEL. */
void dat_message(const char *text);

/*
 * providers.c. Its lock is recursive, and taken before the block's: a provider's init and fini,
 * which run under it, come back to register a table.
 */
extern pthread_mutex_t dat_providers_lock;

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

#endif
