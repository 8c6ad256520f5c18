/* handle.c - what a program gives for a handle (evd.h). */
#include "dat/evd/evd.h"

uint64_t handle_areas[DAT_AREAS];

/* The place of an area, or where it may be put; NULL: all are taken. */
static uint64_t *place_of(uint64_t area)
{
	uint64_t first = area >> DAT_AREA_SHIFT;
	uint32_t i;

	for (i = 0; i < DAT_AREAS; i++) {
		uint64_t *place = &handle_areas[(first + i) & (DAT_AREAS - 1)];

		if (*place == area || *place == 0)
			return place;
	}
	return NULL;
}

void handle_add_area(uint64_t area)
{
	uint64_t *place = place_of(area);

	if (place)
		*place = area;
}

int handle_is_area(uint64_t area)
{
	const uint64_t *place = place_of(area);

	return place && *place == area;
}
