/*
 * standalone.h - what the two standalone programs share: reading the list of tasks, and a
 * conversation that shows that the tasks found each other.
 *
 * The list is a file with one line a task, in order: address and port, for example "192.0.2.7
 * 20000". Every task reads the same file. The port is where that task receives: LAPI binds its read
 * socket to its own entry.
 */
#ifndef STANDALONE_H
#define STANDALONE_H

#include <arpa/inet.h>
#include "../../common/sample.h"

/* Reads up to max entries; returns how many there are. Ends the task when the file cannot be
 * used. */
static inline uint standalone_read(const char *name, lapi_udp_t *list, uint max)
{
	FILE *file = fopen(name, "r");
	char address[64];
	unsigned int port;
	uint count = 0;

	if (!file) {
		perror(name);
		exit(2);
	}
	while (count < max && fscanf(file, "%63s %u", address, &port) == 2) {
		list[count].ip_addr = inet_addr(address); /* network byte order */
		list[count].port_no = htons(port);        /* likewise */
		count++;
	}
	fclose(file);
	return count;
}

/* Each task puts its greeting to the next one; the last to the first. */
static inline void standalone_talk(lapi_handle_t hndl, int task, int num_tasks)
{
	static long greeting, received;
	static lapi_cntr_t arrived;
	int next = (task + 1) % num_tasks, previous = (task + num_tasks - 1) % num_tasks;
	void **received_of = calloc(num_tasks, sizeof *received_of);
	void **arrived_of = calloc(num_tasks, sizeof *arrived_of);
	int reached;

	CALL(LAPI_Setcntr(hndl, &arrived, 0));
	CALL(LAPI_Address_init(hndl, &received, received_of));
	CALL(LAPI_Address_init(hndl, &arrived, arrived_of));
	CALL(LAPI_Gfence(hndl));

	greeting = 1000 + task;
	CALL(LAPI_Put(hndl, next, sizeof greeting, received_of[next], &greeting, arrived_of[next],
	              NULL, NULL));
	CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
	EXPECT(received == 1000 + previous);
	CALL(LAPI_Qenv(hndl, QUERY_SHM_NUM_TASKS, &reached));
	sample_say("greeting %ld from task %d, shared memory %s", received, previous,
	           reached > 1 ? "in use" : "not in use");

	CALL(LAPI_Gfence(hndl));
	free(received_of);
	free(arrived_of);
}

/* The tasks of the job: before LAPI_Init only the environment knows. */
static inline uint standalone_num_tasks(void)
{
	const char *text = getenv("MP_PROCS");
	int value = text ? atoi(text) : 0;

	if (value < 1) {
		fprintf(stderr, "MP_PROCS must say how many tasks the job has; see README\n");
		exit(2);
	}
	return (uint)value;
}

#endif
