/*
 * Handler.c - standalone start over UDP/IP with a user handler: while it initialises, LAPI calls
 * the handler and asks where each task receives.
 *
 * Usage, once for each task, with the MP_ variables set (README): Handler <file of addresses and
 * ports>
 */
#include "standalone.h"

static const char *file_name; /* the handler has no parameter of its own for it */

/*
 * LAPI owns list, with room for info->num_tasks entries, and tells in local what it knows of this
 * task. A result other than 0 makes LAPI_Init fail.
 */
static int where_are_the_tasks(lapi_handle_t *hndl, lapi_udp_t *local, lapi_udp_t *list,
                               lapi_udpinfo_t *info)
{
	(void)hndl, (void)local;
	printf("task %u: LAPI asks where the %u tasks of instance %u are\n", info->task_id,
	       info->tot_num_tasks, info->instance_no);
	fflush(stdout);
	return standalone_read(file_name, list, info->tot_num_tasks) == info->tot_num_tasks ? 0 : 1;
}

int main(int argc, char **argv)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	lapi_extend_t extension;
	int task, num_tasks;

	if (argc != 2) {
		fprintf(stderr, "usage: %s file-of-addresses-and-ports\n", argv[0]);
		return 2;
	}
	file_name = argv[1];

	memset(&info, 0, sizeof info);
	memset(&extension, 0, sizeof extension);
	info.lib_vers = LAST_LIB;
	info.add_info = &extension;
	extension.udp_hndlr = where_are_the_tasks;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);

	standalone_talk(hndl, task, num_tasks);

	CALL(LAPI_Term(hndl));
	return sample_end();
}
