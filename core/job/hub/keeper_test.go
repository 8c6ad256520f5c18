package hub

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
	"lapi/core/poll"
)

// attended is a job on two nodes, tasks 0 and 1 on one, 2 and 3 on the other, whose tasks have
// keepers.
type attended struct {
	spanned
	mu      sync.Mutex
	changed *sync.Cond
	at      [2]*Hub         // by node; nil: none now
	dead    [4]bool         // tasks
	answers [4]atomic.Int32 // to Endings, by task
}

func newAttended(t *testing.T) *attended {
	t.Helper()
	a := &attended{spanned: *newSpannedHubs(t, 2)}
	a.changed = sync.NewCond(&a.mu)
	a.at = [2]*Hub{a.hubs[0], a.hubs[1]}
	for task := range 4 {
		control, _, err := Keep(Owner{Task: task, NumTasks: 4,
			Reach:    func() (int, error) { return a.reach(task) },
			Answered: func() { a.answers[task].Add(1) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(control) })
		a.control = append(a.control, control)
	}
	a.connect(1, 0)
	return a
}

// reach waits for the hub of a task's node.
func (a *attended) reach(task int) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.at[task/2] == nil && !a.dead[task] {
		a.changed.Wait()
	}
	if a.dead[task] {
		return -1, errors.New("this task is dead")
	}
	mine, theirs, err := wire.Pair()
	if err == nil {
		err = a.at[task/2].Admit(theirs)
	}
	return mine, err
}

// kill ends the process of a task that has its node's hub, as the others see it.
func (a *attended) kill(task int) {
	node := task / 2
	a.mu.Lock()
	h := a.at[node]
	a.at[node], a.dead[task] = nil, true
	a.mu.Unlock()
	a.changed.Broadcast()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet = true
	for _, t := range h.span.trunks {
		if t != nil && t.way != nil {
			t.way.Close()
		}
	}
	for _, g := range h.groups {
		for _, s := range g.members {
			if s != nil {
				s.link.shutdown()
			}
		}
	}
	for t := range h.tasks {
		if c := h.tasks[t].control; c != nil {
			c.shutdown()
		}
	}
}

// follow has the second task of a node have its hub from now on.
func (a *attended) follow(node int) {
	a.t.Helper()
	h := New(4, testKey)
	h.Span([]int{0, 0, 1, 1}, 2*node+1, nil)
	h.TaskEnded(2*node, "has ended")
	a.hubs[node] = h
	a.mu.Lock()
	a.at[node] = h
	a.mu.Unlock()
	a.changed.Broadcast()
	a.connect(1, 0)
}

// news is every message that a session receives within a time that is long enough.
func (a *attended) news(c *wire.Conn) (all []wire.Message) {
	a.t.Helper()
	var scratch wire.Scratch
	for end := time.Now().Add(2 * reapDelay); time.Now().Before(end); {
		m, ok, err := c.Receive(&scratch)
		if err != nil {
			a.t.Fatal(err)
		}
		if ok {
			all = append(all, m)
			continue
		}
		time.Sleep(time.Millisecond)
	}
	return all
}

// Sessions go on with another hub: pending requests are answered; no notice comes twice, or is
// about a task that has left.
func TestKeeper(t *testing.T) {
	a := newAttended(t)
	all := a.joinAll()
	a.send(all[3], wire.Message{Kind: wire.Leave})
	a.expect(all[3], wire.Left)
	if n := a.answers[2].Load(); n != 0 {
		t.Errorf("an Ending that was not said is answered %d times", n)
	}
	a.send(all[2], wire.Message{Kind: wire.Ending})
	a.expect(all[2], wire.Ending)
	for task, want := range []int32{0, 0, 1, 0} {
		if n := a.answers[task].Load(); n != want {
			t.Errorf("task %d is told of %d answers, want %d", task, n, want)
		}
	}
	a.send(all[1], wire.Message{Kind: wire.Part, Number: 1})
	if m := a.expect(all[1], wire.Failed); !strings.HasPrefix(string(m.Data), "task 3 has left") {
		t.Errorf("%s", m.Data)
	}
	a.kill(0)
	a.send(all[1], wire.Message{Kind: wire.Part, Number: 1}) // no hub is there to receive it
	a.follow(0)
	var kinds []wire.Kind
	for _, m := range a.news(all[1]) {
		kinds = append(kinds, m.Kind)
		if m.Kind == wire.Died && m.Number != 0 {
			t.Errorf("task 1 hears of the death of task %d", m.Number)
		}
	}
	if len(kinds) != 2 || kinds[0] == kinds[1] || kinds[0]+kinds[1] != wire.Died+wire.Failed {
		t.Errorf("task 1 hears %v", kinds)
	}
	if news := a.news(all[2]); len(news) != 1 || news[0].Kind != wire.Died || news[0].Number != 0 {
		t.Errorf("task 2 hears %+v", news)
	}

	a.kill(2) // its end was announced
	a.send(all[1], wire.Message{Kind: wire.Leave})
	a.follow(1)
	var ended, left int
	for _, m := range a.news(all[1]) {
		switch {
		case m.Kind == wire.Ended && m.Number == 2:
			ended++
		case m.Kind == wire.Left:
			left++
		default:
			t.Errorf("task 1 hears %+v", m)
		}
	}
	if ended != 1 || left != 1 {
		t.Errorf("task 1 hears %d times of an end, and is answered %d times", ended, left)
	}
}

