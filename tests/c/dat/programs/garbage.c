/*
 * garbage.c - bad pointers. Each call that writes through pointers of the program is made with each
 * pointer in turn to unmapped memory, to read-only memory, and to the last bytes of a page before
 * an unmapped one: it returns DAT_INVALID_PARAMETER each time, no object is made, no event is lost,
 * and uDAPL goes on. NULL crashes nothing either. With the lane, and without.
 */
#define _GNU_SOURCE
#include "pair.h"

#include <dat2/dat_registry.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pair p;
static DAT_EVD_HANDLE evd;
static DAT_CNO_HANDLE cno;
static DAT_RMR_HANDLE rmr;
static DAT_PSP_HANDLE psp;
static DAT_SRQ_HANDLE srq;
static void *bad[4]; /* the last is NULL */

/* A call in which g is a pointer that is bad. */
#define TRY(...)                                                                         \
	for (int i_ = 0; i_ < 4; i_++) {                                                 \
		void *g = bad[i_];                                                       \
		DAT_RETURN r_ = (__VA_ARGS__);                                           \
		if (g && DAT_GET_TYPE(r_) != DAT_INVALID_PARAMETER)                      \
			pair_fail(__FILE__, __LINE__, i_ == 0   ? "not mapped: " #__VA_ARGS__    \
			                              : i_ == 1 ? "read-only: " #__VA_ARGS__     \
			                                        : "at the end: " #__VA_ARGS__,   \
			          r_);                                                   \
	}

static void make_bad(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	CHECK(mprotect(at + page, page, PROT_READ) == 0);
	CHECK(mprotect(at + 3 * page, page, PROT_NONE) == 0);
	bad[0] = (void *)0x8000; /* too low to be mapped, ever */
	bad[1] = at + page;
	bad[2] = at + 3 * page - 2;
}

static void adapters(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_INFO info, *infos[] = {&info};
	DAT_HANDLE handle;
	DAT_COUNT n;

	TRY(dat_ia_openv((DAT_NAME_PTR) "lapi-lo", 8, g, &handle, 2, 0, DAT_FALSE));
	TRY(dat_ia_openv((DAT_NAME_PTR) "lapi-lo", 8, &async, g, 2, 0, DAT_FALSE));
	TRY(dat_ia_query(p.ia, g, 0, NULL, 0, NULL));
	TRY(dat_ia_query(p.ia, &async, DAT_IA_FIELD_ALL, g, 0, NULL));
	TRY(dat_ia_query(p.ia, &async, 0, NULL, DAT_PROVIDER_FIELD_ALL, g));
	TRY(dat_get_consumer_context(p.ia, g));
	TRY(dat_get_handle_type(p.ia, g));
	TRY(dat_registry_list_providers(1, g, infos));
	TRY(dat_registry_list_providers(1, &n, (DAT_PROVIDER_INFO **)g));
	infos[0] = bad[0];
	CHECK(DAT_GET_TYPE(dat_registry_list_providers(1, &n, infos)) == DAT_INVALID_PARAMETER);
	TRY(dat_registry_providers_related((DAT_NAME_PTR) "lapi", (DAT_NAME_PTR) "lapi-lo", g));
	TRY(dat_ib_open_query((DAT_NAME_PTR) "lapi-lo", g, 0, NULL, 0, NULL));
	TRY(dat_ib_open_query((DAT_NAME_PTR) "lapi-lo", &handle, DAT_IA_FIELD_ALL, g, 0, NULL));
	TRY(dat_ib_open_query((DAT_NAME_PTR) "lapi-lo", &handle, 0, NULL, DAT_PROVIDER_FIELD_ALL, g));
	TRY(dat_ib_query_counters(p.a.ep, 0, g, 0));
	TRY(dat_ib_query_counters(p.ia, 0, g, 0));
	TRY(dats_get_ia_handle(p.ia, g));
	TRY(dat_strerror(DAT_ABORT, g, NULL));
	bad[3] = bad[0]; /* NULL is fine there */
	TRY(dat_strerror(DAT_ABORT, (const char **)&handle, g));
	bad[3] = NULL;
}

static void memory(void)
{
	const DAT_RMR_COOKIE cookie = {.as_64 = 1};
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 64);
	DAT_REGION_DESCRIPTION region = {.for_va = p.memory};
	DAT_LMR_HANDLE lmr;
	DAT_HANDLE handle;
	DAT_LMR_CONTEXT context;
	DAT_PZ_PARAM none;

