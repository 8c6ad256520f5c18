/*
 * provider_adapters.c - opening and closing adapters, of any library: who opens a name, and which
 * adapters of other libraries are open.
 */
#include "dat/api/providers.h"

#include <stdlib.h>
#include <string.h>

#include "node/guard.h"
#include "dat/api/pointers.h"

#define NOT_FOUND (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED)
#define NO_MEMORY (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY)
#define BAD_STATE (DAT_CLASS_ERROR | DAT_INVALID_STATE)

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

static DAT_RETURN close_end(adapter *a, DAT_RETURN result)
{
	if (result == DAT_SUCCESS) {
		forget(a);
	} else {
		pthread_mutex_lock(&dat_providers_lock);
		a->closing = 0;
		pthread_mutex_unlock(&dat_providers_lock);
	}
	return result;
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

/* What is opened under a name: by dat_ia_openv, or by dat_ib_open_query. */
typedef struct request {
	DAT_PROVIDER_INFO info;
	int query;
	DAT_COUNT qlen;
	DAT_EVD_HANDLE *evd;
	DAT_HANDLE *handle;
	DAT_IA_ATTR_MASK ia_mask;
	DAT_IA_ATTR *ia_attr;
	DAT_PROVIDER_ATTR_MASK provider_mask;
	DAT_PROVIDER_ATTR *provider_attr;
} request;

static DAT_RETURN call_open(const request *r, const DAT_PROVIDER *table, DAT_NAME_PTR name)
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
static DAT_RETURN open_by(const request *r, dat_provider *p)
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

/*
 * Opens by the providers of a name, in order, until one succeeds: 1, and *result is the first one's
 * failure that was opened at all if none does. 0: it is this library's turn, and *c says what of.
 */
static int open_by_name(const request *r, dat_candidate *c, DAT_RETURN *result)
{
	DAT_RETURN why = DAT_SUCCESS;
	dat_provider *p;
	int own;

	for (int index = 0;; index++) {
		*result = dat_provider_acquire(&r->info, index, c, &p, &own);
		if (own)
			return 0;
		if (*result != DAT_SUCCESS) {
			if (why != DAT_SUCCESS)
				*result = why;
			return 1;
		}
		*result = p ? open_by(r, p) : NOT_FOUND;
		if (*result == DAT_SUCCESS)
			return 1;
		if (why == DAT_SUCCESS || why == NOT_FOUND)
			why = *result;
	}
}

/* The key of a name. DAT_SUCCESS, or the code of a name that no registry can have. */
static DAT_RETURN key(request *r, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
                      DAT_BOOLEAN safe)
{
	int copied = dat_copy_string(r->info.ia_name, name, sizeof r->info.ia_name);

	r->info.dapl_version_major = major;
	r->info.dapl_version_minor = minor;
	r->info.is_thread_safe = safe;
	if (copied < 0)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1;
	return copied == 0 ? DAT_SUCCESS : NOT_FOUND;
}

/* A provider's init or fini opens nothing: this thread has the lock for it. */
static int is_inside(void)
{
	int is = 0;

	if (pthread_mutex_trylock(&dat_providers_lock) == 0) {
		is = dat_provider_inside;
		pthread_mutex_unlock(&dat_providers_lock);
	}
	return is;
}

/* Before any provider's library is loaded: starts core, and installs the handler of faults. */
static DAT_RETURN begin(void)
{
	DAT_RETURN result;

	if (sizeof(void *) != 8)
		return DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND; /* docs/scope.md */
	if (is_inside())
		return BAD_STATE;
	result = dat_may_enter();
	if (result == DAT_SUCCESS)
		node_guard_install(); /* before any call that probes the program's pointers */
	return result;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
                        DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
                        DAT_UINT32 dapl_major, DAT_UINT32 dapl_minor, DAT_BOOLEAN thread_safety)
{
	request r = {.qlen = async_evd_min_qlen, .evd = async_evd_handle, .handle = ia_handle};
	dat_candidate c = {.params = ""};
	DAT_RETURN result = begin();

	/* core says what is missing */
	if (result == DAT_SUCCESS && name && async_evd_handle && ia_handle) {
		result = key(&r, name, dapl_major, dapl_minor, thread_safety);
		if (result == DAT_SUCCESS && open_by_name(&r, &c, &result))
			return result;
	}
	if (result != DAT_SUCCESS)
		return result;
	return dat_open_own((const uint64_t[]){
		DAT_P(name), DAT_I(async_evd_min_qlen), DAT_P(async_evd_handle), DAT_P(ia_handle),
		DAT_P(c.params), DAT_P(c.mark)});
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	adapter *a = close_begin(ia_handle, 0);

	if (!a)
		return dat_close_own(ia_handle, flags);
	return close_end(a, a->by->table->ia_close_func
	                            ? a->by->table->ia_close_func(ia_handle, flags)
	                            : (DAT_RETURN)DAT_NOT_IMPLEMENTED);
}

DAT_RETURN(dat_ib_open_query)
(const DAT_NAME_PTR name, DAT_HANDLE *handle, DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
 DAT_PROVIDER_ATTR_MASK provider_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	request r = {.query = 1,
	             .handle = handle,
	             .ia_mask = ia_mask,
	             .ia_attr = ia_attr,
	             .provider_mask = provider_mask,
	             .provider_attr = provider_attr};
	dat_candidate c = {.params = ""};
	DAT_RETURN result = begin();

	if (result == DAT_SUCCESS && name && handle) {
		result = key(&r, name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
		if (result == DAT_SUCCESS && open_by_name(&r, &c, &result))
			return result;
	}
	if (result != DAT_SUCCESS)
		return result;
	return DAT_CALL(ib_open_query, DAT_P(name), DAT_P(handle), ia_mask, DAT_P(ia_attr),
	                provider_mask, DAT_P(provider_attr), DAT_P(c.params), DAT_P(c.mark));
}

DAT_RETURN(dat_ib_close_query)(DAT_HANDLE handle)
{
	adapter *a = close_begin(handle, 1);

	if (!a)
		return DAT_CALL(ib_close_query, DAT_P(handle));
	return close_end(a, dat_provider_extended(a->by->table, handle, DAT_IB_CLOSE_QUERY_OP));
}
