# host.sh - several adapters on one host, each as a node of its own, for programs of collectives.
# Sourced by a shell that may write to /run. rdma_rxe works in one network only, and processes of
# one network share memory, whatever else separates them. So members have LAPI_USE_SHM=no, by which
# each is a node of its own; with COLL_SHARE=yes those of the first two nodes share theirs.

# host LIBRARY DEVICE: node i, from 0 on, is adapter DEVICE(i+1).
host() {
	mkdir -p /run/lapi-nodes /run/bin
	export COLL_NAME=dev COLL_DEVICE="$2" PATH=/run/bin:$PATH
	for i in 0 1 2 3 4 5 6 7; do # what a member's frame takes for a process of that node
		echo $i >/run/lapi-nodes/n$i
		echo "dev u2.0 nonthreadsafe default $1 lapi.2.0 \"$2$((i + 1)) 0\" \"\"" >/run/dat.conf.$i
	done
	cat >/run/bin/nsenter <<'ENTER'
#!/bin/sh
# -t NODE -n -u -m -i --wd=. COMMAND...
node=$2
shift 7
[ "$COLL_SHARE" = yes ] && [ "$node" -lt 2 ] || export LAPI_USE_SHM=no
export DAT_OVERRIDE=/run/dat.conf.$node
exec "$@"
ENTER
	chmod 755 /run/bin/nsenter
}
