#!/bin/bash
# Runs programs of collectives with their members on several nodes, which are namespaces
# (tests/launch/nodes), and ends with "N passed, N failed, N skipped".
#
# usage: scripts/coll-nodes.sh NODES:PROGRAM...
set -u
passed=0 failed=0
if ! why=$(tests/launch/nodes 2 1 true 2>&1); then
	echo "skipped: several nodes: $why"
	echo "0 passed, 0 failed, $# skipped"
	exit
fi
for case; do
	nodes=${case%%:*} program=${case#*:}
	name=${program##*/}
	if output=$(COLL_NODES=$nodes timeout 600 tests/launch/nodes "$nodes" 1 "$program" 2>&1) &&
		[[ $output == *"$name: passed"* ]]; then
		echo "ok    $name, $nodes nodes"
		passed=$((passed + 1))
	else
		echo "FAIL  $name, $nodes nodes"
		tail -n 20 <<< "$output" | sed 's/^/    | /'
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
