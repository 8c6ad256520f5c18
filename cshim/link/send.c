/* send.c - messages. */
#include "link/link.h"

#include "lapi/transfer.h"
#include "cpu/cpu.h"
#include "node/guard.h"

#include <string.h>

static void arrived(lapi_link_t *link, link_message *m)
{
	link_list *list = &link->come;

	link_append(list, m, list->last ? (void **)&((link_message *)list->last)->next : NULL);
	link->news = 1;
}

/* All of a message is there; inline, so under the lock. */
static void complete(lapi_handle_t *handle, void *info)
{
	lapi_link_t *link = link_of(*handle);

	if (link)
		arrived(link, info);
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
	ep = link_endpoint_of(link, (uint32_t)said->src);
	/* An old head is far behind, modulo 2^32: more than was sent. */
	news = ep ? head.taken - (uint32_t)ep->sent_taken : 0;
	if (ep && news <= ep->sent - ep->sent_taken)
		ep->sent_taken += news;
	m = ep && !(head.what & LINK_CREDIT) ? link_message_new(link, size) : NULL;
	if (!m)
		return ep && head.what & LINK_CREDIT ? NULL : drop(said, LAPI_DROP_PKT);
	m->endpoint = ep;
	m->tag = tag;
	m->size = size;
	memcpy(m->bytes, (const char *)header + sizeof(head), in_header);
	if (rest && said->udata_one_pkt_ptr) { /* all of it is there */
		memcpy(m->bytes + in_header, said->udata_one_pkt_ptr, rest);
		said->ctl_flags = LAPI_BURY_MSG;
		rest = 0;
	}
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

	said->ret_flags = LAPI_LOCAL_STATE; /* complete runs inline */
	return link ? take(link, header, *header_size, said, completion, info)
	            : drop(said, LAPI_BURY_MSG);
}

/* A message of LAPI's to ep's task, under the lock. counter: changes when data may be used again. */
static int hand_over(lapi_link_t *link, const lapi_link_endpoint_t *ep, const void *header,
                     size_t header_size, const void *data, size_t size, int *counter)
{
	return cshim_transfer_in(link->context, LAPI_AM_XFER,
	                         (cshim_transfer){.tgt = ep->task,
	                                          .hdr_hdl = LINK_HANDLER,
	                                          .uhdr = CSHIM_ADDR(header),
	                                          .uhdr_len = (uint32_t)header_size,
	                                          .org_addr = CSHIM_ADDR(data),
	                                          .len = size,
	                                          .org_cntr = CSHIM_ADDR(counter)});
}

void link_report(lapi_link_t *link, lapi_link_endpoint_t *ep)
{
	link_head head = {.what = LINK_CREDIT};

	ep->taken_reported = ep->taken;
	head.taken = (uint32_t)ep->taken;
	if (!link->closed)
		(void)hand_over(link, ep, &head, sizeof(head), NULL, 0, NULL);
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

/* Under the lock: the head reports the messages received. */
static void report_in(link_head *head, lapi_link_endpoint_t *ep)
{
	ep->taken_reported = ep->taken;
	head->taken = (uint32_t)ep->taken;
}

/* A message that is being sent: lapi_link_send's arguments. */
typedef struct message {
	lapi_link_endpoint_t *ep;
	const void *header, *data;
	size_t header_size, size;
	link_head head;
} message;

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
	enum { WORD = 4 };
	const char *last = data + size - WORD;

	for (; data < last; data += CSHIM_LEAST_PAGE)
		if (node_guarded_load(data))
			return 0;
	return !node_guarded_load(last);
}

/*
 * The usual way, on a node or over adapters: LAPI copies all of the message to where it goes. 1: done;
 * 0: nothing was done.
 */
static int send_at_once(lapi_link_t *link, const message *m)
{
	_Alignas(8) char header[sizeof(link_head) + LINK_HEADER];
	const int whole = m->header_size + m->size <= LINK_PACK;
	const cshim_transfer t = {
		.tgt = m->ep->task,
		.hdr_hdl = LINK_HANDLER,
		.uhdr = CSHIM_ADDR(header),
		.uhdr_len = (uint32_t)(sizeof(link_head) + m->header_size + (whole ? m->size : 0)),
		.org_addr = whole ? 0 : CSHIM_ADDR(m->data),
		.len = whole ? 0 : m->size,
	};

	return m->header_size <= LINK_HEADER &&
	       !pack(header, &m->head, m->header, m->header_size, m->data, whole ? m->size : 0) &&
	       cshim_transfer_fast(link->context, LAPI_AM_XFER, &t);
}