#define LMR(...)                                                                         \
	TRY(dat_lmr_create(p.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, p.pz,                 \
	                   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, __VA_ARGS__))
	LMR(g, &context, NULL, NULL, NULL);
	LMR(g ? &lmr : NULL, g, NULL, NULL, NULL);
	LMR(g ? &lmr : NULL, &context, g, NULL, NULL);
	LMR(g ? &lmr : NULL, &context, NULL, g, NULL);
	LMR(g ? &lmr : NULL, &context, NULL, NULL, g);
	TRY(dat_lmr_query(p.lmr, DAT_LMR_FIELD_ALL, g));
	TRY(dat_pz_create(p.ia, g));
	TRY(dat_pz_query(p.pz, DAT_PZ_FIELD_ALL, g));
	MUST(dat_pz_query(p.pz, DAT_PZ_FIELD_ALL, &none));
	TRY(dat_rmr_create(p.pz, g));
	TRY(dat_rmr_create_for_ep(p.pz, g));
	TRY(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, g));
	bad[3] = bad[0]; /* NULL binds it */
	TRY(dat_rmr_bind(rmr, p.lmr, &local, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, p.a.ep, cookie,
	                 DAT_COMPLETION_DEFAULT_FLAG, g));
	bad[3] = NULL;
	MUST(dat_get_handle_type(p.lmr, (DAT_HANDLE_TYPE *)&handle));
}

static void endpoints(void)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
	DAT_CONN_QUAL qualifier;
	DAT_HANDLE handle;
	DAT_UINT32 size;
	DAT_COUNT n;

	TRY(dat_ep_create(p.ia, p.pz, p.a.recv, p.a.request, p.a.connection, NULL, g));
	TRY(dat_ep_create_with_srq(p.ia, p.pz, p.a.recv, p.a.request, p.a.connection, srq, NULL,
	                           g));
	TRY(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, g));
	TRY(dat_ep_get_status(p.a.ep, g, NULL, NULL));
	TRY(dat_ep_get_status(p.a.ep, NULL, g, NULL));
	TRY(dat_ep_get_status(p.a.ep, NULL, NULL, g));
	TRY(dat_ep_recv_query(p.a.ep, g, &n));
	TRY(dat_ep_recv_query(p.a.ep, &n, g));
	TRY(dat_srq_create(p.ia, p.pz, &attr, g));
	TRY(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, g));
	TRY(dat_psp_create(p.ia, 4711, p.requests, DAT_PSP_CONSUMER_FLAG, g));
	TRY(dat_psp_create_any(p.ia, g, p.requests, DAT_PSP_CONSUMER_FLAG, &handle));
	TRY(dat_psp_create_any(p.ia, &qualifier, p.requests, DAT_PSP_CONSUMER_FLAG, g));
	TRY(dat_psp_query(psp, DAT_PSP_FIELD_ALL, g));
	TRY(dat_rsp_create(p.ia, 4712, p.a.ep, p.requests, g));
	TRY(dat_ib_collective_create_member(p.ia, NULL, g, &size));
	TRY(dat_ib_collective_create_member(p.ia, NULL, (DAT_IB_COLLECTIVE_MEMBER *)&handle, g));
}

static void posts(void)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 3};
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 64);
	DAT_EP_PARAM param;

	(void)local;
	TRY(dat_ep_modify(p.a.ep, DAT_EP_FIELD_EP_ATTR_ALL, bad[0] == g || !g ? g : bad[0]));
	TRY(dat_evd_post_se(evd, !g || g == bad[1] ? bad[0] : g));
	TRY(dat_srq_post_recv(srq, 1, !g || g == bad[1] ? bad[0] : g, cookie));
	MUST(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &param));
}

/* Triplets that cannot be read, of a connected endpoint: the lane looks at them first. g is not
 * NULL: that is another error. */
#define POST(...)                                                                       	TRY(dat_ep_post_##__VA_ARGS__)

