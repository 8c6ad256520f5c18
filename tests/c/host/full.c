/*
 * full.c - a program takes each descriptor number that is free, before LAPI_Init and after it: calls
 * return codes, none hangs, and when the numbers are free again all works.
 *
 * Arguments: none: as a task of two; "dat": uDAPL alone. The soft limit of descriptors is the hard
 * one, so that the library finds no number above it either.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dat2/udat.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { SECONDS = 120, LIMIT = 256 };

static int taken[LIMIT], num_taken;

static void take_all(void)
{
	int fd;

	while (num_taken < LIMIT && (fd = fcntl(2, F_DUPFD_CLOEXEC, 3)) >= 0)
		taken[num_taken++] = fd;
	HOST_CHECK(errno == EMFILE);
}

static void give_all(void)
{
	while (num_taken > 0)
		close(taken[--num_taken]);
}

static void limit_files(void)
{
	const struct rlimit limit = {LIMIT, LIMIT};

	HOST_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* LAPI_Init fails in both tasks, and then succeeds in both. */
static int before_init(void)
{
	lapi_info_t info;
	lapi_handle_t handle;
	int code;

	limit_files();
	host_info(&info);
	take_all();
	code = LAPI_Init(&handle, &info);
	HOST_CHECK(code != LAPI_SUCCESS);
	give_all();
	return host_case_failures;
}

/* The library has all descriptors that it needs from LAPI_Init on, or returns an error; LAPI_Term
 * works in any case. */
static int after_init(void)
{
	lapi_info_t info;
	lapi_handle_t handle;

	limit_files();
	host_info(&info);
	HOST_OK(LAPI_Init(&handle, &info));
	take_all();
	host_use(handle);
	give_all();
	host_use(handle);
	take_all();
	HOST_OK(LAPI_Term(handle));
	give_all();
	return host_case_failures;
}

static DAT_IA_HANDLE adapter;
static DAT_EVD_HANDLE events;

static DAT_RETURN open_adapter(void)
{
	events = DAT_HANDLE_NULL;
	return dat_ia_open("lapi-lo", 8, &events, &adapter);
}

/* Connects an endpoint of this process to another, with all numbers taken or not. */
static DAT_RETURN connect_self(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	DAT_EVD_HANDLE connection = DAT_HANDLE_NULL, requests = DAT_HANDLE_NULL,
	               transfers = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr = {.max_recv_dtos = 2, .max_request_dtos = 2, .max_recv_iov = 1,
	                    .max_request_iov = 1};
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qualifier = 0;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN r;

	r = dat_pz_create(adapter, &pz);
	if (r == DAT_SUCCESS)
		r = dat_evd_create(adapter, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
		                   &connection);
	if (r == DAT_SUCCESS)
		r = dat_evd_create(adapter, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests);
	if (r == DAT_SUCCESS)
		r = dat_evd_create(adapter, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &transfers);
	if (r == DAT_SUCCESS)
		r = dat_ep_create(adapter, pz, transfers, transfers, connection, &attr, &ep);
	if (r == DAT_SUCCESS)
		r = dat_psp_create_any(adapter, &qualifier, requests, DAT_PSP_CONSUMER_FLAG, &psp);
	if (r == DAT_SUCCESS)
		r = dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, qualifier, 20000000, 0, NULL,
		                   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (r == DAT_SUCCESS)
		r = dat_evd_wait(requests, 20000000, 1, &event, &more);
	if (psp)
		dat_psp_free(psp);
	if (ep)
		dat_ep_free(ep);
	if (requests)
		dat_evd_free(requests);
	if (transfers)
		dat_evd_free(transfers);
	if (connection)
		dat_evd_free(connection);
	if (pz)
		dat_pz_free(pz);
	return r;
}

static int with_adapters(void)
{
	DAT_RETURN r;

	limit_files();
	take_all();
	r = open_adapter();
	HOST_CHECK(DAT_GET_TYPE(r) == DAT_INSUFFICIENT_RESOURCES);
	give_all();
	HOST_CHECK(open_adapter() == DAT_SUCCESS);
	take_all();
	r = connect_self();
	if (r != DAT_SUCCESS)
		fprintf(stderr, "without a descriptor: %#x\n", (unsigned)r);
	HOST_CHECK(r == DAT_SUCCESS || DAT_GET_TYPE(r) == DAT_INSUFFICIENT_RESOURCES);
	give_all();
	HOST_CHECK(connect_self() == DAT_SUCCESS);
	HOST_CHECK(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	return host_case_failures;
}

static void in_child(int (*work)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		_exit(work());
	}
	HOST_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	int quiet;

	alarm(3 * SECONDS);
	if (argc > 1 && strcmp(argv[1], "dat") == 0) {
		in_child(with_adapters);
		host_end_case("adapters", 0);
		return host_close("full", 0);
	}
	quiet = atoi(getenv("MP_CHILD")) != 0;
	in_child(before_init);
	host_end_case("before_init", quiet);
	in_child(after_init);
	host_end_case("after_init", quiet);
	return host_close("full", quiet);
}
