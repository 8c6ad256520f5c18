/* event.c - EVDs and CNOs: core makes, frees and shows them, the rest is their room's (evd/evd.h). */
#include "dat/api/block.h"
#include "dat/evd/evd.h"
#include "dat/rc/rc.h"

/* result is that of a call for a valid EVD, or CNO, whose handle is h. */
#define OF_KIND(kind, bad, handle, result)                                                    \
	do {                                                                                  \
		const uint64_t h = DAT_P(handle);                                             \
		if (!dat_enter())                                                             \
			return dat_refused();                                                 \
		return dat_leave(handle_find(handle, kind) ? (DAT_RETURN)(result)             \
		                                           : (DAT_RETURN)(bad));              \
	} while (0)
#define OF_EVD(handle, result) OF_KIND(DAT_HANDLE_TYPE_EVD, DAT_BAD_EVD, handle, result)
#define OF_CNO(handle, result) OF_KIND(DAT_HANDLE_TYPE_CNO, DAT_BAD_CNO, handle, result)

/* A call of core's that gives an EVD a CNO, if that is not DAT_HANDLE_NULL. */
static DAT_RETURN with_cno(int number, DAT_CNO_HANDLE cno, const uint64_t *arguments)
{
	DAT_RETURN result;

	if (!dat_enter())
		return dat_refused();
	result = godat_call(number, (uint64_t *)arguments);
	if (result == DAT_SUCCESS && cno)
		rc_watch();
	return dat_leave(result);
}

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
                          DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
                          DAT_EVD_HANDLE *evd_handle)
{
	DAT_PROVIDED_IA(evd_create, ia_handle, evd_min_qlen, cno_handle, evd_flags, evd_handle);
	return with_cno(DAT_CALL_evd_create, cno_handle,
	                (const uint64_t[]){DAT_P(ia_handle), DAT_I(evd_min_qlen), DAT_P(cno_handle),
	                                   DAT_I(evd_flags), DAT_P(evd_handle)});
}

static DAT_RETURN post_software(uint64_t evd, const DAT_EVENT *event)
{
	DAT_EVENT posted;

	if (!event || dat_copy_in(&posted, event, sizeof(posted)) != 0)
		return DAT_BAD_ARGUMENT(2);
	return evd_post_software(evd, posted.event_number,
	                         DAT_P(posted.event_data.software_event_data.pointer));
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	DAT_PROVIDED(evd_post_se, evd_handle, event);
	OF_EVD(evd_handle, post_software(h, event));
}

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	DAT_PROVIDED(evd_resize, evd_handle, evd_min_qlen);
	OF_EVD(evd_handle, evd_set_size(h, evd_min_qlen));
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	DAT_PROVIDED(evd_modify_cno, evd_handle, cno_handle);
	return with_cno(DAT_CALL_evd_modify_cno, cno_handle,
	                (const uint64_t[]){DAT_P(evd_handle), DAT_P(cno_handle)});
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_enable, evd_handle);
	OF_EVD(evd_handle, (evd_enable(h, 1), DAT_SUCCESS));
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_disable, evd_handle);
	OF_EVD(evd_handle, (evd_enable(h, 0), DAT_SUCCESS));
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_set_unwaitable, evd_handle);
	OF_EVD(evd_handle, (evd_set_waitable(h, 0), DAT_SUCCESS));
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_clear_unwaitable, evd_handle);
	OF_EVD(evd_handle, (evd_set_waitable(h, 1), DAT_SUCCESS));
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                          DAT_CNO_HANDLE *cno_handle)
{
	DAT_PROVIDED_IA(cno_create, ia_handle, agent, cno_handle);
	return DAT_CALL(cno_create, DAT_P(ia_handle), DAT_P(agent.instance_data),
	                DAT_P(agent.proxy_agent_func), DAT_P(cno_handle));
}

/* Takes the trigger of a CNO, as dat_cno_wait does; evd_handle may be NULL. */
static DAT_RETURN trigger(uint64_t cno, DAT_EVD_HANDLE *evd_handle)
{
	const DAT_EVD_HANDLE none = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE taken;
	DAT_RETURN result;
	uint64_t evd;

	if (evd_handle && dat_copy_out(evd_handle, &none, sizeof(none)) != 0)
		return DAT_BAD_ARGUMENT(2);
	result = cno_take(cno, &evd);
	taken = (DAT_EVD_HANDLE)(uintptr_t)evd;
	if (evd_handle)
		dat_copy_out(evd_handle, &taken, sizeof(taken));
	return result;
}

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle)
{
	DAT_PROVIDED(cno_trigger, cno_handle, evd_handle);
	OF_CNO(cno_handle, trigger(h, evd_handle));
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	DAT_PROVIDED(cno_modify_agent, cno_handle, agent);
	OF_CNO(cno_handle, (cno_set_agent(h, DAT_P(agent.proxy_agent_func),
	                                  DAT_P(agent.instance_data)),
	                    DAT_SUCCESS));
}
