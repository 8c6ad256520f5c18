# ofed-in-machine.sh test|bench - what ofed.sh has the machine do, in its /work.
export DAT_OVERRIDE=/work/dat.conf
ulimit -l unlimited
address=10.9.8.1

# use WHO: theirs, or ours by that provider, or ours over UDP.
use() {
	unset LAPI_USE_SHM
	name=ofa-v2-rxe
	case $1 in
	theirs) export LD_LIBRARY_PATH=/work/theirs:/work ;;
	loaded) export LD_LIBRARY_PATH=/work/ours:/work ;;
	ours)
		export LD_LIBRARY_PATH=/work/ours:/work LAPI_USE_SHM=no
		name=ofa-v2-eth0
		;;
	esac
}

# until FILE TEXT: for 20 seconds.
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

# One run of each, by WHO.
runs() {
	use $1
	for b in 64 4096 65536; do
		pair dtest -b $b -B 50
		figure dtest-pingpong-$b-us $1 "$(sed -n 's/.*PingPong.*latency *\([0-9.]*\) us.*/\1/p' /tmp/client)"
		figure dtest-write-$b-MB/s $1 "$(sed -n 's/.*RDMA write.*, *\([0-9.]*\) MB.*/\1/p' /tmp/client)"
	done
	dapl P -i 512 -p 1 -m b RW 4 1
	figure dapltest-RW-4-blocking-us $1 "$(latency)"
	dapl P -i 512 -p 1 -m p RW 4 1
	figure dapltest-RW-4-polling-us $1 "$(latency)"
	dapl P -i 256 -p 16 -m p RW 65536 2
	figure dapltest-RW-65536x2-MB/s $1 "$(rate)"
	dapl P -i 256 -p 16 -m b RR 32768 1
	figure dapltest-RR-32768-MB/s $1 "$(rate)"
}
latency() { sed -n 's/^raw: .*[Ll]at[a-z]*[=: ]*\([0-9.]*\).*/\1/p' /tmp/client; cat /tmp/client >> /tmp/all; }
rate() { sed -n 's/^raw: .*[^0-9.]\([0-9.]*\) *MB.*/\1/p' /tmp/client; }

case $1 in
test) tests ;;
bench)
	for round in $(seq "${2:-3}"); do
		runs theirs
		runs ours
	done
	echo "--- a raw line"
	grep '^raw' /tmp/client
	;;
esac
exit 0
