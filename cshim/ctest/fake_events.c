/* fake_events.c - completion handlers and error handlers that the fake core has the library's
 * threads run. */
#define _GNU_SOURCE
#include <stdio.h>

#include "progress/futex.h"
#include "ctest/fake_core.h"

void fake_queue_completion(int context, compl_hndlr_t *handler, void *info)
{
	fake_core *core = fake_enter(context);
	cshim_context *block = cshim_context_at(context);

	CHECK(core->end_completion - core->first_completion < FAKE_QUEUE);
	core->completions[core->end_completion++ % FAKE_QUEUE] =
		(cshim_completion){CSHIM_ADDR(handler), CSHIM_ADDR(info), 7};
	__atomic_add_fetch(&block->completion_seq, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&block->completion_seq, 1);
}

int golapi_next_completion(int context, cshim_completion *completion)
{
	fake_core *core = fake_enter(context);

	if (core->first_completion == core->end_completion)
		return 0;
	*completion = core->completions[core->first_completion++ % FAKE_QUEUE];
	return 1;
}

void golapi_completion_done(int context, uint64_t id)
{
	fake_enter(context);
	CHECK(id == 7);
	fake_note(&fake_counts.completions_done);
	fake_event(context);
}

void fake_queue_error(int context, LAPI_err_hndlr *handler, int code)
{
	fake_core *core = fake_enter(context);
	cshim_error *e = &core->errors[core->end_error++ % FAKE_TURN];

	e->handler = CSHIM_ADDR(handler);
	e->code = code;
	e->type = PUT_ERR;
	e->task = 0;
	e->src = 3;
	e->patience_ms = 0;
	snprintf(e->text, sizeof(e->text), "fake failure %d", code);
}

void fake_queue_loss(int context, int patience_ms)
{
	fake_core *core = fake_enter(context);

	fake_queue_error(context, NULL, LAPI_ERR_NO_CONNECTIVITY);
	core->errors[(core->end_error - 1) % FAKE_TURN].patience_ms = patience_ms;
}

size_t golapi_dump(int context, char *text, size_t size)
{
	return 0;
}

void golapi_dump_print(char *text, size_t size)
{
}

int golapi_next_error(int context, cshim_error *error)
{
	fake_core *core = fake_enter(context);

	if (core->first_error == core->end_error)
		return 0;
	*error = core->errors[core->first_error++ % FAKE_TURN];
	return 1;
}
