/*
 * test_names_hostile.c - the registry of adapters' names: dat.conf and LAPI_DAT_NAMES, also of any
 * content, lookup, and registrations by a program, also with invalid pointers.
 *
 * CSHIM_FUZZ and CSHIM_SEED: see random.h.
 */
#define _GNU_SOURCE
#include "ctest/fake.h"
#include "registry/names.h"
#include "registry/provider/functions.h"
#include "node/guard.h"
#include "ctest/random.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INPUTS = 20000, LONG = 400 };

static const char conf[] =
	"\n# a comment, and a blank line\n\n"
	"ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"ib0 0\" \"\"   # and behind\n"
	"	ib1   u2.0	threadsafe default lib.so d.2.0 \"a \\\"b\\\" \\\\ c\" x#y\r\n"
	"ib1 u2.0 threadsafe nondefault lib.so dapl.2.0 hidden x\n"
	"ib0 u2.0 nonthreadsafe default /usr/lib/liblapi_r.so.1 dapl.2.0 \"ib0 1\" \"\"\n"
	"kernel k2.0 threadsafe default lib.so dapl.2.0 \"\" \"\"\n"
	"ib0 u1.2 nonthreadsafe default old.so dapl.1.2 \"ib0 0\" \"\"\n";

/* One fault each, and the words for it. */
static const struct {
	const char *line, *words;
} wrong[] = {
	{"seven u2.0 nonthreadsafe default lib.so dapl.2.0 \"seven\"", ":1: 7 fields"},
	{"open u2.0 nonthreadsafe default lib.so dapl.2.0 \"open \"\"", ":1: a quote"},
	{"api 2.0 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"", "u2.0: 2.0:"},
	{"api uu2.0 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"", "u2.0: uu2.0:"},
	{"api u2 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"", "u2.0: u2:"},
	{"api u4294967296.0 nonthreadsafe default lib.so d \"\" \"\"", "u4294967296.0:"},
	{"safe u2.0 perhaps default lib.so dapl.2.0 \"\" \"\"", "threadsafe: perhaps"},
	{"def u2.0 threadsafe maybe lib.so dapl.2.0 \"\" \"\"", "default: maybe"},
	{"\"\" u2.0 threadsafe default lib.so dapl.2.0 \"\" \"\"", "1 to 255 bytes"},
};

static void parse(dat_ia_names *list, const char *text, size_t n, dat_faults *faults)
{
	char *copy = malloc(n + 1); /* of that size: the sanitizer sees accesses beyond */

	CHECK(copy != NULL);
	memcpy(copy, text, n);
	dat_ia_names_begin(list);
	memset(faults, 0, sizeof *faults);
	dat_conf_parse(list, "dat.conf", copy, n, faults);
	free(copy);
}

static void release(dat_ia_names *list)
{
	dat_ia_name *e;

	while ((e = list->first)) {
		list->first = e->next;
		free((char *)e->library);
		free((char *)e->params);
		free(e);
	}
}

static void is_entry(const dat_ia_name *e, const char *name, unsigned major, unsigned minor,
                     int safe, const char *library, const char *params)
{
	CHECK(e && strcmp(e->info.ia_name, name) == 0);
	CHECK(e->info.dapl_version_major == major && e->info.dapl_version_minor == minor);
	CHECK(e->info.is_thread_safe == (safe ? DAT_TRUE : DAT_FALSE));
	CHECK(library ? e->library && strcmp(e->library, library) == 0 : !e->library);
	CHECK(strcmp(e->params, params) == 0);
}

static void lines(void)
{
	dat_ia_names list;
	dat_faults faults;
	dat_ia_name *e;

	parse(&list, conf, sizeof conf - 1, &faults);
	CHECK(faults.number == 0 && list.number == 4);
	is_entry(e = list.first, "ib0", 2, 0, 0, "libdaplofa.so.2", "ib0 0");
	is_entry(e = e->next, "ib1", 2, 0, 1, "lib.so", "a \"b\" \\ c");
	is_entry(e = e->next, "ib0", 2, 0, 0, NULL, "ib0 1");
	is_entry(e->next, "ib0", 1, 2, 0, "old.so", "ib0 0");
	release(&list);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		parse(&list, wrong[i].line, strlen(wrong[i].line), &faults);
		CHECK(list.number == 0 && faults.number == 1);
		CHECK(strstr(faults.first, wrong[i].words));
	}
	parse(&list, "a\0b u2.0", 8, &faults);
	CHECK(list.number == 0 && strstr(faults.first, "a byte 0"));
}

static void pairs(void)
{
	dat_ia_names list;
	dat_faults faults = {.number = 0};

	dat_ia_names_begin(&list);
	dat_conf_pairs(&list, "ib0=eth0, OpenIB-cma-name=10.0.0.1,,bad,=x,y=,z=a b", &faults);
	CHECK(list.number == 2 && faults.number == 4);
	is_entry(list.first, "ib0", 2, 0, 0, NULL, "eth0 0");
	is_entry(list.first->next, "OpenIB-cma-name", 2, 0, 0, NULL, "10.0.0.1 0");
	release(&list);
}

static DAT_PROVIDER_INFO info_of(const char *name, unsigned major, unsigned minor, int safe)
{
	DAT_PROVIDER_INFO info;

	memset(&info, 0, sizeof info);
	snprintf(info.ia_name, sizeof info.ia_name, "%s", name);
	info.dapl_version_major = major;
	info.dapl_version_minor = minor;
	info.is_thread_safe = safe ? DAT_TRUE : DAT_FALSE;
	return info;
}

static DAT_RETURN look(const char *name, unsigned major, unsigned minor, int safe, int index,
                       dat_candidate *c)
{
	DAT_PROVIDER_INFO info = info_of(name, major, minor, safe);

	return dat_names_candidate(&info, index, c);
}

#define MISSING(what) (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | (what))

static void lookups(void)
{
	dat_candidate c;

	CHECK(look("ib0", 2, 0, 0, 0, &c) == DAT_SUCCESS && !c.table && !c.mark);
	CHECK(strcmp(c.library, "libdaplofa.so.2") == 0 && strcmp(c.params, "ib0 0") == 0);
	/* the second is this library: its own line's parameters, not those of the first */
	CHECK(look("ib0", 2, 0, 0, 1, &c) == DAT_SUCCESS && !c.library);
	CHECK(strcmp(c.params, "ib0 1") == 0);
	CHECK(look("ib0", 2, 0, 0, 2, &c) == MISSING(DAT_NAME_NOT_REGISTERED));
	CHECK(look("ib", 2, 0, 0, 0, &c) == MISSING(DAT_NAME_NOT_REGISTERED));
	CHECK(look("ib0", 3, 0, 0, 0, &c) == MISSING(DAT_MAJOR_NOT_FOUND));
	CHECK(look("ib0", 2, 1, 0, 0, &c) == MISSING(DAT_MINOR_NOT_FOUND));
	CHECK(look("ib0", 2, 0, 1, 0, &c) == MISSING(DAT_THREAD_SAFETY_NOT_FOUND));
	CHECK(look("lapi", 2, 0, 0, 0, &c) == DAT_SUCCESS && !c.library && !c.params[0]);
	CHECK(look("named", 2, 0, 0, 0, &c) == DAT_SUCCESS && strcmp(c.params, "lo 0") == 0);
}

/* The object of another registry says by its table what that registry's dat.conf has. */
static void own_params(DAT_PROVIDER *ours, DAT_PROVIDER_INFO *key)
{
	dat_candidate c;

	ours->pz_create_func = dat_pz_create;
	ours->extension = OBJECT_PARAMS "rxe7 0";
	CHECK(dat_registry_add_provider(ours, key) == DAT_SUCCESS);
	CHECK(look(key->ia_name, 2, 0, 0, 0, &c) == DAT_SUCCESS && !c.table && c.mark == ours);
	CHECK(strcmp(c.params, "rxe7 0") == 0);
	CHECK(dat_registry_remove_provider(ours, key) == DAT_SUCCESS);
	for (int i = 0; i < 2; i++) { /* none of that text, and no address */
		ours->extension = i ? (DAT_PVOID)16 : "rxe7 0";
		CHECK(dat_registry_add_provider(ours, key) == DAT_SUCCESS);
		CHECK(look(key->ia_name, 2, 0, 0, 0, &c) == DAT_SUCCESS && c.mark == ours);
		CHECK(strcmp(c.params, "ib0 1") == 0);
		CHECK(dat_registry_remove_provider(ours, key) == DAT_SUCCESS);
	}
	CHECK(dat_names_add(ours, key, "") == DAT_SUCCESS);
}

static void registered(void)
{
	static DAT_PROVIDER theirs, ours;
	DAT_PROVIDER_INFO mine = info_of("mine", 2, 0, 0), ib0 = info_of("ib0", 2, 0, 0);
	dat_candidate c;

	CHECK(dat_names_add(&theirs, &mine, NULL) == DAT_SUCCESS);
	CHECK(dat_names_add(&theirs, &mine, NULL) ==
	      (DAT_CLASS_ERROR | DAT_PROVIDER_ALREADY_REGISTERED));
	CHECK(look("mine", 2, 0, 0, 0, &c) == DAT_SUCCESS && c.table == &theirs && !c.library);
	CHECK(dat_names_have(&theirs) && !dat_names_have(&ours));
	/* another registry's mark goes before, and takes no parameters away */
	CHECK(dat_names_add(&ours, &ib0, "") == DAT_SUCCESS && !dat_names_have(&ours));
	CHECK(look("ib0", 2, 0, 0, 0, &c) == DAT_SUCCESS && !c.table && c.mark == &ours);
	CHECK(strcmp(c.params, "ib0 1") == 0);
	/* that registry's entry of the name goes before the file */
	CHECK(dat_names_remove(&ib0) == DAT_SUCCESS);
	own_params(&ours, &ib0);
	CHECK(dat_names_remove(&mine) == DAT_SUCCESS);
	CHECK(dat_names_remove(&mine) == MISSING(DAT_NAME_NOT_REGISTERED));
	CHECK(look("mine", 2, 0, 0, 0, &c) == MISSING(DAT_NAME_NOT_REGISTERED));
	CHECK(dat_names_add(&theirs, &mine, NULL) == DAT_SUCCESS); /* the list has an end again */
	CHECK(dat_names_remove(&mine) == DAT_SUCCESS);
}

/* Memory that can be read only, and none at all, at both sides of a page that is there. */
static void bad_pointers(void)
{
	enum { PAGE = 4096, REFUSED = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER };
	char *page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                  0);
	DAT_PROVIDER_INFO one, *to[64];
	DAT_COUNT n;
	char name[8];
	int i;

	CHECK(page != MAP_FAILED && mprotect(page + 2 * PAGE, PAGE, PROT_NONE) == 0);
	CHECK(mprotect(page, PAGE, PROT_READ) == 0);
	memset(page + PAGE, 'a', PAGE);
	for (i = 0; i < 64; i++)
		to[i] = &one;
	CHECK(dat_registry_list_providers(64, &n, to) == DAT_SUCCESS && n >= 4);
	CHECK(dat_registry_list_providers(64, (DAT_COUNT *)page, to) == (REFUSED | DAT_INVALID_ARG2));
	CHECK(dat_registry_list_providers(64, &n, (DAT_PROVIDER_INFO **)(page + 2 * PAGE - 8)) ==
	      (REFUSED | DAT_INVALID_ARG3));
	to[1] = (DAT_PROVIDER_INFO *)(page + 2 * PAGE - sizeof one + 8);
	CHECK(dat_registry_list_providers(64, &n, to) == (REFUSED | DAT_INVALID_ARG3));
	to[1] = (DAT_PROVIDER_INFO *)page;
	memset(&one, 'b', sizeof one);
	CHECK(dat_registry_list_providers(64, &n, to) == (REFUSED | DAT_INVALID_ARG3));
	CHECK(one.ia_name[0] == 'b'); /* a call that fails fills nothing */
	CHECK(dat_registry_list_providers(0, &n, to) == (REFUSED | DAT_INVALID_ARG1) && n >= 4);
	CHECK(dat_registry_list_providers(64, NULL, to) == (REFUSED | DAT_INVALID_ARG2));
	CHECK(dat_registry_list_providers(64, &n, NULL) == (REFUSED | DAT_INVALID_ARG3));
	CHECK(dat_registry_remove_provider((DAT_PROVIDER *)page, (DAT_PROVIDER_INFO *)(page + 2 * PAGE)) ==
	      (REFUSED | DAT_INVALID_ARG2));
	CHECK(page[2 * PAGE - 1] == 'a' && page[PAGE] == 'a'); /* probes change nothing */
	CHECK(dat_copy_string(name, page + 2 * PAGE - 4, sizeof name) == -1);
	CHECK(dat_copy_string(name, page + PAGE, sizeof name) == 1);
	CHECK(dat_copy_string(name, "1234567", sizeof name) == 0);
	CHECK(dat_copy_out(page + PAGE - 4, "12345678", 8) == -1);
	munmap(page, 3 * PAGE);
}

/* Any text: the result of a line is an entry or a fault, or nothing. */
static void any_text(void)
{
	static const char usual[] = " \t\"\\#ukx2.0\n\r\0";
	static const char *const words[] = {"u2.0", "threadsafe", "nonthreadsafe", "default",
	                                    "lib.so", "\"\"", "x", "\n"};
	uint64_t state = random_setting("CSHIM_SEED", 1);
	uint64_t left = random_setting("CSHIM_FUZZ", INPUTS);
	dat_ia_names list;
	dat_faults faults;
	char text[LONG + 32];
	size_t n, i;
	int all;

	while (left-- > 0) {
		for (n = 0; n < LONG && random_below(&state, 60);)
			if (random_below(&state, 2))
				n += (size_t)sprintf(text + n, "%s ",
				                     words[random_below(&state, 8)]);
			else if (random_below(&state, 4))
				text[n++] = usual[random_below(&state, sizeof usual)];
			else
				text[n++] = (char)random_below(&state, 256);
		for (i = 0, all = 1; i < n; i++)
			all += text[i] == '\n';
		parse(&list, text, n, &faults);
		CHECK(list.number + faults.number <= all);
		release(&list);
		text[n] = 0;
		dat_ia_names_begin(&list);
		dat_conf_pairs(&list, text, &faults);
		release(&list);
	}
}

static void write_conf(char *name)
{
	int fd = mkstemp(name);

	CHECK(fd >= 0 && write(fd, conf, sizeof conf - 1) == (ssize_t)(sizeof conf - 1));
	close(fd);
	setenv("DAT_OVERRIDE", name, 1);
	setenv("LAPI_DAT_NAMES", "named=lo", 1);
}

/* A process of its own reads the files. Before core has started nobody handles faults. */
static void in_process(int has_core)
{
	char name[] = "/tmp/test_names-XXXXXX";
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (has_core) {
			node_guard_install();
			dat_unusual &= ~DAT_UNPREPARED;
		} else {
			signal(SIGSEGV, SIG_DFL);
			dat_unusual |= DAT_UNPREPARED;
		}
		write_conf(name);
		bad_pointers();
		lookups();
		registered();
		unlink(name);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

void test_names_hostile(void)
{
	lines();
	pairs();
	any_text();
	in_process(0);
	in_process(1);
}
