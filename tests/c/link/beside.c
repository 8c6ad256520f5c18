/* beside.c - a program that uses LAPI, and a link in the same process: both move data in turn, and
 * the program's handle works as without a link. */
#include <lapi.h>

#include "link_test.h"

#define LAPI(call) CHECK((call) == LAPI_SUCCESS)

static uint64_t memory[2], words[2];
static lapi_link_handle_t *mine, *theirs;

int main(void)
{
	lapi_handle_t handle;
	lapi_info_t info;
	lapi_cntr_t completed;
	void **addresses;
	int value;

	begin(NULL);
	section = "LAPI beside";
	memset(&info, 0, sizeof(info));
	LAPI(LAPI_Init(&handle, &info));
	LAPI(LAPI_Setcntr(handle, &completed, 0));
	addresses = calloc(attr.tasks, sizeof(*addresses));
	theirs = calloc(attr.tasks, sizeof(*theirs));
	LAPI(LAPI_Address_init(handle, &memory[0], addresses));
	share(&memory[1], 8, LAPI_LINK_REMOTE_READ | LAPI_LINK_REMOTE_WRITE, &mine, theirs);
	for (uint64_t i = 1; i <= 500; i++) {
		uint32_t next = (attr.task + 1) % attr.tasks;

		words[0] = i;
		words[1] = i + 1000;
		LAPI(LAPI_Put(handle, next, 8, addresses[next], &words[0], NULL, NULL, &completed));
		MUST(TRY(lapi_link_put(lnk, peer[next], &words[1], theirs[next].base, NULL, &theirs[next],
		                       8, 0, NULL, NULL, NULL)));
		LAPI(LAPI_Waitcntr(handle, &completed, 1, &value));
		MUST(lapi_link_flush(lnk, peer[next]));
	}
	LAPI(LAPI_Gfence(handle));
	CHECK(memory[0] == 500);
	barrier();
	CHECK(memory[1] == 1500);
	LAPI(LAPI_Term(handle));
	barrier();
	end();
	return 0;
}
