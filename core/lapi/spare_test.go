package lapi

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/core/wireup"
	"lapi/transport"
)

// spareJob is a job of two tasks with an adapter each, that may also use UDP/IP.
func spareJob(t *testing.T) *testJob {
	t.Helper()
	return newJob(t, 2, with("LAPI_US=yes", "MP_INFOLEVEL=2"))
}

// additions makes task 0 add to a word of task 1 many times, with a long put and get on the way,
// and checks that each was done once; meanwhile is called in the midst.
func (j *testJob) additions(what string, meanwhile func()) {
	j.t.Helper()
	k, word, one, done := j.tasks[0], new(int64), new(int64), new(int32)
	*one = 1
	const n = 300_000
	long, sink, back := make([]byte, n), make([]byte, n), make([]byte, n)
	for i := range long {
		long[i] = byte(i>>4) ^ byte(i)
	}
	for i := range 40 {
		j.ok(k.Rmw(8, wire.FetchAndAdd, 1, at(word), at(one), 0, at(done)))
		if i == 20 {
			j.ok(k.Put(1, n, at(&sink[0]), at(&long[0]), at(done), 0, 0))
			j.ok(k.Get(1, n, at(&long[0]), at(&back[0]), 0, at(done)))
			meanwhile()
		}
	}
	j.until(what, func() bool { return *done == 42 })
	if *word != 40 || !bytes.Equal(sink, long) || !bytes.Equal(back, long) {
		j.t.Fatalf("%s: %d additions instead of 40, or data is damaged", what, *word)
	}
}

// says counts the messages of a task with text in it.
func (k *testTask) says(text string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Count(strings.Join(k.messages, "\n"), text)
}

// TestLastAdapterOfTask: when the only adapter of one task or of both goes down, all goes on by
// UDP/IP, each addition is done once, and both say so; when it is up again, RDMA moves data.
func TestLastAdapterOfTask(t *testing.T) {
	for _, down := range [][]int{{0}, {1}, {0, 1}} {
		j := spareJob(t)
		j.additions("nothing fails", func() {})
		if !j.tasks[0].net.UDPIdles() {
			t.Error("UDP is looked at all the time")
		}
		set := func(is bool) {
			for _, i := range down {
				j.devices[i][0].Down(is)
			}
		}
		j.additions("it goes down", func() { set(true) })
		if j.tasks[0].net.UDPIdles() || j.tasks[0].net.UDP.Stats().PacketsSent == 0 {
			t.Error("UDP is not used")
		}
		j.additions("it is down", func() {})
		for i, k := range j.tasks {
			if n := k.says("is reached by UDP/IP, as no adapter leads there"); n != 1 {
				t.Errorf("%v: task %d says so %d times", down, i, n)
			}
		}
		set(false)
		j.until("RDMA again", func() bool {
			return j.tasks[0].says("is reached by an adapter again") == 1 &&
				j.tasks[1].says("is reached by an adapter again") == 1
		})
		before := j.devices[0][0].Moved()
		j.additions("it is up again", func() {})
		if moved := j.devices[0][0].Moved() - before; moved != 600_000 {
			t.Errorf("%v: %d bytes by RDMA", down, moved)
		}
		for _, k := range j.tasks {
			if e, some := k.NextError(); some {
				t.Errorf("the error handler hears of %+v", e)
			}
		}
	}
}

// TestLastAdapterIsGone: also for good.
func TestLastAdapterIsGone(t *testing.T) {
	j := spareJob(t)
	j.additions("it goes", func() { j.devices[1][0].Vanish() })
	j.additions("it is gone", func() {})
	j.devices[0][0].Vanish()
	j.additions("both are", func() {})
	if e, some := j.tasks[0].NextError(); some {
		t.Errorf("the error handler hears of %+v", e)
	}
}

// TestAdapterIsThereAgain: the only adapters of both tasks are taken away and plugged in: what goes
// by UDP/IP meanwhile goes over them again, each addition was done once, and both say so.
func TestAdapterIsThereAgain(t *testing.T) {
	j := spareJob(t)
	j.additions("nothing fails", func() {})
	j.additions("they go", func() {
		j.devices[0][0].Vanish()
		j.devices[1][0].Vanish()
	})
	j.additions("they are gone", func() {})
	j.mu.Lock()
	j.plugged = true
	j.mu.Unlock()
	for i, k := range j.tasks {
		j.until("an adapter", func() bool {
			return k.says("is up again") > 0 && k.says("by an adapter again") > 0
		})
		if len(j.devices[i]) != 2 {
			t.Errorf("task %d has opened %d adapters", i, len(j.devices[i]))
		}
	}
	before := j.devices[0][1].Moved()
	j.additions("they are there again", func() {})
	if moved := j.devices[0][1].Moved() - before; moved != 600_000 {
		t.Errorf("%d bytes by RDMA", moved)
	}
	if e, some := j.tasks[0].NextError(); some {
		t.Errorf("the error handler hears of %+v", e)
	}
}

