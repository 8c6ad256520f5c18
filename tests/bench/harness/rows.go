package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// comparison is one row of the table of make bench-peers or make bench-udp: an operation of ours,
// its size, and the results that it is compared with.
type comparison struct {
	name string // as ROWS names it
	what string
	op   string // the peers' operation
	ours string // ours, if it goes by another name than op
	size int    // bytes; for barrier: tasks
	// wanted is the ratio of ours to the best peer that is expected; 0: none. At most for
	// times, at least for rates.
	wanted float64
	// as names the setting under which ours is measured, a participant beside "lapi"; "": the
	// usual one.
	as string
	// beside names what ours is compared with instead of the best peer: a raw limit, or "lapi",
	// ours in the usual setting; "": the peers.
	beside string
}

// Raw limits.
const (
	pipeline = "pipeline"
	writev   = "process_vm_writev"
	// Bare UDP: datagrams as large as may be, which a loopback interface takes in one piece.
	// Smaller ones with GSO and GRO are no faster there (transport/udp, BenchmarkStream).
	bareOneWay = "bare one way"
	bareStream = "bare stream"
	bareRate   = "bare datagrams"
)

// bareRoutes are the ways in which the machine itself moves data between two tasks that poll
// (raw_routes.c), by the end of their tests' names. The fastest is the limit of a row.
var bareRoutes = []string{"pipeline", "write", "read", "halves", "lines"}

// bareRoute names the participant that measures a bare route.
func bareRoute(route string) string { return "bare " + route }

// bareSizes are those of sizes for which a bare route is one: a cache line carries so few bytes
// only, and data that fits slots needs no other.
func bareSizes(route string, sizes []int) []int {
	return slices.DeleteFunc(slices.Clone(sizes), func(n int) bool {
		return (route == "lines") != (n <= lineBytes)
	})
}

// bareTest is the test of rawbench for a route under an operation: of transfers one by one, or one
// after the other; "" if the operation is not a transfer of that direction.
func bareTest(route, op string) string {
	if route == map[bool]string{true: "write", false: "read"}[strings.HasPrefix(op, "get")] {
		return ""
	}
	switch op {
	case "put-completed", "get":
		return "each-" + route
	case "fetch-and-add":
		if route == "lines" {
			return "each-" + route
		}
	case "put-bandwidth", "get-bandwidth":
		if route != "lines" {
			return "many-" + route
		}
	}
	return ""
}

