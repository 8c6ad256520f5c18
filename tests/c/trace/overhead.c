/*
 * overhead.c - what tracing costs a call: an 8-byte put to the task itself, and the wait for its
 * counter. Prints the best of several rounds, ns for each put with its wait. One task: no other
 * process disturbs it.
 *
 * usage: overhead [ROUNDS]    default: 20
 */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUTS 2000

#define CHECK(call)                                                                           \
	do {                                                                                  \
		int code_ = (call);                                                           \
		if (code_ != LAPI_SUCCESS) {                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, code_); \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double round_ns(lapi_handle_t hndl)
{
	static long from, to;
	lapi_cntr_t arrived;
	double began;
	int i;

	CHECK(LAPI_Setcntr(hndl, &arrived, 0));
	began = now_ns();
	for (i = 0; i < PUTS; i++) {
		CHECK(LAPI_Put(hndl, 0, sizeof from, &to, &from, &arrived, NULL, NULL));
		CHECK(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
	}
	return (now_ns() - began) / PUTS;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20, i;
	double best = 0, ns;
	lapi_handle_t hndl;
	lapi_info_t info;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CHECK(LAPI_Init(&hndl, &info));
	CHECK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
	for (i = 0; i < rounds; i++) {
		ns = round_ns(hndl);
		if (i == 0 || ns < best)
			best = ns;
	}
	CHECK(LAPI_Term(hndl));
	printf("%.0f\n", best);
	return 0;
}
