# shellcheck shell=bash
# files.sh - the programs that machines of tests/verbs run. Sourced; `here` is this folder.
# shellcheck source=tests/c/dat/packages.sh
. "$here/../c/dat/packages.sh"

# dat_files BUILD FOLDER: Debian's programs of uDAPL and windows, both libraries, dat.side and
# dat.judge. Prints why there are none.
dat_files() {
	local packages=$1/verbs/dat/package to=$2 libraries line
	mkdir -p "$to"/{bin,ours,theirs,provider}
	unpack "$packages" usr/lib/x86_64-linux-gnu/libdat2.so.2 dapl2-utils libdapl2 || return
	libraries=$packages/usr/lib/x86_64-linux-gnu
	cp "$packages"/usr/bin/* "$1/verbs/windows" "$to/bin/" || return
	cp -L "$libraries"/libdat2.so.2 "$libraries"/libdaplofa.so.2 "$to/theirs/"
	cp -L "$1/lib/liblapi_r.so.1" "$to/ours/" || return
	ln -sf liblapi_r.so.1 "$to/ours/libdat2.so.2"
	cp -L "$libraries/libdat2.so.2" "$1/lib/libdapllapi.so.2" "$to/provider/" || return
	ln -sf ../ours/liblapi_r.so.1 "$to/provider/"
	chmod +x "$to"/*/*.so.*
	line="dev u2.0 nonthreadsafe default"
	echo "$line liblapi_r.so.1 lapi.2.0 \"rxe0 0\" \"\"" >"$to/ours/dat.conf"
	echo "$line /work/theirs/libdaplofa.so.2 dapl.2.0 \"eth0 0\" \"\"" >"$to/theirs/dat.conf"
	echo "$line /work/provider/libdapllapi.so.2 lapi.2.0 \"rxe0 0\" \"\"" >"$to/provider/dat.conf"
	cp "$here/dat.side" "$here/dat.judge" "$to/"
}

# dat_rows [ROW...]: lines of dat.rows, all or those.
dat_rows() {
	local row all
	all=$(grep -v '^#' "$here/dat.rows" | grep .)
	[ $# -gt 0 ] || { echo "$all"; return; }
	for row; do sed -n "${row}p" <<<"$all"; done
}

# lapi_files BUILD FOLDER PROGRAM...: LAPI, its launcher and conformance programs.
lapi_files() {
	local build=$1 to=$2 program
	shift 2
	mkdir -p "$to"/{bin,lib,conform}
	cp "$build/bin/lapirun" "$to/bin/" && cp "$build/lib/liblapi_r.so.1" "$to/lib/" &&
		cp "$here/adapters" "$here/lapi" "$here/bench" "$to/" &&
		cp "$build/verbs/perf" "$to/" && # for its libraries
		cp "$build/verbs/perf" "$build/net/steady" "$to/conform/" || return
	for program; do
		cp "$build/conform/$program" "$to/conform/" || return
	done
}

# lapi_programs: the conformance programs that `lapi` runs.
lapi_programs() { sed -n 's/^# programs: //p' "$here/lapi"; }
