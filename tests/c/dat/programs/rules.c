/*
 * rules.c - flags, types and lengths that each call refuses, with the number of the argument; the
 * parts of an endpoint that dat_ep_modify changes and dat_ep_query shows; a CNO with an agent;
 * messages when descriptors are short, and for a wrong dat.conf; names of results. With the fast
 * lane and without: the program runs itself again.
 */
#include "pair.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRONG(argument) ((DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | (argument)))
#define REFUSED(call, result)                                                \
	do {                                                                 \
		DAT_RETURN refused = (call);                                 \
		if (refused != (DAT_RETURN)(result))                         \
			pair_fail(__FILE__, __LINE__, #call, refused);       \
	} while (0)

enum { UNKNOWN = 0x8000, QUALIFIER = 5200 };

static pair p;
static int agents;

static void flags_of_posts(void)
{
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 8);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 64, 8);
	const DAT_DTO_COOKIE cookie = {.as_64 = 1};
	const DAT_COMPLETION_FLAGS bad = (DAT_COMPLETION_FLAGS)UNKNOWN;

	REFUSED(dat_ep_post_send(p.a.ep, 1, &local, cookie, bad), WRONG(DAT_INVALID_ARG5));
	REFUSED(dat_ep_post_recv(p.a.ep, 1, &local, cookie, bad), WRONG(DAT_INVALID_ARG5));
	REFUSED(dat_ep_post_send_with_invalidate(p.a.ep, 1, &local, cookie, bad, DAT_FALSE, 0),
	        WRONG(DAT_INVALID_ARG5));
	REFUSED(dat_ep_post_rdma_read(p.a.ep, 1, &local, cookie, &remote, bad),
	        WRONG(DAT_INVALID_ARG6));
	REFUSED(dat_ep_post_rdma_write(p.a.ep, 1, &local, cookie, &remote, bad),
	        WRONG(DAT_INVALID_ARG6));
	REFUSED(dat_ib_post_fetch_and_add(p.a.ep, 1, &local, cookie, &remote, bad),
	        WRONG(DAT_INVALID_ARG6));
	REFUSED(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, &local, cookie, &remote, bad),
	        WRONG(DAT_INVALID_ARG7));
	REFUSED(dat_ib_post_rdma_write_immed(p.a.ep, 1, &local, cookie, &remote, 5, bad),
	        WRONG(DAT_INVALID_ARG7));
	remote.segment_length = 7;
	REFUSED(dat_ep_post_rdma_read(p.a.ep, 1, &local, cookie, &remote, 0),
	        DAT_CLASS_ERROR | DAT_LENGTH_ERROR);
	REFUSED(dat_ep_post_rdma_write(p.a.ep, 1, &local, cookie, &remote, 0),
	        DAT_CLASS_ERROR | DAT_LENGTH_ERROR);
	remote.segment_length = 9; /* more than is written may be there */
	MUST(dat_ep_post_rdma_write(p.a.ep, 1, &local, cookie, &remote, 0));
	pair_event(p.a.request, DAT_DTO_COMPLETION_EVENT);
}

static void flags_of_calls(void)
{
	DAT_REGION_DESCRIPTION region = {.for_va = p.memory};
	DAT_RMR_CONTEXT remote;
	DAT_LMR_CONTEXT local;
	DAT_CONN_QUAL qualifier;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	const DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_LMR_TRIPLET triplet = pair_local(&p, 0, 8);

	REFUSED(dat_psp_create(p.ia, QUALIFIER, p.requests, (DAT_PSP_FLAGS)7, &psp),
	        WRONG(DAT_INVALID_ARG4));
	REFUSED(dat_psp_create_any(p.ia, &qualifier, p.requests, (DAT_PSP_FLAGS)7, &psp),
	        WRONG(DAT_INVALID_ARG4));
	REFUSED(dat_lmr_create(p.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, p.pz, DAT_MEM_PRIV_ALL_FLAG,
	                       (DAT_VA_TYPE)5, &lmr, &local, &remote, NULL, NULL),
	        WRONG(DAT_INVALID_ARG7));
	MUST(dat_rmr_create(p.pz, &rmr));
	REFUSED(dat_rmr_bind(rmr, p.lmr, &triplet, DAT_MEM_PRIV_ALL_FLAG, (DAT_VA_TYPE)5, p.a.ep,
	                     cookie, 0, &remote),
	        WRONG(DAT_INVALID_ARG5));
	REFUSED(dat_rmr_bind(rmr, p.lmr, &triplet, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, p.a.ep,
	                     cookie, (DAT_COMPLETION_FLAGS)UNKNOWN, &remote),
	        WRONG(DAT_INVALID_ARG8));
	MUST(dat_rmr_free(rmr));
	REFUSED(dat_ep_disconnect(p.a.ep, (DAT_CLOSE_FLAGS)9), WRONG(DAT_INVALID_ARG2));
	REFUSED(dat_ia_close(p.ia, (DAT_CLOSE_FLAGS)5), WRONG(DAT_INVALID_ARG2));
}

