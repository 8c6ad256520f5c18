/*
 * by_hand.h - shared by the programs that start a job's tasks by hand: the tasks are the program
 * itself, with other arguments; a file that all processes map shows each one's progress.
 */
#ifndef BY_HAND_H
#define BY_HAND_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "host.h"

enum { HAND_MOST_TASKS = 8 };

static inline int value_of(const int *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static inline void add(int *value)
{
	__atomic_add_fetch(value, 1, __ATOMIC_ACQ_REL);
}

/* For a task with this handle: waits, and makes progress meanwhile. */
#define UNTIL(handle, condition)            \
	do {                                \
		while (!(condition)) {      \
			LAPI_Probe(handle); \
			sched_yield();      \
		}                           \
	} while (0)

/* For the starter: waits for a value of the board, and returns whether it came. */
static inline int await(const int *value, int wanted)
{
	int i;
	for (i = 0; i < 60000 && value_of(value) < wanted; i++)
		usleep(1000);
	HOST_CHECK(value_of(value) >= wanted);
	return value_of(value) >= wanted;
}

/* An address in another task. */
static inline void *there(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* Maps size bytes of the file; NULL if that fails. */
static inline void *map_board(const char *file, size_t size)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* The same with a new file of zeros, for the starter. */
static inline void *new_board(const char *file, size_t size)
{
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	HOST_CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	close(fd);
	return map_board(file, size);
}

/* Ports of the loopback interface that were free a moment ago. */
static inline int free_ports(int *ports, int n)
{
	int sockets[HAND_MOST_TASKS], i, ok = 1;
	for (i = 0; i < n; i++) {
		struct sockaddr_in a;
		socklen_t size = sizeof a;
		sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		memset(&a, 0, sizeof a);
		a.sin_family = AF_INET;
		a.sin_addr.s_addr = inet_addr("127.0.0.1");
		ok &= sockets[i] >= 0 && bind(sockets[i], (struct sockaddr *)&a, sizeof a) == 0 &&
		      getsockname(sockets[i], (struct sockaddr *)&a, &size) == 0;
		ports[i] = ntohs(a.sin_port);
	}
	for (i = 0; i < n; i++)
		close(sockets[i]);
	return ok;
}

/* n numbers with colons between them, for an argument or MP_COMMON_TASKS. */
static inline const char *list_of(const int *numbers, int n, char *list, size_t room)
{
	int i;
	size_t used = 0;
	*list = 0;
	for (i = 0; i < n; i++)
		used += (size_t)snprintf(list + used, room - used, "%s%d", i ? ":" : "",
		                         numbers[i]);
	return list;
}

/* The addresses for such a list of ports. */
static inline void read_ports(const char *list, lapi_udp_t *addresses, int n)
{
	char *at = (char *)(uintptr_t)list;
	int i;
	for (i = 0; i < n; i++) {
		addresses[i].ip_addr = inet_addr("127.0.0.1");
		addresses[i].port_no = htons((unsigned short)strtol(at, &at, 10));
		at += *at == ':';
	}
}

static inline void set_number(const char *name, int value)
{
	char text[32];
	snprintf(text, sizeof text, "%d", value);
	setenv(name, text, 1);
}

/*
 * Sets the guide's variables in the child that becomes a task; the starter's process id is the
 * partition. shm: LAPI_USE_SHM, NULL: not set, and no task is on the node of another. together:
 * bits, the tasks on its node.
 */
static inline void be_by_hand(int id, int tasks, const char *shm, unsigned together)
{
	char list[96];
	int others[HAND_MOST_TASKS + 1] = {0}, i;
	for (i = 0; i < tasks; i++)
		if (i != id && together >> i & 1)
			others[++others[0]] = i;
	set_number("MP_CHILD", id);
	set_number("MP_PROCS", tasks);
	set_number("MP_PARTITION", (int)getppid());
	setenv("MP_MSG_API", "lapi", 1);
	setenv("MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo", 1);
	if (!shm) {
		unsetenv("LAPI_USE_SHM");
		return;
	}
	setenv("LAPI_USE_SHM", shm, 1);
	setenv("MP_COMMON_TASKS", list_of(others, others[0] + 1, list, sizeof list), 1);
}

/* The task has ended as it should. */
static inline void ends_well(const char *job, int id, pid_t pid)
{
	int status = -1;
	HOST_CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fprintf(stderr, "%s: task %d ended with status %#x\n", job, id, status);
	HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
