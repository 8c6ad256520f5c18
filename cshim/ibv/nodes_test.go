package ibv_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	cshim "lapi/cshim/ibv"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs"
)

// Tests between two machines. `make verbs-test` has them; the number of this one is in NODE.

// node is this machine's link, connected to the other's.
type node struct {
	*testing.T
	*verbs.Link
	first bool
	other transport.Endpoint
	here  []byte         // memory of this task
	there transport.Addr // that of the other
	wire  net.Conn       // to say where both are
}

const nodeMemory = 8 << 20

// nodes joins this machine to the other, or skips the test.
func nodes(t *testing.T, set func(*verbs.Config)) *node {
	t.Helper()
	if os.Getenv("NODES") != "2" {
		t.Skip("there are no two machines (NODE and NODES in the environment)")
	}
	memory.Guard()
	n := &node{T: t, first: os.Getenv("NODE") == "1"}
	c := verbs.Config{Adapter: open(t), Key: []byte("a key")}
	if n.other = 1; !n.first {
		c.Task, n.other = 1, 0
	}
	if set != nil {
		set(&c)
	}
	var err error
	if n.Link, err = verbs.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	if n.here, err = unix.Mmap(-1, 0, nodeMemory, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		t.Fatal(err)
	}
	n.meet()
	return n
}

// meet exchanges addresses over TCP.
func (n *node) meet() {
	n.Helper()
	var err error
	if n.first {
		l, err := net.Listen("tcp", "10.9.8.1:7000")
		if err != nil {
			n.Fatal(err)
		}
		defer l.Close()
		if n.wire, err = l.Accept(); err != nil {
			n.Fatal(err)
		}
	} else {
		n.until("the first machine", func() bool {
			n.wire, err = net.DialTimeout("tcp", "10.9.8.1:7000", time.Second)
			return err == nil
		})
	}
	n.Cleanup(func() { _ = n.wire.Close() })
	if _, err := fmt.Fprintf(n.wire, "%x %d\n", n.Address().Bytes, memory.AddrOf(n.here)); err != nil {
		n.Fatal(err)
	}
	var address []byte
	if _, err := fmt.Fscanf(n.wire, "%x %d\n", &address, &n.there); err != nil {
		n.Fatal(err)
	}
	if err := n.Connect(n.other, transport.Address{Bytes: address}); err != nil {
		n.Fatal(err)
	}
}

// barrier: both machines are here. The link makes no progress meanwhile.
func (n *node) barrier() {
	n.Helper()
	var b [1]byte
	if _, err := n.wire.Write(b[:]); err != nil {
		n.Fatal(err)
	}
	if _, err := io.ReadFull(n.wire, b[:]); err != nil {
		n.Fatal(err)
	}
}

// until makes progress until done; it only guards against a hang.
func (n *node) until(what string, done func() bool) {
	n.Helper()
	for end := time.Now().Add(100 * time.Second); !done(); n.Progress(16) {
		if time.Now().After(end) {
			n.Fatalf("never happened: %s", what)
		}
	}
}

// both runs until this and the other machine say that they are done.
func (n *node) both(what string, done func() bool) {
	n.Helper()
	told := make(chan error, 1)
	go func() {
		var b [1]byte
		_, err := io.ReadFull(n.wire, b[:])
		told <- err
	}()
	n.until(what, done)
	if _, err := n.wire.Write([]byte{1}); err != nil {
		n.Fatal(err)
	}
	n.until(what+" on the other machine", func() bool {
		select {
		case err := <-told:
			if err != nil {
				n.Fatal(err)
			}
			return true
		default:
			return false
		}
	})
}

// numbers has both machines send numbered messages, and checks that each comes once, in order.
func (n *node) numbers(many int, between func(i int)) {
	n.Helper()
	next := 0
	n.Handle(2, func(m *transport.Msg) transport.Verdict {
		if got := int(m.Hdr[0]) | int(m.Hdr[1])<<8; got != next {
			n.Fatalf("message %d comes where %d should", got, next)
		}
		next++
		return transport.Accept
	})
	n.barrier()
	hdr := make([]byte, 8)
	for i := range many {
		between(i)
		hdr[0], hdr[1] = byte(i), byte(i>>8)
		n.until("room", func() bool {
			_, err := n.Send(n.other, 2, hdr, &transport.Op{})
			if err != nil && err != transport.ErrBusy {
				n.Fatal(err)
			}
			return err == nil
		})
	}
	n.both("all messages", func() bool { return next == many })
}

func TestNodesMessages(t *testing.T) {
	nodes(t, nil).numbers(2000, func(int) {})
}

func TestNodesTransfers(t *testing.T) { nodes(t, nil).transfers() }

