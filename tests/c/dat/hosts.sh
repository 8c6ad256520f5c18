#!/bin/bash
# hosts.sh BUILD [--inside] - uDAPL between two nodes, which are namespaces (tests/launch/nodes),
# over UDP: Debian's programs, and tests/c/dat/programs/hosts.c by IPv4 and IPv6; with loss, with a
# link that is cut for a while, with a server that is killed, or that can no longer be reached.
set -u
here=$(dirname "$0")
build=$1

if [ "${2:-}" != --inside ]; then
	# shellcheck source=tests/c/dat/packages.sh
	. "$here/packages.sh"
	if why=$(unpack "$build/dat-matrix/package" usr/lib/x86_64-linux-gnu/libdat2.so.2 \
		dapl2-utils libdapl2); then
		mkdir -p "$build/dat-hosts"
		cp -L --remove-destination "$build/lib/liblapi_r.so.1" "$build/dat-hosts/libdat2.so.2"
	else
		echo "dat-hosts: without Debian's programs: $why"
	fi
	"$here/../../launch/nodes" 2 1 "$here/hosts.sh" "$(realpath "$build")" --inside
	status=$?
	[ $status = 77 ] || exit $status
	echo "dat-hosts: 0 passed, 0 failed, 1 skipped"
	exit 0
fi

server=10.78.0.2 passed=0 failed=0
logs=$build/dat-hosts
mkdir -p "$logs"
programs=$build/dat-matrix/package/usr/bin

# Runs the command on the server's node; the process is the command's.
there() { exec nsenter -t "$(cat /run/lapi-nodes/n1)" -n -u -m -i --wd=. "$@"; }
each() { "$@" && (there "$@"); }

verdict() { # NAME: by the last command's status
	if [ $? = 0 ]; then
		passed=$((passed + 1))
		echo "ok    $1"
	else
		failed=$((failed + 1))
		echo "FAIL  $1"
		tail -n 6 "$logs/server" "$logs/client" | sed 's/^/    | /'
	fi
}

# says FILE TEXT: waits up to 20 seconds for the text in the file.
says() {
	local i
	for ((i = 0; i < 400; i++)); do
		grep -q "$2" "$1" 2> /dev/null && return
		sleep 0.05
	done
	return 1
}

start() { # COMMAND...: the server
	rm -f "$logs/server" "$logs/client"
	there timeout 60 "$@" > "$logs/server" 2>&1 &
}

listening() {
	local i
	for ((i = 0; i < 400; i++)); do
		(there grep -qi ':3DD4 .* 0A ' /proc/net/tcp /proc/net/tcp6) && return
		sleep 0.05
	done
	return 1
}

# Server and client of hosts.c.
transfers() { # ADDRESS
	start "$build/dat/hosts" server
	says "$logs/server" listens &&
		timeout 60 "$build/dat/hosts" client "$1" transfers > "$logs/client" 2>&1
	wait
	grep -q 'hosts: passed' "$logs/server" && grep -q 'hosts: passed' "$logs/client"
}

# COMMAND ends the server, or the way to it, while the client waits.
gone() { # COMMAND...
	local client killed
	rm -f "$logs/server" "$logs/client"
	there "$build/dat/hosts" server > "$logs/server" 2>&1 &
	killed=$!
	says "$logs/server" listens || return
	LAPI_DAT_TIMEOUT=2 timeout 60 "$build/dat/hosts" client $server end > "$logs/client" 2>&1 &
	client=$!
	says "$logs/client" connected && "${@//SERVER/$killed}"
	wait $client
	kill -KILL $killed 2> /dev/null
	wait
	grep -q 'hosts: passed' "$logs/client"
}

pair() { # PROGRAM PATTERN OPTIONS...: Debian's, as they are
	local program=$1 pattern=$2
	shift 2
	start env LD_LIBRARY_PATH="$logs" "$programs/$program" -P ofa-v2-eth0 "$@"
	listening
	LD_LIBRARY_PATH=$logs timeout 60 "$programs/$program" -P ofa-v2-eth0 "$@" -h $server \
		> "$logs/client" 2>&1
	wait
	grep -q "$pattern" "$logs/server" && grep -q "$pattern" "$logs/client" &&
		! grep -qE 'FAILED|ERR:' "$logs/server" "$logs/client"
}

dapltest() { # COMMAND_MEANWHILE ARGUMENTS...
	local meanwhile=$1 run="env LD_LIBRARY_PATH=$logs $programs/dapltest"
	shift
	# shellcheck disable=SC2086  # words
	start $run -T S -D ofa-v2-eth0
	says "$logs/server" 'Service Point Ready' || return
	# shellcheck disable=SC2086
	timeout 60 $run "${@:1:2}" -D ofa-v2-eth0 -s $server "${@:3}" > "$logs/client" 2>&1 &
	local client=$!
	$meanwhile
	wait $client
	# shellcheck disable=SC2086
	timeout 20 $run -T Q -s $server -D ofa-v2-eth0 > "$logs/quit" 2>&1
	wait
	grep -qE 'Total WQE|^raw: R' "$logs/client"
}

cut() {
	sleep 1
	ip link set eth0 down
	sleep 2
	ip link set eth0 up
	ip addr add fd00:78::1/64 dev eth0 nodad 2> /dev/null
}

debian() { # WHAT: the selection
	[ -x "$programs/dtest" ] && [ -e "$logs/libdat2.so.2" ] || return
	pair dtest 'DAPL Test Complete. PASSED' -b 4096 -B 20
	verdict "dtest$1"
	pair dtestx 'IB extension test - .* test PASSED'
	verdict "dtestx$1"
	pair dtestcm 'DAPL Connection Test Complete' -c 20 -b 10
	verdict "dtestcm$1"
	dapltest : -T T -i 50 -t 2 -w 2 client SR 256 server RW 4096 server RR 1024 server SR 256
	verdict "dapltest, transactions$1"
	dapltest : -T P -i 200 -p 8 -m b RW 65536 2
	verdict "dapltest, performance$1"
}

ip addr add fd00:78::1/64 dev eth0 nodad
(there ip addr add fd00:78::2/64 dev eth0 nodad)
debian ""
for address in $server fd00:78::2; do
	transfers $address
	verdict "transfers to $address"
done
# The kernel drops datagrams if it can; otherwise the library drops some of its data.
if each tc qdisc add dev eth0 root netem loss 1% 2> /dev/null; then
	how="netem"
else
	how="LAPI_UDP_LOSS"
	export LAPI_UDP_LOSS=1:7
fi
transfers $server
verdict "transfers, 1 % lost ($how)"
debian ", 1 % lost ($how)"
unset LAPI_UDP_LOSS
[ $how = LAPI_UDP_LOSS ] || each tc qdisc del dev eth0 root
if [ -x "$programs/dtest" ]; then
	dapltest cut -T T -i 2000 -t 1 -w 2 client SR 256 server RW 4096 server SR 256
	verdict "dapltest, the link cut for two seconds"
fi
gone kill -KILL SERVER
verdict "the server killed: broken"
gone ip link set eth0 down
verdict "the way to the server gone: broken"
echo "dat-hosts: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