// A LAPI_Term while there is no hub is reported to the next hub.
func TestKeeperLeaves(t *testing.T) {
	a := newAttended(t)
	all := a.joinAll()
	a.kill(0)
	a.send(all[1], wire.Message{Kind: wire.Leave})
	all[1].Close() // the task does not wait for the answer
	a.follow(0)
	for _, m := range a.news(all[2]) {
		if m.Kind != wire.Left && (m.Kind != wire.Died || m.Number != 0) {
			t.Errorf("%+v", m)
		}
	}
	h := a.hubs[1]
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.groups[groupID{}].left[1] {
		t.Error("that task 1 has left is not known")
	}
}

// A session that closes without Leave is dead, also to a hub that begins later.
func TestKeeperLoses(t *testing.T) {
	a := newAttended(t)
	all := a.joinAll()
	a.kill(0)
	all[1].Close()
	a.follow(0)
	dead := make(map[uint32]bool)
	for _, m := range a.news(all[3]) {
		dead[m.Number] = m.Kind == wire.Died
	}
	if len(dead) != 2 || !dead[0] || !dead[1] {
		t.Errorf("%v", dead)
	}
}

// scripted is a keeper of task 0 whose first hub is what the test plays, and the next ones are h's.
func scripted(t *testing.T, h *Hub, numTasks int) (b *bench, first int, next func()) {
	t.Helper()
	mine, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	begun, ready := false, make(chan struct{})
	control, _, err := Keep(Owner{NumTasks: numTasks, Reach: func() (int, error) {
		if !begun {
			begun = true
			return theirs, nil
		}
		<-ready
		if h == nil {
			return -1, errors.New("there is none")
		}
		near, far, err := wire.Pair()
		if err == nil {
			err = h.Admit(far)
		}
		return near, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(control) })
	return &bench{t: t, control: append([]int{control}, make([]int, numTasks-1)...)}, mine,
		func() { close(ready) }
}

// Descriptors of an exchange that begins before there is a hub are not lost.
func TestKeeperEarly(t *testing.T) {
	h := New(1, testKey)
	h.Span([]int{0}, 0, nil)
	b, first, next := scripted(t, h, 1)
	unix.Close(first) // it ends before it receives anything
	time.Sleep(10 * time.Millisecond)
	c := b.join(0, 0)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	b.send(c, wire.Message{Kind: wire.Part, Files: []int{int(null.Fd())}})
	time.Sleep(10 * time.Millisecond)
	next()
	m := b.expect(c, wire.Parts)
	if len(m.Files) != 1 {
		t.Errorf("%d descriptors", len(m.Files))
	}
	m.CloseFiles()
}

// A session gets the notice of each end, and that a task has left, once, and none of the end of a
// task that has left, whatever the hub says.
func TestKeeperFilters(t *testing.T) {
	b, first, next := scripted(t, nil, 6)
	c, session := b.play(first)
	for _, m := range []wire.Message{{Kind: wire.Died, Number: 1}, {Kind: wire.Died, Number: 1},
		notice(wire.Left, 2), notice(wire.Left, 2), {Kind: wire.Died, Number: 2},
		{Kind: wire.Ended, Number: 3},
		{Kind: wire.Died, Number: 3}, {Kind: wire.Died, Number: 99}, {Kind: wire.Parts},
		{Kind: wire.Died, Number: 4}} {
		if err := session.send(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []uint32{1, 2, 3, 4} {
		m, _ := b.next(c)
		if want == 2 {
			if m.Kind != wire.Left || !bytes.Equal(m.Data, notice(wire.Left, 2).Data) {
				t.Errorf("%+v, not that task 2 has left", m)
			}
		} else if m.Number != want || m.Kind != wire.Died && m.Kind != wire.Ended {
			t.Errorf("%+v, not the end of task %d", m, want)
		}
	}
	next()
}

// play is a hub at the other end of a keeper's control socket: it returns the task's end of a
// session and its own.
func (b *bench) play(first int) (task *wire.Conn, session *link) {
	b.t.Helper()
	control, err := newLink(first)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(control.close)
	task = b.join(0, 0)
	for session == nil { // it comes with the first hello, or in one of its own
		m, err := control.receive()
		if err != nil {
			b.t.Fatal(err)
		}
		if len(m.Files) == 1 {
			if session, err = newLink(m.Files[0]); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	return task, session
}

// Messages that a hub has sent before its end are delivered.
func TestKeeperLastWords(t *testing.T) {
	const tasks, words = 400, 200
	b, first, next := scripted(t, nil, tasks)
	next()
	c, session := b.play(first)
	for n := range uint32(words) {
		if err := session.send(wire.Message{Kind: wire.Died, Number: n + 1}); err != nil {
			t.Fatal(err)
		}
	}
	session.close()
	_ = unix.Shutdown(first, unix.SHUT_RDWR)
	for n := range uint32(words) {
		if m := b.expect(c, wire.Died); m.Number != n+1 {
			t.Fatalf("%d instead of %d", m.Number, n+1)
		}
	}
	if m, ok := b.next(c); ok {
		t.Errorf("%+v where there is no hub any more", m)
	}
}

// TestKeeperRefused: a task that lives, but that its hub takes for ended, does not come again and
// again. Its sessions end.
func TestKeeperRefused(t *testing.T) {
	h := New(1, make([]byte, wire.KeySize))
	h.TaskEnded(0, "has ended")
	var tries atomic.Int32
	control, _, err := Keep(Owner{NumTasks: 1, Reach: func() (int, error) {
		tries.Add(1)
		mine, theirs, err := wire.Pair()
		if err == nil {
			err = h.Admit(theirs)
		}
		return mine, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(control)
	end := []unix.PollFd{{Fd: int32(control), Events: unix.POLLIN}}
	if ok, err := poll.Until(end, time.Now().Add(guard)); !ok || err != nil {
		t.Fatalf("sessions are still taken: %v", err)
	}
	time.Sleep(20 * comeAgain)
	if n := tries.Load(); n != 1 {
		t.Errorf("it has come %d times", n)
	}
}

// TestWatchersEnd: with a control socket the watch over its other end's process ends, though that
// lives.
func TestWatchersEnd(t *testing.T) {
	const rounds = 200
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := open()
	for range rounds {
		l, theirs := linkTo(t)
		watchProcess(l)
		l.close()
		unix.Close(theirs)
	}
	for end := time.Now().Add(guard); open() > before+rounds/2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, %d before", open(), before)
		}
	}
}

// linkTo is a link, and the socket at its other end.
func linkTo(t *testing.T) (l *link, other int) {
	t.Helper()
	mine, other, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	if l, err = newLink(mine); err != nil {
		t.Fatal(err)
	}
	return l, other
}

// TestKeeperRepeatsMoved: an address that has changed while there was no hub, or before one ended,
// reaches the tasks of all nodes, by the next one.
func TestKeeperRepeatsMoved(t *testing.T) {
	a := newAttended(t)
	all := a.joinAll()
	a.send(all[1], wire.Message{Kind: wire.Moved, Data: []byte("first")})
	a.expect(all[3], wire.Moved)
	a.kill(0)
	a.send(all[1], wire.Message{Kind: wire.Moved, Data: []byte("second")})
	a.follow(0)
	a.kill(2)
	a.follow(1)
	var latest string
	for _, m := range a.news(all[3]) {
		if m.Kind == wire.Moved && m.Number == 1 {
			latest = string(m.Data)
		}
	}
	if latest != "second" {
		t.Errorf("task 3 has %q of task 1", latest)
	}
}