static void triplets(void)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 4};
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 64);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 8192, 64);
	void *readable = bad[1], *null = bad[3];

	bad[1] = bad[3] = bad[0];
	POST(send(p.a.ep, 1, g, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	POST(recv(p.a.ep, 1, g, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	POST(rdma_write(p.a.ep, 1, g, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	POST(rdma_write(p.a.ep, 1, &local, cookie, g, DAT_COMPLETION_DEFAULT_FLAG));
	POST(rdma_write(p.a.ep, 3, g, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	POST(rdma_write(p.a.ep, 1 << 30, g, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	POST(rdma_write(p.a.ep, -1, g, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	POST(rdma_read(p.a.ep, 1, g, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	POST(rdma_read(p.a.ep, 1, &local, cookie, g, DAT_COMPLETION_DEFAULT_FLAG));
	TRY(dat_ib_post_rdma_write_immed(p.a.ep, 1, g, cookie, &remote, 5,
	                                 DAT_COMPLETION_DEFAULT_FLAG));
	TRY(dat_ib_post_rdma_write_immed(p.a.ep, 1, &local, cookie, g, 5,
	                                 DAT_COMPLETION_DEFAULT_FLAG));
	local.segment_length = 8;
	TRY(dat_ib_post_fetch_and_add(p.a.ep, 1, g, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	TRY(dat_ib_post_fetch_and_add(p.a.ep, 1, &local, cookie, g, DAT_COMPLETION_DEFAULT_FLAG));
	TRY(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, g, cookie, &remote,
	                             DAT_COMPLETION_DEFAULT_FLAG));
	TRY(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, &local, cookie, g,
	                             DAT_COMPLETION_DEFAULT_FLAG));
	bad[1] = readable;
	bad[3] = null;
}

/* Bad pointers take no event away. */
static void events(DAT_EVD_HANDLE from)
{
	DAT_EVENT event;
	DAT_COUNT more;

	TRY(dat_evd_dequeue(from, g));
	TRY(dat_evd_wait(from, 1000, 1, g, &more));
	TRY(dat_evd_wait(from, 1000, 1, &event, g));
}

static void software(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_HANDLE handle;
	DAT_EVD_HANDLE none;
	int fd;

	TRY(dat_evd_create(p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, g));
	TRY(dat_evd_query(evd, DAT_EVD_FIELD_ALL, g));
	TRY(dat_cno_create(p.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, g));
	TRY(dat_cno_fd_create(p.ia, g, &handle));
	TRY(dat_cno_fd_create(p.ia, &fd, g));
	TRY(dat_cno_query(cno, DAT_CNO_FIELD_ALL, g));
	TRY(dat_cno_wait(cno, 1000, g));
	events(evd);
	memset(&event, 0, sizeof event);
	event.event_number = DAT_SOFTWARE_EVENT;
	event.event_data.software_event_data.pointer = bad;
	MUST(dat_evd_post_se(evd, &event));
	bad[3] = bad[0]; /* NULL takes the CNO's event */
	TRY(dat_cno_trigger(cno, g));
	bad[3] = NULL;
	events(evd);
	MUST(dat_cno_wait(cno, PAIR_WAIT, &none));
	CHECK(none == evd);
	MUST(dat_evd_wait(evd, PAIR_WAIT, 1, &event, &more));
	CHECK(event.event_data.software_event_data.pointer == bad);
}

static void transfers(void)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 2};
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 64);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 8192, 64);
	DAT_EVENT event;
	DAT_COUNT more;

	for (int i = 0; i < 100; i++) {
		MUST(dat_ep_post_rdma_write(p.a.ep, 1, &local, cookie, &remote, 0));
		events(p.a.request);
		MUST(dat_evd_wait(p.a.request, PAIR_WAIT, 1, &event, &more));
		CHECK(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
		CHECK(event.event_data.dto_completion_event_data.user_cookie.as_64 == 2);
		events(p.a.request);
	}
}

static int run(void)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
	DAT_CONN_QUAL qualifier;

	make_bad();
	pair_open(&p, 8);
	MUST(dat_cno_create(p.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	MUST(dat_evd_create(p.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	MUST(dat_rmr_create(p.pz, &rmr));
	MUST(dat_srq_create(p.ia, p.pz, &attr, &srq));
	MUST(dat_psp_create_any(p.ia, &qualifier, p.requests, DAT_PSP_CONSUMER_FLAG, &psp));
	adapters();
	memory();
	endpoints();
	posts();
	triplets();
	software();
	transfers();
	MUST(dat_srq_free(srq));
	MUST(dat_psp_free(psp));
	MUST(dat_rmr_free(rmr));
	MUST(dat_evd_free(evd));
	MUST(dat_cno_free(cno));
	pair_close(&p); /* nothing is left of calls that failed */
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const lanes[] = {"on", "off", "random"};

	if (argc > 1)
		return run();
	for (int i = 0; i < 3; i++) {
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			setenv("LAPI_FASTLANE", lanes[i], 1);
			execl("/proc/self/exe", argv[0], "run", (char *)NULL);
			_exit(9);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	puts("garbage: passed");
	return 0;
}
