/*
 * keys.c - over adapters: puts and gets with the handle of a region send no request to the target,
 * so it sends no packet for them. run.sh reads the library's counts (MP_INFOLEVEL=3).
 *
 * usage: keys with | without | stale
 */
#include "link_test.h"

enum { BYTES = 64 << 10, TIMES = 200 };

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	static char memory[BYTES], local[BYTES];
	lapi_link_handle_t *mine, *theirs, *handle;

	begin(NULL);
	CHECK(attr.tasks == 2);
	theirs = calloc(attr.tasks, sizeof(*theirs));
	share(memory, BYTES, LAPI_LINK_REMOTE_READ | LAPI_LINK_REMOTE_WRITE, &mine, theirs);
	handle = strcmp(how, "without") ? &theirs[1] : NULL;
	section = how;
	CHECK(mine->key[0] != 0);
	if (!strcmp(how, "stale")) { /* it is unknown there, as after the region's end */
		if (attr.task == 1)
			MUST(lapi_link_deregister(lnk, mine));
		for (int i = 1; i < 5; i++)
			theirs[1].key[i] ^= 0x5a5a5a5a5a5a5a5a;
		barrier();
	}
	for (int i = 0; attr.task == 0 && i < TIMES; i++) {
		memset(local, i + 1, BYTES);
		MUST(TRY(lapi_link_put(lnk, peer[1], local, theirs[1].base, NULL, handle, BYTES, 0, NULL,
		                       NULL, NULL)));
		MUST(lapi_link_flush(lnk, peer[1]));
		memset(local, 0, BYTES);
		MUST(TRY(lapi_link_get(lnk, peer[1], local, theirs[1].base, NULL, handle, BYTES, 0, NULL,
		                       NULL, NULL)));
		MUST(lapi_link_flush(lnk, peer[1]));
		CHECK(local[0] == (char)(i + 1) && local[BYTES - 1] == (char)(i + 1));
	}
	barrier();
	CHECK(attr.task == 0 || memory[BYTES - 1] == (char)TIMES);
	end();
	return 0;
}
