#!/bin/bash
# Runs every fuzz target of the tree in turn, FUZZTIME each (default 10m), FUZZWORKERS at a time
# (default 1), shows each one's result and the number of executions, goes on after a find, and ends
# with "N passed, N failed, N skipped". A find is in the package's testdata/fuzz, to be committed
# with the mend.
#
# usage: scripts/fuzz.sh [TARGET...]     only these, such as FuzzOpen
set -u
go=${GO:-go}
time=${FUZZTIME:-10m}
workers=${FUZZWORKERS:-1}
logs=build/fuzz
mkdir -p $logs
passed=0 failed=0 number=0
wanted=" $* "

# The targets, as lines "package target".
targets=$(grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' cmd core transport tests | while read -r file; do
	sed -n "s|^func \(Fuzz[A-Za-z0-9]*\)(.*|./$(dirname "$file") \1|p" "$file"
done | sort -u)
[ "$wanted" = "  " ] || targets=$(while read -r package target; do case $wanted in *" $target "*) echo "$package $target" ;; esac; done <<< "$targets")
total=$(grep -c . <<< "$targets")

while read -r package target; do
	[ -n "$target" ] || continue
	number=$((number + 1))
	log=$logs/$(tr / . <<< "${package#./}").$target.log
	printf '%2d of %d  %-24s %-16s ' $number "$total" "${package#./}" "$target"
	# Otherwise minimizing inputs that are merely interesting takes most of the time.
	if $go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x -parallel "$workers" "$package" > "$log" 2>&1 < /dev/null; then
		passed=$((passed + 1)) result=passed
	else
		failed=$((failed + 1)) result=FAILED
	fi
	printf '%s  %s executions\n' $result "$(sed -n 's/.*execs: \([0-9]*\) .*/\1/p' "$log" | tail -1)"
	[ $result = passed ] || tail -n 30 "$log" | sed 's/^/    | /'
done <<< "$targets"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
