/* open.c - a link, from its opening to its end, its endpoints and regions. */
#include "link/link.h"

#include "handlers/handlers.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Those that are open, by their contexts. Handlers look here, which have a handle alone. Written under
 * all_lock; release: pairs with link_of.
 */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static lapi_link_t *all[CSHIM_MAX_CONTEXTS];

static lapi_link_t **place_of(lapi_handle_t handle) { return &all[handle & (CSHIM_MAX_CONTEXTS - 1)]; }

/* LAPI_Term waits for the lock, so the link is not closed meanwhile. */
lapi_link_t *link_of(lapi_handle_t handle)
{
	lapi_link_t *link = __atomic_load_n(place_of(handle), __ATOMIC_ACQUIRE);

	return link && link->handle == handle ? link : NULL;
}

/* The same for a handler without the lock: the link stays until release. */
static lapi_link_t *keep(lapi_handle_t handle)
{
	lapi_link_t *link;

	pthread_mutex_lock(&all_lock);
	link = link_of(handle);
	if (link)
		atomic_fetch_add_explicit(&link->users, 1, memory_order_relaxed);
	pthread_mutex_unlock(&all_lock);
	return link;
}

/* Release: lapi_link_close, which acquires, frees the link after all that its users did. */
static void release(lapi_link_t *link)
{
	atomic_fetch_sub_explicit(&link->users, 1, memory_order_release);
}

static void put_in(lapi_handle_t handle, lapi_link_t *link)
{
	pthread_mutex_lock(&all_lock);
	__atomic_store_n(place_of(handle), link, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&all_lock);
}

/* LAPI has ended: its context may be another's. */
static void take_out(lapi_link_t *link)
{
	pthread_mutex_lock(&all_lock);
	if (*place_of(link->handle) == link)
		__atomic_store_n(place_of(link->handle), NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&all_lock);
	/* An error handler may still run in a thread of the library's. */
	while (atomic_load_explicit(&link->users, memory_order_acquire))
		sched_yield();
	link->closed = 1;
}

/* LAPI's error handler. */
static void failed(lapi_handle_t *handle, int *code, lapi_err_t *type, int *self, int *task)
{
	char text[LAPI_MAX_ERR_STRING], line[LAPI_MAX_ERR_STRING + 64];
	lapi_link_t *link = keep(*handle);
	const cshim_error *error = cshim_error_now();
	int status = link_result(*code), of = error->failed ? error->failed_peer : *task;
	lapi_link_endpoint_t *ep = NULL;

	(void)type;
	if (!link)
		return;
	if (of >= 0 && (uint32_t)of < link->tasks) {
		link_lock(link);
		ep = link_endpoint_of(link, (uint32_t)of);
		link_unlock(link);
	}
	PLAPI_Msg_string(*code, text);
	snprintf(line, sizeof(line), "task %d: task %d: %s", *self, *task, text);
	if (link->error)
		link->error(link, ep, status, line, link->error_context);
	link_lock(link);
	if (ep && status == LAPI_LINK_UNREACHABLE)
		link_lose(link, ep, status);
	else if (ep && error->failed)
		link_fail(link, ep, error);
	link_unlock(link);
	release(link);
}

static int query_env(lapi_handle_t handle, lapi_query_t what, uint32_t *value)
{
	int found = 0, rc = PLAPI_Qenv(handle, what, &found);

	*value = (uint32_t)found;
	return rc;
}

static int start(lapi_link_t *link, uint32_t instance)
{
	lapi_info_t info;
	int rc;

	memset(&info, 0, sizeof(info));
	info.err_hndlr = failed;
	info.instance_no = instance;
	rc = PLAPI_Init(&link->handle, &info);
	if (rc != LAPI_SUCCESS)
		return rc;
	rc = query_env(link->handle, TASK_ID, &link->task)
	             ?: query_env(link->handle, NUM_TASKS, &link->tasks)
	             ?: query_env(link->handle, MAX_UHDR_SZ, &link->header_max);
	if (link->header_max > LINK_USER_HEADER)
		link->header_max = LINK_USER_HEADER;
	link->endpoints = rc ? NULL : calloc(link->tasks, sizeof(lapi_link_endpoint_t *));
	if (rc == LAPI_SUCCESS && !link->endpoints)
		rc = LAPI_ERR_MEMORY_EXHAUSTED;
	if (rc == LAPI_SUCCESS) {
		link->context = cshim_find(link->handle);
		put_in(link->handle, link); /* messages wait until there is a handler */
		rc = PLAPI_Addr_set(link->handle, (void *)link_arrive, LINK_HANDLER);
	}
	if (rc != LAPI_SUCCESS) {
		PLAPI_Term(link->handle);
		take_out(link);
	}
	return rc;
}

