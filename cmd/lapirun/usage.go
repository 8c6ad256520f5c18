package main

import "strings"

func usage(name string) string {
	return strings.ReplaceAll(usageText, "lapirun", name)
}

const usageText = `Usage: lapirun [options] program [arguments] [POE options]
       lapirun --calibrate

Starts the tasks of a LAPI job on this machine and waits for them.

Options:
  -n, -np, -procs N      number of tasks, 1 to 16384 (MP_PROCS; 1)
  -labelio yes|no        begin each line of output with the id of its task
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
  -bulk_min_msg_size VALUE
                         set MP_MSG_API, MP_EUILIB and so on for the tasks
  -k, --keep-going       when a task dies, leave the others running
  --grace SECONDS        from asking tasks to end until killing them (5)
  --calibrate            instead of starting a program: measure, for some seconds,
                         which way is best for data of which size between tasks
                         of this machine, and keep it for all programs of this
                         user (LAPI_CALIBRATION)
  -h, --help             this text
  --                     what follows is the program and its arguments only

-procs, -labelio, -stdoutmode, -stdinmode, -infolevel, -ilevel and the options
that set MP_ variables may also follow the program, as with POE; up to a --
they are then taken out of its arguments. An option goes before a variable.

Every task gets MP_CHILD, MP_PROCS, MP_PARTITION and MP_COMMON_TASKS, and unless
they are set already MP_MSG_API=lapi, MP_EUILIB=ip, LAPI_USE_SHM=yes and
MP_LAPI_INET_ADDR=@1:127.0.0.1,lo. LAPI_USE_SHM=no makes all tasks use UDP.

If a task exits with a status other than 0 or is killed by a signal, lapirun
says so, ends the other tasks (SIGTERM, then SIGKILL), and exits with that
task's status, or 128 plus the signal's number. With --keep-going the others go
on; the status is still that of the first task that failed. SIGINT, SIGTERM,
SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed to all tasks;
a second SIGINT ends the job. Exit status 2: bad usage; 126: the program cannot
be run; 127: there is no such program.

Examples:
  lapirun -n 4 ./program input.dat
  lapirun -n 8 -labelio yes -stdoutmode ordered ./program
  poe ./program -procs 2 -infolevel 2
`
