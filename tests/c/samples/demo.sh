#!/bin/bash
# make demo: installs what is missing, builds, and shows LAPI at work in a minute: a put and an active message between two tasks,
# a job of four tasks sharing work, heat over UDP/IP, and a job started by hand. Colours only on a terminal.
set -u
cd "$(dirname "$0")/../../.." || exit 2
out=build/samples
lapirun=build/bin/lapirun
log=build/demo.log

bold='' dim='' green='' red='' off=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\033[1m' dim=$'\033[2m' green=$'\033[32m' red=$'\033[31m' off=$'\033[0m'
	export SAMPLE_COLOUR=1
fi

fail() {
	echo "${red}demo: $*${off}" >&2
	exit 1
}

heading() { printf '\n%s%s%s\n' "$bold" "$*" "$off"; }

# show variables... command: prints the command, runs it, stops the demo if it fails.
show() {
	printf '%s$ %s%s\n' "$dim" "$*" "$off"
	env "$@" 2>&1 </dev/null | grep -v ': passed$'
	[ "${PIPESTATUS[0]}" = 0 ] || fail "that was not right"
}

mkdir -p build
: >"$log"
heading "Installing what is missing, building"
scripts/setup.sh gfortran=gfortran </dev/null || fail "see above"
"${MAKE:-make}" -s all >>"$log" 2>&1 || { tail -n 20 "$log"; fail "the build failed, all of it is in $log"; }
for group in init lapi_api basic demo standalone/udp dat; do
	"${MAKE:-make}" -s -C "tests/c/samples/$group" OUT="$PWD/$out/$group" >>"$log" 2>&1 ||
		{ tail -n 20 "$log"; fail "the samples do not build, see $log"; }
done
echo "build/lib/liblapi_r.so, build/bin/lapirun, and the samples in $out"

heading "A put: task 0 writes into task 1's memory, over shared memory"
show LAPI_USE_SHM=yes $lapirun -n 2 $out/lapi_api/Put

heading "An active message: its handlers run at task 1, over UDP/IP"
show LAPI_USE_SHM=no $lapirun -n 2 $out/lapi_api/Am

heading "Four tasks share the rows of a picture by fetch-and-add (LAPI_Rmw), over shared memory"
show LAPI_USE_SHM=yes $lapirun -n 4 $out/demo/mandelbrot

heading "Heat spreads over a plate cut into four strips, whose tasks put their edges to each other, over UDP/IP"
show LAPI_USE_SHM=no $lapirun -n 4 $out/demo/heat
printf '%s$ LAPI_USE_SHM=yes %s -n 4 %s/demo/heat%s        (the same over shared memory: the last line only)\n' "$dim" $lapirun $out "$off"
LAPI_USE_SHM=yes $lapirun -n 4 $out/demo/heat >>"$log" 2>&1 </dev/null || fail "that was not right, see $log"
grep "both plates are equal" "$log" | tail -n 1

if [ -x $out/demo/heatf ]; then
	heading "The same in Fortran, cut both ways: edges go by LAPI_PUTV, a fence ends each step; the picture is build/heat.ppm"
	show HEAT_PICTURE=build/heat.ppm LAPI_USE_SHM=yes $lapirun -n 4 $out/demo/heatf
fi

heading "A job without a launcher: each task is started by hand"
OUT="$PWD/$out/standalone/udp" tests/c/samples/standalone/udp/start-by-hand 2 >>"$log" 2>&1 ||
	{ tail -n 20 "$log"; fail "the standalone job failed, see $log"; }
awk '/^-- user handler, UDP\/IP$/ { shown = 1; next } /^-- / { shown = 0 } shown && NF' "$log" | grep -v ': passed$'

heading "uDAPL: a client works on the memory of a server by RDMA; the two are started by hand"
OUT="$PWD/$out/dat" tests/c/samples/dat/run-pair Rdma >"$log.dat" 2>&1 ||
	{ cat "$log.dat"; fail "that was not right"; }
grep -v ': passed$' "$log.dat" | grep .

heading "A job that hangs by a mistake: lapirun says what its tasks wait for, and ends it"
printf '%s$ %s --timeout 2 -n 3 %s/demo/hang%s\n' "$dim" $lapirun $out "$off"
$lapirun --timeout 2 -n 3 $out/demo/hang >"$log.hang" 2>&1 </dev/null
[ $? = 124 ] && grep -q 'missing: task 0, in LAPI_Waitcntr' "$log.hang" ||
	{ cat "$log.hang"; fail "that was not right"; }
cat "$log.hang"

heading "What this machine offers to LAPI, and what is missing: lapi_info"
"${lapirun%/*}/lapi_info" >"$log.info" 2>&1 || { cat "$log.info"; fail "that was not right"; }
sed -n '/^Links$/,/^$/p;/^Limits$/,/^$/p' "$log.info"

heading "${green}All results were checked and right.${off}${bold} What next?"
cat <<'END'
  make test                            all tests
  make samples                         every sample, 2 and 4 tasks, both paths, as a table
  less tests/c/samples/README.md       what each sample shows
  make install PREFIX=$HOME/lapi       then, for a program of your own:
    gcc prog.c $(PKG_CONFIG_PATH=$HOME/lapi/lib/pkgconfig pkg-config --cflags --libs lapi) -Wl,-rpath,$HOME/lapi/lib
    $HOME/lapi/bin/lapirun -n 4 ./a.out
  less docs/user/README.md             the user's book: running, tuning, troubleshooting
END
