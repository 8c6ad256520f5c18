/* help.c - what tests do often. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <string.h>
#include <time.h>

cshim_context *fake_context(lapi_handle_t handle)
{
	return &cshim_contexts[handle & (CSHIM_MAX_CONTEXTS - 1)];
}

lapi_handle_t fake_init(lapi_info_t *info)
{
	lapi_info_t plain;
	lapi_handle_t handle = 0;

	memset(&plain, 0, sizeof(plain));
	CHECK(LAPI_Init(&handle, info ? info : &plain) == LAPI_SUCCESS);
	CHECK(handle != 0);
	return handle;
}

void fake_sleep_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

void fake_await(const uint32_t *word, uint32_t value)
{
	long tries;

	for (tries = 0; tries < 600000; tries++) {
		if ((int32_t)(__atomic_load_n(word, __ATOMIC_SEQ_CST) - value) >= 0)
			return;
		fake_sleep_us(100);
	}
	CHECK(!"within a minute");
}

pthread_t fake_thread(void *(*body)(void *), void *argument)
{
	pthread_t id;

	CHECK(pthread_create(&id, NULL, body, argument) == 0);
	return id;
}
