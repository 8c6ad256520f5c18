package job

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/adapters"
	"lapi/core/job/hub"
	"lapi/core/job/wire"
	"lapi/descriptor"
	"lapi/invariant"
)

// In a job whose tasks have met (Meet) one task of each node has the node's hub
// in its process (package hub): goroutines, which go on whatever the task does. It is the lowest
// task that lives. The others of the node reach it by a socket in the abstract name space, hubs
// each other by TCP.
//
// Every task listens for both from before its card goes out until it ends; for TCP only if there
// are other nodes. So a task that refuses a connection has ended, and no two tasks can take each
// other for the lowest:
//
//   - a task that misses its hub tries all tasks of its node, from the lowest on, up to itself;
//   - a hub that misses another node's does the same by TCP;
//   - a task that is reached so creates the hub if all before it have ended. Else it hangs up.
//
// So a hub is created when a task looks for it, and not while tasks end one after another.
type nodeHub struct {
	task  int
	nodes []int       // the node of each task
	mates []int       // the tasks of this node, ascending, this one too
	hosts []fieldCard // of each node its lowest task's
	// by task, with nothing else of those that this one may never talk to: where its node's tasks
	// find it, and other nodes' hubs
	sockets [][socketSize]byte
	ports   []uint16
	key     []byte // by which hubs prove their messages
	in      entrances

	mu    sync.Mutex
	hub   *hub.Hub     // of this node, once it is in this process
	ended map[int]bool // tasks of this node that are known to have ended
}

const (
	hubLimit   = 60 * time.Second // for all hubs to reach each other, or be reached
	dialLimit  = 5 * time.Second  // for one address of a hub
	acceptRest = 10 * time.Second // longer than hubLimit: the dialing hub reports the failure
	// a hub answers a call at once, unless its machine is loaded
	firstCall = time.Second
	lastCall  = 10 * time.Second
	// between two tries
	firstRetry = time.Millisecond
	lastRetry  = 50 * time.Millisecond
	// between two looks whether a task of the node that has not come has ended
	firstLook = 100 * time.Millisecond
	lastLook  = time.Second
)

// entrances are where a task listens for the tasks of its node, and for other nodes' hubs.
type entrances struct {
	socket  *os.File     // in the abstract name space
	door    net.Listener // TCP; nil: there is none
	doorErr error        // why; it is missed only where there are several nodes
}

// open begins to listen at both, and writes on the task's card where.
func (in *entrances) open(f *fieldCard) error {
	fd, err := wire.Listen(hubName(f.socket))
	if err != nil {
		return fmt.Errorf("a socket for the tasks of this node: %w", err)
	}
	in.socket = os.NewFile(uintptr(fd), "hub") // non-blocking, so the poller takes it
	if in.door, in.doorErr = net.Listen("tcp", ":0"); in.doorErr != nil {
		in.door = nil
	} else {
		f.port = uint16(in.door.Addr().(*net.TCPAddr).Port)
	}
	return nil
}

func (in *entrances) close() {
	in.socket.Close()
	in.shut()
}

// shut closes the door.
func (in *entrances) shut() {
	if in.door != nil {
		in.door.Close()
	}
}

// hubName is the name at which the tasks of its node find a task. It is random, so that no other
// task ever has it.
func hubName(socket [socketSize]byte) string {
	return fmt.Sprintf("@lapi/%d/hub/%x", os.Geteuid(), socket)
}

// reachHub begins this process's part in its node's hub, and returns the socket that sessions say
// hello on. It takes the entrances over unless there is an error.
func (m *meeting) reachHub(c *Config, all []fieldCard, in entrances) (control int, err error) {
	several := slices.Max(m.nodes) > 0
	if several && in.doorErr != nil {
		return -1, fmt.Errorf("a TCP socket for the hub of this node: %w", in.doorErr)
	}
	n := &nodeHub{task: c.Task, nodes: m.nodes, key: m.key, in: in, ended: make(map[int]bool)}
	n.remember(all)
	if c.keyFile != "" {
		if n.key, err = readKeyFile(c.keyFile); err != nil {
			return -1, err
		}
	}
	m.hub = n
	if EndsAnswered != nil {
		EndsAnswered()
	}
	invariant.Go(func() { admitTasks(n.in.socket, n.admit) })
	if several {
		invariant.Go(n.hearHubs)
	} else {
		in.shut()
	}
	control, _, err = hub.Keep(hub.Owner{Task: n.task, NumTasks: len(n.nodes), Reach: n.reach,
		Answered: EndAnswered})
	return control, err
}

