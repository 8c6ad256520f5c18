#!/bin/bash
# Runs a server and, when it listens, its client, on a core each, and prints the client's output.
#
# usage: pair.sh NAME SERVER CLIENT     commands; @ in them stands for a port
set -u
# The first two cores that this process may use, or the one twice.
cores=($(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
	while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done))
port=$((20000 + RANDOM % 12000))
words=$(mktemp)
eval "exec taskset -c ${cores[1]:-${cores[0]}} ${2//@/$port}" > "$words" 2>&1 &
server=$!
trap 'kill $server 2> /dev/null; rm -f "$words"' EXIT

# The kernel's table shows the listener; a test connection would be taken for the client's.
listens() {
	grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X $port) [0-9A-F:]+ 0A " \
		/proc/net/tcp /proc/net/tcp6 2> /dev/null
}

for _ in $(seq 500); do
	listens && break
	kill -0 $server 2> /dev/null || break
	sleep 0.02
done
if ! listens; then
	echo "the server does not listen: $(cat "$words")" >&2
	exit 1
fi
eval "taskset -c ${cores[0]} ${3//@/$port}" || { cat "$words" >&2; exit 1; }
wait $server || { cat "$words" >&2; exit 1; }
