/* random.h - the numbers of tests that make their input by chance, from a seed. */
#ifndef CTEST_RANDOM_H
#define CTEST_RANDOM_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 29 ^ *state << 20;
}

static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(random_next(state) >> 8) % n;
}

/* CSHIM_FUZZ is how many inputs there are, CSHIM_SEED where they begin. */
static inline uint64_t random_setting(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

#endif