// remember keeps what is needed of all tasks' cards.
func (n *nodeHub) remember(all []fieldCard) {
	n.sockets, n.ports = make([][socketSize]byte, len(all)), make([]uint16, len(all))
	for t, node := range n.nodes {
		if node == n.nodes[n.task] {
			n.mates = append(n.mates, t)
		}
		if node == len(n.hosts) {
			n.hosts = append(n.hosts, all[t])
			n.hosts[node].secret = nil
		}
		n.sockets[t], n.ports[t] = all[t].socket, all[t].port
	}
}

// reach connects to the node's hub. If all tasks before this one have ended, this process reaches
// itself, and so creates the hub.
func (n *nodeHub) reach() (socket int, err error) {
	for retry, begin := firstRetry, time.Now(); ; retry = min(2*retry, lastRetry) {
		for _, t := range n.mates {
			fd, _, err := dial(hubName(n.sockets[t]))
			if err == nil {
				return fd, nil
			}
			if time.Since(begin) > hubLimit { // a task out of reach for so long does not come
				err = errNobody
			}
			if !n.hasEnded(t, err) {
				break
			}
		}
		time.Sleep(retry)
	}
}

// hasEnded says whether a task of this node has ended, by how a try to reach it has failed.
func (n *nodeHub) hasEnded(task int, why error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if why == errNobody || why == unix.ECONNREFUSED {
		n.ended[task] = true
	}
	return n.ended[task]
}

// lead returns the hub if this process has it, or has to create it now.
func (n *nodeHub) lead() *hub.Hub {
	n.mu.Lock()
	h := n.hub
	n.mu.Unlock()
	if h != nil {
		return h
	}
	for _, t := range n.mates[:slices.Index(n.mates, n.task)] {
		fd, _, err := dial(hubName(n.sockets[t]))
		if err == nil {
			unix.Close(fd)
			return nil
		}
		if !n.hasEnded(t, err) {
			return nil
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hub == nil {
		n.hub = n.make()
	}
	return n.hub
}

// make creates the node's hub in this process.
func (n *nodeHub) make() *hub.Hub {
	h := hub.New(len(n.nodes), n.key)
	h.Span(n.nodes, n.task, func(node int) { n.call(h, node) })
	first := n.task == n.mates[0]
	for _, t := range n.mates {
		if t < n.task {
			h.TaskEnded(t, "has ended")
		} else if t > n.task {
			invariant.Go(func() {
				look(h, t, firstLook, func() bool {
					fd, _, err := dial(hubName(n.sockets[t]))
					if err == nil {
						unix.Close(fd)
					}
					return err != nil && n.hasEnded(t, err)
				})
			})
		}
	}
	me := n.nodes[n.task]
	for node := range slices.Max(n.nodes) + 1 {
		if node < me || node != me && !first { // of the first hubs the higher ones call
			invariant.Go(func() { n.call(h, node) })
		}
	}
	if first {
		time.AfterFunc(hubLimit+acceptRest, func() { n.miss(h) })
	}
	return h
}

// look reports a task of the node that has ended before it came to the hub.
func look(h *hub.Hub, task int, first time.Duration, ended func() bool) {
	for pause := first; ; pause = min(2*pause, lastLook) {
		time.Sleep(pause)
		if h.Came(task) {
			return
		}
		if ended() {
			h.Missed(task, "has ended")
			return
		}
	}
}

// miss gives up the nodes whose first hubs do not come.
func (n *nodeHub) miss(h *hub.Hub) {
	for node := range slices.Max(n.nodes) + 1 {
		if node > n.nodes[n.task] && !h.Reached(node) {
			h.Lost(node, fmt.Sprintf("is on host %s, which has not come within %v",
				n.hosts[node].host, hubLimit+acceptRest))
		}
	}
}

// admitTasks accepts the tasks of this node, as long as the process lives.
func admitTasks(socket *os.File, admit func(conn int)) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for {
			conn, _, err := wire.Accept(int(fd))
			switch err {
			case nil:
			case wire.ErrStranger:
				continue
			default: // EAGAIN, or no descriptors: the next connection wakes it again
				return false
			}
			invariant.Go(func() { admit(conn) })
		}
	})
}

// admit makes the hub, if it is in this process, serve a task.
func (n *nodeHub) admit(conn int) {
	if h := n.lead(); h != nil {
		_ = h.Admit(conn) // a refused task is sent the reason
		return
	}
	unix.Close(conn)
}

