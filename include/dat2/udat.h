/*
 * udat.h - uDAPL 2.0, the user level Direct Access Programming Library, for C and C++ programs.
 *
 * The file that programs include. dat.h has the conventions, and all calls but those here, which
 * are about event dispatchers (EVD) and consumer notification objects (CNO). dat_ib_extensions.h
 * has immediate data, atomics, datagrams and collectives; include it after this file or alone. Link
 * with -ldat2. C99 with gnu extensions and later, C++98 and later.
 */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat2/udat_config.h>
#include <dat2/dat_platform_specific.h>
#include <dat2/dat.h>
#include <dat2/udat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Event dispatchers ---- */

/*
 * dat_evd_create makes a queue for at least evd_min_qlen events of the streams that evd_flags
 * names, which tells cno_handle (may be null) about each, and stores its handle in *evd_handle. Any
 * streams go together but DTO with CONNECTION, and ASYNC with any. Errors: DAT_INVALID_PARAMETER
 * (evd_min_qlen 0 or less: DAT_INVALID_ARG2, flags: DAT_INVALID_ARG4), DAT_INSUFFICIENT_RESOURCES
 * (DAT_RESOURCE_TEVD: more than max_evd_qlen).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
                                             DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
                                             DAT_EVD_HANDLE *evd_handle);

/* dat_evd_query fills *evd_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_query(DAT_EVD_HANDLE evd_handle,
                                            DAT_EVD_PARAM_MASK evd_param_mask,
                                            DAT_EVD_PARAM *evd_param);

/*
 * dat_evd_free frees a queue and its events. Errors: DAT_INVALID_STATE
 * (DAT_INVALID_STATE_EVD_IN_USE: an endpoint, service point or adapter posts to it).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_free(DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_wait sleeps until threshold events are in the queue, takes the first and stores how many
 * are left in *n_more. Events that count are all, or of an EVD for completions those that the flags
 * of the operations say. threshold is 1 to the queue's length. One thread may wait; timeout 0
 * looks. Errors: DAT_TIMEOUT_EXPIRED (*n_more is set, no event is taken), DAT_INVALID_STATE
 * (another thread waits, or the EVD is unwaitable or becomes so), DAT_INTERRUPTED_CALL, DAT_ABORT
 * (it was freed), DAT_INVALID_PARAMETER.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
                                           DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *n_more);

/*
 * dat_evd_dequeue takes the first event of the queue, and waits for nothing. Errors:
 * DAT_QUEUE_EMPTY (without class if the EVD is for completions: programs compare with that),
 * DAT_INVALID_STATE (a thread waits).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/*
 * dat_evd_post_se puts an event of the program's own into an EVD with DAT_EVD_SOFTWARE_FLAG; its
 * number is DAT_SOFTWARE_EVENT, its data is copied.
 * Errors: DAT_QUEUE_FULL, DAT_INVALID_PARAMETER (the number, or an EVD for something else).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/*
 * dat_evd_resize makes room for at least evd_min_qlen events, and keeps those in the queue.
 * Errors: DAT_INVALID_STATE (more are in the queue), DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/* dat_evd_modify_cno gives an EVD another CNO, or with null none. */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
                                                 DAT_CNO_HANDLE cno_handle);

/* dat_evd_disable has an EVD queue events and not tell its CNO; dat_evd_enable ends that. */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_enable(DAT_EVD_HANDLE evd_handle);
DAT_EXPORT DAT_RETURN DAT_API dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_set_unwaitable ends a wait on the EVD, and has later ones fail with DAT_INVALID_STATE,
 * until dat_evd_clear_unwaitable.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);
DAT_EXPORT DAT_RETURN DAT_API dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

/* ---- Consumer notification objects ---- */

/*
 * dat_cno_create makes an object that any number of EVDs tell when an event comes: it is triggered.
 * agent is a function to call then, or DAT_OS_WAIT_PROXY_AGENT_NULL. A trigger stays until a wait
 * takes it. The handle goes to *cno_handle.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                                             DAT_CNO_HANDLE *cno_handle);

/*
 * dat_cno_fd_create makes one with a descriptor, stored in *file_descriptor, that poll(2) finds
 * readable while the CNO is triggered. The descriptor is the library's: do not read or close it.
 * Addition.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *file_descriptor,
                                                DAT_CNO_HANDLE *cno_handle);

/*
 * dat_cno_trigger takes the trigger of a CNO without waiting: it stores the EVD that triggered it
 * in *evd_handle, or null. The descriptor is not readable then. Addition. Errors: DAT_QUEUE_EMPTY
 * (it is not triggered).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle);

/* dat_cno_modify_agent gives a CNO another function, or none. */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
                                                   DAT_OS_WAIT_PROXY_AGENT agent);

/* dat_cno_query fills *cno_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_query(DAT_CNO_HANDLE cno_handle,
                                            DAT_CNO_PARAM_MASK cno_param_mask,
                                            DAT_CNO_PARAM *cno_param);

/*
 * dat_cno_free frees it. Errors: DAT_INVALID_STATE (DAT_INVALID_STATE_CNO_IN_USE: an EVD has it; a
 * thread waits).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_free(DAT_CNO_HANDLE cno_handle);

/*
 * dat_cno_wait sleeps until the CNO is triggered, and stores the EVD that did it in *evd_handle.
 * Take events from it until it is empty: a trigger is for one event or several. Errors: type
 * DAT_QUEUE_EMPTY without class when timeout is over, *evd_handle is null then;
 * DAT_INTERRUPTED_CALL, DAT_ABORT (it was freed).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
                                           DAT_EVD_HANDLE *evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* _UDAT_H_ */
