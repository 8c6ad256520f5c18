package hub

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

var testKey = bytes.Repeat([]byte{7}, wire.KeySize)

// spanned is a job on several nodes, with two tasks on each: tasks 2i and 2i+1 are on node i.
type spanned struct {
	bench
	hubs   []*Hub
	trunks map[[2]int]net.Conn // by the dialing and the listening node
}

func newSpanned(t *testing.T, nodes int) *spanned {
	t.Helper()
	s := newSpannedHubs(t, nodes)
	for task := range 2 * nodes {
		s.control = append(s.control, s.admit(s.hubs[task/2], task, 2*nodes))
	}
	for high := range nodes {
		for low := range high {
			s.connect(high, low)
		}
	}
	return s
}

// newSpannedHubs has the hubs only.
func newSpannedHubs(t *testing.T, nodes int) *spanned {
	s := &spanned{bench: bench{t: t}, trunks: make(map[[2]int]net.Conn)}
	table := make([]int, 2*nodes)
	for task := range table {
		table[task] = task / 2
	}
	for node := range nodes {
		h := New(len(table), testKey)
		h.Span(table, 2*node, nil)
		s.hubs = append(s.hubs, h)
	}
	return s
}

// admit is a task's control socket, once its hub knows it.
func (s *spanned) admit(h *Hub, task, numTasks int) int {
	mine, theirs, err := wire.Pair()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := h.Admit(mine); err != nil {
		s.t.Fatal(err)
	}
	g := wire.Greeting{Purpose: wire.Join, Task: task, NumTasks: numTasks}
	hello := wire.Message{Kind: wire.Hello, Data: new(standing).encode(g.Encode())}
	if err := wire.SendTo(theirs, hello); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { unix.Close(theirs) })
	return theirs
}

func (s *spanned) connect(high, low int) {
	a, b := tcpPair(s.t)
	accepted := make(chan error, 1)
	go func() {
		w, err := Hear(b, testKey, len(s.control))
		if err == nil {
			err = s.hubs[low].Attach(w)
		}
		accepted <- err
	}()
	w, err := Call(a, testKey, s.hubs[high].span.task, len(s.control), guard)
	if err == nil {
		err = s.hubs[high].Attach(w)
	}
	if err := errors.Join(err, <-accepted); err != nil {
		s.t.Fatal(err)
	}
	s.trunks[[2]int{high, low}] = a
}

func tcpPair(t *testing.T) (dialing, listening net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if dialing, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if listening, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialing.Close(); listening.Close() })
	return dialing, listening
}

// expect is the next message, apart from those that notify keepers of other tasks.
func (s *spanned) expect(c *wire.Conn, kind wire.Kind) wire.Message {
	s.t.Helper()
	for {
		m, ok := s.next(c)
		if ok && m.Kind != kind && (m.Kind == wire.Left || m.Kind == wire.Ending) {
			continue
		}
		if !ok || m.Kind != kind {
			s.t.Fatalf("%+v (%v) instead of kind %d", m, ok, kind)
		}
		return m
	}
}

// joinAll makes all tasks begin a session and exchange a part.
func (s *spanned) joinAll() (all []*wire.Conn) {
	s.t.Helper()
	for task := range s.control {
		all = append(all, s.join(task, 0))
	}
	for task, c := range all {
		s.send(c, wire.Message{Kind: wire.Part, Data: []byte{'a' + byte(task)}})
	}
	for task, c := range all {
		m := s.expect(c, wire.Parts)
		parts, err := wire.DecodeParts(m.Data, m.Files, len(all))
		if err != nil || len(parts) != len(all) {
			s.t.Fatal(task, len(parts), err)
		}
		for _, p := range parts {
			if string(p.Data) != string(rune('a'+p.Task)) {
				s.t.Fatalf("task %d gave %q", p.Task, p.Data)
			}
		}
	}
	return all
}

// An exchange reaches all nodes, in every order of joining, with descriptors within a node only.
func TestSpannedExchange(t *testing.T) {
	s := newSpanned(t, 3)
	all := s.joinAll()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for task, c := range all {
		if task != 5 {
			s.send(c, wire.Message{Kind: wire.Part, Number: 1, Files: []int{int(null.Fd())}})
		}
	}
	s.send(all[5], wire.Message{Kind: wire.Part, Number: 1, Files: []int{int(null.Fd())}})
	for task, c := range all {
		m := s.expect(c, wire.Parts)
		parts, err := wire.DecodeParts(m.Data, m.Files, len(all))
		if err != nil || m.Number != 1 {
			t.Fatal(m.Number, err)
		}
		for _, p := range parts {
			if got, want := len(p.Files) > 0, p.Task/2 == task/2; got != want {
				t.Errorf("task %d has descriptors of task %d: %v", task, p.Task, got)
			}
		}
		m.CloseFiles()
	}
}

