#!/bin/bash
# tests/qemu/run.sh ARCH PROGRAM...: programs of build-ARCH under qemu's emulation of a user process.
#
#   conformance programs, each as a job of two tasks over shared memory and over UDP; lapirun is this
#   machine's; the same in jobs of this machine's tasks and emulated ones, over UDP
#   uDAPL: programs of one process; collectives whose members are of both architectures, which must
#   refuse to reduce long double
#   the C side's own tests of guarded accesses, reductions and calls of groups
#
# qemu keeps this machine's order of memory accesses: what passes here runs there, and says nothing of
# memory order.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 2
arch=$1
shift
build=build-$arch
case $arch in
arm64) emulator=qemu-aarch64-static triplet=aarch64-linux-gnu ;;
ppc64le) emulator=qemu-ppc64le-static triplet=powerpc64le-linux-gnu ;;
esac
if ! command -v $emulator > /dev/null; then
	echo "skipped: no $emulator (qemu-user-static)"
	echo "0 passed, 0 failed, 1 skipped"
	exit
fi
root=$build/cross/usr/$triplet
[ -d "$root" ] || root=/usr/$triplet
export EMULATOR="$emulator -L $root"
logs=$build/qemu
mkdir -p "$logs"
passed=0 failed=0

try() { # NAME COMMAND...
	local name=$1 log=$logs/${1// /.}.log
	shift
	if timeout 300 "$@" > "$log" 2>&1; then
		passed=$((passed + 1))
		echo "pass $name: $(tail -n 1 "$log")"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		grep -v '^  pass' "$log" | tail -n 10 | sed 's/^/    | /'
	fi
}

# The emulator's words are several.
# shellcheck disable=SC2086
for program; do
	for link in shm udp; do
		[ $link = shm ] && use=yes || use=no
		try "$link $program" env LAPI_USE_SHM=$use build/bin/lapirun -n 2 $EMULATOR "$build/conform/$program"
	done
	for parity in 0 1; do
		try "mixed $parity $program" env LAPI_USE_SHM=no PARITY=$parity build/bin/lapirun -n 2 \
			tests/qemu/mixed build/conform "$build/conform" "$program"
	done
done
# shellcheck disable=SC2086
for program in ${QEMU_DAT:-}; do
	try "uDAPL $program" $EMULATOR "$build/dat/$program"
done
for program in ${QEMU_COLL:-}; do
	for way in on off; do
		try "mixed $program $way" env COLL_OTHER="$EMULATOR $build/dat/$program" "build/dat/$program" short $way
	done
done
# shellcheck disable=SC2086
[ -z "${QEMU_CSHIM:-}" ] || try "C side" $EMULATOR "$build/cshim-test/plain" $QEMU_CSHIM
echo "qemu $arch: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
