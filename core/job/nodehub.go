package job

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/adapters"
	"lapi/core/job/hub"
	"lapi/core/job/wire"
)

// In a job on several nodes that lapirun has not started, the lowest task of each node has the
// node's hub in its process (package hub): goroutines, which go on whatever the task does. The
// others of the node reach it by a socket in the abstract name space, hubs each other by TCP. The
// hub of a node dials those of the nodes before it.

const (
	hubLimit   = 60 * time.Second // for all hubs to reach each other, or be reached
	dialLimit  = 5 * time.Second  // for one address of a hub
	maxComing  = 64               // connections that have not proved anything yet
	acceptRest = 10 * time.Second // longer than hubLimit, so that who dials says why it failed
)

// reachHub connects this task to its node's hub, which it makes if it is the one. It takes the door
// over unless there is an error.
func (m *meeting) reachHub(c *Config, all []fieldCard, door net.Listener) (control int, err error) {
	task := c.Task
	me := m.nodes[task]
	address := &unix.SockaddrUnix{Name: fmt.Sprintf("@lapi/%d/%s/hub/%x", os.Geteuid(), m.partition,
		all[task].node[:8])}
	if task == m.leader(me) {
		err = m.lead(c, me, all, door, address)
	} else {
		door.Close()
	}
	if err == nil {
		if control, err = dialPatiently(address); err != nil {
			err = fmt.Errorf("task %d, which has the hub of this node, is not reached: %w",
				m.leader(me), err)
		}
	}
	if err != nil {
		return -1, err
	}
	g := wire.Greeting{Purpose: wire.Join, Task: task, NumTasks: len(m.nodes), PID: os.Getpid()}
	if err = wire.SendTo(control, wire.Message{Kind: wire.Hello, Data: g.Encode()}); err != nil {
		unix.Close(control)
		return -1, fmt.Errorf("the hub of task %d: %w", m.leader(me), err)
	}
	return control, nil
}

// dialPatiently waits for somebody to listen there.
func dialPatiently(address *unix.SockaddrUnix) (int, error) {
	for retry, end := firstRetry, time.Now().Add(hubLimit); ; retry = min(2*retry, lastRetry) {
		fd, _, err := dial(address)
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

// lead makes this process the one that has its node's hub.
func (m *meeting) lead(c *Config, me int, all []fieldCard, door net.Listener,
	address *unix.SockaddrUnix) error {
	key, err := m.hubKey(c)
	if err != nil {
		return err
	}
	h := hub.New(len(m.nodes), key)
	h.Span(m.nodes, me)
	fd, err := wire.Socket()
	if err == nil {
		if err = unix.Bind(fd, address); err == nil {
			err = unix.Listen(fd, unix.SOMAXCONN)
		}
		if err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return fmt.Errorf("the socket of this node's hub: %w", err)
	}
	m.hub = h
	if HasHub != nil {
		HasHub()
	}
	go admitTasks(h, os.NewFile(uintptr(fd), "hub")) // non-blocking, so the poller takes it
	go m.acceptHubs(h, key, door, slices.Max(m.nodes)-me, all)
	for node := range me {
		go m.dialNode(h, key, me, node, all)
	}
	return nil
}

// hubKey is what hubs prove themselves by: the key file's, or else what task 0 has made. It stays
// for as long as the process.
func (m *meeting) hubKey(c *Config) ([]byte, error) {
	if c.keyFile != "" {
		return readKeyFile(c.keyFile)
	}
	return m.key, nil
}

// admitTasks accepts the tasks of this node, as long as the process lives.
func admitTasks(h *hub.Hub, listener *os.File) {
	raw, err := listener.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for {
			conn, _, err := unix.Accept4(int(fd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			switch err {
			case nil:
			case unix.EINTR, unix.ECONNABORTED:
				continue
			default: // EAGAIN, or no descriptors: the next connection wakes it again
				return false
			}
			if _, err := wire.SameUser(conn); err != nil {
				unix.Close(conn)
				continue
			}
			_ = h.Admit(conn) // who is refused hears why
		}
	})
}

// acceptHubs waits for the hubs of the nodes after this one, and then closes the door.
func (m *meeting) acceptHubs(h *hub.Hub, key []byte, door net.Listener, missing int,
	all []fieldCard) {
	defer door.Close()
	limit := time.AfterFunc(hubLimit+acceptRest, func() {
		door.Close()
		for node := range slices.Max(m.nodes) + 1 {
			if !h.Attached(node) {
				h.Lost(node, true, fmt.Sprintf("is on host %s, which has not come within %v",
					all[m.leader(node)].host, hubLimit+acceptRest))
			}
		}
	})
	defer limit.Stop()
	coming := make(chan struct{}, maxComing)
	attached := make(chan struct{})
	go func() {
		for range missing {
			<-attached
		}
		door.Close()
	}()
	for {
		conn, err := door.Accept()
		if err != nil {
			return
		}
		coming <- struct{}{}
		go func() {
			defer func() { <-coming }()
			p, err := hub.Accept(conn, key)
			if err == nil && h.Attach(p) == nil {
				attached <- struct{}{}
			}
		}()
	}
}

// dialNode connects this node's hub to another's.
func (m *meeting) dialNode(h *hub.Hub, key []byte, me, node int, all []fieldCard) {
	mine, other := &all[m.leader(me)], &all[m.leader(node)]
	addresses := addressesOf(mine.nics, other.nics)
	var why error
	for retry, end := firstRetry, time.Now().Add(hubLimit); time.Now().Before(end); retry =
		min(2*retry, time.Second) {
		for _, a := range addresses {
			p, err := dialOnce(a, other.port, key, me, node)
			if err == nil {
				_ = h.Attach(p) // an error: it is there already
				return
			}
			why = err
		}
		time.Sleep(retry)
	}
	if why == nil {
		why = fmt.Errorf("it has no address")
	}
	var names []string
	for _, a := range addresses {
		names = append(names, a.String())
	}
	h.Lost(node, true, fmt.Sprintf("is on host %s, which is not reached by TCP from host %s (%s): %v",
		other.host, mine.host, strings.Join(names, ", "), why))
}

func dialOnce(a netip.Addr, port uint16, key []byte, me, node int) (*hub.Proved, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), strconv.Itoa(int(port))))
	if err != nil {
		return nil, err
	}
	return hub.Dial(conn, key, me, node)
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
