package hub

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

var (
	lifeA, lifeB = wire.Life{'A'}, wire.Life{'B'}
	met          = map[int]wire.Life{0: {'0'}, 1: {'1'}, 2: {'2'}} // all, from the beginning on
)

// handed is a hub of tasks 0 to 2 of four, which were started by hand, in the process of task 1.
type handed struct {
	bench
	h *Hub
}

func newHanded(t *testing.T) *handed {
	t.Helper()
	h := New(4, testKey)
	h.ByHand([]int{0, 1, 2}, 1, func() {})
	return &handed{bench{t: t}, h}
}

// begun is a session of a group that has begun, with the lives of others that it knows.
func begun(lives map[int]wire.Life) going {
	return going{id: groupID{0, 5}, round: 1, lives: lives}
}

// comes has a process of a task come, with a session that is in a group that has begun, or in none.
// It returns the session, and what ends it all.
func (b *handed) comes(task int, has going) (c *wire.Conn, ends func()) {
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
	s := standing{mates: []int{0, 1, 2}, goOn: []going{has}}
	s.opened[0] = 6
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

// given says whether task 0 has given its part.
func (b *handed) given() bool {
	for _, g := range b.h.groups {
		if s := g.members[0]; s != nil && s.round == 1 {
			return true
		}
	}
	return false
}

// first is the next message but for those of a kind.
func (b *bench) first(c *wire.Conn, but wire.Kind) wire.Message {
	b.t.Helper()
	for {
		if m, ok := b.next(c); !ok || m.Kind != but {
			return m
		}
	}
}

// rejoins makes a task come and give its part; the others are notified of it.
func (b *handed) rejoins(task int, life wire.Life, others ...*wire.Conn) (c *wire.Conn,
	ends func()) {
	b.t.Helper()
	c, ends = b.comes(task, going{})
	b.send(c, wire.Message{Kind: wire.Part, Data: life.Before([]byte("new"))})
	for _, o := range others {
		b.hears(o, task, life)
	}
	return c, ends
}

// hears waits until a session is notified that a task has rejoined.
func (b *handed) hears(c *wire.Conn, task int, life wire.Life) {
	b.t.Helper()
	m := b.first(c, wire.Died)
	if m.Kind != wire.Rejoined || m.Number != uint32(task) ||
		string(m.Data) != string(life.Before([]byte("new"))) {
		b.t.Fatalf("%+v", m)
	}
}

// answers gives a session's part to task 0, that has a life.
func (b *handed) answers(c *wire.Conn, life wire.Life, part string) {
	b.t.Helper()
	b.send(c, wire.Message{Kind: wire.Answer, Data: life.Before([]byte(part))})
}

// parts are the parts, by task, that the exchange of a rejoining task has brought.
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

// A new hub readmits nobody until the other tasks' keepers have come: a task readmitted before
// would not learn of those tasks.
func TestReadmitsWhenAllAreKnown(t *testing.T) {
	b := newHanded(t)
	one, _ := b.comes(1, begun(met))
	zero, _ := b.comes(0, going{})
	b.send(zero, wire.Message{Kind: wire.Part, Data: lifeA.Before([]byte("new"))})
	b.until("task 0 has given its part", func() bool {
		g := b.h.hand.at[0].coming
		return b.h.hand.at[0].begun != nil && g != nil && g.rounds[0] != nil &&
			g.rounds[0].present[0]
	})
	two, _ := b.comes(2, begun(met))
	for _, c := range []*wire.Conn{one, two} {
		b.hears(c, 0, lifeA)
		b.answers(c, lifeA, "old")
	}
	if got := b.parts(zero); len(got) != 3 || got[1] != "old" || got[2] != "old" {
		t.Errorf("%v", got)
	}
}

// A process does not get answers that were meant for its predecessor.
func TestLateAnswer(t *testing.T) {
	b := newHanded(t)
	one, _ := b.comes(1, begun(met))
	two, _ := b.comes(2, begun(met))
	_, ends := b.rejoins(0, lifeA, one, two)
	ends()
	zero, _ := b.rejoins(0, lifeB, one, two)
	b.answers(one, lifeA, "late")
	b.answers(one, lifeB, "one")
	b.answers(two, lifeB, "two")
	if got := b.parts(zero); got[1] != "one" || got[2] != "two" ||
		got[0] != string(lifeB.Before([]byte("new"))) {
		t.Errorf("%v", got)
	}
}

// A task that was asked for its part may leave or end: the exchange does not wait for it, and the
// rejoining task, which does not know it, gets no notice of its death.
func TestAnswererLeaves(t *testing.T) {
	for _, how := range []string{"leaves", "ends"} {
		t.Run(how, func(t *testing.T) {
			b := newHanded(t)
			one, _ := b.comes(1, begun(met))
			two, ends := b.comes(2, begun(met))
			zero, _ := b.rejoins(0, lifeA, one, two)
			b.answers(one, lifeA, "")
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

// A task that asks whether a process has ended gets the notice of that death first, if it has
// ended, even when the hub had not noticed the end yet.
func TestSettle(t *testing.T) {
	b := newHanded(t)
	zero, _ := b.comes(0, begun(met))
	_, _ = b.comes(2, begun(met))
	b.until("tasks 0 and 2 have come", func() bool {
		return b.h.tasks[0].came && b.h.tasks[2].came
	})
	b.send(zero, wire.Message{Kind: wire.Settle, Number: 2})
	if m := b.expect(zero, wire.Settle); m.Number != 2 {
		t.Errorf("%+v", m)
	}
	l, closed := linkTo(t)
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

// A task whose control socket has ended counts as ended: the hub is about to notice that.
func TestSettleAtTheEnd(t *testing.T) {
	b := newHanded(t)
	zero, _ := b.comes(0, begun(met))
	_, _ = b.comes(2, begun(met))
	b.until("tasks 0 and 2 have come", func() bool {
		return b.h.tasks[0].came && b.h.tasks[2].came
	})
	b.h.mu.Lock()
	b.h.tasks[2].control = nil
	b.h.mu.Unlock()
	b.send(zero, wire.Message{Kind: wire.Settle, Number: 2})
	b.expect(zero, wire.Died)
	b.expect(zero, wire.Settle)
}

// A hub ends while a task rejoins. The task comes to the next hub before or after the tasks that
// know its life already, and those that do not. The tasks that know it are not notified of a death;
// the others are, and then that the task has rejoined. All answer.
func TestReturnsByAnotherHub(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1},
		{2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			b := newHanded(t)
			has := []going{{life: lifeA}, begun(map[int]wire.Life{0: lifeA, 2: lifeB}),
				begun(map[int]wire.Life{0: lifeB})}
			var all [3]*wire.Conn
			for _, task := range order {
				all[task], _ = b.comes(task, has[task])
				b.until("it comes", func() bool { return b.h.tasks[task].came })
				if task == 0 {
					b.send(all[0], wire.Message{Kind: wire.Part, Data: lifeA.Before([]byte("new"))})
					b.until("it has given its part", b.given)
				}
			}
			if m := b.expect(all[1], wire.Rejoined); m.Number != 0 {
				t.Errorf("%+v", m)
			}
			if m := b.expect(all[2], wire.Died); m.Number != 0 {
				t.Errorf("%+v", m)
			}
			b.hears(all[2], 0, lifeA)
			b.answers(all[1], lifeA, "one")
			b.answers(all[2], lifeA, "two")
			if got := b.parts(all[0]); got[1] != "one" || got[2] != "two" {
				t.Errorf("%v", got)
			}
		})
	}
}

// The others do not know a process whose life is not that of the process that was about to rejoin.
func TestAnotherReturnsByAnotherHub(t *testing.T) {
	b := newHanded(t)
	one, _ := b.comes(1, begun(map[int]wire.Life{0: lifeA}))
	two, _ := b.comes(2, begun(map[int]wire.Life{0: lifeA}))
	zero, _ := b.comes(0, going{life: lifeB})
	b.send(zero, wire.Message{Kind: wire.Part, Data: lifeB.Before([]byte("new"))})
	for _, c := range []*wire.Conn{one, two} {
		b.expect(c, wire.Died)
		b.hears(c, 0, lifeB)
	}
}

// Other tasks' knowledge of a task's last process does not count for its present one.
func TestStaleKnowledge(t *testing.T) {
	b := newHanded(t)
	_, _ = b.comes(0, begun(met))
	stale := begun(met)
	for i := range stale.known {
		stale.known[i] = []int{0, 1}
	}
	b.until("it comes", func() bool { return b.h.tasks[0].came })
	_, _ = b.comes(2, stale)
	b.until("it comes", func() bool { return b.h.tasks[2].came })
	b.h.mu.Lock()
	defer b.h.mu.Unlock()
	g := b.h.hand.at[0].begun
	if g.left[0] || g.ending[0] || g.dead[0] != "" || !g.left[1] || !g.ending[1] {
		t.Errorf("left %v, ending %v, dead %q", g.left, g.ending, g.dead)
	}
}

// A process that has ended before its hello is read is not taken in: its successor may be here.
func TestLateHello(t *testing.T) {
	b := newHanded(t)
	l, near := linkTo(t)
	defer l.close()
	g := wire.Greeting{Purpose: wire.Join, Task: 2, NumTasks: 4}
	s := standing{mates: []int{0, 1, 2}}
	hello := wire.Message{Kind: wire.Hello, Data: s.encode(g.Encode())}
	if err := wire.SendTo(near, hello); err != nil {
		t.Fatal(err)
	}
	unix.Close(near)
	if _, err := b.h.identify(l); err == nil || b.h.Came(2) {
		t.Errorf("it is taken in (%v)", err)
	}
}

// A death is reported late, when the next process of the task comes: to tasks that had met the dead
// process, and not to a task that has rejoined since then.
func TestDeathOfStranger(t *testing.T) {
	b := newHanded(t)
	b.h.SetReapDelay(time.Hour)
	zero, _ := b.comes(0, begun(met))
	_, ends := b.comes(1, begun(met))
	two, _ := b.comes(2, begun(met))
	b.until("all are there", func() bool {
		g := b.h.hand.at[0].begun
		return g != nil && g.allAccounted()
	})
	if err := unix.Shutdown(zero.Fd(), unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	b.until("the end is seen", func() bool { return b.h.hand.at[0].begun.members[0].closed })
	ends()
	one, _ := b.rejoins(1, lifeA, two)
	b.send(two, wire.Message{Kind: wire.Answer, Number: 1, Data: lifeA.Before(lifeB.Before(nil))})
	if got := b.parts(one); len(got) != 2 {
		t.Errorf("%v", got)
	}
	zero, _ = b.rejoins(0, lifeB)
	if m := b.expect(two, wire.Died); m.Number != 0 {
		t.Errorf("%+v", m)
	}
	b.hears(two, 0, lifeB)
	if m := b.expect(one, wire.Rejoined); m.Number != 0 {
		t.Errorf("%+v", m)
	}
	b.answers(one, lifeB, "one")
	b.answers(two, lifeB, "two")
	if got := b.parts(zero); got[1] != "one" || got[2] != "two" {
		t.Errorf("%v", got)
	}
}

// Missed reports no death of a task that has come meanwhile.
func TestMissed(t *testing.T) {
	b := newHanded(t)
	b.comes(2, begun(met))
	b.until("it comes", func() bool { return b.h.tasks[2].came })
	b.h.Missed(2, "has ended")
	b.h.Missed(0, "has ended")
	b.h.mu.Lock()
	defer b.h.mu.Unlock()
	if b.h.tasks[2].ended || !b.h.tasks[0].ended {
		t.Errorf("task 2 has ended: %v, task 0: %v", b.h.tasks[2].ended, b.h.tasks[0].ended)
	}
}

// A keeper sends another hub its session's life, and the lives of the others.
func TestKeeperLives(t *testing.T) {
	b, c, hubs := newKept(t)
	b.send(c, wire.Message{Kind: wire.Part, Data: lifeA.Before(nil)})
	sessionOf(t, hubs[0]).close()
	hubs[0].close()
	on, session := standingOf(t, hubs[1])
	if on.life != lifeA || len(on.lives) > 0 {
		t.Errorf("%+v", on)
	}
	for _, m := range []wire.Message{
		{Kind: wire.Welcome, Number: 3, Data: appendLives(nil, map[int]wire.Life{1: lifeA})},
		{Kind: wire.Parts}, {Kind: wire.Rejoined, Number: 1, Data: lifeB.Before(nil)}} {
		if err := session.send(m); err != nil {
			t.Fatal(err)
		}
	}
	b.first(c, wire.Parts)
	session.close()
	hubs[1].close()
	on, session = standingOf(t, hubs[2])
	defer session.close()
	if on.life != (wire.Life{}) || len(on.lives) != 1 || on.lives[1] != lifeB ||
		on.id.incarnation != 3 {
		t.Errorf("%+v", on)
	}
}

// A keeper sends another hub the tasks that its task expects, and its open questions.
func TestKeeperExpects(t *testing.T) {
	b, c, hubs := newKept(t)
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

// newKept is a session of task 0 of two by a keeper, and the hubs that this one comes to, one after
// another.
func newKept(t *testing.T) (b *bench, c *wire.Conn, hubs []*link) {
	t.Helper()
	next := make(chan int, 3)
	for range cap(next) {
		l, theirs := linkTo(t)
		hubs = append(hubs, l)
		next <- theirs
	}
	control, _, err := Keep(Owner{NumTasks: 2, Mates: []int{0, 1},
		Reach: func() (int, error) { return <-next, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(control) })
	b = &bench{t: t, control: []int{control, 0}}
	return b, b.join(0, 0), hubs
}

// standingOf waits for a keeper that comes with one session, and says how that stands.
func standingOf(t *testing.T, control *link) (going, *link) {
	t.Helper()
	m, err := control.receive()
	if err != nil {
		t.Fatal(err)
	}
	s, err := decodeStanding(m.Data[wire.GreetingSize:], 2)
	if err != nil || len(s.goOn) != 1 || len(m.Files) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	l, err := newLink(m.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	return s.goOn[0], l
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
