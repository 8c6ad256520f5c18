package hub

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

// handed is a hub of tasks 0 to 2 of four, which were started by hand, in the process of task 1.
type handed struct {
	bench
	h *Hub
}

func newHanded(t *testing.T) *handed {
	t.Helper()
	h := New(4, testKey)
	h.ByHand([]int{0, 1, 2}, 1)
	return &handed{bench{t: t}, h}
}

// comes has a process of a task come, with a session that is in a group that has begun, or in none.
// It returns the session, and what ends it all.
func (b *handed) comes(task int, begun bool) (c *wire.Conn, ends func()) {
	b.t.Helper()
	mine, theirs, err := wire.Pair()
	if err != nil {
		b.t.Fatal(err)
	}
	near, far, err := wire.Pair()
	if err == nil {
		err = b.h.Admit(far)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	s := standing{mates: []int{0, 1, 2}, goOn: []going{{}}}
	s.opened[0] = 6
	if begun {
		s.goOn[0] = going{id: groupID{0, 5}, round: 1}
	}
	g := wire.Greeting{Purpose: wire.Join, Task: task, NumTasks: 4}
	if err := wire.SendTo(near, wire.Message{Kind: wire.Hello, Data: s.encode(g.Encode()),
		Files: []int{theirs}}); err != nil {
		b.t.Fatal(err)
	}
	closeFiles([]int{theirs})
	if c, err = wire.NewConn(mine); err != nil {
		b.t.Fatal(err)
	}
	over := false
	ends = func() {
		if !over {
			over = true
			c.Close()
			closeFiles([]int{near})
		}
	}
	b.t.Cleanup(ends)
	return c, ends
}

// until waits until something holds of the hub.
func (b *handed) until(what string, holds func() bool) {
	b.t.Helper()
	for limit := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
		b.h.mu.Lock()
		over := holds()
		b.h.mu.Unlock()
		if over {
			return
		}
		if time.Now().After(limit) {
			b.t.Fatal(what)
		}
	}
}

// first is the next message but for those of a kind.
func (b *handed) first(c *wire.Conn, but wire.Kind) wire.Message {
	b.t.Helper()
	for {
		if m, ok := b.next(c); !ok || m.Kind != but {
			return m
		}
	}
}

// rejoins has a task come and give its part, and returns the numbers under which tasks 1 and 2 hear
// of it.
func (b *handed) rejoins(task int, others ...*wire.Conn) (c *wire.Conn, ends func(), n []uint32) {
	b.t.Helper()
	c, ends = b.comes(task, false)
	b.send(c, wire.Message{Kind: wire.Part, Data: []byte("new")})
	for _, o := range others {
		m := b.first(o, wire.Died)
		if m.Kind != wire.Rejoined || m.Number%wire.MaxTasks != uint32(task) ||
			string(m.Data) != "new" {
			b.t.Fatalf("%+v", m)
		}
		n = append(n, m.Number)
	}
	return c, ends, n
}

// parts are what the exchange of one that rejoins has brought, by task.
func (b *handed) parts(c *wire.Conn) map[int]string {
	b.t.Helper()
	m := b.first(c, wire.Welcome)
	all, err := wire.DecodeParts(m.Data, m.Files, 4)
	if m.Kind != wire.Parts || err != nil {
		b.t.Fatalf("%+v, %v", m, err)
	}
	got := make(map[int]string)
	for _, p := range all {
		got[p.Task] = string(p.Data)
	}
	return got
}

// A hub that others' keepers have yet to come to readmits nobody: he would not hear of them.
func TestReadmitsWhenAllAreKnown(t *testing.T) {
	b := newHanded(t)
	one, _ := b.comes(1, true)
	zero, _ := b.comes(0, false)
	b.send(zero, wire.Message{Kind: wire.Part, Data: []byte("new")})
	b.until("task 0 has given its part", func() bool {
		g := b.h.hand.at[0].coming
		return b.h.hand.at[0].begun != nil && g != nil && g.rounds[0] != nil &&
			g.rounds[0].present[0]
	})
	two, _ := b.comes(2, true)
	for _, c := range []*wire.Conn{one, two} {
		m := b.first(c, wire.Died)
		if m.Kind != wire.Rejoined {
			t.Fatalf("%+v", m)
		}
		b.send(c, wire.Message{Kind: wire.Answer, Number: m.Number, Data: []byte("old")})
	}
	if got := b.parts(zero); len(got) != 3 || got[1] != "old" || got[2] != "old" {
		t.Errorf("%v", got)
	}
}

