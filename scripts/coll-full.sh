#!/bin/bash
# All of the programs of collectives: with 1 to 16 members, all sizes, and every way; on this node,
# and with the members on two and three. Some 300 parts, of a few minutes at most, with a line each.
#
# usage: scripts/coll-full.sh FOLDER [PATTERN...]     of the programs
# A pattern chooses parts, which are named NODES:PROGRAM:WAY:MEMBERS: '0:*:on:16',
# '2:coll_random:*'.
# LIST=1: only names them.
set -u
folder=$1
shift
[ $# -gt 0 ] || set -- '*'

names() {
	local nodes program way ways members
	for nodes in 0 2 3; do
		# between nodes there is one way, whatever LAPI_FASTLANE says
		ways='on copy give off random'
		[ $nodes = 0 ] || ways=on
		for way in $ways; do
			for program in coll_groups coll_life; do
				echo $nodes:$program:$way:0
			done
			for program in coll_moves coll_reductions coll_random; do
				for ((members = nodes > 1 ? nodes : 1; members <= 16; members++)); do
					# of more than two "give" is "copy"
					[ "$way" != give ] || [ "$members" = 2 ] || continue
					echo $nodes:$program:$way:$members
				done
			done
		done
	done
}

parts=()
while IFS=: read -r nodes program way members; do
	for pattern; do
		# shellcheck disable=SC2053 # it is a pattern
		if [[ $nodes:$program:$way:$members == $pattern ]]; then
			parts+=("$nodes:$folder/$program:full $way $members")
			[ -z "${LIST:-}" ] || echo "$nodes:$program:$way:$members"
			break
		fi
	done
done < <(names)
[ -n "${LIST:-}" ] || exec scripts/coll-nodes.sh "${parts[@]}"
