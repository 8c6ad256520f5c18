package hub

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
)

const guard = 60 * time.Second // only against hangs

// bench is a hub with its tasks' control sockets.
type bench struct {
	t       *testing.T
	hub     *Hub
	control []int
}

func newBench(t *testing.T, n int) *bench {
	t.Helper()
	b := &bench{t: t, hub: New(n, bytes.Repeat([]byte{1}, wire.KeySize))}
	for i := range n {
		mine, theirs, err := wire.Pair()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.hub.Serve(i, mine); err != nil {
			t.Fatal(err)
		}
		b.control = append(b.control, theirs)
		t.Cleanup(func() { unix.Close(theirs) })
	}
	return b
}

// sayHello sends a Hello over a task's control socket and returns the session's end.
func (b *bench) sayHello(task int, data []byte) *wire.Conn {
	b.t.Helper()
	mine, theirs, err := wire.Pair()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := wire.SendTo(b.control[task], wire.Message{Kind: wire.Hello, Data: data,
		Files: []int{theirs}}); err != nil {
		b.t.Fatal(err)
	}
	unix.Close(theirs)
	c, err := wire.NewConn(mine)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

func (b *bench) join(task, instance int) *wire.Conn {
	b.t.Helper()
	g := wire.Greeting{Purpose: wire.Join, Task: task, NumTasks: len(b.control), Instance: instance}
	c := b.sayHello(task, g.Encode())
	b.expect(c, wire.Welcome)
	return c
}

// next returns the next message; false: the hub has closed the connection.
func (b *bench) next(c *wire.Conn) (wire.Message, bool) {
	b.t.Helper()
	var s wire.Scratch
	for {
		m, ok, err := c.Receive(&s)
		if err != nil {
			return m, false
		}
		if ok {
			return m, true
		}
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(c.Fd()), Events: unix.POLLIN}},
			int(guard.Milliseconds())); n == 0 {
			b.t.Fatal("the hub says nothing")
		}
	}
}

func (b *bench) expect(c *wire.Conn, kind wire.Kind) wire.Message {
	b.t.Helper()
	m, ok := b.next(c)
	if !ok || m.Kind != kind {
		b.t.Fatalf("%+v (%v) instead of kind %d", m, ok, kind)
	}
	return m
}

func (b *bench) send(c *wire.Conn, m wire.Message) {
	b.t.Helper()
	c.Queue(m)
	if sent, err := c.Flush(); !sent || err != nil {
		b.t.Fatal(sent, err)
	}
}

func TestBadHellos(t *testing.T) {
	b := newBench(t, 2)
	for name, g := range map[string]wire.Greeting{
		"another task":   {Purpose: wire.Join, Task: 1, NumTasks: 2},
		"another number": {Purpose: wire.Join, Task: 0, NumTasks: 3},
		"instance":       {Purpose: wire.Join, Task: 0, NumTasks: 2, Instance: 16},
		"purpose":        {Purpose: 9, Task: 0, NumTasks: 2},
	} {
		c := b.sayHello(0, g.Encode())
		if m, ok := b.next(c); !ok || m.Kind != wire.Refuse || len(m.Data) == 0 {
			t.Errorf("%s: %+v %v", name, m, ok)
		}
	}
	// Not a hello, or one without a socket: there is no session to answer, and the hub goes on.
	if err := wire.SendTo(b.control[0], wire.Message{Kind: wire.Hello,
		Data: []byte("?")}); err != nil {
		t.Fatal(err)
	}
	if err := wire.SendTo(b.control[0], wire.Message{Kind: wire.Leave,
		Files: []int{0, 1}}); err != nil {
		t.Fatal(err)
	}
	b.join(0, 0)
}

// A session that breaks the protocol ends; for the others its task is dead.
func TestBadSession(t *testing.T) {
	for name, m := range map[string]wire.Message{
		"kind":  {Kind: wire.Welcome},
		"round": {Kind: wire.Part, Number: 1, Files: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 2)
			good, bad := b.join(0, 0), b.join(1, 0)
			b.send(bad, m)
			if died := b.expect(good, wire.Died); died.Number != 1 {
				t.Errorf("task %d is said to be dead", died.Number)
			}
			if m, ok := b.next(bad); ok {
				t.Errorf("the bad session goes on with %+v", m)
			}
		})
	}
}

func TestSessionsOfOneTaskAreApart(t *testing.T) {
	b := newBench(t, 2)
	first := b.join(0, 0)
	b.send(first, wire.Message{Kind: wire.Part, Data: []byte("first")})
	second := b.join(0, 0) // the first has not even left
	b.send(second, wire.Message{Kind: wire.Part, Data: []byte("second")})
	for _, want := range []string{"first", "second"} {
		c := b.join(1, 0)
		b.send(c, wire.Message{Kind: wire.Part})
		m := b.expect(c, wire.Parts)
		if !bytes.Contains(m.Data, []byte(want)) {
			t.Errorf("%q does not contain %q", m.Data, want)
		}
	}
}

