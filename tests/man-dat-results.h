/*
 * man-dat-results.h - makes uDAPL calls that fail, each in another way, and prints what they
 * return: name, type and subtype. man-dat.sh looks whether the pages list it. It stands below the
 * functions that dat(7) shows, and is no source file by itself.
 */
#include <dat/dat_extensions.h>
#include <dat2/dat_registry.h>
#include <string.h>

/* Prints the name of the call in text, and its result. */
static void tell(const char *text, DAT_RETURN result)
{
	const char *major, *minor, *start = text + strcspn(text, "d");

	dat_strerror(result, &major, &minor);
	printf("%.*s %s%s%s%s\n", (int)strcspn(start, "()"), start, major, *minor ? " " : "", minor,
	       result != DAT_SUCCESS && !(result & DAT_CLASS_ERROR) ? " without class" : "");
}
#define T(call) tell(#call, call)

#define NO DAT_HANDLE_NULL
#define BAD ((DAT_HANDLE)0x1234)
static const DAT_DTO_COOKIE cookie = {0};
static DAT_REGION_DESCRIPTION region;
static char bytes[64] __attribute__((aligned(8)));
static DAT_LMR_TRIPLET segment, nowhere = {0, 8, 0x7fffffff};
static DAT_RMR_TRIPLET remote;
static DAT_LMR_HANDLE lmr;
static DAT_EVD_HANDLE evd;
static DAT_CNO_HANDLE cno;
static DAT_SRQ_HANDLE srq;
static DAT_RMR_HANDLE rmr;
static DAT_PSP_HANDLE psp;
static DAT_RSP_HANDLE rsp;
static DAT_EP_HANDLE ep, shared, ud;
static DAT_IA_ATTR attr;
static DAT_CONN_QUAL qualifier;
static DAT_HANDLE handle;
static DAT_COUNT count;
static DAT_EVENT event;
static DAT_CONTEXT context;

