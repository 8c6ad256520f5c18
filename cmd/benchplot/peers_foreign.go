package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"time"
)

// ucxTest is how ucx_perftest measures an operation. Times and rates come from its column of messages per second, as its
// percentiles are coarse.
type ucxTest struct {
	test string
	// flags: -O 1 for operations that are waited for one by one
	flags string
	// messages in one repetition, at most; less for large ones
	messages int
}

// Not here: ucp_get -O 1, which only ever measures the 1 ms timer of a peer that makes no progress.
var ucxTests = map[string]ucxTest{
	"am":            {"ucp_am_lat", "", 20000},
	"put":           {"ucp_put_lat", "", 20000},
	"fetch-and-add": {"ucp_fadd", "-O 1", 20000},
	"put-rate":      {"ucp_put_bw", "", 100000},
	"am-rate":       {"ucp_am_bw", "", 200000},
	"put-bandwidth": {"ucp_put_bw", "", 20000},
	"get-bandwidth": {"ucp_get", "-O 16", 20000},
}

var ucxTagTests = map[string]ucxTest{
	"am":      {"tag_lat", "", 20000},
	"am-rate": {"tag_bw", "", 200000},
}

// ucxRepetitions of each size in one start of the program; their median is the result. Less from 1 MiB, where some tests
// fall to a hundredth of what they reach with small messages.
func ucxRepetitions(size int) int {
	if size >= 1<<20 {
		return 3
	}
	return 5
}

// One start for each size, so that the state of the machine is checked around each.
func (p plan) ucx(tests map[string]ucxTest, env ...string) func(*peerGroup, []int) []program {
	return func(g *peerGroup, sizes []int) (all []program) {
		t, ok := tests[g.op]
		if !ok {
			return nil
		}
		for _, size := range sizes {
			all = append(all, program{side: Peer, name: "ucx_perftest", args: []string{t.test}, foreign: func(ctx context.Context, o *options) ([]Row, time.Duration, error) {
				return t.run(ctx, o, g.op, size, env)
			}})
		}
		return all
	}
}

// batch is the list of tests that ucx_perftest runs: the same several times.
func (t ucxTest) batch(size int) string {
	n := min(t.messages, max(16, 64<<20/size))
	test := fmt.Sprintf("%d -t %s %s -s %d -n %d -w %d\n", size, t.test, t.flags, size, n, max(2, n/10))
	return strings.Repeat(test, ucxRepetitions(size))
}

func (t ucxTest) run(ctx context.Context, o *options, op string, size int, transports []string) ([]Row, time.Duration, error) {
	f, err := os.CreateTemp("", "bench-peers-*.batch")
	if err != nil {
		return nil, 0, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(t.batch(size))
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return nil, 0, err
	}
	// heap: user memory, not memory that the peer has allocated and mapped at both sides
	env := append(cleanEnvironment(), "UCX_ALLOC_PRIO=heap", "UCX_WARN_UNUSED_ENV_VARS=n")
	env = append(env, transports...)
	out, used, err := runPair(ctx, o, env, func(port int) (server, client []string) {
		s := []string{"ucx_perftest", "-p", strconv.Itoa(port), "-b", f.Name()}
		return s, append([]string{"ucx_perftest", "localhost", "-f", "-v"}, s[1:]...)
	})
	if err != nil {
		return nil, used, err
	}
	return parseUCX(out, op), used, nil
}

// parseUCX reads lines "size,iterations,...,messages per second" and takes the median of each size's repetitions.
func parseUCX(out, op string) []Row {
	rates := map[int][]float64{}
	for _, line := range strings.Split(out, "\n") {
		c := strings.Split(strings.TrimSpace(line), ",")
		if len(c) != 9 {
			continue
		}
		size, err := strconv.Atoi(c[0])
		rate, err2 := strconv.ParseFloat(c[8], 64)
		if err == nil && err2 == nil && rate > 0 {
			rates[size] = append(rates[size], rate)
		}
	}
	var rows []Row
	for size, v := range rates {
		sort.Float64s(v)
		rate := quantile(v, 0.5)
		r := Row{Test: "compare", Op: op, Size: size}
		switch {
		case strings.HasSuffix(op, "-rate"):
			r.Value, r.Unit = rate/1e6, "M/s"
		case strings.HasSuffix(op, "-bandwidth"):
			r.Value, r.Unit = rate*float64(size)/1e9, "GB/s"
		default:
			r.Value, r.Unit = 1e6/rate, "us"
		}
		rows = append(rows, r)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Size < rows[j].Size })
	return rows
}

