/*
 * providers.c - other libraries that dat.conf names: loading them, and their tables.
 *
 * One lock covers all of it. It is recursive, as a provider's init and fini come back to register
 * its table. It is taken before the block's, never after. A provider's other functions run without
 * it. The provider of a handle is seen without the lock, too: by the table in the first 8 bytes
 * that the handle points to, which is copied under guard and compared with those that are
 * registered.
 */
#define _GNU_SOURCE
#include "registry/names.h"
#include "registry/provider/functions.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/guard.h"

enum { TABLES_MAX = 1024 };

#ifdef PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
pthread_mutex_t dat_providers_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
#else
pthread_mutex_t dat_providers_lock;

/* Before the constructors of providers, which may register themselves. */
__attribute__((constructor(101))) static void init_lock(void)
{
	pthread_mutexattr_t recursive;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&dat_providers_lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
}
#endif
/* Under the lock. */
static dat_provider *providers;
static int inside; /* init or fini of a provider runs, in the thread that has the lock */
/* Read without it, each for itself: NULL, or a table. Places below num_tables are in use. */
static const DAT_PROVIDER *tables[TABLES_MAX];
static int num_tables;

uint32_t dat_unusual = DAT_UNPREPARED;

/* ---- Whose a handle is ---- */

static int is_table(const DAT_PROVIDER *table)
{
	int n = __atomic_load_n(&num_tables, __ATOMIC_ACQUIRE);

	for (int i = 0; i < n; i++)
		if (__atomic_load_n(&tables[i], __ATOMIC_RELAXED) == table)
			return 1;
	return 0;
}

const DAT_PROVIDER *dat_provider_of(DAT_HANDLE handle)
{
	const DAT_PROVIDER *table = NULL;

	if (!(__atomic_load_n(&dat_unusual, __ATOMIC_RELAXED) & DAT_PROVIDERS) || !handle ||
	    (uintptr_t)handle % sizeof table ||
	    node_guarded_copy_short(&table, handle, sizeof table) || !table || !is_table(table))
		return NULL;
	return table;
}

/* ---- Tables ---- */

/* Under the lock; 0: there are too many. */
static int add_table(const DAT_PROVIDER *table)
{
	int i;

	for (i = 0; i < num_tables && tables[i]; i++)
		;
	if (i == TABLES_MAX)
		return 0;
	__atomic_store_n(&tables[i], table, __ATOMIC_RELAXED);
	if (i == num_tables)
		__atomic_store_n(&num_tables, i + 1, __ATOMIC_RELEASE);
	__atomic_or_fetch(&dat_unusual, DAT_PROVIDERS, __ATOMIC_RELAXED);
	return 1;
}

static void remove_table(const DAT_PROVIDER *table)
{
	int left = 0;

	for (int i = 0; i < num_tables; i++) {
		if (tables[i] == table)
			__atomic_store_n(&tables[i], NULL, __ATOMIC_RELAXED);
		left += tables[i] != NULL;
	}
	if (left == 0)
		__atomic_and_fetch(&dat_unusual, ~DAT_PROVIDERS, __ATOMIC_RELAXED);
}

/* A table of this library's functions is that of the object by which another registry loads it. */
static int is_own(DAT_PZ_CREATE_FUNC create)
{
	return create == dat_pz_create;
}

/* With the parameters that the registry which loaded the object has for the name. */
static DAT_RETURN add_own(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *key)
{
	enum { PREFIX = sizeof OBJECT_PARAMS - 1 };
	char text[PREFIX + 512] = "";
	DAT_PVOID extension;

	if (dat_copy_in(&extension, &table->extension, sizeof extension) != 0 || !extension ||
	    dat_copy_string(text, extension, sizeof text) != 0 ||
	    strncmp(text, OBJECT_PARAMS, PREFIX) != 0)
		return dat_names_add(table, key, "");
	return dat_names_add(table, key, text + PREFIX);
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	DAT_PZ_CREATE_FUNC create;
	DAT_PROVIDER_INFO key;
	DAT_RETURN result;

	if (!table || dat_copy_in(&create, &table->pz_create_func, sizeof create) != 0)
		return BAD_ARG(1);
	if (!dat_names_key(&key, info))
		return BAD_ARG(2);
	if (is_own(create))
		return add_own(table, &key);
	pthread_mutex_lock(&dat_providers_lock);
	result = dat_names_add(table, &key, NULL);
	if (result == DAT_SUCCESS && !is_table(table) && !add_table(table)) {
		dat_names_remove(&key);
		result = NO_MEMORY;
	}
	pthread_mutex_unlock(&dat_providers_lock);
	return result;
}

/* That of a name, by its table or by its library. */
static dat_provider *find_provider(const char *name, const DAT_PROVIDER *table, const char *path)
{
	dat_provider *p;

	for (p = providers; p; p = p->next)
		if (strcmp(p->info.ia_name, name) == 0 &&
		    (table ? p->table == table : p->path && strcmp(p->path, path) == 0))
			return p;
	return NULL;
}

static DAT_RETURN remove_provider(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *key)
{
	DAT_RETURN result = DAT_CLASS_ERROR | DAT_PROVIDER_IN_USE;
	dat_provider *p;

	pthread_mutex_lock(&dat_providers_lock);
	p = find_provider(key->ia_name, table, NULL);
	if (!p || p->users == 0 || inside) {
		result = dat_names_remove(key);
		if (result == DAT_SUCCESS && !dat_names_have(table))
			remove_table(table);
	}
	pthread_mutex_unlock(&dat_providers_lock);
	return result;
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	DAT_PROVIDER_INFO key;

	if (!table)
		return BAD_ARG(1);
	return dat_names_key(&key, info) ? remove_provider(table, &key) : BAD_ARG(2);
}

