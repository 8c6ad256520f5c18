#!/bin/sh
# count.sh lane_bench: how many instructions a round of each small operation takes, with both ends
# in one thread. Unlike times that depends on nothing but code and compiler. Needs valgrind.
set -e
bench=$1
rounds=1000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name in put am "am probe" "put answered" "get answered" "rmw answered"; do
	function=$(echo "$name" | tr ' ' _)
	if ! valgrind --tool=callgrind --callgrind-out-file="$work/out" \
		--toggle-collect="$function" "$bench" "$name" $rounds >"$work/log" 2>&1; then
		cat "$work/log" >&2
		exit 1
	fi
	awk -v name="$name" -v n=$rounds '
		/^(totals|summary):/ { sum = $2 }
		END {
			if (!sum) { print "count: no instructions of " name; exit 1 }
			printf "%-20s %6.0f instructions\n", name, sum / n
		}' "$work/out"
done
