/* room.h - shared by the files of this room. Private to cshim/dat/dev. */
#ifndef DAT_DEV_ROOM_H
#define DAT_DEV_ROOM_H

#include <stdlib.h>

#include "dat/dev/quick.h"

enum {
	BATCH = 32,   /* completions that one look takes */
	BUCKETS = 64, /* of pairs by the number of the queue pair */
	GONE = 64     /* pairs that are gone and may have receives of shared queues */
};

/* A completion queue; found[at] to found[count - 1] are not handled yet. */
struct dev_pool {
	dev_pool *next;
	dev_adapter *adapter;
	struct ibv_cq *cq;
	uint32_t at, count;
	struct ibv_wc found[BATCH];
};

/* A pair that is gone, for the events of its receives. */
typedef struct gone_pair {
	uint32_t number, silent;
	uint64_t ep, recv;
} gone_pair;

struct dev_adapter {
	dev_names names; /* first: quick.h has it by the adapter's address */
	uint32_t some;   /* contexts in names.memory */
	dev_adapter *next;
	dev_pool *pools;
	dev_pair *by_number[BUCKETS];
	gone_pair gone[GONE];
	uint32_t num_gone;
};

extern dev_adapter *dev_adapters __attribute__((visibility("hidden")));

/* Pairs and queues by serial: those of one place have different serials, one after the other. */
typedef struct dev_objects {
	void **at; /* NULL: the place is free */
	uint32_t mask, some, last;
} dev_objects;

extern dev_objects dev_all __attribute__((visibility("hidden")));

/* The object of that kind and serial; NULL: it is gone. */
static inline void *object_of(uint32_t serial, uint32_t kind)
{
	const uint32_t *o = dev_all.at ? dev_all.at[serial & dev_all.mask] : NULL;

	return o && o[0] == kind && o[1] == serial ? (void *)(uintptr_t)o : NULL;
}

/* The event of a request that is over. */
static inline void request_over(const dev_pair *pair, const dev_request *request, uint32_t status)
{
	const dat_over over = {.evd = pair->request,
	                       .ep = pair->ep,
	                       .cookie = request->cookie,
	                       .n = request->n,
	                       .data = request->data,
	                       .status = status,
	                       .completion = request->completion,
	                       .op = request->op,
	                       .flags = request->flags};

	dat_request_over(&over);
}

/* The memory of a context; NULL: it names none. */
static inline const dev_memory *memory_of(const dev_adapter *adapter, uint32_t context, uint32_t of)
{
	const dev_names *names = &adapter->names;
	uint32_t i = dev_hash(context);

	for (;; i++) {
		const dev_memory *m = &names->memory[i & names->mask];

		if (!m->of || (m->context == context && m->of == of))
			return m->of ? m : NULL;
	}
}

#endif
