#!/bin/bash
# Runs each program over each kind of link.
#
# usage: run.sh BUILD
set -u
build=$1
run=$build/bin/lapirun
rig=tests/verbs/rig
limit=$([[ $build = *sanitize-* ]] && echo 600 || echo 120)
passed=0 failed=0 skipped=0

# one NAME STATUS COMMAND...: the command ends with that status, and has said "passed".
one() {
	local name=$1 wanted=$2 out status
	shift 2
	out=$(timeout $limit "$@" 2>&1)
	status=$?
	if [ $status = 3 ] && grep -q '^rig: ' <<<"$out"; then
		skipped=$((skipped + 1))
	elif [ $status = "$wanted" ] && grep -q '^passed$' <<<"$out" &&
		! grep -q '^WARNING: ThreadSanitizer\|ERROR: AddressSanitizer' <<<"$out"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "link-test: $name: failed, status $status"
		tail -n 5 <<<"$out"
		[ -z "${LINK_LOG-}" ] || printf '%s\n' "$name" "$out" >>"$LINK_LOG"
	fi
}

for program in operations messages addresses threads beside; do
	for tasks in 1 2 4; do
		one "$program, $tasks tasks" 0 "$run" -n $tasks "$build/link/$program"
	done
	one "$program, without the fast lane" 0 env LAPI_FASTLANE=off "$run" -n 2 "$build/link/$program"
	one "$program, UDP" 0 env LAPI_USE_SHM=no "$run" -n 3 "$build/link/$program"
	one "$program, UDP with loss" 0 env LAPI_USE_SHM=no LAPI_UDP_LOSS=1:7 "$run" -n 2 \
		"$build/link/$program"
	one "$program, adapters" 0 "$rig/with" -n 2 "$build/rig" env MP_EUILIB=us LAPI_US=only "$run" \
		--on 'env MP_EUIDEVICE=rig1' --on 'env MP_EUIDEVICE=rig2' "$build/link/$program"
done
one 'ends' 137 "$run" -k -n 3 "$build/link/ends"
one 'ends, UDP' 137 env LAPI_USE_SHM=no "$run" -k -n 3 "$build/link/ends"
one 'ends, without the fast lane' 137 env LAPI_FASTLANE=off "$run" -k -n 4 "$build/link/ends"
one 'ends, adapters' 137 "$rig/with" -n 3 "$build/rig" env MP_EUILIB=us LAPI_US=only "$run" -k \
	--on 'env MP_EUIDEVICE=rig1' --on 'env MP_EUIDEVICE=rig2' --on 'env MP_EUIDEVICE=rig3' \
	"$build/link/ends"
# The target's packets are its answers to questions for keys: two for each of 400 operations, or none.
for how in with without stale; do
	# shellcheck disable=SC2016  # for the inner shell
	one "adapters, $how a key" 0 "$rig/with" -n 2 "$build/rig" bash -c '
		out=$(env MP_EUILIB=us LAPI_US=only MP_INFOLEVEL=5 "$1" --on "env MP_EUIDEVICE=rig1" \
			--on "env MP_EUIDEVICE=rig2" "$2" "$3" 2>&1) || { status=$?; echo "$out"; exit $status; }
		sent=$(sed -n "s/.*task 1: RDMA: packets sent \([0-9]*\).*/\1/p" <<<"$out")
		[ "$3" = with ] && wanted=$((sent < 100)) || wanted=$((sent >= 800))
		[ $wanted = 1 ] && grep "^passed$" <<<"$out" || { echo "task 1 has sent $sent packets"; exit 1; }' \
		keys "$run" "$build/link/keys" "$how"
done
echo "link-test: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
