/*
 * pointers.c - each call that the library exports, with each of its handles and pointers in turn as
 * one to no memory: it returns a code of a kind that says so, and uDAPL goes on. The calls
 * and their arguments come from the headers (tests/c/dat/pointers.sh), so that a new one is here as
 * well. With the lane, and without.
 *
 * Arguments: none: all; else the name of a call, which this process tries.
 */
#define _GNU_SOURCE
#include "pair.h"

#include <dat2/dat_registry.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct call {
	const char *name;
	DAT_RETURN (*run)(int at, void *g); /* with argument at, counted from 0, as g */
	const char *kinds;                  /* of each argument: h handle, p pointer, - neither */
};

static pair p, other; /* other is connected, and sees that uDAPL goes on */
static DAT_CNO_HANDLE cno;
static DAT_RMR_HANDLE rmr;
static DAT_PSP_HANDLE psp;
static DAT_SRQ_HANDLE srq;
static DAT_EVD_HANDLE of_group;
static DAT_HANDLE group;

/* ---- Arguments that are right ---- */

#define HANDLE_OF(type) handle_##type
#define handle_DAT_IA_HANDLE p.ia
#define handle_DAT_HANDLE p.ia
#define handle_DAT_PZ_HANDLE p.pz
#define handle_DAT_EP_HANDLE p.a.ep
#define handle_DAT_EVD_HANDLE p.a.recv
#define handle_DAT_LMR_HANDLE p.lmr
#define handle_DAT_CNO_HANDLE cno
#define handle_DAT_RMR_HANDLE rmr
#define handle_DAT_PSP_HANDLE psp
#define handle_DAT_SRQ_HANDLE srq
#define handle_DAT_IB_COLLECTIVE_HANDLE group
#define handle_DAT_COLLECTIVE_HANDLE group
/* there is none that stays */
#define handle_DAT_CR_HANDLE DAT_HANDLE_NULL
#define handle_DAT_RSP_HANDLE DAT_HANDLE_NULL
#define handle_DAT_CSP_HANDLE DAT_HANDLE_NULL

#define MASK_OF(type) mask_##type
#define mask_DAT_IA_ATTR_MASK DAT_IA_FIELD_ALL
#define mask_DAT_PROVIDER_ATTR_MASK DAT_PROVIDER_FIELD_ALL
#define mask_DAT_CNO_PARAM_MASK DAT_CNO_FIELD_ALL
#define mask_DAT_CR_PARAM_MASK DAT_CR_FIELD_ALL
#define mask_DAT_CSP_PARAM_MASK DAT_CSP_FIELD_ALL
#define mask_DAT_EP_PARAM_MASK DAT_EP_FIELD_ALL
#define mask_DAT_EVD_PARAM_MASK DAT_EVD_FIELD_ALL
#define mask_DAT_LMR_PARAM_MASK DAT_LMR_FIELD_ALL
#define mask_DAT_PSP_PARAM_MASK DAT_PSP_FIELD_ALL
#define mask_DAT_PZ_PARAM_MASK DAT_PZ_FIELD_ALL
#define mask_DAT_RMR_PARAM_MASK DAT_RMR_FIELD_ALL
#define mask_DAT_RSP_PARAM_MASK DAT_RSP_FIELD_ALL
#define mask_DAT_SRQ_PARAM_MASK DAT_SRQ_FIELD_ALL

static DAT_REGION_DESCRIPTION region(void)
{
	return (DAT_REGION_DESCRIPTION){.for_va = p.memory};
}

/* Memory for argument i, which is a pointer of that type. */
static void *scratch(int i, const char *type)
{
	static _Alignas(16) char memory[16][8192];
	static DAT_PROVIDER_INFO info;
	void *at = memory[i];

	memset(at, 0, sizeof memory[i]);
	if (strcmp(type, "DAT_NAME_PTR") == 0)
		strcpy(at, "lapi-lo");
	else if (strcmp(type, "DAT_LMR_TRIPLET *") == 0)
		*(DAT_LMR_TRIPLET *)at = pair_local(&p, 0, 8);
	else if (strcmp(type, "DAT_RMR_TRIPLET *") == 0)
		*(DAT_RMR_TRIPLET *)at = pair_remote(&p, 64, 8);
	else if (strcmp(type, "DAT_PROVIDER_INFO **") == 0)
		*(DAT_PROVIDER_INFO **)at = &info;
	else if (strcmp(type, "DAT_IA_ADDRESS_PTR") == 0)
		*(struct sockaddr_in *)at = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return at;
}

#include "pointers_gen.h"

enum { CALLS = sizeof calls / sizeof *calls };

/* ---- Arguments that are wrong ---- */

enum { LOW, READ_ONLY, AT_END, ODD, NONE, KINDS };
static const char *const kinds[] = {"not mapped", "read-only", "at the end of memory", "odd", "NULL"};
static void *bad[KINDS];

