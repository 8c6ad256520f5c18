/* send.c - messages. */
#include "link/link.h"

#include "node/guard.h"

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
	uint32_t in_header, tag, size, news;
	lapi_link_endpoint_t *ep;
	link_message *m;
	link_head head;

	if (header_size < sizeof(head))
		return drop(said, LAPI_BURY_MSG);
	memcpy(&head, header, sizeof(head));
	in_header = header_size - (uint32_t)sizeof(head);
	tag = (head.what & ~LINK_CREDIT) >> LINK_TAG_AT;
	size = head.what & ((1u << LINK_TAG_AT) - 1);
	if (tag >= LINK_TAGS || size > LINK_SEND || size < in_header || size - in_header != rest ||
	    (uint32_t)said->src >= link->tasks)
		return drop(said, LAPI_BURY_MSG);
	link_lock(link);
	ep = link_endpoint_of(link, (uint32_t)said->src);
	/* An old head is far behind, modulo 2^32: more than was sent. */
	news = ep ? head.taken - (uint32_t)ep->sent_taken : 0;
	if (ep && news <= ep->sent - ep->sent_taken)
		ep->sent_taken += news;
	m = ep && !(head.what & LINK_CREDIT) ? link_message_new(link, size) : NULL;
	link_unlock(link);
	if (!m)
		return ep && head.what & LINK_CREDIT ? NULL : drop(said, LAPI_DROP_PKT);
	m->endpoint = ep;
	m->tag = tag;
	m->size = size;
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
	link_head head = {.what = LINK_CREDIT};

	link_lock(link);
	head.taken = (uint32_t)ep->taken;
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

/* Under the lock: the head reports what was received. */
static void report_in(link_head *head, lapi_link_endpoint_t *ep)
{
	ep->taken_reported = ep->taken;
	head->taken = (uint32_t)ep->taken;
}

/*
 * An operation for a message, with its room, that has begun. done, data, data_size, context, cbdata:
 * of a message that is not copied.
 */
static int begin(lapi_link_t *link, lapi_link_endpoint_t *ep, link_head *head, uint32_t size,
                 link_op **begun, lapi_link_done_t *done, const void *data, size_t data_size,
                 void *context, void *cbdata)
{
	int rc = LAPI_LINK_OUT_OF_RESOURCE;
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
		op->type = AM_ERR;
		op->size = data_size;
		op->done = op->copy ? NULL : done;
		op->local = (void *)(uintptr_t)data;
		op->handle = NULL;
		op->context = context;
		op->data = cbdata;
		report_in(head, ep);
		link_begin(link, op);
		rc = LAPI_LINK_SUCCESS;
	}
	link_unlock(link);
	*begun = op;
	return rc;
}

/* head, header and data to one place; 1: these cannot be read. */
static int pack(char *to, const link_head *head, const void *header, size_t header_size,
                const void *data, size_t size)
{
	memcpy(to, head, sizeof(*head));
	to += sizeof(*head);
	return (header_size && node_guarded_copy_short(to, header, header_size)) ||
	       (size && node_guarded_copy(to + header_size, data, size));
}

/*
 * Whether data can be read, of more bytes than a word. A message that LAPI began and could not read
 * would leave the target with a part of it.
 */
static int is_readable(const char *data, size_t size)
{
	enum { PAGE = 4096, WORD = 4 };
	const char *last = data + size - WORD;

	for (; data < last; data += PAGE)
		if (node_guarded_load(data))
			return 0;
	return !node_guarded_load(last);
}

/* Hands a message to LAPI: from is its head and header, then the data follow. */
static int hand_over(lapi_link_t *link, link_op *op, void *from, size_t in_header, const void *data,
                     size_t size)
{
	uint32_t task = op->endpoint->task;

	link_handed_over(&op->counter);
	return PLAPI_Amsend(link->handle, task, (void *)LINK_HANDLER, from,
	                    (uint)in_header, (void *)(uintptr_t)data, size, NULL,
	                    (lapi_cntr_t *)(void *)&op->counter, NULL);
}

