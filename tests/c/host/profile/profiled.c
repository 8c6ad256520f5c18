/*
 * profiled.c - an ordinary program whose calls libprofile.c counts. It is run linked with the
 * profiling library in front, with it preloaded, and without it; argv[1] says which: linked,
 * preloaded or plain.
 */
#define _GNU_SOURCE
#include "../host.h"

#include <dlfcn.h>

static int word;
static void *words[128];
static int counted(const char *name)
{
	int *counter = (int *)dlsym(RTLD_DEFAULT, name);
	return counter ? *counter : -1;
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)info;
	return NULL;
}

/* 10 puts of 4 bytes, 3 active messages, 13 waits, 3 fences, 2 queries, besides Init and Term. */
static int work(void)
{
	lapi_handle_t h;
	lapi_info_t info;
	lapi_cntr_t done;
	void *handlers[128];
	int i, task = -1, tasks = 0, next;
	host_info(&info);
	if (LAPI_Init(&h, &info) != LAPI_SUCCESS)
		return -1;
	memset(&done, 0, sizeof done);
	HOST_OK(LAPI_Qenv(h, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(h, NUM_TASKS, &tasks));
	next = (task + 1) % tasks;
	HOST_OK(LAPI_Address_init(h, &word, words));
	HOST_OK(LAPI_Address_init(h, *(void **)(void *)&(hdr_hndlr_t *){take}, handlers));
	for (i = 0; i < 10; i++) {
		HOST_OK(LAPI_Put(h, (uint)next, sizeof i, words[next], &i, NULL, NULL, &done));
		HOST_OK(LAPI_Waitcntr(h, &done, 1, NULL));
	}
	for (i = 0; i < 3; i++) {
		HOST_OK(LAPI_Amsend(h, (uint)next, handlers[next], NULL, 0, NULL, 0, NULL, NULL,
		                    &done));
		HOST_OK(LAPI_Waitcntr(h, &done, 1, NULL));
	}
	HOST_OK(LAPI_Fence(h));
	HOST_OK(LAPI_Gfence(h));
	HOST_CHECK(word == 9);
	HOST_OK(LAPI_Gfence(h));
	HOST_OK(LAPI_Term(h));
	return task;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "plain";
	unsigned long *bytes;
	int task = work();
	HOST_CHECK(task >= 0);
	if (strcmp(how, "plain") == 0)
		HOST_CHECK(counted("profile_inits") == -1);
	else {
		/* Exactly the program's own calls: the library itself never goes through a LAPI_
		 * name. */
		HOST_CHECK(counted("profile_inits") == 1);
		HOST_CHECK(counted("profile_terms") == 1);
		HOST_CHECK(counted("profile_puts") == 10);
		HOST_CHECK(counted("profile_amsends") == 3);
		HOST_CHECK(counted("profile_waits") == 13);
		HOST_CHECK(counted("profile_fences") == 3);
		HOST_CHECK(counted("profile_queries") == 2);
		bytes = (unsigned long *)dlsym(RTLD_DEFAULT, "profile_put_bytes");
		HOST_CHECK(bytes && *bytes == 40);
	}
	host_end_case(how, task != 0);
	return host_close("profiled", task != 0);
}
