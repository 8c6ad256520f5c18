/* outbox.c - small puts over UDP that join the packet which waits for company. Whatever is not as
 * usual is left to core. */
#include <string.h>

#include "guard.h"
#include "internal.h"
#include "lane_send.h"
#include "message.h"
#include "outbox.h"

/* LAPI_FASTLANE=random: 1 if core shall do it. */
static int coin(cshim_outboxes *all)
{
	if (__builtin_expect(all->random == 0, 1))
		return 0;
	all->random = all->random * 1664525u + 1013904223u;
	return (int)(all->random >> 31);
}

/* The box of a task if a put of so many bytes may join its packet, else NULL. */
static cshim_outbox *box_for(const cshim_context *context, uint32_t tgt, uint64_t len)
{
	cshim_outboxes *all = (cshim_outboxes *)(uintptr_t)context->outboxes;
	cshim_outbox *box;

	if (!all || tgt >= (uint32_t)context->num_tasks)
		return NULL;
	box = (cshim_outbox *)(void *)(all + 1) + tgt;
	if (box->room == 0 || len > all->most || coin(all))
		return NULL;
	return box;
}

/* The origin's buffer is free again, as its data was copied. */
static void count_origin(cshim_context *context, uint32_t tgt, uint64_t org_cntr)
{
	if (org_cntr == 0)
		return;
	if (org_cntr % sizeof(int32_t) ||
	    node_guarded_count((int32_t *)(uintptr_t)org_cntr, cshim_progress_active() > 1))
		golapi_lane_count(cshim_index_of(context), org_cntr, PUT_ERR, context->task,
		                  (int32_t)tgt);
	else
		cshim_event(&context->progress);
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
	/* Behind the packet's end until box->at says otherwise: if this faults nothing has joined,
	 * and core meets the same fault. */
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
	count_origin(context, tgt, org_cntr); /* last: it may enter core */
	return 1;
}