/* Sends a message whose operation has begun. LAPI's result. */
static int post(lapi_link_t *link, link_op *op, const link_head *head, const void *header,
                size_t header_size, const void *data, size_t size)
{
	size_t total = sizeof(*head) + header_size + size;
	char packed[sizeof(link_head) + LINK_HEADER];

	if (!op->copy) {
		if (!is_readable(data, size) || pack(packed, head, header, header_size, NULL, 0))
			return LAPI_ERR_ORG_ADDR_NULL;
		return hand_over(link, op, packed, sizeof(*head) + header_size, data, size);
	}
	if (pack(op->copy, head, header, header_size, data, size))
		return LAPI_ERR_ORG_ADDR_NULL;
	header_size = link->header_max;
	return hand_over(link, op, op->copy, header_size, op->copy + header_size,
	                 total - header_size);
}

static int fits(size_t header_size, size_t size, lapi_link_done_t *done)
{
	if (header_size > LINK_SEND || size > LINK_SEND || header_size + size > LINK_SEND)
		return 0;
	return header_size + size <= LINK_COPY || (done && header_size <= LINK_HEADER);
}

/* Gives back the room of a message that was refused. */
static void give_room(lapi_link_endpoint_t *ep, uint32_t size)
{
	ep->sent -= (uint64_t)size + LINK_COST;
}

/*
 * Sends a message that is all in LAPI's user header, which LAPI copies before it returns: such a
 * message needs no operation of its own.
 */
static int send_short(lapi_link_t *link, lapi_link_endpoint_t *ep, link_head head,
                      const void *header, size_t header_size, const void *data, size_t size)
{
	_Alignas(8) char packed[LINK_USER_HEADER];
	uint32_t total = (uint32_t)(header_size + size);
	int rc;

	if (pack(packed, &head, header, header_size, data, size))
		return LAPI_LINK_ERROR;
	link_lock(link);
	rc = ep->status;
	if (rc == LAPI_LINK_SUCCESS && !take_room(ep, total))
		rc = LAPI_LINK_OUT_OF_RESOURCE;
	if (rc == LAPI_LINK_SUCCESS)
		report_in(&head, ep);
	link_unlock(link);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	memcpy(packed, &head, sizeof(head));
	rc = PLAPI_Amsend(link->handle, ep->task, (void *)LINK_HANDLER, packed,
	                  (uint)sizeof(head) + total, NULL, 0, NULL, NULL, NULL);
	if (rc == LAPI_SUCCESS)
		return LAPI_LINK_DONE;
	link_lock(link);
	give_room(ep, total);
	link_unlock(link);
	return link_result(rc);
}

LINK_EXPORT int lapi_link_send(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag,
                               const void *header, size_t header_size, const void *data, size_t size,
                               lapi_link_done_t *done, void *context, void *cbdata)
{
	size_t total = header_size + size;
	link_head head = {.what = (uint32_t)total | tag << LINK_TAG_AT};
	int rc, copied, withdrawn;
	link_op *op;

	if (!link_usable(link))
		return link ? LAPI_LINK_ERROR : LAPI_LINK_BAD_PARAM;
	if (!ep || ep->link != link || tag >= LINK_TAGS || (!header && header_size) ||
	    (!data && size) || !fits(header_size, size, done))
		return LAPI_LINK_BAD_PARAM;
	if (total + sizeof(head) <= link->header_max)
		return send_short(link, ep, head, header, header_size, data, size);
	rc = begin(link, ep, &head, (uint32_t)total, &op, done, data, size, context, cbdata);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	copied = op->copy != NULL;
	rc = post(link, op, &head, header, header_size, data, size);
	if (rc == LAPI_SUCCESS)
		return copied ? LAPI_LINK_DONE : LAPI_LINK_SUCCESS;
	link_lock(link);
	give_room(ep, (uint32_t)total);
	withdrawn = link_withdraw(link, op);
	link_unlock(link);
	return withdrawn || copied ? link_result(rc) : LAPI_LINK_SUCCESS;
}
