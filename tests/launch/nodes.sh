# Jobs over several nodes (tests/launch/nodes), under each launcher. Sourced by tests/launch/run.
# shellcheck shell=bash disable=SC2046,SC2086,SC2154  # commands are several words; run sets $ends, $pairs

# hosts NODES TASKS: n0:TASKS,n1:TASKS …
hosts() {
	local i list=
	for ((i = 0; i < $1; i++)); do list=$list,n$i:$2; done
	echo "${list#,}"
}

# places HOSTS: how many tasks that makes
places() {
	local sum=0 host
	for host in ${1//,/ }; do sum=$((sum + ${host#*:})); done
	echo $sum
}

# command_for HOSTS: the launcher's command for a task on each place. Slurm gets a name for each.
command_for() {
	local host i names=
	case $remote in
	srun*)
		for host in ${1//,/ }; do
			for ((i = 0; i < ${host#*:}; i++)); do names=$names,${host%:*}; done
		done
		echo "$remote -m arbitrary -w ${names#,} -n $(places $1)"
		;;
	*) echo "$remote $1 -n $(places $1)" ;;
	esac
}

# over NODES LINKS STATUS TIMES PATTERN HOSTS [WHEN…] -- [VARIABLE=VALUE…] PROGRAM...: a job of one
# task for each place in HOSTS. The tasks get the variables; WHEN is job's.
over() {
	local nodes=$1 links=$2 status=$3 times=$4 pattern=$5 hosts=$6 when=()
	shift 6
	while [ "$1" != -- ]; do when+=("$1") && shift; done
	shift
	expect "$launcher: $hosts, $links links, ${when[*]:+${when[-1]}, }${*##*/}" \
		"$status" "$times" "$pattern" tests/launch/nodes "$nodes" "$links" $around \
		job "${when[@]}" $(command_for "$hosts") env "$@"
}

# on NODES TASKS PROGRAM [VARIABLE=VALUE…]: one of tests/c/conform
on() {
	local nodes=$1 tasks=$2 program=$3
	shift 3
	over "$nodes" "${LINKS:-1}" 0 1 '^[a-z_]+: [1-9][0-9]* passed, 0 failed, ' \
		"$(hosts "$nodes" "$tasks")" -- "$@" "$BUILD/conform/$program"
}

# sample NODES TASKS PROGRAM [VARIABLE=VALUE…]: one of tests/c/samples
sample() {
	local nodes=$1 tasks=$2 program=$3
	shift 3
	over "$nodes" 1 0 $((nodes * tasks)) '^task [0-9]+: passed$' \
		"$(hosts "$nodes" "$tasks")" -- "$@" "$BUILD/samples/$program"
}

# Tasks of a node share memory, and reach others by UDP.
programs_over_nodes() {
	on 2 2 put
	on 2 2 amsend LAPI_UDP_LOSS=1:7
	sample 4 4 xfer/Mc_xfer
	over 4 1 0 16 '^end of LBl$' "$(hosts 4 4)" -- "$ends" LBl
	over 2 1 0 4 '^end of LlLlLl$' n0:1,n1:3 -- "$ends" LlLlLl
	over 4 1 0 1 '^pairs: 16 tasks' "$(hosts 4 4)" -- "$pairs"
	over 2 1 "$refused" + 'LAPI_USE_SHM' n0:2,n1:2 -- LAPI_USE_SHM=only "$ends" L
}

# Programs that no longer depend on the launcher.
further_programs_over_nodes() {
	local program
	for program in rmw address; do on 2 2 $program; done
	on 2 2 get LAPI_USE_SHM=no
	on 4 4 address
	sample 2 2 lapi_api/Am
}

# Each task in turn has its node's hub, and is killed. $lenient is the command that lets the others
# live. Hydra drops a task's output when another was killed by a signal, and writes to a proxy that
# has ended: so there a shell outlives each task until all are over. Hydra's status is ignored:
# sometimes its own processes fail then.
successors_over_nodes() {
	local remote=$lenient hosts over=$LOGS/over
	case $launcher in
	mpiexec.hydra)
		for hosts in n0:3,n1:3 n0:2,n1:1,n2:2; do
			rm -f "$over"
			over 3 1 '0|1|9|141|255' 1 '^end of Ld$' $hosts -- sh -c "trap '' USR1
				$ends Ld && touch $over; until [ -e $over ]; do sleep 0.1; done; exit 0"
		done
		;;
	srun*) over 2 1 "$killed" 1 '^end of Ld$' n0:2,n1:2 -- "$ends" Ld ;;
	esac
}

# Many tasks: only with the launcher that starts them fast.
many_over_nodes() {
	local LIMIT=900
	over 8 1 0 1 '^pairs: 128 tasks' "$(hosts 8 16)" -- "$pairs"
	over 8 1 0 1 '^pairs: 1024 tasks' "$(hosts 8 128)" -- "$pairs"
}

# Without the program env, which compares LAPI's answers with the variables that lapirun sets.
more_programs_over_nodes() {
	local program
	for program in counters get amsend vector xfer bulk dgsp multicast handlers \
		completion fence progress threads errors; do
		on 2 2 $program
		on 2 2 $program LAPI_UDP_LOSS=1:5
	done
	for program in put rmw fence multicast; do
		on 4 4 $program
		LINKS=2 on 2 2 $program MP_EUIDEVICE=sn_all
	done
	on 2 2 put LAPI_AUTH=mac
	for program in lapi_api/Put lapi_api/Get lapi_api/Rmw64 \
		basic/accumulate_and_return.Xfer vector/matrix dgsp/Dgsp_simple demo/heat; do
		sample 2 2 $program
		sample 4 2 $program LAPI_UDP_LOSS=1:3
	done
}

# steady_over LINKS ACTION [VARIABLE=VALUE…]: a link of a node fails, and the job goes on.
steady_over() {
	local links=$1 action=$2
	shift 2
	over 2 "$links" 0 2 '^steady: task [01]: [0-9]+ rounds' n0:2,n1:2 \
		--when 1 'steady: started' "$action" -- "$@" "$BUILD/net/steady" 1
}

# The launcher needs a link as well: $away has it use the second.
links_over_nodes() {
	if [ -n "$away" ]; then
		remote=$away steady_over 2 'cut 0' MP_EUIDEVICE=sn_all
	else
		steady_over 2 'cut 1' MP_EUIDEVICE=sn_all
	fi
	[ -z "$all" ] || steady_over 1 'flap 0'
}

# Task 1 is on n1, with the waiting tasks. The other tasks learn of its end by LAPI, and are ended
# by the launcher: so the launcher's status is that of task 1.
ends_over_nodes() {
	local waits='task [0-3] waits'
	over 2 1 "$exited" 0 '^end of' n0:1,n1:3 -- "$ends" Lx
	over 2 1 "1|$killed" 0 '^end of' n0:1,n1:3 -- "$ends" La
	over 2 1 0 4 '^end of Lt$' n0:1,n1:3 -- "$ends" Lt
	over 2 1 "$killed" 0 '^end of' n0:1,n1:3 -- "$ends" Lk
	if [ "$launcher" != prun ]; then # who has started its tasks is the DVM, which goes on
		over 2 1 137 4 "$waits" n0:2,n1:2 --when 4 "$waits" kill-launcher -- "$ends" Lw
		over 1 1 137 2 "$waits" n0:2 --when 2 "$waits" kill-launcher -- "$ends" Lw
	fi
	[ -z "$daemon_killed" ] ||
		over 2 1 "$daemon_killed" 4 "$waits" n0:2,n1:2 \
			--when 4 "$waits" kill-daemon -- "$ends" Lw
	[ -z "$all" ] || over 2 1 21 0 '^end of' n0:1,n1:3 -- "$ends" LlX
}

# cases_over_nodes: under one launcher, of which $remote is the command up to the list of hosts.
# $around is what has to be there before; with $all come cases that one launcher, or FULL, is
# enough for. $part and $kind: see PARTS in run.
cases_over_nodes() {
	if ! timeout 60 tests/launch/nodes 2 1 $around $(command_for n0:1,n1:1) hostname \
		> "$LOGS/nodes.log" 2>&1; then
		skip "$launcher over nodes" "it starts nothing there ($(head -n 1 "$LOGS/nodes.log"))"
		return
	fi
	if wanted "$part"; then
		programs_over_nodes
		[ -z "$all" ] || further_programs_over_nodes
		links_over_nodes
		ends_over_nodes
		successors_over_nodes
	fi
	if [ -n "${FULL-}" ] && wanted "more-${kind:-$part}"; then more_programs_over_nodes; fi
}

# one_host_in_slurm: cases of Slurm that do not need several nodes
one_host_in_slurm() {
	over 1 1 0 4 '^end of LBl$' n0:4 -- "$ends" LBl
	over 1 1 0 4 '^end of LlLl$' n0:4 -- LAPI_USE_SHM=no "$ends" LlLl
	expect "$launcher: a task exits before LAPI_Init" "$refused" + \
		'task 1 has ended, and had not come' tests/launch/nodes 1 1 slurm $launcher -n 4 \
		sh -c "[ \$SLURM_PROCID != 1 ] || exit 0; exec $ends L"
}

# daemons_of_slurm: a node has one daemon for all jobs, without which a job goes on, and one for
# each step, whose tasks end with it, and with them all other tasks, also if both daemons are killed
# at once. srun waits for that step nevertheless, until it is interrupted.
daemons_of_slurm() {
	local waits='task [0-3] waits'
	steady_over 1 kill-slurmd
	over 2 1 "1|$killed" 4 "$waits" n0:2,n1:2 --when 4 "$waits" 'kill-stepd ends' -- "$ends" Lw
	over 2 1 "1|$killed" 4 "$waits" n0:2,n1:2 --when 4 "$waits" 'kill-slurm ends' -- "$ends" Lw
}

# A task that LAPI_Init fails for aborts the job, for which Slurm kills by pmi2; a task that ends
# with LAPI does the same. Of all tasks' statuses srun ends with the highest: 137 where it has
# killed.
slurm_cases() {
	local kind part=srun around=slurm exited killed=137 daemon_killed='' away=''
	local lenient all=${FULL-}
	if ! command -v srun > /dev/null ||
		! PATH=$PATH:/usr/sbin command -v slurmctld > /dev/null; then
		skip 'srun' 'there is no Slurm: install slurmctld, slurmd and slurm-client'
		return
	fi
	for kind in pmi2 pmix; do
		refused=99 exited=21
		[ $kind = pmix ] || refused='99|137' exited=137
		launcher="srun --mpi=$kind" remote="srun --mpi=$kind" lenient="srun --mpi=$kind -K0"
		cases_over_nodes
		if wanted srun; then
			one_host_in_slurm
			daemons_of_slurm
		fi
	done
	wanted srun || return
	delegated_to_srun
	remote='srun --mpi=none'
	over 1 1 99 2 'srun --mpi=pmi2' n0:2 -- "$ends" L
}

# lapirun becomes a launcher that starts tasks on other hosts (docs/network.md).
delegated() {
	local ssh=(env HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=node-shell)
	expect 'lapirun -H' 0 4 '^end of LBlLl$' "${ssh[@]}" tests/launch/nodes 2 1 \
		"$BUILD/bin/lapirun" -H n0:2,n1:2 "$ends" LBlLl
	printf 'n0 slots=1\nn1 slots=1\nn2 slots=2\n' > "$LOGS/hosts"
	expect 'poe -hostfile' 0 4 '^end of LBl$' "${ssh[@]}" MP_EUIDEVICE=sn_all tests/launch/nodes 3 2 \
		"$BUILD/bin/poe" "$ends" LBl -hostfile "$LOGS/hosts" -procs 4
	expect 'lapirun -H, exit 21' 21 0 '^end of' "${ssh[@]}" tests/launch/nodes 2 1 \
		"$BUILD/bin/lapirun" -H n0:2,n1:2 "$ends" Lx
	delegated_to_mpirun
}

# lapirun takes mpirun where there is no mpiexec.hydra: in a PATH of what mpirun itself needs.
delegated_to_mpirun() {
	local program folder=$LOGS/mpirun-only
	mkdir -p "$folder"
	for program in orted sh env nsenter cat bash; do
		ln -sf "$(command -v $program)" "$folder/" || return
	done
	ln -sf "$(command -v mpirun.openmpi)" "$folder/mpirun"
	ln -sf "$PWD/tests/launch/node-shell" "$folder/"
	expect 'lapirun -H by mpirun' 0 4 '^end of LBlLl$' tests/launch/nodes 2 1 \
		env PATH="$PWD/$folder" OMPI_MCA_plm_rsh_agent=node-shell \
		"$PWD/$BUILD/bin/lapirun" -H n0:2,n1:2 "$PWD/$ends" LBlLl
}

# lapirun takes srun inside an allocation.
delegated_to_srun() {
	local node=(tests/launch/nodes 2 1 slurm salloc -N 2 -n 4 "$BUILD/bin/lapirun")
	expect 'lapirun -nodes by srun' 0 4 '^end of LBl$' "${node[@]}" -nodes 2 -procs 4 "$ends" LBl
	expect 'lapirun -H by srun' 0 4 '^end of LBlLl$' "${node[@]}" -H n0:1,n1:3 "$ends" LBlLl
	# 137: srun ends with the highest status, also of a task that it has killed on its way out
	expect 'lapirun by srun, exit 21' '21|137' 0 '^end of' "${node[@]}" -nodes 2 -procs 4 "$ends" LlX
}

# Munge seals the job key. One daemon serves all nodes, except where its socket is hidden.
sealed_keys() {
	local job="$remote n0:2,n1:2" sealed=(tests/launch/nodes 2 1 with-munge)
	if ! timeout 60 "${sealed[@]}" munge -n > "$LOGS/munge.log" 2>&1; then
		skip 'a sealed key' "munged does not come up ($(head -n 1 "$LOGS/munge.log"))"
		return
	fi
	expect 'a sealed key' 0 4 '^end of LBlLl$' \
		"${sealed[@]}" $job env LAPI_MUNGE=only "$ends" LBlLl
	expect 'a sealed key, one node' 0 4 '^end of LBlLl$' \
		"${sealed[@]}" mpiexec.hydra -n 4 env LAPI_MUNGE=only "$ends" LBlLl
	expect 'a sealed key that one node does not open' 99 + 'set LAPI_MUNGE=no' \
		"${sealed[@]}" bash -c "node-shell n1 mount -t tmpfs none /run/munge; $job $ends L"
	expect 'no munge' 99 1 'start munged' mpiexec.hydra -n 2 env LAPI_MUNGE=only "$ends" L
	expect 'munge itself' 0 1 '^PASS' "${sealed[@]}" "$BUILD/launch/munge.test" -test.run TestSeal -test.v
}

nodes_cases() {
	local launcher remote part=hydra kind='' around='' away lenient refused=99 exited killed
	local daemon_killed all=yes
	if ! timeout 60 tests/launch/nodes 2 2 true 2> "$LOGS/nodes.log"; then
		skip 'several nodes' "$(head -n 1 "$LOGS/nodes.log")"
		return
	fi
	# 9: one of its own proxies has seen a closed pipe first, and failed an assertion.
	launcher=mpiexec.hydra exited=21 killed='255|9' daemon_killed=255
	remote='mpiexec.hydra -launcher ssh -launcher-exec node-shell -hosts'
	away="${remote% -hosts} -iface eth1 -hosts"
	lenient="mpiexec.hydra -disable-auto-cleanup ${remote#mpiexec.hydra }"
	cases_over_nodes
	if [ -n "${FULL-}" ] && wanted many; then many_over_nodes; fi
	if wanted hydra; then
		delegated
		sealed_keys
	fi
	all=${FULL-}
	# 0 and 1: that of Open MPI 5 and 6, when its daemon was killed
	part=mpirun launcher=mpirun exited=21 killed=137 daemon_killed='205|0|1' lenient=''
	# Open MPI 5 fills the first host unless it is to map by slots
	remote='mpirun.openmpi --map-by slot:OVERSUBSCRIBE --bind-to none --mca plm_rsh_agent node-shell -H'
	away="${remote% -H} --mca oob_tcp_if_include eth1 -H"
	cases_over_nodes
	if command -v prun > /dev/null; then
		# a DVM's tasks have none of prun's variables but those that it names
		remote='prun -x STEADY_UNTIL --map-by slot:OVERSUBSCRIBE --bind-to none --host'
		launcher=prun part=prun around=dvm away='' daemon_killed=''
		cases_over_nodes
	else
		skip 'prun over nodes' 'there is no PRRTE here'
	fi
	slurm_cases
}
