package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// participant is one side of a comparison: this library, a peer, or a raw limit.
type participant struct {
	name string
	// bench is its program: lapibench, rawbench, mpibench.* or one of others.
	bench string
	// test is that of rawbench, and names the set of tests of ucx_perftest.
	test    string
	op      string   // the only operation that it takes part in; "": all that it has
	options []string // of its launcher
	env     []string
	build   string // of another tree, instead of this one's
	route   string // of bareRoutes
}

// debian names the packages that have the peers' programs.
var debian = map[string]string{
	"ucx_perftest": "ucx-utils", "fi_pingpong": "libfabric-bin",
	"mpibench.openmpi": "openmpi-bin, libopenmpi-dev", "mpibench.mpich": "mpich, libmpich-dev",
}

// peerNames are the columns of the table.
var peerNames = []string{"ucx", "ucx-tag", "openmpi", "openmpi-ucx", "mpich", "libfabric"}

// overMemory lists everybody over shared memory, ours first.
func overMemory() []participant {
	ours := []string{"MP_EUILIB=ip", "LAPI_USE_SHM=yes", "LAPI_ROUTE=show"}
	ucx := []string{"UCX_TLS=posix,cma"}
	all := []participant{
		{name: "lapi", bench: "lapibench", env: ours},
		{name: "ucx", bench: "ucx_perftest", env: ucx},
		{name: "ucx-tag", bench: "ucx_perftest", test: "tag", env: ucx},
		{name: "openmpi", bench: "mpibench.openmpi",
			options: strings.Fields("--mca pml ob1 --mca btl vader,self")},
		{name: "openmpi-ucx", bench: "mpibench.openmpi", env: []string{"UCX_TLS=posix,cma,self"},
			options: strings.Fields(
				"--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any --mca osc ucx")},
		{name: "mpich", bench: "mpibench.mpich"},
		{name: "libfabric", bench: "fi_pingpong", op: "am"},
		{name: pipeline, bench: "rawbench", op: "put-cold", test: "pipeline"},
		{name: pipeline, bench: "rawbench", op: "put-bandwidth", test: "pipeline"},
		{name: writev, bench: "rawbench", op: "put-computing", test: "writev-computing"},
	}
	for _, route := range bareRoutes {
		all = append(all, participant{name: bareRoute(route), bench: "rawbench", route: route})
	}
	return all
}

// overUDP lists everybody over the loopback interface's IP: ours in several settings, others over
// TCP.
func overUDP() []participant {
	ours := []string{"MP_EUILIB=ip", "LAPI_USE_SHM=no"}
	tcp := []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}
	setting := func(name, variable string) participant {
		return participant{name: name, bench: "lapibench", op: "put-bandwidth",
			env: append(slices.Clone(ours), variable)}
	}
	return []participant{
		{name: "lapi", bench: "lapibench", env: ours},
		setting("lapi-loss1", "LAPI_UDP_LOSS=1:1"),
		setting("lapi-loss10", "LAPI_UDP_LOSS=10:1"),
		setting("lapi-mac", "LAPI_AUTH=mac"),
		setting("lapi-plain", "LAPI_UDP_GSO=off"),
		setting("lapi-1400", "MP_UDP_PACKET_SIZE=1400"),
		{name: "ucx", bench: "ucx_perftest", env: tcp},
		{name: "ucx-tag", bench: "ucx_perftest", test: "tag", env: tcp},
		{name: "openmpi", bench: "mpibench.openmpi",
			options: strings.Fields(
				"--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo --mca osc pt2pt")},
		{name: "mpich", bench: "mpibench.mpich", env: append(slices.Clone(tcp),
			"MPIR_CVAR_NOLOCAL=1")},
		{name: bareOneWay, bench: "rawbench", op: "put", test: "udp-pingpong"},
		{name: bareStream, bench: "rawbench", op: "put-bandwidth", test: "udp-stream"},
		{name: bareRate, bench: "rawbench", op: "put-rate", test: "udp-rate"},
	}
}

