#!/bin/bash
# Runs each program of tests/c/dat/programs, shows what went wrong, and ends with
# "N passed, N failed, 0 skipped".
#
# usage: scripts/dat-test.sh PROGRAM...
# DAT_TEST_ARGUMENT=full gives them that argument, and three hours.
set -u
passed=0 failed=0
limit=600
[ "${DAT_TEST_ARGUMENT:-}" = full ] && limit=10800
for program; do
	name=${program##*/}
	if output=$(timeout $limit "$program" ${DAT_TEST_ARGUMENT:+"$DAT_TEST_ARGUMENT"} 2>&1) && [[ $output == *"$name: passed"* ]]; then
		passed=$((passed + 1))
		echo "ok    $name"
	else
		failed=$((failed + 1))
		echo "FAIL  $name"
		sed 's/^/    | /' <<< "$output"
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
