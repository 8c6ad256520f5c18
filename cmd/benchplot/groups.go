package main

import (
	"strconv"
	"strings"
	"time"
)

// program is one process, or one job, of a trial.
type program struct {
	side   Side
	medium string
	tasks  int // of a job; 0: not a job
	name   string
	args   []string
	// launcher starts a job, with options: lapirun if nil. "-n" and the number of tasks follow.
	launcher []string
	env      []string
	ordinary bool    // never at real-time priority
	foreign  foreign // instead of all this, for programs that are not of this tree
}

// group is what is measured in turn: ours and the raw limits that stand beside it.
type group struct {
	name     string
	programs []program
}

// plan says how long and how often.
type plan struct {
	sizes   string
	seconds string // for each point
	rounds  int
	offset  int  // see board.h
	network bool // not over shared memory
	// patience is how long the run waits, all in all, for other programs to leave the machine alone.
	patience time.Duration
}

func planOf(o *options) plan {
	p := plan{seconds: "0.06", rounds: 7, patience: 10 * time.Minute}
	var sizes []string
	for n := 8; n <= 4<<20; n *= 2 {
		sizes = append(sizes, strconv.Itoa(n))
	}
	p.sizes = strings.Join(sizes, ",")
	if o.quick {
		p = plan{sizes: "8,1024,65536,1048576,4194304", seconds: "0.02", rounds: 3, patience: 20 * time.Second}
	}
	if o.rounds > 0 {
		p.rounds = o.rounds
	}
	return p
}

func (p plan) flags(extra ...string) []string {
	return append([]string{"--sizes=" + p.sizes, "--seconds=" + p.seconds}, extra...)
}

func (p plan) raw(name string, extra ...string) program {
	return program{side: Raw, name: "rawbench", args: append([]string{name}, p.flags(extra...)...)}
}

func (p plan) crossing() program {
	return program{side: Raw, name: "crossing", args: []string{"call", "--seconds=" + p.seconds}}
}

func (p plan) job(medium string, tasks int, test string, extra ...string) program {
	return program{side: Ours, medium: medium, tasks: tasks, name: "lapibench", args: append([]string{test}, p.flags(extra...)...)}
}

// groups lists everything that a round measures.
func (p plan) groups() []group {
	g := []group{
		{"shm-latency", []program{p.job("shm", 2, "latency"), p.raw("cacheline"), p.raw("writev"), p.raw("memcpy"), p.crossing()}},
		{"shm-bandwidth", []program{p.job("shm", 2, "bandwidth"), p.raw("writev"), p.raw("memcpy")}},
		{"shm-vector", []program{p.job("shm", 2, "vector", "--sizes=65536,1048576"), p.raw("writev")}},
		{"pack", []program{p.job("shm", 2, "pack", "--sizes=8388608")}},
		{"shm-lock", []program{p.job("shm", 2, "lock")}},
		{"shm-rate", []program{p.job("shm", 2, "rate"), p.raw("queue")}},
		{"shm-call", []program{p.job("shm", 2, "call"), p.crossing()}},
		{"udp-latency", []program{p.job("udp", 2, "latency"), p.raw("udp-pingpong")}},
		{"udp-bandwidth", []program{p.job("udp", 2, "bandwidth"), p.raw("udp-stream")}},
		{"udp-rate", []program{p.job("udp", 2, "rate"), p.raw("udp-rate")}},
	}
	for _, n := range []int{2, 4, 8} {
		g = append(g, group{"gfence-" + strconv.Itoa(n), []program{p.job("shm", n, "gfence"), p.raw("barrier", "--tasks="+strconv.Itoa(n)), p.job("udp", n, "gfence")}})
	}
	for _, n := range []int{2, 64} {
		g = append(g, group{"startup-" + strconv.Itoa(n), []program{p.job("shm", n, "startup"), p.job("udp", n, "startup")}},
			group{"memory-" + strconv.Itoa(n), []program{p.job("shm", n, "memory"), p.job("udp", n, "memory")}})
	}
	for _, m := range []string{"shm", "udp"} {
		i := p
		i.seconds = "1"
		g = append(g, group{"interrupt-" + m, []program{i.job(m, 2, "interrupt"), i.job(m, 2, "interrupt-busy")}})
	}
	return g
}
