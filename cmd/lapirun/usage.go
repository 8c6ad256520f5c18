package main

import "strings"

func usage(name string) string {
	return strings.ReplaceAll(usageText, "lapirun", name)
}

const usageText = `Usage: lapirun [options] program [arguments] [POE options]

Starts the tasks of a LAPI job and waits for them: on this machine, or with -H
or -hostfile on others.

Options:
  -n, -np, -procs N      number of tasks, 1 to 16384 (MP_PROCS; 1)
  --on COMMAND [-n N]    start N tasks (1) by COMMAND, as in 'ip netns exec a',
                         and treat them as a node: they share memory with each
                         other and reach the tasks of other nodes by UDP. May
                         be repeated; tasks are numbered in this order. COMMAND
                         is split into words as by a shell, but nothing is
                         expanded; '' starts tasks directly
  -euidevice NETWORK     addresses for UDP: sn_single: of one network (IP
                         subnet); sn_all: of every network that all nodes are
                         on; or the name of a device (MP_EUIDEVICE; loopback,
                         or sn_single for nodes with networks of their own)
  -instances N|max       how many adapters of each network a task uses
                         (MP_INSTANCES; 1). The first eight count
  -labelio yes|no|host   begin each line of output with the id of its task;
                         host: with the name of its host as well
                         (MP_LABELIO; no)
  -l                     the same as -labelio yes
  -stdoutmode MODE       unordered: lines of output as they come;
                         ordered: task by task;
                         N: only that of task N (MP_STDOUTMODE; unordered)
  -stdinmode MODE        who reads lapirun's standard input: all, none, or
                         the number of a task (MP_STDINMODE; 0)
  -infolevel, -ilevel N  0 to 6: how much LAPI and lapirun say (MP_INFOLEVEL; 0)
  -msg_api, -euilib, -udp_packet_size, -ack_thresh, -polling_interval,
  -retransmit_interval, -rexmit_buf_cnt, -rexmit_buf_size, -use_bulk_xfer,
  -bulk_min_msg_size, -debug_notimeout VALUE
                         set MP_MSG_API, MP_EUILIB and so on for the tasks
  -cmdfile FILE          each task has a command of its own: a line of FILE, in
                         the tasks' order; # and ! begin comments (MP_CMDFILE,
                         if no program is named)
  -pgmmodel spmd|mpmd    spmd: the first of them is for all tasks
                         (MP_PGMMODEL; mpmd with -cmdfile)
  PROGRAM ... : -n N PROGRAM ...
                         further programs, each of N tasks
  -wdir FOLDER           where tasks start
  -x NAME[=VALUE]        set a variable for the tasks, or pass it on
  -genv, -env NAME VALUE the same, as with mpiexec
  --bind core|none       give each task a core, in turn (none). Unlike with --on
                         taskset, all stay tasks of one node
  --report-bindings      print on which processors each task runs
  --output FILE, --error FILE
                         write what a task prints to FILE, in which %t stands
                         for its number. Without --error, --output takes both
  --timeout SECONDS      end a job that takes longer, with exit status 124, and
                         say first what its tasks wait for
  --dump PROCESS|JOB     say what the tasks of a running job wait for: of the
                         lapirun, launcher or task with that process number, or
                         of the job with that name (MP_PARTITION). No program
  -k, --keep-going       when a task dies, leave the others running
  --grace SECONDS        from asking tasks to end until killing them (5)

Several machines: srun inside a Slurm allocation, or else mpiexec.hydra (MPICH)
or mpirun (Open MPI) starts the tasks; lapirun becomes that.
  -H, -hosts HOST[:N],...
                         N tasks (1) on each
  -hostfile, -hfile FILE the same from a file: a line a host, HOST, HOST:N or
                         HOST slots=N (MP_HOSTFILE)
  -nodes, -N N           that many of the hosts, or nodes of Slurm's (MP_NODES)
  -tasks_per_node, -ppn N
                         tasks on each (MP_TASKS_PER_NODE)
If all hosts are this one, lapirun starts the tasks by itself.

  -h, --help             this text
  -V, --version          the version
  --                     what follows is the program and its arguments only

The options that have an MP_ variable may also follow the program, as with POE;
up to a -- they are then taken out of its arguments, and so are options of POE's
that mean nothing here (-resd, -tdir, ...), with a warning. An option goes
before a variable.

Every task gets MP_CHILD, MP_PROCS, MP_PARTITION and MP_COMMON_TASKS, and unless
they are set already MP_MSG_API=lapi, MP_EUILIB=ip, LAPI_USE_SHM=yes and
MP_LAPI_INET_ADDR by -euidevice and -instances, loopback without them.
LAPI_USE_SHM=no makes all tasks use UDP.

The COMMAND of --on must run what follows it with the environment and the open
descriptors that it was given, and not end before it. If there are several, or
with -euidevice or -instances, lapirun starts itself under each first, to list
the node's network interfaces, unless MP_LAPI_INET_ADDR is set.

If a task exits with a status other than 0 or is killed by a signal, lapirun
says so, ends the other tasks (SIGTERM, then SIGKILL), and exits with that
task's status, or 128 plus the signal's number. With --keep-going the others go
on; the status is still that of the first task that failed. SIGINT, SIGTERM,
SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed to all tasks;
a second SIGINT ends the job. Exit status 2: bad usage; 124: --timeout; 126: the
program cannot be run; 127: there is no such program.

Examples:
  lapirun -n 4 ./program input.dat
  lapirun -n 8 -labelio yes -stdoutmode ordered ./program
  lapirun --on 'ip netns exec a' -n 2 --on 'ip netns exec b' -n 2 ./program
  lapirun --on 'taskset -c 0-3' -n 4 --on 'taskset -c 4-7' -n 4 ./program
  lapirun -H n1:4,n2:4 -wdir /scratch ./program
  poe ./program -procs 2 -infolevel 2
`
