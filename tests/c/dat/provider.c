/*
 * provider.c - a provider's view of the headers: a table of functions, each of which is reached by
 * its macro through a handle, and by no other.
 */
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <string.h>

static int failed, checked;
static const char *reached;

/* Every function of the table says its own name; the compiler checks types at the calls below. */
/* clang-format off */
#define NAMES(X) \
	X(ia_query) X(ia_close) X(set_consumer_context) X(get_consumer_context) \
	X(get_handle_type) X(cno_create) X(cno_modify_agent) X(cno_query) X(cno_free) \
	X(cno_wait) X(cr_query) X(cr_accept) X(cr_reject) X(cr_handoff) X(evd_create) \
	X(evd_query) X(evd_modify_cno) X(evd_enable) X(evd_disable) X(evd_wait) X(evd_resize) \
	X(evd_post_se) X(evd_dequeue) X(evd_free) X(ep_create) X(ep_query) X(ep_modify) \
	X(ep_connect) X(ep_dup_connect) X(ep_disconnect) X(ep_post_send) X(ep_post_recv) \
	X(ep_post_rdma_read) X(ep_post_rdma_write) X(ep_get_status) X(ep_free) X(lmr_create) \
	X(lmr_query) X(lmr_free) X(rmr_create) X(rmr_query) X(rmr_bind) X(rmr_free) \
	X(psp_create) X(psp_query) X(psp_free) X(rsp_create) X(rsp_query) X(rsp_free) \
	X(pz_create) X(pz_query) X(pz_free) X(psp_create_any) X(ep_reset) \
	X(evd_set_unwaitable) X(evd_clear_unwaitable) X(lmr_sync_rdma_read) \
	X(lmr_sync_rdma_write) X(ep_create_with_srq) X(ep_recv_query) X(ep_set_watermark) \
	X(srq_create) X(srq_free) X(srq_post_recv) X(srq_query) X(srq_resize) X(srq_set_lw) \
	X(csp_create) X(csp_query) X(csp_free) X(ep_common_connect) X(rmr_create_for_ep) \
	X(ep_post_send_with_invalidate) X(ep_post_rdma_read_to_rmr) X(cno_fd_create) \
	X(cno_trigger) X(ia_ha_related) X(handle_extendedop)
/* clang-format on */

#define DEFINE(name)                        \
	static DAT_RETURN fake_##name(void) \
	{                                   \
		reached = #name;            \
		return DAT_SUCCESS;         \
	}
NAMES(DEFINE)

