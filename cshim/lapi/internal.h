/*
 * internal.h - shared by the entry points: which threads may call, the shared lock, texts, DGSPs,
 * the exit handlers. Private to cshim/lapi.
 */
#ifndef CSHIM_INTERNAL_H
#define CSHIM_INTERNAL_H

#include "context/contexts.h"
#include "lapi/process.h"

/* exit_launcher.c, exit_notice.c */

/*
 * In the exit handler: says good-bye to a launcher with PMI, or, of a process that fails with a
 * context that is live, has it end the job.
 */
void cshim_exit_launcher(int status, int live);

long long cshim_exit_clock(void); /* ms, for the exit handlers' limits */

/* owner.c */

/* A context's functions for its progress block. */
extern const cshim_owner cshim_lapi_owner;
/* LAPI_ERR_UNKNOWN, with a message that names call: a handler that must not wait has called it. */
int cshim_must_not_wait(cshim_context *context, const char *call);
/*
 * LAPI_SUCCESS, or that if the caller is a handler of this context that runs with the lock held:
 * for calls that make progress or change what core is in the middle of. Under the lock.
 */
static inline int cshim_may_call(cshim_context *context, const char *call)
{
	return __builtin_expect(cshim_in_handler(&context->progress), 0)
	               ? cshim_must_not_wait(context, call)
	               : LAPI_SUCCESS;
}
/*
 * The same for calls that wait: a handler of any context refuses them (cshim_holds_others). Under
 * the lock.
 */
static inline int cshim_may_wait(cshim_context *context, const char *call)
{
	return __builtin_expect(cshim_holds_others(), 0) ? cshim_must_not_wait(context, call)
	                                                 : cshim_may_call(context, call);
}

/*
 * api_init.c: the generation ends as by LAPI_Term, without a word to core about what is under way.
 * The caller does not own the lock.
 */
void cshim_end_broken(cshim_context *context, uint32_t handle);

/* share.c; under the lock */

/* The functions that LAPI_Util(LAPI_GET_THREAD_FUNC) hands out. */
void cshim_share_functions(lapi_thread_func_t *functions);
/* The context is about to leave ACTIVE: every wait on a condition variable ends with EINVAL. */
void cshim_share_end(cshim_context *context);

/* catalogue.c */

/*
 * Writes the text for code, a LAPI code or an errno value, into buf (LAPI_MAX_ERR_STRING bytes), in
 * the language of the program's locale. LAPI_ERR_CATALOG_FAIL if its catalogue cannot be opened:
 * buf is English. A message that the catalogue lacks is English too. LAPI_ERR_CODE_UNKNOWN: it is
 * neither, and the text is empty. Needs no lock, and no core.
 */
int cshim_text_of(int code, char *buf);

/* dgsp.c: the commands of LAPI_Util for DGSPs */

/* 1 for the commands for which the guide has no handle checked. */
int cshim_dgsp_needs_no_context(lapi_util_type_t type);
/* Does them. */
int cshim_dgsp_without_context(lapi_util_t *cmd);

/* Does the others, with the context's lock held; LAPI_ERR_UTIL_CMD: it is none of them. */
int cshim_dgsp_in_context(int context, lapi_util_t *cmd);

#endif
