/*
 * test_cold.c - the chooser of routes where a single copy is slow as long as the kernel's part of
 * it is in no cache: the first ones of a trial do not decide. Deterministic: no clock.
 */
#include <string.h>

#include "ctest/fake.h"
#include "node/route_class.h"

enum {
	ALLOWED = 1 << NODE_ROUTE_PIPELINE | 1 << NODE_ROUTE_ORIGIN,
	PIPELINE_NS = 1500,
	SOON = 64,
	LONG = 4000
};

/* A copy by the kernel, the first, second, … after others; the last one stands for all that follow.
 */
static const uint32_t warms[] = {37000, 3200, 1450, 1020, 850, 800, 740, 700},
		      near[] = {4000, 2500, 1700, 1400, 1200, 1100}, stays[] = {4000, 3600, 3200},
		      dear[] = {15000};

typedef struct counts {
	uint32_t copies;
	uint64_t lost; /* ns that copies have taken longer than the pipeline */
} counts;

static counts run(node_route_class *class, const uint32_t *ns, uint32_t known, int transfers)
{
	counts c = {0, 0};
	uint32_t row = 0;

	for (; transfers > 0; transfers--) {
		uint32_t chosen = node_class_choose(class, ALLOWED, 1);
		uint32_t route = chosen & NODE_ROUTE_MASK, took = PIPELINE_NS;

		if (route == NODE_ROUTE_ORIGIN) {
			took = ns[row < known ? row : known - 1];
			row++;
			c.copies++;
			if (took > PIPELINE_NS)
				c.lost += took - PIPELINE_NS;
		} else {
			row = 0;
		}
		if (chosen & NODE_ROUTE_TIMED)
			node_class_timed(class, route, took);
	}
	return c;
}

#define RUN(class, ns, transfers) run(class, ns, sizeof(ns) / sizeof(*(ns)), transfers)

void test_cold(void)
{
	node_route_class class;
	counts c;

	memset(&class, 0, sizeof(class));
	RUN(&class, warms, SOON);
	CHECK(class.best == NODE_ROUTE_ORIGIN);

	/* a route that does not get faster has lost; and its later trials are as rare as they
	 * were */
	memset(&class, 0, sizeof(class));
	c = RUN(&class, stays, SOON);
	CHECK(class.best == NODE_ROUTE_PIPELINE && c.copies > 2);
	c = RUN(&class, stays, LONG);
	CHECK(class.best == NODE_ROUTE_PIPELINE && c.lost < (uint64_t)LONG * PIPELINE_NS / 50);

	/* for a group's operations a route that is near the best gets more at once, too */
	memset(&class, 0, sizeof(class));
	class.of_groups = 1;
	RUN(&class, near, SOON);
	CHECK(class.best == NODE_ROUTE_ORIGIN);
	memset(&class, 0, sizeof(class));
	class.of_groups = 1;
	c = RUN(&class, stays, SOON);
	CHECK(class.best == NODE_ROUTE_PIPELINE && c.copies == 3);

	/* a route that is far slower gets no more */
	memset(&class, 0, sizeof(class));
	c = RUN(&class, dear, SOON);
	CHECK(class.best == NODE_ROUTE_PIPELINE && c.copies == 2);
}
