package hub

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
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
	s := &spanned{bench: bench{t: t}, trunks: make(map[[2]int]net.Conn)}
	table := make([]int, 2*nodes)
	for task := range table {
		table[task] = task / 2
	}
	for node := range nodes {
		h := New(len(table), testKey)
		h.Span(table, node)
		s.hubs = append(s.hubs, h)
		for task := 2 * node; task < 2*node+2; task++ {
			s.control = append(s.control, s.admit(h, task, len(table)))
		}
	}
	for high := range nodes {
		for low := range high {
			s.connect(high, low)
		}
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
	if err := wire.SendTo(theirs, wire.Message{Kind: wire.Hello, Data: g.Encode()}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { unix.Close(theirs) })
	return theirs
}

func (s *spanned) connect(high, low int) {
	a, b := tcpPair(s.t)
	accepted := make(chan error, 1)
	go func() {
		p, err := Accept(b, testKey)
		if err == nil {
			err = s.hubs[low].Attach(p)
		}
		accepted <- err
	}()
	p, err := Dial(a, testKey, high, low)
	if err == nil {
		err = s.hubs[high].Attach(p)
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

// joinAll has all tasks begin a session and exchange a part.
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

// What happens to a task is told on all nodes.
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
			unix.Close(s.control[3])
			s.control[3] = -1
		}, "task 3 has ended"},
		"hub": {func(s *spanned) { s.trunks[[2]int{1, 0}].Close() }, "task 2 has ended"},
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

// If a connection ends, the task that has the hub is dead; if a node acknowledges nothing, all of its
// tasks are.
func TestLostNode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		dead []uint32
	}{
		"ended":  {io.EOF, []uint32{2}},
		"reset":  {os.NewSyscallError("read", syscall.ECONNRESET), []uint32{2}},
		"silent": {os.NewSyscallError("read", syscall.ETIMEDOUT), []uint32{2, 3}},
	} {
		s := &spanned{bench: bench{t: t}}
		h := New(4, testKey)
		h.Span([]int{0, 0, 1, 1}, 0)
		s.hubs, s.control = []*Hub{h}, []int{s.admit(h, 0, 4), s.admit(h, 1, 4), -1, -1}
		waiting := s.join(0, 0)
		a, _ := tcpPair(t)
		if err := h.Attach(&Proved{Node: 1, conn: broken{a, c.err}}); err != nil {
			t.Fatal(err)
		}
		for _, dead := range c.dead {
			if m := s.expect(waiting, wire.Died); m.Number != dead {
				t.Errorf("%s: task %d is dead: %s", name, m.Number, m.Data)
			}
		}
		s.send(waiting, wire.Message{Kind: wire.Part})
		m := s.expect(waiting, wire.Failed)
		if !strings.HasPrefix(string(m.Data), "task 2 ") {
			t.Errorf("%s: %s", name, m.Data)
		}
	}
}