/* On this machine's calling convention a function without parameters may be called with any. */
#define STORE(name)                                             \
	{                                                       \
		DAT_RETURN (*fake)(void) = fake_##name;         \
		memcpy(&table.name##_func, &fake, sizeof fake); \
	}

static DAT_PROVIDER table;
static DAT_PROVIDER *object = &table; /* a provider's object begins with its table */

#define CALLS(name, call)                                                    \
	do {                                                                 \
		reached = "nothing";                                         \
		checked++;                                                   \
		if (call != DAT_SUCCESS || strcmp(reached, #name) != 0) {    \
			failed++;                                            \
			printf("provider: %s reaches %s\n", #call, reached); \
		}                                                            \
	} while (0)

static DAT_IA_HANDLE ia = &object;
static DAT_EP_HANDLE ep = &object;
static DAT_EVD_HANDLE evd = &object;
static DAT_CNO_HANDLE cno = &object;
static DAT_PZ_HANDLE pz = &object;
static DAT_LMR_HANDLE lmr = &object;
static DAT_RMR_HANDLE rmr = &object;
static DAT_PSP_HANDLE psp = &object;
static DAT_RSP_HANDLE rsp = &object;
static DAT_CSP_HANDLE csp = &object;
static DAT_CR_HANDLE cr = &object;
static DAT_SRQ_HANDLE srq = &object;
static DAT_HANDLE handle = &object;

static DAT_COUNT count;
static DAT_CONTEXT context;
static DAT_PVOID data;
static DAT_TIMEOUT timeout;
static DAT_CONN_QUAL qual;
static DAT_IA_ADDRESS_PTR address;
static DAT_LMR_TRIPLET local[1];
static DAT_RMR_TRIPLET remote;
static DAT_RMR_CONTEXT rmr_context;

static void adapters_and_memory(void)
{
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR provider_attr;
	DAT_HANDLE_TYPE handle_type;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_PARAM lmr_param;
	DAT_RMR_PARAM rmr_param;
	DAT_PZ_PARAM pz_param;
	DAT_LMR_CONTEXT lmr_context;
	DAT_VLEN length = 0;
	DAT_VADDR vaddr;
	DAT_BOOLEAN truth;
	static char name[] = "name";

	region.for_va = NULL;
	CALLS(ia_query, DAT_IA_QUERY(ia, &evd, 0, &ia_attr, 0, &provider_attr));
	CALLS(set_consumer_context, DAT_SET_CONSUMER_CONTEXT(handle, context));
	CALLS(get_consumer_context, DAT_GET_CONSUMER_CONTEXT(handle, &context));
	CALLS(get_handle_type, DAT_GET_HANDLE_TYPE(handle, &handle_type));
	CALLS(lmr_create,
	      DAT_LMR_CREATE(ia, DAT_MEM_TYPE_VIRTUAL, region, length, pz, DAT_MEM_PRIV_NONE_FLAG,
	                     DAT_VA_TYPE_VA, &lmr, &lmr_context, &rmr_context, &length, &vaddr));
	CALLS(lmr_query, DAT_LMR_QUERY(lmr, DAT_LMR_FIELD_ALL, &lmr_param));
	CALLS(lmr_free, DAT_LMR_FREE(lmr));
	CALLS(rmr_create, DAT_RMR_CREATE(pz, &rmr));
	CALLS(rmr_query, DAT_RMR_QUERY(rmr, DAT_RMR_FIELD_ALL, &rmr_param));
	CALLS(rmr_bind, DAT_RMR_BIND(rmr, lmr, local, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA, ep,
	                             context, DAT_COMPLETION_DEFAULT_FLAG, &rmr_context));
	CALLS(rmr_free, DAT_RMR_FREE(rmr));
	CALLS(pz_create, DAT_PZ_CREATE(ia, &pz));
	CALLS(pz_query, DAT_PZ_QUERY(pz, DAT_PZ_FIELD_ALL, &pz_param));
	CALLS(pz_free, DAT_PZ_FREE(pz));
	CALLS(lmr_sync_rdma_read, DAT_LMR_SYNC_RDMA_READ(ia, local, count));
	CALLS(lmr_sync_rdma_write, DAT_LMR_SYNC_RDMA_WRITE(ia, local, count));
	CALLS(rmr_create_for_ep, DAT_RMR_CREATE_FOR_EP(pz, &rmr));
	CALLS(ia_ha_related, DAT_IA_HA_RELATED(ia, name, &truth));
}

static void events(void)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_CNO_PARAM cno_param;
	DAT_EVD_PARAM evd_param;
	static DAT_EVENT event;
	DAT_FD fd;

	CALLS(cno_create, DAT_CNO_CREATE(ia, agent, &cno));
	CALLS(cno_modify_agent, DAT_CNO_MODIFY_AGENT(cno, agent));
	CALLS(cno_query, DAT_CNO_QUERY(cno, DAT_CNO_FIELD_ALL, &cno_param));
	CALLS(cno_free, DAT_CNO_FREE(cno));
	CALLS(cno_wait, DAT_CNO_WAIT(cno, timeout, &evd));
	CALLS(evd_create, DAT_EVD_CREATE(ia, count, cno, DAT_EVD_DEFAULT_FLAG, &evd));
	CALLS(evd_query, DAT_EVD_QUERY(evd, DAT_EVD_FIELD_ALL, &evd_param));
	CALLS(evd_modify_cno, DAT_EVD_MODIFY_CNO(evd, cno));
	CALLS(evd_enable, DAT_EVD_ENABLE(evd));
	CALLS(evd_disable, DAT_EVD_DISABLE(evd));
	CALLS(evd_wait, DAT_EVD_WAIT(evd, timeout, count, &event, &count));
	CALLS(evd_resize, DAT_EVD_RESIZE(evd, count));
	CALLS(evd_post_se, DAT_EVD_POST_SE(evd, &event));
	CALLS(evd_dequeue, DAT_EVD_DEQUEUE(evd, &event));
	CALLS(evd_free, DAT_EVD_FREE(evd));
	CALLS(evd_set_unwaitable, DAT_EVD_SET_UNWAITABLE(evd));
	CALLS(evd_clear_unwaitable, DAT_EVD_CLEAR_UNWAITABLE(evd));
	CALLS(cno_fd_create, DAT_CNO_FD_CREATE(ia, &fd, &cno));
	CALLS(cno_trigger, DAT_CNO_TRIGGER(cno, &evd));
}

static void service_points(void)
{
	DAT_CR_PARAM cr_param;
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_CSP_PARAM csp_param;
	static DAT_COMM comm;

	CALLS(cr_query, DAT_CR_QUERY(cr, DAT_CR_FIELD_ALL, &cr_param));
	CALLS(cr_accept, DAT_CR_ACCEPT(cr, ep, count, data));
	CALLS(cr_reject, DAT_CR_REJECT(cr, count, data));
	CALLS(cr_handoff, DAT_CR_HANDOFF(cr, qual));
	CALLS(psp_create, DAT_PSP_CREATE(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	CALLS(psp_query, DAT_PSP_QUERY(psp, DAT_PSP_FIELD_ALL, &psp_param));
	CALLS(psp_free, DAT_PSP_FREE(psp));
	CALLS(rsp_create, DAT_RSP_CREATE(ia, qual, ep, evd, &rsp));
	CALLS(rsp_query, DAT_RSP_QUERY(rsp, DAT_RSP_FIELD_ALL, &rsp_param));
	CALLS(rsp_free, DAT_RSP_FREE(rsp));
	CALLS(psp_create_any, DAT_PSP_CREATE_ANY(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	CALLS(csp_create, DAT_CSP_CREATE(ia, &comm, address, evd, &csp));
	CALLS(csp_query, DAT_CSP_QUERY(csp, DAT_CSP_FIELD_ALL, &csp_param));
	CALLS(csp_free, DAT_CSP_FREE(csp));
}

static void endpoints(void)
{
	static DAT_EP_ATTR ep_attr;
	static DAT_EP_PARAM ep_param;
	DAT_EP_STATE ep_state;
	DAT_BOOLEAN truth;
	static DAT_SRQ_ATTR srq_attr;
	DAT_SRQ_PARAM srq_param;

	CALLS(ep_create, DAT_EP_CREATE(ia, pz, evd, evd, evd, &ep_attr, &ep));
	CALLS(ep_query, DAT_EP_QUERY(ep, 0, &ep_param));
	CALLS(ep_modify, DAT_EP_MODIFY(ep, 0, &ep_param));
	CALLS(ep_connect, DAT_EP_CONNECT(ep, address, qual, timeout, count, data,
	                                 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	CALLS(ep_dup_connect,
	      DAT_EP_DUP_CONNECT(ep, ep, timeout, count, data, DAT_QOS_BEST_EFFORT));
	CALLS(ep_disconnect, DAT_EP_DISCONNECT(ep, DAT_CLOSE_DEFAULT));
	CALLS(ep_post_send,
	      DAT_EP_POST_SEND(ep, count, local, context, DAT_COMPLETION_DEFAULT_FLAG));
	CALLS(ep_post_recv,
	      DAT_EP_POST_RECV(ep, count, local, context, DAT_COMPLETION_DEFAULT_FLAG));
	CALLS(ep_post_rdma_read, DAT_EP_POST_RDMA_READ(ep, count, local, context, &remote,
	                                               DAT_COMPLETION_DEFAULT_FLAG));
	CALLS(ep_post_rdma_write, DAT_EP_POST_RDMA_WRITE(ep, count, local, context, &remote,
	                                                 DAT_COMPLETION_DEFAULT_FLAG));
	CALLS(ep_get_status, DAT_EP_GET_STATUS(ep, &ep_state, &truth, &truth));
	CALLS(ep_free, DAT_EP_FREE(ep));
	CALLS(ep_reset, DAT_EP_RESET(ep));
	CALLS(ep_create_with_srq,
	      DAT_EP_CREATE_WITH_SRQ(ia, pz, evd, evd, evd, srq, &ep_attr, &ep));
	CALLS(ep_recv_query, DAT_EP_RECV_QUERY(ep, &count, &count));
	CALLS(ep_set_watermark, DAT_EP_SET_WATERMARK(ep, count, count));
	CALLS(srq_create, DAT_SRQ_CREATE(ia, pz, &srq_attr, &srq));
	CALLS(srq_free, DAT_SRQ_FREE(srq));
	CALLS(srq_post_recv, DAT_SRQ_POST_RECV(srq, count, local, context));
	CALLS(srq_query, DAT_SRQ_QUERY(srq, DAT_SRQ_FIELD_ALL, &srq_param));
	CALLS(srq_resize, DAT_SRQ_RESIZE(srq, count));
	CALLS(srq_set_lw, DAT_SRQ_SET_LW(srq, count));
	CALLS(ep_common_connect, DAT_EP_COMMON_CONNECT(ep, address, timeout, count, data));
	CALLS(ep_post_send_with_invalidate,
	      DAT_EP_POST_SEND_WITH_INVALIDATE(ep, count, local, context,
	                                       DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, rmr_context));
	CALLS(ep_post_rdma_read_to_rmr, DAT_EP_POST_RDMA_READ_TO_RMR(ep, &remote, context, &remote,
	                                                             DAT_COMPLETION_DEFAULT_FLAG));
}

static void extended(int n, ...)
{
	va_list args;

	va_start(args, n);
	CALLS(handle_extendedop, DAT_HANDLE_EXTENDEDOP(handle, 1, args));
	va_end(args);
}

int main(void)
{
	NAMES(STORE)
	adapters_and_memory();
	events();
	service_points();
	endpoints();
	extended(0);
	printf("provider: %d checked, %d failed\n", checked, failed);
	return failed != 0 || checked == 0;
}
