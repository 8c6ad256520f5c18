#!/bin/sh
# Prints the Go packages that use concurrency, in the product or in their tests: the race detector
# is run on these. Benchmarks, and seeds of the simulator that run beside each other without sharing
# anything, do not count.
cd "$(dirname "$0")/.." || exit 2
grep -lrE --include='*.go' '^[[:space:]]*go (func|[A-Za-z_.]+\()' \
	capi cmd core transport cshim/ibv |
	grep -v -e bench_test -e transport/simnet | xargs -r -n 1 dirname | sort -u | sed 's,^,./,'