// Sessions that one node's tasks begin before another's are kept apart.
func TestSpannedIncarnations(t *testing.T) {
	s := newSpanned(t, 2)
	first := s.joinAll()
	for _, c := range first {
		s.send(c, wire.Message{Kind: wire.Leave})
	}
	for task, c := range s.joinAll() {
		s.send(c, wire.Message{Kind: wire.Leave})
		first[task].Close()
	}
	for deadline := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
		left := 0
		for _, h := range s.hubs {
			h.mu.Lock()
			for _, g := range h.groups {
				if g.id.incarnation == 0 {
					left++
				}
			}
			h.mu.Unlock()
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d groups are not forgotten", left)
		}
	}
}

// The end of a task is reported on all nodes.
func TestSpannedEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *spanned, session *wire.Conn)
		want wire.Kind
	}{
		"died": {func(s *spanned, session *wire.Conn) { session.Close() }, wire.Died},
		"ended": {func(s *spanned, session *wire.Conn) {
			s.send(session, wire.Message{Kind: wire.Ending})
			session.Close()
		}, wire.Ended},
		"process": {func(s *spanned, session *wire.Conn) {
			_ = unix.Shutdown(s.control[3], unix.SHUT_RDWR)
		}, wire.Died},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpanned(t, 3)
			all := s.joinAll()
			c.end(s, all[3])
			for _, task := range []int{0, 2, 5} {
				m := s.expect(all[task], c.want)
				if m.Number != 3 || len(m.Data) == 0 {
					t.Errorf("task %d hears of task %d: %q", task, m.Number, m.Data)
				}
			}
		})
	}
}

// An exchange that will never be complete fails on all nodes, with the reason.
func TestSpannedExchangeFails(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *spanned)
		want string
	}{
		"left": {func(s *spanned) {
			s.send(s.join(3, 0), wire.Message{Kind: wire.Leave})
		}, "task 3 has left (LAPI_Term)"},
		"never came": {func(s *spanned) {
			_ = unix.Shutdown(s.control[3], unix.SHUT_RDWR)
		}, "task 3 has ended"},
		"node": {func(s *spanned) { s.disconnect(); s.hubs[0].Lost(1, "has ended") }, "task 2 has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpanned(t, 2)
			waiting := s.join(0, 0)
			s.send(waiting, wire.Message{Kind: wire.Part})
			c.end(s)
			for {
				m, ok := s.next(waiting)
				if !ok || m.Kind == wire.Failed {
					if text := string(m.Data); !ok || !strings.HasPrefix(text, c.want) {
						t.Fatalf("%q (%v), want %q", text, ok, c.want)
					}
					return
				}
			}
		})
	}
}

// If a connection ends no task is dead, but the connection is missed; if a node acknowledges
// nothing, all of its tasks are.
func TestLostNode(t *testing.T) {
	reached := newSpanned(t, 2)
	reached.hubs[0].Lost(1, "is lost") // a task had tried in vain, and now the node is there
	reached.joinAll()
	for name, c := range map[string]struct {
		err    error
		silent bool
	}{
		"ended":  {io.EOF, false},
		"reset":  {os.NewSyscallError("read", syscall.ECONNRESET), false},
		"silent": {os.NewSyscallError("read", syscall.ETIMEDOUT), true},
	} {
		s := newSpanned(t, 2)
		all, h := s.joinAll(), s.hubs[0]
		missed := make(chan int, 1)
		h.mu.Lock()
		h.span.missed = func(node int) { missed <- node }
		trunk := h.span.trunks[1]
		way := trunk.way
		h.mu.Unlock()
		h.ended(trunk, way, c.err)
		if !c.silent {
			if node := <-missed; node != 1 || h.Attached(1) {
				t.Errorf("%s: node %d is missed", name, node)
			}
			if !h.Wanted(1) {
				t.Errorf("%s: it is not wanted", name)
			}
			h.Lost(1, "is lost")
		}
		for _, dead := range []uint32{2, 3} {
			if m := s.expect(all[0], wire.Died); m.Number != dead {
				t.Errorf("%s: task %d is dead: %s", name, m.Number, m.Data)
			}
		}
		if h.Wanted(1) {
			t.Errorf("%s: a node that is gone is wanted", name)
		}
		s.send(all[0], wire.Message{Kind: wire.Part, Number: 1})
		if m := s.expect(all[0], wire.Failed); !strings.HasPrefix(string(m.Data), "task 2 ") {
			t.Errorf("%s: %s", name, m.Data)
		}
	}
}

