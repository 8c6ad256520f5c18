/* world.c - maps the world, and joins this process to it: see world.h */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct rig_world *world;
static uint32_t self;
static char folder[200];
/* Of joining; a child that was forked joins by itself. */
static pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int joined;

enum { ARENA = (sizeof(struct rig_world) + RIG_PAGE - 1) / RIG_PAGE };

const char *rig_folder(void)
{
	return folder;
}

void rig_new_lock(pthread_mutex_t *m)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &a);
	pthread_mutexattr_destroy(&a);
}

void rig_lock(pthread_mutex_t *m)
{
	if (pthread_mutex_lock(m) == EOWNERDEAD)
		pthread_mutex_consistent(m);
}

void rig_unlock(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
}

uint64_t rig_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* When a process began, in the kernel's ticks; 0: there is none. */
static uint64_t started(pid_t pid)
{
	char name[64], text[1024], *at;
	unsigned long long ticks = 0;

	snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
	                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
	                  "%*d %*d %*d %*d %llu",
	                  &ticks) != 1)
		return 0;
	return ticks;
}

/* Takes the slots in turn, so that a number is not reused soon. */
void *rig_take(enum rig_table table, void *first, size_t size, uint32_t count)
{
	uint32_t *cursor = &world->cursors[table];

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (*cursor + i) % count;
		struct rig_slot *slot = (struct rig_slot *)((char *)first + at * size);
		/* number 0 stays free: it would be "none" in records and keys */
		if (at == 0 || atomic_load(&slot->used))
			continue;
		slot->generation++;
		slot->process = self;
		*cursor = at + 1;
		atomic_store(&slot->used, 1);
		return slot;
	}
	return NULL;
}

void rig_give(void *slot)
{
	atomic_store(&((struct rig_slot *)slot)->used, 0);
}

void *rig_at(uint64_t offset)
{
	return (char *)world + offset;
}

static int world_file(int flags)
{
	char name[256];

	snprintf(name, sizeof name, "%s/world", folder);
	return open(name, flags | O_RDWR | O_CLOEXEC, 0600);
}

/* Takes pages that were never used first, so that late writes of dead processes do no harm. */
uint64_t rig_alloc(size_t n)
{
	uint32_t pages = (uint32_t)((n + RIG_PAGE - 1) / RIG_PAGE), run = 0;

	for (uint32_t i = 0; i < 2 * RIG_PAGES; i++) {
		uint32_t at = (world->next_page + i) % RIG_PAGES;
		run = at == 0 ? 0 : run;
		run = world->pages[at] ? 0 : run + 1;
		if (run < pages)
			continue;
		uint32_t first = at + 1 - pages;
		uint64_t offset = ((uint64_t)ARENA + first) * RIG_PAGE;
		int fd = world_file(0);
		int err = fd < 0 ? errno
		                 : posix_fallocate(fd, (off_t)offset, (off_t)pages * RIG_PAGE);
		if (fd >= 0)
			close(fd);
		if (err) /* the file system is full: better than SIGBUS later */
			return 0;
		memset(&world->pages[first], 1, pages);
		world->next_page = at + 1;
		return offset;
	}
	return 0;
}

void rig_free(uint64_t offset, size_t n)
{
	uint32_t pages = (uint32_t)((n + RIG_PAGE - 1) / RIG_PAGE);

	if (!offset)
		return;
	/* shared pages of a file: this frees them, and who still has them sees zeroes */
	madvise(rig_at(offset), (size_t)pages * RIG_PAGE, MADV_REMOVE);
	memset(&world->pages[offset / RIG_PAGE - ARENA], 0, pages);
}

int rig_dead(uint32_t process)
{
	struct rig_process *p = &world->processes[process];

	return !atomic_load(&p->slot.used) || atomic_load(&p->dead);
}

pid_t rig_pid(uint32_t process)
{
	return world->processes[process].pid;
}

struct rig_world *rig_mapped(void)
{
	return world;
}

uint32_t rig_self(void)
{
	return self;
}

/* Lays the world out, if this process is the first; under the file's lock. */
static int lay_out(int fd)
{
	struct stat st;

	if (fstat(fd, &st) ||
	    (st.st_size == 0 && ftruncate(fd, (off_t)(ARENA + RIG_PAGES) * RIG_PAGE)))
		return errno;
	world = mmap(NULL, (size_t)(ARENA + RIG_PAGES) * RIG_PAGE, PROT_READ | PROT_WRITE,
	             MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (world == MAP_FAILED) {
		world = NULL;
		return errno;
	}
	madvise(world, (size_t)(ARENA + RIG_PAGES) * RIG_PAGE, MADV_DONTDUMP);
	if (world->magic == RIG_MAGIC)
		return world->size_of_this == sizeof *world ? 0 : EPROTO;
	rig_new_lock(&world->lock);
	rig_new_lock(&world->groups_lock);
	rig_devices_init(world);
	world->size_of_this = sizeof *world;
	world->magic = RIG_MAGIC;
	return 0;
}

static int map(void)
{
	const char *name = getenv("RIG");

	if (world)
		return 0;
	if (!name || snprintf(folder, sizeof folder, "%s", name) >= (int)sizeof folder)
		return ENODEV;
	int fd = world_file(O_CREAT);
	if (fd < 0)
		return errno;
	int err = flock(fd, LOCK_EX) ? errno : lay_out(fd);
	flock(fd, LOCK_UN); /* the mapping keeps the file, and its lock, beyond this */
	close(fd);
	return err;
}

/* Processes that died when no other process was left to notice. */
static void bury(void)
{
	for (uint32_t i = 1; i < RIG_PROCESSES; i++) {
		struct rig_process *p = &world->processes[i];
		if (atomic_load(&p->slot.used) && started(p->pid) != p->started)
			rig_agent_bury(i);
	}
}

static int join(void)
{
	rig_lock(&world->lock);
	bury();
	struct rig_process *p = RIG_TAKE(RIG_T_PROCESS, world->processes);
	if (p) {
		self = RIG_INDEX(world->processes, p);
		p->slot.process = self;
		p->pid = getpid();
		p->started = started(p->pid);
		atomic_store(&p->dead, 0);
	}
	rig_unlock(&world->lock);
	if (!p)
		return EAGAIN;
	/* a system may let nobody but a parent into a process's memory, unless it says so */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	return rig_agent_start(self);
}

static void forked(void)
{
	pthread_mutex_init(&joining, NULL);
	rig_fifo_forked();
	atomic_store(&joined, 0);
}

struct rig_world *rig_world(void)
{
	static int watched;

	if (atomic_load_explicit(&joined, memory_order_acquire))
		return world;
	pthread_mutex_lock(&joining);
	int err = 0;
	if (!atomic_load(&joined)) {
		err = map();
		err = err ? err : join();
		if (!err && !watched++)
			pthread_atfork(NULL, NULL, forked);
		if (!err)
			atomic_store_explicit(&joined, 1, memory_order_release);
	}
	pthread_mutex_unlock(&joining);
	if (!err)
		return world;
	errno = err;
	return NULL;
}