// TestAsleepWhenAdapterFails: a task that sleeps when its peer's adapter goes is woken by what
// comes by UDP/IP.
func TestAsleepWhenAdapterFails(t *testing.T) {
	j := spareJob(t)
	j.additions("nothing fails", func() {})
	a, b := j.tasks[0], j.tasks[1]
	for try := 0; ; try++ {
		if _, ok := b.Arm(); ok {
			break
		}
		j.until("nothing to do", func() bool { return true })
		j.tasks[0].Dispatch(0)
		if b.Dispatch(0); try > 1_000_000 {
			t.Fatal("task 1 never sleeps")
		}
	}
	j.devices[0][0].Vanish()
	word, arrived := new(int64), new(int32)
	j.ok(a.Put(1, 8, at(word), at(word), at(arrived), 0, 0))
	files := b.links.Descriptors()
	j.tasks = j.tasks[:1]
	j.until("word at a descriptor of the task that sleeps", func() bool { return readable(files) })
	j.tasks = []*testTask{a, b}
	b.Disarm()
	j.until("the put", func() bool { return *arrived == 1 })
}

// TestPurgeBesideAdapters: two tasks that gave each other up while they were reached by UDP/IP
// begin anew, and what was under way is gone.
func TestPurgeBesideAdapters(t *testing.T) {
	j := spareJob(t)
	a, b := j.tasks[0], j.tasks[1]
	got, src := new(int64), new(int64)
	for round := range int64(4) {
		if round == 1 {
			j.devices[0][0].Vanish()
		}
		*src = round + 1
		arrived := new(int32)
		j.ok(a.Put(1, 8, at(got), at(src), at(arrived), 0, 0))
		j.until("a put", func() bool { return *arrived == 1 && *got == round+1 })
		j.ok(a.Purge(1))
		if code := a.Put(1, 8, at(got), at(src), 0, 0, 0); code != codes.ErrTgtPurged {
			t.Errorf("a put to a purged task: %s", codes.Name(code))
		}
		j.ok(b.Purge(0))
		j.ok(a.Resume(1))
		j.ok(b.Resume(0))
	}
	if len(a.events())+len(b.events()) != 0 {
		t.Error("an error handler is called")
	}
}

// TestLeftBesideAdapters: a task that ends while it is reached by UDP/IP says so.
func TestLeftBesideAdapters(t *testing.T) {
	j := spareJob(t)
	a, b := j.tasks[0], j.tasks[1]
	j.additions("its adapter goes", func() { j.devices[1][0].Vanish() })
	b.ended = true
	b.TermEnd()
	j.tasks = j.tasks[:1]
	j.until("its farewell", func() bool { return a.net.Verbs.HasLeft(transport.Endpoint(1)) })
}

// readable says whether one of files is.
func readable(files []int) bool {
	var polled []unix.PollFd
	for _, f := range files {
		polled = append(polled, unix.PollFd{Fd: int32(f), Events: unix.POLLIN})
	}
	n, _ := unix.Poll(polled, 0)
	return n > 0
}

// looks is a UDP link that counts how often it is looked at.
type looks struct {
	wireup.UDPLink
	n, found int
}

func (l *looks) Progress(int) int {
	l.n++
	n := l.found
	l.found = 0
	return n
}

// TestLooksAtUDP: a look at a silent socket costs a system call, so beside adapters there is one in
// 16 turns, and in 1024 while nothing goes by UDP; at once again after a look that has found
// something.
func TestLooksAtUDP(t *testing.T) {
	for _, c := range []struct {
		down bool
		each int
	}{{false, udpSpareTurns}, {true, udpIdleTurns}} {
		j := spareJob(t)
		j.additions("nothing fails", func() {})
		if j.devices[0][0].Down(c.down); c.down {
			j.additions("it is down", func() {})
		}
		k := j.tasks[0]
		real := k.net.UDP
		l := &looks{UDPLink: real}
		k.net.UDP, k.pace.udpIdle = l, 0
		turn := func(turns, want int, what string) {
			t.Helper()
			l.n = 0
			for range turns {
				k.progressUDP()
			}
			if l.n != want {
				t.Errorf("down %v, %s: %d looks in %d turns, not %d", c.down, what, l.n, turns, want)
			}
		}
		turn(1, 1, "the first")
		turn(4*c.each, 4, "nothing comes")
		l.found = 1
		turn(c.each, 1, "something comes")
		turn(3, 1, "after that at once")
		turn(c.each, 1, "and then nothing")
		k.net.UDP = real
	}
}
