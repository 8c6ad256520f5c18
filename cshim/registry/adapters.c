/* adapters.c - opening and closing adapters of other libraries, and which are open. */
#include <stdlib.h>
#include <string.h>

#include "registry/names.h"

/* An adapter that is open. */
typedef struct adapter {
	DAT_HANDLE handle;
	dat_provider *by;
	int query; /* by dat_ib_open_query */
	int closing;
	struct adapter *next;
} adapter;

static adapter *adapters; /* under the lock */

static adapter *find_adapter(DAT_HANDLE handle, int query)
{
	adapter *a;

	for (a = adapters; a; a = a->next)
		if (a->handle == handle && a->query == query && !a->closing)
			return a;
	return NULL;
}

const DAT_PROVIDER *dat_provider_of_ia(DAT_HANDLE handle)
{
	const DAT_PROVIDER *table = NULL;
	adapter *a;

	if (!(__atomic_load_n(&dat_unusual, __ATOMIC_RELAXED) & DAT_PROVIDERS))
		return NULL;
	pthread_mutex_lock(&dat_providers_lock);
	a = find_adapter(handle, 0);
	if (!a)
		a = find_adapter(handle, 1);
	if (a)
		table = a->by->table;
	pthread_mutex_unlock(&dat_providers_lock);
	return table;
}

/* Makes a an open adapter, which has a user of p. */
static void opened(adapter *a, dat_provider *p, DAT_HANDLE handle, int query)
{
	a->handle = handle;
	a->by = p;
	a->query = query;
	pthread_mutex_lock(&dat_providers_lock);
	a->next = adapters;
	adapters = a;
	pthread_mutex_unlock(&dat_providers_lock);
}

static void forget(adapter *a)
{
	adapter **at;

	pthread_mutex_lock(&dat_providers_lock);
	for (at = &adapters; *at != a; at = &(*at)->next)
		;
	*at = a->next;
	pthread_mutex_unlock(&dat_providers_lock);
	dat_provider_release(a->by);
	free(a);
}

/* The adapter of a handle, which nobody else closes then. */
static adapter *close_begin(DAT_HANDLE handle, int query)
{
	adapter *a = NULL;

	if (__atomic_load_n(&dat_unusual, __ATOMIC_RELAXED) & DAT_PROVIDERS) {
		pthread_mutex_lock(&dat_providers_lock);
		a = find_adapter(handle, query);
		if (a)
			a->closing = 1;
		pthread_mutex_unlock(&dat_providers_lock);
	}
	return a;
}

static DAT_RETURN close_by(const DAT_PROVIDER *table, DAT_HANDLE handle, int query,
                           DAT_CLOSE_FLAGS flags)
{
	if (query)
		return dat_provider_extended(table, handle, DAT_IB_CLOSE_QUERY_OP);
	return table->ia_close_func ? table->ia_close_func(handle, flags)
	                            : (DAT_RETURN)DAT_NOT_IMPLEMENTED;
}

int dat_provider_close(DAT_HANDLE handle, int query, DAT_CLOSE_FLAGS flags, DAT_RETURN *result)
{
	adapter *a = close_begin(handle, query);

	if (!a)
		return 0;
	*result = close_by(a->by->table, handle, query, flags);
	if (*result == DAT_SUCCESS) {
		forget(a);
	} else {
		pthread_mutex_lock(&dat_providers_lock);
		a->closing = 0;
		pthread_mutex_unlock(&dat_providers_lock);
	}
	return 1;
}

/* Extended operations are the providers' whose adapters say that they have them. */
static void find_extensions(const DAT_PROVIDER *table, DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR *attributes = calloc(1, sizeof *attributes);
	DAT_EVD_HANDLE async;

	if (attributes && table->ia_query_func &&
	    table->ia_query_func(ia, &async, DAT_IA_FIELD_ALL, attributes, 0, NULL) ==
	            DAT_SUCCESS &&
	    attributes->extension_supported != DAT_EXTENSION_NONE)
		dat_extensions_found();
	free(attributes);
}

static DAT_RETURN call_open(const dat_opening *r, const DAT_PROVIDER *table, DAT_NAME_PTR name)
{
	if (r->query)
		return dat_provider_extended(table, name, DAT_IB_OPEN_QUERY_OP, r->handle,
		                             r->ia_mask, r->ia_attr, r->provider_mask,
		                             r->provider_attr);
	if (!table->ia_open_func)
		return DAT_NOT_IMPLEMENTED;
	return table->ia_open_func(name, r->qlen, r->evd, r->handle);
}

/* The first user of p is the call; if it succeeds, the adapter. */
static DAT_RETURN open_by(const dat_opening *r, dat_provider *p)
{
	DAT_EVD_HANDLE evd = r->evd ? *r->evd : NULL;
	adapter *a = calloc(1, sizeof *a);
	DAT_RETURN result = NO_MEMORY;

	if (a)
		result = call_open(r, p->table, (DAT_NAME_PTR)p->info.ia_name);
	if (result != DAT_SUCCESS) {
		if (r->evd)
			*r->evd = evd; /* another provider may be tried */
		dat_provider_release(p);
		free(a);
		return result;
	}
	opened(a, p, *r->handle, r->query);
	if (!r->query)
		find_extensions(p->table, *r->handle);
	return DAT_SUCCESS;
}

static int open_by_name(dat_opening *r, DAT_RETURN *result)
{
	DAT_RETURN why = DAT_SUCCESS;
	dat_candidate c;
	dat_provider *p;
	int own;

	for (int index = 0;; index++) {
		*result = dat_provider_acquire(&r->info, index, &c, &p, &own);
		if (own) {
			r->params = c.params;
			r->mark = c.mark;
			return 0;
		}
		if (*result != DAT_SUCCESS) {
			if (why != DAT_SUCCESS)
				*result = why;
			return 1;
		}
		*result = p ? open_by(r, p) : NOT_REGISTERED;
		if (*result == DAT_SUCCESS)
			return 1;
		if (why == DAT_SUCCESS || why == NOT_REGISTERED)
			why = *result;
	}
}

int dat_provider_open(dat_opening *r, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
                      DAT_BOOLEAN safe, DAT_RETURN *result)
{
	int copied = dat_copy_string(r->info.ia_name, name, sizeof r->info.ia_name);

	r->info.dapl_version_major = major;
	r->info.dapl_version_minor = minor;
	r->info.is_thread_safe = safe;
	if (copied == 0)
		return open_by_name(r, result);
	*result = copied < 0 ? BAD_ARG(1) : NOT_REGISTERED;
	return 1;
}
