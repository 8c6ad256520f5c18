# The common part of check-lane, check-lock and check-wait; they source it. Runs models through
# spin, one on each processor: without a defect spin must find no error; with each defect it must
# find one. Without spin (Debian: spin) or a C compiler it says that all is skipped, which
# scripts/test.sh does not count as passed. `expect` runs one; `large` runs a model that has a
# smaller sister and takes long, only if FULL is 1; `conclude` ends.
set -u
list=$(basename "$0")
cd "$(dirname "$0")" || exit 2
models=$PWD
jobs=0 running=0 processors=$(nproc)
for program in spin cc; do
	command -v $program >/dev/null || {
		echo "$list: skipped: $program is not installed"
		echo "0 passed, 0 failed, $(grep -c '^expect [01]' "$list") skipped"
		exit 0
	}
done
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

# explore optimization model definitions...: in a folder of its own. 0 if no error is found, 1 if one
# is, 2 if spin could not look everywhere
explore() {
	local optimize=$1 file=$models/$2.pml
	shift 2
	spin -a "$@" "$file" >spin.log 2>&1 && cc "$optimize" -w -DSAFETY -DCOLLAPSE -DVECTORSZ=1024 -o pan pan.c >>spin.log 2>&1 || {
		cat spin.log
		return 2
	}
	timeout 300 ./pan -m1000000 -w22 >pan.log 2>&1
	# What a defect brings about must be what the model is to find, not a mistake in it.
	grep -q '^pan:1: \(assertion violated\|invalid end state\)' pan.log && return 1
	grep -q 'errors: 0' pan.log && ! grep -q 'max search depth too small\|out of memory' pan.log && return 0
	cat pan.log
	return 2
}

one() { # number result model definitions...
	local want=$2 optimize=-O1 found=
	mkdir "$scratch/$1" && cd "$scratch/$1" || exit 2
	shift 2
	# Most of the time is the compiler's: a defect is found after a few states, and -O2 takes longer than it saves.
	[ "$want" = 1 ] && optimize=-O0
	explore $optimize "$@"
	got=$?
	[ "$want" = 1 ] && found='found out' || found=$(sed -n 's/ *\([0-9e+.]*\) states, stored.*/\1 states/p' pan.log)
	if [ $got = "$want" ]; then
		echo "  pass $*: $found"
	else
		echo "  FAIL $*: $got instead of $want"
	fi
}

expect() { # result model definitions...
	[ $running -lt "$processors" ] || { wait -n; running=$((running - 1)); }
	jobs=$((jobs + 1)) running=$((running + 1))
	one $jobs "$@" >"$scratch/$jobs.log" 2>&1 &
}

large() { # expect result model definitions...
	[ "${FULL:-0}" != 1 ] || "$@"
}

conclude() {
	local number failed
	wait
	for ((number = 1; number <= jobs; number++)); do
		cat "$scratch/$number.log"
	done
	failed=$((jobs - $(cat "$scratch"/*.log | grep -c '^  pass')))
	echo "$((jobs - failed)) passed, $failed failed, 0 skipped"
	[ $failed = 0 ]
	exit
}
