# ofed-in-machine.sh test|bench ROUNDS WHO... - the part of ofed.sh that runs in the machine, in its
# /work.
export DAT_OVERRIDE=/work/dat.conf
ulimit -l unlimited
address=10.9.8.1

# use WHO: selects their library, or ours by that provider, or ours over the adapter, or over UDP.
use() {
	unset LAPI_USE_SHM
	name=ofa-v2-rxe
	case $1 in
	theirs) export LD_LIBRARY_PATH=/work/theirs:/work ;;
	loaded) export LD_LIBRARY_PATH=/work/ours:/work ;;
	adapter)
		export LD_LIBRARY_PATH=/work/ours:/work
		name=ofa-v2-$ADAPTER
		;;
	udp)
		export LD_LIBRARY_PATH=/work/ours:/work LAPI_USE_SHM=no
		name=ofa-v2-eth0
		;;
	esac
}

# until FILE TEXT: waits up to 20 seconds.
until_says() {
	for i in $(seq 100); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.2
	done
}
listens() {
	for i in $(seq 100); do
		grep -qi ":3DD4 .* 0A " /proc/net/tcp /proc/net/tcp6 && return
		sleep 0.2
	done
}

pair() { # PROGRAM OPTIONS...
	program=$1
	shift
	timeout 100 ./$program -P $name "$@" > /tmp/server 2>&1 &
	listens
	timeout 100 ./$program -P $name "$@" -h $address > /tmp/client 2>&1
	wait
}

dapl() { # MODE OPTIONS...
	mode=$1
	shift
	timeout 100 ./dapltest -T S -D $name > /tmp/server 2>&1 &
	until_says /tmp/server 'Service Point Ready'
	timeout 100 ./dapltest -T $mode -s $address -D $name "$@" > /tmp/client 2>&1
	timeout 20 ./dapltest -T Q -s $address -D $name > /tmp/quit 2>&1
	wait
}

judge() { # TEXT WHAT
	if grep -qE "$1" /tmp/client && ! grep -qE 'FAILED|ERR:|mismatch' /tmp/client; then
		echo "passed  $2"
	else
		echo "FAILED  $2"
		tail -n 8 /tmp/server /tmp/client
	fi
}

tests() {
	use loaded
	timeout 60 ./dtestx -q -P $name > /tmp/client 2>&1
	judge 'DAT_IB_PROVIDER_NAME=(CMA|OpenIB-CMA|OFA)' "dtestx -q: the provider's attributes"
	pair dtest -b 4096 -B 20
	judge 'DAPL Test Complete. PASSED' 'dtest'
	pair dtest -b 4096 -B 20 -c
	judge 'DAPL Test Complete. PASSED' 'dtest -c'
	pair dtestx
	judge 'IB extension test - .* test PASSED' 'dtestx'
	dapl T -i 10 -t 1 -w 2 client SR 256 server RW 4096 server SR 256
	judge 'Total WQE' 'dapltest'
}

figure() { # WHAT WHO VALUE
	[ -n "$3" ] && echo "figure $1 $2 $3"
}

# of_dtest WHAT WHO: microseconds of a message one way, and of an RDMA write.
of_dtest() {
	figure "dtest-message-$1" "$2" "$(sed -n 's/.*PingPong.*latency *\([0-9.]*\) us.*/\1/p' /tmp/client)"
	figure "dtest-write-$1" "$2" "$(sed -n 's/.*RDMA write.*itime= *\([0-9.]*\) us.*/\1/p' /tmp/client)"
}

# of_dapltest WHAT WHO: microseconds of an operation, from how many there were in a second.
of_dapltest() {
	figure "dapltest-$1" "$2" "$(sed -n 's/^raw: //p' /tmp/client |
		awk -F', *' '$7 > 0 {printf "%.2f", 1e6 / $7}')"
}

# whole WHAT WHO BEGIN: seconds of a client from its start to its end.
whole() {
	figure "$1" "$2" "$(awk -v b="$3" '{printf "%.2f", $1 - b}' /proc/uptime)"
}
uptime_is() { cut -d ' ' -f 1 /proc/uptime; }

# One run of each, by WHO.
runs() {
	use $1
	for b in 64 4096 65536; do
		pair dtest -b $b -B 50
		of_dtest $b $1
	done
	begin=$(uptime_is)
	pair dtest -b 64 -B 50 -p
	whole dtest-whole-s $1 "$begin"
	of_dtest 64-polling $1
	dapl P -i 1000 -p 1 -m b RW 4 1
	of_dapltest RW-4-waiting $1
	dapl P -i 1000 -p 1 -m p RW 4 1
	of_dapltest RW-4-polling $1
	dapl P -i 256 -p 16 -m p RW 65536 2
	of_dapltest RW-65536x2-polling $1
	dapl P -i 256 -p 16 -m b RR 32768 1
	of_dapltest RR-32768-waiting $1
}

which=$1 rounds=${2:-3}
[ $# -le 2 ] || shift 2
case $which in
test) tests ;;
bench)
	for round in $(seq "$rounds"); do
		for who; do runs "$who"; done
	done
	;;
esac
exit 0
