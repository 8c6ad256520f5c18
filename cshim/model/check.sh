# What check-lane, check-lock and check-wait share; they source it. Runs models through spin: as
# they are nothing may be found; with each of their defects something must be. Without spin (Debian:
# spin) or a C compiler it says that all is skipped, which scripts/test.sh does not count as passed.
# `expect` runs one; `conclude` ends.
set -u
list=$(basename "$0")
cd "$(dirname "$0")" || exit 2
models=$PWD
passed=0 failed=0
for program in spin cc; do
	command -v $program >/dev/null || {
		echo "$list: skipped: $program is not installed"
		echo "0 passed, 0 failed, $(grep -c '^expect [01]' "$list") skipped"
		exit 0
	}
done
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2

# explore optimization model definitions...: 0 if no error is found, 1 if one is, 2 if spin could not look everywhere
explore() {
	optimize=$1
	file=$models/$2.pml
	shift 2
	rm -f pan* ./*.trail
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

expect() { # expect result model definitions...
	want=$1
	shift
	# Most of the time is the compiler's: a defect is found after a few states, and -O2 takes longer than it saves.
	[ "$want" = 1 ] && optimize=-O0 || optimize=-O1
	explore $optimize "$@"
	got=$?
	if [ $got = "$want" ]; then
		passed=$((passed + 1))
		[ "$want" = 1 ] && found='found out' || found=$(sed -n 's/ *\([0-9e+.]*\) states, stored.*/\1 states/p' pan.log)
		echo "  pass $*: $found"
	else
		failed=$((failed + 1))
		echo "  FAIL $*: $got instead of $want"
	fi
}

conclude() {
	echo "$passed passed, $failed failed, 0 skipped"
	[ $failed = 0 ]
	exit
}