// A task that opens an instance after another task has ended is notified of that death at once, and
// its exchange fails.
func TestLateOpenHearsOfDeath(t *testing.T) {
	b := newBench(t, 2)
	b.hub.TaskEnded(1, "exited with status 3")
	b.hub.TaskEnded(1, "again") // not news
	c := b.join(0, 0)
	if m := b.expect(c, wire.Died); m.Number != 1 || string(m.Data) != "exited with status 3" {
		t.Errorf("%+v", m)
	}
	b.send(c, wire.Message{Kind: wire.Part})
	if m := b.expect(c, wire.Failed); !strings.Contains(string(m.Data),
		"status 3 before it called LAPI_Init") {
		t.Errorf("%q", m.Data)
	}
}

// The rest of what a task had sent counts, though its end is known before it is read: the others
// get the notice that it has left, and none of a death.
func TestEndKnownBeforeLeave(t *testing.T) {
	b := newBench(t, 2)
	stays, goes := b.join(0, 0), b.join(1, 0)
	b.hub.TaskEnded(1, "exited with status 0")
	b.send(goes, wire.Message{Kind: wire.Leave})
	goes.Close()
	time.Sleep(3 * reapDelay)
	if m := b.expect(stays, wire.Left); !bytes.Equal(m.Data, notice(wire.Left, 1).Data) {
		t.Errorf("%+v", m)
	}
	var s wire.Scratch
	if m, ok, err := stays.Receive(&s); ok || err != nil {
		t.Errorf("%+v %v", m, err)
	}
}

// A session that said Ending has ended; a session that did not has died. Tasks that come later are
// notified likewise.
func TestEndingIsNoDeath(t *testing.T) {
	b := newBench(t, 3)
	stays, ends, dies := b.join(0, 0), b.join(1, 0), b.join(2, 0)
	if n, err := unix.Write(ends.Fd(), wire.Record(wire.Ending)); n <= 0 || err != nil {
		t.Fatal(err)
	}
	ends.Close()
	b.hub.TaskEnded(1, "exited with status 0")
	if m := b.expect(stays, wire.Ended); m.Number != 1 || string(m.Data) != "exited with status 0" {
		t.Errorf("%+v", m)
	}
	dies.Close()
	b.hub.TaskEnded(2, "exited with status 0")
	if m := b.expect(stays, wire.Died); m.Number != 2 {
		t.Errorf("%+v", m)
	}
}

func TestQuiet(t *testing.T) {
	b := newBench(t, 2)
	stays, goes := b.join(0, 0), b.join(1, 0)
	b.hub.Quiet()
	goes.Close()
	b.hub.TaskEnded(1, "was killed")
	time.Sleep(3 * reapDelay)
	var s wire.Scratch
	if m, ok, err := stays.Receive(&s); ok || err != nil {
		t.Errorf("%+v %v", m, err)
	}
}

// Nothing is kept of sessions that are over: descriptors of complete and of failed exchanges,
// groups.
func TestNothingIsKept(t *testing.T) {
	b := newBench(t, 3)
	before := openFiles(t)
	for i := range 5 {
		var all []*wire.Conn
		for task := range 3 {
			all = append(all, b.join(task, 0))
		}
		for task, c := range all {
			if i%2 == 1 && task == 2 {
				continue // the exchange fails: task 2 leaves instead
			}
			b.send(c, wire.Message{Kind: wire.Part, Files: []int{0, 1, 2}})
		}
		for task, c := range all {
			if i%2 == 0 {
				m := b.expect(c, wire.Parts)
				m.CloseFiles()
			}
			b.send(c, wire.Message{Kind: wire.Leave})
			_ = task
		}
		for _, c := range all {
			c.Close()
		}
	}
	limit := time.Now().Add(guard)
	for openFiles(t) > before || b.groups() > 0 {
		if time.Now().After(limit) {
			t.Fatalf("%d descriptors open, %d before; %d groups", openFiles(t), before, b.groups())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (b *bench) groups() int {
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	return len(b.hub.groups)
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestAbandoned: a process holds a task's socket and has not begun a session.
func TestAbandoned(t *testing.T) {
	b := newBench(t, 3)
	b.join(1, 0)
	null, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
	if err != nil || unix.Dup2(null, b.control[2]) != nil { // the cleanup closes that number
		t.Fatal(err)
	}
	for task, want := range []bool{true, false, false} {
		if got := b.hub.Abandoned(task); got != want {
			t.Errorf("task %d: %v", task, got)
		}
	}
}
