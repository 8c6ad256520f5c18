# Sourced by man-test: the pages of uDAPL, man/man3/dat*.3 and man/man7/dat.7. Those of calls that
# belong together are one page, to which the others' names lead (.so). man-dat-results.h makes calls
# that fail, to see that pages list what they return.
#
# In a page a comment precedes each example:
#   .\" example: process      a whole program, run as it is
#   .\" example: framed       its main, with the functions of the first example of dat(7) above it
#   .\" example: frame        that one
#   .\" output                the lines that it prints, in any order

# The calls that the library exports, and the calls that the headers have as a macro or inline.
dat_calls() { sed -n 's/^T [^ ]* //p' cshim/dat/exports.txt; }
dat_others="dat_ia_open dat_ib_post_recv_ud dat_strerror_extension dat_strerror_ext_status"

# Prints the page that a name leads to.
dat_page_of() {
	local page=man/man3/$1.3 target
	target=$(sed -n 's/^\.so //p' "$page")
	echo "${target:+man/}${target:-$page}"
}

# Prototypes without blanks, one a line: those of the headers, and of a page.
dat_header_prototypes() {
	printf '#include <%s>\n' dat2/dat_registry.h dat2/dat_ib_extensions.h dat/dat_extensions.h |
		"$cc" -std=gnu11 -Iinclude -E -P -x c - | tr -d ' \t\n' | tr ';' '\n' |
		sed -n 's/.*externDAT_RETURN\(dats*_\)/DAT_RETURN\1/p'
}
dat_page_prototypes() { page_prototype "$1" | tr ';' '\n'; }

