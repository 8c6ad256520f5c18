/* list.c - the objects of a link, and its lists. */
#include "link/link.h"

#include <stdlib.h>

lapi_link_endpoint_t *link_endpoint_of(lapi_link_t *link, uint32_t task)
{
	lapi_link_endpoint_t *ep = link->endpoints[task];

	if (ep)
		return ep;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return NULL;
	ep->link = link;
	ep->task = task;
	ep->sent = ep->sent_taken = ep->taken = ep->taken_reported = LINK_START;
	return link->endpoints[task] = ep;
}

link_op *link_op_new(lapi_link_t *link, int copies)
{
	link_op **list = copies ? &link->free_copies : &link->free_ops;
	link_op *op = *list;

	if (op) {
		*list = op->next;
		op->next = NULL;
		op->counter = 0;
		return op;
	}
	op = calloc(1, sizeof(*op));
	if (op && copies && !(op->copy = malloc(LINK_COPY + sizeof(link_head)))) {
		free(op);
		return NULL;
	}
	return op;
}

void link_op_free(lapi_link_t *link, link_op *op)
{
	link_op **list = op->copy ? &link->free_copies : &link->free_ops;

	op->next = *list;
	*list = op;
}

void link_append(link_list *list, void *item, void **next_of_last)
{
	if (list->last)
		*next_of_last = item;
	else
		list->first = item;
	list->last = item;
}

void link_begin(lapi_link_t *link, link_op *op)
{
	lapi_link_endpoint_t *ep = op->endpoint;
	link_list *list = &ep->under_way[op->kind];

	op->next = NULL;
	op->status = LAPI_LINK_SUCCESS;
	link_append(list, op, list->last ? (void **)&((link_op *)list->last)->next : NULL);
	ep->begun[op->kind]++;
	if (!ep->listed) {
		ep->listed = 1;
		ep->next_active = link->active;
		link->active = ep;
	}
	link->news = 1;
}

int link_withdraw(lapi_link_t *link, link_op *op)
{
	lapi_link_endpoint_t *ep = op->endpoint;
	link_list *list = &ep->under_way[op->kind];
	link_op *at = list->first, *before = NULL;

	while (at && at != op)
		before = at, at = at->next;
	if (!at)
		return 0;
	if (before)
		before->next = op->next;
	else
		list->first = op->next;
	if (list->last == op)
		list->last = before;
	ep->begun[op->kind]--;
	link_op_free(link, op);
	return 1;
}

link_message *link_message_new(lapi_link_t *link, uint32_t size)
{
	link_message *m = link->free_messages;

	if (size <= LINK_COPY && m) {
		link->free_messages = m->next;
		link->num_free_messages--;
	} else {
		m = malloc(sizeof(*m) + (size > LINK_COPY ? size : LINK_COPY));
	}
	if (m)
		m->next = NULL;
	return m;
}

void link_message_free(lapi_link_t *link, link_message *m)
{
	if (m->size > LINK_COPY || link->num_free_messages >= 256) {
		free(m);
		return;
	}
	m->next = link->free_messages;
	link->free_messages = m;
	link->num_free_messages++;
}

int link_result(int code)
{
	switch (code) {
	case LAPI_SUCCESS:
		return LAPI_LINK_SUCCESS;
	case LAPI_ERR_TIMEOUT:
	case LAPI_ERR_NO_CONNECTIVITY:
	case LAPI_ERR_ADAPTERS_DOWN:
	case LAPI_ERR_TGT_PURGED:
		return LAPI_LINK_UNREACHABLE;
	case LAPI_ERR_MEMORY_EXHAUSTED:
		return LAPI_LINK_OUT_OF_RESOURCE;
	}
	return LAPI_LINK_ERROR;
}

int link_refused(const char *call, const lapi_link_endpoint_t *ep)
{
	int rc = ep && ep->link->closed ? ep->status : LAPI_LINK_SUCCESS;

	return rc ?: link_result(cshim_refused(call));
}

static int is_under_way(const link_op *op)
{
	return op->status == LAPI_LINK_SUCCESS && !link_has_counted(op);
}

/*
 * Memory to which LAPI may still write stays until the link is closed: the operations, and the
 * endpoint, which counts those without a callback.
 */
void link_lose(lapi_link_t *link, lapi_link_endpoint_t *ep, int status)
{
	for (int kind = 0; kind < LINK_KINDS; kind++)
		for (link_op *op = ep->under_way[kind].first; op; op = op->next)
			if (is_under_way(op))
				op->status = status;
	ep->status = status;
	link_count_failed(ep, link_uncounted(ep));
	link->news = 1;
}

static int is_named(const link_op *op, const cshim_error *error)
{
	uint64_t at = error->failed_here ? (uint64_t)(uintptr_t)op->local : op->remote;

	return error->failed_addr >= at && error->failed_addr - at < op->size;
}

/*
 * Each operation that fails has one error. Operations of one type that share the bad address all
 * fail, so it does not matter which of their errors is whose.
 */
void link_fail(lapi_link_t *link, lapi_link_endpoint_t *ep, const cshim_error *error)
{
	lapi_err_t type = (lapi_err_t)error->type;
	link_op *failed = NULL, *oldest = NULL;
	enum link_kind kind = type == PUT_ERR  ? LINK_WRITES
	                      : type == AM_ERR ? LINK_SENDS
	                                       : LINK_READS;

	for (link_op *op = ep->under_way[kind].first; op && !failed; op = op->next) {
		if (!is_under_way(op) || op->type != type)
			continue;
		oldest = oldest ? oldest : op;
		failed = is_named(op, error) ? op : NULL;
	}
	if (!failed && link_uncounted(ep) == 0)
		failed = oldest; /* it has been named by another address */
	if (failed)
		failed->status = LAPI_LINK_ERROR;
	else if (link_uncounted(ep) > 0)
		link_count_failed(ep, 1);
	link->news = 1;
}
