#!/bin/bash
# Runs the test targets named as arguments one after the other, each with its log in build/test/,
# shows progress, goes on after a failure, and ends with a table and a line "N passed, N failed, N
# skipped" (targets; the cases are in the logs).
set -u
make=${MAKE:-make}
logs=build/test
mkdir -p $logs
passed=0 failed=0 skipped=0 table= broken=()
began=$SECONDS
for target in "$@"; do
	printf '%-14s ' "$target"
	start=$SECONDS
	log=$logs/$target.log
	if $make --no-print-directory "$target" >"$log" 2>&1 </dev/null; then
		result=passed
		passed=$((passed + 1))
	else
		result=FAILED
		failed=$((failed + 1))
	fi
	# What the target itself counts, if it does: its last line of the form "N passed, N failed".
	counts=$(grep -E '^([a-z-]+: )?[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	skips=$(grep -ciE '(^| )skip(ped)?[: ]' "$log")
	[ -n "$counts" ] || [ "$skips" = 0 ] || counts="$skips lines say skipped"
	# What could look at nothing has not passed.
	case "$result $counts" in
	passed*" 0 passed, 0 failed, "[1-9]*)
		result=skipped
		passed=$((passed - 1)) skipped=$((skipped + 1))
		counts="$counts: $(grep -m 1 'skipped: ' "$log")"
		;;
	esac
	line=$(printf '%-14s %-7s %4d s  %s' "$target" "$result" $((SECONDS - start)) "$counts")
	printf '%s\n' "${line:15}"
	table="$table$line"$'\n'
	if [ $result = FAILED ]; then
		echo "---- the end of $log"
		tail -n 40 "$log"
		echo "----"
		broken+=("$target")
	fi
done
printf '\n%s\n' "$table"
# At the very end: who sees no more than the end of this output sees what failed.
for target in "${broken[@]}"; do
	echo "---- what failed in $logs/$target.log"
	grep -nE -A 6 'FAIL|fail(ed)?:|fail |error:|WARNING: Thread' "$logs/$target.log" | head -n 25
done
echo "$((SECONDS - began)) s in all; logs in $logs/"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
