package main

import (
	"fmt"
	"math/bits"
)

// Up to this size a message fits one cache line with its header, and the line's way is the limit; beyond it copying is.
const lineBytes = 64

// rawLimit returns the raw limit that belongs to one of our series, in the series' unit, and what it is; false if the run
// has none.
func (s *Summaries) rawLimit(o *Summary) (value float64, what string, ok bool) {
	switch o.Medium + "/" + o.Test {
	case "shm/latency":
		return s.shmLatencyLimit(o)
	case "shm/bandwidth", "shm/vector":
		return s.scaled("writev", "bandwidth", o.Size, 1, "process_vm_writev")
	case "shm/pack":
		if o.Op == "pack" || o.Op == "unpack" {
			return s.besides(o, o.Op+"-loop", "a loop of memcpy")
		}
	case "shm/lock":
		if o.Op == "am-with" {
			return s.besides(o, "am-without", "that without")
		}
	case "shm/rate":
		return s.scaled("queue", "rate", 8, 1, "bare queue")
	case "shm/gfence":
		return s.scaled("barrier", "central", o.Size, 1, "bare barrier")
	case "udp/latency":
		return s.udpLatencyLimit(o)
	case "udp/bandwidth":
		return s.scaled("udp", "bandwidth", o.Size, 1, "bare stream")
	case "udp/rate":
		return s.scaled("udp", "rate", 8, 1, "bare datagrams")
	case "udp/gfence":
		// as many steps as a dissemination among so many tasks needs
		return s.scaled("udp", "oneway", 8, float64(bits.Len(uint(o.Size-1))), "bare one way x steps")
	case "shm/call":
		return s.scaled("crossing", "call", 0, 1, "C to Go call")
	}
	return 0, "", false
}

// besides is another of our series, measured in turn with o.
func (s *Summaries) besides(o *Summary, op, what string) (float64, string, bool) {
	v := s.get(Ours, o.Medium, o.Test, op, o.Size)
	if v == nil || v.Median <= 0 {
		return 0, "", false
	}
	return v.Median, what, true
}

// ways is how often data crosses from task to task before the operation's user may go on.
func ways(op string) float64 {
	if op == "put" || op == "am" {
		return 1
	}
	return 2
}

func (s *Summaries) shmLatencyLimit(o *Summary) (float64, string, bool) {
	if o.Size <= lineBytes {
		what := "cache line"
		if ways(o.Op) == 2 {
			what = "cache line x 2"
		}
		return s.scaled("cacheline", "oneway", 0, ways(o.Op)/1e3, what)
	}
	return s.scaled("writev", "time", o.Size, 1e-3, "process_vm_writev")
}

func (s *Summaries) udpLatencyLimit(o *Summary) (float64, string, bool) {
	if ways(o.Op) == 1 {
		return s.scaled("udp", "oneway", o.Size, 1, "bare one way")
	}
	// one way with the data, the other without
	data, _, ok := s.scaled("udp", "oneway", o.Size, 1, "")
	short, what, ok2 := s.scaled("udp", "oneway", 8, 1, "bare there and back")
	return data + short, what, ok && ok2
}

func (s *Summaries) scaled(test, op string, size int, factor float64, what string) (float64, string, bool) {
	r := s.get(Raw, "", test, op, size)
	if r == nil || r.Median <= 0 {
		return 0, "", false
	}
	return r.Median * factor, what, true
}

// Expectation is one of the expected figures and what the run reached.
type Expectation struct {
	What    string
	AtLeast bool // the figure is a lower bound
	Bound   float64
	Formula string // how Bound came about
	Reached float64
	Unit    string
	Spoilt  bool // the machine was never undisturbed
}

// Verdict compares.
func (e *Expectation) Verdict() string {
	v := "missed"
	if e.AtLeast && e.Reached >= e.Bound || !e.AtLeast && e.Reached <= e.Bound {
		v = "reached"
	}
	if e.Spoilt {
		v += " (disturbed)"
	}
	return v
}