// comparisons lists the rows of make bench-peers in their order.
func comparisons() []comparison {
	const KiB, MiB = 1 << 10, 1 << 20
	return []comparison{
		{"am8", "active message 8 B, one way, target counter", "am", "", 8, 0.75, "", ""},
		{"am-probe8", "active message 8 B, one way, LAPI_Probe until the handler ran", "am",
			"am-probe", 8, 0.75, "", ""},
		{"am512", "active message 512 B, one way, target counter", "am", "", 512, 1.1, "", ""},
		{"am1k", "active message 1 KiB, one way, target counter", "am", "", KiB, 1.1, "", ""},
		{"am2k", "active message 2 KiB, one way, target counter", "am", "", 2 * KiB, 1.1, "", ""},
		{"am-handler1k", "active message 1 KiB, send completion handler", "am", "am-handler", KiB,
			1.1, "", ""},
		{"put8", "put 8 B, one way, target counter", "put", "", 8, 0.40, "", ""},
		{"put-completed8", "put 8 B, completion counter", "put-completed", "", 8, 0.45, "", ""},
		{"put-fence8", "put 8 B, LAPI_Fence; completion counter", "put-completed", "put-fence", 8,
			1.3, "", "lapi"},
		{"get8", "get 8 B", "get", "", 8, 0.45, "", ""},
		{"fetch-and-add", "fetch-and-add (LAPI_Rmw64)", "fetch-and-add", "", 8, 0.45, "", ""},
		{"put-completed4k", "put 4 KiB, completion counter", "put-completed", "", 4 * KiB, 0, "",
			""},
		{"put-completed64k", "put 64 KiB, completion counter", "put-completed", "", 64 * KiB, 0, "",
			""},
		{"put-completed1m", "put 1 MiB, completion counter", "put-completed", "", MiB, 0, "", ""},
		{"get4k", "get 4 KiB", "get", "", 4 * KiB, 0, "", ""},
		{"get64k", "get 64 KiB", "get", "", 64 * KiB, 0, "", ""},
		{"get1m", "get 1 MiB", "get", "", MiB, 0, "", ""},
		{"put-rate8", "8-byte puts, 64 outstanding", "put-rate", "", 8, 2.5, "", ""},
		{"put-fence-rate8", "8-byte puts, LAPI_Fence after 64", "put-rate", "put-fence-rate", 8, 0,
			"", ""},
		{"put-fence-rate8-counter", "8-byte puts, LAPI_Fence after 64; completion counter",
			"put-rate", "put-fence-rate", 8, 0.9, "", "lapi"},
		{"am-rate8", "8-byte active messages, 64 outstanding", "am-rate", "", 8, 0, "", ""},
		{"put-bandwidth4k", "puts of 4 KiB, 64 outstanding", "put-bandwidth", "", 4 * KiB, 0, "",
			""},
		{"put-bandwidth64k", "puts of 64 KiB, 64 outstanding", "put-bandwidth", "", 64 * KiB, 1.4,
			"", ""},
		{"put-bandwidth1m", "puts of 1 MiB, 16 outstanding", "put-bandwidth", "", MiB, 1.5, "", ""},
		{"put-bandwidth4m", "puts of 4 MiB, 16 outstanding", "put-bandwidth", "", 4 * MiB, 1.5, "",
			""},
		{"get-bandwidth64k", "gets of 64 KiB, 64 outstanding", "get-bandwidth", "", 64 * KiB, 0, "",
			""},
		{"get-bandwidth1m", "gets of 1 MiB, 16 outstanding", "get-bandwidth", "", MiB, 0, "", ""},
		{"get-bandwidth4m", "gets of 4 MiB, 16 outstanding", "get-bandwidth", "", 4 * MiB, 0, "",
			""},
		{"put-cold64m", "put of 64 MiB, cold; bare double-copy pipeline", "put-cold", "", 64 * MiB,
			0, "", pipeline},
		{"gfence2", "LAPI_Gfence, 2 tasks", "barrier", "", 2, 0.75, "", ""},
		{"gfence4", "LAPI_Gfence, 4 tasks", "barrier", "", 4, 0.8, "", ""},
		{"gfence8", "LAPI_Gfence, 8 tasks", "barrier", "", 8, 0.6, "", ""},
		{"put-computing1m", "puts of 1 MiB to a target that computes, 16 outstanding, origin counter; process_vm_writev",
			"put-computing", "", MiB, 0, "", writev},
	}
}

// comparisonsUDP lists the rows of make bench-udp. An operation may have a row beside the bare
// sockets and one beside the peers.
func comparisonsUDP() []comparison {
	const KiB, MiB = 1 << 10, 1 << 20
	return []comparison{
		{"put8", "put 8 B, one way, target counter; bare ping-pong", "put", "", 8, 1.35, "",
			bareOneWay},
		{"put-completed8", "put 8 B, completion counter", "put-completed", "", 8, 0.75, "", ""},
		{"am8", "active message 8 B, one way", "am", "", 8, 0, "", ""},
		{"am64k", "active message 64 KiB, one way", "am", "", 64 * KiB, 0.6, "", ""},
		{"put64k", "put 64 KiB, one way, target counter", "put", "", 64 * KiB, 0.6, "", ""},
		{"get8", "get 8 B", "get", "", 8, 0, "", ""},
		{"fetch-and-add", "fetch-and-add (LAPI_Rmw64)", "fetch-and-add", "", 8, 0, "", ""},
		{"put-bandwidth64k", "puts of 64 KiB, 64 outstanding", "put-bandwidth", "", 64 * KiB, 0, "",
			""},
		{"put-bandwidth1m-bare", "puts of 1 MiB, 16 outstanding; bare stream", "put-bandwidth", "",
			MiB, 0.85, "", bareStream},
		{"put-bandwidth1m", "puts of 1 MiB, 16 outstanding", "put-bandwidth", "", MiB, 1.3, "", ""},
		{"put-rate8-bare", "8-byte puts, 64 outstanding; bare datagrams", "put-rate", "", 8, 10, "",
			bareRate},
		{"put-rate8", "8-byte puts, 64 outstanding", "put-rate", "", 8, 0, "", ""},
		{"loss1", "puts of 1 MiB, 1 % of datagrams lost; none lost", "put-bandwidth", "", MiB, 0.6,
			"lapi-loss1", "lapi"},
		{"loss10", "puts of 1 MiB, 10 % of datagrams lost; none lost", "put-bandwidth", "", MiB,
			0.2, "lapi-loss10", "lapi"},
		{"mac", "puts of 1 MiB, LAPI_AUTH=mac; LAPI_AUTH=cookie", "put-bandwidth", "", MiB, 0,
			"lapi-mac", "lapi"},
		{"plain", "puts of 1 MiB, LAPI_UDP_GSO=off; on", "put-bandwidth", "", MiB, 0, "lapi-plain",
			"lapi"},
		{"packets1400", "puts of 1 MiB, MP_UDP_PACKET_SIZE=1400; 64 KiB", "put-bandwidth", "", MiB,
			0, "lapi-1400", "lapi"},
	}
}

