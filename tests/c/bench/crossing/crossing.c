/* crossing.c - the cost of a call from C to Go and back. */
#include "../board.h"

#include <stdlib.h>

#define BATCHES 15

extern long golapi_bench_crossing(long n);

int main(int argc, char **argv)
{
	double v[BATCHES];
	uint64_t i, n, t;
	long sum = 0, preempted;
	bench_options o;
	int k;

	parse_options(argc, argv, &o);
	pin_to_core(0);
	t = clock_ns();
	for (i = 0; i < 1000; i++)
		sum = golapi_bench_crossing(sum);
	n = batch_iterations(&o, BATCHES, (double)(clock_ns() - t), 1000);
	preempted = preemptions();
	for (k = 0; k < BATCHES; k++) {
		t = clock_ns();
		for (i = 0; i < n; i++)
			sum = golapi_bench_crossing(sum);
		v[k] = (double)(clock_ns() - t) / (double)n;
	}
	if (sum != (long)(1000 + BATCHES * n))
		fail("the calls did not arrive");
	print_row("crossing", "call", 0, median(v, BATCHES), "ns", 0, 0, preemptions() - preempted);
	return EXIT_SUCCESS;
}
