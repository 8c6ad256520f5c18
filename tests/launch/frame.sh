# Cases of programs started by launchers: their expected status and output. Sourced by
# tests/launch/run. Prints a line a case; tally prints "launch: N passed, N failed, N skipped". Logs
# are in $BUILD/launch/logs. LIMIT: seconds that a case may take, against hangs.
# shellcheck shell=bash

BUILD=${BUILD:-build}
LOGS=$BUILD/launch/logs
LIMIT=${LIMIT:-120}
mkdir -p "$LOGS"
passed=0 failed=0 skipped=0

# Only the launcher may give the tasks their numbers.
for variable in $(compgen -e | grep -E '^(MP_|LAPI_|PMI|SLURM_)'); do unset "$variable"; done

say() { printf '%-7s %s\n' "$1" "$2"; }

# skip CASE REASON
skip() {
	skipped=$((skipped + 1))
	say skipped "$1: skipped: $2"
}

# expect CASE STATUS TIMES PATTERN COMMAND...: the command ends with that status, or with one of
# those between |, and PATTERN stands TIMES in its output, + for once or more.
expect() {
	local name=$1 want=$2 times=$3 pattern=$4 log status found
	shift 4
	log="$LOGS/${name//[^a-zA-Z0-9_.-]/_}.log"
	timeout -k 10 "$LIMIT" "$@" > "$log" 2>&1 < /dev/null
	status=$?
	found=$(grep -cE -- "$pattern" "$log")
	[ "$times" = + ] && [ "$found" -gt 0 ] && times=$found
	if [[ $status =~ ^($want)$ ]] && [ "$found" = "$times" ]; then
		passed=$((passed + 1))
		say passed "$name"
		return
	fi
	failed=$((failed + 1))
	say FAILED "$name: status $status, not $want; $found lines with '$pattern', not $times ($log)"
	tail -n 20 "$log" | cut -c1-300 | sed 's/^/    | /'
}

# meanwhile CASE...: a case that mostly waits, as for expect, runs beside the next ones up to joined.
meanwhile() {
	(
		failed=0
		expect "$@"
		exit $failed
	) > "$LOGS/meanwhile" 2>&1 &
	beside=$!
}

joined() {
	[ -n "${beside-}" ] || return 0
	if wait "$beside"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	beside=
	cat "$LOGS/meanwhile"
}

# tally: prints the result of all cases
tally() {
	echo "launch: $passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ]
}
