package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lapi/tests/net/world"
)

// The modes in which this program runs on a node: the two ends of a TCP connection.
const (
	sinkMode   = "tcp-sink"   // ADDRESS: takes everything, and tells how much when asked by a line
	sourceMode = "tcp-source" // ADDRESS: sends until it is killed
)

// besideQueues are how long the bottleneck's queue may get.
var besideQueues = []time.Duration{2 * time.Millisecond, 20 * time.Millisecond}

const besideSeconds = 15

// end runs as one end of a TCP connection, if the arguments say so. False: they do not.
func end(args []string) (bool, error) {
	if len(args) != 2 {
		return false, nil
	}
	switch args[0] {
	case sinkMode:
		return true, sink(args[1])
	case sourceMode:
		return true, source(args[1])
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

func source(address string) error {
	var c net.Conn
	var err error
	for range 200 { // until the sink listens
		if c, err = net.Dial("tcp", address); err == nil {
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
func onNode(w *world.World, node int, mode, address string) (*exec.Cmd, io.Writer, *bufio.Reader,
	error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	words := append(strings.Fields(w.Command(node)), self, mode, address)
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
	fmt.Printf("  %-8s %12s %12s %12s %10s %8s %8s\n", "queue", "puts alone", "puts", "TCP",
		"puts/TCP", "least", "most")
	for _, queue := range besideQueues {
		var alone, ours, theirs, shares []float64
		for range *trials {
			by, lapi, tcp, err := share(queue)
			if err != nil {
				return fmt.Errorf("beside TCP: %w", err)
			}
			alone, ours, theirs = append(alone, by), append(ours, lapi), append(theirs, tcp)
			shares = append(shares, lapi/tcp)
		}
		fmt.Printf("  %-8v %7.0f Mb/s %7.0f Mb/s %7.0f Mb/s %10.2f %8.2f %8.2f\n", queue,
			median(alone), median(ours), median(theirs), median(shares), slices.Min(shares),
			slices.Max(shares))
	}
	return nil
}

// share is the bandwidth of puts from node 0 to node 1, first alone, then beside TCP from node 2, and
// that of TCP meanwhile, in Mbit/s.
func share(queue time.Duration) (alone, lapi, tcp float64, err error) {
	w, err := world.Build(world.Shape{Nodes: 3, Links: 1})
	if err != nil {
		return 0, 0, 0, err
	}
	defer w.Close()
	if err := w.Shape(1, 0, *rate, queue); err != nil {
		return 0, 0, 0, err
	}
	// Long enough for what began beside a full queue to find its share.
	puts := func() (float64, error) {
		return streamOf(w, "eth0", 1<<20, strconv.Itoa(besideSeconds))
	}
	if alone, err = puts(); err != nil {
		return 0, 0, 0, err
	}
	lapi, tcp, err = besideTCP(w, puts)
	return alone, lapi, tcp, err
}

// besideTCP runs puts while TCP sends from node 2 to node 1, and is the bandwidth of both.
func besideTCP(w *world.World, puts func() (float64, error)) (lapi, tcp float64, err error) {
	address := w.Address(1, 0) + ":7777"
	sink, ask, answers, err := onNode(w, 1, sinkMode, address)
	if err != nil {
		return 0, 0, err
	}
	defer stop(sink)
	source, _, _, err := onNode(w, 2, sourceMode, address)
	if err != nil {
		return 0, 0, err
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
		return 0, 0, err
	}
	begin := time.Now()
	if lapi, err = puts(); err != nil {
		return 0, 0, err
	}
	after, err := taken()
	return lapi, (after - before) * 8 / float64(time.Since(begin).Microseconds()), err
}

func stop(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}