// broken is a connection that cannot be read.
type broken struct {
	net.Conn
	err error
}

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// After Flush the other nodes know what was told them, so that the process with the hub may end. A task
// that has said Ending is answered then.
func TestFlush(t *testing.T) {
	for range 20 {
		s := newSpanned(t, 3)
		all := s.joinAll()
		h := s.hubs[1]
		s.send(all[2], wire.Message{Kind: wire.Leave})
		h.Left(2, 0, 1, guard)
		s.send(all[3], wire.Message{Kind: wire.Ending})
		s.expect(all[3], wire.Ending)
		for _, other := range []int{0, 2} {
			g := s.hubs[other]
			g.mu.Lock()
			id := groupID{}
			if !g.groups[id].left[2] || !g.groups[id].ending[3] {
				t.Error("it was not told yet")
			}
			g.mu.Unlock()
		}
		s.trunks[[2]int{1, 0}].Close() // nobody waits for a hub that is gone
		h.Flush(guard)
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
			return h.tasks[0].left[0] > 0
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

// Tasks on several nodes have the job key before there is a hub, so no hub sends it.
func TestSpannedWelcome(t *testing.T) {
	s := newSpanned(t, 2)
	g := wire.Greeting{Purpose: wire.Join, Task: 0, NumTasks: 4}
	if m := s.expect(s.sayHello(0, g.Encode()), wire.Welcome); len(m.Data) != 0 {
		t.Errorf("the hub sends %d bytes with its welcome", len(m.Data))
	}
}

// Whoever lacks the key, or alters, repeats or cuts anything, is found out.
func TestTrunkProof(t *testing.T) {
	wrong := bytes.Repeat([]byte{8}, wire.KeySize)
	for name, keys := range map[string][2][]byte{"dialing": {wrong, testKey},
		"listening": {testKey, wrong}} {
		a, b := tcpPair(t)
		accepted := make(chan error, 1)
		go func() {
			_, err := Accept(b, keys[1])
			accepted <- err
		}()
		_, err := Dial(a, keys[0], 1, 0)
		if other := <-accepted; err == nil || other == nil {
			t.Errorf("%s with a wrong key: %v, %v", name, err, other)
		}
	}
	a, b := tcpPair(t)
	go func() { // who dials without a key and does not mind
		said := make([]byte, firstSize)
		copy(said, trunkMagic)
		said[len(trunkMagic)] = 1
		_, _ = a.Write(said)
		_, _ = io.ReadFull(a, make([]byte, nonceSize+proofSize))
		_, _ = a.Write(make([]byte, proofSize))
	}()
	if _, err := Accept(b, testKey); err == nil {
		t.Error("a hub without a key is taken")
	}
	for name, alter := range map[string]func(b []byte) []byte{
		"as it is": func(b []byte) []byte { return b },
		"altered":  func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"proof":    func(b []byte) []byte { b[5] ^= 1; return b },
		"length":   func(b []byte) []byte { b[0]--; return b },
		"long":     func(b []byte) []byte { b[3] = 0xff; return b },
		"repeated": func(b []byte) []byte { return append(b, b...) },
	} {
		a, b := tcpPair(t)
		accepted := make(chan *Proved, 1)
		go func() {
			p, _ := Accept(b, testKey)
			accepted <- p
		}()
		p, err := Dial(a, testKey, 1, 0)
		q := <-accepted
		if err != nil || q == nil || q.Node != 1 {
			t.Fatal(err)
		}
		record := &recorder{Conn: p.conn}
		p.conn = record
		if err := p.write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write(alter(record.bytes)); err != nil {
			t.Fatal(err)
		}
		a.Close()
		got, err := q.read()
		if good := name == "as it is" || name == "repeated"; good != (err == nil) ||
			good && string(got) != "hello" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err = q.read(); err == nil {
			t.Errorf("%s: a second frame", name)
		}
	}
}

// recorder keeps what is written.
type recorder struct {
	net.Conn
	bytes []byte
}

func (r *recorder) Write(b []byte) (int, error) {
	r.bytes = append(r.bytes, b...)
	return len(b), nil
}

// A node that has a trunk gets no second one, and nobody can be a node that is none.
func TestTrunkOnce(t *testing.T) {
	s := newSpanned(t, 2)
	for _, node := range []int{1, 0, 2, 9999} {
		a, b := tcpPair(t)
		go Dial(a, testKey, node, 0)
		p, err := Accept(b, testKey)
		if err != nil {
			t.Fatal(err)
		}
		if s.hubs[0].Attach(p) == nil {
			t.Errorf("node %d is attached", node)
		}
	}
	s.joinAll()
}

// A hub that has proved itself cannot fill another's memory with exchanges.
func TestManyRounds(t *testing.T) {
	h := New(4, testKey)
	h.Span([]int{0, 0, 1, 1}, 0)
	data, _ := wire.EncodeParts([]wire.Contribution{{Task: 2}, {Task: 3}})
	var err error
	for number := range uint32(2 * maxAhead) {
		n := note{kind: noteParts, number: number, task: 2, data: data}
		if err = h.heard(1, n.encode()); err != nil {
			break
		}
	}
	if got := len(h.groups[groupID{}].rounds); err == nil || got != maxAhead {
		t.Errorf("%d rounds, %v", got, err)
	}
}

// FuzzNote: no note of a node that has proved itself does more than end its trunk.
func FuzzNote(f *testing.F) {
	for kind := noteParts; kind < lastNote; kind++ {
		n := note{kind: kind, number: 1, task: 3, data: make([]byte, 80)}
		f.Add(n.encode())
	}
	data, _ := wire.EncodeParts([]wire.Contribution{{Task: 2}, {Task: 3, Data: []byte("x")}})
	n := note{kind: noteParts, task: 2, data: data}
	f.Add(n.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		h := New(4, testKey)
		h.Span([]int{0, 0, 1, 1}, 0)
		for range 2 {
			_ = h.heard(1, b)
		}
		if len(h.groups) > 1 {
			t.Fatalf("%d groups of one note", len(h.groups))
		}
	})
}
