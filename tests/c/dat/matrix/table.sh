#!/bin/bash
# table.sh LINES FILE: the results of a run's lines, a row of the matrix each, as a table between
# the two marks in FILE.
lines=$1
file=$2
table=$(mktemp) || exit 1
trap 'rm -f "$table"' EXIT
{
	echo '| row | lines | first line | passed | failed | skipped | seconds |'
	echo '|---|---|---|---|---|---|---|'
	for folder in "$lines"/1*; do
		read -r row _ with _ _ options < "$folder/line"
		read -r result seconds _ < "$folder/result"
		echo "$row|$result|$seconds|$with: $options"
	done | awk -F'|' '
		!($1 in lines) { order[++rows] = $1; first[$1] = $4 }
		{ lines[$1]++; count[$1, $2]++; seconds[$1] += $3 }
		END {
			for (i = 1; i <= rows; i++) {
				r = order[i]
				text = first[r]
				if (length(text) > 48) text = substr(text, 1, 45) "..."
				printf "| %s | %d | `%s` | %d | %d | %d | %d |\n", r, lines[r], text,
					count[r, "passed"], count[r, "FAILED"], count[r, "skipped"], seconds[r]
			}
		}'
} > "$table"
awk -v table="$table" '
	/<!-- end of results -->/ { skip = 0 }
	!skip { print }
	/<!-- results -->/ { skip = 1; while ((getline line < table) > 0) print line }' \
	"$file" > "$table.new" &&
	mv "$table.new" "$file"
