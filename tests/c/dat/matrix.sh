#!/bin/bash
# matrix.sh BUILD selection|full - Debian's uDAPL programs (dapl2-utils), as they are, over this library.
#
# A server and a client, two processes, for each line. Results are judged by what they print: their
# exit statuses say nothing. docs/dat-matrix.md has the lines, and what each is for.
build=$1/dat-matrix
which=$2
here=$(dirname "$0")
bin=$build/package/usr/bin
mkdir -p "$build" || exit 1
passed=0
failed=0

# The programs, fetched once.
fetch() {
	[ -x "$bin/dtest" ] && return
	(cd "$build" && apt-get download dapl2-utils > apt.log 2>&1 &&
		for package in dapl2-utils_*.deb; do dpkg -x "$package" package || exit 1; done)
}
if ! fetch || [ ! -x "$bin/dtest" ]; then
	echo "dat-matrix: skipped: dapl2-utils cannot be fetched ($(tail -1 "$build/apt.log"))"
	exit 0
fi
mkdir -p "$build/lib"
ln -sf "$(realpath "$1/lib/liblapi_r.so.1")" "$build/lib/libdat2.so.2"
export LD_LIBRARY_PATH=$build/lib
name=ofa-v2-lo
host=127.0.0.1

good() {
	passed=$((passed + 1))
	printf 'ok   %-4s %s\n' "$1" "$2"
}
bad() {
	failed=$((failed + 1))
	printf 'FAIL %-4s %s\n' "$1" "$2"
	tail -n 5 "$build/server.log" "$build/client.log" | sed 's/^/     /'
}
judge() { # row, what, a pattern that each log must have
	if grep -q "$3" "$build/client.log" && grep -q "$3" "$build/server.log" &&
		! grep -qE 'FAILED|: ERROR|[^_]ERR: |symbol lookup' "$build/client.log" "$build/server.log"; then
		good "$1" "$2"
	else
		bad "$1" "$2"
	fi
}

# both ROW PATTERN PROGRAM OPTIONS… [-- CLIENT-OPTIONS…]: the same options on both sides.
both() {
	local row=$1 pattern=$2 program=$3 options=()
	shift 3
	local what="$program $*"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -gt 0 ] && shift
	timeout 300 "$bin/$program" -P $name "${options[@]}" > "$build/server.log" 2>&1 &
	local server=$!
	sleep 0.7
	timeout 300 "$bin/$program" -P $name "${options[@]}" -h $host "$@" > "$build/client.log" 2>&1
	wait $server
	judge "$row" "$what" "$pattern"
}

# alone ROW PATTERN PROGRAM OPTIONS…: one process.
alone() {
	local row=$1 pattern=$2
	shift 2
	timeout 300 "$bin/$@" > "$build/client.log" 2>&1
	cp "$build/client.log" "$build/server.log"
	judge "$row" "$*" "$pattern"
}

# dapltest's server stays for many clients.
serve() {
	timeout 1500 "$bin/dapltest" -T S -D $name > "$build/server.log" 2>&1 &
	server=$!
	for _ in $(seq 100); do
		grep -q 'Service Point Ready' "$build/server.log" && return
		sleep 0.1
	done
}
client() { # ROW PATTERN MODE OPTIONS…
	local row=$1 pattern=$2 mode=$3
	shift 3
	timeout 300 "$bin/dapltest" -T "$mode" -s $host -D $name "$@" > "$build/client.log" 2>&1
	if grep -q "$pattern" "$build/client.log" && ! grep -qiE 'error|fail|DAT_' "$build/client.log"; then
		good "$row" "dapltest -T $mode $*"
	else
		bad "$row" "dapltest -T $mode $*"
	fi
}

programs_start() {
	local p
	for p in dtest dtestx dtestcm dtestsrq dapltest; do
		if ldd "$bin/$p" 2>&1 | grep -q "not found\|no version"; then
			bad L1 "$p is linked"
		else
			good L1 "$p is linked"
		fi
	done
}

