/* masks.h - which threads of this process may be sent a signal. */
#ifndef MASKS_H
#define MASKS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* 1 if a thread has the signal blocked, or has ended. */
static inline int masks_blocked_in(int tid, int signal_number)
{
	char path[64], line[256];
	unsigned long long blocked = ~0ull;
	FILE *file;
	snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		sscanf(line, "SigBlk: %llx", &blocked);
	if (file)
		fclose(file);
	return (blocked >> (signal_number - 1) & 1) != 0;
}

/*
 * How many threads do not block the signal; *all: how many there are.
 */
static inline int masks_open(int signal_number, int *all)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int open = 0;
	*all = 0;
	while (tasks && (entry = readdir(tasks)) != NULL) {
		int tid = atoi(entry->d_name);
		if (tid == 0)
			continue;
		(*all)++;
		open += !masks_blocked_in(tid, signal_number);
	}
	if (tasks)
		closedir(tasks);
	return open;
}

#endif
