package wireup

import (
	"runtime"
	"slices"

	"lapi/core/job"
	"lapi/transport/shm"
)

// chooseNode decides which tasks are reached by shared memory: the tasks of this node, at most
// shm.MaxTasks of them.
func (n *Net) chooseNode() error {
	n.remote = n.job.NumTasks - 1
	if n.job.Shm == job.ShmNo {
		return nil
	}
	node := append(slices.Clone(n.job.CommonTasks), n.me)
	slices.Sort(node)
	if n.job.Shm == job.ShmOnly && (len(node) < n.job.NumTasks || len(node) > shm.MaxTasks) {
		return n.fail(NoSharedMemory,
			"LAPI_USE_SHM=only, but %d of %d tasks are on this node (at most %d can share "+
				"memory); see MP_COMMON_TASKS",
			len(node), n.job.NumTasks, shm.MaxTasks)
	}
	if len(node) > shm.MaxTasks {
		node = node[:shm.MaxTasks]
	}
	if !slices.Contains(node, n.me) || len(node) == 1 {
		if n.job.NumTasks == 1 {
			n.happened(LevelFailure, SharedMemorySingle, "LAPI_USE_SHM has no effect.")
		}
		return nil
	}
	n.OnNode, n.remote = node, n.job.NumTasks-len(node)
	return nil
}

// routes is LAPI_ROUTE as the link takes it.
var routes = [...]shm.Route{job.RouteAuto: shm.RouteAuto, job.RoutePipeline: shm.RoutePipeline,
	job.RouteOrigin: shm.RouteOrigin, job.RouteTarget: shm.RouteTarget,
	job.RouteHalves: shm.RouteHalves, job.RouteWide: shm.RouteWide,
	job.RouteString: shm.RouteString, job.RouteStreaming: shm.RouteStreaming}

// openShared makes this task's segment. Without it the tasks are reached by UDP, where that is
// allowed.
func (n *Net) openShared() error {
	if n.OnNode == nil {
		return nil
	}
	// the others' processors are not known yet
	crowded := len(n.OnNode) > runtime.NumCPU()
	area, most := shm.Area(len(n.OnNode), crowded)
	l, err := shm.New(shm.Config{Task: n.me, NumTasks: n.job.NumTasks, Tasks: n.OnNode,
		Clock: n.cfg.Clock, PeerFailed: n.cfg.PeerFailed,
		Timeout: n.cfg.Timeout, NoTimeout: n.job.NoTimeout,
		Barrier: n.cfg.Barrier && n.remote == 0,
		Area:    area, AreaMost: most, Route: routes[n.job.Route],
		Tracer: n.job.LauncherProcess()})
	if err == nil {
		n.Shm = l
		return nil
	}
	n.happened(LevelFailure, SharedMemoryFailed, "(%v)", err)
	n.happened(LevelFailure, SharedMemoryUnused,
		"Tasks are reached by UDP if LAPI_USE_SHM allows it.")
	n.OnNode, n.remote = nil, n.job.NumTasks-1
	if n.job.Shm == job.ShmOnly {
		return NoSharedMemory
	}
	return nil
}

// Crowded says whether this task has to share processors with others, by the processors that all
// tasks have said they may run on.
func (n *Net) Crowded() bool { return n.crowded }

// AnyCrowded says whether some task of this machine has to share processors; all its tasks get the
// same answer.
func (n *Net) AnyCrowded() bool { return n.anyCrowded }

// Patience is how many turns a waiting thread spins, and then yields, before it sleeps.
//
// While this task has a processor of its own a thread spins about as long as a wake-up
// costs. Then it yields, which leaves the processor to any other thread, about as long as a peer
// takes to copy some MiB: a sleep and a wake-up would only lengthen that (1 MiB there and back:
// from 200 to 130 us). Else it does not spin at all: another task needs the processor, and gets it
// after each empty turn. Measured with 4 and 8 tasks on 2 processors: a Gfence takes half as long
// as with 20 turns before the first yield, over shared memory and UDP.
func (n *Net) Patience() (spin, yield int) {
	if n.Crowded() {
		return 0, 100
	}
	return 400, 1000
}