static void one_attribute(void)
{
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;
	DAT_EP_PARAM param, now;

	memset(&attr, 0, sizeof attr);
	attr.max_message_size = 65536;
	attr.max_recv_dtos = 10;
	attr.max_request_dtos = 12;
	attr.max_recv_iov = 3;
	attr.max_request_iov = 5;
	MUST(dat_ep_create(p.ia, p.pz, p.a.recv, p.a.request, p.a.connection, &attr, &ep));
	memset(&param, 0, sizeof param);
	param.ep_attr.max_recv_dtos = 20;
	MUST(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	memset(&param, 0, sizeof param);
	param.ep_attr.max_rdma_write_iov = 2;
	MUST(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, &param));
	MUST(dat_ep_query(ep, DAT_EP_FIELD_ALL, &now));
	attr.max_recv_dtos = 20;
	attr.max_rdma_write_iov = 2;
	CHECK(!memcmp(&now.ep_attr, &attr, offsetof(DAT_EP_ATTR, ep_transport_specific_count)));
	MUST(dat_ep_free(ep));
}

static void ports(void)
{
	DAT_EP_PARAM a, b;

	MUST(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &a));
	MUST(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &b));
	CHECK(a.remote_port_qual == b.local_port_qual && a.remote_port_qual >= 1024);
	CHECK(a.local_port_qual != a.remote_port_qual && b.remote_port_qual != b.local_port_qual);
}

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)evd;
	__atomic_fetch_add((int *)data, 1, __ATOMIC_SEQ_CST);
}

