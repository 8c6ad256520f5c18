#!/bin/bash
# Looks at every C source with gcc's -fanalyzer: leaks, null pointers, use after free, on all ways
# through a function. What it finds is an error. Left out are the MPI program, where there is no
# MPI, and tests/c/conform, whose CHECK is a function of another file: gcc cannot know that a test
# ends where it says no.
#
# usage: scripts/analyze.sh [FILE...]
set -u
cd "$(dirname "$0")/.." || exit 2
gcc --version > /dev/null 2>&1 || { echo "analyze: gcc is missing" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(find capi cshim transport tests fortran -name '*.c' \
	-not -path 'tests/c/conform/*')
folders=$(find cshim transport tests/c -name '*.h' -printf '-I%h\n' 2> /dev/null | sort -u)
failed=0 looked=0
for file; do
	if grep -q '<mpi.h>' "$file" && ! echo '#include <mpi.h>' | gcc -E - > /dev/null 2>&1; then
		continue
	fi
	looked=$((looked + 1))
	gcc -fanalyzer -O1 -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -DHOST_FOLDER='""' \
		-Iinclude $folders -c "$file" -o /dev/null || {
		echo "analyze: $file" >&2
		failed=$((failed + 1))
	}
done
echo "analyze: $looked files, $failed with findings"
[ $failed = 0 ] && [ $looked -gt 0 ]