LINK_EXPORT int lapi_link_open(const lapi_link_config_t *config, lapi_link_t **opened)
{
	lapi_link_t *link;
	int rc;

	if (!config || !opened || config->size < sizeof(*config) ||
	    config->version != LAPI_LINK_VERSION || config->instance > 16)
		return LAPI_LINK_BAD_PARAM;
	link = calloc(1, sizeof(*link));
	if (!link)
		return LAPI_LINK_OUT_OF_RESOURCE;
	link->regions.next = link->regions.before = &link->regions;
	link->error = config->error;
	link->error_context = config->context;
	rc = start(link, config->instance ? config->instance : 16);
	if (rc == LAPI_SUCCESS) {
		*opened = link;
		return LAPI_LINK_SUCCESS;
	}
	free(link->endpoints);
	free(link);
	return link_result(rc);
}

static void free_ops(link_op *op)
{
	for (link_op *next; op; op = next) {
		next = op->next;
		free(op->copy);
		free(op);
	}
}

static void free_messages(link_message *m)
{
	for (link_message *next; m; m = next) {
		next = m->next;
		free(m);
	}
}

static void free_link(lapi_link_t *link)
{
	link_region *region;

	for (uint32_t task = 0; task < link->tasks; task++)
		if (link->endpoints[task]) {
			free(link->endpoints[task]);
		}
	while ((region = link->regions.next) != &link->regions) {
		link->regions.next = region->next;
		free(region);
	}
	free_messages(link->free_messages);
	free_messages(link->come.first);
	free_ops(link->free_ops);
	free_ops(link->free_copies);
	free_ops(link->lost);
	free(link->endpoints);
	free(link);
}

LINK_EXPORT int lapi_link_close(lapi_link_t *link)
{
	int rc;

	if (!link)
		return LAPI_LINK_BAD_PARAM;
	if (!link_usable(link))
		return LAPI_LINK_ERROR;
	rc = PLAPI_Term(link->handle);
	take_out(link);
	for (uint32_t task = 0; task < link->tasks; task++)
		if (link->endpoints[task])
			link_lose(link, link->endpoints[task], LAPI_LINK_UNREACHABLE);
	link_run(link);
	free_link(link);
	return link_result(rc);
}

LINK_EXPORT int lapi_link_query(lapi_link_t *link, lapi_link_attr_t *attr)
{
	lapi_link_attr_t found = {
		.version = LAPI_LINK_VERSION,
		.flags = LAPI_LINK_SEND | LAPI_LINK_PUT | LAPI_LINK_GET | LAPI_LINK_FLUSH |
	                 LAPI_LINK_ATOMIC_OPS | LAPI_LINK_ATOMIC_FOPS,
		.atomic_flags = LAPI_LINK_CAN_ADD | LAPI_LINK_CAN_AND | LAPI_LINK_CAN_OR |
	                        LAPI_LINK_CAN_XOR | LAPI_LINK_CAN_SWAP | LAPI_LINK_CAN_MIN |
	                        LAPI_LINK_CAN_MAX | LAPI_LINK_CAN_CSWAP | LAPI_LINK_CAN_32BIT |
	                        LAPI_LINK_GLOBAL,
		.put_alignment = 1,
		.get_alignment = 1,
		.put_limit = LINK_LIMIT,
		.get_limit = LINK_LIMIT,
		.send_limit = LINK_SEND,
		.copy_limit = LINK_COPY,
		.header_limit = LINK_HEADER,
		.handle_size = sizeof(lapi_link_handle_t),
		.tags = LINK_TAGS,
	};

	if (!link || !attr || attr->size < sizeof(attr->size))
		return LAPI_LINK_BAD_PARAM;
	found.size = attr->size < sizeof(found) ? attr->size : sizeof(found);
	found.task = link->task;
	found.tasks = link->tasks;
	memcpy(attr, &found, found.size);
	return LAPI_LINK_SUCCESS;
}

