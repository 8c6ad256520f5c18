package rendezvous

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lapi/core/job/wire"
)

const guard = 60 * time.Second // only against hangs

var key = bytes.Repeat([]byte{7, 9}, wire.KeySize/2)

// freeAddress is an address at which no process listens: an address of the loopback that no other
// test takes.
func freeAddress(t *testing.T) string {
	t.Helper()
	host := fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
	l, err := net.Listen("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// said collects what a task says.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) say(level int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.text, "%d %s\n", level, text)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until what must be said has been.
func (s *said) await(t *testing.T, text string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(s.String(), text) },
		func() string { return fmt.Sprintf("not said: %q, but %q", text, s) })
}

func eventually(t *testing.T, ok func() bool, why func() string) {
	t.Helper()
	for end := time.Now().Add(guard); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(why())
		}
	}
}

func card(task int) []byte { return fmt.Appendf(nil, "card of %d", task) }

// config is that of a task; change may make it another.
func config(address string, task, numTasks int, change func(*Config)) Config {
	c := Config{Address: address, Task: task, NumTasks: numTasks, Partition: "4711", Key: key}
	if change != nil {
		change(&c)
	}
	return c
}

func mustOpen(t *testing.T, c Config) *rendezvous {
	t.Helper()
	r, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Abort(0) })
	return r
}

// outcome is how an Exchange ends.
type outcome struct {
	cards [][]byte
	err   error
}

// begin begins an Exchange.
func begin(r *rendezvous, card []byte) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		cards, err := r.Exchange(card)
		c <- outcome{cards, err}
	}()
	return c
}

func await(t *testing.T, c <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-c:
		return o
	case <-time.After(guard):
		stacks := make([]byte, 1<<20)
		t.Fatalf("an exchange does not end:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	return outcome{}
}

// awaitMissing waits until task 0 waits for that many.
func awaitMissing(t *testing.T, h *host, n int) {
	t.Helper()
	eventually(t, func() bool { return len(h.missing()) == n },
		func() string { return fmt.Sprintf("missing: %d, not %d", h.missing(), n) })
}

// met fails the test unless all tasks' cards are there.
func met(t *testing.T, c <-chan outcome, want ...[]byte) {
	t.Helper()
	o := await(t, c)
	if o.err != nil {
		t.Fatal(o.err)
	}
	if !slices.EqualFunc(o.cards, want, bytes.Equal) {
		t.Fatalf("cards %q, want %q", o.cards, want)
	}
}

// refused fails the test unless the exchange ends with an error that has all these words.
func refused(t *testing.T, c <-chan outcome, words ...string) {
	t.Helper()
	o := await(t, c)
	if o.err == nil {
		t.Fatalf("no error, but cards %q", o.cards)
	}
	for _, w := range words {
		if !strings.Contains(o.err.Error(), w) {
			t.Errorf("%q lacks %q", o.err, w)
		}
	}
}

// meetAll has n tasks meet: the others in random order, and task 0 last.
func meetAll(t *testing.T, n int, key []byte) {
	t.Helper()
	address, before := freeAddress(t), runtime.NumGoroutine()
	var want [][]byte
	for i := range n {
		want = append(want, card(i))
	}
	order := append(rand.Perm(n-1), -1)
	ends := make([]<-chan outcome, n)
	for _, i := range order {
		r := mustOpen(t, config(address, i+1, n, func(c *Config) { c.Key = key }))
		ends[i+1] = begin(r, want[i+1])
	}
	for _, end := range ends {
		met(t, end, want...)
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= before }, func() string {
		stacks := make([]byte, 1<<20)
		return string(stacks[:runtime.Stack(stacks, true)])
	})
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the port is not free again: %v", err)
	}
	l.Close()
}

func TestMeet(t *testing.T) {
	for _, n := range []int{1, 2, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { meetAll(t, n, key) })
		t.Run(fmt.Sprint(n, " without a key"), func(t *testing.T) { meetAll(t, n, nil) })
	}
}

// TestThousand says what an exchange of 1,024 tasks costs.
func TestThousand(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	meetAll(t, 1024, key)
	runtime.ReadMemStats(&after)
	t.Logf("%v, %d MiB allocated by all tasks together", time.Since(begin).Round(time.Millisecond),
		(after.TotalAlloc-before.TotalAlloc)>>20)
}

func TestSizesOfCards(t *testing.T) {
	address := freeAddress(t)
	long := bytes.Repeat([]byte{1}, MaxCard)
	zero := begin(mustOpen(t, config(address, 0, 2, nil)), long)
	one := begin(mustOpen(t, config(address, 1, 2, nil)), nil)
	met(t, zero, long, nil)
	met(t, one, long, nil)
	refused(t, begin(mustOpen(t, config(address, 1, 2, nil)), append(long, 1)), "16385 bytes")
}

func TestNames(t *testing.T) {
	_, port, _ := net.SplitHostPort(freeAddress(t))
	hosts := []string{"localhost"}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		l.Close()
		hosts = append(hosts, "::1")
	}
	for _, host := range hosts {
		address := net.JoinHostPort(host, port)
		zero := begin(mustOpen(t, config(address, 0, 2, nil)), card(0))
		one := begin(mustOpen(t, config(address, 1, 2, nil)), card(1))
		met(t, zero, card(0), card(1))
		met(t, one, card(0), card(1))
	}
}

