/*
 * life.c - a connection from its opening to its end. After any end core has a
 * turn: it takes the peer's rights away, waits for copies that are under way, has all posted requests
 * and receives completed (rc_flush), posts the event of the connection, and closes it.
 */
#include "dat/rc/private.h"

#include <stdlib.h>

#include "dat/godat.h"

dat_end *rc_open(const dat_end_config *config)
{
	dat_end *end = calloc(1, sizeof *end);

	if (!end)
		return NULL;
	end->config = *config;
	end->on = 1;
	return end;
}

void rc_close(dat_end *end)
{
	free((void *)(uintptr_t)end->tx.ring.at);
	free((void *)(uintptr_t)end->rx.queue.ring.at);
	free(end);
}

int rc_add_receive(dat_end *end, const dat_receive *receive)
{
	dat_receive *place = rc_new_receive(&end->rx.queue);

	if (!place)
		return 0;
	*place = *receive;
	end->rx.queue.count++;
	return 1;
}

int rc_bind(dat_end *end, uint64_t number, uint32_t completion)
{
	dat_request *request = rc_new_request(end);

	if (!request)
		return 0;
	request->op = RC_BIND;
	request->held = RC_HELD_TURN;
	request->operand = number;
	request->completion = completion;
	end->tx.posted++;
	rc_advance(end);
	return 1;
}

void rc_over(dat_end *end, uint32_t how)
{
	if (!end->on)
		return;
	end->on = 0;
	end->how = how;
	rc_leave_shared(end); /* at once: receives that are posted now are for others */
	end->tell &= RC_TELL_END;
	dat_the_lane.ended = 1;
}

static void tell_end(dat_end *end, uint32_t seq, uint32_t status, uint32_t flags)
{
	end->end_seq = seq;
	end->end_status = status;
	end->end_flags = flags;
	end->tell |= RC_TELL_END;
}

static void end_by(dat_end *end, uint32_t seq, uint32_t status, uint32_t flags, uint32_t how)
{
	if (!end->on)
		return;
	tell_end(end, seq, status, flags);
	rc_over(end, how);
	rc_tell(end);
}

void rc_fail(dat_end *end, uint32_t seq, uint32_t status)
{
	end_by(end, seq, status, DAT_FLAG_ERROR, RC_BROKEN);
}

void rc_disconnect(dat_end *end, int graceful)
{
	if (graceful && end->tx.posted)
		end->closing = 1;
	else
		end_by(end, 0, DAT_DTO_SUCCESS, 0, RC_BY_USER);
}

void rc_cut(dat_end *end, uint32_t how)
{
	rc_over(end, how);
	end->tell = 0;
}

/* It is the turn of the oldest request, which is bad, or a bind. */
static void take_turn(dat_end *end)
{
	const dat_request *request = rc_request_at(end, 0);
	uint64_t number = request->operand;

	if (request->op != RC_BIND) {
		rc_fail(end, end->tx.oldest, DAT_DTO_SUCCESS);
		return;
	}
	rc_pop(end);
	if (!godat_bind(end->config.ep, number, DAT_DTO_SUCCESS))
		rc_fail(end, end->tx.oldest, DAT_DTO_SUCCESS);
}

void rc_advance(dat_end *end)
{
	while (end->on && end->tx.posted) {
		if (!end->tx.sent && rc_request_at(end, 0)->held & RC_HELD_TURN) {
			take_turn(end);
			continue;
		}
		rc_send(end);
		if (end->tx.sent || !(rc_request_at(end, 0)->held & RC_HELD_TURN))
			break; /* else it was found bad just now */
	}
	if (end->closing && !end->tx.posted)
		end_by(end, 0, DAT_DTO_SUCCESS, 0, RC_BY_USER);
}

/* Complete requests were taken out before. */
static void flush_requests(dat_end *end)
{
	while (end->tx.posted) {
		const dat_request *request = rc_request_at(end, 0);
		uint32_t status = request->status ? request->status : DAT_DTO_ERR_FLUSHED;
		uint64_t number = request->operand;

		if (request->op != RC_BIND) {
			rc_completion(end, request, status);
			rc_pop(end);
		} else {
			rc_pop(end);
			godat_bind(end->config.ep, number, status);
		}
	}
}

void rc_flush(dat_end *end)
{
	flush_requests(end);
	while (end->config.srq ? end->rx.has : end->rx.queue.count) {
		uint32_t status = rc_receive_of(end)->status;

		rc_received(end, NULL, status ? status : DAT_DTO_ERR_FLUSHED);
	}
}
