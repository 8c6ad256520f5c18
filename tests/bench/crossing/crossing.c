/* crossing.c - the cost of a call from C to Go and back. */
#include "../board.h"

#include <stdlib.h>

extern long golapi_bench_crossing(long n);

int main(int argc, char **argv)
{
	batches s = {.count = 0};
	uint64_t i, n, t;
	bench_options o;
	long sum = 0;

	parse_options(argc, argv, &o);
	pin_to_core(0);
	t = clock_ns();
	for (i = 0; i < 1000; i++)
		sum = golapi_bench_crossing(sum);
	n = batch_iterations(&o, (double)(clock_ns() - t), 1000);
	while (s.count < BATCHES) {
		batch_begin(&s);
		for (i = 0; i < n; i++)
			sum = golapi_bench_crossing(sum);
		batch_end(&s, n);
	}
	if (sum != (long)(1000 + BATCHES * n))
		fail("the calls did not arrive");
	print_row("crossing", "call", 0, batches_median(&s), "ns", 0, 0, batches_preempted(&s));
	return EXIT_SUCCESS;
}
