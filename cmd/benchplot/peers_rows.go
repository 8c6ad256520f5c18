package main

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// comparison is one row of make bench-peers: an operation of ours, its size, and what stands beside it.
type comparison struct {
	name   string // as ROWS names it
	what   string
	op     string  // the peers' operation
	ours   string  // ours, if it goes by another name than op
	size   int     // bytes; for barrier: tasks
	wanted float64 // ratio of ours to the best peer that is expected, 0: none; at most for times, at least for rates
	// as names the setting under which ours is measured, a participant beside "lapi"; "": the usual one
	as string
	// beside names what ours stands beside instead of the best peer: a raw limit, or "lapi", ours in the usual setting; "": the peers
	beside string
}

// comparisons lists the rows in the order of the table. Ratios wanted are the fast lane's goals, where there is one.
func comparisons() []comparison {
	const KiB, MiB = 1 << 10, 1 << 20
	return []comparison{
		{"am8", "active message 8 B, one way, target counter", "am", "", 8, 0.75, "", ""},
		{"am-probe8", "active message 8 B, one way, LAPI_Probe until the handler ran", "am", "am-probe", 8, 0.75, "", ""},
		{"put8", "put 8 B, one way, target counter", "put", "", 8, 0.40, "", ""},
		{"put-completed8", "put 8 B, completion counter", "put-completed", "", 8, 0.45, "", ""},
		{"get8", "get 8 B", "get", "", 8, 0.45, "", ""},
		{"fetch-and-add", "fetch-and-add (LAPI_Rmw64)", "fetch-and-add", "", 8, 0.45, "", ""},
		{"put-completed4k", "put 4 KiB, completion counter", "put-completed", "", 4 * KiB, 0, "", ""},
		{"put-completed64k", "put 64 KiB, completion counter", "put-completed", "", 64 * KiB, 0, "", ""},
		{"get4k", "get 4 KiB", "get", "", 4 * KiB, 0, "", ""},
		{"get64k", "get 64 KiB", "get", "", 64 * KiB, 0, "", ""},
		{"put-rate8", "8-byte puts, 64 outstanding", "put-rate", "", 8, 2.5, "", ""},
		{"put-fence-rate8", "8-byte puts, LAPI_Fence after 64", "put-rate", "put-fence-rate", 8, 0, "", ""},
		{"am-rate8", "8-byte active messages, 64 outstanding", "am-rate", "", 8, 0, "", ""},
		{"put-bandwidth4k", "puts of 4 KiB, 64 outstanding", "put-bandwidth", "", 4 * KiB, 0, "", ""},
		{"put-bandwidth64k", "puts of 64 KiB, 64 outstanding", "put-bandwidth", "", 64 * KiB, 1.4, "", ""},
		{"put-bandwidth1m", "puts of 1 MiB, 16 outstanding", "put-bandwidth", "", MiB, 1.5, "", ""},
		{"put-bandwidth4m", "puts of 4 MiB, 16 outstanding", "put-bandwidth", "", 4 * MiB, 1.5, "", ""},
		{"get-bandwidth64k", "gets of 64 KiB, 64 outstanding", "get-bandwidth", "", 64 * KiB, 0, "", ""},
		{"get-bandwidth1m", "gets of 1 MiB, 16 outstanding", "get-bandwidth", "", MiB, 0, "", ""},
		{"get-bandwidth4m", "gets of 4 MiB, 16 outstanding", "get-bandwidth", "", 4 * MiB, 0, "", ""},
		{"put-cold64m", "put of 64 MiB, cold; bare double-copy pipeline", "put-cold", "", 64 * MiB, 0, "", ""},
		{"gfence2", "LAPI_Gfence, 2 tasks", "barrier", "", 2, 0.75, "", ""},
		{"gfence4", "LAPI_Gfence, 4 tasks", "barrier", "", 4, 0.8, "", ""},
		{"gfence8", "LAPI_Gfence, 8 tasks", "barrier", "", 8, 0.6, "", ""},
		{"put-computing1m", "puts of 1 MiB to a target that computes, 16 outstanding, origin counter; process_vm_writev", "put-computing", "", MiB, 0, "", ""},
	}
}

// ourOp is how lapibench names the row's operation.
func (c *comparison) ourOp() string {
	if c.ours != "" {
		return c.ours
	}
	return c.op
}

// moreIsBetter tells rates from times, by the unit.
func moreIsBetter(unit string) bool { return unit == "M/s" || unit == "GB/s" }

// chooseRows returns the rows of all that names lists: names or patterns such as "put-*", separated by commas; "" means all. A name
// that fits none is an error.
func chooseRows(all []comparison, names string) ([]comparison, error) {
	if names == "" {
		return all, nil
	}
	chosen := map[string]bool{}
	for _, n := range strings.Split(names, ",") {
		found := false
		for _, c := range all {
			ok, err := path.Match(strings.TrimSpace(n), c.name)
			if err != nil {
				return nil, fmt.Errorf("row %q: %w", n, err)
			}
			if ok {
				chosen[c.name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no row %q; there are %s", n, strings.Join(rowNames(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(c comparison) bool { return !chosen[c.name] }), nil
}

func rowNames(all []comparison) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// peerGroup is what is measured in turn: one operation, ours and the peers', at all its sizes.
type peerGroup struct {
	op    string
	ours  []string // operations of ours that stand beside op
	sizes []int
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

// peerGroups gathers what the rows need, in their order, with the sizes for drawing if drawn. Barriers have a group for each number
// of tasks.
func peerGroups(rows []comparison, drawn bool) []peerGroup {
	var groups []peerGroup
	for _, c := range rows {
		at := slices.IndexFunc(groups, func(g peerGroup) bool {
			return g.op == c.op && (c.op != "barrier" || slices.Contains(g.sizes, c.size))
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, peerGroup{op: c.op})
			if drawn {
				groups[at].sizes = sweep(c.op)
			}
		}
		g := &groups[at]
		g.sizes = append(g.sizes, c.size)
		sort.Ints(g.sizes)
		g.sizes = slices.Compact(g.sizes)
		if !slices.Contains(g.ours, c.ourOp()) {
			g.ours = append(g.ours, c.ourOp())
		}
	}
	return groups
}