// world is the comparison that the options ask for: its rows and who takes part. With -before, the
// other tree's build stands in for the peers.
func (o *options) world() (rows []comparison, all []participant) {
	rows, all = comparisons(), overMemory()
	if o.udp {
		rows, all = comparisonsUDP(), overUDP()
	}
	if o.before == "" {
		return rows, all
	}
	all = slices.DeleteFunc(all, func(q participant) bool {
		return slices.Contains(peerNames,
			q.name)
	})
	other := all[0]
	other.name, other.build = "before", o.before
	for i := range rows {
		if rows[i].beside == "" {
			rows[i].beside, rows[i].wanted = "before", 0
		}
	}
	return rows, slices.Insert(all, 1, other)
}

// missing says why a participant cannot run here; "" if it can.
func (q *participant) missing(o *options) string {
	for _, name := range []string{q.bench, filepath.Join(o.bin, q.bench)} {
		if _, err := exec.LookPath(name); err == nil || debian[q.bench] == "" {
			return ""
		}
	}
	return fmt.Sprintf("%s is missing (Debian: %s)", q.bench, debian[q.bench])
}

// programs says how to measure an operation at sizes; nil: the participant has no such operation.
func (q *participant) programs(p plan, o *options, g *operation, sizes []int) []program {
	if q.op != "" && q.op != g.op {
		return nil
	}
	pr := program{who: q.name, name: q.bench, tasks: 2, env: q.env}
	test, family := "compare", ""
	switch q.bench {
	case "ucx_perftest":
		return q.ucx(o, g.op, sizes)
	case "fi_pingpong":
		return q.pingpong(sizes)
	case "rawbench":
		if q.route != "" {
			return q.bare(p, g.op, sizes)
		}
		pr.tasks, pr.op, pr.ordinary = 0, g.op, g.op == "put-computing"
		pr.args = p.at(sizes, q.test)
		return []program{pr}
	case "lapibench":
		pr.ours = true
		if g.op == "put-computing" {
			test = "compare-computing"
			pr.ordinary = true // the library's service thread needs a turn, too
		}
		if q.build != "" {
			pr.name, pr.launcher = filepath.Join(q.build, "bench", q.bench),
				[]string{filepath.Join(q.build, "bin/lapirun")}
		}
	default:
		if g.op == "put" || g.op == "put-computing" {
			return nil // no counter at the target; no progress without a call
		}
		family = strings.TrimPrefix(q.bench, "mpibench.")
		pr.launcher = slices.Concat([]string{"mpirun." + family}, q.options)
		if family == "openmpi" {
			pr.launcher = append(pr.launcher, "--oversubscribe", "--bind-to", "none")
			// Open MPI refuses to be started by root, as in containers, unless two
			// variables are set.
			pr.env = append(slices.Clone(pr.env), "OMPI_ALLOW_RUN_AS_ROOT=1",
				"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		}
	}
	switch {
	case g.op == "barrier":
		test = "barrier"
		if pr.ours {
			test = "gfence"
		}
		pr.tasks, pr.op = sizes[0], g.op
		pr.args = p.at([]int{8}, test)
	case test == "compare-computing":
		pr.args = p.at(sizes, test)
	case pr.ours:
		pr.args = p.at(sizes, test, "--ops="+strings.Join(g.ours, ","))
	default:
		pr.args = p.at(sizes, test, "--ops="+g.op)
	}
	return []program{pr}
}

// bare measures a bare route.
func (q *participant) bare(p plan, op string, sizes []int) []program {
	test, sizes := bareTest(q.route, op), bareSizes(q.route, sizes)
	if test == "" || len(sizes) == 0 {
		return nil
	}
	return []program{{who: q.name, name: q.bench, op: op, args: p.at(sizes, test)}}
}

func joinSizes(sizes []int) string {
	var s []string
	for _, n := range sizes {
		s = append(s, strconv.Itoa(n))
	}
	return strings.Join(s, ",")
}

func (p plan) at(sizes []int, words ...string) []string {
	words = append(words, "--sizes="+joinSizes(sizes), "--seconds="+p.seconds)
	if p.offset != 0 {
		words = append(words, "--offset="+strconv.Itoa(p.offset))
	}
	return words
}