static void adapters(void)
{
	DAT_EVD_HANDLE wrong = BAD, none = NO;
	DAT_PROVIDER_ATTR provider;
	DAT_PROVIDER_INFO info = {"no provider", 2, 0, DAT_FALSE}, *list[1] = {&info};
	DAT_HA_RELATIONSHIP answer;
	const char *text;

	T(dat_ia_openv(NULL, 8, &none, &handle, 2, 0, DAT_FALSE));
	T(dat_ia_openv("lapi", 0, &none, &handle, 2, 0, DAT_FALSE));
	T(dat_ia_openv("lapi", 8, NULL, &handle, 2, 0, DAT_FALSE));
	T(dat_ia_openv("lapi", 8, &none, NULL, 2, 0, DAT_FALSE));
	T(dat_ia_openv("lapi", 8, &wrong, &handle, 2, 0, DAT_FALSE));
	T(dat_ia_openv("none", 8, &none, &handle, 2, 0, DAT_FALSE));
	T(dat_ia_openv("lapi", 8, &none, &handle, 1, 0, DAT_FALSE));
	T(dat_ia_openv("lapi", 8, &none, &handle, 2, 1, DAT_FALSE));
	T(dat_ia_openv("lapi", 8, &none, &handle, 2, 0, DAT_TRUE));
	T(dat_ia_query(BAD, NULL, 0, NULL, 0, NULL));
	T(dat_ia_query(ia, NULL, ~UINT64_C(0), &attr, 0, NULL));
	T(dat_ia_query(ia, NULL, 1, NULL, 0, NULL));
	T(dat_ia_query(ia, NULL, 0, NULL, ~UINT64_C(0), &provider));
	T(dat_ia_query(ia, NULL, 0, NULL, 1, NULL));
	T(dat_ia_close(BAD, DAT_CLOSE_ABRUPT_FLAG));
	T(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	T(dat_set_consumer_context(BAD, context));
	T(dat_get_consumer_context(ia, NULL));
	T(dat_get_handle_type(NO, NULL));
	T(dat_get_handle_type(ia, NULL));
	T(dat_strerror(DAT_SUCCESS, NULL, NULL));
	T(dat_strerror(0x3abc0000, &text, NULL));
	T(dat_registry_list_providers(0, &count, list));
	T(dat_registry_list_providers(1, NULL, list));
	T(dat_registry_list_providers(1, &count, NULL));
	T(dat_registry_list_providers(1, &count, list));
	strcpy(info.ia_name, "no provider");
	T(dat_registry_remove_provider(NULL, &info));
	T(dat_registry_add_provider(NULL, NULL));
	T(dat_registry_add_provider(NULL, &info));
	T(dat_registry_providers_related("a", "b", NULL));
	T(dat_registry_providers_related("a", "b", &answer));
	T(dats_get_ia_handle(BAD, &handle));
	T(dat_extension_op(ia, 4711));
	T(dat_extension(NO, DAT_EXT_RECV_IMMED));
	T(dat_extension(ia, (DAT_EXT_OP)99));
	T(dat_ib_open_query((DAT_NAME_PTR) "lapi", (DAT_HANDLE *)NULL, 0, NULL, 0, NULL));
	T(dat_ib_open_query((DAT_NAME_PTR) "none", &handle, 0, NULL, 0, NULL));
	T(dat_ib_open_query((DAT_NAME_PTR) "lapi", &handle, ~UINT64_C(0), &attr, 0, NULL));
	T(dat_ib_open_query((DAT_NAME_PTR) "lapi", &handle, 1, NULL, 0, NULL));
	T(dat_ib_open_query((DAT_NAME_PTR) "lapi", &handle, 0, NULL, ~UINT64_C(0), &provider));
	T(dat_ib_open_query((DAT_NAME_PTR) "lapi", &handle, 0, NULL, 1, NULL));
	T(dat_ib_close_query(BAD));
	T((dat_ib_query_counters)(pz, 0, NULL, 0));
	T((dat_ib_query_counters)(ia, 4711, NULL, 0));
	T((dat_ib_query_counters)(ia, 0, NULL, 0));
	T((dat_ib_print_counters)(ia, -1, 0));
	T((dat_ib_start_counter)(ia, (DAT_COUNTER_TYPE)99));
	T((dat_ib_start_counter)(BAD, DCNT_IA_CM));
	T((dat_ib_start_counter)(ia, DCNT_IA_DIAG));
	T((dat_ib_stop_counter)(ia, DCNT_IA_CM));
}

static void events(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_EVD_PARAM param;
	DAT_CNO_PARAM cno_param;
	int fd;

	T(dat_evd_create(BAD, 1, NO, DAT_EVD_CR_FLAG, &evd));
	T(dat_evd_create(ia, 0, NO, DAT_EVD_CR_FLAG, &evd));
	T(dat_evd_create(ia, 1, BAD, DAT_EVD_CR_FLAG, &evd));
	T(dat_evd_create(ia, 1, NO, DAT_EVD_DEFAULT_FLAG, &evd));
	T(dat_evd_create(ia, 1, NO, DAT_EVD_CR_FLAG, NULL));
	T(dat_evd_create(ia, 1 << 30, NO, DAT_EVD_CR_FLAG, &evd));
	T(dat_evd_query(ia, 1, &param));
	T(dat_evd_query(requests, (DAT_EVD_PARAM_MASK)32, &param));
	T(dat_evd_query(requests, DAT_EVD_FIELD_ALL, NULL));
	T(dat_evd_free(pz));
	T(dat_evd_free(done_a));
	T(dat_evd_wait(BAD, 0, 1, &event, &count));
	T(dat_evd_wait(requests, 0, 0, &event, &count));
	T(dat_evd_wait(requests, 0, 1, NULL, &count));
	T(dat_evd_wait(requests, 0, 1, &event, NULL));
	T(dat_evd_wait(requests, 0, 1, &event, &count));
	T(dat_evd_set_unwaitable(requests));
	T(dat_evd_wait(requests, 0, 1, &event, &count));
	T(dat_evd_clear_unwaitable(requests));
	T(dat_evd_dequeue(requests, &event));
	T(dat_evd_dequeue(done_a, &event));
	T(dat_evd_dequeue(done_a, NULL));
	T(dat_evd_dequeue(NO, &event));
	T(dat_evd_post_se(requests, NULL));
	T(dat_evd_create(ia, 1, NO, DAT_EVD_SOFTWARE_FLAG, &evd));
	event.event_number = DAT_SOFTWARE_EVENT;
	T(dat_evd_post_se(evd, &event));
	T(dat_evd_post_se(evd, &event));
	T(dat_evd_resize(evd, 0));
	T(dat_evd_resize(evd, 1 << 30));
	T(dat_evd_resize(evd, 2));
	T(dat_evd_post_se(evd, &event));
	T(dat_evd_resize(evd, 1));
	T(dat_evd_modify_cno(evd, BAD));
	T(dat_evd_enable(BAD));
	T(dat_evd_disable(evd));
	T(dat_cno_create(BAD, none, &cno));
	T(dat_cno_create(ia, none, NULL));
	T(dat_cno_create(ia, none, &cno));
	T(dat_cno_modify_agent(BAD, none));
	T(dat_cno_fd_create(ia, NULL, &handle));
	T(dat_cno_fd_create(BAD, &fd, &handle));
	T(dat_cno_trigger(cno, &handle));
	T(dat_cno_trigger(BAD, &handle));
	T(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)8, &cno_param));
	T(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL));
	T(dat_cno_query(ia, DAT_CNO_FIELD_ALL, &cno_param));
	T(dat_cno_wait(cno, 0, &handle));
	T(dat_cno_wait(cno, 0, NULL));
	T(dat_cno_wait(BAD, 0, &handle));
	T(dat_evd_modify_cno(evd, cno));
	T(dat_cno_free(cno));
	T(dat_cno_free(BAD));
}

