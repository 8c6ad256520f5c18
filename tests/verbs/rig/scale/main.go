// Scale is one task with many peers over an adapter of the rig. It measures the task's memory when
// they have connected, when all have sent as far ahead as they may, and when little comes again.
// Its process is the task; another holds the peers. With more than 16 KiB a peer beyond the pool of
// packets, or 64 MiB in all, it fails.
//
// usage: scale PEERS    in tests/verbs/rig/with
package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"lapi/cshim/ibv"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs"
)

const (
	question, answer transport.MsgID = 2, 3

	ahead    = 32 // packets that a peer may send ahead
	message  = 64 // bytes of one
	few      = 4  // peers
	perPeer  = 16 << 10
	allPeers = 64 << 20
	limit    = 2 * time.Minute // of one step
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: scale PEERS")
		os.Exit(2)
	}
	n, err := strconv.Atoi(os.Args[1])
	if err != nil || n < 1 {
		fmt.Fprintf(os.Stderr, "scale: %q is no number of peers\n", os.Args[1])
		os.Exit(2)
	}
	runtime.LockOSThread()
	memory.Guard()
	if len(os.Args) > 2 {
		err = crowd(n, bufio.NewReader(os.Stdin))
	} else {
		err = task(n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func open(device string, number int) (*verbs.Link, error) {
	a, err := ibv.Open(ibv.Choice{Name: device, GIDIndex: -1})
	if err != nil {
		return nil, err
	}
	return verbs.New(verbs.Config{Adapter: a, Task: number, Key: []byte("a key")})
}

// until drives links until done says so.
func until(what string, links []*verbs.Link, done func() bool) error {
	for end := time.Now().Add(limit); !done(); {
		some := 0
		for _, l := range links {
			some += l.Progress(64)
		}
		if some == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %v not all %s", limit, what)
		}
	}
	return nil
}

// crowd is peers 1 to n. It answers each line of its owner: first the address, to which all
// connect; then the number of messages, and of the peers that are to send them at once.
func crowd(n int, in *bufio.Reader) error {
	links := make([]*verbs.Link, n)
	answered := make([]int, n)
	for i := range links {
		l, err := open("rig2", 1+i)
		if err != nil {
			return err
		}
		l.Handle(answer, func(*transport.Msg) transport.Verdict {
			answered[i]++
			return transport.Accept
		})
		links[i] = l
		fmt.Println(base64.StdEncoding.EncodeToString(l.Address().Bytes))
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	to, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := l.Connect(0, transport.Address{Bytes: to}); err != nil {
			return err
		}
	}
	var header [message]byte
	sent := make([]int, n)
	for {
		line, err = in.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		var each, of int
		if _, err := fmt.Sscan(line, &each, &of); err != nil || of > n {
			return fmt.Errorf("not numbers of messages and peers: %q", line)
		}
		left := make([]int, n)
		for i := range of {
			left[i] = each
			sent[i] += each
		}
		err = until("messages answered", links, func() bool {
			all := true
			for i, l := range links {
				for left[i] > 0 {
					if _, err := l.Send(0, question, header[:], &transport.Op{}); err != nil {
						break
					}
					left[i]--
				}
				all = all && left[i] == 0 && answered[i] == sent[i]
			}
			return all
		})
		if err != nil {
			return err
		}
		fmt.Println("done")
	}
}

// resident is this process's anonymous memory in bytes, without what Go holds for later; and how much
// of it is the pool of packets, which no child of the process inherits.
func resident() (all, pool int) {
	debug.FreeOSMemory()
	b, _ := os.ReadFile("/proc/self/smaps")
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "Anonymous:") {
			n, _ = strconv.Atoi(strings.Fields(line)[1])
			all += n << 10
		}
		if strings.HasPrefix(line, "VmFlags:") && strings.Contains(line, " dc") {
			pool += n << 10
		}
	}
	return all, pool
}

func task(n int) error {
	l, err := open("rig1", 0)
	if err != nil {
		return err
	}
	l.Tasks(1 + n)
	came := 0
	owed := make([]int, 1+n)
	l.Handle(question, func(m *transport.Msg) transport.Verdict {
		came++
		owed[m.From]++
		return transport.Accept
	})
	cmd := exec.Command("/proc/self/exe", strconv.Itoa(n), "crowd")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	out := bufio.NewReader(pipe)
	for i := range n {
		line, err := out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("peer %d has no address: %w", 1+i, err)
		}
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err == nil {
			err = l.Connect(transport.Endpoint(1+i), transport.Address{Bytes: b})
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(in, base64.StdEncoding.EncodeToString(l.Address().Bytes))
	alone, _ := resident()

	// round has some peers send k messages each at once, while this task does not poll for
	// wait.
	round := func(what string, k, of int, wait time.Duration) error {
		fmt.Fprintln(in, k, of)
		time.Sleep(wait)
		upTo := came + of*k
		err := until(what, []*verbs.Link{l}, func() bool {
			all := came == upTo
			for i := range owed {
				for owed[i] > 0 {
					if _, err := l.Send(transport.Endpoint(i), answer, nil,
						&transport.Op{}); err != nil {
						all = false
						break
					}
					owed[i]--
				}
			}
			return all
		})
		answered := make(chan error, 1)
		go func() { _, err := out.ReadString('\n'); answered <- err }()
		for err == nil {
			select {
			case err = <-answered:
				return err
			default:
				l.Progress(64)
				time.Sleep(50 * time.Microsecond)
			}
		}
		return err
	}
	fmt.Printf("%-34s %8s %8s %14s\n", fmt.Sprintf("one task, %d peers", n), "MiB", "pool",
		"KiB a peer, rest")
	most, mostPool, pool := 0, 0, 0
	row := func(what string) (rest int) {
		var all int
		all, pool = resident()
		all -= alone
		rest, most, mostPool = (all-pool)/n, max(most, all), max(mostPool, pool)
		fmt.Printf("%-34s %8.1f %8.1f %14.1f\n", what, float64(all)/(1<<20), float64(pool)/(1<<20),
			float64(rest)/1024)
		return rest
	}
	if err := round("messages one by one", 1, n, 0); err != nil {
		return err
	}
	least := row("each has sent one message")
	if err := round("messages of peers that send ahead", 2*ahead, n, 2*time.Second); err != nil {
		return err
	}
	row("all have sent as far ahead as they may")
	for range 12 { // the pool may shrink each second
		for end := time.Now().Add(1100 * time.Millisecond); time.Now().Before(end); {
			if err := round("messages of a few", ahead, min(n, few), 0); err != nil {
				return err
			}
		}
	}
	row(fmt.Sprintf("only %d of them send, for 12 s", few))
	passed := 0
	for _, c := range []struct {
		holds bool
		text  string
	}{
		{least <= perPeer, fmt.Sprintf("at most %d KiB a peer beyond the pool", perPeer>>10)},
		{most <= allPeers, fmt.Sprintf("at most %d MiB in all", allPeers>>20)},
		{pool <= mostPool/2, "the pool shrinks when few packets come"},
	} {
		if c.holds {
			passed++
		} else {
			fmt.Println("rig-scale: failed:", c.text)
		}
	}
	fmt.Printf("rig-scale: %d passed, %d failed\n", passed, 3-passed)
	if passed < 3 {
		return errors.New("too much memory")
	}
	_ = in.Close()
	return l.Close()
}
