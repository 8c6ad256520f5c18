/* fifo.c - records from any process to the descriptor of one: see world.h */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors that this process sends by, kept open; `lock` is held while one is written to. */
struct sender {
	uint32_t generation;
	int fd; /* 0: none */
};

enum { FIFO_SIZE = 65536 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sender *senders[16];

static void name_of(char *to, size_t size, enum rig_table table, uint32_t index,
                    uint32_t generation)
{
	snprintf(to, size, "%s/%c%u.%u", rig_folder(), 'a' + (char)table, index, generation);
}

static uint32_t entries(enum rig_table table)
{
	switch (table) {
	case RIG_T_PROCESS:
		return RIG_PROCESSES;
	case RIG_T_CONTEXT:
		return RIG_CONTEXTS;
	case RIG_T_CHANNEL:
		return RIG_CHANNELS;
	default:
		return RIG_CM_CHANNELS;
	}
}

int rig_fifo_open(enum rig_table table, uint32_t index, uint32_t generation)
{
	char name[256];

	name_of(name, sizeof name, table, index, generation);
	if (mkfifo(name, 0600) && errno != EEXIST)
		return -1;
	return open(name, O_RDWR | O_CLOEXEC);
}

void rig_fifo_remove(enum rig_table table, uint32_t index, uint32_t generation)
{
	char name[256];

	name_of(name, sizeof name, table, index, generation);
	unlink(name);
}

static struct sender *sender_of(enum rig_table table, uint32_t index, uint32_t generation)
{
	if (!senders[table])
		senders[table] = calloc(entries(table), sizeof *senders[table]);
	if (!senders[table])
		return NULL;
	struct sender *s = &senders[table][index];
	if (s->fd && s->generation == generation)
		return s;
	if (s->fd)
		close(s->fd);
	char name[256];
	name_of(name, sizeof name, table, index, generation);
	int fd = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	*s = (struct sender){.generation = generation, .fd = fd > 0 ? fd : 0};
	return s->fd ? s : NULL;
}

void rig_fifo_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(senders, 0, sizeof senders);
}

int rig_fifo_send(enum rig_table table, uint32_t index, uint32_t generation, const void *record,
                  size_t n)
{
	pthread_mutex_lock(&lock);
	struct sender *s = sender_of(table, index, generation);
	int sent = s && write(s->fd, record, n) == (ssize_t)n;
	pthread_mutex_unlock(&lock);
	return sent;
}

void rig_fifo_filter(enum rig_table table, uint32_t index, uint32_t generation, size_t size,
                     int (*keep)(const void *record, const void *what), const void *what)
{
	char name[256], record[16];

	name_of(name, sizeof name, table, index, generation);
	int fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	/* those that are kept go back to the end */
	char *kept = malloc(FIFO_SIZE);
	int n = 0, all = FIFO_SIZE / (int)size;
	while (kept && n < all && read(fd, record, size) == (ssize_t)size)
		if (keep(record, what))
			memcpy(kept + (size_t)n++ * size, record, size);
	for (int i = 0; kept && i < n; i++)
		if (write(fd, kept + (size_t)i * size, size) != (ssize_t)size)
			break;
	free(kept);
	close(fd);
}