// transfers makes long puts, then gets, both ways at once.
func (n *node) transfers() {
	n.Helper()
	const half = nodeMemory / 2
	for round, start := range []func(transport.Endpoint, *transport.Op) (transport.Status, error){
		n.Put, n.Get} {
		// Each writes to the lower half there, or reads the upper.
		mine := byte(round*2 + 1 + int(n.other))
		for i := range half {
			n.here[i], n.here[half+i] = 0, byte(i*int(mine)>>3)
		}
		n.barrier()
		done := false
		op := &transport.Op{Local: memory.AddrOf(n.here[half:]), Remote: n.there, N: half - 3,
			Done: func(_ *transport.Op, err error) {
				if done = true; err != nil {
					n.Error(err)
				}
			}}
		if round == 1 {
			op.Local, op.Remote = memory.AddrOf(n.here), n.there+half
		}
		if _, err := start(n.other, op); err != nil {
			n.Fatal(err)
		}
		n.both("the transfer", func() bool { return done })
		his := byte(round*2 + 2 - int(n.other))
		for i := range half - 3 {
			if n.here[i] != byte(i*int(his)>>3) {
				n.Fatalf("round %d: byte %d is damaged", round, i)
			}
		}
		n.barrier()
	}
}

// TestNodesSleep: messages go to and fro between tasks that sleep until one comes.
func TestNodesSleep(t *testing.T) {
	n := nodes(t, nil)
	const bounces = 200
	got := 0
	n.Handle(3, func(m *transport.Msg) transport.Verdict { got++; return transport.Accept })
	n.barrier()
	for i := range bounces {
		if n.first {
			if _, err := n.Send(1, 3, nil, &transport.Op{}); err != nil {
				t.Fatal(err)
			}
		}
		for got == i {
			n.sleep()
			n.Progress(16)
		}
		if !n.first {
			if _, err := n.Send(0, 3, nil, &transport.Op{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.both("the end", func() bool { return true })
}

// sleep waits for the descriptors, without an end but where the link wants one.
func (n *node) sleep() {
	if !n.Arm() {
		var files []unix.PollFd
		for _, fd := range n.Descriptors() {
			files = append(files, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		timeout := 60_000
		if n.NextTimeout() != 0 {
			timeout = 10
		}
		if k, _ := unix.Poll(files, timeout); k == 0 && timeout > 10 {
			n.Fatal("nothing wakes the task")
		}
	}
	n.Disarm()
}

// TestNodesOutage: the network of the first machine is down so long that queue pairs fail; messages
// sent arrive all the same, once.
func TestNodesOutage(t *testing.T) {
	n := nodes(t, nil)
	n.numbers(300, func(i int) {
		if i != 100 || !n.first {
			return
		}
		n.command("ip", "link", "set", "eth0", "down")
		if _, err := n.Flush(n.other, &transport.Op{Done: func(_ *transport.Op, err error) {
			if err != nil {
				t.Error(err)
			}
		}}); err != nil {
			t.Fatal(err)
		}
		n.until("a queue pair that has failed", func() bool { return n.Replaced() > 0 })
		n.command("ip", "link", "set", "eth0", "up")
	})
}

func (n *node) command(name string, arguments ...string) {
	n.Helper()
	if out, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
		n.Fatalf("%s %v: %v: %s", name, arguments, err, out)
	}
}

// TestNodesPorts: each machine has two adapters. One of the first machine is down for a while, then
// one of the second for good; messages and transfers go on.
//
// An adapter of soft-RoCE cannot be taken away: the kernel lets "rdma link delete" wait until no
// process has it open, and tells those that have nothing. Those of the network in the process can.
func TestNodesPorts(t *testing.T) {
	n := nodes(t, func(c *verbs.Config) {
		more, err := cshim.Open(cshim.Choice{Name: os.Getenv("MORE"), GIDIndex: -1})
		if err != nil {
			t.Fatal(err)
		}
		c.More = append(c.More, more)
		c.Changed = func(change verbs.PortChange) { t.Logf("%+v", change) }
	})
	n.transfers()
	n.numbers(600, func(i int) {
		switch {
		case n.first && i == 200:
			n.command("ip", "link", "set", "eth0", "down")
		case n.first && i == 400:
			n.command("ip", "link", "set", "eth0", "up")
		}
	})
	n.transfers()
	n.numbers(600, func(i int) {
		if !n.first && i == 200 {
			n.command("ip", "link", "set", "eth1", "down")
		}
	})
	n.transfers()
}

// TestNodesKilled is the last: the second machine ends without a word, and the first finds out.
func TestNodesKilled(t *testing.T) {
	n := nodes(t, func(c *verbs.Config) { c.Timeout = int64(5 * time.Second) })
	n.numbers(10, func(int) {})
	if !n.first {
		n.barrier()
		fmt.Println("PASS: killed as it should be")
		os.Exit(0)
	}
	var ended error
	flushing := false
	n.barrier()
	n.until("the end of a flush", func() bool {
		if !flushing {
			flushing = true
			_, err := n.Flush(n.other, &transport.Op{Done: func(_ *transport.Op, err error) {
				flushing, ended = false, err
			}})
			ended = err
		}
		return ended != nil
	})
	if ended != transport.ErrUnreachable {
		t.Errorf("the flush ends with %v", ended)
	}
}
