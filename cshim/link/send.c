/* send.c - messages. */
#include "link/link.h"

#include <string.h>

static void arrived(lapi_link_t *link, link_message *m)
{
	link_list *list = &link->come;

	link_lock(link);
	link_append(list, m, list->last ? (void **)&((link_message *)list->last)->next : NULL);
	link_unlock(link);
	atomic_store_explicit(&link->news, 1, memory_order_release);
}

/* All of a message is there. */
static void complete(lapi_handle_t *handle, void *info)
{
	lapi_link_t *link = link_of(*handle);

	if (!link)
		return;
	arrived(link, info);
	link_release(link);
}

/* Drops a message that no link sends, or for which there is no memory now: LAPI offers that again. */
static void *drop(lapi_return_info_t *said, lapi_ctl_flags_t how)
{
	said->ctl_flags = how;
	return NULL;
}

/* Judges a message by its head, which any peer can write. Returns where the rest of it goes. */
static void *take(lapi_link_t *link, const void *header, uint header_size, lapi_return_info_t *said,
                  compl_hndlr_t **completion, void **info)
{
	ulong rest = said->msg_len;
	lapi_link_endpoint_t *ep;
	uint32_t in_header;
	link_message *m;
	link_head head;

	if (header_size < sizeof(head))
		return drop(said, LAPI_BURY_MSG);
	memcpy(&head, header, sizeof(head));
	in_header = header_size - (uint32_t)sizeof(head);
	if ((head.tag != LINK_CREDIT && head.tag >= LINK_TAGS) || head.size > LINK_SEND ||
	    head.size < in_header || head.size - in_header != rest || (uint32_t)said->src >= link->tasks)
		return drop(said, LAPI_BURY_MSG);
	link_lock(link);
	ep = link_endpoint_of(link, (uint32_t)said->src);
	if (ep && head.taken > ep->sent_taken && head.taken <= ep->sent)
		ep->sent_taken = head.taken;
	m = ep && head.tag != LINK_CREDIT ? link_message_new(link, head.size) : NULL;
	link_unlock(link);
	if (!m)
		return ep && head.tag == LINK_CREDIT ? NULL : drop(said, LAPI_DROP_PKT);
	m->endpoint = ep;
	m->tag = head.tag;
	m->size = head.size;
	memcpy(m->bytes, (const char *)header + sizeof(head), in_header);
	if (rest == 0) {
		arrived(link, m);
		return NULL;
	}
	*completion = complete;
	*info = m;
	return m->bytes + in_header;
}

void *link_arrive(lapi_handle_t *handle, void *header, uint *header_size, ulong *size,
                  compl_hndlr_t **completion, void **info)
{
	lapi_return_info_t *said = (lapi_return_info_t *)(void *)size;
	lapi_link_t *link = link_of(*handle);
	void *to;

	said->ret_flags = LAPI_LOCAL_STATE; /* complete runs inline */
	if (!link)
		return drop(said, LAPI_BURY_MSG);
	to = take(link, header, *header_size, said, completion, info);
	link_release(link);
	return to;
}

void link_report(lapi_link_t *link, lapi_link_endpoint_t *ep)
{
	link_head head = {.tag = LINK_CREDIT};

	link_lock(link);
	head.taken = ep->taken;
	link_unlock(link);
	(void)PLAPI_Amsend(link->handle, ep->task, (void *)LINK_HANDLER, &head, sizeof(head), NULL, 0,
	                   NULL, NULL, NULL);
}

/* Under the lock: room for a message of size bytes in the task's window, which is taken. */
static int take_room(lapi_link_endpoint_t *ep, uint32_t size)
{
	if (ep->sent - ep->sent_taken + size + LINK_COST > LINK_WINDOW ||
	    ep->begun[LINK_SENDS] - ep->ended[LINK_SENDS] >= LINK_OPERATIONS)
		return 0;
	ep->sent += size + LINK_COST;
	return 1;
}

