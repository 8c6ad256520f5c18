/* handle.c - what a program gives for a handle; rings of elements (evd.h). */
#include <stdlib.h>
#include <string.h>

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

/* The ring keeps the address as an integer, which the analyzer does not follow. */
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif
int dat_ring_grow(dat_ring *ring, uint32_t count, size_t bytes, uint32_t first, uint32_t most)
{
	uint32_t room = ring->room ? ring->room * 2 : first, i;
	unsigned char *at = room > most ? NULL : malloc(room * bytes);

	if (!at)
		return 0;
	for (i = 0; i < count; i++)
		memcpy(at + i * bytes, dat_ring_at(ring, i, bytes), bytes);
	free((void *)(uintptr_t)ring->at);
	*ring = (dat_ring){.at = (uintptr_t)at, .room = room};
	return 1;
}
#pragma GCC diagnostic pop
