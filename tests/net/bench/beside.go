package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lapi/tests/net/world"
)

// The modes in which this program runs on a node: the two ends of a TCP connection.
const (
	sinkMode   = "tcp-sink"   // ADDRESS: takes everything, and tells how much when asked by a line
	sourceMode = "tcp-source" // ADDRESS LAW: sends until it is killed
)

var (
	tcpLaws = flag.String("tcp", "cubic,reno",
		"beside: TCP's congestion controls, by the kernel's names, separated by commas")
	queues = flag.String("queues", "2ms,20ms",
		"beside: how long the link's queue may get, separated by commas")
	seconds = flag.Int("seconds", 15, "beside: how long the puts go")
	rows    = flag.Bool("rows", false,
		"beside: nodes hand the switch up to 64 KiB in one piece, ours and TCP's alike")
)

// aloneSeconds is enough time without a competitor.
const aloneSeconds = 3

// end runs as one end of a TCP connection, if the arguments say so. False: they do not.
func end(args []string) (bool, error) {
	switch {
	case len(args) == 2 && args[0] == sinkMode:
		return true, sink(args[1])
	case len(args) == 3 && args[0] == sourceMode:
		return true, source(args[1], args[2])
	}
	return false, nil
}

func sink(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer l.Close()
	var taken atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for b := make([]byte, 1<<18); ; {
					n, err := c.Read(b)
					if taken.Add(int64(n)); err != nil {
						return
					}
				}
			}()
		}
	}()
	for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
		fmt.Println(taken.Load())
	}
	return nil
}

func source(address, law string) error {
	var c net.Conn
	var err error
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, law)
		})
		return errors.Join(failed, err)
	}}
	for range 200 { // until the sink listens
		if c, err = dialer.Dial("tcp", address); err == nil || !errors.Is(err,
			syscall.ECONNREFUSED) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	for b := make([]byte, 1<<18); ; {
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
}

// onNode starts this program on a node in one of its modes.
func onNode(w *world.World, node int, args ...string) (*exec.Cmd, io.Writer, *bufio.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	words := append(append(strings.Fields(w.Command(node)), self), args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return cmd, in, bufio.NewReader(out), cmd.Start()
}

// beside prints the bandwidth of large puts that share a link with one connection of TCP's, from
// another node. The link is shaped where it leaves the switch.
func beside() error {
	if *only != "" && *only != "beside" {
		return nil
	}
	fmt.Printf("1 MiB puts beside a TCP connection over a link of %d Mbit/s, %d runs\n", *rate,
		*trials)
	fmt.Printf("  %-6s %-6s %12s %12s %12s %10s %8s %8s\n", "queue", "TCP", "puts alone", "puts",
		"TCP", "puts/TCP", "least", "most")
	for _, word := range strings.Split(*queues, ",") {
		queue, err := time.ParseDuration(word)
		if err != nil {
			return err
		}
		laws := strings.Split(*tcpLaws, ",")
		alone, found := make([]float64, *trials), make([][]pairOfRates, len(laws))
		for i := range *trials {
			for j, law := range laws {
				by, both, err := share(queue, law)
				if err != nil {
					return fmt.Errorf("beside TCP (%s): %w", law, err)
				}
				alone[i], found[j] = by, append(found[j], both)
			}
		}
		for j, law := range laws {
			var ours, theirs, shares []float64
			for _, r := range found[j] {
				ours, theirs = append(ours, r.lapi), append(theirs, r.tcp)
				shares = append(shares, r.lapi/r.tcp)
			}
			fmt.Printf("  %-6v %-6s %7.0f Mb/s %7.0f Mb/s %7.0f Mb/s %10.2f %8.2f %8.2f\n", queue,
				law, median(alone), median(ours), median(theirs), median(shares),
				slices.Min(shares), slices.Max(shares))
		}
	}
	return nil
}

// pairOfRates is the bandwidth of puts and of TCP that share a link, Mbit/s.
type pairOfRates struct{ lapi, tcp float64 }

// share is the bandwidth of puts from node 0 to node 1, first alone, then beside TCP from node 2, in
// Mbit/s.
func share(queue time.Duration, law string) (alone float64, both pairOfRates, err error) {
	w, err := world.Build(world.Shape{Nodes: 3, Links: 1, Routed: true})
	if err != nil {
		return 0, both, err
	}
	defer w.Close()
	if err := w.Shape(1, 0, *rate, queue, *rows); err != nil {
		return 0, both, err
	}
	if alone, err = streamOf(w, "eth0", 1<<20, strconv.Itoa(aloneSeconds)); err != nil {
		return 0, both, err
	}
	both, err = besideTCP(w, law)
	return alone, both, err
}

// besideTCP runs puts while TCP sends from node 2 to node 1, and is the bandwidth of both.
func besideTCP(w *world.World, law string) (both pairOfRates, err error) {
	address := w.Address(1, 0) + ":7777"
	sink, ask, answers, err := onNode(w, 1, sinkMode, address)
	if err != nil {
		return both, err
	}
	defer stop(sink)
	source, _, _, err := onNode(w, 2, sourceMode, address, law)
	if err != nil {
		return both, err
	}
	defer stop(source)
	taken := func() (bytes float64, err error) {
		if _, err := io.WriteString(ask, "\n"); err != nil {
			return 0, err
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(strings.TrimSpace(line), 64)
	}
	time.Sleep(time.Second) // TCP has found its rate
	before, err := taken()
	if err != nil {
		return both, err
	}
	begin := time.Now()
	// long enough for what began beside a full queue to find its share
	both.lapi, err = streamOf(w, "eth0", 1<<20, strconv.Itoa(*seconds))
	if err != nil {
		return both, err
	}
	after, err := taken()
	if err == nil && after == before {
		err = errors.New("TCP has sent nothing")
	}
	both.tcp = (after - before) * 8 / float64(time.Since(begin).Microseconds())
	return both, err
}

func stop(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}