// TestOtherAddress: task 0 listens everywhere if the address is not its host's.
func TestOtherAddress(t *testing.T) {
	_, port, _ := net.SplitHostPort(freeAddress(t))
	r := mustOpen(t, config("192.0.2.1:"+port, 0, 2, nil))
	end := begin(r, card(0))
	one := begin(mustOpen(t, config("127.0.0.1:"+port, 1, 2, nil)), card(1))
	met(t, end, card(0), card(1))
	met(t, one, card(0), card(1))
}

func TestBadConfigs(t *testing.T) {
	taken := mustOpen(t, config(freeAddress(t), 0, 2, nil))
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Address = "host" }, "set it to host:port"},
		{func(c *Config) { c.Address = ":5000" }, "names no host"},
		{func(c *Config) { c.Address = "host:0" }, "1 to 65535"},
		{func(c *Config) { c.Address = "host:http" }, "1 to 65535"},
		{func(c *Config) { c.Address = "::1:5000" }, "[IPv6]:port"},
		{func(c *Config) { c.NumTasks = 0 }, "task 0 of 0"},
		{func(c *Config) { c.Task = 2 }, "task 2 of 2"},
		{func(c *Config) { c.NumTasks = wire.MaxTasks + 1 }, "16385"},
		{func(c *Config) { c.Key = key[1:] }, "63 bytes"},
		{func(c *Config) { c.Address = taken.Address }, "is in use"},
	} {
		cfg := config("127.0.0.1:5000", 0, 2, c.change)
		if r, err := Open(cfg); err == nil {
			r.Abort(0)
			t.Errorf("%+v: no error", cfg)
		} else if !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "LAPI_RENDEZVOUS="+cfg.Address) {
			t.Errorf("%q lacks %q", err, c.want)
		}
	}
}

func TestOnce(t *testing.T) {
	r := mustOpen(t, config(freeAddress(t), 0, 1, nil))
	met(t, begin(r, card(0)), card(0))
	refused(t, begin(r, card(0)), "second exchange")
}

func TestAbort(t *testing.T) {
	address := freeAddress(t)
	zero := mustOpen(t, config(address, 0, 3, nil))
	one := mustOpen(t, config(address, 1, 3, nil))
	two := mustOpen(t, config(freeAddress(t), 1, 3, nil)) // has no task 0
	ends := []<-chan outcome{begin(zero, card(0)), begin(one, card(1)), begin(two, card(2))}
	for i, r := range []*rendezvous{two, one, zero} {
		if err := r.Abort(1); err != nil {
			t.Fatal(err)
		}
		refused(t, ends[2-i], "aborted")
	}
	early := mustOpen(t, config(address, 0, 3, nil)) // the port is free again
	early.Abort(1)
	refused(t, begin(early, card(0)), "aborted")
}

func TestTimeout(t *testing.T) {
	address := freeAddress(t)
	var words said
	brief := func(c *Config) { c.Timeout, c.Say = 300*time.Millisecond, words.say }
	r := mustOpen(t, config(address, 0, 12, brief))
	r.pauses.progress = 50 * time.Millisecond
	one := begin(mustOpen(t, config(address, 1, 12, nil)), card(1))
	const missing = "tasks 2, 3, 4, 5, 6, 7, 8, 9 and 2 more of 12"
	h := newHost(r, card(0))
	h.work.Go(h.accept)
	awaitMissing(t, h, 10)
	end := make(chan outcome, 1)
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), r.Timeout)
		defer stop()
		err := h.wait(ctx)
		h.finish(err)
		end <- outcome{nil, err}
	}()
	refused(t, end, missing, "within 300ms", "MP_PROCS=12", "MP_PARTITION=4711",
		"LAPI_RENDEZVOUS="+address)
	refused(t, one, missing) // task 0 has sent it that
	words.await(t, "0 LAPI_RENDEZVOUS: task 0 waits for "+missing+" at "+address)
}

func TestTimeoutOfCallers(t *testing.T) {
	var words said
	brief := func(c *Config) { c.Timeout, c.Say = 300*time.Millisecond, words.say }
	r := mustOpen(t, config(freeAddress(t), 3, 12, brief))
	r.pauses.first = 50 * time.Millisecond
	refused(t, begin(r, card(3)), "not there within 300ms", "connection refused", "Start task 0")
	words.await(t, "task 3 waits for task 0 at LAPI_RENDEZVOUS="+r.Address)

	nobody := mustOpen(t, config("no-such-host.invalid:5000", 3, 12, brief))
	refused(t, begin(nobody, card(3)), "no-such-host.invalid", "Start task 0")

	address := freeAddress(t)
	zero := begin(mustOpen(t, config(address, 0, 12, nil)), card(0))
	late := mustOpen(t, config(address, 3, 12, brief))
	refused(t, begin(late, card(3)), "not all 12 tasks came within 300ms")
	select {
	case o := <-zero:
		t.Fatalf("task 0 does not wait: %v", o.err)
	default:
	}
}
