# Prints name|parameters of each call that the library exports, from the headers' prototypes. A
# function without a prototype is an error. Sourced: work is a folder for files.
#
# usage: prototypes CC EXPORTS WORK
prototypes() {
	local cc=$1 exports=$2 work=$3 missing

	printf '#include <dat2/%s.h>\n' udat dat_registry dat_ib_extensions |
		$cc -E -P -Iinclude - | tr '\n\t' '  ' | sed 's/;/;\n/g; s/  */ /g' |
		sed -n 's/.*extern DAT_RETURN \(dats\{0,1\}_[a-z_]*\) *( *\(.*\)) *;.*/\1|\2/p' \
			> "$work/prototypes"
	# The arguments of the proposal of 2005 are its own test's.
	grep '^T' "$exports" | awk '{print $3}' | grep -vx dat_extension | sort > "$work/exported"
	cut -d'|' -f1 "$work/prototypes" | sort -u > "$work/declared"
	missing=$(comm -23 "$work/exported" "$work/declared")
	[ -z "$missing" ] || { echo "no prototype of" $missing >&2; return 1; }
	cat "$work/prototypes"
}
