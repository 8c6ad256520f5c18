#!/bin/bash
# Builds a source archive where there is no network interface and no module but those in it.
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
tar -C "$scratch" -xf "$archive" || exit 1
cache=$(go env GOCACHE)
unset MAKEFLAGS MFLAGS MAKELEVEL SOURCE_DATE_EPOCH
cd "$scratch"/lapi-* || exit 1
if $alone env GOFLAGS=-mod=vendor GOPROXY=off GOTOOLCHAIN=local GOCACHE="$cache" GOMODCACHE="$scratch/modules" \
	make build >"$scratch/log" 2>&1 && [ -s build/lib/liblapi_r.so.1 ] && build/bin/lapirun -n 2 true &&
	[ -z "$(ls "$scratch/modules" 2>/dev/null)" ]; then
	echo "1 passed, 0 failed, 0 skipped"
else
	tail -n 30 "$scratch/log"
	echo "fail: the archive does not build by itself"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
