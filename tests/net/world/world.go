package world

import (
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// A World is nodes 0, 1 … with links 0, 1 … each. Link l of every node is its device eth<l>, and
// leads to switch l; the subnets are those of Address and Address6. It is not for concurrent use.
type World struct {
	Nodes, Links int
	routed       bool   // Shape.Routed
	name         string // of this world, at the head of its devices' and namespaces' names
}

var worlds atomic.Int32

// Shape says how to build a world. The zero values of all fields but Nodes and Links are Linux's
// defaults.
type Shape struct {
	Nodes, Links int
	OnlyIPv6     bool
	NoGlobalIPv6 bool  // with OnlyIPv6: only link-local addresses
	MTU          []int // of the devices of each node, bytes
	Routed       bool  // the switches are routers: link l of node n is in a subnet of its own
}

// Build makes a world; Close it. An error: a tool is missing, or the kernel cannot.
func Build(s Shape) (*World, error) {
	w := &World{Nodes: s.Nodes, Links: s.Links, routed: s.Routed,
		name: fmt.Sprintf("w%d", worlds.Add(1))}
	if err := w.build(s); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *World) build(s Shape) error {
	if err := w.addSwitches(s); err != nil {
		return err
	}
	for n := range w.Nodes {
		if err := w.addNode(s, n); err != nil {
			return fmt.Errorf("node %d: %w", n, err)
		}
	}
	for n := range w.Nodes {
		for l := range w.Links {
			if err := w.awaitRunning(n, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitRunning waits until the kernel has noticed that a link is up, which it does in its own time.
func (w *World) awaitRunning(n, l int) error {
	return await(device(l), n, "up", func() (string, error) {
		return w.Output(n, "cat", fmt.Sprintf("/sys/class/net/%s/operstate", device(l)))
	})
}

// await waits until the text of said, about a device of node n, contains want.
func await(device string, n int, want string, said func() (string, error)) error {
	var state string
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(5 *
		time.Millisecond) {
		var err error
		if state, err = said(); err != nil || strings.Contains(state, want) {
			return err
		}
	}
	return fmt.Errorf("node %d: %s stays %s", n, device, strings.TrimSpace(state))
}

const patience = 2 * time.Minute // only against hangs

func (w *World) addSwitches(s Shape) error {
	if s.Routed {
		return run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
	}
	// A bridge that shows its packets to iptables also cuts them to fit, as no switch does. -e:
	// the kernel may have none of that.
	if err := run("sysctl", "-q", "-e", "-w", "net.bridge.bridge-nf-call-iptables=0",
		"net.bridge.bridge-nf-call-ip6tables=0"); err != nil {
		return err
	}
	var batch strings.Builder
	for l := range w.Links {
		fmt.Fprintf(&batch, "link add %s type bridge mcast_snooping 0\nlink set %[1]s up\n",
			w.bridge(l))
	}
	return ip(batch.String())
}

// addNode makes a namespace and its links. Addresses survive that a device is taken down, those of
// IPv6 too.
func (w *World) addNode(s Shape, n int) error {
	if err := run("ip", "netns", "add", w.node(n)); err != nil {
		return err
	}
	// Before there are devices: they take over the defaults.
	if err := w.In(n, "sysctl", "-q", "-w", "net.ipv6.conf.all.keep_addr_on_down=1",
		"net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.accept_dad=0"); err != nil {
		return err
	}
	var in, out strings.Builder
	fmt.Fprintf(&in, "link set lo up\n")
	for l := range w.Links {
		fmt.Fprintf(&out, "link add %s type veth peer name %s netns %s\n", w.port(n, l), device(l),
			w.node(n))
		w.addLink(s, n, l, &in, &out)
	}
	if err := ip(out.String()); err != nil {
		return err
	}
	return ip(in.String(), "-n", w.node(n))
}

func (w *World) addLink(s Shape, n, l int, in, out *strings.Builder) {
	bits, bits6 := 24, 64
	if s.Routed {
		bits, bits6 = 30, 126
		fmt.Fprintf(out, "addr add %s/30 dev %s\naddr add %s/126 dev %[2]s nodad\n", w.router(n, l),
			w.port(n, l), w.router6(n, l))
	} else {
		fmt.Fprintf(out, "link set %s master %s\n", w.port(n, l), w.bridge(l))
	}
	if n < len(s.MTU) && s.MTU[n] != 0 {
		fmt.Fprintf(in, "link set %s mtu %d\n", device(l), s.MTU[n])
		fmt.Fprintf(out, "link set %s mtu %d\n", w.port(n, l), s.MTU[n])
	}
	fmt.Fprintf(out, "link set %s up\n", w.port(n, l))
	if !s.OnlyIPv6 {
		fmt.Fprintf(in, "addr add %s/%d dev %s\n", w.Address(n, l), bits, device(l))
	}
	if !s.NoGlobalIPv6 {
		fmt.Fprintf(in, "addr add %s/%d dev %s nodad\n", w.Address6(n, l), bits6, device(l))
	}
	fmt.Fprintf(in, "link set %s up\n", device(l))
	if s.Routed && !s.OnlyIPv6 {
		fmt.Fprintf(in, "route add 10.77.%d.0/24 via %s\n", l, w.router(n, l))
	}
	if s.Routed {
		fmt.Fprintf(in, "route add fd77:%d::/64 via %s\n", l, w.router6(n, l))
	}
}

func (w *World) node(n int) string    { return fmt.Sprintf("%sn%d", w.name, n) }
func (w *World) bridge(l int) string  { return fmt.Sprintf("%sb%d", w.name, l) }
func (w *World) port(n, l int) string { return fmt.Sprintf("%sn%dl%d", w.name, n, l) }
func device(l int) string             { return fmt.Sprintf("eth%d", l) }

func (w *World) router(n, l int) string  { return fmt.Sprintf("10.77.%d.%d", l, 4*n+1) }
func (w *World) router6(n, l int) string { return fmt.Sprintf("fd77:%d::%x", l, 4*n+1) }

// Address is the IPv4 address of a node on a link, in the subnet 10.77.<link>.0/24: node n is n+1
// there; where links are routed, it and its router have four numbers for themselves.
func (w *World) Address(node, link int) string {
	return fmt.Sprintf("10.77.%d.%d", link, w.number(node))
}

// Address6 is the IPv6 address of a node on a link, in the subnet fd77:<link>::/64, likewise.
func (w *World) Address6(node, link int) string {
	return fmt.Sprintf("fd77:%d::%x", link, w.number(node))
}

func (w *World) number(node int) int {
	if w.routed {
		return 4*node + 2
	}
	return node + 1
}

// Command is what lapirun --on takes to start tasks on a node.
func (w *World) Command(node int) string { return "ip netns exec " + w.node(node) }

// In runs a command on a node.
func (w *World) In(node int, command ...string) error {
	return run("ip", append([]string{"netns", "exec", w.node(node)}, command...)...)
}

// Output runs a command on a node and returns its standard output.
func (w *World) Output(node int, command ...string) (string, error) {
	out, err := exec.Command("ip", append([]string{"netns", "exec", w.node(node)},
		command...)...).Output()
	return string(out), err
}

// Close removes the world. If that fails in part, the rest ends with the enclave.
func (w *World) Close() {
	for n := range w.Nodes {
		for l := range w.Links {
			// at once, and with it the other end; the end of a namespace takes longer
			_ = run("ip", "link", "del", w.port(n, l))
		}
		_ = run("ip", "netns", "del", w.node(n))
	}
	for l := range w.Links {
		_ = run("ip", "link", "del", w.bridge(l)) // routed worlds have none
	}
}

// ip runs lines of ip's batch language.
func ip(batch string, options ...string) error {
	cmd := exec.Command("ip", append(options, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(batch)
	return report(cmd)
}

func run(name string, args ...string) error { return report(exec.Command(name, args...)) }

func report(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err,
			strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}