LINK_EXPORT int lapi_link_endpoint(lapi_link_t *link, uint32_t task, lapi_link_endpoint_t **endpoint)
{
	if (!link || !endpoint || task >= link->tasks)
		return LAPI_LINK_BAD_PARAM;
	if (!link_usable(link))
		return LAPI_LINK_ERROR;
	link_lock(link);
	*endpoint = link_endpoint_of(link, task);
	link_unlock(link);
	return *endpoint ? LAPI_LINK_SUCCESS : LAPI_LINK_OUT_OF_RESOURCE;
}

LINK_EXPORT uint32_t lapi_link_task(const lapi_link_endpoint_t *endpoint)
{
	return endpoint->task;
}

LINK_EXPORT int lapi_link_set_receive(lapi_link_t *link, uint32_t tag, lapi_link_receive_t *receive,
                                      void *context)
{
	if (!link || tag >= LINK_TAGS)
		return LAPI_LINK_BAD_PARAM;
	if (!link_usable(link))
		return LAPI_LINK_ERROR;
	link_lock(link);
	link->tags[tag] = (link_tag){receive, context};
	link_unlock(link);
	return LAPI_LINK_SUCCESS;
}

/* Has the adapters know the region, if there are any. */
static void make_key(lapi_link_t *link, link_region *region)
{
	const uint32_t access =
		region->handle.access & (CSHIM_REGION_READ | CSHIM_REGION_WRITE);
	cshim_context *context = link->has_no_keys ? NULL : cshim_enter(link->handle);

	if (!context)
		return;
	region->has_key = golapi_register(cshim_index_of(context), region->base, region->size, access,
	                                  region->key);
	if (region->has_key == CSHIM_NO_KEYS)
		region->has_key = 0, link->has_no_keys = 1;
	memcpy(region->handle.key, region->key, sizeof(region->key));
	cshim_leave(context, LAPI_LINK_SUCCESS);
}

LINK_EXPORT int lapi_link_register(lapi_link_t *link, void *base, size_t size, uint32_t access,
                                   lapi_link_handle_t **handle)
{
	const uint32_t most =
		LAPI_LINK_REMOTE_READ | LAPI_LINK_REMOTE_WRITE | LAPI_LINK_REMOTE_ATOMIC;
	link_region *region;

	if (!link || !handle || (size && !base) || access & ~most ||
	    (uint64_t)(uintptr_t)base + size < size)
		return LAPI_LINK_BAD_PARAM;
	if (!link_usable(link))
		return LAPI_LINK_ERROR;
	region = calloc(1, sizeof(*region));
	if (!region)
		return LAPI_LINK_OUT_OF_RESOURCE;
	region->base = (uint64_t)(uintptr_t)base;
	region->size = size;
	region->handle = (lapi_link_handle_t){.handle_size = sizeof(region->handle),
	                                      .version = LAPI_LINK_VERSION,
	                                      .base = (uint64_t)(uintptr_t)base,
	                                      .size = size,
	                                      .access = access,
	                                      .task = link->task};
	make_key(link, region);
	link_lock(link);
	region->next = link->regions.next;
	region->before = &link->regions;
	region->next->before = region->before->next = region;
	link_unlock(link);
	*handle = &region->handle;
	return LAPI_LINK_SUCCESS;
}

LINK_EXPORT int lapi_link_deregister(lapi_link_t *link, lapi_link_handle_t *handle)
{
	cshim_context *context;
	link_region *region;

	if (!link || !handle)
		return LAPI_LINK_BAD_PARAM;
	if (!link_usable(link))
		return LAPI_LINK_ERROR;
	region = (link_region *)(void *)((char *)handle - offsetof(link_region, handle));
	link_lock(link);
	region->next->before = region->before;
	region->before->next = region->next;
	link_unlock(link);
	if (region->has_key && (context = cshim_enter(link->handle))) {
		golapi_deregister(cshim_index_of(context), region->base, region->size, region->key);
		cshim_leave(context, LAPI_LINK_SUCCESS);
	}
	free(region);
	return LAPI_LINK_SUCCESS;
}
