/* names.c - the registry of names, and what the program has registered. */
#define _GNU_SOURCE
#include "dat/api/names.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dat/api/pointers.h"
#include "progress/say.h"

#define BAD_ARG(n) (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | (DAT_INVALID_ARG1 + (n)-1))
#define NOT_REGISTERED (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED)
#define NO_MEMORY (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY)

/* A file cannot take memory and time without an end. */
enum { MOST_NAMES = 4096, LINE = 700 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Under it. */
static dat_ia_names added; /* by the program and providers: looked at first */
static dat_ia_names given; /* by dat.conf, then the built-in ones; never freed */

/* ---- Lists ---- */

void dat_ia_names_begin(dat_ia_names *list)
{
	list->first = NULL;
	list->end = &list->first;
	list->number = 0;
}

dat_ia_name *dat_ia_names_append(dat_ia_names *list, const char *name, const char *library,
                          const char *params)
{
	size_t n = strlen(name);
	dat_ia_name *e;

	if (n >= sizeof e->info.ia_name || list->number == MOST_NAMES)
		return NULL;
	e = calloc(1, sizeof *e);
	if (!e)
		return NULL;
	memcpy(e->info.ia_name, name, n);
	e->info.dapl_version_major = 2;
	e->info.is_thread_safe = DAT_FALSE;
	e->library = library ? strdup(library) : NULL;
	e->params = strdup(params);
	if (!e->params || (library && !e->library)) {
		free((char *)e->library);
		free((char *)e->params);
		free(e);
		return NULL;
	}
	*list->end = e;
	list->end = &e->next;
	list->number++;
	return e;
}

/* ---- What is wrong ---- */

static const char *level(void)
{
	const char *value = getenv("MP_INFOLEVEL");

	return value ? value : "";
}

static void write_line(const char *text)
{
	char line[LINE];
	int n = snprintf(line, sizeof line - 1, "uDAPL: %s", text);

	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	line[n] = '\n';
	cshim_say(line, (size_t)n + 1);
}

void dat_message(const char *text)
{
	if (*level() && strcmp(level(), "0") != 0)
		write_line(text);
}

/* With MP_INFOLEVEL all is written, with 0 nothing; without, the first. */
void dat_fault(dat_faults *faults, const char *format, ...)
{
	char text[sizeof faults->first];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	if (faults->number++ == 0)
		memcpy(faults->first, text, sizeof text);
	dat_message(text);
}

static void write_faults(const dat_faults *faults)
{
	char text[LINE];

	if (faults->number == 0 || *level())
		return;
	if (faults->number == 1)
		snprintf(text, sizeof text, "%s", faults->first);
	else
		snprintf(text, sizeof text, "%s (and %d more: MP_INFOLEVEL=1 shows them)",
		         faults->first, faults->number - 1);
	write_line(text);
}

/* ---- The registry ---- */

static void lock_it(void)
{
	pthread_mutex_lock(&mutex);
}

static void unlock_it(void)
{
	pthread_mutex_unlock(&mutex);
}

static void watch_forks(void)
{
	pthread_atfork(lock_it, unlock_it, unlock_it);
}

/* Locks it. The files are read at the first time. */
static void enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	dat_faults faults = {.number = 0};

	pthread_once(&once, watch_forks);
	lock_it();
	if (given.end)
		return;
	dat_ia_names_begin(&added);
	dat_ia_names_begin(&given);
	dat_conf_names(&given, "/etc/dat.conf", &faults);
	write_faults(&faults);
	dat_built_in_names(&given);
}

static DAT_RETURN leave(DAT_RETURN result)
{
	unlock_it();
	return result;
}

/* How far two keys agree: 0 name, 1 major, 2 minor, 3 thread safety is what does not; 4: none. */
enum { SAME = 4 };
static int agrees(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	if (strcmp(a->ia_name, b->ia_name) != 0)
		return 0;
	if (a->dapl_version_major != b->dapl_version_major)
		return 1;
	if (a->dapl_version_minor != b->dapl_version_minor)
		return 2;
	return !a->is_thread_safe == !b->is_thread_safe ? SAME : 3;
}

/* The first name of a list that has that key; NULL: none has. */
static dat_ia_name *find(dat_ia_name *from, const DAT_PROVIDER_INFO *info)
{
	for (; from; from = from->next)
		if (agrees(&from->info, info) == SAME)
			return from;
	return NULL;
}

static int is_own(const dat_ia_name *e)
{
	return !e->library;
}

/* Of the library's own adapter: what a file says of the name, and another registry's mark. */
static void own_candidate(const DAT_PROVIDER_INFO *info, dat_candidate *c)
{
	const dat_ia_name *mark = find(added.first, info), *e;

	for (e = find(given.first, info); e && !is_own(e); e = find(e->next, info))
		;
	c->library = NULL;
	c->params = e ? e->params : "";
	c->table = NULL;
	c->mark = mark && is_own(mark) ? mark->table : NULL;
}

static void candidate(const DAT_PROVIDER_INFO *info, const dat_ia_name *e, dat_candidate *c)
{
	if (is_own(e)) {
		own_candidate(info, c);
		return;
	}
	c->library = e->table ? NULL : e->library;
	c->params = e->params;
	c->table = e->table;
	c->mark = NULL;
}

