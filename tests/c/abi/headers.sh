#!/bin/sh
# Compiles each public header alone, and a program that uses them, in every dialect with every compiler there is.
# Run from the root of the tree. Prints what fails, and how many compilations were made; a compiler that is missing is named.
set -u
warnings='-Wall -Wextra -pedantic -Werror -fsyntax-only -Iinclude'
c_dialects='gnu89 gnu90 c99 gnu99 c11 gnu11 c17 gnu17 gnu2x'
cxx_dialects='c++98 gnu++98 c++11 c++14 c++17 c++20 gnu++20 c++2b'
made=0 failed=0

# compile COMPILER LANGUAGE DIALECT: each header by itself, then the program.
compile() {
	for header in lapi.h lapi_link.h css_shared.h; do
		made=$((made + 1))
		if ! printf '#include <%s>\n' "$header" | $1 -x "$2" "-std=$3" $warnings -; then
			echo "headers: $header fails with $1 -std=$3"
			failed=$((failed + 1))
		fi
	done
	made=$((made + 1))
	if ! $1 -x "$2" "-std=$3" $warnings tests/c/abi/use.c; then
		echo "headers: use.c fails with $1 -std=$3"
		failed=$((failed + 1))
	fi
	strict=
	[ "$2" != c ] || strict='-Wstrict-prototypes -Wmissing-prototypes'
	made=$((made + 1))
	if ! $1 -x "$2" "-std=$3" $warnings $strict tests/c/abi/profiling.c; then
		echo "headers: profiling.c fails with $1 -std=$3"
		failed=$((failed + 1))
	fi
	made=$((made + 1))
	old_style=
	[ "$2" = c ] || old_style=-Wold-style-cast
	if ! $1 -x "$2" "-std=$3" $warnings $old_style tests/c/abi/macros.c; then
		echo "headers: macros.c fails with $1 -std=$3"
		failed=$((failed + 1))
	fi
}

# with COMPILER LANGUAGE DIALECTS...: all dialects, or a word that the compiler is missing.
with() {
	compiler=$1 language=$2
	shift 2
	if ! command -v "$compiler" > /dev/null; then
		echo "headers: skipped, no $compiler"
		return
	fi
	for dialect; do
		compile "$compiler" "$language" "$dialect"
	done
}

with gcc c $c_dialects
with clang c $c_dialects
with g++ c++ $cxx_dialects
with clang++ c++ $cxx_dialects
echo "headers: $made compilations, $failed failed"
test "$made" -gt 0 && test "$failed" -eq 0
