package main

import (
	"math/bits"
	"path"
	"strconv"
)

// benchGroups lists what make bench measures: ours over shared memory and UDP, and raw limits, by
// the names of the tests of lapibench and rawbench.
func (p plan) benchGroups(o *options) []group {
	type test struct {
		who   string
		tasks int // of a job; 0: raw
		words []string
	}
	shm := func(tasks int, words ...string) test { return test{"shm", tasks, words} }
	udp := func(tasks int, words ...string) test { return test{"udp", tasks, words} }
	raw := func(words ...string) test { return test{"raw", 0, words} }
	var groups []group
	add := func(name string, seconds string, tests ...test) {
		g := group{name: name}
		for _, t := range tests {
			pr := program{who: t.who, ours: t.tasks > 0, tasks: t.tasks, name: "rawbench"}
			pr.args = append([]string{t.words[0], "--sizes=" + p.sizes, "--seconds=" + seconds},
				t.words[1:]...)
			switch {
			case t.words[0] == "call" && t.tasks == 0:
				pr.name, pr.args = "crossing", []string{"call", "--seconds=" + seconds}
			case t.who == "dat": // lapirun starts its two sides
				pr.name, pr.ours = "datbench", true
			case t.tasks > 0:
				pr.name, pr.env = "lapibench", []string{"MP_EUILIB=ip",
					"LAPI_USE_SHM=" + map[string]string{"shm": "only", "udp": "no"}[t.who]}
			}
			g.turns = append(g.turns, func([]int) []program { return []program{pr} })
		}
		groups = append(groups, g)
	}
	add("shm-latency", p.seconds, shm(2, "latency"), raw("cacheline"), raw("writev"), raw("memcpy"),
		raw("call"))
	add("shm-bandwidth", p.seconds, shm(2, "bandwidth"), raw("writev"), raw("memcpy"))
	add("shm-vector", p.seconds, shm(2, "vector", "--sizes=65536,1048576"), raw("writev"))
	add("pack", p.seconds, shm(2, "pack", "--sizes=8388608"))
	add("shm-lock", p.seconds, shm(2, "lock"))
	add("shm-rate", p.seconds, shm(2, "rate"), raw("queue"))
	add("shm-call", p.seconds, shm(2, "call"), raw("call"))
	add("udp-latency", p.seconds, udp(2, "latency"), raw("udp-pingpong"))
	add("udp-bandwidth", p.seconds, udp(2, "bandwidth"), raw("udp-stream"))
	add("udp-rate", p.seconds, udp(2, "rate"), raw("udp-rate"))
	for _, n := range []int{2, 4, 8} {
		add("gfence-"+strconv.Itoa(n), p.seconds, shm(n, "gfence"),
			raw("barrier", "--tasks="+strconv.Itoa(n)), udp(n, "gfence"))
	}
	for _, n := range []int{2, 64} {
		add("startup-"+strconv.Itoa(n), p.seconds, shm(n, "startup"), udp(n, "startup"))
		add("memory-"+strconv.Itoa(n), p.seconds, shm(n, "memory"), udp(n, "memory"))
	}
	dat := func(words ...string) test { return test{"dat", 2, words} }
	add("dat-latency", p.seconds, shm(2, "latency", "--sizes=8"),
		dat("dat", "--sizes=8", "--ops=send,write-immed,write-completed,read"),
		dat("dat", "--sizes=8", "--ops=write-memory"), raw("writev-turns", "--sizes=8"))
	groups[len(groups)-1].turns = append(groups[len(groups)-1].turns, p.peersOfDAT(o)...)
	add("dat-bandwidth", p.seconds, shm(2, "bandwidth", "--sizes=1048576"),
		dat("dat", "--sizes=1048576", "--ops=write-bandwidth,read"))
	add("dat-wait", p.seconds, dat("dat-wake"), dat("dat-idle"), dat("dat-connections"))
	add("interrupt-shm", "1", shm(2, "interrupt"), shm(2, "interrupt-busy"))
	add("interrupt-udp", "1", udp(2, "interrupt"), udp(2, "interrupt-busy"))
	return groups
}

// peersOfDAT are the peers that send and receive, where they are installed.
func (p plan) peersOfDAT(o *options) (turns []turn) {
	for _, q := range overMemory() {
		switch q.name {
		case "ucx", "ucx-tag", "libfabric":
			if q.missing(o) == "" {
				turns = append(turns, func([]int) []program {
					return q.programs(p, o, &operation{op: "am"}, []int{8})
				})
			}
		}
	}
	return turns
}