// libfabric's shm provider: of its programs Debian has only the ping-pong.
func (p plan) libfabric(g *peerGroup, sizes []int) (all []program) {
	if g.op != "am" {
		return nil
	}
	for _, size := range sizes {
		all = append(all, program{side: Peer, name: "fi_pingpong", args: []string{"shm"}, foreign: func(ctx context.Context, o *options) ([]Row, time.Duration, error) {
			return pingpong(ctx, o, g.op, size)
		}})
	}
	return all
}

func pingpong(ctx context.Context, o *options, op string, size int) ([]Row, time.Duration, error) {
	rounds := min(20000, max(100, 64<<20/size))
	out, used, err := runPair(ctx, o, cleanEnvironment(), func(port int) (server, client []string) {
		s := []string{"fi_pingpong", "-p", "shm", "-e", "rdm", "-S", strconv.Itoa(size), "-I", strconv.Itoa(rounds)}
		return append(s, "-B", strconv.Itoa(port)), append(append([]string{}, s...), "-P", strconv.Itoa(port), "localhost")
	})
	us, ok := parsePingpong(out)
	if err != nil || !ok {
		return nil, used, err
	}
	return []Row{{Test: "compare", Op: op, Size: size, Value: us, Unit: "us"}}, used, nil
}

// parsePingpong finds the column usec/xfer in the last line.
func parsePingpong(out string) (us float64, ok bool) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	c := strings.Fields(lines[len(lines)-1])
	if len(c) != 8 {
		return 0, false
	}
	us, err := strconv.ParseFloat(c[6], 64)
	return us, err == nil && us > 0
}

// runPair runs a server and, when it listens on the port, its client, on a core each, and returns what the client printed and the
// processor time of both.
func runPair(ctx context.Context, o *options, env []string, commands func(port int) (server, client []string)) (string, time.Duration, error) {
	port, err := freePort()
	if err != nil {
		return "", 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	s, c := commands(port)
	server, client := exec.CommandContext(ctx, s[0], s[1:]...), exec.CommandContext(ctx, c[0], c[1:]...)
	var out, serverWords, clientWords bytes.Buffer
	server.Env, server.Stdout, server.Stderr = env, &serverWords, &serverWords
	client.Env, client.Stdout, client.Stderr = env, &out, &clientWords
	if err := startOn(server, 1, o.realtime); err != nil {
		return "", 0, err
	}
	if waitListening(ctx, port) {
		if err = startOn(client, 0, o.realtime); err == nil {
			err = client.Wait()
		}
	} else {
		err = errors.New("the server does not listen")
	}
	if err != nil {
		cancel() // the server waits for a client that will not come
	}
	if e := server.Wait(); err == nil {
		err = e
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, tail(clientWords.String()+serverWords.String(), 600))
	}
	return out.String(), processorTime(server) + processorTime(client), err
}

func processorTime(c *exec.Cmd) time.Duration {
	if c.ProcessState == nil {
		return 0
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// waitListening waits until a socket listens on the port. It looks at the kernel's table, as a connection would be taken for the client's.
func waitListening(ctx context.Context, port int) bool {
	want := fmt.Sprintf(":%04X", port)
	for start := time.Now(); time.Since(start) < 10*time.Second && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			table, _ := os.ReadFile(file)
			for _, line := range strings.Split(string(table), "\n") {
				f := strings.Fields(line)
				if len(f) > 3 && strings.HasSuffix(f[1], want) && f[3] == "0A" {
					return true
				}
			}
		}
	}
	return false
}
