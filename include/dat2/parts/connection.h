/*
 * connection.h - part of <dat2/dat.h>: connecting, service points and connection requests.
 *
 * One side has a service point (PSP, RSP or CSP) with an EVD of DAT_EVD_CR_FLAG. The other calls
 * dat_ep_connect. The first finds DAT_CONNECTION_REQUEST_EVENT, looks with dat_cr_query, and calls
 * dat_cr_accept, whereupon both find DAT_CONNECTION_EVENT_ESTABLISHED on their connect EVDs, or
 * dat_cr_reject. Private data of up to max_private_data_size bytes goes along both ways; more is
 * DAT_INVALID_PARAMETER. The conventions of dat.h hold.
 */
#ifndef DAT2_PARTS_CONNECTION_H
#define DAT2_PARTS_CONNECTION_H

#include <dat2/parts/basic.h>
#include <dat2/parts/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Endpoints ---- */

/*
 * dat_ep_connect asks the service point remote_conn_qual of the adapter at remote_ia_address for a
 * connection. It returns at once; an event on the connect EVD tells the end: ESTABLISHED with the
 * peer's private data, PEER_REJECTED, NON_PEER_REJECTED (nobody listened, for a while),
 * UNREACHABLE, or TIMED_OUT after timeout microseconds (1 to DAT_TIMEOUT_INFINITE).
 * The EP must be UNCONNECTED, and becomes ACTIVE_CONNECTION_PENDING.
 * Errors: DAT_INVALID_STATE (the EP's), DAT_INVALID_PARAMETER, DAT_INVALID_ADDRESS,
 * DAT_MODEL_NOT_SUPPORTED (another qos than DAT_QOS_BEST_EFFORT, flags for several paths).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_connect(DAT_EP_HANDLE ep_handle,
                                             DAT_IA_ADDRESS_PTR remote_ia_address,
                                             DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
                                             DAT_COUNT private_data_size,
                                             const DAT_PVOID private_data, DAT_QOS quality_of_service,
                                             DAT_CONNECT_FLAGS connect_flags);

/*
 * dat_ep_dup_connect is dat_ep_connect to where the connected endpoint connected_ep_handle is
 * connected to. Errors: also DAT_INVALID_STATE if that one is not connected.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
                                                 DAT_EP_HANDLE connected_ep_handle,
                                                 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
                                                 const DAT_PVOID private_data,
                                                 DAT_QOS quality_of_service);

/*
 * dat_ep_common_connect is dat_ep_connect to a common service point: remote_ia_address is a whole
 * socket address, port included. Addition.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_common_connect(DAT_EP_HANDLE ep_handle,
                                                    DAT_IA_ADDRESS_PTR remote_ia_address,
                                                    DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
                                                    const DAT_PVOID private_data);

/*
 * dat_ep_disconnect ends a connection, or the attempt at one. DAT_CLOSE_GRACEFUL_FLAG lets what
 * this EP has posted complete first. Receives, and with DAT_CLOSE_ABRUPT_FLAG the rest too, are
 * flushed. Both sides find DAT_CONNECTION_EVENT_DISCONNECTED, once, after the flushed ones. On an
 * EP that is disconnected it succeeds and posts nothing; on a UD endpoint it has no effect. Errors:
 * DAT_INVALID_STATE (UNCONNECTED, RESERVED and their like).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags);

/* ---- Connection requests ---- */

/*
 * dat_cr_query fills *cr_param: the requester's address and the request's private data. Any bit of
 * the mask fills all.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
                                           DAT_CR_PARAM *cr_param);

/*
 * dat_cr_accept connects ep_handle with the requester, and sends private data back. The EP must
 * be UNCONNECTED; it must be null if the request has an endpoint already (RSP,
 * DAT_PSP_PROVIDER_FLAG). The request is gone. ESTABLISHED or ACCEPT_COMPLETION_ERROR follows on
 * the connect EVD. Errors: DAT_INVALID_STATE (the EP's; without class), DAT_INVALID_PARAMETER.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
                                            DAT_COUNT private_data_size,
                                            const DAT_PVOID private_data);

/*
 * dat_cr_reject rejects a request, with private data for the requester, which gets
 * DAT_CONNECTION_EVENT_PEER_REJECTED. The request is gone; an endpoint that the library made for it
 * stays, for the program to free; the endpoint of an RSP becomes UNCONNECTED.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
                                            const DAT_PVOID private_data);

/*
 * dat_cr_handoff gives the request to another service point of the same adapter. The request is
 * gone here. Errors: DAT_INVALID_PARAMETER (nobody listens at handoff).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

/* ---- Public service points ---- */

/*
 * dat_psp_create listens at conn_qual for any number of requests, each of which is an event on
 * evd_handle (DAT_EVD_CR_FLAG). With DAT_PSP_PROVIDER_FLAG each comes with a new endpoint. The
 * handle goes to *psp_handle. dat_psp_create_any chooses a free qualifier, and stores it in
 * *conn_qual. Errors: DAT_CONN_QUAL_IN_USE, DAT_CONN_QUAL_UNAVAILABLE (_any), DAT_INVALID_HANDLE
 * (the EVD has no CR flag), DAT_INVALID_PARAMETER (flags).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
                                             DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                                             DAT_PSP_HANDLE *psp_handle);
DAT_EXPORT DAT_RETURN DAT_API dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
                                                 DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                                                 DAT_PSP_HANDLE *psp_handle);

/* dat_psp_query fills *psp_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_query(DAT_PSP_HANDLE psp_handle,
                                            DAT_PSP_PARAM_MASK psp_param_mask,
                                            DAT_PSP_PARAM *psp_param);

/* dat_psp_free stops listening. Requests that have come stay, and connections made here too. */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_free(DAT_PSP_HANDLE psp_handle);

/* ---- Reserved service points ---- */

/*
 * dat_rsp_create listens at conn_qual for one request, for ep_handle, which becomes RESERVED.
 * Accept it with a null endpoint. The handle goes to *rsp_handle. Errors: DAT_CONN_QUAL_IN_USE,
 * DAT_INVALID_STATE (the EP is not UNCONNECTED), DAT_INVALID_HANDLE.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
                                             DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
                                             DAT_RSP_HANDLE *rsp_handle);

/* dat_rsp_query fills *rsp_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
                                            DAT_RSP_PARAM_MASK rsp_param_mask,
                                            DAT_RSP_PARAM *rsp_param);

/* dat_rsp_free stops listening. An EP that is RESERVED for it becomes UNCONNECTED. */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/* ---- Common service points: additions ---- */

/*
 * dat_csp_create listens at a socket address, port included, for the requests of
 * dat_ep_common_connect. comm says domain, type and protocol. The handle goes to *csp_handle.
 * Errors: DAT_PORT_IN_USE, DAT_COMM_NOT_SUPPORTED, DAT_INVALID_ADDRESS.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
                                             DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
                                             DAT_CSP_HANDLE *csp_handle);

/* dat_csp_query fills *csp_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_query(DAT_CSP_HANDLE csp_handle,
                                            DAT_CSP_PARAM_MASK csp_param_mask,
                                            DAT_CSP_PARAM *csp_param);

/* dat_csp_free stops listening, as dat_psp_free does. */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_free(DAT_CSP_HANDLE csp_handle);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_PARTS_CONNECTION_H */