static void cno_with_agent(void)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = {&agents, agent};
	DAT_EVENT event;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, told;
	int round, i;

	memset(&event, 0, sizeof event);
	event.event_number = DAT_SOFTWARE_EVENT;
	MUST(dat_cno_create(p.ia, proxy, &cno));
	MUST(dat_evd_create(p.ia, 16, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	for (round = 1; round <= 3; round++) {
		for (i = 0; i < 3; i++)
			MUST(dat_evd_post_se(evd, &event));
		MUST(dat_cno_wait(cno, PAIR_WAIT, &told));
		CHECK(told == evd);
		CHECK(__atomic_load_n(&agents, __ATOMIC_SEQ_CST) == round); /* once a trigger */
	}
	MUST(dat_evd_free(evd));
	MUST(dat_cno_free(cno));
}

static void no_descriptors(void)
{
	DAT_CONN_QUAL qualifier;
	struct rlimit limit, none;
	DAT_PSP_HANDLE psp;
	DAT_RETURN result;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 3;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	result = dat_psp_create(p.ia, QUALIFIER + 1, p.requests, DAT_PSP_CONSUMER_FLAG, &psp);
	CHECK(DAT_GET_TYPE(result) == DAT_INSUFFICIENT_RESOURCES);
	result = dat_psp_create_any(p.ia, &qualifier, p.requests, DAT_PSP_CONSUMER_FLAG, &psp);
	CHECK(DAT_GET_TYPE(result) == DAT_INSUFFICIENT_RESOURCES);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	MUST(dat_psp_create(p.ia, QUALIFIER + 1, p.requests, DAT_PSP_CONSUMER_FLAG, &psp));
	MUST(dat_psp_free(psp));
}

static void names(void)
{
	const char *major = NULL, *minor = NULL;
	DAT_RETURN type;

	MUST(dat_strerror(DAT_CLASS_ERROR | DAT_ABORT, &major, &minor));
	CHECK(strcmp(major, "DAT_ABORT") == 0);
	for (type = 0x00300000; type < 0x3fff0000; type += 0x00010000) { /* there are fewer */
		if (type == DAT_NOT_IMPLEMENTED || type == DAT_EXTENSION_BASE)
			continue;
		CHECK(dat_strerror(DAT_CLASS_ERROR | type, &major, &minor) != DAT_SUCCESS);
		CHECK(strcmp(major, "unknown error") == 0);
	}
	CHECK(dat_strerror(DAT_CLASS_ERROR | DAT_ABORT | 0xffff, &major, &minor) != DAT_SUCCESS);
	CHECK(strcmp(major, "DAT_ABORT") == 0 && strcmp(minor, "unknown minor error") == 0);
}

/* The lines on stderr of a process that reads that dat.conf, which has an entry "rules" unless
 * has_entry is NULL. */
static void read_conf(const char *file, const char *has_entry, char *lines, size_t room)
{
	size_t n = 0;
	ssize_t more;
	int ends[2], status;
	pid_t child;

	CHECK(pipe(ends) == 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], 2);
		close(ends[0]);
		setenv("DAT_OVERRIDE", file, 1);
		unsetenv("MP_INFOLEVEL");
		execl("/proc/self/exe", "rules", "open", has_entry, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((more = read(ends[0], lines + n, room - 1 - n)) > 0)
		n += (size_t)more;
	lines[n] = 0;
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* The parameters of an entry, and LAPI_DAT_NAMES, say which interface's address an adapter has. */
static void on_loopback(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct sockaddr_in at;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	MUST(dat_ia_open((char *)name, 8, &async, &ia));
	MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memcpy(&at, attr.ia_address_ptr, sizeof at);
	CHECK(at.sin_family == AF_INET && at.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void faults_of_conf(void)
{
	char file[] = "/tmp/rules-dat.conf-XXXXXX", lines[4096], wanted[128];
	static const char conf[] =
		"# a comment\nname u2.0 nonthreadsafe\n"
		"rules u2.0 nonthreadsafe default liblapi_r.so.1 lapi.2.0 \"lo 0\" \"\"\n";
	int fd = mkstemp(file);

	CHECK(fd >= 0 && write(fd, conf, sizeof conf - 1) == (ssize_t)(sizeof conf - 1));
	close(fd);
	read_conf(file, "entry", lines, sizeof lines);
	snprintf(wanted, sizeof wanted, "%s:2: ", file);
	unlink(file);
	if (!strstr(lines, wanted) || !strstr(lines, "skipped"))
		printf("of a line that is no entry: %s\n", lines);
	CHECK(strstr(lines, wanted) && strstr(lines, "skipped"));
	read_conf(file, NULL, lines, sizeof lines);
	CHECK(strstr(lines, "DAT_OVERRIDE") && strstr(lines, file)); /* it is gone */
	read_conf("/dev/null", NULL, lines, sizeof lines);
	CHECK(!lines[0]);
}

static void run(void)
{
	DAT_PROVIDER_ATTR attr;

	pair_open(&p, 8);
	flags_of_posts();
	flags_of_calls();
	one_attribute();
	ports();
	cno_with_agent();
	no_descriptors();
	MUST(dat_ia_query(p.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	CHECK(attr.srq_watermarks_supported == 0); /* dat_ep_set_watermark is refused */
	pair_close(&p);
}

int main(int argc, char **argv)
{
	static const char *lanes[] = {"on", "off"};
	int i, status;

	if (argc > 1 && strcmp(argv[1], "open") == 0) {
		setenv("LAPI_DAT_NAMES", "OpenIB-cma-rules=lo", 1);
		if (argc > 2)
			on_loopback("rules");
		on_loopback("OpenIB-cma-rules");
		return 0;
	}
	if (argc > 1) {
		run();
		return 0;
	}
	names();
	faults_of_conf();
	for (i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child == 0) {
			setenv("LAPI_FASTLANE", lanes[i], 1);
			execl("/proc/self/exe", argv[0], "run", (char *)NULL);
			_exit(127);
		}
		CHECK(waitpid(child, &status, 0) == child);
		if (status)
			printf("LAPI_FASTLANE=%s: status %#x\n", lanes[i], status);
		CHECK(status == 0);
	}
	puts("rules: passed");
	return 0;
}
