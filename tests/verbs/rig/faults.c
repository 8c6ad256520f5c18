/*
 * faults.c - what a test has fail, while programs run: words of rigctl, or of a program that asks
 * dlsym for rig_command.
 *
 *	port DEVICE NUMBER down|up
 *	device DEVICE gone|back
 *	fail DEVICE send|receive|register|qp|cq VALUE [AFTER [TIMES]]
 *	event DEVICE NAME [WHICH]      (raise.c)
 *	room DEVICE N [on]             (the CQs that there are overrun beyond N completions, and
 *	                               fail; or lose some, report each, and go on, as soft-RoCE's)
 *	heal DEVICE
 *	listening          (fails, if no program listens for connections)
 *
 * VALUE is a status of completions (a number of ibv_wc_status) or an errno. The first AFTER
 * objects go well, then TIMES of them fail; 0 and 1 without them.
 */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t rig_fault_due(struct rig_device *d, enum rig_what what)
{
	if (!atomic_load_explicit(&d->armed, memory_order_relaxed))
		return 0;
	for (int i = 0; i < RIG_FAULTS; i++) {
		struct rig_fault *f = &d->faults[i];
		if (atomic_load(&f->what) != (uint32_t)what || atomic_fetch_sub(&f->after, 1) > 0)
			continue;
		if (atomic_fetch_sub(&f->times, 1) > 0)
			return f->value;
		atomic_store(&f->what, RIG_F_NONE);
	}
	return 0;
}

static struct rig_device *find(const char *name, uint32_t *index)
{
	struct rig_world *w = rig_mapped();

	for (*index = 0; *index < w->num_devices; ++*index)
		if (!strcmp(w->devices[*index].name, name))
			return &w->devices[*index];
	return NULL;
}

static int port(struct rig_device *d, uint32_t index, const char *number, const char *state)
{
	uint32_t n = (uint32_t)atoi(number), down = !strcmp(state, "down");

	if (n < 1 || n > d->ports || (!down && strcmp(state, "up")))
		return EINVAL;
	if (atomic_exchange(&d->port[n - 1].down, down) == down)
		return 0;
	rig_async_all(index, down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE, RIG_E_PORT, n);
	rig_agent_wake_all(); /* what waited may go on */
	return 0;
}

/* Its queue pairs fail without completions of their own: nobody can ask it any more. */
static void fail_all(uint32_t device)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t i = 1; i <= w->top_qp; i++) {
		struct rig_qp *q = &w->qps[i];
		if (q->qpn && q->device == device && q->state != IBV_QPS_RESET) {
			q->state = IBV_QPS_ERR;
			rig_qp_flush(q);
		}
	}
}

static int device(struct rig_device *d, uint32_t index, const char *state)
{
	struct rig_world *w = rig_mapped();
	uint32_t gone = !strcmp(state, "gone");

	if (!gone && strcmp(state, "back"))
		return EINVAL;
	if (atomic_exchange(&d->gone, gone) == gone)
		return 0;
	if (gone) {
		atomic_fetch_add(&d->generation, 1);
		rig_async_all(index, IBV_EVENT_DEVICE_FATAL, RIG_E_DEVICE, 0);
		rig_lock(&w->lock);
		rig_cm_device_gone(index);
		rig_unlock(&w->lock);
		fail_all(index);
	}
	rig_agent_wake_all();
	return 0;
}

static int fail(struct rig_device *d, int n, char *const *words)
{
	static const char *const names[] = {"", "send", "receive", "register", "qp", "cq"};
	uint32_t what = 0;

	for (uint32_t i = 1; i < sizeof names / sizeof *names; i++)
		if (!strcmp(words[2], names[i]))
			what = i;
	if (!what || atoi(words[3]) < 1)
		return EINVAL;
	for (int i = 0; i < RIG_FAULTS; i++) {
		struct rig_fault *f = &d->faults[i];
		if (atomic_load(&f->what))
			continue;
		f->value = (uint32_t)atoi(words[3]);
		atomic_store(&f->after, n > 4 ? atoi(words[4]) : 0);
		atomic_store(&f->times, n > 5 ? atoi(words[5]) : 1);
		atomic_store(&f->what, what);
		atomic_store(&d->armed, 1);
		return 0;
	}
	return ENOSPC;
}

static int room(uint32_t device, uint32_t n, int goes_on)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t i = 0; i < RIG_CQS; i++) {
		struct rig_cq *q = &w->cqs[i];
		if (atomic_load(&q->slot.used) && w->contexts[q->context].device == device &&
		    n <= q->cqe) {
			atomic_store(&q->goes_on, goes_on);
			atomic_store(&q->room, n);
		}
	}
	return 0;
}

static int listening(const struct rig_world *w)
{
	for (uint32_t i = 1; i <= w->cm.top; i++)
		if (w->cm.ids[i].slot.used && w->cm.ids[i].state == RIG_I_LISTENING &&
		    !rig_dead(w->cm.ids[i].slot.process))
			return 0;
	return EAGAIN;
}

int rig_command(int n, char *const *words)
{
	uint32_t index;

	if (!rig_world())
		return errno;
	if (n == 1 && !strcmp(words[0], "listening"))
		return listening(rig_mapped());
	struct rig_device *d = n > 1 ? find(words[1], &index) : NULL;
	if (!d)
		return n > 1 ? ENODEV : EINVAL;
	if (n == 4 && !strcmp(words[0], "port"))
		return port(d, index, words[2], words[3]);
	if (n == 3 && !strcmp(words[0], "device"))
		return device(d, index, words[2]);
	if (n >= 4 && n <= 6 && !strcmp(words[0], "fail"))
		return fail(d, n, words);
	if ((n == 3 || n == 4) && !strcmp(words[0], "event"))
		return rig_raise(index, words[2], n == 4 ? (uint32_t)strtoul(words[3], NULL, 10) : 0);
	if ((n == 3 || (n == 4 && !strcmp(words[3], "on"))) && !strcmp(words[0], "room") &&
	    atoi(words[2]) > 0)
		return room(index, (uint32_t)atoi(words[2]), n == 4);
	if (n == 2 && !strcmp(words[0], "heal")) {
		for (int i = 0; i < RIG_FAULTS; i++)
			atomic_store(&d->faults[i].what, RIG_F_NONE);
		atomic_store(&d->armed, 0);
		return 0;
	}
	return EINVAL;
}