// ourOp is how lapibench names the row's operation.
func (c *comparison) ourOp() string {
	if c.ours != "" {
		return c.ours
	}
	return c.op
}

// ourOps are all operations of ours that the row needs.
func (c *comparison) ourOps() []string {
	if c.beside == "lapi" && c.ourOp() != c.op {
		return []string{c.ourOp(), c.op}
	}
	return []string{c.ourOp()}
}

// ourKey is the series of ours.
func (c *comparison) ourKey() Key {
	who := "lapi"
	if c.as != "" {
		who = c.as
	}
	return Key{who, c.ourOp(), c.size}
}

// moreIsBetter tells rates from times, by the unit.
func moreIsBetter(unit string) bool { return unit == "M/s" || unit == "GB/s" }

// choose returns those of all that names lists: names or patterns such as "put-*", separated by
// commas; "" means all. A name that fits none is an error.
func choose[T any](all []T, names string, name func(T) string) ([]T, error) {
	if names == "" {
		return all, nil
	}
	chosen := map[string]bool{}
	for n := range strings.SplitSeq(names, ",") {
		found := false
		for _, c := range all {
			ok, err := path.Match(strings.TrimSpace(n), name(c))
			if err != nil {
				return nil, fmt.Errorf("row %q: %w", n, err)
			}
			if ok {
				chosen[name(c)], found = true, true
			}
		}
		if !found {
			var have []string
			for _, c := range all {
				have = append(have, name(c))
			}
			return nil, fmt.Errorf("no row %q; there are %s", n, strings.Join(have, ", "))
		}
	}
	return slices.DeleteFunc(all, func(c T) bool { return !chosen[name(c)] }), nil
}

// sweep lists the sizes of an operation that is drawn against size, bytes.
func sweep(op string) []int {
	var sizes []int
	switch op {
	case "am", "put", "put-completed", "get":
		for n := 8; n <= 1<<20; n *= 4 {
			sizes = append(sizes, n)
		}
		sizes = append(sizes, 4096, 65536, 1<<20)
	case "put-bandwidth", "get-bandwidth":
		for n := 1 << 10; n <= 4<<20; n *= 4 {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// operation is the operation that a group of a comparison measures.
type operation struct {
	op    string
	ours  []string // operations of ours that stand beside op
	sizes []int
}

// operations gathers what the rows need, in their order, with the sizes for drawing if drawn.
// Barriers have one for each number of tasks.
func operations(rows []comparison, drawn bool) []operation {
	var all []operation
	for _, c := range rows {
		at := slices.IndexFunc(all, func(g operation) bool {
			return g.op == c.op && (c.op != "barrier" || slices.Contains(g.sizes, c.size))
		})
		if at < 0 {
			at = len(all)
			all = append(all, operation{op: c.op})
			if drawn {
				all[at].sizes = sweep(c.op)
			}
		}
		g := &all[at]
		g.sizes = append(g.sizes, c.size)
		slices.Sort(g.sizes)
		g.sizes = slices.Compact(g.sizes)
		for _, ours := range c.ourOps() {
			if !slices.Contains(g.ours, ours) {
				g.ours = append(g.ours, ours)
			}
		}
	}
	return all
}
