#!/bin/bash
# Draws results.csv of a run with gnuplot: medians and quartiles against size, one PNG for each
# operation that was compared with peers, or for latency and bandwidth over each medium. Operations
# measured at one size only are not drawn.
#
# usage: plot.sh FOLDER
set -u
cd "$1" || exit 2
[ -f results.csv ] || { echo "plot: no results.csv in $1 (make bench writes it)" >&2; exit 1; }
command -v gnuplot > /dev/null || {
	echo 'plot: no pictures without gnuplot (Debian: gnuplot-nox)' >&2
	exit 0
}

# curve WHO OP SCALE TITLE: adds a curve to the picture under way, if there are two sizes or more.
curve() {
	local data
	data=$(awk -F, -v who="$1" -v op="$2" -v k="$3" \
		'$1 == who && $2 == op { print $3, $4 * k, $5 * k, $6 * k }' results.csv)
	[ "$(wc -l <<< "$data")" -ge 2 ] || return 0
	n=$((n + 1))
	blocks+="\$c$n << EOD"$'\n'"$data"$'\nEOD\n'
	plots+="${plots:+, }\$c$n using 1:2:3:4 with yerrorlines lw 2 pt $n title '$4'"
}

# picture NAME TITLE UNIT: draws the curves that were added.
picture() {
	[ -z "$plots" ] || {
		printf '%s\n' "set terminal pngcairo size 1100,750 noenhanced font 'Sans,13'" \
			"set output '$1.png'" "$blocks" "set title '$2'" \
			"set xlabel 'message size'" "set ylabel '$3'" \
			'set logscale x 2' 'set logscale y 10' 'set grid' \
			'set key outside right top' "set format y '%g'" \
			"set xtics ('8 B' 8, '64 B' 64, '512 B' 512, '4 KiB' 4096, '32 KiB' 32768)" \
			"set xtics add ('256 KiB' 262144, '1 MiB' 1048576, '4 MiB' 4194304)" \
			"plot $plots" | gnuplot - && echo "$PWD/$1.png"
	}
	n=0 blocks='' plots=''
}

n=0 blocks='' plots=''
# Operations compared with peers: a curve for each participant.
awk -F, 'NR > 1 && $2 !~ "/" { print $2, $7 }' results.csv | sort -u | while read -r op unit; do
	while IFS= read -r who; do curve "$who" "$op" 1 "$who"; done < <(
		awk -F, -v op="$op" '$2 == op { print $1 }' results.csv | uniq)
	picture "peers-$op" "$op, user memory, both poll" "$unit"
done
# The operations of make bench: a curve for each operation of ours, and the raw limits.
for medium in shm udp; do
	for test in latency bandwidth; do
		while IFS= read -r op; do curve $medium "$op" 1 "${op#*/}"; done < <(
			awk -F, -v m=$medium -v t="^$test/" '$1 == m && $2 ~ t { print $2 }' results.csv | uniq)
		[ "$n" != 0 ] || continue
		case $medium-$test in
		shm-latency) curve raw writev/time 1e-3 'raw: process_vm_writev' ;;
		shm-bandwidth)
			curve raw writev/bandwidth 1 'raw: process_vm_writev'
			curve raw memcpy/bandwidth 1 'raw: memcpy'
			;;
		udp-latency) curve raw udp/oneway 1 'raw: bare UDP' ;;
		udp-bandwidth) curve raw udp/bandwidth 1 'raw: bare UDP stream' ;;
		esac
		unit=GB/s
		[ $test != latency ] || unit=us
		picture "$test-$medium" "$test over $medium, 2 tasks, polling" $unit
	done
done
exit 0
