#!/bin/sh
# Prints the Go packages in which something runs at the same time, in the product or in its tests:
# those are what the race detector is for. Benchmarks, and seeds of the simulator that run beside
# each other without sharing anything, do not count.
cd "$(dirname "$0")/.." || exit 2
grep -lrE --include='*.go' '^[[:space:]]*go (func|[A-Za-z_.]+\()' \
	capi cmd core transport cshim/ibv |
	grep -v -e bench_test -e transport/simnet | xargs -r -n 1 dirname | sort -u | sed 's,^,./,'
