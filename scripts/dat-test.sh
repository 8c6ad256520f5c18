#!/bin/bash
# Runs each program of tests/c/dat/programs, shows what went wrong, and ends with
# "N passed, N failed, 0 skipped".
#
# usage: scripts/dat-test.sh PROGRAM...
set -u
passed=0 failed=0
for program; do
	name=${program##*/}
	if output=$(timeout 600 "$program" 2>&1) && [[ $output == *"$name: passed"* ]]; then
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
