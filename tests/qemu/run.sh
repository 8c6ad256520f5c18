#!/bin/bash
# tests/qemu/run.sh ARCH PROGRAM...: the conformance programs of build-ARCH, each as a job of two
# tasks over shared memory and over UDP, under qemu's emulation of a user process. lapirun is this
# machine's. qemu keeps this machine's order of memory accesses: what passes here runs there, and
# says nothing of memory order.
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
passed=0 failed=0
for link in shm udp; do
	[ $link = shm ] && use=yes || use=no
	for program; do
		if LAPI_USE_SHM=$use timeout 300 build/bin/lapirun -n 2 $emulator -L "$root" \
			"$build/conform/$program" > "$build/conform/$program.$link.log" 2>&1; then
			passed=$((passed + 1))
			echo "pass $link $program: $(tail -n 1 "$build/conform/$program.$link.log")"
		else
			failed=$((failed + 1))
			echo "FAIL $link $program"
			grep -v '^  pass' "$build/conform/$program.$link.log" | tail -n 10
		fi
	done
done
echo "qemu $arch: $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
