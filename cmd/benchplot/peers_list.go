package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// participant is one side of a comparison: this library, a peer, or a raw limit.
type participant struct {
	side Side
	name string // "lapi", a peer's, a raw limit's
	// needs names a program without which it cannot run, and the Debian package that has it; "" if it needs none
	needs, debian string
	// programs says how to measure a group's operation at sizes; nil: it has no such operation.
	programs func(g *peerGroup, sizes []int) []program
}

// foreign is a program that knows nothing of this harness: its own pair of processes and its own output.
type foreign func(ctx context.Context, o *options) (rows []Row, used time.Duration, err error)

// participants lists everybody, ours first.
func participants(p plan) []participant {
	return []participant{
		{side: Ours, name: "lapi", programs: p.lapi},
		{side: Peer, name: "ucx", needs: "ucx_perftest", debian: "ucx-utils", programs: p.ucx(ucxTests, "UCX_TLS=posix,cma")},
		{side: Peer, name: "ucx-tag", needs: "ucx_perftest", debian: "ucx-utils", programs: p.ucx(ucxTagTests, "UCX_TLS=posix,cma")},
		p.mpi("openmpi", "openmpi", "--mca", "pml", "ob1", "--mca", "btl", "vader,self"),
		p.mpi("openmpi-ucx", "openmpi", "--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any", "--mca", "osc", "ucx"),
		p.mpi("mpich", "mpich"),
		{side: Peer, name: "libfabric", needs: "fi_pingpong", debian: "libfabric-bin", programs: p.libfabric},
		{side: Raw, name: "pipeline", programs: p.bare("put-cold", "pipeline")},
		{side: Raw, name: "pipeline", programs: p.bare("put-bandwidth", "pipeline")},
		{side: Raw, name: "process_vm_writev", programs: p.bare("put-computing", "writev-computing")},
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

func (p plan) lapi(g *peerGroup, sizes []int) []program {
	pr := program{side: Ours, medium: "lapi", tasks: 2, name: "lapibench", env: []string{"MP_EUILIB=ip", "LAPI_USE_SHM=yes"}}
	if p.network {
		pr.env[1] = "LAPI_USE_SHM=no"
	}
	switch g.op {
	case "barrier":
		pr.tasks = sizes[0]
		pr.args = p.at([]int{8}, "gfence")
	case "put-computing":
		pr.args = p.at(sizes, "compare-computing")
		pr.ordinary = true // the library's service thread needs a turn, too
	default:
		pr.args = p.at(sizes, "compare", "--ops="+strings.Join(g.ours, ","))
	}
	return []program{pr}
}

// mpi is an MPI library; family is how Debian calls its commands.
func (p plan) mpi(name, family string, options ...string) participant {
	programs := func(g *peerGroup, sizes []int) []program {
		pr := program{side: Peer, medium: name, tasks: 2, name: "mpibench." + family, launcher: append([]string{"mpirun." + family}, options...)}
		if family == "openmpi" {
			pr.launcher = append(pr.launcher, "--oversubscribe", "--bind-to", "none")
			// it refuses to be started by root, as it is in containers, unless told twice
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
			pr.args = p.at([]int{8}, "barrier")
		default:
			pr.args = p.at(sizes, "compare", "--ops="+g.op)
		}
		return []program{pr}
	}
	return participant{side: Peer, name: name, needs: "mpibench." + family, debian: map[string]string{
		"openmpi": "openmpi-bin, libopenmpi-dev", "mpich": "mpich, libmpich-dev"}[family], programs: programs}
}

// bare is a test of rawbench that stands beside op.
func (p plan) bare(op, test string) func(*peerGroup, []int) []program {
	return func(g *peerGroup, sizes []int) []program {
		if g.op != op {
			return nil
		}
		return []program{{side: Raw, name: "rawbench", args: p.at(sizes, test), ordinary: op == "put-computing"}}
	}
}
