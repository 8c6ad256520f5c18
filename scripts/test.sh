#!/bin/bash
# Runs test targets, each with its log in build/test/, shows progress, goes on after a failure, and
# ends with a table, for each target that failed the lines of its log that say why, all together less
# than 4 KB, and a line "N passed, N failed, N skipped" (targets; the cases are in the logs).
#
# usage: scripts/test.sh TARGET... [-- LANE...]...
#
# Stages are divided by "--" and run one after the other. A stage of one word runs that target; in a
# stage, "+" divides lanes, which run side by side, each its targets in turn. So suites that mostly
# wait share the processors with those that compute:
#
#   scripts/test.sh build -- vet go-test + conform launch-test -- kill-test
set -u
make=${MAKE:-make}
logs=build/test
mkdir -p $logs
rm -f $logs/*.line $logs/*.cpu
began=$SECONDS

# Runs one target; its line of the table goes to $logs/TARGET.line, which begins with the result, and
# the processor seconds of its processes to $logs/TARGET.cpu.
run_target() {
	local target=$1 start=$SECONDS log=$logs/$1.log result counts skips line TIMEFORMAT='%U %S'
	if { time $make --no-print-directory "$target" >"$log" 2>&1 </dev/null; } 2>"$logs/$1.cpu"; then
		result=passed
	else
		result=FAILED
	fi
	# The target's own counts, if it prints any: its last line of the form "N passed, N failed".
	counts=$(grep -E '^([a-z-]+: )?[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	skips=$(grep -ciE '(^| )skip(ped)?[: ]' "$log")
	[ -n "$counts" ] || [ "$skips" = 0 ] || counts="$skips lines say skipped"
	# A target that skipped everything has not passed.
	case "$result $counts" in
	passed*" 0 passed, 0 failed, "[1-9]*)
		result=skipped
		counts="$counts: $(grep -m 1 'skipped: ' "$log")"
		;;
	esac
	line=$(printf '%-18s %-7s %4d s  %s' "$target" $result $((SECONDS - start)) "$counts")
	printf '%s\n' "$line" >"$logs/$target.line"
	# One write, so that lines of lanes do not mix.
	if [ $result = FAILED ]; then
		printf '%s\n---- the end of %s\n%s\n----\n' "$line" "$log" "$(tail -n 40 "$log")"
	else
		printf '%s\n' "$line"
	fi
}

lane() {
	local target
	for target in "$@"; do
		run_target "$target"
	done
}

# A lane is a process group of its own, and ends with this script.
lanes=()
stop_lanes() {
	local group
	for group in "${lanes[@]}"; do
		kill -TERM -- "-$group" 2>/dev/null
	done
}
trap 'stop_lanes; exit 130' INT TERM HUP

# Runs the lanes of one stage, and waits for them all.
stage() {
	local word targets=()
	lanes=()
	set -m
	for word in "$@" +; do
		if [ "$word" = + ]; then
			lane "${targets[@]}" &
			lanes+=($!)
			targets=()
		else
			targets+=("$word")
		fi
	done
	set +m
	wait "${lanes[@]}"
}

words=() all=()
for word in "$@" --; do
	case $word in
	--)
		[ ${#words[@]} = 0 ] || stage "${words[@]}"
		words=()
		;;
	+) words+=(+) ;;
	*) words+=("$word") all+=("$word") ;;
	esac
done

passed=0 failed=0 skipped=0 table='' broken=()
for target in "${all[@]}"; do
	line=$(cat "$logs/$target.line" 2>/dev/null)
	case $line in
	*" passed  "*) passed=$((passed + 1)) ;;
	*" skipped "*) skipped=$((skipped + 1)) ;;
	*) failed=$((failed + 1)) broken+=("$target") ;;
	esac
	table="$table${line:-$target broke off}"$'\n'
done
printf '\n%s\n' "$table"
# The table of docs/dev/testing.md: seconds, and processor seconds.
for target in "${all[@]}"; do
	cpu=$(awk '{ printf "%.0f", $1 + $2 }' "$logs/$target.cpu")
	sed -nE 's/^([^ ]+) +[A-Za-z]+ +([0-9]+) s .*/| `\1` | \2 | '"$cpu |/p" "$logs/$target.line"
done >$logs/times.md 2>/dev/null
# telling: lines that name a failed test, or the reason; harmless: lines of passed tests and of
# stacks that look so.
telling='FAIL|WARNING: |ERROR: |[Ee]rror:|panic|fatal|not true|returned -?[0-9]+, not|\*\*\* \['
telling="$telling|^(Read|Write|Previous (read|write)) at 0x|^  [a-z0-9_./]+\.[A-Za-z0-9_.()*]+\(\)$"
telling="$telling|(^|[ /])[a-zA-Z0-9_./-]+\.(go|c|h|cc|F90|sh):[0-9]+: "
harmless='(^|[^0-9])0 failed|^ok |^ *pass |\+0x[0-9a-f]+$|, 0 before|skip(ped)?:'

# why TARGET BYTES: prints the reason of its failure, at most BYTES of it.
why() {
	local log=$logs/$1.log lines
	lines=$(grep -aE "$telling" "$log" | grep -avE "$harmless" | awk '!seen[$0]++' | cut -c1-200 |
		head -n 12)
	[ -n "$lines" ] || lines=$(tail -n 6 "$log" | cut -c1-200)
	printf -- '---- %s\n%s' "$log" "$lines" | head -c "$2"
	echo
}

# At the very end: so the last lines of this output show the failures.
for target in "${broken[@]}"; do
	why "$target" $((3600 / failed))
done
echo "$((SECONDS - began)) s in all; logs in $logs/"
[ $failed = 0 ] || echo "failed: ${broken[*]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
