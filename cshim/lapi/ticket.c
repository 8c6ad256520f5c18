/* ticket.c - waiting for core's tickets: what calls that block have begun. */
#include "lapi/waits.h"

/* A ticket is done by messages, at once only where there was nothing to do: no looks come first. */
static const cshim_patience patience[] = {{.sockets = 0}, {.sockets = 1}};

static const cshim_goal_kind ticket_kind = {.over = NULL};

int cshim_wait_ticket(cshim_context *context, uint64_t ticket)
{
	const cshim_goal goal = {.kind = &ticket_kind,
	                         .patience = &patience[cshim_sockets(context)],
	                         .number = ticket};
	int how = cshim_wait_long(&context->progress, &goal);

	return how == CSHIM_WAIT_OVER ? golapi_ticket_result(cshim_index_of(context), ticket)
	                              : cshim_wait_code(how);
}

void cshim_await_room(cshim_context *context, uint64_t ticket)
{
	if (!cshim_holds_others() && !cshim_in_handler(&context->progress))
		cshim_wait_ticket(context,
		                  ticket); /* if the context ends meanwhile, so does the call */
	else if (cshim_progress_for_sends(context))
		golapi_ticket_result(cshim_index_of(context), ticket); /* nobody asks any more */
}
