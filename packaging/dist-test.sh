#!/bin/bash
# Builds a source archive without a network interface and with only its own modules, and makes the
# archive again from its contents: both must be the same, whatever the umask. Built in another folder,
# with another umask, the library and the commands are the same, byte for byte; WHOLE=1: also without
# Go's cache of earlier builds.
# The last line is "N passed, N failed, N skipped".
#
# usage: dist-test.sh ARCHIVE
set -u
archive=$(realpath "$1")
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
alone="unshare -n"
$alone true 2>/dev/null || alone="unshare -rn"
$alone true 2>/dev/null || {
	echo "skipped: no network namespaces here"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}
passed=0 failed=0
umask 077
tar -C "$scratch" --no-same-permissions -xf "$archive" || exit 1
cache=$(go env GOCACHE)
unset MAKEFLAGS MFLAGS MAKELEVEL SOURCE_DATE_EPOCH
cd "$scratch"/lapi-* || exit 1
if $alone env GOFLAGS=-mod=vendor GOPROXY=off GOTOOLCHAIN=local GOCACHE="$cache" GOMODCACHE="$scratch/modules" \
	make build >"$scratch/log" 2>&1 && [ -s build/lib/liblapi_r.so.1 ] && build/bin/lapirun -n 2 true &&
	[ -z "$(ls "$scratch/modules" 2>/dev/null)" ]; then
	passed=$((passed + 1))
else
	tail -n 30 "$scratch/log"
	failed=$((failed + 1))
	echo "fail: the archive does not build by itself"
fi
if make dist >"$scratch/log" 2>&1 && cmp "$archive" "build/${archive##*/}"; then
	passed=$((passed + 1))
else
	tail -n 30 "$scratch/log"
	diff <(tar -tvf "$archive") <(tar -tvf "build/${archive##*/}") | head -n 10
	failed=$((failed + 1))
	echo "fail: the archive makes another one"
fi
first=$PWD again=$scratch/another/folder
mkdir -p "$again"
tar -C "$again" --strip-components=1 -xf "$archive" || exit 1
[ -z "${WHOLE:-}" ] || cache=$scratch/cache
if (umask 022 && cd "$again" && $alone env GOFLAGS=-mod=vendor GOPROXY=off GOTOOLCHAIN=local GOCACHE="$cache" \
	GOMODCACHE="$scratch/modules" make build &&
	for file in lib/liblapi_r.so.1 lib/libdapllapi.so.2 bin/lapirun bin/lapitrace bin/lapi_info bin/lapi_perf; do
		cmp "$first/build/$file" "build/$file" || exit 1
	done) >"$scratch/log" 2>&1; then
	passed=$((passed + 1))
else
	tail -n 30 "$scratch/log"
	failed=$((failed + 1))
	echo "fail: built in another folder, something differs"
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