// expectations lists the expected figures for which the run has results.
func (s *Summaries) expectations() []Expectation {
	var all []Expectation
	add := func(what string, atLeast bool, o *Summary, bound float64, formula string, ok bool) {
		if o != nil && ok {
			all = append(all, Expectation{what, atLeast, bound, formula, o.Median, o.Unit, o.Disturbed})
		}
	}
	for _, n := range []int{1 << 20, 4 << 20} {
		o := s.get(Ours, "shm", "bandwidth", "put", n)
		limit, _, ok := s.scaled("writev", "bandwidth", n, 0.9, "")
		add("shm put bandwidth, "+size(n), true, o, limit, "0.9 x process_vm_writev", ok)
	}
	for _, v := range []struct {
		what, op, whole string
		size            int
		share           float64
	}{
		{"shm strided put, 64 x 1 KiB", "putv-1024", "put", 64 << 10, 0.7},
		{"shm get of 16 pieces, 1 MiB", "getv-16-pieces", "get", 1 << 20, 0.8},
	} {
		if whole := s.get(Ours, "shm", "vector", v.whole, v.size); whole != nil {
			formula := fmt.Sprintf("%g x one %s of as many bytes", v.share, v.whole)
			add(v.what, true, s.get(Ours, "shm", "vector", v.op, v.size), v.share*whole.Median, formula, true)
		}
	}
	for _, op := range []string{"pack", "unpack"} {
		if o := s.get(Ours, "shm", "pack", op, 8<<20); o != nil {
			limit, _, ok := s.rawLimit(o)
			add("LAPI_DGSP "+op+", 8 of 64 doubles, 8 MiB", true, o, 0.7*limit, "0.7 x a loop of memcpy", ok)
		}
	}
	if o := s.get(Ours, "shm", "lock", "am-with", 0); o != nil {
		limit, _, ok := s.rawLimit(o)
		add("active message one way, shared lock held", false, o, 1.03*limit, "1.03 x without", ok)
	}
	line, _, ok := s.scaled("cacheline", "oneway", 0, 5e-3, "")
	call, _, ok2 := s.scaled("crossing", "call", 0, 2e-3, "")
	add("shm put one way, 8 B", false, s.get(Ours, "shm", "latency", "put", 8), line+call, "5 x cache line + 2 x C to Go call", ok && ok2)
	bare, _, ok := s.scaled("udp", "oneway", 8, 1.6, "")
	add("UDP put one way, 8 B", false, s.get(Ours, "udp", "latency", "put", 8), bare, "1.6 x bare UDP", ok)
	bare, _, ok = s.scaled("udp", "bandwidth", 1<<20, 0.7, "")
	add("UDP put bandwidth, 1 MiB", true, s.get(Ours, "udp", "bandwidth", "put", 1<<20), bare, "0.7 x bare stream", ok)
	for _, m := range []string{"shm", "udp"} {
		add(m+" LAPI_Init to LAPI_Term, 2 tasks", false, s.get(Ours, m, "startup", "init-term", 2), 150, "fixed", true)
		add(m+" LAPI_Init to LAPI_Term, 64 tasks", false, s.get(Ours, m, "startup", "init-term", 64), 3000, "fixed", true)
		add(m+" memory of an idle task, 2 tasks", false, s.get(Ours, m, "memory", "pss", 2), 20, "fixed", true)
		add(m+" memory of an idle task, 64 tasks", false, s.get(Ours, m, "memory", "pss", 64), 20, "fixed", true)
		add(m+" interrupt, target computes, core free", false, s.get(Ours, m, "interrupt", "free-core-median", 8), 1000, "fixed", true)
		add(m+" interrupt, target computes, no core free", false, s.get(Ours, m, "interrupt", "no-free-core-median", 8), 20000, "fixed", true)
	}
	return all
}