/* ---- Libraries ---- */

static void say(const char *path, const char *what, const char *why)
{
	char text[1024];

	snprintf(text, sizeof text, "dat.conf: %s: %s%s%s", path, what, why ? ": " : "",
	         why ? why : "");
	dat_message(text);
}

/* The symbols that a provider imports of its registry must be this library's, also if that was
 * loaded for one object alone. */
static void show_itself(void)
{
	Dl_info self;
	void *handle;

	if (dladdr((void *)show_itself, &self) && self.dli_fname) {
		handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
		if (handle)
			dlclose(handle);
	}
}

static void *symbol(const dat_provider *p, const char *name)
{
	void *found = dlsym(p->library, name);

	if (!found)
		say(p->path, "it is no provider: it lacks", name);
	return found;
}

/* Whether a provider in use has its library loaded for that table. */
static int holds(const DAT_PROVIDER *table)
{
	dat_provider *p;

	for (p = providers; p; p = p->next)
		if (p->table == table && p->library)
			return 1;
	return 0;
}

/* A library whose table stays registered, as fini has not removed it, stays loaded. */
static void unload(dat_provider *p)
{
	if (p->table && p->fini) {
		inside++;
		p->fini(&p->info);
		inside--;
	}
	if (p->table && p->path) /* fini should have removed it */
		remove_provider(p->table, &p->info);
	if (p->library && !(p->table && dat_names_have(p->table) && !holds(p->table)))
		dlclose(p->library);
}

/* Loads a provider's library, which then registers its table; 0: it has not. */
static int load(dat_provider *p, const dat_candidate *c)
{
	DAT_PROVIDER_INIT_FUNC init;
	dat_candidate made = {0};

	show_itself();
	node_guard_install();
	p->library = dlopen(p->path, RTLD_NOW | RTLD_GLOBAL);
	if (!p->library) {
		say(p->path, "it cannot be loaded", dlerror());
		return 0;
	}
	init = (DAT_PROVIDER_INIT_FUNC)symbol(p, DAT_PROVIDER_INIT_FUNC_STR);
	p->fini = (DAT_PROVIDER_FINI_FUNC)symbol(p, DAT_PROVIDER_FINI_FUNC_STR);
	if (!init || !p->fini)
		return 0;
	inside++;
	init(&p->info, c->params);
	inside--;
	if (dat_names_candidate(&p->info, 0, &made) == DAT_SUCCESS)
		p->table = made.table;
	if (!p->table)
		say(p->path, "it has registered no adapter of the name", p->info.ia_name);
	return p->table != NULL;
}

/* The provider of a candidate, which is loaded for its first user. NULL: it cannot be. */
static dat_provider *take(const DAT_PROVIDER_INFO *info, const dat_candidate *c)
{
	const DAT_PROVIDER *table = c->table;
	dat_provider *p = find_provider(info->ia_name, table, c->library);

	if (p)
		return p;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->info = *info;
	p->path = c->library;
	p->table = table;
	if (!table && !load(p, c)) {
		unload(p);
		free(p);
		return NULL;
	}
	p->next = providers;
	providers = p;
	return p;
}

DAT_RETURN dat_provider_acquire(const DAT_PROVIDER_INFO *info, int index, dat_candidate *c,
                                dat_provider **p, int *own)
{
	DAT_RETURN result;

	*p = NULL;
	pthread_mutex_lock(&dat_providers_lock);
	result = dat_names_candidate(info, index, c);
	*own = result == DAT_SUCCESS && !c->library && !c->table;
	if (result == DAT_SUCCESS && !*own && (*p = take(info, c)))
		(*p)->users++;
	pthread_mutex_unlock(&dat_providers_lock);
	return result;
}

void dat_provider_release(dat_provider *p)
{
	dat_provider **at;

	pthread_mutex_lock(&dat_providers_lock);
	if (--p->users == 0) {
		for (at = &providers; *at != p; at = &(*at)->next)
			;
		*at = p->next;
		unload(p);
		free(p);
	}
	pthread_mutex_unlock(&dat_providers_lock);
}

/* This thread has the lock for it. */
int dat_provider_is_inside(void)
{
	int is = 0;

	if (pthread_mutex_trylock(&dat_providers_lock) == 0) {
		is = inside;
		pthread_mutex_unlock(&dat_providers_lock);
	}
	return is;
}

/* ---- Extended operations ---- */

int dat_extensions;

/*
 * A program that names the variable has a copy of its own, as linkers have it for data, and this
 * library is linked so that it sees but its own one.
 */
void dat_extensions_found(void)
{
	void *program = dlopen(NULL, RTLD_LAZY);
	int *copy = program ? dlsym(program, "dat_extensions") : NULL;

	dat_extensions = 1;
	if (copy)
		*copy = 1;
	if (program)
		dlclose(program);
}

DAT_RETURN dat_provider_extended(const DAT_PROVIDER *table, DAT_HANDLE handle, DAT_EXTENDED_OP op,
                                 ...)
{
	DAT_RETURN result = DAT_NOT_IMPLEMENTED;
	va_list list;

	va_start(list, op);
	if (table->handle_extendedop_func)
		result = table->handle_extendedop_func(handle, op, list);
	va_end(list);
	return result;
}
