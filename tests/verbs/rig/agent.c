/*
 * agent.c - the thread of each process that sleeps until something has a time: requests that wait
 * for their responder, messages of the connection manager; and that sees other processes die.
 */
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct agent {
	uint32_t self;
	int wake;
	struct pollfd files[RIG_PROCESSES]; /* the first is its FIFO */
	uint32_t process[RIG_PROCESSES], generation[RIG_PROCESSES];
	int n;
};

void rig_agent_wake(uint32_t process)
{
	struct rig_world *w = rig_mapped();

	rig_fifo_send(RIG_T_PROCESS, process, w->processes[process].slot.generation, "w", 1);
}

void rig_agent_wake_all(void)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t i = 1; i < RIG_PROCESSES; i++)
		if (atomic_load(&w->processes[i].slot.used) && !atomic_load(&w->processes[i].dead))
			rig_agent_wake(i);
}

/* Everything of one table that a process has. */
#define EACH_OF(type, array, process_, what)                                         \
	for (size_t i_ = 1; i_ < sizeof(array) / sizeof(array)[0]; i_++) {           \
		type *one = &(array)[i_];                                            \
		if (atomic_load(&one->slot.used) && one->slot.process == (process_)) \
			what;                                                        \
	}

/* Frees what a dead process had, in the order in which a program would. The world's lock is held,
 * unless a queue pair's locks are to be taken: those of a dead process nobody keeps for long. */
void rig_agent_bury(uint32_t process)
{
	struct rig_world *w = rig_mapped();
	struct rig_process *p = &w->processes[process];

	if (!atomic_load(&p->slot.used))
		return;
	atomic_store(&p->dead, 1);
	EACH_OF(struct rig_id, w->cm.ids, process, rig_id_end(one))
	EACH_OF(struct rig_cm_channel, w->cm.channels, process, {
		rig_fifo_remove(RIG_T_CM_CHANNEL, (uint32_t)i_, one->slot.generation);
		rig_give(one);
	})
	EACH_OF(struct rig_event, w->cm.events, process, rig_give(one))
	EACH_OF(struct rig_qp, w->qps, process, rig_qp_free(one))
	EACH_OF(struct rig_srq, w->srqs, process, rig_srq_free(one))
	EACH_OF(struct rig_cq, w->cqs, process, rig_cq_free(one))
	EACH_OF(struct rig_channel, w->channels, process, {
		rig_fifo_remove(RIG_T_CHANNEL, (uint32_t)i_, one->slot.generation);
		rig_give(one);
	})
	EACH_OF(struct rig_context, w->contexts, process, {
		rig_fifo_remove(RIG_T_CONTEXT, (uint32_t)i_, one->slot.generation);
		rig_give(one);
	})
	EACH_OF(struct rig_key, w->keys, process, rig_give(one))
	rig_fifo_remove(RIG_T_PROCESS, process, p->slot.generation);
	rig_give(p);
}

/* Watches the processes that there are now; whether one of them has died already. */
static int look_around(struct agent *a, struct rig_world *w)
{
	int died = 0;

	for (uint32_t i = 1; i < RIG_PROCESSES; i++) {
		struct rig_process *p = &w->processes[i];
		int known = i == a->self;
		for (int k = 1; k < a->n && !known; k++)
			known = a->process[k] == i && a->generation[k] == p->slot.generation;
		if (known || !atomic_load(&p->slot.used) || atomic_load(&p->dead))
			continue;
		int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
		if (fd < 0 && errno != ESRCH)
			continue;
		died |= fd < 0;
		a->files[a->n] = (struct pollfd){.fd = fd, .events = POLLIN};
		a->process[a->n] = i;
		a->generation[a->n++] = p->slot.generation;
	}
	return died;
}

static void one_died(struct agent *a, struct rig_world *w, int k)
{
	uint32_t i = a->process[k];

	if (a->files[k].fd >= 0)
		close(a->files[k].fd);
	rig_lock(&w->lock);
	/* the first agent to come does it */
	if (w->processes[i].slot.generation == a->generation[k])
		rig_agent_bury(i);
	rig_unlock(&w->lock);
	a->n--;
	a->files[k] = a->files[a->n];
	a->process[k] = a->process[a->n];
	a->generation[k] = a->generation[a->n];
}

static int milliseconds(uint64_t at)
{
	uint64_t now = rig_now();

	if (!at)
		return -1;
	return at <= now ? 0
	                 : (int)((at - now) / 1000000 < 60000 ? (at - now) / 1000000 + 1 : 60000);
}

static void *run(void *agent)
{
	struct agent *a = agent;
	struct rig_world *w = rig_mapped();
	char some[256];

	for (;;) {
		int died = look_around(a, w);
		uint64_t at = rig_run_all();
		uint64_t cm = rig_cm_timers();
		at = !at || (cm && cm < at) ? cm : at;
		poll(a->files, (nfds_t)a->n, died ? 0 : milliseconds(at));
		if (a->files[0].revents & POLLIN)
			while (read(a->wake, some, sizeof some) == (ssize_t)sizeof some)
				;
		for (int k = a->n - 1; k > 0; k--)
			if (a->files[k].fd < 0 || a->files[k].revents)
				one_died(a, w, k);
	}
	return NULL;
}

int rig_agent_start(uint32_t self)
{
	struct rig_world *w = rig_mapped();
	struct agent *a = calloc(1, sizeof *a);
	pthread_t thread;
	sigset_t all, before;

	if (!a)
		return ENOMEM;
	a->self = self;
	a->wake = rig_fifo_open(RIG_T_PROCESS, self, w->processes[self].slot.generation);
	if (a->wake < 0) {
		free(a);
		return errno;
	}
	a->files[0] = (struct pollfd){.fd = a->wake, .events = POLLIN};
	a->n = 1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, NULL, run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return err;
	pthread_detach(thread);
	/* the others watch this one from now on */
	for (uint32_t i = 1; i < RIG_PROCESSES; i++)
		if (i != self && atomic_load(&w->processes[i].slot.used))
			rig_fifo_send(RIG_T_PROCESS, i, w->processes[i].slot.generation, "w", 1);
	return 0;
}
