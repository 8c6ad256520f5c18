/*
 * raise.c - asynchronous events that a test asks for, with their effects on an adapter:
 *
 *	event DEVICE NAME [WHICH]
 *
 * NAME is that of ibv_event_type without IBV_EVENT_. An event of a queue is about the one with the
 * number WHICH, modulo how many the device has; without WHICH about the first.
 */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum ibv_event_type type;
	enum rig_element element;
} events[] = {{"CQ_ERR", IBV_EVENT_CQ_ERR, RIG_E_CQ},
              {"QP_FATAL", IBV_EVENT_QP_FATAL, RIG_E_QP},
              {"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR, RIG_E_QP},
              {"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR, RIG_E_QP},
              {"COMM_EST", IBV_EVENT_COMM_EST, RIG_E_QP},
              {"SQ_DRAINED", IBV_EVENT_SQ_DRAINED, RIG_E_QP},
              {"PATH_MIG", IBV_EVENT_PATH_MIG, RIG_E_QP},
              {"PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR, RIG_E_QP},
              {"QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED, RIG_E_QP},
              {"DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL, RIG_E_DEVICE},
              {"PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE, RIG_E_PORT},
              {"PORT_ERR", IBV_EVENT_PORT_ERR, RIG_E_PORT},
              {"LID_CHANGE", IBV_EVENT_LID_CHANGE, RIG_E_PORT},
              {"PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE, RIG_E_PORT},
              {"SM_CHANGE", IBV_EVENT_SM_CHANGE, RIG_E_PORT},
              {"CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER, RIG_E_PORT},
              {"GID_CHANGE", IBV_EVENT_GID_CHANGE, RIG_E_PORT},
              {"SRQ_ERR", IBV_EVENT_SRQ_ERR, RIG_E_SRQ},
              {"SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED, RIG_E_SRQ}};

/* The object of an array with that number among those of a device that are in use; NULL. */
#define OBJECT_AT(array, which, is_of)                                         \
	({                                                                     \
		typeof(&(array)[0]) found_ = NULL;                             \
		uint32_t n_ = 0, left_;                                        \
		for (int pass_ = 0; pass_ < 2 && !found_; pass_++) {           \
			left_ = n_ ? (which) % n_ : 0;                         \
			for (uint32_t i_ = 1; i_ < COUNT(array); i_++) {       \
				typeof(&(array)[0]) one = &(array)[i_];        \
				if (!atomic_load(&one->slot.used) || !(is_of)) \
					continue;                              \
				if (pass_ == 0)                                \
					n_++;                                  \
				else if (left_-- == 0) {                       \
					found_ = one;                          \
					break;                                 \
				}                                              \
			}                                                      \
		}                                                              \
		found_;                                                        \
	})
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* An error of a queue pair ends it. */
static int of_qp(uint32_t device, enum ibv_event_type type, uint32_t which)
{
	struct rig_world *w = rig_mapped();
	int ends = type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	           type == IBV_EVENT_QP_ACCESS_ERR;
	struct rig_qp *q = OBJECT_AT(w->qps, which,
	                             one->device == device && one->qpn &&
	                                     (!ends || one->state == IBV_QPS_RTS));

	if (!q)
		return ENOENT;
	if (ends) {
		rig_lock(&q->send_lock);
		rig_lock(&q->receive_lock);
		ends = q->state == IBV_QPS_RTS;
		if (ends)
			q->state = IBV_QPS_ERR;
		rig_unlock(&q->receive_lock);
		rig_unlock(&q->send_lock);
		if (!ends)
			return ENOENT;
	}
	rig_qp_event(q, type);
	if (ends)
		rig_qp_flush(q);
	return 0;
}

/* A completion queue that fails has no completions any more. */
static int of_cq(uint32_t device, uint32_t which)
{
	struct rig_world *w = rig_mapped();
	struct rig_cq *q = OBJECT_AT(w->cqs, which, w->contexts[one->context].device == device);

	if (!q)
		return ENOENT;
	if (!atomic_exchange(&q->failed, 1))
		rig_async(q->context, IBV_EVENT_CQ_ERR, RIG_E_CQ, RIG_INDEX(w->cqs, q),
		          q->slot.generation);
	return 0;
}

static int of_srq(uint32_t device, enum ibv_event_type type, uint32_t which)
{
	struct rig_world *w = rig_mapped();
	struct rig_srq *s = OBJECT_AT(w->srqs, which, one->device == device);

	if (!s)
		return ENOENT;
	rig_async(s->context, type, RIG_E_SRQ, RIG_INDEX(w->srqs, s), s->slot.generation);
	return 0;
}

int rig_raise(uint32_t device, const char *name, uint32_t which)
{
	for (size_t i = 0; i < COUNT(events); i++) {
		if (strcmp(events[i].name, name))
			continue;
		switch (events[i].element) {
		case RIG_E_QP:
			return of_qp(device, events[i].type, which);
		case RIG_E_CQ:
			return of_cq(device, which);
		case RIG_E_SRQ:
			return of_srq(device, events[i].type, which);
		default:
			rig_async_all(device, events[i].type, events[i].element, 1);
			return 0;
		}
	}
	return EINVAL;
}
