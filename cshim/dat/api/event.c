/* event.c - EVDs and CNOs. Each has core do it. */
#include "dat/api/providers.h"

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
                          DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
                          DAT_EVD_HANDLE *evd_handle)
{
	DAT_PROVIDED_IA(evd_create, ia_handle, evd_min_qlen, cno_handle, evd_flags, evd_handle);
	return DAT_CALL(evd_create, DAT_P(ia_handle), DAT_I(evd_min_qlen), DAT_P(cno_handle),
	                DAT_I(evd_flags), DAT_P(evd_handle));
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
                         DAT_EVD_PARAM *evd_param)
{
	DAT_PROVIDED(evd_query, evd_handle, evd_param_mask, evd_param);
	return DAT_CALL(evd_query, DAT_P(evd_handle), DAT_I(evd_param_mask), DAT_P(evd_param));
}

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_free, evd_handle);
	return DAT_CALL(evd_free, DAT_P(evd_handle));
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	DAT_PROVIDED(evd_post_se, evd_handle, event);
	return DAT_CALL(evd_post_se, DAT_P(evd_handle), DAT_P(event));
}

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	DAT_PROVIDED(evd_resize, evd_handle, evd_min_qlen);
	return DAT_CALL(evd_resize, DAT_P(evd_handle), DAT_I(evd_min_qlen));
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	DAT_PROVIDED(evd_modify_cno, evd_handle, cno_handle);
	return DAT_CALL(evd_modify_cno, DAT_P(evd_handle), DAT_P(cno_handle));
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_enable, evd_handle);
	return DAT_CALL(evd_enable, DAT_P(evd_handle));
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_disable, evd_handle);
	return DAT_CALL(evd_disable, DAT_P(evd_handle));
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_set_unwaitable, evd_handle);
	return DAT_CALL(evd_set_unwaitable, DAT_P(evd_handle));
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	DAT_PROVIDED(evd_clear_unwaitable, evd_handle);
	return DAT_CALL(evd_clear_unwaitable, DAT_P(evd_handle));
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                          DAT_CNO_HANDLE *cno_handle)
{
	DAT_PROVIDED_IA(cno_create, ia_handle, agent, cno_handle);
	return DAT_CALL(cno_create, DAT_P(ia_handle), DAT_P(agent.instance_data),
	                DAT_P(agent.proxy_agent_func), DAT_P(cno_handle));
}

DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *file_descriptor,
                             DAT_CNO_HANDLE *cno_handle)
{
	DAT_PROVIDED_IA(cno_fd_create, ia_handle, file_descriptor, cno_handle);
	return DAT_CALL(cno_fd_create, DAT_P(ia_handle), DAT_P(file_descriptor), DAT_P(cno_handle));
}

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle)
{
	DAT_PROVIDED(cno_trigger, cno_handle, evd_handle);
	return DAT_CALL(cno_trigger, DAT_P(cno_handle), DAT_P(evd_handle));
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	DAT_PROVIDED(cno_modify_agent, cno_handle, agent);
	return DAT_CALL(cno_modify_agent, DAT_P(cno_handle), DAT_P(agent.instance_data),
	                DAT_P(agent.proxy_agent_func));
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
                         DAT_CNO_PARAM *cno_param)
{
	DAT_PROVIDED(cno_query, cno_handle, cno_param_mask, cno_param);
	return DAT_CALL(cno_query, DAT_P(cno_handle), DAT_I(cno_param_mask), DAT_P(cno_param));
}

DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	DAT_PROVIDED(cno_free, cno_handle);
	return DAT_CALL(cno_free, DAT_P(cno_handle));
}
