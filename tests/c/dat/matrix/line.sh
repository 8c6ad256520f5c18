#!/bin/bash
# line.sh BUILD NUMBER: one line of rows.txt, as run.sh has written it into BUILD/NUMBER/line. The
# server's and the client's output are beside it, and `result`: passed, FAILED or skipped, seconds,
# why. Results are judged by what programs print: their exit statuses say nothing.
build=$1
here=$build/$2
server_log=$here/server.log client_log=$here/client.log
read -r _ _ with kind limit options < "$here/line"
host=127.0.0.1
port=15828     # of TCP: dtest, dtestx and dtestcm meet there
srq_port=47272 # of UDP: that of dtestsrq's qualifier

# A network of its own, if this is one: nobody else's ports, and a loopback of full size.
[ "${3:-}" = alone ] && ip link set lo up

library=$build/ours programs=$build/package/usr/bin name=ofa-v2-lo
case $with in
conf) name=matrix-lo ;;
provider) library=$build/package/usr/lib/x86_64-linux-gnu name=matrix-lo ;;
built) programs=$build/built ;;
esac
if [ -n "${RIG:-}" ]; then # under tests/verbs/rig/with
	library+=:$LD_LIBRARY_PATH name=ofa-v2-rig1 host=10.9.8.1
fi
export LD_LIBRARY_PATH=$library
[ "$name" = matrix-lo ] && export DAT_OVERRIDE=$build/$with.conf
options=${options//@/$name}

end() { # RESULT WHY
	printf '%s %d %s\n' "$1" $SECONDS "$2" > "$here/result"
	exit 0
}

# listens tcp|udp PORT: true if a process listens.
listens() {
	local hex state='0A'
	hex=$(printf ':%04X' "$2")
	[ "$1" = udp ] && state='07'
	awk -v end="$hex\$" -v state="$state" '$2 ~ end && $4 == state { found = 1 } END { exit !found }' \
		"/proc/net/$1" "/proc/net/${1}6" 2> /dev/null
}

# server_is_ready COMMAND...: waits until the command is true, as long as the server may take.
server_is_ready() {
	local line
	until "$@"; do
		if ! kill -0 "$server" 2> /dev/null; then
			line=$(grep -m 1 -E "$(words)" "$server_log" || tail -n 1 "$server_log")
			end FAILED "the server ended before it listened: $line"
		fi
		sleep 0.05
	done
}

start_server() { # COMMAND...
	timeout -k 5 "$limit" "$@" > "$server_log" 2>&1 &
	server=$!
}

ended() { # STATUS WHO: programs' own statuses say nothing, signals and the time limit do
	case $1 in
	124 | 137) end FAILED "$2 hung" ;;
	126 | 127) end FAILED "$2 did not start" ;;
	129 | 1[34]? | 15?) end FAILED "$2 died of signal $(($1 - 128))" ;;
	esac
}

run_client() { # COMMAND...
	timeout -k 5 "$limit" "$@" > "$client_log" 2>&1
	ended $? "the client"
}

# Words that no program may print. dapltest's names of tests have "error" and DAT_ names in them.
words() {
	local results='ABORT|INSUFF|INVALID|LENGTH|TIMEOUT|QUEUE|PROTECTION|PRIV|CONN_QUAL|INTERNAL'
	results+='|NOT_IMPL|MODEL'
	echo 'FAILED|FAIL$|ERR(OR)?:|\bERR\b|[Uu]nexpected|symbol lookup|[Nn]ot PASSED|mismatch'"|DAT_($results)"
}

wrong() {
	grep -nE "$(words)" "$@" | grep -v 'Description:' | head -n 1
}

# must PATTERN LOG...: each log must have it.
must() {
	local pattern=$1 log
	shift
	for log in "$@"; do
		grep -qE -- "$pattern" "$log" || end FAILED "no '$pattern' in ${log##*/}"
	done
}

nothing_wrong() {
	local line
	line=$(wrong "$@") && [ -n "$line" ] && end FAILED "${line//$'\n'/ }"
}

