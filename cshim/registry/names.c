/* names.c - the list of names, and the program's registrations. */
#define _GNU_SOURCE
#include "registry/names.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress/say.h"

/* A file cannot take memory and time without an end. */
enum { MOST_NAMES = 4096, LINE = 700 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Under it: the names that the program and providers have registered, up to its end; behind these
 * those of dat.conf, then the built-in ones, which are never freed. */
static dat_ia_names names;

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
	e->next = *list->end;
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
	dat_ia_names given;

	pthread_once(&once, watch_forks);
	lock_it();
	if (names.end)
		return;
	dat_ia_names_begin(&given);
	dat_conf_names(&given, "/etc/dat.conf", &faults);
	write_faults(&faults);
	dat_built_in_names(&given);
	dat_ia_names_begin(&names);
	names.first = given.first;
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

/* The first name from one on that has that key; NULL: none has. */
static dat_ia_name *find(dat_ia_name *from, const DAT_PROVIDER_INFO *key)
{
	for (; from; from = from->next)
		if (agrees(&from->info, key) == SAME)
			return from;
	return NULL;
}

static int is_own(const dat_ia_name *e)
{
	return !e->library;
}

/* The candidate of the library's own adapter, whose name has that first entry: the parameters that
 * another registry, or else a file, has for the name; and that registry's mark. */
static void own_candidate(const DAT_PROVIDER_INFO *key, dat_ia_name *first, dat_candidate *c)
{
	const dat_ia_name *e;

	for (e = first; e && (!is_own(e) || (e->table && !*e->params)); e = find(e->next, key))
		;
	c->library = NULL;
	c->params = e ? e->params : "";
	c->table = NULL;
	c->mark = is_own(first) ? first->table : NULL;
}

static void candidate(const DAT_PROVIDER_INFO *key, const dat_ia_name *e, dat_candidate *c)
{
	if (is_own(e)) {
		own_candidate(key, find(names.first, key), c);
		return;
	}
	c->library = e->table ? NULL : e->library;
	c->params = e->params;
	c->table = e->table;
	c->mark = NULL;
}

DAT_RETURN dat_names_candidate(const DAT_PROVIDER_INFO *key, int index, dat_candidate *c)
{
	/* in the order of the subtypes; later ones agree more */
	static const DAT_RETURN missing[] = {DAT_NAME_NOT_REGISTERED, DAT_MAJOR_NOT_FOUND,
	                                     DAT_MINOR_NOT_FOUND, DAT_THREAD_SAFETY_NOT_FOUND,
	                                     DAT_NAME_NOT_REGISTERED};
	const dat_ia_name *e;
	int best = 0;

	enter();
	for (e = names.first; e; e = e->next) {
		int n = agrees(&e->info, key);

		if (n == SAME && index-- == 0) {
			candidate(key, e, c);
			return leave(DAT_SUCCESS);
		}
		best = n > best ? n : best;
	}
	return leave(DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | missing[best]);
}

/* Each name once that can be opened, up to most: there is room for it, or it is written. *all: how
 * many there are. */
static DAT_RETURN list_names(DAT_PROVIDER_INFO **to, DAT_COUNT most, int write, DAT_COUNT *all)
{
	DAT_PROVIDER_INFO *at, there;
	const dat_ia_name *e;

	*all = 0;
	for (e = names.first; e; e = e->next) {
		if (find(names.first, &e->info) != e || (*all)++ >= most)
			continue;
		if (dat_copy_in(&at, &to[*all - 1], sizeof at) != 0 ||
		    (!write && dat_copy_in(&there, at, sizeof there) != 0) ||
		    dat_copy_out(at, write ? &e->info : &there, sizeof *at) != 0)
			return BAD_ARG(3);
	}
	return DAT_SUCCESS;
}

/* A call that fails fills nothing. */
static DAT_RETURN list_all(DAT_COUNT most, DAT_COUNT *number, DAT_PROVIDER_INFO **to)
{
	DAT_RETURN result;
	DAT_COUNT all;

	list_names(NULL, 0, 0, &all);
	if (number && dat_copy_out(number, &all, sizeof all) != 0)
		return BAD_ARG(2);
	if (most <= 0)
		return BAD_ARG(1);
	if (!number)
		return BAD_ARG(2);
	if (!to)
		return BAD_ARG(3);
	result = list_names(to, most, 0, &all);
	return result == DAT_SUCCESS ? list_names(to, most, 1, &all) : result;
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *number_entries,
                                       DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	enter();
	return leave(list_all(max_to_return, number_entries, dat_provider_list));
}

/* No two adapters stand in for each other. */
DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
                                          DAT_HA_RELATIONSHIP *answer)
{
	static const DAT_HA_RELATIONSHIP no = DAT_HA_FALSE;

	if (!answer || dat_copy_out(answer, &no, sizeof no) != 0)
		return BAD_ARG(3);
	return DAT_SUCCESS;
}

/* ---- What is registered ---- */

int dat_names_key(DAT_PROVIDER_INFO *key, const DAT_PROVIDER_INFO *from)
{
	if (!from || dat_copy_in(key, from, sizeof *key) != 0)
		return 0;
	key->ia_name[sizeof key->ia_name - 1] = 0;
	return 1;
}

DAT_RETURN dat_names_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *key, const char *own)
{
	dat_ia_name *e;

	enter();
	e = find(names.first, key);
	if (e && e->table)
		return leave(DAT_CLASS_ERROR | DAT_PROVIDER_ALREADY_REGISTERED);
	e = dat_ia_names_append(&names, key->ia_name, own ? NULL : "program", own ? own : "");
	if (!e)
		return leave(NO_MEMORY);
	e->info.dapl_version_major = key->dapl_version_major;
	e->info.dapl_version_minor = key->dapl_version_minor;
	e->info.is_thread_safe = key->is_thread_safe ? DAT_TRUE : DAT_FALSE;
	e->table = table;
	return leave(DAT_SUCCESS);
}

DAT_RETURN dat_names_remove(const DAT_PROVIDER_INFO *key)
{
	dat_ia_name **at, *e;

	enter();
	for (at = &names.first; *at && agrees(&(*at)->info, key) != SAME; at = &(*at)->next)
		;
	e = *at;
	if (!e || !e->table)
		return leave(NOT_REGISTERED);
	*at = e->next;
	if (names.end == &e->next)
		names.end = at;
	names.number--;
	free((char *)e->library);
	free((char *)e->params);
	free(e);
	return leave(DAT_SUCCESS);
}

int dat_names_have(const DAT_PROVIDER *table)
{
	const dat_ia_name *e;

	enter();
	for (e = names.first; e && (is_own(e) || e->table != table); e = e->next)
		;
	leave(DAT_SUCCESS);
	return e != NULL;
}