/*
 * An operation for a message, with its room, that has begun. done, data, context, cbdata: of a
 * message that is not copied.
 */
static int begin(lapi_link_t *link, lapi_link_endpoint_t *ep, link_head *head, link_op **begun,
                 lapi_link_done_t *done, const void *data, void *context, void *cbdata)
{
	int rc = LAPI_LINK_OUT_OF_RESOURCE;
	uint32_t size = head->size;
	link_op *op = NULL;

	link_lock(link);
	if (ep->status != LAPI_LINK_SUCCESS)
		rc = ep->status;
	else if ((op = link_op_new(link, size <= LINK_COPY)) && !take_room(ep, size)) {
		link_op_free(link, op);
		op = NULL;
	}
	if (op) {
		op->endpoint = ep;
		op->kind = LINK_SENDS;
		op->done = op->copy ? NULL : done;
		op->local = (void *)(uintptr_t)data;
		op->handle = NULL;
		op->context = context;
		op->data = cbdata;
		head->taken = ep->taken_reported = ep->taken;
		link_begin(link, op);
		rc = LAPI_LINK_SUCCESS;
	}
	link_unlock(link);
	*begun = op;
	return rc;
}

static void *copy(void *to, const void *from, size_t n)
{
	if (n)
		memcpy(to, from, n);
	return (char *)to + n;
}

/* Sends a message whose operation has begun: from is its head and header, then the data follow. */
static int post(lapi_link_t *link, link_op *op, void *from, size_t in_header, const void *data,
                size_t size)
{
	return PLAPI_Amsend(link->handle, op->endpoint->task, (void *)LINK_HANDLER, from,
	                    (uint)in_header, (void *)(uintptr_t)data, size, NULL,
	                    (lapi_cntr_t *)(void *)&op->counter, NULL);
}

static int fits(size_t header_size, size_t size, lapi_link_done_t *done)
{
	if (header_size > LINK_SEND || size > LINK_SEND || header_size + size > LINK_SEND)
		return 0;
	return header_size + size <= LINK_COPY || (done && header_size <= LINK_HEADER);
}

LINK_EXPORT int lapi_link_send(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag,
                               const void *header, size_t header_size, const void *data, size_t size,
                               lapi_link_done_t *done, void *context, void *cbdata)
{
	char packed[sizeof(link_head) + LINK_HEADER];
	size_t total = header_size + size, in_header;
	link_head head = {.tag = tag, .size = (uint32_t)total};
	int rc, copied, withdrawn;
	link_op *op;

	if (!link_usable(link))
		return link ? LAPI_LINK_ERROR : LAPI_LINK_BAD_PARAM;
	if (!ep || ep->link != link || tag >= LINK_TAGS || (!header && header_size) ||
	    (!data && size) || !fits(header_size, size, done))
		return LAPI_LINK_BAD_PARAM;
	rc = begin(link, ep, &head, &op, done, data, context, cbdata);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	copied = op->copy != NULL;
	if (copied) {
		copy(copy(copy(op->copy, &head, sizeof(head)), header, header_size), data, size);
		total += sizeof(head);
		in_header = total < link->header_max ? total : link->header_max;
		rc = post(link, op, op->copy, in_header, op->copy + in_header, total - in_header);
		if (rc == LAPI_SUCCESS)
			return LAPI_LINK_DONE;
	} else {
		copy(copy(packed, &head, sizeof(head)), header, header_size);
		rc = post(link, op, packed, sizeof(head) + header_size, data, size);
		if (rc == LAPI_SUCCESS)
			return LAPI_LINK_SUCCESS;
	}
	link_lock(link);
	ep->sent -= (uint64_t)head.size + LINK_COST;
	withdrawn = link_withdraw(link, op);
	link_unlock(link);
	return withdrawn || copied ? link_result(rc) : LAPI_LINK_SUCCESS;
}
