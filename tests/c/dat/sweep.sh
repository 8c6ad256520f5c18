#!/bin/bash
# Writes the generated sources of the program tests/c/dat/sweep. calls: a function for each call,
# which takes its arguments as words, and the table of calls with the kind of each argument
# (sweep/calls.txt); a call that is exported and not in the table is an error, and so is a wrong
# number of arguments. documents: the documented codes (sweep/codes.txt), the differences between
# engines (sweep/differences.txt), and the codes of each man page.
#
# usage: tests/c/dat/sweep.sh calls CC EXPORTS
#        tests/c/dat/sweep.sh documents
set -euo pipefail
folder=tests/c/dat/sweep

# A file of lines with fields by tabs, as an array of strings, three of a line.
rows() {
	echo "static const char *const $1[][3] = {"
	awk -F'\t+' '/^#/ || NF == 0 {next}
		NF != 3 {print "not three fields: " $0 > "/dev/stderr"; exit 1}
		{gsub(/"/, "\\\""); printf "\t{\"%s\", \"%s\", \"%s\"},\n", $1, $2, $3}' "$2"
	echo '	{0, 0, 0}};'
}

# The codes that the section RETURN VALUES of each man page has, in the same form.
pages() {
	local page of

	echo "static const char *const pages[][3] = {"
	for page in man/man3/dat_*.3 man/man3/dats_*.3; do
		of=$(sed -n '1s/^\.so *//p' "$page") # another page that describes it
		awk -v call="$(basename "$page" .3)" '
		/^\.SH/ { on = /RETURN VALUES/ }
		on && /^\.BR? DAT_/ {
			sub(/ " without class"/, " without_class")
			gsub(/[",]/, " ")
			n = split($0, word, " +")
			if (n == 2)
				printf "\t{\"%s\", \"%s\", \"\"},\n", call, word[2]
			for (i = 3; i <= n; i++) {
				sub(/_class/, " class", word[i])
				printf "\t{\"%s\", \"%s\", \"%s\"},\n", call, word[2], word[i]
			}
		}' "${of:+man/}${of:-$page}"
	done
	echo '	{0, 0, 0}};'
}

if [ "$1" = documents ]; then
	rows documented "$folder/codes.txt"
	rows justified "$folder/differences.txt"
	pages
	exit
fi
cc=$2 exports=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/c/dat/prototypes.sh

prototypes "$cc" "$exports" "$work" > /dev/null
echo 'dat_extension|DAT_HANDLE handle, DAT_EXT_OP op, ...' >> "$work/prototypes"
echo dat_extension >> "$work/exported"
grep -v '^#' "$folder/calls.txt" | awk 'NF {print $1}' | sort > "$work/table"
missing=$(grep -v collective "$work/exported" | sort | comm -3 - "$work/table")
[ -z "$missing" ] || { echo "exported, or in calls.txt, and not in both:" $missing >&2; exit 1; }

awk -F'|' '
FNR == NR { prototype[$1] = $2; next }
/^#/ || NF == 0 { next }
{
	n = split($0, column, " +")
	name = column[1]
	count = split(prototype[name], part, ", ")
	arguments = ""; row = ""
	for (i = 1; i <= count; i++) {
		p = part[i]
		if (p == "...") { # as many as any operation has
			for (k = 0; k < 8; k++)
				arguments = arguments ", (DAT_UINT64)0"
			count--
			break
		}
		type = p
		sub(/ *[a-z_0-9]+(\[\])?$/, "", type)
		title = substr(p, length(type) + 1)
		gsub(/[^a-z_0-9]/, "", title)
		if (p ~ /\(.*\[\]\)/) {
			type = "DAT_PROVIDER_INFO **"
			title = "dat_provider_list"
		}
		plain = type
		sub(/^const /, "", plain)
		if (plain ~ /\*$/ || plain ~ /_PTR$/ || plain ~ /_HANDLE$/ || plain == "DAT_PVOID")
			value = "w[" i - 1 "].pointer"
		else if (plain ~ /_COOKIE$/ || plain == "DAT_CONTEXT")
			value = "w[" i - 1 "].context"
		else if (plain == "DAT_REGION_DESCRIPTION")
			value = "w[" i - 1 "].region"
		else if (plain == "DAT_OS_WAIT_PROXY_AGENT")
			value = "w[" i - 1 "].agent"
		else
			value = "(" plain ")w[" i - 1 "].number"
		arguments = arguments (i > 1 ? ", " : "") value
		row = row "{\"" title "\", &kind_" column[i + 1] "}, "
	}
	if (count != n - 1) {
		print name ": " n - 1 " kinds of " count " arguments" > "/dev/stderr"
		exit 1
	}
	printf "static DAT_RETURN call_%s(const word *w)\n{\n", name
	printf "\treturn (%s)(%s);\n}\n", name, arguments
	rows = rows sprintf("\t{\"%s\", call_%s, {%s}},\n", name, name, row)
}
END { printf "static const call calls[] = {\n%s};\n", rows }
' "$work/prototypes" "$folder/calls.txt"