// limit is a rule of what stands beside a series of make bench.
type limit struct {
	who, op string // of ours, op as a pattern
	upTo    int    // bytes; 0: any
	beside  Key    // Who "": as ours; Size 0: as ours, -1: none
	factor  float64
	what    string
}

// Up to this size a message fits one cache line with its header, and the line's way is the limit;
// beyond it copying is.
const lineBytes = 64

// limits lists the rules; the first that fits is taken.
var limits = []limit{
	{"shm", "latency/put", lineBytes, Key{"raw", "cacheline/oneway", -1}, 1e-3, "cache line"},
	{"shm", "latency/am", lineBytes, Key{"raw", "cacheline/oneway", -1}, 1e-3, "cache line"},
	{"shm", "latency/*", lineBytes, Key{"raw", "cacheline/oneway", -1}, 2e-3, "cache line x 2"},
	{"shm", "latency/*", 0, Key{"raw", "writev/time", 0}, 1e-3, "process_vm_writev"},
	{"shm", "bandwidth/*", 0, Key{"raw", "writev/bandwidth", 0}, 1, "process_vm_writev"},
	{"shm", "vector/*", 0, Key{"raw", "writev/bandwidth", 0}, 1, "process_vm_writev"},
	{"shm", "pack/pack", 0, Key{"", "pack/pack-loop", 0}, 1, "a loop of memcpy"},
	{"shm", "pack/unpack", 0, Key{"", "pack/unpack-loop", 0}, 1, "a loop of memcpy"},
	{"shm", "lock/am-with", 0, Key{"", "lock/am-without", 0}, 1, "that without"},
	{"shm", "rate/*", 0, Key{"raw", "queue/rate", 8}, 1, "bare queue"},
	{"shm", "gfence/*", 0, Key{"raw", "barrier/central", 0}, 1, "bare barrier"},
	{"dat", "dat/send", 0, Key{"shm", "latency/put", 8}, 1, "LAPI_Put"},
	{"dat", "dat/write-immed", 0, Key{"shm", "latency/put", 8}, 1, "LAPI_Put"},
	{"dat", "dat/write-completed", 0, Key{"shm", "latency/put-completed", 8}, 1,
		"LAPI_Put, completed"},
	{"dat", "dat/write-memory", 0, Key{"raw", "writev-turns/oneway", 8}, 1e-3,
		"process_vm_writev"},
	{"dat", "dat/write-bandwidth", 0, Key{"shm", "bandwidth/put", 0}, 1, "LAPI_Put"},
	{"dat", "dat/read", lineBytes, Key{"shm", "latency/get", 8}, 1, "LAPI_Get"},
	{"dat", "dat/wake", 0, Key{"", "dat/bare-futex", 0}, 1, "a bare futex"},
	{"shm", "call/*", 0, Key{"raw", "crossing/call", -1}, 1, "C to Go call"},
	{"udp", "latency/put", 0, Key{"raw", "udp/oneway", 0}, 1, "bare one way"},
	{"udp", "latency/am", 0, Key{"raw", "udp/oneway", 0}, 1, "bare one way"},
	{"udp", "latency/*", 0, Key{"raw", "udp/oneway", 0}, 1, "bare there and back"},
	{"udp", "bandwidth/*", 0, Key{"raw", "udp/bandwidth", 0}, 1, "bare stream"},
	{"udp", "rate/*", 0, Key{"raw", "udp/rate", 8}, 1, "bare datagrams"},
	{"udp", "gfence/*", 0, Key{"raw", "udp/oneway", 8}, 1, "bare one way x steps"},
}

// rawLimit returns the raw limit that belongs to one of our series, in the series' unit, and what
// it is; 0 if the run has none.
func (s *Summaries) rawLimit(k Key) (value float64, what string) {
	for _, l := range limits {
		if ok, _ := path.Match(l.op, k.Op); !ok || l.who != k.Who || l.upTo > 0 && k.Size > l.upTo {
			continue
		}
		at := l.beside
		if at.Who == "" {
			at.Who = k.Who
		}
		at.Size = map[int]int{0: k.Size, -1: 0, 8: 8}[at.Size]
		v := s.All[at]
		if v == nil {
			return 0, ""
		}
		value = v.Median * l.factor
		switch {
		// the number of steps of a dissemination barrier among k.Size tasks
		case l.what == "bare one way x steps":
			value *= float64(bits.Len(uint(k.Size - 1)))
		case l.what == "bare there and back": // one way with the data, the other without
			back := s.All[Key{at.Who, at.Op, 8}]
			if back == nil {
				return 0, ""
			}
			value += back.Median
		}
		return value, l.what
	}
	return 0, ""
}
