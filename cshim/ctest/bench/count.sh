#!/bin/sh
# count.sh benchmark row...: how many instructions a round of each row takes, with both ends in one
# thread; of row:function, how many of them that function does. Unlike times that depends on nothing
# but code and compiler. Needs valgrind.
set -e
bench=$1
shift
rounds=1000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for name; do
	row=${name%:*}
	function=$(echo "${name#*:}" | tr ' ' _)
	if ! valgrind --tool=callgrind --callgrind-out-file="$work/out" \
		--toggle-collect="$function" "$bench" "$row" $rounds >"$work/log" 2>&1; then
		cat "$work/log" >&2
		exit 1
	fi
	awk -v name="$name" -v n=$rounds '
		/^(totals|summary):/ { sum = $2 }
		END {
			if (!sum) { print "count: no instructions of " name; exit 1 }
			printf "%-24s %6.0f instructions\n", name, sum / n
		}' "$work/out"
done
