package pair

import (
	"math/rand/v2"
	"testing"

	"lapi/transport/verbs/internal/wire"
)

// end is one side: a Pair with its queue pairs, whose numbers count from base.
type end struct {
	Pair
	timers Timers
	base   uint32
	made   uint32
	out    []wire.Hello // on the way to the other
	over   bool
}

func newEnd(base uint32, lane int) *end {
	e := &end{base: base}
	e.timers.Init(int64(1e9), false)
	e.Init(lane, &e.timers, e)
	return e
}

func (e *end) OnTimer(now int64, over bool) {
	if over {
		e.over = true
		e.Stop()
		return
	}
	e.say(now)
}

func (e *end) say(now int64) {
	if e.State() == None {
		e.made++
		e.Make(e.base+e.made, 1)
	}
	e.out = append(e.out, e.Hello(false))
	e.Say(now)
}

func (e *end) begin(now int64) {
	if e.State() == None {
		e.Begin(now)
		e.say(now)
	}
}

// take does what the link does with a Hello.
func (e *end) take(h *wire.Hello, now int64) {
	if e.Past(h) {
		return
	}
	if e.Parts(h) {
		if e.State() == Joined {
			e.Part()
		} else {
			e.Drop()
		}
		if e.Past(h) {
			return
		}
	}
	e.begin(now)
	joins := e.Joins(h)
	if joins {
		e.Aim(h)
		e.Join()
	}
	if h.Echo == e.QPN() {
		e.Open()
	}
	if e.Answers(h, joins) {
		e.out = append(e.out, e.Hello(true))
	}
}

// TestStates: each step leads where the table says, and nowhere from other states.
func TestStates(t *testing.T) {
	steps := map[string]func(p *Pair){
		"make": func(p *Pair) { p.Make(7, 1) }, "join": (*Pair).Join, "part": (*Pair).Part,
		"open": func(p *Pair) { p.Open() }, "fail": (*Pair).Fail, "drop": (*Pair).Drop}
	want := map[string][states]State{
		"make": {Said, Said, Joined, Open, Failed},
		"join": {None, Joined, Joined, Open, Failed},
		"open": {None, Said, Open, Open, Failed},
		"part": {None, Said, Said, Open, Failed},
		"fail": {None, Failed, Failed, Failed, Failed},
		"drop": {},
	}
	for name, step := range steps {
		for from, to := range want[name] {
			p := Pair{state: State(from)}
			if step(&p); p.State() != to {
				t.Errorf("%s leads from %d to %d", name, from, p.State())
			}
		}
	}
}

// TestRounds: Hellos of the two sides are late, cross and get lost, and queue pairs fail; when all
// is quiet the two that are there are joined to each other, and both are open. Neither side makes
// queue pairs for ever.
func TestRounds(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		ends := [2]*end{newEnd(1000, int(seed%2)), newEnd(2000, int(seed%2))}
		now, failures := int64(1), uint32(0)
		for turn := range 4000 {
			now += int64(1e6)
			rough := turn < 300
			for i, e := range ends {
				other := ends[1-i]
				if e.State() == None {
					e.begin(now)
				}
				if rough && r.IntN(20) == 0 {
					failures++
					e.Fail()
				}
				if e.Broken() && (!rough || r.IntN(3) == 0) {
					e.Drop()
				}
				e.timers.timeout = 1 << 60
				e.deadline = 1 << 60
				e.timers.Run(now)
				if len(e.out) > 0 && r.IntN(2) == 0 {
					k := r.IntN(len(e.out))
					h := e.out[k]
					e.out = append(e.out[:k], e.out[k+1:]...)
					if !rough || r.IntN(4) > 0 {
						other.take(&h, now)
					}
				}
				// A request over a queue pair whose peer is gone fails.
				if e.Works() && r.IntN(4) == 0 && (other.QPN() != e.peer || other.State() < Joined ||
					other.State() == Failed) {
					e.Fail()
				}
			}
		}
		a, b := ends[0], ends[1]
		if !a.Works() || !b.Works() || a.peer != b.QPN() || b.peer != a.QPN() {
			t.Errorf("seed %d: %d, joined to %d, and %d, joined to %d: states %d and %d", seed, a.QPN(),
				a.peer, b.QPN(), b.peer, a.State(), b.State())
		}
		if a.made+b.made > 2+4*failures {
			t.Errorf("seed %d: %d queue pairs for %d failures", seed, a.made+b.made, failures)
		}
	}
}

// TestHellosAgain: Hello goes again after 10 ms, then less often, until it is answered; a lane that
// nobody answers is over, and is left longer each time; a port that is up again wakes it.
func TestHellosAgain(t *testing.T) {
	e := newEnd(1, 1)
	e.begin(1)
	if e.timers.Due() != 1+helloFirst || !e.Greets() {
		t.Fatalf("due at %d", e.timers.Due())
	}
	said := len(e.out)
	for e.timers.Due() != 0 {
		e.timers.Run(e.timers.Due())
	}
	if n := len(e.out) - said; !e.over || n < 6 || n > 12 {
		t.Errorf("%d Hellos in a second, over %v", n, e.over)
	}
	e.Drop()
	for i, want := range []int64{lanePause, 2 * lanePause, 4 * lanePause} {
		if e.Suspend(0); e.Ready(want-1) || !e.Ready(want) {
			t.Errorf("it is left otherwise for the time %d", i)
		}
	}
	if e.Wake(); !e.Ready(0) || e.Failures() != 0 {
		t.Error("it is not awake")
	}
}

// TestLife: Hellos of a connection before, of either side, are not taken; those of a later one of
// the peer's only where nothing of this one was used.
func TestLife(t *testing.T) {
	first := Life{}.Next(false)
	var said wire.Hello
	if first.Say(&said); said.Life != 1 || said.PeerLife != 0 || first.Known() {
		t.Fatalf("%+v", said)
	}
	if !first.Takes(&wire.Hello{Life: 3}, false) || !first.Known() {
		t.Error("the first Hello is not taken")
	}
	for _, c := range []struct {
		hello wire.Hello
		used  bool
		takes bool
	}{{wire.Hello{Life: 2}, false, false}, {wire.Hello{Life: 3}, true, true},
		{wire.Hello{Life: 4}, true, false}, {wire.Hello{Life: 4, PeerLife: 2}, false, false},
		{wire.Hello{Life: 4, PeerLife: 1}, false, true}} {
		l := first
		if l.Takes(&c.hello, c.used) != c.takes {
			t.Errorf("%+v, used %v", c.hello, c.used)
		}
	}
	again := first.Next(true)
	if again.Takes(&wire.Hello{Life: 3}, false) || !again.Takes(&wire.Hello{Life: 4}, false) {
		t.Error("what is over goes on")
	}
	if other := first.Next(false); !other.Takes(&wire.Hello{Life: 1}, false) {
		t.Error("another generation is not taken")
	}
}
