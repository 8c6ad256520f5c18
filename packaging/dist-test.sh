#!/bin/bash
# Builds a source archive where there is no network interface and no module but those in it, and
# makes it once more from what it holds: both must be the same, whatever the umask.
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
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
