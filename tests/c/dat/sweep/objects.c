/* objects.c - the objects that arguments name: adapters, zones, regions, EVDs, one of each kind. */
#include "sweep.h"

objects mine, other;

const char *const memory_names[MEMORIES] = {
	"right",           "no privileges",    "local read only", "no remote read",
	"no remote write", "no remote atomic", "of another zone", "freed"};

static const int privileges_of[MEMORIES] = {[ALL] = 0x73,
                                            [NOTHING] = 0,
                                            [LOCAL_READ] = 0x1,
                                            [NO_REMOTE_READ] = 0x71,
                                            [NO_REMOTE_WRITE] = 0x53,
                                            [NO_ATOMIC] = 0x33,
                                            [OTHER_ZONE] = 0x73,
                                            [FREED] = 0x73};

static const char *const names[KINDS] = {"CR", "EP",  "EVD", "IA",  "LMR", "PSP",
                                         "PZ", "RMR", "RSP", "CNO", "SRQ"};

const char *name_of(int type)
{
	return names[type];
}

int type_of(DAT_HANDLE handle)
{
	DAT_HANDLE_TYPE type;

	return dat_get_handle_type(handle, &type) == DAT_SUCCESS ? (int)type : NO_HANDLE;
}

static char *adapter_name(void)
{
	char *name = getenv("SWEEP_IA");

	return name ? name : "lapi-lo";
}

struct sockaddr *address_of_peer(void)
{
	static struct sockaddr_storage at;
	DAT_IA_ATTR attr;

