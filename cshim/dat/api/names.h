/*
 * names.h - the names of interface adapters: the library's own, those of dat.conf, those that the
 * program and providers have registered. Nothing of core is needed: a program may list them, and
 * register its own, and fork then.
 *
 *     names.c   the registry: lookup, list, what is registered
 *     conf.c    dat.conf and LAPI_DAT_NAMES
 *     built_in.c  the names that need neither
 */
#ifndef DAT_NAMES_H
#define DAT_NAMES_H

#include "dat/api/block.h"

/* One name, in a list in the order of lookup. */
typedef struct dat_ia_name {
	DAT_PROVIDER_INFO info; /* what a lookup matches exactly; the rest is 0 */
	/* strings that stay: the library that provides it, NULL if that is this one; parameters */
	const char *library, *params;
	const DAT_PROVIDER *table; /* that the program has registered */
	struct dat_ia_name *next;
} dat_ia_name;

typedef struct dat_ia_names {
	dat_ia_name *first, **end;
	int number;
} dat_ia_names;

void dat_ia_names_begin(dat_ia_names *list);
/* Appends a name of version 2.0 unless the caller changes that. NULL: there is no memory, or the
 * name does not fit. library and params are copied. */
dat_ia_name *dat_ia_names_append(dat_ia_names *list, const char *name, const char *library,
                          const char *params);

/* Takes what is wrong, a sentence without an end of line. */
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
DAT_RETURN dat_names_list(DAT_COUNT most, DAT_COUNT *number, DAT_PROVIDER_INFO **to);
/* own: the table's functions are this library's, so that its address is another registry's mark of
 * objects, and no way to open adapters. */
DAT_RETURN dat_names_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info, int own);
DAT_RETURN dat_names_remove(const DAT_PROVIDER_INFO *info);
/* Whether a provider's table is registered under some name. */
int dat_names_have(const DAT_PROVIDER *table);
/* The adapter of a name with that index in the order to try them. */
DAT_RETURN dat_names_candidate(const DAT_PROVIDER_INFO *info, int index, dat_candidate *c);

/* A line for the user who asks for it by MP_INFOLEVEL. */
void dat_message(const char *text);

#endif