/* dat_lmr_create of memory at start, of which the handle and the context are kept. */
#define LMR_CREATE(ia, type, n, pz, rights, lmr)                                                \
	T(dat_lmr_create(ia, type, region, n, pz, (DAT_MEM_PRIV_FLAGS)(rights), DAT_VA_TYPE_VA, \
	                 lmr, NULL, NULL, NULL, NULL))

static void memories(void)
{
	DAT_LMR_PARAM lmr_param;
	DAT_PZ_PARAM pz_param;
	DAT_RMR_PARAM rmr_param;
	DAT_SRQ_PARAM srq_param;
	DAT_SRQ_ATTR good = {2, 1, 0}, bad = {0, 1, 0};

	T(dat_pz_create(BAD, &handle));
	T(dat_pz_create(ia, NULL));
	T(dat_pz_query(ia, DAT_PZ_FIELD_ALL, &pz_param));
	T(dat_pz_query(pz, (DAT_PZ_PARAM_MASK)2, &pz_param));
	T(dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL));
	T(dat_pz_free(pz));
	T(dat_pz_free(NO));
	region.for_va = bytes;
	LMR_CREATE(BAD, DAT_MEM_TYPE_VIRTUAL, 8, pz, 0, &lmr);
	LMR_CREATE(ia, DAT_MEM_TYPE_VIRTUAL, 8, BAD, 0, &lmr);
	LMR_CREATE(ia, DAT_MEM_TYPE_LMR, 8, pz, 0, &lmr);
	LMR_CREATE(ia, (DAT_MEM_TYPE)9, 8, pz, 0, &lmr);
	LMR_CREATE(ia, DAT_MEM_TYPE_VIRTUAL, ~UINT64_C(0), pz, 0, &lmr);
	LMR_CREATE(ia, DAT_MEM_TYPE_VIRTUAL, 8, pz, 0x8000, &lmr);
	LMR_CREATE(ia, DAT_MEM_TYPE_VIRTUAL, 8, pz, 0, NULL);
	LMR_CREATE(ia, DAT_MEM_TYPE_VIRTUAL, 0, pz, 0, &lmr);
	region.for_shared_memory.shared_memory_id = NULL;
	LMR_CREATE(ia, DAT_MEM_TYPE_SHARED_VIRTUAL, 8, pz, 0, &lmr);
	LMR_CREATE(ia, DAT_MEM_TYPE_VIRTUAL, 8, pz, 0, &lmr);
	T(dat_lmr_query(BAD, DAT_LMR_FIELD_ALL, &lmr_param));
	T(dat_lmr_query(lmr, (DAT_LMR_PARAM_MASK)2048, &lmr_param));
	T(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, NULL));
	T(dat_lmr_free(BAD));
	T(dat_lmr_sync_rdma_read(BAD, &segment, 1));
	T(dat_lmr_sync_rdma_write(ia, &segment, 1));
	T(dat_rmr_create(BAD, &rmr));
	T(dat_rmr_create_for_ep(pz, NULL));
	T(dat_rmr_create(pz, &rmr));
	T(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)128, &rmr_param));
	T(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL));
	T(dat_rmr_query(BAD, DAT_RMR_FIELD_ALL, &rmr_param));
	T(dat_rmr_free(BAD));
	T(dat_srq_create(BAD, pz, &good, &srq));
	T(dat_srq_create(ia, BAD, &good, &srq));
	T(dat_srq_create(ia, pz, NULL, &srq));
	T(dat_srq_create(ia, pz, &bad, &srq));
	T(dat_srq_create(ia, pz, &good, NULL));
	T(dat_srq_create(ia, pz, &good, &srq));
	T(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)256, &srq_param));
	T(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL));
	T(dat_srq_query(BAD, DAT_SRQ_FIELD_ALL, &srq_param));
	T(dat_srq_post_recv(BAD, 1, &segment, cookie));
	T(dat_srq_post_recv(srq, 2, &segment, cookie));
	T(dat_srq_post_recv(srq, 1, NULL, cookie));
	T(dat_srq_post_recv(srq, 1, &nowhere, cookie));
	T(dat_srq_post_recv(srq, 0, NULL, cookie));
	T(dat_srq_post_recv(srq, 0, NULL, cookie));
	T(dat_srq_post_recv(srq, 0, NULL, cookie));
	T(dat_srq_resize(srq, 0));
	T(dat_srq_resize(srq, 1));
	T(dat_srq_resize(BAD, 1));
	T(dat_srq_set_lw(srq, 99));
	T(dat_srq_set_lw(BAD, 0));
	T(dat_srq_free(BAD));
}

