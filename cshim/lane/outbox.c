/* outbox.c - small puts over UDP that join the packet which waits for company. Whatever is not as
 * usual is left to core. */
#include <string.h>

#include "lane/lane_send.h"
#include "lane/lane_shared.h"
#include "lane/message.h"
#include "lane/outbox.h"

/* The box of a task if a put of len bytes may join its packet, else NULL. */
static cshim_outbox *box_for(const cshim_context *context, uint32_t tgt, uint64_t len)
{
	cshim_outboxes *all = (cshim_outboxes *)(uintptr_t)context->outboxes;
	cshim_outbox *box;

	if (!all || tgt >= (uint32_t)context->num_tasks)
		return NULL;
	box = (cshim_outbox *)(void *)(all + 1) + tgt;
	if (box->room == 0 || len > all->most || cshim_lane_coin(&all->random))
		return NULL;
	return box;
}

int cshim_outbox_put(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr,
                     uint64_t org_addr, uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_outbox *box = box_for(context, tgt, len);
	cshim_packet_message *message;
	cshim_put_header *put;
	uint64_t start, end;

	if (!box || (len && (!tgt_addr || !org_addr)))
		return 0;
	start = (box->at + 7) & ~(uint64_t)7;
	end = start + sizeof(*message) + sizeof(*put) + len;
	if (end >= box->end)
		return 0;
	message = (cshim_packet_message *)(uintptr_t)start;
	put = (cshim_put_header *)(void *)(message + 1);
	/* Behind the packet's end until box->at moves: if this faults nothing has joined, and core
	 * gets the same fault. */
	if (node_guarded_copy_short(put + 1, (const void *)(uintptr_t)org_addr, len))
		return 0;
	/* Padding: nothing of an earlier packet leaves this task. */
	memset((void *)(uintptr_t)box->at, 0, (size_t)(start - box->at));
	*message = (cshim_packet_message){CSHIM_MSG_PUT, 0, sizeof(*put), (uint32_t)len};
	put->tgt_addr = tgt_addr;
	put->tgt_cntr = tgt_cntr;
	put->cmpl_cntr = cmpl_cntr;
	box->at = end;
	box->room--;
	box->messages++;
	box->data += (uint32_t)len;
	box->completions += cmpl_cntr != 0;
	context->msg_state |= LAPI_SEND_COMPLETE;
	/* last: it may enter core */
	cshim_lane_count(context, 0, org_cntr, PUT_ERR, context->task, (int32_t)tgt);
	return 1;
}
