/*
 * dlopened.c - the library loaded by dlopen, after threads were started, from a thread that is not
 * the main one; the symbols found by dlsym. Built without -llapi_r; argv[1] is the library.
 */
#define _GNU_SOURCE
#include <lapi.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "masks.h"

static const char *path;
static int failures;
static int task = -1;

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "dlopened: no symbol %s\n", name);
		failures++;
	}
	return found;
}

static void expect(int code, const char *call)
{
	if (code != LAPI_SUCCESS) {
		fprintf(stderr, "dlopened: %s returned %d\n", call, code);
		failures++;
	}
}

typedef struct calls {
	int (*init)(lapi_handle_t *, lapi_info_t *);
	int (*qenv)(lapi_handle_t, lapi_query_t, int *);
	int (*put)(lapi_handle_t, uint, ulong, void *, void *, lapi_cntr_t *, lapi_cntr_t *,
	           lapi_cntr_t *);
	int (*address_init)(lapi_handle_t, void *, void **);
	int (*waitcntr)(lapi_handle_t, lapi_cntr_t *, int, int *);
	int (*gfence)(lapi_handle_t);
	int (*term)(lapi_handle_t);
} calls;

static void use(const calls *c)
{
	static int word;
	static lapi_cntr_t done;
	void *words[128];
	lapi_info_t info;
	lapi_handle_t h;
	int tasks = 0, value, all;
	bzero(&info, sizeof info);
	expect(c->init(&h, &info), "LAPI_Init");
	if (failures)
		return;
	expect(c->qenv(h, TASK_ID, &task), "LAPI_Qenv");
	expect(c->qenv(h, NUM_TASKS, &tasks), "LAPI_Qenv");
	expect(c->address_init(h, &word, words), "LAPI_Address_init");
	value = task + 1;
	expect(c->put(h, (uint)((task + 1) % tasks), sizeof value, words[(task + 1) % tasks],
	              &value, NULL, NULL, &done),
	       "LAPI_Put");
	expect(c->waitcntr(h, &done, 1, NULL), "LAPI_Waitcntr");
	expect(c->gfence(h), "LAPI_Gfence");
	if (word != (task + tasks - 1) % tasks + 1) {
		fprintf(stderr, "dlopened: the word is %d\n", word);
		failures++;
	}
	/* only main's thread and this one take the program's signals; the library's threads block
	 * them */
	if (masks_open(SIGUSR1, &all) != 2) {
		fprintf(stderr, "dlopened: threads of the library take the program's signals\n");
		failures++;
	}
	expect(c->term(h), "LAPI_Term");
}

static void *load_and_use(void *unused)
{
	calls c;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "dlopened: %s\n", dlerror());
		failures++;
		return unused;
	}
	*(void **)&c.init = symbol(library, "LAPI_Init");
	*(void **)&c.qenv = symbol(library, "LAPI_Qenv");
	*(void **)&c.put = symbol(library, "PLAPI_Put");
	*(void **)&c.address_init = symbol(library, "LAPI_Address_init");
	*(void **)&c.waitcntr = symbol(library, "LAPI_Waitcntr");
	*(void **)&c.gfence = symbol(library, "LAPI_Gfence");
	*(void **)&c.term = symbol(library, "LAPI_Term");
	if (!failures)
		use(&c);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	path = argc > 1 ? argv[1] : "liblapi_r.so";
	if (pthread_create(&thread, NULL, load_and_use, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0)
		failures++;
	if (task <= 0)
		printf("dlopened: %d passed, %d failed, 0 skipped\n", failures ? 0 : 1,
		       failures ? 1 : 0);
	return failures ? 1 : 0;
}
