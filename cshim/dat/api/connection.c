/* connection.c - connections and service points. Each has core do it. */
#include "dat/api/providers.h"

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
                          DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
                          DAT_COUNT private_data_size, const DAT_PVOID private_data,
                          DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags)
{
	DAT_PROVIDED(ep_connect, ep_handle, remote_ia_address, remote_conn_qual, timeout,
	             private_data_size, private_data, quality_of_service, connect_flags);
	return DAT_CALL(ep_connect, DAT_P(ep_handle), DAT_P(remote_ia_address), remote_conn_qual,
	                DAT_I(timeout), DAT_I(private_data_size), DAT_P(private_data),
	                DAT_I(quality_of_service), DAT_I(connect_flags));
}

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE connected_ep_handle,
                              DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
                              const DAT_PVOID private_data, DAT_QOS quality_of_service)
{
	DAT_PROVIDED(ep_dup_connect, ep_handle, connected_ep_handle, timeout, private_data_size,
	             private_data, quality_of_service);
	return DAT_CALL(ep_dup_connect, DAT_P(ep_handle), DAT_P(connected_ep_handle),
	                DAT_I(timeout), DAT_I(private_data_size), DAT_P(private_data),
	                DAT_I(quality_of_service));
}

DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
                                 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
                                 const DAT_PVOID private_data)
{
	DAT_PROVIDED(ep_common_connect, ep_handle, remote_ia_address, timeout, private_data_size,
	             private_data);
	return DAT_CALL(ep_common_connect, DAT_P(ep_handle), DAT_P(remote_ia_address),
	                DAT_I(timeout), DAT_I(private_data_size), DAT_P(private_data));
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags)
{
	DAT_PROVIDED(ep_disconnect, ep_handle, flags);
	return DAT_CALL(ep_disconnect, DAT_P(ep_handle), DAT_I(flags));
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
                        DAT_CR_PARAM *cr_param)
{
	DAT_PROVIDED(cr_query, cr_handle, cr_param_mask, cr_param);
	return DAT_CALL(cr_query, DAT_P(cr_handle), DAT_I(cr_param_mask), DAT_P(cr_param));
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
                         DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	DAT_PROVIDED(cr_accept, cr_handle, ep_handle, private_data_size, private_data);
	return DAT_CALL(cr_accept, DAT_P(cr_handle), DAT_P(ep_handle), DAT_I(private_data_size),
	                DAT_P(private_data));
}

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
                         const DAT_PVOID private_data)
{
	DAT_PROVIDED(cr_reject, cr_handle, private_data_size, private_data);
	return DAT_CALL(cr_reject, DAT_P(cr_handle), DAT_I(private_data_size), DAT_P(private_data));
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	DAT_PROVIDED(cr_handoff, cr_handle, handoff);
	return DAT_CALL(cr_handoff, DAT_P(cr_handle), handoff);
}

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
                          DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                          DAT_PSP_HANDLE *psp_handle)
{
	DAT_PROVIDED_IA(psp_create, ia_handle, conn_qual, evd_handle, psp_flags, psp_handle);
	return DAT_CALL(psp_create, DAT_P(ia_handle), conn_qual, DAT_P(evd_handle),
	                DAT_I(psp_flags), DAT_P(psp_handle));
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
                              DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                              DAT_PSP_HANDLE *psp_handle)
{
	DAT_PROVIDED_IA(psp_create_any, ia_handle, conn_qual, evd_handle, psp_flags, psp_handle);
	return DAT_CALL(psp_create_any, DAT_P(ia_handle), DAT_P(conn_qual), DAT_P(evd_handle),
	                DAT_I(psp_flags), DAT_P(psp_handle));
}

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
                         DAT_PSP_PARAM *psp_param)
{
	DAT_PROVIDED(psp_query, psp_handle, psp_param_mask, psp_param);
	return DAT_CALL(psp_query, DAT_P(psp_handle), DAT_I(psp_param_mask), DAT_P(psp_param));
}

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	DAT_PROVIDED(psp_free, psp_handle);
	return DAT_CALL(psp_free, DAT_P(psp_handle));
}

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
                          DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle)
{
	DAT_PROVIDED_IA(rsp_create, ia_handle, conn_qual, ep_handle, evd_handle, rsp_handle);
	return DAT_CALL(rsp_create, DAT_P(ia_handle), conn_qual, DAT_P(ep_handle),
	                DAT_P(evd_handle), DAT_P(rsp_handle));
}

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
                         DAT_RSP_PARAM *rsp_param)
{
	DAT_PROVIDED(rsp_query, rsp_handle, rsp_param_mask, rsp_param);
	return DAT_CALL(rsp_query, DAT_P(rsp_handle), DAT_I(rsp_param_mask), DAT_P(rsp_param));
}

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	DAT_PROVIDED(rsp_free, rsp_handle);
	return DAT_CALL(rsp_free, DAT_P(rsp_handle));
}

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
                          DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp_handle)
{
	DAT_PROVIDED_IA(csp_create, ia_handle, comm, address, evd_handle, csp_handle);
	return DAT_CALL(csp_create, DAT_P(ia_handle), DAT_P(comm), DAT_P(address),
	                DAT_P(evd_handle), DAT_P(csp_handle));
}

DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
                         DAT_CSP_PARAM *csp_param)
{
	DAT_PROVIDED(csp_query, csp_handle, csp_param_mask, csp_param);
	return DAT_CALL(csp_query, DAT_P(csp_handle), DAT_I(csp_param_mask), DAT_P(csp_param));
}

DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	DAT_PROVIDED(csp_free, csp_handle);
	return DAT_CALL(csp_free, DAT_P(csp_handle));
}
