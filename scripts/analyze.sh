#!/bin/bash
# Looks at every C source with gcc's -fanalyzer: leaks, null pointers, use after free, on all paths
# through a function. Each finding is an error. Left out are the MPI program, where there is no MPI,
# and tests/c/conform, whose CHECK is a function of another file: gcc cannot know that a failed
# CHECK ends the test.
#
# usage: scripts/analyze.sh [FILE...]
set -u
cd "$(dirname "$0")/.." || exit 2
gcc --version > /dev/null 2>&1 || { echo "analyze: gcc is missing" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(find capi cmd cshim transport tests fortran -name '*.c' \
	-not -path 'tests/c/conform/*')
folders="-Icshim -Ibuild/dat $(find tests/c -name '*.h' -printf '-I%h\n' 2> /dev/null | sort -u)"
export folders

look() { # FILE
	grep -q '<mpi.h>' "$1" && ! echo '#include <mpi.h>' | gcc -E - > /dev/null 2>&1 && return
	# shellcheck disable=SC2086  # folders are words
	# cgo's header is there while Go builds the package.
	grep -q '"_cgo_export.h"' "$1" && return
	if gcc -fanalyzer -O1 -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror \
		-DHOST_FOLDER='""' -DLAPI_PERF_VERSION='""' -Iinclude $folders -c "$1" -o /dev/null; then
		echo "analyze: looked"
	else
		echo "analyze: $1"
	fi
}
export -f look

found=$(printf '%s\n' "$@" | xargs -P "$(nproc)" -I {} bash -c 'look {}')
looked=$(grep -c . <<< "$found")
failed=$(grep -vc '^analyze: looked$' <<< "$found")
[ "$failed" = 0 ] || grep -v '^analyze: looked$' <<< "$found" >&2
echo "analyze: $looked files, $failed with findings"
[ "$failed" = 0 ] && [ -n "$found" ]