pattern_of() { # of a pair's program
	case $1 in
	dtest) echo 'DAPL Test Complete. PASSED' ;;
	dtestx) echo 'IB extension test - .* test PASSED' ;;
	dtestcm) echo 'DAPL Connection Test Complete' ;;
	dtestsrq) echo 'Test Complete' ;;
	esac
}

pair() {
	local program=${options%% *} both server_only client_only
	both=${options#* }
	IFS=/ read -r both server_only client_only <<< "$both"
	# shellcheck disable=SC2086  # options are words
	start_server "$programs/$program" $both $server_only
	if [ "$program" = dtestsrq ]; then
		if [ -n "${RIG:-}" ]; then
			server_is_ready "$build/../../rig/rigctl" listening 2> /dev/null
		else
			server_is_ready listens udp $srq_port
		fi
	else
		server_is_ready listens tcp $port
	fi
	# shellcheck disable=SC2086
	run_client "$programs/$program" $both $client_only -h $host
	wait "$server"
	ended $? "the server"
	must "$(pattern_of "$program")" "$server_log" "$client_log"
	nothing_wrong "$server_log" "$client_log"
}

# Threads of a dapltest client wait until a shared count is 0, and look every 10 ms. A thread that has
# seen it and is done sets it anew and counts it down. If that takes less than 10 ms, two threads at a
# time leave it below 0, and a thread that has not looked yet gives up. No library can help; so the
# client is run again.
client() {
	local try
	for try in 1 2 3 4; do
		client_once
		grep -qE 'FAIL: -[0-9]+ Server test connections did not report ready' "$client_log" ||
			break
		echo "$try: dapltest's own count has gone below 0" >> "$here/again.log"
	done
	judge_client
}

client_once() {
	local mode=${options%% *}
	rm -f "$server_log"
	start_server "$programs/dapltest" -T S -D $name
	server_is_ready grep -qs 'Service Point Ready' "$server_log"
	# shellcheck disable=SC2086
	run_client "$programs/dapltest" -T "$mode" -s $host -D $name ${options#* }
	timeout -k 5 20 "$programs/dapltest" -T Q -s $host -D $name > "$here/quit.log" 2>&1
	wait "$server"
	ended $? "the server"
}

judge_client() {
	local pattern='Total WQE|Test completed successfully'
	[ "${options%% *}" = P ] && pattern='^raw: R'
	must "$pattern" "$client_log"
	must 'Client Exiting' "$here/quit.log"
	must 'Exiting' "$server_log"
	nothing_wrong "$server_log" "$client_log" "$here/quit.log"
}

# dapltest -T L -m N: nothing ended before N of it were there. All at once (-d), it posts receives
# until an endpoint takes no more, and says itself whether it is content.
limits() {
	local wanted=${options##*-m } line
	wanted=${wanted%% *}
	case $options in
	*" -d "*)
		must 'Limit Testing Completed - Successfully' "$client_log"
		end passed ''
		;;
	esac
	must '^LimitTest: .*(opened|created|posted|OK - stopping)' "$client_log"
	line=$(grep -E '^LimitTest: .*: [0-9]+$' "$client_log" | grep -vE -m 1 ": $wanted\$")
	[ -z "$line" ] || end FAILED "$line"
}

alone() {
	# shellcheck disable=SC2086
	run_client "$programs/"$options
	case $options in
	*"-T L"*) limits ;;
	*"-T F"*) must 'Result: PASS' "$client_log" ;;
	dtestx*) must 'DAT_IB_RDMA_READ=TRUE' "$client_log" ;;
	esac
	nothing_wrong "$client_log"
}

forked() {
	run_client "$build/forked" "$options"
	must 'forked: PASS' "$client_log"
}

case $kind in
loads)
	ldd "$programs/$options" > "$client_log" 2>&1
	must 'libdat2.so.2 => .*/ours/' "$client_log"
	grep -E 'not found|no version' "$client_log" && end FAILED 'is not linked'
	;;
usage)
	# shellcheck disable=SC2086
	run_client "$programs/"$options
	must 'USAGE|usage|Usage' "$client_log"
	;;
unknown)
	# shellcheck disable=SC2086
	run_client "$programs/"$options
	must PROVIDER_NOT_FOUND "$client_log"
	;;
pair | client | alone | forked) $kind ;;
esac
end passed ''
