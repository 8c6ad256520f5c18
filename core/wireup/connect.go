package wireup

import (
	"slices"

	"golang.org/x/sys/unix"

	"lapi/core/job"
	"lapi/transport"
	"lapi/transport/udp"
)

// meet exchanges what the links' peers need, and connects.
func (n *Net) meet() error {
	parts, err := n.Session.Exchange(n.Card(true))
	if err != nil {
		return n.fail(Unknown, "cannot meet the other tasks: %v", err)
	}
	defer CloseFiles(parts...)
	n.offerSpare()
	places := make([][]byte, n.job.NumTasks)
	for i := range n.job.NumTasks {
		var c Card
		if len(parts) > i && parts[i].Data != nil {
			if c, err = DecodeCard(parts[i].Data, n.cfg.Card); err != nil {
				return n.fail(Unknown, "task %d: %v", i, err)
			}
		}
		if places[i] = c.Where; i == n.me && c.Where == nil {
			places[i] = where{machineID(), ownProcessors()}.append(nil)
		}
		if err := n.connect(i, &c, parts); err != nil {
			return err
		}
	}
	n.chooseProcessors(places)
	if n.Shm != nil {
		n.Shm.ShareProcessors(n.crowded)
	}
	return n.dropUnused()
}

// dropUnused closes the links by which no task is reached: a look at a socket costs a system call.
// A job started by hand keeps its sockets: its tasks may rejoin elsewhere. So does a job whose
// adapters may fail.
func (n *Net) dropUnused() (err error) {
	if n.Verbs != nil && !n.byVerbs {
		err = n.Verbs.Close()
		n.Verbs = nil
	}
	if n.UDP != nil && n.Verbs != nil && !n.byUDP && !n.anySpare && n.job.Gathered() {
		err = n.UDP.Close()
		n.UDP = nil
	}
	return err
}

// CloseFiles closes the descriptors of parts that no link took over: those of this task's own part,
// and of tasks not reached by shared memory.
func CloseFiles(parts ...job.Part) {
	for _, p := range parts {
		for _, fd := range p.Files {
			unix.Close(fd)
		}
	}
}

// connect chooses the link to a task: itself, shared memory if both have it, RDMA if both have an
// adapter, UDP.
func (n *Net) connect(task int, c *Card, parts []job.Part) error {
	if task == n.me {
		return n.use(task, Peer{Link: n.Self}, n.Self.Address())
	}
	onNode := n.Shm != nil && slices.Contains(n.OnNode, task)
	if onNode && parts[task].Data == nil { // this task has rejoined, and the other has not
		n.cfg.Linked(task, Peer{Link: n.Shm, Shared: true, Absent: true})
		if err := n.Shm.Await(transport.Endpoint(task)); err != nil {
			return n.fail(NoSharedMemory, "task %d: %v", task, err)
		}
		return nil
	}
	if onNode && c.Shm != nil {
		files := parts[task].Files
		parts[task].Files = nil // the link takes them over
		return n.use(task, Peer{Link: n.Shm, Shared: true}, transport.Address{Bytes: c.Shm,
			Files: files})
	}
	if onNode {
		n.happened(LevelFailure, SharedMemoryAbsent, "(task %d has none)", task)
	}
	if n.job.Shm == job.ShmOnly {
		return n.fail(NoSharedMemory, "LAPI_USE_SHM=only, but task %d has no shared memory", task)
	}
	if n.Verbs != nil && c.Verbs != nil {
		n.byVerbs = true
		return n.use(task, Peer{Link: n.Verbs}, n.VerbsAddress(transport.Endpoint(task), c))
	}
	if n.job.US.Only && n.cfg.OpenPort != nil {
		return n.fail(NoAdapter, "LAPI_US=only, but task %d has no adapter", task)
	}
	n.byUDP = true
	if n.UDP == nil { // shared memory with that task failed over there: UDP after all
		if err := n.openUDP(); err != nil {
			return err
		}
	}
	addr := c.UDP
	if n.Listed != nil {
		addr = nil
		if a := n.Listed[task]; a.IsValid() && a.Port() != 0 && !a.Addr().IsUnspecified() {
			addr = udp.EncodeAddress(a)
		}
	}
	if addr == nil {
		return n.noAddress(task, c)
	}
	return n.use(task, Peer{Link: n.UDP}, transport.Address{Bytes: addr})
}

// noAddress is the failure that a task has no address for UDP. Under a launcher each task has one,
// unless it reaches all tasks by shared memory: then the two tasks disagree about shared memory.
func (n *Net) noAddress(task int, c *Card) error {
	switch {
	case n.Listed != nil && n.job.Shm != job.ShmNo && slices.Contains(n.job.CommonTasks, task):
		return n.fail(BadAddress, "task %d has no shared memory, and the UDP address list has no "+
			"address and port for it; LAPI_USE_SHM must be the same for all tasks of a node", task)
	case n.Listed != nil:
		return n.fail(BadAddress, "the UDP address list has no address and port for task %d", task)
	case c.Shm != nil:
		return n.fail(NoSharedMemory, "task %d is to be reached by shared memory only, and this task "+
			"does not share memory with it; LAPI_USE_SHM must be the same for all tasks of a node",
			task)
	}
	return n.fail(BadAddress, "there is no UDP address for task %d", task)
}

func (n *Net) use(task int, p Peer, a transport.Address) error {
	n.cfg.Linked(task, p)
	err := p.Link.Connect(transport.Endpoint(task), a)
	if err == nil {
		return nil
	}
	n.say(0, "cannot reach task %d: %v", task, err)
	if p.Shared {
		n.happened(LevelFailure, SharedMemoryDetach, "(task %d's: %v)", task, err)
		return NoSharedMemory
	}
	if p.Link == transport.Link(n.Verbs) {
		return NoAdapter
	}
	return NoSocket
}

// SingleCopy says whether l copies straight between this task's memory and that of ep's.
func SingleCopy(l transport.Link, ep transport.Endpoint) bool {
	if d, ok := l.(interface {
		CanDirect(transport.Endpoint) bool
	}); ok {
		return d.CanDirect(ep)
	}
	if _, queues := l.(VerbsLink); queues { // it copies so, but not at once
		return false
	}
	const both = transport.CapPut | transport.CapGet
	return l.Limits().Caps&both == both
}
