#!/bin/bash
# run.sh BUILD short|full|rig [ROW...] - Debian's uDAPL programs over this library: the lines of
# rows.txt, several at once where each can have a network of its own. Without packages, which apt
# fetches, it is skipped with its reason. `full` writes the table of docs/dat-matrix.md. `rig`: the
# short lines over an adapter of tests/verbs/rig, each with a rig of its own.
set -u
here=$(dirname "$0")
build=$1/dat-matrix
which=$2
shift 2
wanted=" $* "
make=${MAKE:-make}
# shellcheck source=tests/c/dat/packages.sh
. "$here/../packages.sh"
mkdir -p "$build/ours"
build=$(realpath --relative-to=. "$build")
cp -L --remove-destination "$build/../lib/liblapi_r.so.1" "$build/ours/" || exit 1
ln -sf liblapi_r.so.1 "$build/ours/libdat2.so.2"

skip_all() {
	echo "dat-matrix: skipped: $1"
	echo "dat-matrix: 0 passed, 0 failed, 1 skipped"
	exit 0
}

# The fifth program of the source is of many files, which its makefile lists.
build_programs() {
	local source=$build/source/test program files
	local flags="-g -w -D_GNU_SOURCE -DDAT_EXTENSIONS -Iinclude"
	[ -z "$(find include/dat* "$build/built/dapltest" -newer "$build/built/dapltest" 2>&1)" ] && return
	mkdir -p "$build/built"
	for program in dtest dtestx dtestcm dtestsrq; do
		# shellcheck disable=SC2086
		gcc $flags -o "$build/built/$program" "$source/dtest/$program.c" -L"$build/../lib" -ldat2 ||
			return
	done
	files=$(grep -oE '[a-z]+/[a-z_/]+\.c' "$source/dapltest/Makefile.am" |
		sed "s|^|$source/dapltest/|" | sort -u)
	# shellcheck disable=SC2086
	gcc $flags -I"$source/dapltest/include" -I"$source/dapltest/mdep/linux" \
		-o "$build/built/dapltest" $files -L"$build/../lib" -ldat2 -lpthread
}

# Configurations: one with what a parser must stand (L5), one for Debian's libdat2 (L6).
write_confs() {
	local line="nonthreadsafe default $(realpath "$build/../lib")/libdapllapi.so.2 lapi.2.0"
	echo "matrix-lo u2.0 $line \"lo 0\" \"\"" > "$build/provider.conf"
	line="nonthreadsafe default liblapi_r.so.1 lapi.2.0"
	cat > "$build/conf.conf" << END
# name api threadsafe default library version params platform
seven-fields u2.0 $line "lo 0"
matrix-lo k2.0 $line "lo 0" ""
matrix-lo u2.0 $line "a \"quoted\" lo 0" ""   # comment
matrix-lo u2.0 $line "lo 0" ""
END
}

why=$(unpack "$build/package" usr/lib/x86_64-linux-gnu/libdat2.so.2 dapl2-utils libdapl2) ||
	skip_all "$why"
write_confs
gcc -g -Wall -Wextra -Werror -Iinclude -o "$build/forked" "$here/forked.c" \
	"$build/package/usr/lib/x86_64-linux-gnu/libdat2.so.2" || exit 1
declare -A missing
if why=$(unpack_source "$build" test/dtest/dtest.c dapl); then
	build_programs > "$build/built.log" 2>&1 || missing[built]="does not compile: $build/built.log"
else
	missing[built]=$why
fi

# expand: prints the selected lines, with braces expanded.
expand() {
	local row in with kind limit options one
	while read -r row in with kind limit options; do
		case $row in '' | '#') continue ;; esac
		[ "$in" = both ] || [ "$in" = "${which/rig/short}" ] || continue
		[ "$which" != rig ] || [[ $with != conf && $with != provider ]] || continue
		[ "$wanted" = "  " ] || [[ $wanted == *" $row "* ]] || continue
		# A comma or a blank within braces stays; so blanks become % while the shell expands.
		options=${options//\"/}
		for one in $(eval "printf '%s\n' ${options// /%}"); do
			one=${one//%/ }
			echo "$row $in $with $kind $limit" $one
		done
	done < "$here/rows.txt"
}

# A network of its own for each line needs a privilege; then all ports are free.
way=() lanes=1 alone=
for try in 'unshare -n' 'unshare -rn'; do
	if $try ip link set lo up 2> /dev/null; then
		read -ra way <<< "$try"
		lanes=${LANES:-$(nproc)}
		alone=alone
		break
	fi
done
if [ "$which" = rig ]; then
	way=("$here/../../../verbs/rig/with" -n 1 "$build/../rig")
	alone=alone lanes=${LANES:-$(nproc)}
	why=$("${way[@]}" true) || skip_all "$why"
fi
echo "dat-matrix: $lanes at once${way:+, each in a network of its own}"

lines=$build/lines-$which
[ "$wanted" = "  " ] || lines=$build/lines-some
rm -rf "$lines"
mkdir -p "$lines"
ln -s ../package ../built ../forked ../ours ../conf.conf ../provider.conf "$lines/"
n=1000
expand > "$build/expanded"
while read -r line; do
	n=$((n + 1))
	mkdir "$lines/$n"
	echo "$line" > "$lines/$n/line"
	read -r _ _ with _ <<< "$line"
	[ -z "${missing[$with]:-}" ] || echo "skipped 0 ${missing[$with]}" > "$lines/$n/result"
done < "$build/expanded"

began=$SECONDS
show() { # NUMBER: its result, as it ends
	local result seconds why row options
	read -r result seconds why < "$lines/$1/result"
	read -r row _ _ _ _ options < "$lines/$1/line"
	printf '%-7s %-4s %4d s  %s%s\n' "$result" "$row" "$seconds" "$options" "${why:+: $why}"
	[ "$result" != FAILED ] || tail -n 6 "$lines/$1"/*.log | sed 's/^/        | /'
}
run_one() { # NUMBER
	[ -e "$lines/$1/result" ] ||
		"${way[@]}" "$here/line.sh" "$lines" "$1" $alone
	[ -e "$lines/$1/result" ] || echo "FAILED 0 the line broke off" > "$lines/$1/result"
	show "$1"
}
# The next line goes to the next free worker.
running=0
for folder in "$lines"/1*; do
	[ $running -lt "$lanes" ] || { wait -n; running=$((running - 1)); }
	run_one "${folder##*/}" &
	running=$((running + 1))
done
wait

count() { cat "$lines"/1*/result | grep -c "^$1"; }
echo "dat-matrix: $((SECONDS - began)) s"
if [ "$which" = full ] && [ "$wanted" = "  " ]; then
	"$here/table.sh" "$lines" docs/dat-matrix.md
fi
echo "dat-matrix: $(count passed) passed, $(count FAILED) failed, $(count skipped) skipped"
[ "$(count FAILED)" = 0 ]