// What was meant for a process that has ended its successor does not get.
func TestLateAnswer(t *testing.T) {
	b := newHanded(t)
	one, _ := b.comes(1, true)
	two, _ := b.comes(2, true)
	_, ends, late := b.rejoins(0, one, two)
	ends()
	zero, _, n := b.rejoins(0, one, two)
	b.send(one, wire.Message{Kind: wire.Answer, Number: late[0], Data: []byte("late")})
	b.send(one, wire.Message{Kind: wire.Answer, Number: n[0], Data: []byte("one")})
	b.send(two, wire.Message{Kind: wire.Answer, Number: n[1], Data: []byte("two")})
	if got := b.parts(zero); got[1] != "one" || got[2] != "two" || got[0] != "new" {
		t.Errorf("%v", got)
	}
}

// Who has been asked for its part may leave, or end: nobody waits for it, and one that is not known
// is not mourned.
func TestAnswererLeaves(t *testing.T) {
	for _, how := range []string{"leaves", "ends"} {
		t.Run(how, func(t *testing.T) {
			b := newHanded(t)
			one, _ := b.comes(1, true)
			two, ends := b.comes(2, true)
			zero, _, n := b.rejoins(0, one, two)
			b.send(one, wire.Message{Kind: wire.Answer, Number: n[0]})
			if how == "ends" {
				ends()
			} else {
				b.send(two, wire.Message{Kind: wire.Leave})
			}
			if got := b.parts(zero); len(got) != 2 {
				t.Errorf("%v", got)
			}
		})
	}
}

// Who asks whether a process has ended hears of it first, if so, though the hub has not noticed.
func TestSettle(t *testing.T) {
	b := newHanded(t)
	zero, _ := b.comes(0, true)
	_, _ = b.comes(2, true)
	b.until("tasks 0 and 2 have come", func() bool {
		return b.h.tasks[0].came && b.h.tasks[2].came
	})
	b.send(zero, wire.Message{Kind: wire.Settle, Number: 2})
	if m := b.expect(zero, wire.Settle); m.Number != 2 {
		t.Errorf("%+v", m)
	}
	a, closed, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLink(a)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	unix.Close(closed)
	b.h.mu.Lock()
	b.h.tasks[2].control = l
	b.h.mu.Unlock()
	b.send(zero, wire.Message{Kind: wire.Settle, Number: 2})
	if m := b.expect(zero, wire.Died); m.Number != 2 {
		t.Errorf("%+v", m)
	}
	b.expect(zero, wire.Settle)
}

// A keeper tells another hub whom its task expects, and what it has asked.
func TestKeeperExpects(t *testing.T) {
	var hubs []*link
	next := make(chan int, 2)
	for range 2 {
		mine, theirs, err := wire.Pair()
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLink(mine)
		if err != nil {
			t.Fatal(err)
		}
		hubs = append(hubs, l)
		next <- theirs
	}
	control, err := Keep(Owner{NumTasks: 2, Mates: []int{0, 1},
		Reach: func() (int, error) { return <-next, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(control)
	b := &bench{t: t, control: []int{control, 0}}
	c := b.join(0, 0)
	for _, kind := range []wire.Kind{wire.Expect, wire.Settle, wire.Expect, wire.Settle} {
		b.send(c, wire.Message{Kind: kind, Number: 1})
	}
	for i, l := range hubs {
		session := sessionOf(t, l)
		var got []wire.Kind
		for !slices.Contains(got, wire.Expect) || !slices.Contains(got, wire.Settle) {
			m, err := session.receive()
			if err != nil {
				t.Fatalf("hub %d: %v", i, err)
			}
			got = append(got, m.Kind)
		}
		session.close()
		l.close()
	}
}

// sessionOf waits for a keeper's session.
func sessionOf(t *testing.T, control *link) *link {
	t.Helper()
	for {
		m, err := control.receive()
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Files) == 1 {
			l, err := newLink(m.Files[0])
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
	}
}