DAT_RETURN dat_names_candidate(const DAT_PROVIDER_INFO *info, int index, dat_candidate *c)
{
	/* in the order of the subtypes; what is further away agrees more */
	static const DAT_RETURN missing[] = {DAT_NAME_NOT_REGISTERED, DAT_MAJOR_NOT_FOUND,
	                                     DAT_MINOR_NOT_FOUND, DAT_THREAD_SAFETY_NOT_FOUND,
	                                     DAT_NAME_NOT_REGISTERED};
	const dat_ia_name *lists[2], *e;
	int best = 0, i;

	enter();
	lists[0] = added.first;
	lists[1] = given.first;
	for (i = 0; i < 2; i++)
		for (e = lists[i]; e; e = e->next) {
			int n = agrees(&e->info, info);

			if (n == SAME && index-- == 0) {
				candidate(info, e, c);
				return leave(DAT_SUCCESS);
			}
			best = n > best ? n : best;
		}
	return leave(DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | missing[best]);
}

/* Whether a name before e has its key. */
static int is_listed(const dat_ia_name *e)
{
	dat_ia_name *of = find(added.first, &e->info) ?: find(given.first, &e->info);

	return of != e;
}

/* Gives each name once that can be opened to the function, with its number. DAT_SUCCESS, or what
 * the function has returned. */
static DAT_RETURN each(DAT_RETURN (*take)(const dat_ia_name *e, DAT_COUNT number, void *of),
                       void *of)
{
	const dat_ia_name *lists[] = {added.first, given.first}, *e;
	DAT_RETURN result = DAT_SUCCESS;
	DAT_COUNT number = 0;
	int i;

	for (i = 0; i < 2; i++)
		for (e = lists[i]; e && result == DAT_SUCCESS; e = e->next)
			if (!is_listed(e))
				result = take(e, number++, of);
	return result;
}

/* The program's list. */
typedef struct listing {
	DAT_PROVIDER_INFO **to;
	DAT_COUNT most, all;
} listing;

static DAT_RETURN count(const dat_ia_name *e, DAT_COUNT number, void *of)
{
	((listing *)of)->all = number + 1;
	return DAT_SUCCESS;
}

static DAT_RETURN write_one(const dat_ia_name *e, DAT_COUNT number, void *of)
{
	const listing *l = of;
	DAT_PROVIDER_INFO *at;

	if (number < l->most && (dat_copy_in(&at, &l->to[number], sizeof at) != 0 ||
	                         dat_copy_out(at, &e->info, sizeof *at) != 0))
		return BAD_ARG(3);
	return DAT_SUCCESS;
}

/* Whether there is room for it: a call that fails fills nothing. */
static DAT_RETURN try_one(const dat_ia_name *e, DAT_COUNT number, void *of)
{
	const listing *l = of;
	DAT_PROVIDER_INFO *at, there;

	if (number < l->most && (dat_copy_in(&at, &l->to[number], sizeof at) != 0 ||
	                         dat_copy_in(&there, at, sizeof there) != 0 ||
	                         dat_copy_out(at, &there, sizeof there) != 0))
		return BAD_ARG(3);
	return DAT_SUCCESS;
}

DAT_RETURN dat_names_list(DAT_COUNT most, DAT_COUNT *number, DAT_PROVIDER_INFO **to)
{
	listing l = {to, most, 0};
	DAT_RETURN result = DAT_SUCCESS;

	enter();
	each(count, &l);
	if (number && dat_copy_out(number, &l.all, sizeof l.all) != 0)
		result = BAD_ARG(2);
	else if (most <= 0)
		result = BAD_ARG(1);
	else if (!number)
		result = BAD_ARG(2);
	else if (!to)
		result = BAD_ARG(3);
	if (result == DAT_SUCCESS)
		result = each(try_one, &l);
	if (result == DAT_SUCCESS)
		result = each(write_one, &l);
	return leave(result);
}

/* ---- What is registered ---- */

/* The key that a program points to; 0: it cannot be read. */
static int read_key(DAT_PROVIDER_INFO *key, const DAT_PROVIDER_INFO *from)
{
	if (!from || dat_copy_in(key, from, sizeof *key) != 0)
		return 0;
	key->ia_name[sizeof key->ia_name - 1] = 0;
	return 1;
}

DAT_RETURN dat_names_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info, int own)
{
	DAT_PROVIDER_INFO key;
	dat_ia_name *e;

	if (!read_key(&key, info))
		return BAD_ARG(2);
	enter();
	if (find(added.first, &key))
		return leave(DAT_CLASS_ERROR | DAT_PROVIDER_ALREADY_REGISTERED);
	e = dat_ia_names_append(&added, key.ia_name, own ? NULL : "program", "");
	if (!e)
		return leave(NO_MEMORY);
	e->info.dapl_version_major = key.dapl_version_major;
	e->info.dapl_version_minor = key.dapl_version_minor;
	e->info.is_thread_safe = key.is_thread_safe ? DAT_TRUE : DAT_FALSE;
	e->table = table;
	return leave(DAT_SUCCESS);
}

DAT_RETURN dat_names_remove(const DAT_PROVIDER_INFO *info)
{
	DAT_PROVIDER_INFO key;
	dat_ia_name **at, *e;

	if (!read_key(&key, info))
		return BAD_ARG(2);
	enter();
	for (at = &added.first; *at && agrees(&(*at)->info, &key) != SAME; at = &(*at)->next)
		;
	e = *at;
	if (!e)
		return leave(NOT_REGISTERED);
	*at = e->next;
	if (!e->next)
		added.end = at;
	added.number--;
	free((char *)e->library);
	free((char *)e->params);
	free(e);
	return leave(DAT_SUCCESS);
}

int dat_names_have(const DAT_PROVIDER *table)
{
	const dat_ia_name *e;

	enter();
	for (e = added.first; e && (is_own(e) || e->table != table); e = e->next)
		;
	leave(DAT_SUCCESS);
	return e != NULL;
}
