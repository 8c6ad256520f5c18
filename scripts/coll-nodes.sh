#!/bin/bash
# Runs programs of collectives with their members on several nodes, which are namespaces
# (tests/launch/nodes), or all on this one, and ends with "N passed, N failed, N skipped".
#
# usage: scripts/coll-nodes.sh NODES:PROGRAM[:ARGUMENTS]...     NODES 0: here
set -u
passed=0 failed=0 skipped=0
why=$(tests/launch/nodes 2 1 true 2>&1) && why=
[ -z "$why" ] || echo "skipped: several nodes: $why"

run() { # NODES PROGRAM ARGUMENTS...
	local nodes=$1
	shift
	if [ "$nodes" = 0 ]; then
		timeout 600 "$@" 2>&1
	else
		COLL_NODES=$nodes timeout 600 tests/launch/nodes "$nodes" 1 "$@" 2>&1
	fi
}

for case; do
	IFS=: read -r nodes program arguments <<< "$case"
	name=${program##*/}
	what="$name${arguments:+ $arguments}, $nodes nodes"
	if [ "$nodes" != 0 ] && [ -n "$why" ]; then
		skipped=$((skipped + 1))
		continue
	fi
	begun=$SECONDS
	# shellcheck disable=SC2086 # they are several
	if output=$(run "$nodes" "$program" $arguments) && [[ $output == *"$name: passed"* ]]; then
		echo "ok    $what ($((SECONDS - begun)) s)"
		passed=$((passed + 1))
	else
		echo "FAIL  $what ($((SECONDS - begun)) s)"
		tail -n 20 <<< "$output" | sed 's/^/    | /'
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
