#!/bin/bash
# Writes, from the headers' prototypes, a function for each call that the library exports, in which
# one argument is a given pointer, and the table of these: tests/c/dat/programs/pointers.c. A
# function without a prototype is an error.
#
# usage: tests/c/dat/pointers.sh CC EXPORTS
set -euo pipefail
cc=$1 exports=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. tests/c/dat/prototypes.sh

prototypes "$cc" "$exports" "$work" > /dev/null
awk -F'|' '
# A value of a type: of pairs.c, or all bits 0.
function value(type, name) {
	if (name ~ /^dapl_m(ajor|inor)$/)
		return name ~ /major/ ? "DAT_VERSION_MAJOR" : "DAT_VERSION_MINOR"
	if (type == "DAT_REGION_DESCRIPTION")
		return "region()"
	if (type ~ /_MASK$/)
		return "(" type ")MASK_OF(" type ")"
	if (type == "DAT_COUNT" || type == "DAT_UINT32" || type == "DAT_VLEN")
		return "1"
	return "(" type "){0}"
}
{
	n = split($2, part, ", ")
	arguments = ""; kinds = ""; types = ""; count = 0
	for (i = 1; i <= n; i++) {
		p = part[i]
		if (p == "...")
			continue
		type = p
		sub(/ *[a-z_0-9]+(\[\])?$/, "", type)
		if (p ~ /\(.*\[\]\)/)
			type = "DAT_PROVIDER_INFO **"
		plain = type
		sub(/^const /, "", plain)
		if (plain ~ /\*$/ || plain ~ /_PTR$/ || plain == "DAT_PVOID") {
			kind = "p"
			what = "at == " count " ? g : scratch(" count ", \"" plain "\")"
		} else if (plain ~ /_HANDLE$/) {
			kind = "h"
			what = "at == " count " ? (" plain ")g : HANDLE_OF(" plain ")"
		} else {
			kind = "-"
			what = value(plain, substr(p, length(type) + 2))
		}
		arguments = arguments (count ? ", " : "") what
		kinds = kinds kind
		count++
	}
	printf "static DAT_RETURN call_%s(int at, void *g)\n{\n\treturn (%s)(%s);\n}\n", $1, $1, arguments
	rows = rows sprintf("\t{\"%s\", call_%s, \"%s\"},\n", $1, $1, kinds)
}
END { printf "static const struct call calls[] = {\n%s};\n", rows }
' "$work/prototypes"
