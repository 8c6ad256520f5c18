/*
 * lane_packets.c - small messages over RDMA adapters, sent and taken without Go (docs/dev/verbs.md).
 * Whatever is not as usual is left to core.
 */
#include <string.h>

#include "lane/lane_arrive.h"
#include "lane/lane_send.h"

enum { BATCH = 64 }; /* packets of one port in one turn */

/* The peer that is a task, if packets to it are C's to send, else NULL. */
static verbs_peer *peer_for(const cshim_context *context, cshim_lane *lane, uint32_t tgt)
{
	verbs_peer *peer;

	if (!lane || !lane->verbs || lane->off || tgt >= (uint32_t)context->num_tasks)
		return NULL;
	peer = verbs_peer_of(cshim_packets_of(lane), tgt);
	return peer && !cshim_lane_coin(&lane->random) ? peer : NULL;
}

/* A put that joins others in a packet; CSHIM_LANE_PASS: it is to go by itself. */
static int join_put(cshim_context *context, cshim_lane *lane, verbs_peer *peer, uint64_t len,
                    uint64_t org_addr, const cshim_put_header *header)
{
	uint64_t n = sizeof(verbs_front) + sizeof(*header) + len;
	verbs_front *front;

	/* A thread that sleeps until something comes posts nothing. */
	if (__atomic_load_n(&context->progress.poller, __ATOMIC_RELAXED))
		return CSHIM_LANE_PASS;
	front = (void *)verbs_join(cshim_packets_of(lane), peer, n);
	if (!front || node_guarded_copy_short((char *)(front + 1) + sizeof(*header),
	                                      (const void *)(uintptr_t)org_addr, len))
		return CSHIM_LANE_PASS;
	*front = (verbs_front){CSHIM_MSG_PUT, 0, sizeof(*header), (uint32_t)len};
	memcpy(front + 1, header, sizeof(*header));
	verbs_joined(cshim_packets_of(lane), peer, n, (uint32_t)len);
	return CSHIM_LANE_DONE;
}

/* A put in a packet of its own. */
static int send_put(cshim_lane *lane, verbs_peer *peer, uint64_t len, uint64_t org_addr,
                    const cshim_put_header *header)
{
	cshim_put_header *at =
		(void *)verbs_begin(cshim_packets_of(lane), peer, sizeof(*header) + len);

	/* If this faults nothing has been sent, and core gets the same fault. */
	if (!at || node_guarded_copy(at + 1, (const void *)(uintptr_t)org_addr, len))
		return CSHIM_LANE_PASS;
	*at = *header;
	verbs_send(cshim_packets_of(lane), peer, CSHIM_MSG_PUT, sizeof(*header), (uint32_t)len);
	return CSHIM_LANE_DONE;
}

