#!/bin/bash
# The DAT headers against what programs were compiled with: every size, offset, value, string and
# type of facts.txt, with each compiler there is; the same facts of the deployed headers, which
# Debian's libdapl-dev has, and which names those have; the macros, run with functions of our own in
# place of the library; every dialect; and that exactly what exports.txt lists is declared.
#
# usage: headers.sh BUILD_FOLDER, from the root of the tree.
# Its last line is "N passed, N failed, N skipped".
set -u
build=$1/dat-headers
here=tests/c/dat
passed=0 failed=0 skipped=0
warnings='-Wall -Wextra -pedantic -Werror'
mkdir -p "$build"
# shellcheck source=tests/c/dat/packages.sh
. $here/packages.sh

# check NAME COMMAND...: counts it, and shows its output if it fails.
check() {
	local name=$1
	shift
	if "$@" > "$build/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "dat-headers: FAILED: $name"
		head -n 40 "$build/log"
	fi
}

skip() {
	skipped=$((skipped + 1))
	echo "dat-headers: skipped: $1"
}

have() {
	command -v "$1" > /dev/null && return
	skip "no $1"
	return 1
}

# run PROGRAM COMPILER ARGUMENTS...: compiles PROGRAM, and runs it.
run() {
	local program=$build/$1
	shift
	"$@" -o "$program" && "$program"
}

# print_facts TABLE COMPILER FLAGS...: prints the compiler's facts for each name of the table, in
# C++ too.
print_facts() {
	local table=$1 compiler=$2 cxx
	shift 2
	case $compiler in gcc) cxx=g++ ;; *) cxx=clang++ ;; esac
	$here/probe.sh c "$table" > "$build/probe.c" &&
		$here/probe.sh c++ "$table" > "$build/probe.cc" &&
		run probe-c "$compiler" -w "$@" "$build/probe.c" &&
		run probe-cc $cxx -w "$@" "$build/probe.cc"
}

facts_are() { # EXPECTED TABLE COMPILER FLAGS...
	local expected=$1
	shift
	print_facts "$@" > "$build/printed" && diff "$expected" "$build/printed"
}

# names FOLDER: prints the names that the headers there define.
names() {
	local ours='^(DAT|dat|DCNT|_?U?DAT|max_|[a-z]+_async|IN$|OUT$|INOUT$)'
	gcc -w -E -dM "-I$1" "$build/all.c" > "$build/macros" &&
		gcc -w -c "-I$1" "-fdump-go-spec=$build/go" -aux-info "$build/aux" \
			"$build/all.c" -o "$build/all.o" || return
	{
		awk '{ sub(/\(.*/, "", $2); print $2 }' "$build/macros"
		awk '/^(type|const) _/ { print substr($2, 2) }' "$build/go"
		grep -oE '\bdats?_[a-z_0-9]+\)? \(' "$build/aux" | tr -d '() '
	} | grep -E "$ours" | sort -u
}

# The deployed headers lack no name that is not here, and what is here besides is listed.
names_are_listed() {
	names "$deployed" > "$build/names-deployed" && names include > "$build/names-here" || return
	[ "$(wc -l < "$build/names-deployed")" -gt 1000 ] || {
		echo "the deployed headers have too few names"
		return 1
	}
	comm -23 "$build/names-deployed" "$build/names-here" > "$build/missing"
	comm -13 "$build/names-deployed" "$build/names-here" > "$build/extra"
	sed -n 's/^added \([^ ]*\) : .*/\1/p' $here/differences.txt > "$build/globs"
	local name glob listed result=0
	while read -r name; do
		listed=
		while read -r glob; do
			# shellcheck disable=SC2254
			case $name in $glob) listed=yes ;; esac
		done < "$build/globs"
		[ -n "$listed" ] || { echo "not in differences.txt: $name"; result=1; }
	done < "$build/extra"
	sed 's/^/missing: /' "$build/missing"
	[ ! -s "$build/missing" ] && [ $result = 0 ]
}

# The table has every constant and type of the deployed headers; structures by their types' names.
table_is_complete() {
	names "$deployed" > /dev/null || return
	awk '/^const _(DAT|DCNT)|^type _DAT/ { print substr($2, 2) }' "$build/go" |
		grep -vxF "$(awk '{ print $2 }' "$build/facts")" > "$build/missing"
	sed 's/^/not in facts.txt: /' "$build/missing"
	[ ! -s "$build/missing" ]
}

