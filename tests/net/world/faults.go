package world

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Fault is a way in which a link fails. Its names are those of the tests.
type Fault struct {
	Name  string
	Begin func(w *World, node, link int) error
	End   func(w *World, node, link int) error
}

// Faults are all ways in which one link of a node can fail.
var Faults = []Fault{
	{"down", (*World).down, (*World).up},          // the node's own device is taken down
	{"unplugged", (*World).unplug, (*World).plug}, // the device has no carrier
	// the switch forwards nothing, and sends no error
	{"black hole", (*World).isolate, (*World).rejoin},
	// nothing arrives at the node, though its own packets reach the others
	{"deaf", (*World).deafen, (*World).hear},
	{"speechless", (*World).silence, (*World).unsilence}, // nothing that is sent arrives
}

func (w *World) down(n, l int) error {
	return run("ip", "-n", w.node(n), "link", "set", device(l), "down")
}

func (w *World) up(n, l int) error {
	return w.awaitUp(n, l, run("ip", "-n", w.node(n), "link", "set", device(l), "up"))
}

func (w *World) unplug(n, l int) error { return run("ip", "link", "set", w.port(n, l), "down") }

func (w *World) plug(n, l int) error {
	return w.awaitUp(n, l, run("ip", "link", "set", w.port(n, l), "up"))
}

// awaitUp waits until both ends of a link that was switched on can send, if that went well. The
// kernel sees to that later, and may take many seconds while other changes of networks wait for
// processors that tasks keep busy.
func (w *World) awaitUp(n, l int, err error) error {
	if err != nil {
		return err
	}
	if err := w.awaitRunning(n, l); err != nil {
		return err
	}
	return await("the port of "+device(l), n, "state UP", func() (string, error) {
		out, err := exec.Command("ip", "-o", "link", "show", "dev", w.port(n, l)).Output()
		return string(out), err
	})
}

func (w *World) isolate(n, l int) error {
	return run("ip", "link", "set", w.port(n, l),
		"nomaster")
}

func (w *World) rejoin(n, l int) error {
	return run("ip", "link", "set", w.port(n, l), "master", w.bridge(l))
}

// One direction of a link is shaped to next to nothing: packets wait in a queue for a byte and are
// dropped.
func (w *World) silence(n, l int) error {
	return w.In(n, "tc", "qdisc", "replace", "dev", device(l), "root", "tbf", "rate", "8bit",
		"burst", "1", "limit", "1")
}

func (w *World) unsilence(n, l int) error {
	return w.In(n, "tc", "qdisc", "del", "dev", device(l), "root")
}

func (w *World) deafen(n, l int) error {
	return run("tc", "qdisc", "replace", "dev", w.port(n, l), "root", "tbf", "rate", "8bit",
		"burst", "1", "limit", "1")
}

func (w *World) hear(n, l int) error {
	return run("tc", "qdisc", "del", "dev", w.port(n, l), "root")
}

// Lose makes a node lose every packet that arrives with this probability, IPv4 and IPv6, all links
// alike.
func (w *World) Lose(node int, probability float64) error {
	for _, tables := range []string{"iptables", "ip6tables"} {
		if err := w.In(node, tables, "-A", "INPUT", "-i", "eth+", "-p", "udp", "-m", "statistic",
			"--mode", "random",
			"--probability", strconv.FormatFloat(probability, 'f', 6, 64), "-j",
			"DROP"); err != nil {
			return err
		}
	}
	return nil
}

// Lost is how many packets Lose has dropped at a node.
func (w *World) Lost(node int) (int, error) {
	total := 0
	for _, tables := range []string{"iptables", "ip6tables"} {
		out, err := w.Output(node, tables, "-L", "INPUT", "-n", "-v", "-x")
		if err != nil {
			return 0, err
		}
		for _, line := range strings.Split(out, "\n") {
			fields := strings.Fields(line)
			if len(fields) > 2 && fields[2] == "DROP" {
				n, err := strconv.Atoi(fields[0])
				if err != nil {
					return 0, fmt.Errorf("%s prints %q", tables, line)
				}
				total += n
			}
		}
	}
	return total, nil
}

// Limit shapes what a node sends over a link to a number of Mbit/s.
func (w *World) Limit(node, link, megabits int) error {
	return w.In(node, "tc", "qdisc", "replace", "dev", device(link), "root", "tbf", "rate",
		fmt.Sprintf("%dmbit", megabits),
		"burst", "256kb", "latency", "20ms")
}

// Shape shapes what the switch sends to a node over a link to a number of Mbit/s, with a queue of so
// much time. Unless rows is set, all nodes then send single packets, as they come over a cable: of a
// row in one piece the queue would take all or drop all.
func (w *World) Shape(node, link, megabits int, queue time.Duration, rows bool) error {
	for n := range w.Nodes {
		if rows {
			break
		}
		if err := run("ip", "-n", w.node(n), "link", "set", device(link), "gso_max_segs",
			"1"); err != nil {
			return err
		}
	}
	return run("tc", "qdisc", "replace", "dev", w.port(node, link), "root", "tbf", "rate",
		fmt.Sprintf("%dmbit", megabits), "burst", "64kb", "latency",
		fmt.Sprintf("%dus", queue.Microseconds()))
}

// Sent is how many bytes a node has sent over a link.
func (w *World) Sent(node, link int) (int, error) {
	out, err := w.Output(node, "cat", fmt.Sprintf("/sys/class/net/%s/statistics/tx_bytes",
		device(link)))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}
