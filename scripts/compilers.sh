#!/bin/bash
# Compiles each C file of the library, and of its tests in C, by every compiler that there is, with all
# warnings as errors; then the library, and with it programs that run. Prints a table. Of Debian's
# packages those that are not installed are unpacked in build/compilers.
# The last line is "N passed, N failed, N skipped".
#
# usage: scripts/compilers.sh [COMPILER...]     such as gcc-11 clang-19; none: all that are known
set -u
cd "$(dirname "$0")/.." || exit 2
. tests/c/dat/packages.sh
known="gcc-11 gcc-12 gcc-13 gcc-14 gcc-15 clang-14 clang-15 clang-16 clang-17 clang-18 clang-19"
programs="put amsend rmw fence errors"
passed=0 failed=0 skipped=0
mkdir -p build/compilers

# find COMPILER: prints the command; or why there is none.
find_compiler() {
	local name=$1 number=${1#*-} folder=$PWD/build/compilers/$1 packages
	if command -v "$name"; then
		return
	fi
	case $name in
	gcc-*) packages="gcc-$number cpp-$number libgcc-$number-dev" ;;
	clang-*) packages="clang-$number libclang-cpp$number libclang-common-$number-dev libllvm$number" ;;
	esac
	# shellcheck disable=SC2086  # names are words
	unpack "$folder" "usr/bin/$name" $packages || return
	mkdir -p "$folder/bin"
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' \
		"$folder/usr/lib/$(uname -m)-linux-gnu:$folder/usr/lib/llvm-$number/lib" "$folder/usr/bin/$name" >"$folder/bin/$name"
	chmod 755 "$folder/bin/$name"
	echo 'int main(void) { return 0; }' | "$folder/bin/$name" -x c -o /dev/null - >"$folder/try.log" 2>&1 ||
		{ head -n 1 "$folder/try.log"; return 1; }
	echo "$folder/bin/$name"
}

# Compiles each file by itself, so that all errors are seen.
quiet() {
	local file status=0
	for file in cshim/*/*.c cshim/dat/*/*.c cshim/registry/provider/*.c; do
		case $file in cshim/ctest/* | cshim/model/*) continue ;; esac
		"$1" -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -Icshim -Iinclude -c -o /dev/null "$file" || status=1
	done
	return $status
}

works() {
	local command=$1 folder=$2 program
	# shellcheck disable=SC2046,SC2086  # names are words
	make BUILD="$folder" CC="$command" build $(printf "$folder/conform/%s " $programs) || return
	for program in $programs; do
		timeout 120 "$folder/bin/lapirun" -n 2 "$folder/conform/$program" || return
		LAPI_USE_SHM=no timeout 120 "$folder/bin/lapirun" -n 2 "$folder/conform/$program" || return
	done
}

try() { # NAME WHAT COMMAND...: one entry of the table
	local log=build/compilers/$1.$2.log
	if "${@:3}" >"$log" 2>&1; then
		passed=$((passed + 1))
		printf ' %-10s' ok
	else
		failed=$((failed + 1))
		printf ' %-10s' FAILED
		{ echo "$1, $2: $log"; grep -E 'error|warning|failed|Error' "$log" | head -n 12 | sed 's/^/    | /'; } >>build/compilers/failures
	fi
}

: >build/compilers/failures
[ $# -gt 0 ] || set -- $known
printf '%-10s %-10s %-10s %s\n' compiler C-files programs version
for name; do
	if ! command=$(find_compiler "$name"); then
		skipped=$((skipped + 1))
		printf '%-10s skipped: %s\n' "$name" "$command"
		continue
	fi
	printf '%-10s' "$name"
	try "$name" files quiet "$command"
	try "$name" programs works "$command" "build/compilers/$name/build"
	printf ' %s\n' "$("$command" --version | head -n 1)"
done
cat build/compilers/failures
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