selection() {
	programs_start
	alone L3 'DAT_IB_RDMA_READ=TRUE' dtestx -q -P $name
	timeout 20 "$bin/dtest" -P nonesuch > "$build/client.log" 2>&1
	if grep -q PROVIDER_NOT_FOUND "$build/client.log"; then good L4 "unknown name"; else bad L4 "unknown name"; fi
	local f
	for f in hwconn endpoint pz mem connmgt queryinfo; do
		alone C8 'Result: PASS' dapltest -T F -D $name -f $f
	done
	both C4 'TOTAL:' dtestcm -c 10 -b 10
	both C5 'TOTAL:' dtestcm -c 100 -b 50 -w
	both D2 PASSED dtest -b 4096 -B 100
	both D5 PASSED dtest -b 4096 -B 10 -p
	both D6 PASSED dtest -b 4096 -B 10 -c
	both D8 PASSED dtest -b 4096 -D -a -B 10
	both X1 PASSED dtestx
	both X3 PASSED dtestx -b 4096 -v -p
	both X4 PASSED dtestx -u -- -c
	both S1 'Test Complete' dtestsrq
	both S3 'Test Complete' dtestsrq -c 10 -B 10 -t 3
	serve
	client T2 'Total WQE' T -i 1000 -t 1 -w 1 client SR 256 server SR 256
	client T6 'Total WQE' T -i 100 -t 4 -w 8 client SR 256 server RW 4096 server SR 256 \
		client SR 256 server RR 4096 server SR 256
	client T8 'Total WQE' T -P -t 1 -w 1 -i 512 client RW 4096 1 server RW 2048 4 server RR 1024 1 \
		client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
	client T14 'Total WQE' T -i 100 -t 4 -w 8 -V -P -R BE client SR 256 1 server RR 4096 1 server SR 256 1
	client T15 'Total WQE' T -i 100 -r client SR 256 server SR 256
	client P1 'Exiting' P -i 2048 -m b RW 4096 2
	client Q1 'Exiting' Q
	wait $server
	local l
	for l in limit_ia limit_pz limit_evd limit_ep limit_psp limit_lmr; do
		alone M1 '\(created\|opened\): 100' dapltest -T L -D $name -w 8 -m 100 $l
	done
}

full() {
	selection
	both D1 PASSED dtest
	local b B S
	for b in 1 64 1048576; do both D2 PASSED dtest -b $b; done
	for B in 1 10 100; do both D3 PASSED dtest -B $B -b 4096; done
	for S in 9 1; do both D4 PASSED dtest -S $S -b 4096; done
	both D7 PASSED dtest -u -b 4096
	both D7 PASSED dtest -w -b 4096
	both D7 PASSED dtest -u -w -b 4096
	both D8 PASSED dtest -W -b 4096
	both D9 PASSED dtest -a -i 64 -W -b 8192
	both D10 PASSED dtest -d 5 -b 4096
	both D11 PASSED dtest -t -v -b 4096
	both C1 'TOTAL:' dtestcm
	both C3 'TOTAL:' dtestcm -m
	both C6 'TOTAL:' dtestcm -p 50000 -d 1 -c 100
	local U
	for U in 1 16 100; do both X5 PASSED dtestx -U $U -- -c; done
	both S2 'Test Complete' dtestsrq -c 100
	both S4 'Test Complete' dtestsrq -S 0
	serve
	client T3 'Total WQE' T -i 10000 -t 1 -w 1 client SR 256 server RW 4096 server SR 256
	client T4 'Total WQE' T -i 10000 -t 1 -w 1 client SR 256 server RR 4096 server SR 256
	client T7 'Total WQE' T -i 8192 -t 1 -w 1 client SR 4096 server SR 4096
	client T9 'Total WQE' T -P -t 4 -w 4 -i 1024 client RW 4096 1 server RW 2048 4 server RR 1024 1 \
		client RR 2048 1 client SR 1024 3 -f server SR 256 3 -f
	client T11 'Total WQE' T -i 4096 -t 6 -w 1 client SR 8192 3 server SR 8192 3
	client P2 'Exiting' P -i 4096 RR 32768 1
	client P3 'Exiting' P -i 4096 -p 16 -m p RW 65536 2
	client Q1 'Exiting' Q
	wait $server
}

$which
echo "dat-matrix: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
