# Jobs over several nodes (tests/launch/nodes), under each launcher. Sourced by tests/launch/run.
# shellcheck shell=bash disable=SC2086,SC2154  # $remote is several words; run sets $ends

# hosts NODES TASKS: n0:TASKS,n1:TASKS …
hosts() {
	local i list=
	for ((i = 0; i < $1; i++)); do list=$list,n$i:$2; done
	echo "${list#,}"
}

# over NODES LINKS STATUS TIMES PATTERN HOSTS [WHEN…] -- [VARIABLE=VALUE…] PROGRAM...: a job of one
# task for each place in HOSTS. The tasks get the variables; WHEN is job's.
over() {
	local nodes=$1 links=$2 status=$3 times=$4 pattern=$5 hosts=$6 when=()
	shift 6
	while [ "$1" != -- ]; do when+=("$1") && shift; done
	shift
	expect "$launcher: $hosts, $links links, ${when[*]:+${when[-1]}, }${*##*/}" "$status" "$times" "$pattern" \
		tests/launch/nodes "$nodes" "$links" job "${when[@]}" $remote "$hosts" -n "$(places "$hosts")" \
		env "$@"
}

# places HOSTS: how many tasks that makes
places() {
	local sum=0 host
	for host in ${1//,/ }; do sum=$((sum + ${host#*:})); done
	echo $sum
}

# on NODES TASKS PROGRAM [VARIABLE=VALUE…]: one of tests/c/conform
on() {
	local nodes=$1 tasks=$2 program=$3
	shift 3
	over "$nodes" "${LINKS:-1}" 0 1 '^[a-z_]+: [1-9][0-9]* passed, 0 failed, ' "$(hosts "$nodes" "$tasks")" \
		-- "$@" "$BUILD/conform/$program"
}

# sample NODES TASKS PROGRAM [VARIABLE=VALUE…]: one of tests/c/samples
sample() {
	local nodes=$1 tasks=$2 program=$3
	shift 3
	over "$nodes" 1 0 $((nodes * tasks)) '^task [0-9]+: passed$' "$(hosts "$nodes" "$tasks")" \
		-- "$@" "$BUILD/samples/$program"
}

# Tasks of a node share memory, and talk to others by UDP.
programs_over_nodes() {
	local program
	for program in put rmw address; do on 2 2 $program; done
	on 2 2 get LAPI_USE_SHM=no
	on 2 2 amsend LAPI_UDP_LOSS=1:7
	on 4 4 address
	sample 2 2 lapi_api/Am
	sample 4 4 xfer/Mc_xfer
	over 4 1 0 16 '^end of LBl$' "$(hosts 4 4)" -- "$ends" LBl
	over 2 1 0 4 '^end of LlLlLl$' n0:1,n1:3 -- "$ends" LlLlLl
	over 2 1 0 4 '^end of $' n0:2,n1:2 -- "$ends"
	over 2 1 99 + 'LAPI_USE_SHM' n0:2,n1:2 -- LAPI_USE_SHM=only "$ends" L
}

more_programs_over_nodes() {
	local program
	for program in env counters get amsend vector xfer bulk dgsp multicast handlers completion fence progress threads errors; do
		on 2 2 $program
		on 2 2 $program LAPI_UDP_LOSS=1:5
	done
	for program in put rmw fence multicast; do
		on 4 4 $program
		LINKS=2 on 2 2 $program MP_EUIDEVICE=sn_all
	done
	on 2 2 put LAPI_AUTH=mac
	for program in lapi_api/Put lapi_api/Get lapi_api/Rmw64 basic/accumulate_and_return.Xfer vector/matrix \
		dgsp/Dgsp_simple demo/heat; do
		sample 2 2 $program
		sample 4 2 $program LAPI_UDP_LOSS=1:3
	done
}

# A link of a node fails while the job goes on over the other. The launcher needs one as well, and is
# told by $away that it is the second.
links_over_nodes() {
	local steady="$BUILD/net/steady"
	LINKS=2 on 2 2 put MP_EUIDEVICE=sn_all
	over 2 1 0 2 '^steady: task [01]: [0-9]+ rounds' n0:2,n1:2 --when 1 'steady: started' 'flap 0' -- "$steady" 1
	over 2 2 0 2 '^steady: task [01]: [0-9]+ rounds' n0:2,n1:2 --when 1 'steady: started' 'cut 1' -- \
		MP_EUIDEVICE=sn_all "$steady" 1
	remote=$away over 2 2 0 2 '^steady: task [01]: [0-9]+ rounds' n0:2,n1:2 --when 1 'steady: started' 'cut 0' -- \
		MP_EUIDEVICE=sn_all "$steady" 1
}

# Task 1 is on n1, with those that wait.
ends_over_nodes() {
	over 2 1 21 0 '^end of' n0:1,n1:3 -- "$ends" LlX
	over 2 1 21 0 '^end of' n0:1,n1:3 -- "$ends" Lx
	over 2 1 "$killed" 0 '^end of' n0:1,n1:3 -- "$ends" Lk
	over 2 1 137 4 'task [0-3] waits' n0:2,n1:2 --when 4 'task [0-3] waits' kill-launcher -- "$ends" Lw
	over 2 1 "$daemon_killed" 4 'task [0-3] waits' n0:2,n1:2 --when 4 'task [0-3] waits' kill-daemon -- "$ends" Lw
}

# cases_over_nodes: under one launcher. $remote is its command up to the list of hosts.
cases_over_nodes() {
	if ! timeout 60 tests/launch/nodes 2 1 $remote n0:1,n1:1 -n 2 hostname > "$LOGS/nodes.log" 2>&1; then
		skip "$launcher over nodes" "it starts nothing there ($(head -n 1 "$LOGS/nodes.log"))"
		return
	fi
	programs_over_nodes
	links_over_nodes
	ends_over_nodes
	[ -z "${FULL-}" ] || more_programs_over_nodes
}

nodes_cases() {
	local launcher remote away killed daemon_killed
	if ! timeout 60 tests/launch/nodes 2 2 true 2> "$LOGS/nodes.log"; then
		skip 'several nodes' "$(head -n 1 "$LOGS/nodes.log")"
		return
	fi
	launcher=mpiexec.hydra killed=255 daemon_killed=255
	remote='mpiexec.hydra -launcher ssh -launcher-exec node-shell -hosts'
	away="${remote% -hosts} -iface eth1 -hosts"
	cases_over_nodes
	launcher=mpirun killed=137 daemon_killed=1
	remote='mpirun.openmpi --oversubscribe --mca plm_rsh_agent node-shell -H'
	away="${remote% -H} --mca oob_tcp_if_include eth1 -H"
	cases_over_nodes
}