static void make_bad(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	CHECK(mprotect(at + page, page, PROT_READ) == 0);
	CHECK(mprotect(at + 3 * page, page, PROT_NONE) == 0);
	bad[LOW] = (void *)0x8000; /* too low to be mapped, ever */
	bad[READ_ONLY] = at + page;
	bad[AT_END] = at + 3 * page - 2;
	memset(bad[AT_END], 'a', 2);
	bad[ODD] = at + 1;
}

/*
 * Pointers that calls do not follow: names of related adapters; a table that is taken out; buffers of
 * collectives, which are read and written in the course of the operation, and of which a group of one
 * member needs none; arrays that are not looked at where the operation is of another kind.
 */
static int is_followed(const struct call *c, int at)
{
	if (strcmp(c->name, "dat_registry_providers_related") == 0)
		return at == 2;
	if (strcmp(c->name, "dat_registry_remove_provider") == 0)
		return at == 1;
	return !strstr(c->name, "collective_");
}

/* Whether a code says that an argument is wrong, or that the call is not for this library. */
static int is_refusal(DAT_RETURN r)
{
	switch (DAT_GET_TYPE(r)) {
	case DAT_INVALID_PARAMETER:
	case DAT_INVALID_HANDLE:
	case DAT_INVALID_ADDRESS:
	case DAT_INVALID_STATE: /* of an EP without a connection, say: the pointer comes later */
	case DAT_MODEL_NOT_SUPPORTED:
		return 1;
	default:
		return r == DAT_NOT_IMPLEMENTED || r == (DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED);
	}
}

static void try(const struct call *c, int at, int kind)
{
	DAT_RETURN r = c->run(at, bad[kind]);
	int must = kind == LOW || kind == AT_END;

	if (c->kinds[at] == 'h')
		must = kind != NONE;
	if (must && (c->kinds[at] == 'h' || is_followed(c, at)) && !is_refusal(r)) {
		printf("%s, argument %d %s\n", c->name, at + 1, kinds[kind]);
		pair_fail(__FILE__, __LINE__, "it is not refused", r);
	}
}

static void goes_on(void)
{
	DAT_LMR_TRIPLET from = pair_local(&other, 0, 64), to = pair_local(&other, 128, 64);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	MUST(dat_ep_post_recv(other.b.ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	MUST(dat_ep_post_send(other.a.ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	pair_event(other.a.request, DAT_DTO_COMPLETION_EVENT);
	pair_event(other.b.recv, DAT_DTO_COMPLETION_EVENT);
}

/* A group of this process alone. */
static void make_group(void)
{
	const int flags = (int)DAT_EVD_DTO_FLAG | (int)DAT_IB_EVD_EXTENSION_FLAG;
	DAT_IB_COLLECTIVE_MEMBER member;
	DAT_UINT32 size;
	DAT_CONTEXT context = {.as_64 = 77};
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_create(p.ia, 64, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &of_group));
	MUST((dat_ib_collective_create_member)(p.ia, NULL, &member, &size));
	MUST((dat_ib_collective_create_group)(&member, 1, 0, 4711, NULL, of_group, p.pz, context));
	MUST(dat_evd_wait(of_group, PAIR_WAIT, 1, &event, &more));
	group = ((DAT_IB_EXTENSION_EVENT_DATA *)&event.event_extension_data[0])->coll.handle;
	CHECK(group != DAT_HANDLE_NULL);
}

static int run(const struct call *c)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 2,
	                     .low_watermark = DAT_SRQ_LW_DEFAULT};
	DAT_CONN_QUAL qualifier;
	int at, kind;

	alarm(120);
	make_bad();
	pair_open(&p, 16);
	pair_open(&other, 4);
	MUST(dat_cno_create(p.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	MUST(dat_rmr_create(p.pz, &rmr));
	MUST(dat_srq_create(p.ia, p.pz, &attr, &srq));
	MUST(dat_psp_create_any(p.ia, &qualifier, p.requests, DAT_PSP_CONSUMER_FLAG, &psp));
	make_group();
	for (at = 0; c->kinds[at]; at++)
		for (kind = 0; c->kinds[at] != '-' && kind < KINDS; kind++)
			try(c, at, kind);
	goes_on();
	return 0;
}

static int in_process(const char *name, const char *lane)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("LAPI_FASTLANE", lane, 1);
		execl("/proc/self/exe", "pointers", name, (char *)NULL);
		_exit(9);
	}
	if (waitpid(pid, &status, 0) == pid && status == 0)
		return 1;
	printf("%s, LAPI_FASTLANE=%s: status %#x\n", name, lane, (unsigned)status);
	return 0;
}

int main(int argc, char **argv)
{
	int i, good = 1;

	for (i = 0; argc > 1 && i < CALLS; i++)
		if (strcmp(calls[i].name, argv[1]) == 0)
			return run(&calls[i]);
	if (argc > 1)
		return 2;
	for (i = 0; i < CALLS; i++) {
		good &= in_process(calls[i].name, "on");
		good &= in_process(calls[i].name, "off");
	}
	if (good)
		puts("pointers: passed");
	return !good;
}
