/*
 * List.c - standalone start over UDP/IP with a user list: the program knows where each task
 * receives before it calls LAPI_Init, and passes the list along.
 *
 * Usage, once for each task, with the MP_ variables set (README): List <file of addresses and
 * ports>
 */
#include "standalone.h"

int main(int argc, char **argv)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	lapi_extend_t extension;
	lapi_udp_t *list;
	int task, num_tasks;
	uint wanted;

	if (argc != 2) {
		fprintf(stderr, "usage: %s file-of-addresses-and-ports\n", argv[0]);
		return 2;
	}
	wanted = standalone_num_tasks();
	list = calloc(wanted, sizeof *list);
	if (!list || standalone_read(argv[1], list, wanted) != wanted) {
		fprintf(stderr, "%s: not %u lines with an address and a port\n", argv[1], wanted);
		return 2;
	}

	memset(&info, 0, sizeof info);
	memset(&extension, 0, sizeof extension);
	info.lib_vers = LAST_LIB;
	info.add_info = &extension;
	extension.add_udp_addrs = list;
	extension.num_udp_addr = wanted;
	CALL(LAPI_Init(&hndl, &info));
	free(list); /* the user's, and of no use any more once LAPI_Init has returned */
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);

	standalone_talk(hndl, task, num_tasks);

	CALL(LAPI_Term(hndl));
	return sample_end();
}