/* All in a user header, which LAPI copies before it returns: so it needs no operation. */
static int send_as_header(lapi_link_t *link, const message *m)
{
	_Alignas(8) char packed[LINK_USER_HEADER];

	if (pack(packed, &m->head, m->header, m->header_size, m->data, m->size))
		return LAPI_LINK_ERROR;
	return link_result(hand_over(link, m->ep, packed,
	                             sizeof(link_head) + m->header_size + m->size, NULL, 0, NULL)) ?:
	       LAPI_LINK_DONE;
}

/* Hands a message over whose operation has begun. LAPI's result. */
static int post(lapi_link_t *link, link_op *op, const message *m)
{
	size_t in_header = sizeof(link_head) + m->header_size;
	char packed[sizeof(link_head) + LINK_HEADER];

	link_handed_over(&op->counter);
	if (!op->copy) {
		if (!is_readable(m->data, m->size) ||
		    pack(packed, &m->head, m->header, m->header_size, NULL, 0))
			return LAPI_ERR_ORG_ADDR_NULL;
		return hand_over(link, m->ep, packed, in_header, m->data, m->size, &op->counter);
	}
	if (pack(op->copy, &m->head, m->header, m->header_size, m->data, m->size))
		return LAPI_ERR_ORG_ADDR_NULL;
	return hand_over(link, m->ep, op->copy, link->header_max, op->copy + link->header_max,
	                 in_header + m->size - link->header_max, &op->counter);
}

/* op: with its endpoint and callback. */
static int send_by(lapi_link_t *link, const message *m, link_op *op)
{
	const int copied = op->copy != NULL;
	int rc;

	op->kind = LINK_SENDS;
	op->type = AM_ERR;
	op->size = m->size;
	op->local = (void *)(uintptr_t)m->data;
	op->handle = NULL;
	link_begin(link, op);
	rc = post(link, op, m);
	if (rc == LAPI_SUCCESS)
		return copied ? LAPI_LINK_DONE : LAPI_LINK_SUCCESS;
	return link_withdraw(link, op) || copied ? link_result(rc) : LAPI_LINK_SUCCESS;
}

static int fits(size_t header_size, size_t size, lapi_link_done_t *done)
{
	if (header_size > LINK_SEND || size > LINK_SEND || header_size + size > LINK_SEND)
		return 0;
	return header_size + size <= LINK_COPY || (done && header_size <= LINK_HEADER);
}

/* Under the lock. */
static int send_message(lapi_link_t *link, message *m, lapi_link_done_t *done, void *context, void *cbdata)
{
	const size_t total = m->header_size + m->size;
	lapi_link_endpoint_t *ep = m->ep;
	link_op *op;
	int rc;

	/* Tasks that only send receive, too; before anything is begun, as handlers run. */
	if (__builtin_expect(++link->context->sends % CSHIM_SENDS_PER_CALL == 0, 0))
		cshim_progress_for_sends(link->context);
	if (ep->status != LAPI_LINK_SUCCESS)
		return ep->status;
	if (!take_room(ep, (uint32_t)total))
		return LAPI_LINK_OUT_OF_RESOURCE;
	report_in(&m->head, ep);
	if (send_at_once(link, m))
		return LAPI_LINK_DONE;
	if (total + sizeof(link_head) <= link->header_max) {
		rc = send_as_header(link, m);
	} else if ((op = link_op_new(link, total <= LINK_COPY))) {
		op->endpoint = ep;
		op->done = op->copy ? NULL : done;
		op->context = context;
		op->data = cbdata;
		rc = send_by(link, m, op);
	} else {
		rc = LAPI_LINK_OUT_OF_RESOURCE;
	}
	if (rc < 0)
		ep->sent -= (uint64_t)total + LINK_COST;
	return rc;
}

LINK_EXPORT int lapi_link_send(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag,
                               const void *header, size_t header_size, const void *data, size_t size,
                               lapi_link_done_t *done, void *context, void *cbdata)
{
	message m = {.ep = ep,
	             .header = header,
	             .data = data,
	             .header_size = header_size,
	             .size = size,
	             .head = {.what = (uint32_t)(header_size + size) | tag << LINK_TAG_AT}};
	cshim_context *entered;

	if (!link_usable(link))
		return link ? LAPI_LINK_ERROR : LAPI_LINK_BAD_PARAM;
	if (!ep || ep->link != link || tag >= LINK_TAGS || (!header && header_size) ||
	    (!data && size) || !fits(header_size, size, done))
		return LAPI_LINK_BAD_PARAM;
	entered = cshim_enter(link->handle);
	return entered ? cshim_leave(entered, send_message(link, &m, done, context, cbdata))
	               : link_refused(__func__, ep);
}
