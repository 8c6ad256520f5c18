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
	// needs names a program without which it cannot run, and the Debian package that has it; ""
	// if it needs none.
	needs, debian string
	// programs says how to measure an operation at sizes; nil: it has no such operation.
	programs func(g *operation, sizes []int) []program
}

// world is a comparison: its rows and who takes part, ours first.
type world struct {
	rows         []comparison
	participants []participant
}

// peerNames are the columns of the table.
var peerNames = []string{"ucx", "ucx-tag", "openmpi", "openmpi-ucx", "mpich", "libfabric"}

// world is the comparison that the options ask for. With -before, the other tree's build stands in
// for the peers.
func (o *options) world(p plan) world {
	w := world{comparisons(), p.overMemory(o)}
	if o.udp {
		w = world{comparisonsUDP(), p.overUDP(o)}
	}
	if o.before != "" {
		w.participants = slices.DeleteFunc(w.participants,
			func(q participant) bool { return slices.Contains(peerNames, q.name) })
		other := p.lapi("before", o.udp)
		inner := other.programs
		other.programs = func(g *operation, sizes []int) []program {
			all := inner(g, sizes)
			for i := range all {
				all[i].name = filepath.Join(o.before, "bench", all[i].name)
				all[i].launcher = []string{filepath.Join(o.before, "bin", "lapirun")}
			}
			return all
		}
		w.participants = slices.Insert(w.participants, 1, other)
		for i := range w.rows {
			if w.rows[i].beside == "" {
				w.rows[i].beside, w.rows[i].wanted = "before", 0
			}
		}
	}
	return w
}

func (p plan) overMemory(o *options) []participant {
	return []participant{
		p.lapi("lapi", false),
		p.ucx("ucx", ucxTests, o, "UCX_TLS=posix,cma"),
		p.ucx("ucx-tag", ucxTagTests, o, "UCX_TLS=posix,cma"),
		p.mpi("openmpi", "openmpi", "--mca", "pml", "ob1", "--mca", "btl", "vader,self"),
		p.mpi("openmpi-ucx", "openmpi", "--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any",
			"--mca", "pml_ucx_devices", "any", "--mca", "osc", "ucx"),
		p.mpi("mpich", "mpich"),
		p.libfabric(o),
		p.bare(pipeline, "put-cold", "pipeline"),
		p.bare(pipeline, "put-bandwidth", "pipeline"),
		p.bare(writev, "put-computing", "writev-computing"),
	}
}

// overUDP lists everybody over the loopback interface's IP: ours in several settings, others over
// TCP.
func (p plan) overUDP(o *options) []participant {
	tcp := []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}
	return []participant{
		p.lapi("lapi", true),
		p.setting("lapi-loss1", "LAPI_UDP_LOSS=1:1"),
		p.setting("lapi-loss10", "LAPI_UDP_LOSS=10:1"),
		p.setting("lapi-mac", "LAPI_AUTH=mac"),
		p.setting("lapi-plain", "LAPI_UDP_GSO=off"),
		p.setting("lapi-1400", "MP_UDP_PACKET_SIZE=1400"),
		p.ucx("ucx", ucxTests, o, tcp...),
		p.ucx("ucx-tag", ucxTagTests, o, tcp...),
		p.mpi("openmpi", "openmpi", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca",
			"btl_tcp_if_include", "lo", "--mca", "osc", "pt2pt"),
		withEnvironment(p.mpi("mpich", "mpich"), append(tcp, "MPIR_CVAR_NOLOCAL=1")...),
		p.bare(bareOneWay, "put", "udp-pingpong"),
		p.bare(bareStream, "put-bandwidth", "udp-stream"),
		p.bare(bareRate, "put-rate", "udp-rate"),
	}
}

// missing says why a participant cannot run here; "" if it can.
func (q *participant) missing(o *options) string {
	if q.needs == "" {
		return ""
	}
	_, there := exec.LookPath(q.needs)
	if there != nil {
		_, there = exec.LookPath(filepath.Join(o.bin, q.needs))
	}
	if there == nil {
		return ""
	}
	return fmt.Sprintf("%s is missing (Debian: %s)", q.needs, q.debian)
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

// overNetwork is the environment of ours: over UDP, over shared memory where there is a choice, or
// alone.
func overNetwork(udp bool) []string {
	if udp {
		return []string{"MP_EUILIB=ip", "LAPI_USE_SHM=no"}
	}
	return []string{"MP_EUILIB=ip", "LAPI_USE_SHM=yes"}
}

// lapi is this library.
func (p plan) lapi(name string, udp bool) participant {
	return participant{name: name, programs: func(g *operation, sizes []int) []program {
		pr := program{who: name, ours: true, tasks: 2, name: "lapibench", env: overNetwork(udp)}
		switch g.op {
		case "barrier":
			pr.tasks = sizes[0]
			pr.args, pr.op = p.at([]int{8}, "gfence"), g.op
		case "put-computing":
			pr.args = p.at(sizes, "compare-computing")
			pr.ordinary = true // the library's service thread needs a turn, too
		default:
			pr.args = p.at(sizes, "compare", "--ops="+strings.Join(g.ours, ","))
		}
		return []program{pr}
	}}
}

// setting is ours over UDP with more in its environment, where its bandwidth is compared with the
// usual setting's.
func (p plan) setting(name string, env ...string) participant {
	q := p.lapi(name, true)
	inner := q.programs
	q.programs = func(g *operation, sizes []int) []program {
		if g.op != "put-bandwidth" {
			return nil
		}
		return inner(g, sizes)
	}
	return withEnvironment(q, env...)
}

// withEnvironment is q with more in its programs' environment.
func withEnvironment(q participant, env ...string) participant {
	inner := q.programs
	q.programs = func(g *operation, sizes []int) []program {
		all := inner(g, sizes)
		for i := range all {
			all[i].env = slices.Concat(all[i].env, env)
		}
		return all
	}
	return q
}

// mpi is an MPI library; family is how Debian calls its commands.
func (p plan) mpi(name, family string, options ...string) participant {
	programs := func(g *operation, sizes []int) []program {
		pr := program{who: name, tasks: 2, name: "mpibench." + family,
			launcher: append([]string{"mpirun." + family}, options...)}
		if family == "openmpi" {
			pr.launcher = append(pr.launcher, "--oversubscribe", "--bind-to", "none")
			// It refuses to be started by root, as it is in containers, unless told
			// twice.
			pr.env = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
		}
		if name == "openmpi-ucx" {
			pr.env = append(pr.env, "UCX_TLS=posix,cma,self")
		}
		switch g.op {
		case "put", "put-computing": // no counter at the target; no progress without a call
			return nil
		case "barrier":
			pr.tasks = sizes[0]
			pr.args, pr.op = p.at([]int{8}, "barrier"), g.op
		default:
			pr.args = p.at(sizes, "compare", "--ops="+g.op)
		}
		return []program{pr}
	}
	return participant{name: name, needs: "mpibench." + family, debian: map[string]string{
		"openmpi": "openmpi-bin, libopenmpi-dev", "mpich": "mpich, libmpich-dev"}[family],
		programs: programs}
}

// bare is a test of rawbench that stands beside op.
func (p plan) bare(name, op, test string) participant {
	return participant{name: name, programs: func(g *operation, sizes []int) []program {
		if g.op != op {
			return nil
		}
		return []program{{who: name, name: "rawbench", args: p.at(sizes, test), op: op,
			ordinary: op == "put-computing"}}
	}}
}
