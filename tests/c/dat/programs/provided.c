/*
 * provided.c - providers in other libraries: which library of dat.conf is loaded when, with what;
 * that every call on a handle of its reaches its function with the same arguments, and returns what
 * that one has returned; and that the library's own adapters, and bad handles, are what they were.
 */
#define _GNU_SOURCE
#include "pair.h"
#include "provided.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE " u2.0 nonthreadsafe default "

static char library[PATH_MAX];

/* A dat.conf of this process's, with the library's path for every @. */
static void configure(void)
{
	static const char conf[] =
		"one" LINE "@ test.1.0 \"first second\" \"\"\n"
		"chain" LINE "/nonexistent/libno.so.2 test.1.0 \"\" \"\"\n"
		"chain" LINE "@ test.1.0 \"mute\" \"\"\n"
		"chain" LINE "@ test.1.0 \"third\" \"\"\n"
		"missing" LINE "/nonexistent/libno.so.2 test.1.0 \"\" \"\"\n"
		"stranger" LINE "libm.so.6 test.1.0 \"\" \"\"\n"
		"mute" LINE "@ test.1.0 \"mute\" \"\"\n"
		"refuse" LINE "@ test.1.0 \"refuse\" \"\"\n"
		"opens" LINE "@ test.1.0 \"open\" \"\"\n"
		"keeps" LINE "@ test.1.0 \"keep\" \"\"\n"
		"lapi-lo" LINE "@ test.1.0 \"refuse\" \"\"\n"
		"nondefault u2.0 nonthreadsafe nondefault @ test.1.0 \"\" \"\"\n";
	char name[] = "/tmp/provided-XXXXXX";
	int fd = mkstemp(name);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	const char *c;

	CHECK(file != NULL);
	for (c = conf; *c; c++)
		if (*c == '@')
			fputs(library, file);
		else
			fputc(*c, file);
	CHECK(fclose(file) == 0);
	CHECK(setenv("DAT_OVERRIDE", name, 1) == 0);
}

static void find_library(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	CHECK(n > 0);
	self[n] = 0;
	CHECK((size_t)snprintf(library, sizeof library, "%s/libprovided.so", dirname(self)) <
	      sizeof library);
}

/* A symbol of the provider's; NULL: it is not loaded. (A look in all libraries would keep it.) */
static void *symbol(const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD), *found;

	if (!handle)
		return NULL;
	found = dlsym(handle, name);
	CHECK(found && dlclose(handle) == 0);
	return found;
}

static provided_record *record(void)
{
	provided_record *(*get)(void);
	void *found = symbol("provided_get");

	memcpy(&get, &found, sizeof get);
	return found ? get() : NULL;
}

static DAT_HANDLE object(void)
{
	void *(*get)(void);
	void *found = symbol("provided_object");

	memcpy(&get, &found, sizeof get);
	CHECK(found != NULL);
	return get();
}

static DAT_RETURN open_name(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_open((DAT_NAME_PTR)name, 17, &evd, ia);
}

static provided_record end; /* of the provider that was unloaded last */

static void close_last(DAT_IA_HANDLE ia)
{
	int inits = record()->inits;

	memset(&end, 0, sizeof end);
	record()->end = &end;
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(record() == NULL); /* unloaded */
	CHECK(end.finis == inits); /* one each, also of names that did not open */
}

/* ---- Calls ---- */

/* Values by the number of their word. */
#define V(i) (0xabcd000000000000u + (i))
#define P(i) ((void *)(uintptr_t)V(i))
#define W(i) (0x7fff0000 + (i))
#define CONTEXT(i) ((DAT_CONTEXT){.as_64 = V(i)})
#define AGENT(i) ((DAT_OS_WAIT_PROXY_AGENT){P(i), (DAT_AGENT_FUNC)P((i) + 1)})
#define REGION(i) \
	((DAT_REGION_DESCRIPTION){.for_shared_memory = {P(i), (DAT_LMR_COOKIE)P((i) + 1)}})

static int checked;

