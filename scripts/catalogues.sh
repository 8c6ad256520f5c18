#!/bin/sh
# catalogues.sh FOLDER: makes LAPI_Msg_string's message catalogues below FOLDER from nls/messages.tsv,
# for the locales of nls/locales: LOCALE/LC_MESSAGES/liblapi_r.cat. Names of one language in one
# encoding are links to the first. Without gencat it makes none, and without an encoding not those that
# have it; it says so. LAPI_SUCCESS has number 1, as catalogues have no 0.
set -eu
cd "$(dirname "$0")/.."
to=$1
catalogue=LC_MESSAGES/liblapi_r.cat

without() {
	echo "install: without $1, LAPI_Msg_string stays English$2" >&2
}

# messages LANGUAGE ENCODING: the source for gencat.
messages() {
	printf '$ codeset=%s\n$set 1\n' "$2"
	awk -F '\t' -v language="$1" '
		NR == 1 { for (i = 4; i <= NF; i++) if ($i == language) column = i; next }
		column { print ($1 == 0 ? 1 : $1), $column }' nls/messages.tsv |
		iconv -f UTF-8 -t "$2"
}

command -v gencat >/dev/null && command -v iconv >/dev/null || { without "gencat and iconv" ""; exit 0; }
source=$(mktemp)
trap 'rm -f "$source"' EXIT
grep -v '^#' nls/locales | while read -r language encoding first others; do
	iconv -f UTF-8 -t "$encoding" </dev/null 2>/dev/null ||
		{ without "the encoding $encoding" " in $first"; continue; }
	for name in "$first" $others; do
		install -d "$to/$name/LC_MESSAGES"
		rm -f "$to/$name/$catalogue"
	done
	messages "$language" "$encoding" >"$source"
	LC_ALL=C gencat "$to/$first/$catalogue" "$source"
	for name in $others; do
		ln -s "../../$first/$catalogue" "$to/$name/$catalogue"
	done
done
