/* cno.c - CNOs, and their agents (evd.h). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "dat/evd/room.h"

static uint32_t named; /* EVDs that have a CNO */

/* CNOs whose agents are to be called, in the order in which they were triggered. */
static dat_slot *first_due, *last_due;

int cno_open(uint64_t cno, uint64_t function, uint64_t instance, int32_t fd)
{
	dat_cno *made = calloc(1, sizeof(*made));

	if (!made)
		return 0;
	made->function = function;
	made->instance = instance;
	made->fd = fd;
	dat_slot_at(cno)->lane = (uintptr_t)made;
	return 1;
}

/* Its agent is not to be called any more. */
static void forget_agent(dat_slot *slot, dat_cno *cno)
{
	dat_slot *before = NULL, *at = first_due;

	if (!cno->due)
		return;
	for (; at != slot; at = dat_slot_at(dat_cno_of(at)->next))
		before = at;
	if (before)
		dat_cno_of(before)->next = cno->next;
	else
		first_due = dat_slot_at(cno->next);
	if (last_due == slot)
		last_due = before;
	cno->due = cno->next = 0;
}

void cno_close(uint64_t cno)
{
	dat_slot *slot = dat_slot_at(cno);
	dat_cno *closed = dat_cno_of(slot);
	int before = errno;

	forget_agent(slot, closed);
	if (closed->fd >= 0)
		close(closed->fd);
	errno = before;
	slot->lane = 0;
	free(closed);
}

void cno_set_agent(uint64_t cno, uint64_t function, uint64_t instance)
{
	dat_slot *slot = dat_slot_at(cno);
	dat_cno *set = dat_cno_of(slot);

	if (!function) /* a call that is due would find none */
		forget_agent(slot, set);
	set->function = function;
	set->instance = instance;
	set->called = 0;
}

/* Notifies waiting threads and the descriptor whether a CNO is triggered. */
static void settle(dat_slot *slot, const dat_cno *cno)
{
	uint32_t ready = cno->first != 0;
	uint64_t value = 1;
	int before = errno;
	ssize_t n = 0;

	if (ready == CSHIM_OWN(slot->ready))
		return;
	evd_set_ready(slot, ready);
	cshim_event(&dat_progress);
	if (cno->fd < 0)
		return;
	/* An eventfd: it takes the one, and has it. */
	n = ready ? write(cno->fd, &value, sizeof(value)) : read(cno->fd, &value, sizeof(value));
	(void)n;
	errno = before;
}

/* The agent is called at the first event since the CNO was taken, or since the agent was set. */
static void call_agent(dat_slot *slot, dat_cno *cno, uint64_t evd)
{
	if (!cno->function || cno->called)
		return;
	cno->called = 1;
	if (cno->due)
		return;
	cno->due = evd;
	cno->next = 0;
	if (last_due)
		dat_cno_of(last_due)->next = (uintptr_t)slot;
	else
		first_due = slot;
	last_due = slot;
	dat_progress.due = 1;
}

void cno_fire(uint64_t evd, dat_queue *queue)
{
	dat_slot *slot = dat_slot_at(queue->cno);
	dat_cno *cno;

	if (!slot || queue->flags & DAT_QUEUE_DISABLED)
		return;
	cno = dat_cno_of(slot);
	call_agent(slot, cno, evd);
	if (queue->flags & DAT_QUEUE_FIRED)
		return;
	queue->flags |= DAT_QUEUE_FIRED;
	queue->next = 0;
	if (cno->last)
		dat_queue_of(dat_slot_at(cno->last))->next = evd;
	else
		cno->first = evd;
	cno->last = evd;
	settle(slot, cno);
}

/* Takes an EVD out of those that have fired. */
static void unfire(dat_slot *slot, dat_cno *cno, uint64_t evd, dat_queue *queue)
{
	uint64_t before = 0, at = cno->first;

	if (!(queue->flags & DAT_QUEUE_FIRED))
		return;
	for (; at != evd; at = dat_queue_of(dat_slot_at(at))->next)
		before = at;
	if (before)
		dat_queue_of(dat_slot_at(before))->next = queue->next;
	else
		cno->first = queue->next;
	if (cno->last == evd)
		cno->last = before;
	queue->flags &= ~DAT_QUEUE_FIRED;
	queue->next = 0;
	settle(slot, cno);
}

void evd_set_cno(uint64_t evd, uint64_t cno)
{
	dat_queue *queue = dat_queue_of(dat_slot_at(evd));
	dat_slot *old = dat_slot_at(queue->cno);

	if (old) {
		unfire(old, dat_cno_of(old), evd, queue);
		dat_cno_of(old)->evds--;
		named--;
	}
	queue->cno = cno;
	if (!cno)
		return;
	named++;
	dat_cno_of(dat_slot_at(cno))->evds++;
	if (dat_slot_at(evd)->length > 0)
		cno_fire(evd, queue);
}

void evd_enable(uint64_t evd, int on)
{
	evd_set(evd, DAT_QUEUE_DISABLED, !on);
	if (on && dat_slot_at(evd)->length > 0)
		cno_fire(evd, dat_queue_of(dat_slot_at(evd)));
}

uint32_t cno_take(uint64_t cno, uint64_t *evd)
{
	dat_slot *slot = dat_slot_at(cno);
	dat_cno *taken = dat_cno_of(slot);

	*evd = taken->first;
	if (!taken->first)
		return DAT_QUEUE_EMPTY; /* without the class, as programs expect it */
	taken->called = 0;
	unfire(slot, taken, taken->first, dat_queue_of(dat_slot_at(taken->first)));
	return DAT_SUCCESS;
}

void cno_waits(uint64_t cno, int on)
{
	dat_cno_of(dat_slot_at(cno))->waiting += on ? 1u : UINT32_MAX;
}

int cno_next_agent(uint64_t *function, uint64_t *instance, uint64_t *evd)
{
	dat_cno *cno;

	if (!first_due)
		return 0;
	cno = dat_cno_of(first_due);
	*function = cno->function;
	*instance = cno->instance;
	*evd = cno->due;
	forget_agent(first_due, cno);
	return 1;
}

int cno_some(void)
{
	return named > 0;
}

int cno_agents(void)
{
	return first_due != NULL;
}