/* The words are what was passed: h the handle, 8 or 4 bytes of the value of their number. */
static void same_words(const char *name, const char *words, DAT_HANDLE handle, int first)
{
	const provided_record *r = record();
	int i;

	if (!r->name || strcmp(r->name, name) != 0) {
		printf("%s has reached %s\n", name, r->name ? r->name : "nothing");
		exit(1);
	}
	for (i = 0; words[i]; i++) {
		uint64_t want = words[i] == 'h'   ? (uintptr_t)handle
		                : words[i] == '-' ? r->words[i]
		                : words[i] == '8' ? V((uint64_t)i - (uint64_t)first)
		                                  : (uint64_t)W(i - first);
		uint64_t got = words[i] == '4' ? (uint32_t)r->words[i] : r->words[i];

		if (got != want) {
			printf("%s: word %d is %#llx, not %#llx\n", name, i,
			       (unsigned long long)got, (unsigned long long)want);
			exit(1);
		}
	}
	checked++;
}

#define CALLS(function, words, handle, ...)                                      \
	do {                                                                     \
		int before = record()->calls;                                    \
		CHECK(dat_##function(handle, ##__VA_ARGS__) == PROVIDED_RESULT); \
		CHECK(record()->calls == before + 1);                            \
		same_words(#function, words, handle, 0);                         \
	} while (0)

static void every_call(DAT_IA_HANDLE ia)
{
	DAT_HANDLE h = object();

	CALLS(set_consumer_context, "h8", h, CONTEXT(1));
	CALLS(get_consumer_context, "h8", h, P(1));
	CALLS(get_handle_type, "h8", h, P(1));
	CALLS(cno_create, "h888", ia, AGENT(1), P(3));
	CALLS(cno_modify_agent, "h88", h, AGENT(1));
	CALLS(cno_query, "h48", h, W(1), P(2));
	CALLS(cno_free, "h", h);
	CALLS(cno_wait, "h48", h, W(1), P(2));
	CALLS(cr_query, "h48", h, W(1), P(2));
	CALLS(cr_accept, "h848", h, P(1), W(2), P(3));
	CALLS(cr_reject, "h48", h, W(1), P(2));
	CALLS(cr_handoff, "h8", h, V(1));
	CALLS(evd_create, "h4848", ia, W(1), P(2), W(3), P(4));
	CALLS(evd_query, "h48", h, W(1), P(2));
	CALLS(evd_modify_cno, "h8", h, P(1));
	CALLS(evd_enable, "h", h);
	CALLS(evd_disable, "h", h);
	CALLS(evd_wait, "h4488", h, W(1), W(2), P(3), P(4));
	CALLS(evd_resize, "h4", h, W(1));
	CALLS(evd_post_se, "h8", h, P(1));
	CALLS(evd_dequeue, "h8", h, P(1));
	CALLS(evd_free, "h", h);
	CALLS(ep_create, "h888888", ia, P(1), P(2), P(3), P(4), P(5), P(6));
	CALLS(ep_query, "h88", h, V(1), P(2));
	CALLS(ep_modify, "h88", h, V(1), P(2));
	CALLS(ep_connect, "h8844844", h, P(1), V(2), W(3), W(4), P(5), W(6), W(7));
	CALLS(ep_dup_connect, "h84484", h, P(1), W(2), W(3), P(4), W(5));
	CALLS(ep_disconnect, "h4", h, W(1));
	CALLS(ep_post_send, "h4884", h, W(1), P(2), CONTEXT(3), W(4));
	CALLS(ep_post_recv, "h4884", h, W(1), P(2), CONTEXT(3), W(4));
	CALLS(ep_post_rdma_read, "h48884", h, W(1), P(2), CONTEXT(3), P(4), W(5));
	CALLS(ep_post_rdma_write, "h48884", h, W(1), P(2), CONTEXT(3), P(4), W(5));
	CALLS(ep_get_status, "h888", h, P(1), P(2), P(3));
	CALLS(ep_free, "h", h);
	CALLS(lmr_create, "h488884488888", ia, W(1), REGION(2), V(4), P(5), W(6), W(7), P(8), P(9),
	      P(10), P(11), P(12));
	CALLS(lmr_query, "h48", h, W(1), P(2));
	CALLS(lmr_free, "h", h);
	CALLS(rmr_create, "h8", h, P(1));
	CALLS(rmr_query, "h48", h, W(1), P(2));
	CALLS(rmr_bind, "h88448848", h, P(1), P(2), W(3), W(4), P(5), CONTEXT(6), W(7), P(8));
	CALLS(rmr_free, "h", h);
	CALLS(psp_create, "h8848", ia, V(1), P(2), W(3), P(4));
	CALLS(psp_query, "h48", h, W(1), P(2));
	CALLS(psp_free, "h", h);
	CALLS(rsp_create, "h8888", ia, V(1), P(2), P(3), P(4));
	CALLS(rsp_query, "h48", h, W(1), P(2));
	CALLS(rsp_free, "h", h);
	CALLS(pz_create, "h8", ia, P(1));
	CALLS(pz_query, "h48", h, W(1), P(2));
	CALLS(pz_free, "h", h);
	CALLS(psp_create_any, "h8848", ia, P(1), P(2), W(3), P(4));
	CALLS(ep_reset, "h", h);
	CALLS(evd_set_unwaitable, "h", h);
	CALLS(evd_clear_unwaitable, "h", h);
	CALLS(lmr_sync_rdma_read, "h88", ia, P(1), V(2));
	CALLS(lmr_sync_rdma_write, "h88", ia, P(1), V(2));
	CALLS(ep_create_with_srq, "h8888888", ia, P(1), P(2), P(3), P(4), P(5), P(6), P(7));
	CALLS(ep_recv_query, "h88", h, P(1), P(2));
	CALLS(ep_set_watermark, "h44", h, W(1), W(2));
	CALLS(srq_create, "h888", ia, P(1), P(2), P(3));
	CALLS(srq_free, "h", h);
	CALLS(srq_post_recv, "h488", h, W(1), P(2), CONTEXT(3));
	CALLS(srq_query, "h48", h, W(1), P(2));
	CALLS(srq_resize, "h4", h, W(1));
	CALLS(srq_set_lw, "h4", h, W(1));
	CALLS(csp_create, "h8888", ia, P(1), P(2), P(3), P(4));
	CALLS(csp_query, "h48", h, W(1), P(2));
	CALLS(csp_free, "h", h);
	CALLS(ep_common_connect, "h8448", h, P(1), W(2), W(3), P(4));
	CALLS(rmr_create_for_ep, "h8", h, P(1));
	CALLS(ep_post_send_with_invalidate, "h488444", h, W(1), P(2), CONTEXT(3), W(4), W(5), W(6));
	CALLS(ep_post_rdma_read_to_rmr, "h8884", h, P(1), CONTEXT(2), P(3), W(4));
	CALLS(cno_fd_create, "h88", ia, P(1), P(2));
	CALLS(cno_trigger, "h8", h, P(1));
}

/* Extended operations: by number, and by the functions of that name. */
#define EXTENDED(op, shape, handle, ...)                                               \
	do {                                                                           \
		CHECK(dat_extension_op(handle, op, ##__VA_ARGS__) == PROVIDED_RESULT); \
		CHECK(record()->words[1] == (uint64_t)(op));                           \
		same_words("handle_extendedop", shape, handle, 1);                     \
	} while (0)
#define FUNCTION(op, shape, function, handle, ...)                           \
	do {                                                                 \
		CHECK((function)(handle, ##__VA_ARGS__) == PROVIDED_RESULT); \
		CHECK(record()->words[1] == (uint64_t)(op));                 \
		same_words("handle_extendedop", shape, handle, 1);           \
	} while (0)

static void extensions(DAT_IA_HANDLE ia)
{
	DAT_HANDLE h = object();

	EXTENDED(77, "h-4884", h, W(1), P(2), CONTEXT(3), W(4));
	EXTENDED(DAT_IB_RDMA_WRITE_IMMED_OP, "h-488844", h, W(1), P(2), CONTEXT(3), P(4), W(5),
	         W(6));
	FUNCTION(DAT_IB_RDMA_WRITE_IMMED_OP, "h-488844", dat_ib_post_rdma_write_immed, h, W(1),
	         P(2), CONTEXT(3), P(4), W(5), W(6));
	FUNCTION(DAT_IB_CMP_AND_SWAP_OP, "h-888884", dat_ib_post_cmp_and_swap, h, V(1), V(2), P(3),
	         CONTEXT(4), P(5), W(6));
	FUNCTION(DAT_IB_FETCH_AND_ADD_OP, "h-88884", dat_ib_post_fetch_and_add, h, V(1), P(2),
	         CONTEXT(3), P(4), W(5));
	FUNCTION(DAT_IB_UD_SEND_OP, "h-48884", dat_ib_post_send_ud, h, W(1), P(2), P(3), CONTEXT(4),
	         W(5));
	FUNCTION(DAT_IB_UD_CM_FREE_OP, "h-8", dat_ib_ud_cm_free, h, CONTEXT(1));
	FUNCTION(DAT_IB_UD_AH_FREE_OP, "h-8", dat_ib_ud_ah_free, h, P(1));
	FUNCTION(DAT_IB_QUERY_COUNTERS_OP, "h-484", dat_ib_query_counters, ia, W(1), P(2), W(3));
	FUNCTION(DAT_IB_PRINT_COUNTERS_OP, "h-44", dat_ib_print_counters, ia, W(1), W(2));
	FUNCTION(DAT_IB_START_COUNTERS_OP, "h-4", dat_ib_start_counter, ia, W(1));
	FUNCTION(DAT_IB_STOP_COUNTERS_OP, "h-4", dat_ib_stop_counter, ia, W(1));
}

static void query_by_name(void)
{
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR *provider = P(5);
	DAT_HANDLE handle = NULL;

	MUST((dat_ib_open_query)((DAT_NAME_PTR) "one", &handle, V(2), &attr, V(4), provider));
	CHECK(handle == object() && record()->inits == 1 && record()->opens == 0);
	CHECK(strcmp((char *)(uintptr_t)record()->words[0], "one") == 0);
	CHECK(record()->words[1] == DAT_IB_OPEN_QUERY_OP &&
	      record()->words[2] == (uintptr_t)&handle && record()->words[3] == V(2) &&
	      record()->words[4] == (uintptr_t)&attr && record()->words[5] == V(4) &&
	      record()->words[6] == (uintptr_t)provider);
	CHECK(dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA));
	MUST(dat_extension_op(handle, DAT_IB_CLOSE_QUERY_OP));
	CHECK(record() == NULL);
	CHECK(DAT_GET_TYPE((dat_ib_close_query)(handle)) == DAT_INVALID_HANDLE);
}

/* ---- Opening and closing ---- */

static void opening(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia, second, known;
	DAT_EVD_HANDLE async = P(1);
	DAT_IA_ATTR attr;

	CHECK(record() == NULL);
	MUST(dat_ia_open((DAT_NAME_PTR) "one", 17, &evd, &ia));
	CHECK(evd == object() && record()->inits == 1 && record()->opens == 1);
	CHECK(strcmp(record()->info.ia_name, "one") == 0 &&
	      record()->info.dapl_version_major == 2 && record()->info.dapl_version_minor == 0 &&
	      record()->info.is_thread_safe == DAT_FALSE);
	CHECK(strcmp(record()->params, "first second") == 0 && record()->added == DAT_SUCCESS);
	CHECK(strcmp(record()->opened, "one") == 0 && record()->size == 17);
	CHECK(record()->known == ia); /* as queries of the provider answer */
	CHECK(strcmp(record()->name, "ia_query") == 0 && record()->words[0] == (uintptr_t)ia &&
	      record()->words[2] == DAT_IA_FIELD_ALL && record()->words[4] == 0);
	MUST(dats_get_ia_handle(ia, &known));
	CHECK(known == ia);
	MUST(dat_ia_query(ia, &async, V(2), &attr, V(4), P(5)));
	same_words("ia_query", "h", ia, 0);
	CHECK(record()->words[1] == (uintptr_t)&async && record()->words[2] == V(2) &&
	      record()->words[3] == (uintptr_t)&attr && record()->words[4] == V(4) &&
	      record()->words[5] == V(5));
	every_call(ia);
	extensions(ia);

	MUST(open_name("one", &second));
	CHECK(record()->inits == 1 && record()->opens == 2 && second != ia);
	CHECK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE));
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(record()->closes == 2 && record()->flags == DAT_CLOSE_ABRUPT_FLAG &&
	      record()->finis == 0);
	CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == 0x8005000b);
	CHECK(DAT_GET_TYPE(dat_pz_create(ia, &known)) == DAT_INVALID_HANDLE);
	close_last(second);
	CHECK(end.removed == DAT_SUCCESS);
}

static void chains(void)
{
	const DAT_RETURN not_found =
		DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED;
	DAT_IA_HANDLE ia;

	MUST(open_name("chain",
	               &ia)); /* by the third: one cannot be loaded, one does not register */
	CHECK(strcmp(record()->params, "third") == 0);
	close_last(ia);
	CHECK(open_name("missing", &ia) == not_found);
	CHECK(open_name("stranger", &ia) == not_found);
	CHECK(open_name("mute", &ia) == not_found);
	CHECK(open_name("nondefault", &ia) == not_found);
	CHECK(open_name("nobody", &ia) == not_found);
	CHECK(open_name("refuse", &ia) == PROVIDED_REFUSED);
	CHECK(record() == NULL); /* none is left loaded */
	CHECK(dat_ia_openv((DAT_NAME_PTR) "one", 8, NULL, &ia, 2, 0, DAT_FALSE) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3));
	CHECK(dat_ia_openv((DAT_NAME_PTR) "one", 8, &ia, &ia, 2, 0, DAT_TRUE) ==
	      (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_THREAD_SAFETY_NOT_FOUND));
	CHECK(record() == NULL);
	MUST(open_name("opens", &ia));
	CHECK(DAT_GET_TYPE(record()->inside) == DAT_INVALID_STATE);
	close_last(ia);
	MUST(open_name("keeps", &ia)); /* fini forgets to take its table back */
	close_last(ia);
	MUST(open_name("keeps", &ia));
	CHECK(record()->added == DAT_SUCCESS);
	close_last(ia);
}

/* The library's own adapters go on beside, also one whose name another provider has refused. */
static void beside(void)
{
	static pair p;
	DAT_LMR_TRIPLET local;
	DAT_DTO_COOKIE cookie = {.as_64 = 5};
	DAT_IA_HANDLE ia;
	DAT_EVENT event;

	MUST(open_name("one", &ia));
	pair_open(&p, 4);            /* lapi-lo */
	CHECK(record()->opens == 2); /* it was asked first */
	local = pair_local(&p, 0, 8);
	MUST(dat_ep_post_recv(p.b.ep, 1, &local, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	local = pair_local(&p, 64, 8);
	MUST(dat_ep_post_send(p.a.ep, 1, &local, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	event = pair_event(p.b.recv, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.user_cookie.as_64 == 5);
	pair_event(p.a.request, DAT_DTO_COMPLETION_EVENT);
	/* neither's objects are the other's */
	CHECK(DAT_GET_TYPE(dat_evd_free(object())) == DAT_GET_TYPE(PROVIDED_RESULT));
	CHECK(DAT_GET_TYPE(dat_evd_modify_cno(p.a.recv, object())) == DAT_INVALID_HANDLE);
	pair_close(&p);
	CHECK(dat_evd_free(p.a.recv) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_REQUEST));
	close_last(ia);
}

/* No value of a handle is fatal, whatever is loaded. */
static void bad_handles(void)
{
	static const void *nothing;
	void *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DAT_EVENT event;
	DAT_EP_PARAM param;
	DAT_IA_HANDLE ia, known;
	size_t i;

	CHECK(gone != MAP_FAILED && munmap(gone, 4096) == 0);
	MUST(open_name("one", &ia));
	{
		const void *bad[] = {NULL,
		                     (void *)1,
		                     (void *)63,
		                     (void *)4096,
		                     gone,
		                     &nothing,
		                     (char *)object() + 1,
		                     (char *)object() + 8,
		                     (void *)~(uintptr_t)0,
		                     (void *)~(uintptr_t)7,
		                     (void *)0x8000000000000000u};

		for (i = 0; i < sizeof bad / sizeof *bad; i++) {
			DAT_HANDLE h = (DAT_HANDLE)(uintptr_t)bad[i];

			CHECK(DAT_GET_TYPE(dat_evd_dequeue(h, &event)) == DAT_INVALID_HANDLE);
			CHECK(DAT_GET_TYPE(dat_ep_query(h, DAT_EP_FIELD_ALL, &param)) ==
			      DAT_INVALID_HANDLE);
			CHECK(DAT_GET_TYPE(dat_pz_create(h, &known)) == DAT_INVALID_HANDLE);
			CHECK(DAT_GET_TYPE(dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG)) ==
			      DAT_INVALID_HANDLE);
			CHECK(DAT_GET_TYPE(dats_get_ia_handle(h, &known)) == DAT_INVALID_HANDLE);
		}
	}
	CHECK(record()->closes == 0);
	close_last(ia);
}

/* A provider that the program registers itself. */
static void registered(void)
{
	static DAT_PROVIDER table;
	DAT_PROVIDER_INFO info, list[64], *to[64];
	DAT_COUNT n = 0, i;
	DAT_IA_HANDLE ia, mine;
	int found = 0;

	MUST(open_name("one", &ia));
	memcpy(&table, *(void **)ia, sizeof table);
	info = record()->info;
	CHECK(dat_registry_add_provider(&table, &info) ==
	      (DAT_CLASS_ERROR | DAT_PROVIDER_ALREADY_REGISTERED));
	CHECK(dat_registry_add_provider(NULL, &info) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1));
	CHECK(dat_registry_add_provider(&table, NULL) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2));
	strcpy(info.ia_name, "mine");
	MUST(dat_registry_add_provider(&table, &info));
	for (i = 0; i < 64; i++)
		to[i] = &list[i];
	MUST(dat_registry_list_providers(64, &n, to));
	for (i = 0; i < n && i < 64; i++) {
		found += !strcmp(list[i].ia_name, "mine") || !strcmp(list[i].ia_name, "one");
		CHECK(strcmp(list[i].ia_name, "nondefault") != 0);
	}
	CHECK(found == 2);
	MUST(open_name("mine", &mine));
	CHECK(strcmp(record()->opened, "mine") == 0 && record()->inits == 1);
	CHECK(dat_registry_remove_provider(&table, &info) ==
	      (DAT_CLASS_ERROR | DAT_PROVIDER_IN_USE));
	MUST(dat_ia_close(mine, DAT_CLOSE_ABRUPT_FLAG));
	MUST(dat_registry_remove_provider(&table, &info));
	CHECK(dat_registry_remove_provider(&table, &info) ==
	      (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED));
	CHECK(open_name("mine", &mine) ==
	      (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED));
	close_last(ia);
}

/* Threads open and close one name: it is loaded and unloaded once each time, and never in use. */
static void *open_often(void *argument)
{
	DAT_IA_HANDLE ia;
	DAT_EVENT event;
	int i;

	(void)argument;
	for (i = 0; i < 300; i++) {
		MUST(open_name("one", &ia));
		CHECK(dat_evd_dequeue(ia, &event) == PROVIDED_RESULT);
		MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];
	int i;

	for (i = 0; i < 4; i++)
		CHECK(pthread_create(&thread[i], NULL, open_often, NULL) == 0);
	for (i = 0; i < 4; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK(record() == NULL);
}

/* The child of a fork cannot use the library; it can name results, and what it gets is one. */
static void forked(void)
{
	const char *major = NULL, *minor = NULL;
	DAT_IA_HANDLE ia;
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		alarm(60);
		CHECK(DAT_GET_TYPE(open_name("one", &ia)) == DAT_INVALID_STATE);
		CHECK(dat_strerror(0x8007002f, &major, &minor) == DAT_SUCCESS);
		CHECK(!strcmp(major, "DAT_INVALID_STATE") &&
		      !strcmp(minor, "DAT_INVALID_STATE_EP_UNCONNECTED"));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void texts(void)
{
	static const struct {
		DAT_RETURN value, result;
		const char *major, *minor;
	} cases[] = {
		{DAT_SUCCESS, DAT_SUCCESS, "DAT_SUCCESS", ""},
		{0x8005000c, DAT_SUCCESS, "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE_EP"},
		{0x000d0000, DAT_SUCCESS, "DAT_QUEUE_EMPTY", ""},
		{0x3fff0000, DAT_SUCCESS, "DAT_NOT_IMPLEMENTED", ""},
		{0x800a0067, DAT_SUCCESS, "DAT_PROVIDER_NOT_FOUND", "DAT_THREAD_SAFETY_NOT_FOUND"},
		{0x80070068, 0x00060000, "DAT_INVALID_STATE", "unknown minor error"},
		{0x80200000, 0x00060000, "unknown error", ""},
		{0x80170000, DAT_SUCCESS, "DAT_COMM_NOT_SUPPORTED", ""},
		{0x80180000, 0x00060000, "unknown error", ""},
	};
	const char *major, *minor;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK(dat_strerror(cases[i].value, &major, &minor) == cases[i].result);
		CHECK(!strcmp(major, cases[i].major) && !strcmp(minor, cases[i].minor));
		CHECK(dat_strerror(cases[i].value, &major, NULL) == cases[i].result);
	}
	CHECK(dat_strerror(0, NULL, &minor) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2));
}

int main(void)
{
	texts();
	find_library();
	configure();
	query_by_name();
	opening();
	chains();
	beside();
	bad_handles();
	registered();
	threads();
	forked();
	CHECK(unlink(getenv("DAT_OVERRIDE")) == 0);
	if (checked < 86)
		return 1;
	printf("provided: passed\n");
	return 0;
}