int cshim_packet_put(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr,
                     uint64_t org_addr, uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	verbs_peer *peer = peer_for(context, lane, tgt);
	const cshim_put_header header = {tgt_addr, tgt_cntr, cmpl_cntr};

	if (!peer || (len && (!tgt_addr || !org_addr)) || len >= lane->bulk_min || len > VERBS_SLOT)
		return CSHIM_LANE_PASS;
	if (join_put(context, lane, peer, len, org_addr, &header) == CSHIM_LANE_PASS &&
	    send_put(lane, peer, len, org_addr, &header) == CSHIM_LANE_PASS)
		return CSHIM_LANE_PASS;
	verbs_news(cshim_packets_of(lane), peer);
	cshim_lane_sent_to(context, lane, peer->owner, peer->task, PUT_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

int cshim_packet_amsend(cshim_context *context, uint32_t tgt, uint64_t hdr_hdl, uint64_t uhdr,
                        uint32_t uhdr_len, uint64_t udata, uint64_t udata_len, uint64_t tgt_cntr,
                        uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	verbs_peer *peer = peer_for(context, lane, tgt);
	uint64_t padding = -(uint64_t)uhdr_len & 7, header_bytes;
	cshim_am_header *header;
	unsigned char *data;

	if (!peer || !hdr_hdl || hdr_hdl >> CSHIM_AM_PADDING_SHIFT || (udata_len && !udata) ||
	    udata_len >= lane->bulk_min || udata_len > VERBS_SLOT || (uhdr_len && !uhdr) ||
	    uhdr_len > VERBS_HEADER_MAX || (lane->error_check && uhdr_len % 4))
		return CSHIM_LANE_PASS;
	header_bytes = sizeof(*header) + uhdr_len + padding;
	if (header_bytes > VERBS_HEADER_MAX)
		return CSHIM_LANE_PASS;
	header = (void *)verbs_begin(cshim_packets_of(lane), peer, header_bytes + udata_len);
	if (!header)
		return CSHIM_LANE_PASS;
	data = (unsigned char *)header + header_bytes;
	if (padding) /* nothing of an earlier packet leaves this task */
		memset(data - 8, 0, 8);
	if (node_guarded_copy(header + 1, (const void *)(uintptr_t)uhdr, uhdr_len) ||
	    node_guarded_copy(data, (const void *)(uintptr_t)udata, udata_len))
		return CSHIM_LANE_PASS;
	*header =
		(cshim_am_header){hdr_hdl | padding << CSHIM_AM_PADDING_SHIFT, tgt_cntr, cmpl_cntr};
	verbs_send(cshim_packets_of(lane), peer, CSHIM_MSG_AM_SMALL, (uint32_t)header_bytes,
	           (uint32_t)udata_len);
	verbs_news(cshim_packets_of(lane), peer);
	cshim_lane_sent_to(context, lane, peer->owner, peer->task, AM_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

/* A put: its data goes where it belongs before the packet is taken, as a bad address is core's. */
static cshim_fate receive_put(cshim_context *context, cshim_lane *lane, verbs_port *port,
                              const verbs_arrival *packet, const node_arrival *arrival)
{
	const cshim_end from = cshim_end_of_pair(packet->peer);
	cshim_put_header put;

	if (arrival->header != sizeof(put))
		return CSHIM_LEFT;
	node_take_header(&put, arrival, sizeof(put));
	if (node_guarded_copy(node_memory_at(put.tgt_addr), (const void *)(uintptr_t)arrival->bytes,
	                      arrival->data))
		return CSHIM_LEFT;
	verbs_take(cshim_packets_of(lane), port, packet);
	cshim_put_arrived(context, lane, &from, (const uint64_t[]){put.tgt_cntr, put.cmpl_cntr});
	return CSHIM_TAKEN;
}

/*
 * Several puts. The puts that were done are noted before anything else can happen: core, or a
 * thread that was let in, takes the rest and begins behind them.
 */
static cshim_fate receive_puts(cshim_context *context, cshim_lane *lane, verbs_port *port,
                               const verbs_arrival *packet)
{
	const cshim_end from = cshim_end_of_pair(packet->peer);
	uint64_t end = packet->head.data, next;
	cshim_put_header put;
	verbs_front front;

	while (port->taken < end) {
		uint64_t at = packet->header + port->taken, rest = end - port->taken;

		if (rest < sizeof(front) + sizeof(put))
			return CSHIM_LEFT;
		node_take_words(&front, at, sizeof(front));
		node_take_words(&put, at + sizeof(front), sizeof(put));
		if (front.id != CSHIM_MSG_PUT || front.zero || front.header != sizeof(put) ||
		    front.data > rest - sizeof(front) - sizeof(put))
			return CSHIM_LEFT;
		at += sizeof(front) + sizeof(put);
		if (node_guarded_copy_short(node_memory_at(put.tgt_addr),
		                            (const void *)(uintptr_t)at, front.data))
			return CSHIM_LEFT;
		next = (at + front.data - packet->header + 7) & ~(uint64_t)7;
		port->taken = (uint32_t)(next < end ? next : end);
		next = port->taken;
		cshim_put_arrived(context, lane, &from,
		                  (const uint64_t[]){put.tgt_cntr, put.cmpl_cntr});
		if (port->taken != next)
			return CSHIM_GONE; /* others have taken all of it */
	}
	verbs_take(cshim_packets_of(lane), port, packet);
	return CSHIM_TAKEN;
}

/*
 * An active message: the packet is taken before the header handler runs, which may let another
 * thread in, and that take completions.
 */
static cshim_fate receive_am(cshim_context *context, cshim_lane *lane, verbs_port *port,
                             const verbs_arrival *packet, const node_arrival *arrival)
{
	const cshim_end from = cshim_end_of_pair(packet->peer);
	const uint32_t life = *from.stopped;
	cshim_header_result result;
	cshim_fate fate;
	cshim_am am;

	if (!cshim_am_read(lane, arrival, &am))
		return CSHIM_LEFT;
	verbs_take(cshim_packets_of(lane), port, packet);
	packet->peer->handling++; /* no answer to a flush overtakes it */
	fate = cshim_am_arrived(context, lane, &from, arrival, &am, &result);
	if (*from.stopped != life)
		return CSHIM_TAKEN; /* all with the task has ended */
	if (fate == CSHIM_GONE)
		golapi_lane_packet_handled(
			cshim_index_of(context), from.task, packet->slot,
			(uint32_t)(sizeof(packet->head) + arrival->header + arrival->data),
			&result);
	if (*from.stopped == life)
		packet->peer->handling--;
	return CSHIM_TAKEN;
}

/* One packet of a kind that the lane knows, else CSHIM_LEFT. */
static cshim_fate receive(cshim_context *context, cshim_lane *lane, verbs_port *port,
                          const verbs_arrival *packet)
{
	const cshim_end from = cshim_end_of_pair(packet->peer);
	const node_arrival arrival = {.header = packet->head.header,
	                              .data = packet->head.data,
	                              .body = packet->header,
	                              .bytes = packet->header + packet->head.header};
	cshim_fate fate = CSHIM_LEFT;

	switch (packet->head.id) {
	case 0: /* of no message, or of several */
		if (packet->head.kind == VERBS_KIND_MESSAGES)
			fate = receive_puts(context, lane, port, packet);
		else if (verbs_take_flush(cshim_packets_of(lane), port, packet))
			fate = CSHIM_TAKEN;
		break;
	case CSHIM_MSG_PUT:
		fate = receive_put(context, lane, port, packet, &arrival);
		break;
	case CSHIM_MSG_AM_SMALL:
		fate = receive_am(context, lane, port, packet, &arrival);
		break;
	case CSHIM_MSG_COUNTER:
		fate = cshim_counter_arrived(context, lane, &from, &arrival);
		if (fate == CSHIM_TAKEN)
			verbs_take(cshim_packets_of(lane), port, packet);
		break;
	}
	if (fate == CSHIM_TAKEN)
		verbs_give_back(cshim_packets_of(lane), port, packet->slot);
	return fate;
}

/* The packets that follow are of another peer than this. */
static void leave(cshim_context *context, cshim_lane *lane, verbs_peer *peer)
{
	const cshim_end end = cshim_end_of_pair(peer);

	if (lane->told)
		cshim_lane_tell_now(context, lane, &end);
	verbs_answer(cshim_packets_of(lane), peer);
	verbs_grant(cshim_packets_of(lane), peer);
}

static uint32_t receive_port(cshim_context *context, cshim_lane *lane, verbs_port *port,
                             const int *counter, int val)
{
	verbs_link *link = cshim_packets_of(lane);
	verbs_peer *peer = NULL;
	uint32_t n = 0, core = 0;

	while (n < BATCH && verbs_look(port)) { /* of several messages in a packet it counts one */
		verbs_arrival packet;

		if (lane->off || cshim_lane_coin(&lane->random)) {
			core = CSHIM_LANE_CORE;
			break;
		}
		if (verbs_sent_out(link, port))
			continue;
		if (!verbs_examine(link, port, &packet)) {
			core = CSHIM_LANE_CORE;
			break;
		}
		if (peer && packet.peer != peer)
			leave(context, lane, peer);
		peer = packet.peer;
		if (receive(context, lane, port, &packet) == CSHIM_LEFT) {
			core = CSHIM_LANE_CORE;
			break;
		}
		n++;
		/* A waiting thread does not wait for more, unless completions may be reported
		 * together. */
		if (counter && !lane->told && cshim_counter_reached(counter, val))
			break;
	}
	if (peer)
		leave(context, lane, peer);
	return n | core | (verbs_crowded(port) ? CSHIM_LANE_CORE : 0);
}

uint32_t cshim_packets_receive(cshim_context *context, cshim_lane *lane, const int *counter,
                               int val)
{
	verbs_link *link = cshim_packets_of(lane);
	uint32_t i, n = 0, core = 0, some;

	link->looks++;
	verbs_flush(link);
	for (i = 0; i < link->ports; i++) {
		some = receive_port(context, lane, verbs_port_at(link, i), counter, val);
		core |= some & CSHIM_LANE_CORE;
		n += some & ~CSHIM_LANE_CORE;
	}
	verbs_flush(link); /* messages that handlers have sent */
	return n | core | (link->wants ? CSHIM_LANE_CORE : 0);
}

int cshim_packets_hold(const cshim_lane *lane)
{
	verbs_link *link = cshim_packets_of(lane);
	uint32_t i;

	link->looks++;
	verbs_flush(link);
	for (i = 0; i < link->ports; i++)
		if (verbs_look(verbs_port_at(link, i)))
			return 1;
	return 0;
}
