/* ticket.c - waiting for core's tickets: what calls that block have begun. */
#include "lapi/waits.h"

/* A ticket is done by messages, at once only where there was nothing to do: no looks come first. */
static const cshim_patience patience[] = {{.sockets = 0}, {.sockets = 1}};

/* over is NULL: core says. */
static const cshim_goal_kind kinds[] = {
	[CSHIM_FOR_TERM] = {.call = "LAPI_Term"},
	[CSHIM_FOR_FENCE] = {.call = "LAPI_Fence"},
	[CSHIM_FOR_GFENCE] = {.call = "LAPI_Gfence"},
	[CSHIM_FOR_ADDRESSES] = {.call = "LAPI_Address_init"},
	[CSHIM_FOR_PUT_ROOM] = {.call = "LAPI_Put"},
	[CSHIM_FOR_GET_ROOM] = {.call = "LAPI_Get"},
	[CSHIM_FOR_AM_ROOM] = {.call = "LAPI_Amsend"},
	[CSHIM_FOR_ROOM] = {.call = "LAPI_Xfer"},
};

int cshim_wait_ticket(cshim_context *context, uint64_t ticket, cshim_ticket_for what)
{
	const cshim_goal goal = {.kind = &kinds[what],
	                         .patience = &patience[cshim_sockets(context)],
	                         .number = ticket};
	int how = cshim_wait_long(&context->progress, &goal);

	return how == CSHIM_WAIT_OVER ? golapi_ticket_result(cshim_index_of(context), ticket)
	                              : cshim_wait_code(how);
}

static cshim_ticket_for room_of(uint32_t type)
{
	switch (type) {
	case LAPI_PUT_XFER:
		return CSHIM_FOR_PUT_ROOM;
	case LAPI_GET_XFER:
		return CSHIM_FOR_GET_ROOM;
	case LAPI_AM_XFER:
		return CSHIM_FOR_AM_ROOM;
	default:
		return CSHIM_FOR_ROOM;
	}
}

void cshim_await_room(cshim_context *context, uint64_t ticket, uint32_t type)
{
	if (!cshim_holds_others() && !cshim_in_handler(&context->progress))
		/* if the context ends meanwhile, so does the call */
		cshim_wait_ticket(context, ticket, room_of(type));
	else if (cshim_progress_for_sends(context))
		golapi_ticket_result(cshim_index_of(context), ticket); /* nobody asks any more */
}