each_header_alone() { # LANGUAGE COMPILER DIALECT
	local header result=0 more=-Wstrict-prototypes
	[ "$1" = c ] || more=-Wold-style-cast
	for header in dat2/*.h dat/*.h; do
		printf '#include <%s>\nextern int something;\n' "$header" |
			"$2" -x "$1" "-std=$3" $warnings $more -fsyntax-only -I. - || result=1
	done
	return $result
}

alone() {
	(cd include && each_header_alone "$@")
}

# Exactly the functions of exports.txt are declared, and the variable.
declared_is_exported() {
	printf '#include <%s>\n' dat2/udat.h dat2/dat_registry.h dat2/dat_ib_extensions.h \
		dat/dat_extensions.h > "$build/declared.c"
	gcc -std=gnu11 -Iinclude -fsyntax-only -aux-info "$build/aux" "$build/declared.c" || return
	grep -oE 'extern DAT_RETURN \(?dats?_[a-z_0-9]+' "$build/aux" | sed 's/.*[ (]//' |
		sort -u > "$build/declared"
	awk '$1 == "T" { print $3 }' cshim/dat/exports.txt | sort > "$build/exported"
	diff "$build/exported" "$build/declared" || return
	awk '$1 == "B" { print "extern int " $3 ";" }' cshim/dat/exports.txt >> "$build/declared.c"
	gcc -std=gnu11 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$build/declared.c" &&
		[ "$(grep -c '^T DAT_2.0 dat' cshim/dat/exports.txt)" -ge 74 ]
}

# A call with a number of arguments of neither form must not compile.
wrong_count_fails() {
	local way='gcc -x c -std=gnu11 -Iinclude -Wall -Werror -fsyntax-only -'
	local start='#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
DAT_RETURN f(DAT_HANDLE h, DAT_CONTEXT c);
DAT_RETURN f(DAT_HANDLE h, DAT_CONTEXT c) { return dat_ib_collective_scatterv'
	echo "$start(h, 0, 0, 0, 0, 0, 0, c, 0); }" | $way &&
		! echo "$start(h, 0, 0, 0, c, 0); }" | $way
}

# Under the path of 1.x triplets have pad, which may be set before the length or after it, and are as
# long as those of 2.0; there they have none.
triplets_have_pad() { # LANGUAGE COMPILER DIALECT
	local way="$2 -x $1 -std=$3 $warnings -Iinclude" program=$build/pad
	local body='
#include <stddef.h>
int main(void)
{
	DAT_LMR_TRIPLET l = {0};
	DAT_RMR_TRIPLET r = {0};

	l.pad = 0;
	l.segment_length = 0x7fffffff;
	r.segment_length = 64;
	r.pad = 0;
	return l.segment_length != 0x7fffffff || r.segment_length != 64 || sizeof l != 16 ||
	       sizeof r != 16 || offsetof(DAT_LMR_TRIPLET, lmr_context) != 12 ||
	       offsetof(DAT_LMR_TRIPLET, segment_length) != 8;
}'
	# shellcheck disable=SC2086
	echo "#include <dat/udat.h>$body" | $way -Wno-missing-field-initializers -o "$program" - &&
		"$program" &&
		! echo "#include <dat2/udat.h>$body" | $way -fsyntax-only - 2> /dev/null
}

printf '#include <%s>\n' netinet/in.h dat2/udat.h dat2/dat_registry.h dat2/dat_ib_extensions.h \
	> "$build/all.c"
grep -v '^#' $here/facts.txt > "$build/facts"
# Lines of the table that differ on purpose in the deployed headers.
awk 'NR == FNR { if ($1 == "differs") out[$2 " " $3] = 1; next } !(($1 " " $2) in out)' \
	$here/differences.txt "$build/facts" > "$build/facts-deployed"

c_compilers=gcc cxx_compilers=g++
if have clang && have clang++; then
	c_compilers='gcc clang' cxx_compilers='g++ clang++'
fi

for compiler in $c_compilers; do
	check "facts, $compiler" facts_are "$build/facts" "$build/facts" $compiler -Iinclude
done

deployed=$build/package/usr/include
if why=$(unpack "$build/package" usr/include/dat2/udat.h libdapl-dev); then
	check "facts of the deployed headers" \
		facts_are "$build/facts-deployed" "$build/facts-deployed" gcc "-I$deployed"
	check "names of the deployed headers" names_are_listed
	check "the table has all of them" table_is_complete
	check "macros of the deployed headers" run macros-deployed gcc -w -DDEPLOYED "-I$deployed" \
		-DNETINET_FIRST $here/macros.c
else
	skip "the deployed headers cannot be had (libdapl-dev): $why"
fi

for compiler in $c_compilers; do
	for dialect in gnu99 c11 gnu2x; do
		check "headers alone, $compiler $dialect" alone c $compiler $dialect
		check "pad of 1.x, $compiler $dialect" triplets_have_pad c $compiler $dialect
	done
	for dialect in gnu99 gnu11 gnu17 gnu2x; do
		for source in macros design2011 proposal2005 provider; do
			check "$source, $compiler $dialect" run $source $compiler -std=$dialect \
				$warnings -Wstrict-prototypes -Iinclude $here/$source.c
		done
	done
	check "macros, netinet/in.h first" run macros $compiler -std=gnu11 $warnings \
		-DNETINET_FIRST -Iinclude $here/macros.c
	check "dat_extensions.h alone" run proposal2005 $compiler -std=gnu11 $warnings \
		-DEXTENSIONS_ONLY -Iinclude $here/proposal2005.c
done
for compiler in $cxx_compilers; do
	for dialect in c++98 c++11 c++20; do
		check "headers alone, $compiler $dialect" alone c++ $compiler $dialect
		check "pad of 1.x, $compiler $dialect" triplets_have_pad c++ $compiler $dialect
	done
	for dialect in c++98 c++11 c++17 c++20; do
		for source in macros design2011 proposal2005 provider; do
			# The tests have macros with any number of arguments themselves.
			check "$source, $compiler $dialect" run $source $compiler -x c++ \
				-std=$dialect $warnings -Wno-variadic-macros -Iinclude $here/$source.c
		done
	done
done
check "exports.txt" declared_is_exported
check "a wrong number of arguments" wrong_count_fails

echo "dat-headers: $(wc -l < "$build/facts") facts"
echo "dat-headers: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
