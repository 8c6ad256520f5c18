/*
 * provided.c - providers in other libraries: which library of dat.conf is loaded, when, and with
 * which parameters; that every call on a provider's handle reaches the provider's function with the
 * same arguments, and returns its result; and that the library's own adapters, and bad handles,
 * behave as before.
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

/* The same of a provider that must be loaded. */
static provided_record *loaded(void)
{
	provided_record *r = record();

	if (!r) {
		printf("the provider is not loaded\n");
		exit(1);
	}
	return r;
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
	int inits = loaded()->inits;

	memset(&end, 0, sizeof end);
	loaded()->end = &end;
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(record() == NULL); /* unloaded */
	CHECK(end.finis == inits); /* one each, also of names that did not open */
}

#include "provided_calls.h"

/* ---- Opening and closing ---- */

static void opening(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia, second, known;
	DAT_EVD_HANDLE async = P(1);
	DAT_IA_ATTR attr;

	CHECK(record() == NULL);
	MUST(dat_ia_open((DAT_NAME_PTR) "one", 17, &evd, &ia));
	CHECK(evd == object() && loaded()->inits == 1 && loaded()->opens == 1);
	CHECK(strcmp(loaded()->info.ia_name, "one") == 0 &&
	      loaded()->info.dapl_version_major == 2 && loaded()->info.dapl_version_minor == 0 &&
	      loaded()->info.is_thread_safe == DAT_FALSE);
	CHECK(strcmp(loaded()->params, "first second") == 0 && loaded()->added == DAT_SUCCESS);
	CHECK(strcmp(loaded()->opened, "one") == 0 && loaded()->size == 17);
	CHECK(loaded()->known == ia); /* as queries of the provider answer */
	CHECK(strcmp(loaded()->name, "ia_query") == 0 && loaded()->words[0] == (uintptr_t)ia &&
	      loaded()->words[2] == DAT_IA_FIELD_ALL && loaded()->words[4] == 0);
	MUST(dats_get_ia_handle(ia, &known));
	CHECK(known == ia);
	MUST(dat_ia_query(ia, &async, V(2), &attr, V(4), P(5)));
	same_words("ia_query", "h", ia, 0);
	CHECK(loaded()->words[1] == (uintptr_t)&async && loaded()->words[2] == V(2) &&
	      loaded()->words[3] == (uintptr_t)&attr && loaded()->words[4] == V(4) &&
	      loaded()->words[5] == V(5));
	every_call(ia);
	extensions(ia);

	MUST(open_name("one", &second));
	CHECK(loaded()->inits == 1 && loaded()->opens == 2 && second != ia);
	CHECK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE));
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(loaded()->closes == 2 && loaded()->flags == DAT_CLOSE_ABRUPT_FLAG &&
	      loaded()->finis == 0);
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
	CHECK(strcmp(loaded()->params, "third") == 0);
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
	CHECK(DAT_GET_TYPE(loaded()->inside) == DAT_INVALID_STATE);
	close_last(ia);
	MUST(open_name("keeps", &ia)); /* fini forgets to take its table back */
	close_last(ia);
	MUST(open_name("keeps", &ia));
	CHECK(loaded()->added == DAT_SUCCESS);
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
	CHECK(loaded()->opens == 2); /* it was asked first */
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
	CHECK(loaded()->closes == 0);
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
	info = loaded()->info;
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
	CHECK(strcmp(loaded()->opened, "mine") == 0 && loaded()->inits == 1);
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
	if (checked < 113)
		return 1;
	printf("provided: passed\n");
	return 0;
}