// Leave and Ending are answered when all keepers on all nodes have been notified: so the process
// may end, and the hubs, too.
func TestAnswers(t *testing.T) {
	for range 20 {
		s := newSpanned(t, 3)
		all := s.joinAll()
		s.send(all[3], wire.Message{Kind: wire.Leave})
		s.expect(all[3], wire.Left)
		s.send(all[1], wire.Message{Kind: wire.Ending})
		s.expect(all[1], wire.Ending)
		for _, task := range []int{0, 2, 4, 5} {
			for _, want := range []wire.Message{notice(wire.Left, 3), notice(wire.Ending, 1)} {
				var scratch wire.Scratch
				m, ok, err := all[task].Receive(&scratch) // it is there
				if !ok || err != nil || m.Kind != want.Kind || !bytes.Equal(m.Data, want.Data) {
					t.Fatalf("task %d: %+v %v %v instead of %+v", task, m, ok, err, want)
				}
			}
		}
		s.hubs[1].Lost(0, "is gone") // it is there
		s.disconnect()
		s.hubs[1].Lost(0, "is gone") // no hub waits for a hub that is gone
		s.hubs[1].Lost(2, "is gone")
		s.hubs[1].Flush(guard)
	}
}

// Nothing is answered before the notice is in the sockets of all keepers: of the node, and of
// others.
func TestAnswersWait(t *testing.T) {
	for _, leaver := range []int{1, 3} {
		s := newSpanned(t, 2)
		all := s.joinAll()
		gate := make(chan struct{})
		h := s.hubs[0]
		h.mu.Lock()
		h.groups[groupID{}].members[0].send(wire.Message{}, func() { <-gate }) // it is slow
		h.mu.Unlock()
		s.send(all[leaver], wire.Message{Kind: wire.Leave})
		time.Sleep(50 * time.Millisecond)
		var scratch wire.Scratch
		if m, ok, err := all[leaver].Receive(&scratch); ok || err != nil {
			t.Errorf("task %d is answered: %+v %v", leaver, m, err)
		}
		close(gate)
		s.expect(all[leaver], wire.Left)
	}
}

// Notices of many tasks become one message, in their order among others.
func TestMerge(t *testing.T) {
	left := func(task int) outgoing { return outgoing{m: notice(wire.Left, task)} }
	batch := []outgoing{{}, left(1), {}, left(2), {m: notice(wire.Ending, 3)}, left(4),
		{m: wire.Message{Kind: wire.Died}}, {m: wire.Message{Kind: wire.Died}}}
	var got []string
	for len(batch) > 0 {
		m, n := merge(batch)
		got = append(got, fmt.Sprint(m.Kind, m.Data, n))
		batch = batch[n:]
	}
	want := []string{fmt.Sprint(wire.Left, []byte{1, 0, 0, 0, 2, 0, 0, 0}, 4),
		fmt.Sprint(wire.Ending, []byte{3, 0, 0, 0}, 1), fmt.Sprint(wire.Left, []byte{4, 0, 0, 0}, 1),
		fmt.Sprint(wire.Died, []byte(nil), 1), fmt.Sprint(wire.Died, []byte(nil), 1)}
	if !slices.Equal(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
}

// A hub that waits sleeps until something has changed.
func TestAwaitSleeps(t *testing.T) {
	s := newSpanned(t, 2)
	all, h := s.joinAll(), s.hubs[0]
	looks := make(chan int)
	go func() {
		n := 0
		h.mu.Lock()
		h.await(guard, func() bool {
			n++
			return h.groups[groupID{}].left[0]
		})
		h.mu.Unlock()
		looks <- n
	}()
	time.Sleep(100 * time.Millisecond)
	s.send(all[0], wire.Message{Kind: wire.Leave})
	if n := <-looks; n > 10 {
		t.Errorf("it has looked %d times for one change", n)
	}
	h.mu.Lock()
	h.await(time.Millisecond, func() bool { return false }) // ends by its limit
	h.mu.Unlock()
}

// TestMovedReachesAll: each task's address that has changed reaches all others, on all nodes, also
// where the connection between two hubs is made later; a longer one than may be ends the session.
func TestMovedReachesAll(t *testing.T) {
	s := newSpanned(t, 2)
	all := s.joinAll()
	hears := func(task int, address string) {
		t.Helper()
		if m := s.expect(all[task], wire.Moved); m.Number != 3 || string(m.Data) != address {
			t.Errorf("task %d: %d, %q", task, m.Number, m.Data)
		}
	}
	s.send(all[3], wire.Message{Kind: wire.Moved, Data: []byte("here")})
	for task := range 3 {
		hears(task, "here")
	}
	s.disconnect()
	s.send(all[3], wire.Message{Kind: wire.Moved, Data: []byte("there")})
	hears(2, "there")
	s.connect(1, 0)
	hears(0, "there")
	hears(1, "there")
	s.send(all[3], wire.Message{Kind: wire.Moved, Data: make([]byte, maxHow+1)})
	if m := s.expect(all[2], wire.Died); m.Number != 3 {
		t.Errorf("%+v", m)
	}
}