static void endpoints(void)
{
	DAT_EP_ATTR attributes = {.max_recv_dtos = -1};
	DAT_EP_PARAM param;

	T(dat_ep_create(BAD, pz, done_a, done_a, connections, NULL, &ep));
	T(dat_ep_create(ia, NO, done_a, done_a, connections, NULL, &ep));
	T(dat_ep_create(ia, pz, requests, done_a, connections, NULL, &ep));
	T(dat_ep_create(ia, pz, done_a, requests, connections, NULL, &ep));
	T(dat_ep_create(ia, pz, done_a, done_a, requests, NULL, &ep));
	T(dat_ep_create(ia, pz, done_a, done_a, connections, &attributes, &ep));
	T(dat_ep_create(ia, pz, done_a, done_a, connections, NULL, NULL));
	T(dat_ep_create_with_srq(ia, pz, done_a, done_a, connections, BAD, NULL, &shared));
	T(dat_ep_create_with_srq(ia, pz, done_a, done_a, connections, srq, &attributes, &shared));
	T(dat_ep_create_with_srq(ia, pz, done_a, done_a, connections, srq, NULL, NULL));
	T(dat_ep_create_with_srq(ia, pz, done_a, done_a, connections, srq, NULL, &shared));
	T(dat_srq_free(srq));
	attributes = (DAT_EP_ATTR){.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD,
	                           .max_recv_dtos = 1,
	                           .max_request_dtos = 1};
	T(dat_ep_create(ia, pz, done_a, done_a, connections, &attributes, &ud));
	T(dat_ep_query(a, ~UINT64_C(0), &param));
	T(dat_ep_query(a, 1, NULL));
	T(dat_ep_query(BAD, 1, &param));
	T(dat_ep_modify(a, 1, &param));
	T(dat_ep_modify(a, DAT_EP_FIELD_PZ_HANDLE, NULL));
	param.pz_handle = BAD;
	T(dat_ep_modify(a, DAT_EP_FIELD_PZ_HANDLE, &param));
	param.recv_evd_handle = BAD;
	T(dat_ep_modify(a, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	param.request_evd_handle = BAD;
	T(dat_ep_modify(a, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	param.connect_evd_handle = BAD;
	T(dat_ep_modify(a, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	param.srq_handle = BAD;
	T(dat_ep_modify(a, DAT_EP_FIELD_SRQ_HANDLE, &param));
	T(dat_ep_get_status(BAD, NULL, NULL, NULL));
	T(dat_ep_recv_query(BAD, NULL, NULL));
	T(dat_ep_set_watermark(a, 1, 1));
	T(dat_ep_set_watermark(shared, 1, 1));
	T(dat_ep_set_watermark(BAD, 1, 1));
	T(dat_ep_reset(BAD));
	T(dat_ep_reset(a));
	T(dat_ep_free(BAD));
	T(dat_ep_disconnect(BAD, DAT_CLOSE_ABRUPT_FLAG));
	T(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG));
	T(dat_ep_disconnect(ud, DAT_CLOSE_ABRUPT_FLAG));
	T(dat_ep_common_connect(a, attr.ia_address_ptr, 1, 0, NULL));
	T(dat_csp_free(NO));
}

static void service_points(void)
{
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;

	T(dat_psp_create(BAD, 1, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	T(dat_psp_create(ia, 1, done_a, DAT_PSP_CONSUMER_FLAG, &psp));
	T(dat_psp_create(ia, 1, requests, (DAT_PSP_FLAGS)9, &psp));
	T(dat_psp_create(ia, 1, requests, DAT_PSP_CONSUMER_FLAG, NULL));
	T(dat_psp_create_any(BAD, &qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	T(dat_psp_create_any(ia, NULL, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	T(dat_psp_create_any(ia, &qualifier, done_a, DAT_PSP_CONSUMER_FLAG, &psp));
	T(dat_psp_create_any(ia, &qualifier, requests, DAT_PSP_CONSUMER_FLAG, NULL));
	T(dat_psp_create_any(ia, &qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	T(dat_psp_create(ia, qualifier, requests, DAT_PSP_CONSUMER_FLAG, &handle));
	T(dat_psp_query(psp, (DAT_PSP_PARAM_MASK)16, &psp_param));
	T(dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL));
	T(dat_psp_query(ia, DAT_PSP_FIELD_ALL, &psp_param));
	T(dat_rsp_create(BAD, 1, b, requests, &rsp));
	T(dat_rsp_create(ia, 1, BAD, requests, &rsp));
	T(dat_rsp_create(ia, 1, b, done_a, &rsp));
	T(dat_rsp_create(ia, 1, b, requests, NULL));
	T(dat_rsp_create(ia, qualifier, b, requests, &rsp));
	T(dat_psp_free(psp));
	T(dat_psp_free(psp));
	while (dat_rsp_create(ia, qualifier, b, requests, &rsp) != DAT_SUCCESS)
		qualifier++; /* another process has that port now */
	T(dat_rsp_create(ia, qualifier + 1, b, requests, &handle));
	T(dat_ep_free(b));
	T(dat_ep_reset(b));
	T(dat_ep_disconnect(b, DAT_CLOSE_ABRUPT_FLAG));
	T(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)16, &rsp_param));
	T(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL));
	T(dat_rsp_query(ia, DAT_RSP_FIELD_ALL, &rsp_param));
	T(dat_rsp_free(rsp));
	T(dat_rsp_free(rsp));
}

#define CONNECT(ep, address, timeout, size, qos)                                       \
	T(dat_ep_connect(ep, address, qualifier, timeout, size, bytes, (DAT_QOS)(qos), \
	                 DAT_CONNECT_DEFAULT_FLAG))

static void connecting(void)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_SOCK_ADDR strange = {.sa_family = AF_UNIX};

	CONNECT(BAD, attr.ia_address_ptr, 1, 0, 0);
	CONNECT(a, NULL, 1, 0, 0);
	CONNECT(a, &strange, 1, 0, 0);
	CONNECT(a, attr.ia_address_ptr, 0, 0, 0);
	CONNECT(a, attr.ia_address_ptr, 1, 257, 0);
	CONNECT(a, attr.ia_address_ptr, 1, 0, DAT_QOS_PREMIUM);
	T(dat_ep_create(ia, pz, done_a, done_a, NO, NULL, &ep));
	CONNECT(ep, attr.ia_address_ptr, 1, 0, 0);
	T(dat_ep_dup_connect(BAD, a, 1, 0, NULL, DAT_QOS_BEST_EFFORT));
	T(dat_ep_dup_connect(b, BAD, 1, 0, NULL, DAT_QOS_BEST_EFFORT));
	T(dat_ep_dup_connect(b, a, 0, 0, NULL, DAT_QOS_BEST_EFFORT));
	T(dat_ep_dup_connect(b, a, 1, -1, NULL, DAT_QOS_BEST_EFFORT));
	T(dat_ep_dup_connect(b, a, 1, 0, NULL, DAT_QOS_PREMIUM));
	T(dat_ep_dup_connect(b, a, 1, 0, NULL, DAT_QOS_BEST_EFFORT));
	T(dat_psp_create_any(ia, &qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	CONNECT(a, attr.ia_address_ptr, 30000000, 0, 0);
	CONNECT(a, attr.ia_address_ptr, 30000000, 0, 0);
	T(dat_ep_reset(a));
	cr = next(requests, DAT_CONNECTION_REQUEST_EVENT)
	             .event_data.cr_arrival_event_data.cr_handle;
	T(dat_cr_query(BAD, DAT_CR_FIELD_ALL, &param));
	T(dat_cr_query(cr, (DAT_CR_PARAM_MASK)32, &param));
	T(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL));
	T(dat_cr_handoff(BAD, 1));
	T(dat_cr_handoff(cr, 4711));
	T(dat_cr_reject(BAD, 0, NULL));
	T(dat_cr_reject(cr, 257, bytes));
	T(dat_cr_accept(BAD, b, 0, NULL));
	T(dat_cr_accept(cr, NO, 0, NULL));
	T(dat_cr_accept(cr, b, 257, bytes));
	T(dat_cr_accept(cr, ud, 0, NULL));
	T(dat_cr_accept(cr, a, 0, NULL));
	T(dat_cr_accept(cr, ep, 0, NULL));
	T(dat_cr_accept(cr, b, 0, NULL));
	next(connections, DAT_CONNECTION_EVENT_ESTABLISHED);
	next(connections, DAT_CONNECTION_EVENT_ESTABLISHED);
	CONNECT(a, attr.ia_address_ptr, 30000000, 0, 0);
	T(dat_ep_reset(a));
	T(dat_ep_modify(a, DAT_EP_FIELD_PZ_HANDLE, &(DAT_EP_PARAM){.pz_handle = pz}));
}

/* Every kind of post, on an endpoint, with these segments. */
static void post(DAT_EP_HANDLE on, DAT_COUNT n, DAT_LMR_TRIPLET *local, DAT_RMR_TRIPLET *there)
{
	const DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_SUPPRESS_FLAG;

	T(dat_ep_post_send(on, n, local, cookie, flags));
	T(dat_ep_post_send_with_invalidate(on, n, local, cookie, flags, DAT_FALSE, 0));
	T(dat_ep_post_recv(on, n, local, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	T(dat_ep_post_rdma_write(on, n, local, cookie, there, flags));
	T(dat_ep_post_rdma_read(on, n, local, cookie, there, flags));
	T((dat_ib_post_rdma_write_immed)(on, n, local, cookie, there, 0, flags));
	T((dat_ib_post_fetch_and_add)(on, 1, local, cookie, there, flags));
	T((dat_ib_post_cmp_and_swap)(on, 1, 1, local, cookie, there, flags));
	T(dat_ep_post_rdma_read_to_rmr(on, there, cookie, there, flags));
	T((dat_ib_post_send_ud)(on, n, local, (DAT_IB_ADDR_HANDLE *)NULL, cookie, flags));
}

/* Binds, of this many bytes. */
static void window(DAT_EP_HANDLE on, DAT_SEG_LENGTH length, int rights)
{
	DAT_LMR_TRIPLET part = segment;

	part.segment_length = length;
	T(dat_rmr_bind(rmr, NO, &part, (DAT_MEM_PRIV_FLAGS)rights, DAT_VA_TYPE_VA, on, cookie,
	               DAT_COMPLETION_SUPPRESS_FLAG, NULL));
}

static void posting(void)
{
	DAT_IB_ADDR_HANDLE ah = {0};
	DAT_LMR_TRIPLET odd, none = nowhere, huge[2] = {{0, 0xffffffff, 0}, {0, 0xffffffff, 0}};
	DAT_RMR_TRIPLET small;

	segment = memory(bytes, 8, &remote);
	post(BAD, 1, &segment, &remote);
	post(shared, 1, &segment, &remote);
	post(ud, 1, &segment, &remote);
	T(dat_ep_create(ia, pz, NO, NO, connections, &(DAT_EP_ATTR){.max_recv_dtos = 0}, &ep));
	post(ep, 1, &segment, &remote);
	post(a, -1, &segment, &remote);
	post(a, 9, &segment, &remote);
	post(a, 1, NULL, &remote);
	post(a, 1, &segment, NULL);
	post(a, 2, huge, &remote);
	T(dat_ep_post_recv(a, 1, &none, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	odd = segment;
	odd.segment_length = 4;
	post(a, 0, &odd, &remote);
	small = remote;
	small.segment_length = 4;
	small.virtual_address++;
	post(a, 1, &segment, &small);
	window(BAD, 8, 0);
	window(shared, 8, 0);
	window(ud, 8, 0);
	window(a, 8, 0x8000);
	window(a, 99, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	T(dat_rmr_bind(BAD, NO, &segment, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA, a, cookie,
	               DAT_COMPLETION_DEFAULT_FLAG, NULL));
	T(dat_rmr_bind(rmr, BAD, &segment, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA, a, cookie,
	               DAT_COMPLETION_DEFAULT_FLAG, NULL));
	T(dat_rmr_bind(rmr, NO, NULL, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA, a, cookie,
	               DAT_COMPLETION_DEFAULT_FLAG, NULL));
	T((dat_ib_post_send_ud)(ud, 0, NULL, &ah, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	T((dat_ib_post_send_ud)(a, 0, NULL, &ah, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	T((dat_ib_ud_ah_free)(ud, NULL));
	T((dat_ib_ud_ah_free)(ud, &ah));
	T((dat_ib_ud_ah_free)(BAD, &ah));
	T((dat_ib_ud_cm_free)(BAD, context));
	T((dat_ib_ud_cm_free)(ud, context));
}

#include "man-dat-collectives.h"

static void ending(void)
{
	window(a, 8, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	T(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG));
	/* One of the posts may have broken the connection before: either event will do. */
	for (int i = 0; i < 2; i++)
		check(dat_evd_wait(connections, 30000000, 1, &event, &count));
	T(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG));
	CONNECT(a, attr.ia_address_ptr, 1, 0, 0);
	post(a, 1, &segment, &remote);
	T(dat_ep_reset(a));
	for (int i = 0; i < 17; i++)
		T(dat_ep_post_recv(a, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	T(dat_ep_free(a));
}

int main(void)
{
	begin();
	check(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	adapters();
	events();
	memories();
	endpoints();
	service_points();
	connecting();
	posting();
	collectives();
	ending();
	finish();
	return 0;
}