// hearHubs takes the calls of other nodes' hubs, as long as the process lives.
func (n *nodeHub) hearHubs() {
	var some coming
	for {
		conn, err := descriptor.Conn(n.in.door.Accept())
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors, mostly
			time.Sleep(lastRetry)
			continue
		}
		some.add(conn)
		invariant.Go(func() {
			w, err := hub.Hear(conn, n.key, len(n.nodes))
			in := some.leave(conn)
			if err != nil {
				return
			}
			if h := n.lead(); in && h != nil {
				_ = h.Attach(w)
			} else {
				w.Close()
			}
		})
	}
}

// call connects the hub to another node's when that is missing, whichever task there has it. If
// that fails, or all tasks there have ended, the node is lost.
func (n *nodeHub) call(h *hub.Hub, node int) {
	if !h.Wanted(node) {
		return
	}
	// At first a firewall may refuse the call. Later a refused call means that the process has
	// ended.
	begun := n.task != n.mates[0] || h.Reached(node)
	var why error
	limit := firstCall
	for retry, end := firstRetry, time.Now().Add(hubLimit); time.Now().Before(end); retry =
		min(2*retry, time.Second) {
		all := true
		for t, at := range n.nodes {
			if at != node {
				continue
			}
			err := n.callTask(h, t, limit)
			if err == nil || h.Attached(node) {
				return
			}
			all = all && errors.Is(err, syscall.ECONNREFUSED)
			if why == nil ||
				!errors.Is(err, hub.ErrNotTaken) && !errors.Is(err, syscall.ECONNREFUSED) {
				why = err
			}
		}
		if all && begun {
			h.Lost(node, "has ended")
			return
		}
		limit = min(2*limit, lastCall)
		time.Sleep(retry)
	}
	mine, other := &n.hosts[n.nodes[n.task]], &n.hosts[node]
	var names []string
	for _, a := range addressesOf(mine.nics, other.nics) {
		names = append(names, a.String())
	}
	h.Lost(node, fmt.Sprintf("is on host %s, which is not reached by TCP from host %s (%s): %v",
		other.host, mine.host, strings.Join(names, ", "), why))
}

var errNoAddress = errors.New("it has no address")

// callTask calls a task of another node at its addresses. The error is a refusal only if all
// addresses refuse: other machines may have some of these addresses, too.
func (n *nodeHub) callTask(h *hub.Hub, task int, limit time.Duration) error {
	why := errNoAddress
	mine, other := &n.hosts[n.nodes[n.task]], &n.hosts[n.nodes[task]]
	for _, a := range addressesOf(mine.nics, other.nics) {
		w, err := callOnce(netip.AddrPortFrom(a, n.ports[task]), n, limit)
		if err == nil {
			err = h.Attach(w)
		}
		if err == nil || errors.Is(err, hub.ErrNotTaken) {
			return err
		}
		if why == errNoAddress || !errors.Is(err, syscall.ECONNREFUSED) {
			why = err
		}
	}
	return why
}

func callOnce(at netip.AddrPort, n *nodeHub, limit time.Duration) (*hub.Way, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	var d net.Dialer
	conn, err := descriptor.Conn(d.DialContext(ctx, "tcp", at.String()))
	if err != nil {
		return nil, err
	}
	return hub.Call(conn, n.key, n.task, len(n.nodes), limit)
}

// dialPatiently waits until some process listens there.
func dialPatiently(name string) (int, error) {
	for retry, end := firstRetry, time.Now().Add(hubLimit); ; retry = min(2*retry, lastRetry) {
		fd, _, err := dial(name)
		if err == nil {
			return fd, nil
		}
		if time.Now().After(end) || err != unix.ECONNREFUSED && err != unix.EAGAIN &&
			err != unix.EINTR {
			return -1, err
		}
		time.Sleep(retry)
	}
}

// addressesOf are those by which one node may reach another: first those in a subnet of its own.
func addressesOf(mine, other adapters.Node) (all []netip.Addr) {
	if mine.Namespace == other.Namespace && mine.Namespace != 0 {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	var near, far []netip.Addr
	for _, i := range other.Interfaces {
		for _, p := range i.Addrs {
			switch {
			case !i.Up || i.Loopback || p.Addr().IsLinkLocalUnicast():
			case inSubnet(mine, p.Masked()):
				near = append(near, p.Addr())
			default:
				far = append(far, p.Addr())
			}
		}
	}
	return append(near, far...)
}

func inSubnet(n adapters.Node, subnet netip.Prefix) bool {
	return slices.ContainsFunc(n.Interfaces, func(i adapters.Interface) bool {
		return i.Up && slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool {
			return p.Masked() == subnet
		})
	})
}