# Each call has a page, which has its prototype as the headers have it.
dat_have_pages() {
	local call page
	dat_header_prototypes >"$scratch/dat-prototypes"
	[ -s "$scratch/dat-prototypes" ] || fail "the headers of uDAPL have prototypes"
	for call in $(dat_calls) $dat_others; do
		page=man/man3/$call.3
		[ -f "$page" ] || { fail "$page: missing"; continue; }
		page=$(dat_page_of "$call")
		section "$page" SYNOPSIS | tr -d '\n' | grep -qw "$call" ||
			{ fail "$call: $page does not have it"; continue; }
		[ "${dat_others#*"$call"}" = "$dat_others" ] || { pass; continue; }
		verdict "$page: prototype of $call" "$(dat_prototype "$page" "$call")"
	done
}
dat_prototype() {
	local theirs
	theirs=$(grep "^DAT_RETURN$2(" "$scratch/dat-prototypes")
	[ -n "$theirs" ] || echo "no header declares $2"
	dat_page_prototypes "$1" | grep -qxF -- "$theirs" ||
		printf '%s\n' "header: $theirs" "page:" "$(dat_page_prototypes "$1" | grep "$2(")"
}

# A page's calls exist, and the headers of its synopsis are enough to declare them.
dat_synopsis() {
	local page=$1 call
	for call in $(dat_page_prototypes "$page" | sed -n 's/^DAT_RETURN\([a-z0-9_]*\)(.*/\1/p'); do
		{ dat_calls && printf '%s\n' $dat_others; } | grep -qx "$call" || echo "there is no $call"
	done
	{
		section "$page" SYNOPSIS | sed -n 's/^\.B \(#include .*\)/\1/p'
		section "$page" SYNOPSIS | sed -n 's/^\.BI //p' | sed -E 's/^"([^"]*)"/\1/; s/"//g' |
			sed -E 's/^DAT_RETURN ([a-z0-9_]+)\(/DAT_RETURN (\1)(/'
	} >"$scratch/synopsis.c"
	"$cc" -std=gnu11 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$scratch/synopsis.c" 2>&1
}

# As LAPI's, except that not each page has an example.
dat_headings() {
	local found wanted="NAME SYNOPSIS DESCRIPTION PARAMETERS RETURN_VALUES NOTES SEE_ALSO " heading
	found=$(sed -n 's/^\.SH //p' "$1" | grep -vx EXAMPLE | tr ' ' '_' | tr '\n' ' ')
	[ "$found" = "$wanted" ] || echo "headings are $found"
	for heading in $wanted; do
		[ -n "$(section "$1" "${heading//_/ }")" ] || echo "nothing below $heading"
	done
}

# Every parameter is described under its name, and there are no further descriptions.
dat_parameters() {
	local names described
	names=$(section "$1" SYNOPSIS | sed -n 's/^\.BI //p' | sed 's/"[^"]*"/ /g' | tr -s ' ' '\n' |
		grep . | sort -u)
	described=$(section "$1" PARAMETERS | sed -n 's/^\.I //p' | sort)
	[ "$names" = "$described" ] ||
		diff <(echo "$names") <(echo "$described") | sed -n 's/^</not described:/p; s/^>/no parameter:/p'
}

# Results are those of the headers; the first is DAT_SUCCESS unless the call never succeeds, and a
# type and subtype are listed once. Every name in a page is in the headers or the library.
dat_codes() {
	local listed name
	listed=$(section "$1" "RETURN VALUES" | sed -n 's/^\.BR\{0,1\} \(DAT_.*\)/\1/p' | tr -d '",')
	case $(echo "$listed" | head -n 1) in
	DAT_SUCCESS | DAT_NOT_IMPLEMENTED* | DAT_MODEL_NOT_SUPPORTED) ;;
	*) echo "the first result is not DAT_SUCCESS" ;;
	esac
	[ -z "$(echo "$listed" | sort | uniq -d)" ] ||
		echo "twice there: $(echo "$listed" | sort | uniq -d)"
	for name in $(echo "$listed" | grep -oE 'DAT_[A-Z0-9_]+' | sort -u); do
		grep -qE "^[[:space:]]$name = " include/dat2/dat_error.h || echo "$name is no result"
	done
	for name in $(plain "$1" | grep -v '^\.\\"' | grep -oE '\bDAT_[A-Z0-9_]+' | sort -u); do
		grep -rqw -- "$name" include core/dat || echo "there is no $name"
	done
}

# The results that a page lists, each as man-dat-results prints it: type, and subtype or "without
# class".
dat_listed() {
	section "$1" "RETURN VALUES" | sed -n 's/^\.BR\{0,1\} \(DAT_.*\)/\1/p' | tr -d '",' |
		awk '/without class/ { print $1, "without class"; next }
			NF == 1 { print $1 }
			{ for (i = 2; i <= NF; i++) print $1, $i }'
}

# The pages list the results of calls that fail.
dat_results() {
	local program=$scratch/man-dat-results call
	cat "$scratch/dat-frame.c" tests/man-dat-results.h >"$program.c"
	# shellcheck disable=SC2086  # a compiler and its options
	$cc -std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -Iinclude -Itests -o "$program" \
		"$program.c" -L"$build/lib" -llapi_r -Wl,-rpath,"$PWD/$build/lib" || return
	timeout -k 5 "${LIMIT:-300}" "$program" >"$program.out" 2>"$program.err" </dev/null ||
		{ echo "exit status $?" && cat "$program.err" && tail -n 3 "$program.out" && return; }
	sort -u -o "$program.out" "$program.out"
	for call in $(cut -d ' ' -f 1 "$program.out" | uniq); do
		dat_listed "$(dat_page_of "$call")" >"$scratch/listed"
		sed -n "s/^$call //p" "$program.out" | grep -vxFf "$scratch/listed" | sed "s/^/$call: /"
	done
}

# run_dat PROGRAM EXPECTED: prints errors, if any.
run_dat() {
	local output status line
	output=$(timeout -k 5 "${LIMIT:-300}" "$1" 2>&1 </dev/null)
	status=$?
	[ $status = 0 ] || printf '%s\n' "exit status $status" "$output"
	while IFS= read -r line; do
		printf '%s\n' "$output" | grep -qxF -- "$line" ||
			printf '%s\n' "it did not print: $line" "$output"
	done <"$2"
}

# All examples of a page.
dat_examples() {
	local page=$1 name number=0 kind program complaint
	name=$(basename "$page" | tr . _)
	while number=$((number + 1)); do
		program=$scratch/$name.$number
		kind=$(example "$page" $number "$program.c" "$program.expected")
		[ -n "$kind" ] || break
		case $kind in
		frame) cp "$program.c" "$scratch/dat-frame.c"; continue ;;
		framed)
			cat "$scratch/dat-frame.c" "$program.c" >"$scratch/both.c"
			mv "$scratch/both.c" "$program.c"
			;;
		process) ;;
		*) fail "$page: example $number is of no kind: $kind"; continue ;;
		esac
		# shellcheck disable=SC2086  # a compiler and its options
		if ! complaint=$($cc -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-function -Iinclude \
			-o "$program" "$program.c" -L"$build/lib" -llapi_r -Wl,-rpath,"$PWD/$build/lib" 2>&1); then
			fail "$page: example $number compiles" "$complaint"
		elif [ ! -s "$program.expected" ]; then
			fail "$page: example $number says what it prints" ""
		else
			verdict "$page: example $number" "$(run_dat "$program" "$program.expected")"
		fi
	done
}

# Every call, except those for collectives, is in the overview.
dat_overview() {
	local call
	for call in $(dat_calls | grep -v _collective_); do
		plain man/man7/dat.7 | grep -qw "$call" || echo "$call is not there"
	done
}

dat_pages() {
	local page
	dat_have_pages
	verdict "man/man7/dat.7: calls" "$(dat_overview)"
	dat_examples man/man7/dat.7
	verdict "results of calls that fail, as man-dat-results.h has them" "$(dat_results)"
	for page in man/man3/dat*.3; do
		grep -q '^\.so ' "$page" && continue
		verdict "$page: headings" "$(dat_headings "$page")"
		verdict "$page: synopsis" "$(dat_synopsis "$page")"
		verdict "$page: parameters" "$(dat_parameters "$page")"
		verdict "$page: results" "$(dat_codes "$page")"
		dat_examples "$page"
	done
}
