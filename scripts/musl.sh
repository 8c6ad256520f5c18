#!/bin/bash
# Builds the library with musl, the C library of Alpine Linux, and runs conformance programs with it. Debian's
# packages of musl are unpacked in build-musl/root; the compiler is this machine's.
# The last line is "N passed, N failed, N skipped".
#
# usage: scripts/musl.sh [PROGRAM...]
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/c/dat/packages.sh
root=$PWD/build-musl/root
machine=$(uname -m)-linux-musl
if ! why=$(unpack "$root" "usr/lib/$machine/musl-gcc.specs" musl musl-dev musl-tools); then
	echo "skipped: $why"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
ln -sf "$root/lib/$machine/libc.so" "$root/usr/lib/$machine/libc.so"
sed -e "s#/usr/lib/$machine#$root/usr/lib/$machine#g" -e "s#/usr/include/$machine#$root/usr/include/$machine#g" \
	-e "s#/lib/ld-musl-[^ ]*#$root/lib/$machine/libc.so#g" "$root/usr/lib/$machine/musl-gcc.specs" >"$root/specs"
# The headers of the kernel and of libibverbs are this machine's.
mkdir -p "$root/kernel"
ln -sfn /usr/include/{infiniband,rdma,linux,asm-generic} "$root/kernel/"
ln -sfn "/usr/include/$(uname -m)-linux-gnu/asm" "$root/kernel/"
cat >"$root/cc" <<END
#!/bin/sh
[ "\$1" != -dumpmachine ] || { echo $machine; exit; }
exec gcc "\$@" -specs $root/specs -idirafter $root/kernel
END
chmod 755 "$root/cc"

[ $# -gt 0 ] || set -- env counters put get amsend vector xfer handlers rmw fence address errors util interop
flags="-O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra"
# shellcheck disable=SC2046  # names are words
if ! make -k BUILD=build-musl CC="$root/cc" CONFORM_CFLAGS="$flags" build $(printf 'build-musl/conform/%s ' "$@") >build-musl/log 2>&1; then
	grep -E 'error|undefined|\*\*\*' build-musl/log | head -n 10
fi
passed=0 failed=0
for program; do
	for shm in yes no; do
		if LAPI_USE_SHM=$shm timeout 120 build-musl/bin/lapirun -n 2 "build-musl/conform/$program" >"build-musl/$program.log" 2>&1; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "FAIL $program, LAPI_USE_SHM=$shm"
			grep -v '^  pass' "build-musl/$program.log" | head -n 5 | sed 's/^/    | /'
		fi
	done
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