	MUST(dat_ia_query(mine.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memcpy(&at, attr.ia_address_ptr,
	       attr.ia_address_ptr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
	                                                 : sizeof(struct sockaddr_in6));
	return (struct sockaddr *)&at;
}

void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		;
}

unsigned connection_event(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT *event)
{
	DAT_COUNT more;

	while (dat_evd_wait(evd, PAIR_WAIT, 1, event, &more) == DAT_SUCCESS)
		if (event->event_data.connect_event_data.ep_handle == ep)
			return (unsigned)event->event_number;
	return 0;
}

static DAT_LMR_HANDLE new_region(objects *o, DAT_PZ_HANDLE pz, int privileges,
                                 DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote)
{
	DAT_REGION_DESCRIPTION region = {.for_va = o->arena};
	DAT_LMR_HANDLE lmr;

	MUST(dat_lmr_create(o->ia, DAT_MEM_TYPE_VIRTUAL, region, ARENA, pz,
	                    (DAT_MEM_PRIV_FLAGS)privileges, DAT_VA_TYPE_VA, &lmr, local, remote,
	                    NULL, NULL));
	return lmr;
}

void objects_open(objects *o)
{
	int i;

	MUST(dat_ia_open(adapter_name(), 8, &o->async, &o->ia));
	MUST(dat_pz_create(o->ia, &o->pz));
	MUST(dat_pz_create(o->ia, &o->pz2));
	MUST(dat_evd_create(o->ia, 256, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &o->recv));
	MUST(dat_evd_create(o->ia, 256, DAT_HANDLE_NULL,
	                    (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG),
	                    &o->request));
	MUST(dat_evd_create(o->ia, 256, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &o->connection));
	MUST(dat_evd_create(o->ia, 256, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &o->requests));
	MUST(dat_evd_create(o->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &o->soft));
	o->memory.address = (DAT_VADDR)(size_t)o->arena;
	for (i = 0; i < MEMORIES; i++)
		o->lmr[i] = new_region(o, i == OTHER_ZONE ? o->pz2 : o->pz, privileges_of[i],
		                       &o->memory.local[i], &o->memory.remote[i]);
	MUST(dat_lmr_free(o->lmr[FREED]));
}

DAT_EP_HANDLE new_endpoint(objects *o, int service, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = {.service_type = (DAT_SERVICE_TYPE)service,
	                    .max_recv_dtos = MOST_REQUESTS,
	                    .max_request_dtos = MOST_REQUESTS,
	                    .max_recv_iov = MOST_SEGMENTS,
	                    .max_request_iov = MOST_SEGMENTS,
	                    .max_rdma_read_in = 4,
	                    .max_rdma_read_out = 4,
	                    .max_rdma_read_iov = 1,
	                    .max_rdma_write_iov = 1};
	DAT_EP_HANDLE ep;

	if (srq)
		MUST(dat_ep_create_with_srq(o->ia, o->pz, o->recv, o->request, o->connection, srq,
		                            &attr, &ep));
	else
		MUST(dat_ep_create(o->ia, o->pz, o->recv, o->request, o->connection, &attr, &ep));
	return ep;
}

static DAT_RSP_HANDLE new_reserved(objects *o)
{
	static DAT_CONN_QUAL qualifier = 3000;
	DAT_EP_HANDLE ep = new_endpoint(o, DAT_SERVICE_TYPE_RC, DAT_HANDLE_NULL);
	DAT_RSP_HANDLE rsp;
	DAT_RETURN result;

	do
		result = dat_rsp_create(o->ia, qualifier++, ep, o->requests, &rsp);
	while (DAT_GET_TYPE(result) == DAT_CONN_QUAL_IN_USE);
	MUST(result);
	return rsp;
}

static DAT_HANDLE new_object(objects *o, int type)
{
	const DAT_OS_WAIT_PROXY_AGENT none = {NULL, NULL};
	DAT_SRQ_ATTR attr = {MOST_REQUESTS, MOST_SEGMENTS, DAT_SRQ_LW_DEFAULT};
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qualifier;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;

	switch (type) {
	case DAT_HANDLE_TYPE_CR:
		return new_request(o, DAT_SERVICE_TYPE_RC, NULL);
	case DAT_HANDLE_TYPE_EP:
		return new_endpoint(o, DAT_SERVICE_TYPE_RC, DAT_HANDLE_NULL);
	case DAT_HANDLE_TYPE_EVD:
		MUST(dat_evd_create(o->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &handle));
		return handle;
	case DAT_HANDLE_TYPE_IA:
		MUST(dat_ia_open(adapter_name(), 8, &async, &handle));
		return handle;
	case DAT_HANDLE_TYPE_LMR:
		return new_region(o, o->pz, privileges_of[ALL], &local, &remote);
	case DAT_HANDLE_TYPE_PSP:
		MUST(dat_psp_create_any(o->ia, &qualifier, o->requests, DAT_PSP_CONSUMER_FLAG,
		                        &handle));
		return handle;
	case DAT_HANDLE_TYPE_PZ:
		MUST(dat_pz_create(o->ia, &handle));
		return handle;
	case DAT_HANDLE_TYPE_RMR:
		MUST(dat_rmr_create(o->pz, &handle));
		return handle;
	case DAT_HANDLE_TYPE_RSP:
		return new_reserved(o);
	case DAT_HANDLE_TYPE_CNO:
		MUST(dat_cno_create(o->ia, none, &handle));
		return handle;
	default:
		MUST(dat_srq_create(o->ia, o->pz, &attr, &handle));
		return handle;
	}
}

DAT_HANDLE idle(objects *o, int type)
{
	if (type_of(o->idle[type]) != type)
		o->idle[type] = new_object(o, type);
	return o->idle[type];
}

DAT_HANDLE freed(int type)
{
	DAT_HANDLE handle = new_object(&mine, type);

	release(handle);
	CHECK(type_of(handle) == NO_HANDLE);
	return handle;
}

static DAT_RETURN release_reserved(DAT_RSP_HANDLE rsp)
{
	DAT_RSP_PARAM param;

	MUST(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	MUST(dat_rsp_free(rsp));
	return dat_ep_free(param.ep_handle);
}

void release(DAT_HANDLE handle)
{
	switch (type_of(handle)) {
	case DAT_HANDLE_TYPE_CR:
		MUST(dat_cr_reject(handle, 0, NULL));
		return;
	case DAT_HANDLE_TYPE_EP:
		MUST(dat_ep_free(handle));
		return;
	case DAT_HANDLE_TYPE_EVD:
		MUST(dat_evd_free(handle));
		return;
	case DAT_HANDLE_TYPE_IA:
		MUST(dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG));
		return;
	case DAT_HANDLE_TYPE_LMR:
		MUST(dat_lmr_free(handle));
		return;
	case DAT_HANDLE_TYPE_PSP:
		MUST(dat_psp_free(handle));
		return;
	case DAT_HANDLE_TYPE_PZ:
		MUST(dat_pz_free(handle));
		return;
	case DAT_HANDLE_TYPE_RMR:
		MUST(dat_rmr_free(handle));
		return;
	case DAT_HANDLE_TYPE_RSP:
		MUST(release_reserved(handle));
		return;
	case DAT_HANDLE_TYPE_CNO:
		MUST(dat_cno_free(handle));
		return;
	case DAT_HANDLE_TYPE_SRQ:
		MUST(dat_srq_free(handle));
		return;
	default:
		return;
	}
}
