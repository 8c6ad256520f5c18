package udp

import (
	"math/rand/v2"
	"testing"
	"time"

	"lapi/transport"
)

// gigabit is a path as Ethernet's, with a queue of 2 ms.
func gigabit() simLink { return simLink{delay: 50 * time.Microsecond, rate: 125e6, queue: 250e3} }

func slower(w simLink, by int64) simLink {
	w.rate /= by
	w.queue /= int(by)
	return w
}

// A long transfer takes all paths, in proportion to their speed; by LAPI_NOT_STRIPE one alone.
func TestSpread(t *testing.T) {
	one := newSimNet(t, 2, nil, gigabit()).rate(20000, false)
	two := newSimNet(t, 2, nil, gigabit(), gigabit()).rate(20000, false)
	r := newSimNet(t, 2, nil, gigabit(), gigabit())
	single := r.rate(20000, true)
	if least := min(r.sentBy[0], r.sentBy[1]); least > 100000 {
		t.Errorf("what must not be spread took %v bytes by two paths", r.sentBy[:2])
	}
	r = newSimNet(t, 2, nil, slower(gigabit(), 10), gigabit())
	unequal := r.rate(20000, false)
	eight := newSimNet(t, 2, nil, gigabit(), gigabit(), gigabit(), gigabit(), gigabit(), gigabit(),
		gigabit(), gigabit()).rate(20000, false)
	t.Logf("MB/s: one path %.0f, two %.0f, two but not spread %.0f, with one a tenth as fast %.0f, eight %.0f",
		one/1e6, two/1e6, single/1e6, unequal/1e6, eight/1e6)
	if one < 0.9*125e6 || two < 1.8*one || single > 1.05*one || unequal < 1.02*one ||
		eight < 6*one {
		t.Error("the paths are not used in proportion to their speed")
	}
	if r.sentBy[0] > r.sentBy[1]/5 {
		t.Errorf("the slow path took %d bytes, the fast one %d", r.sentBy[0], r.sentBy[1])
	}
}

// A path that stops working, in whatever way, is left at once, and nothing is lost; when it works
// again it is used again.
func TestFailover(t *testing.T) {
	always := func(int) bool { return true }
	for name, c := range map[string]struct{ fail, mend func(r *simNet) }{
		"black hole": {
			func(r *simNet) { r.links[0][0].cut, r.links[1][0].cut = always, always },
			func(r *simNet) { r.links[0][0].cut, r.links[1][0].cut = nil, nil },
		},
		"there": {func(r *simNet) { r.links[1][0].cut = always },
			func(r *simNet) { r.links[1][0].cut = nil }},
		"back": {func(r *simNet) { r.links[0][0].cut = always },
			func(r *simNet) { r.links[0][0].cut = nil }},
		"own address": {func(r *simNet) { r.down(0, 0) }, func(r *simNet) { r.up(0, 0) }},
		"peer's":      {func(r *simNet) { r.down(1, 0) }, func(r *simNet) { r.up(1, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSimNet(t, 2, nil, gigabit(), slower(gigabit(), 2))
			_, before := r.pingPong(time.Second, nil)
			c.fail(r)
			s := r.stream(0, 1, 50000) // beside it a transfer that uses both
			longest, with := r.pingPong(time.Second, func() { s.feed() })
			t.Logf("longest pause %v; %d messages in a second, then %d", longest, before, with)
			if longest > 200*time.Millisecond || with < 20 {
				t.Errorf("a pause of %v", longest)
			}
			r.until(time.Minute, s.feed)
			r.want("packets of the transfer", r.got[1], 50000)
			if name == "there" || name == "black hole" || name == "own address" {
				sent := r.sentBy[0]
				r.rate(1000, false)
				if extra := r.sentBy[0] - sent; extra > 20000 {
					t.Errorf("%d bytes by the path that does not work", extra)
				}
			}
			c.mend(r)
			r.pingPong(time.Second, nil) // time for probes
			sent := r.sentBy[0]
			r.rate(5000, false)
			if extra := r.sentBy[0] - sent; extra < 5000*1400/2 {
				t.Errorf("%d bytes by the path that works again", extra)
			}
			r.want("failures", len(r.failed), 0)
		})
	}
}

// silence cuts task off on path, both ways, or joins it again.
func (r *simNet) silence(task, path int, on bool) {
	for i := range r.ms {
		r.links[i][path].cut = nil
		if on {
			r.links[i][path].cut = func(from int) bool { return i == task || from == task }
		}
	}
}

func (r *simNet) down(task, path int) {
	r.silence(task, path, true)
	r.ms[task].PathDown(r.now, Path(path))
}

func (r *simNet) up(task, path int) {
	r.silence(task, path, false)
	r.ms[task].PathUp(r.now, Path(path))
}

func (r *simNet) want(what string, got, want int) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// One packet alone is in flight when its path dies.
func TestFailoverOfLonePacket(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit())
	r.pingPong(100*time.Millisecond, nil)
	for path := range r.links[1] {
		if r.ms[0].connected(1).paths.At(path) == r.ms[0].connected(1).paths.Usable() {
			r.links[1][path].cut = func(int) bool { return true }
		}
	}
	r.pass(2 * time.Second)
	var op transport.Op
	if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != nil {
		t.Fatal(err)
	}
	d := r.until(10*time.Second, func() bool { return r.got[1] == 1 })
	if r.got[1] != 1 || d > time.Second {
		t.Errorf("%d messages after %v", r.got[1], d)
	}
}

// starve returns what puts tasks 0 and 1 to sleep again and again, up to sleep each time, and lets
// them run up to run in between.
func (r *simNet) starve(random *rand.Rand, sleep, run time.Duration) func() {
	r.asleep = make([]int64, 2)
	var next [2]int64
	return func() {
		for i := range next {
			if r.now >= next[i] {
				r.asleep[i] = r.now + random.Int64N(int64(sleep))
				next[i] = r.asleep[i] + random.Int64N(int64(run))
			}
		}
	}
}

// Tasks that get the processor now and then only, and so look silent on all paths, leave a path
// that fails as soon as they run.
func TestFailoverOfStarved(t *testing.T) {
	longest := time.Duration(0)
	for seed := range 30 {
		r := newSimNet(t, 2, nil, gigabit(), gigabit())
		for range seed {
			r.random.Uint64()
		}
		starve := r.starve(r.random, 100*time.Millisecond, 10*time.Millisecond)
		r.pingPong(time.Second, starve)
		for path := range 2 {
			r.silence(0, path, true)
			pause, _ := r.pingPong(1500*time.Millisecond, starve)
			r.silence(0, path, false)
			after, _ := r.pingPong(500*time.Millisecond, starve)
			longest = max(longest, pause, after)
		}
	}
	t.Logf("longest pause %v", longest)
	if longest > time.Second {
		t.Error("it should be a few times of what they sleep")
	}
}

// A path that comes and goes is used less and less.
func TestFlapping(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit())
	r.pingPong(100*time.Millisecond, nil)
	changes := [4]int{}
	for i := range changes {
		before := r.changes
		for range 10 {
			r.ms[0].PathDown(r.now, 0)
			r.pingPong(100*time.Millisecond, nil)
			r.ms[0].PathUp(r.now, 0)
			r.pingPong(400*time.Millisecond, nil)
		}
		changes[i] = r.changes - before
	}
	if changes[0] == 0 || changes[3] >= changes[0] {
		t.Errorf("the path was left and used again %v times", changes)
	}
	r.pingPong(5*time.Second, nil)
	if o := r.ms[0].connected(1).paths.At(0); o.Health() != "live" {
		t.Errorf("the path is not used again at all: it is %s", o.Health())
	}
}

// Without any path traffic waits, and goes on when one is back; after TIMEOUT the peer has failed,
// and the error says why.
func TestAllDown(t *testing.T) {
	silence := func(r *simNet, on bool) {
		for i := range r.links {
			for j := range r.links[i] {
				r.links[i][j].cut = nil
				if on {
					r.links[i][j].cut = func(int) bool { return true }
				}
			}
		}
	}
	for name, c := range map[string]struct {
		fail, mend func(r *simNet)
		paths      []simLink
		err        error
	}{
		"all addresses down": {func(r *simNet) { r.down(0, 0); r.down(0, 1) },
			func(r *simNet) { r.up(0, 1) }, []simLink{gigabit(), gigabit()},
			transport.ErrAdaptersDown},
		"the only address": {func(r *simNet) { r.down(0, 0) }, func(r *simNet) { r.up(0, 0) },
			[]simLink{gigabit()}, transport.ErrAdaptersDown},
		"silence": {func(r *simNet) { silence(r, true) },
			func(r *simNet) { silence(r, false) }, []simLink{gigabit(), gigabit()},
			transport.ErrUnreachable},
		"silence, one path": {func(r *simNet) { silence(r, true) },
			func(r *simNet) { silence(r, false) }, []simLink{gigabit()}, transport.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			for _, open := range []bool{true, false} {
				r := newSimNet(t, 2, func(c *Config) { c.Timeout = 10 * time.Second }, c.paths...)
				if open {
					r.pingPong(100*time.Millisecond, nil)
				}
				c.fail(r)
				s := r.stream(0, 1, 500)
				r.until(9*time.Second, s.feed)
				r.want("failures before TIMEOUT", len(r.failed), 0)
				r.want("messages", r.got[1], 0)
				c.mend(r)
				if d := r.until(5*time.Second, s.feed); r.got[1] != 500 || d > 3*time.Second {
					t.Errorf("%d messages %v after the path is back", r.got[1], d)
				}
				c.fail(r)
				var op transport.Op
				if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != nil {
					t.Fatal(err)
				}
				r.pass(20 * time.Second)
				if len(r.failed) != 1 || r.failed[0] != c.err {
					t.Errorf("open %v: PeerFailed: %v, want %v", open, r.failed, c.err)
				}
				if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != transport.ErrUnreachable {
					t.Errorf("afterwards: %v", err)
				}
			}
		})
	}
}

// A session comes about by whichever path works, and a path that works later joins.
func TestHandshakeByOtherPath(t *testing.T) {
	cut := func(int) bool { return true }
	r := newSimNet(t, 2, nil, gigabit(), gigabit(), gigabit())
	for i := range r.links {
		r.links[i][0].cut, r.links[i][1].cut = cut, cut
	}
	var op transport.Op
	if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != nil {
		t.Fatal(err)
	}
	if d := r.until(time.Second, func() bool { return r.got[1] == 1 }); r.got[1] != 1 {
		t.Fatalf("no message in %v", d)
	}
	r.pingPong(time.Second, nil)
	for i := range r.links {
		r.links[i][1].cut = nil
	}
	r.pingPong(time.Second, nil)
	for path, want := range []string{"untested", "live", "live"} {
		if h := r.ms[0].connected(1).paths.At(path).Health(); h != want && !(path == 0 && h == "dead") {
			t.Errorf("path %d is %s, want %s", path, h, want)
		}
	}
}

// A task with fewer addresses than its peer uses those it has; so does the peer.
func TestFewerAddresses(t *testing.T) {
	task := 0
	r := newSimNet(t, 2, func(c *Config) {
		if task++; task == 1 {
			c.Locals = c.Locals[:1]
		}
	}, gigabit(), gigabit())
	r.rate(1000, false)
	r.want("paths", r.ms[0].connected(1).paths.Len(), 1)
	if r.sentBy[1] != 0 && r.links[0][1].lost == 0 {
		t.Errorf("%d bytes by a path that the peer does not have", r.sentBy[1])
	}
}

// Beside a path that loses packets a good one is as good as alone.
func TestLossyBesideGood(t *testing.T) {
	good := newSimNet(t, 2, nil, gigabit()).rate(20000, false)
	for _, loss := range []float64{0.01, 0.1, 0.5} {
		bad := gigabit()
		bad.loss = loss
		r := newSimNet(t, 2, nil, bad, gigabit())
		both := r.rate(20000, false)
		r.pingPong(time.Second, nil)
		_, alone := newSimNet(t, 2, nil, gigabit()).pingPong(time.Second, nil)
		_, count := r.pingPong(time.Second, nil)
		t.Logf("loss %v: %.2f of the good path alone, ping-pong %d, alone %d", loss, both/good,
			count, alone)
		if both < 0.9*good || count < alone*3/4 {
			t.Error("the bad path spoils the good one")
		}
	}
}

// A session that is not used needs no timer, however many paths it has.
func TestIdleNeedsNoTimer(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit(), gigabit())
	for i := range r.links {
		r.links[i][2].cut = func(int) bool { return true }
	}
	r.rate(1000, false)
	r.pass(5 * time.Second)
	for i, m := range r.ms {
		if next := m.NextTimeout(); next != 0 {
			t.Errorf("task %d wakes up in %v", i, time.Duration(next-r.now))
		}
	}
}

// Packets in flight from an address are resent from another as soon as the address is known to be
// down; not even Hello is sent from an address that is down.
func TestDownTakesNoTime(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit())
	r.pingPong(time.Second, nil)
	best := Path(r.ms[0].connected(1).paths.Usable().Number())
	r.links[1][best].cut = func(int) bool { return true }
	var op transport.Op
	if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != nil {
		t.Fatal(err)
	}
	r.ms[0].PathDown(r.now, best)
	// virtual: before any timer
	if d := r.until(time.Second, func() bool { return r.got[1] == 1 }); d > 150*time.Microsecond {
		t.Errorf("it took %v", d)
	}
	r = newSimNet(t, 2, nil, gigabit(), gigabit())
	r.ms[0].PathDown(r.now, 0)
	if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != nil {
		t.Fatal(err)
	}
	r.until(time.Second, func() bool { return r.got[1] == 1 })
	r.want("messages", r.got[1], 1)
	r.want("bytes from the address that is down", r.sentBy[0], 0)
}

// A path that carries nothing and dies in silence is found out while the session is used.
func TestIdlePathIsWatched(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), simLink{delay: time.Millisecond})
	r.pingPong(time.Second, nil)
	other := r.ms[0].connected(1).paths.At(1)
	if other.Health() != "live" {
		t.Fatalf("it is %s", other.Health())
	}
	r.silence(1, 1, true)
	r.pingPong(time.Second, nil)
	if other.Health() == "live" {
		t.Error("the path still counts as live")
	}
	r.silence(1, 1, false)
	r.pingPong(2*time.Second, nil)
	if other.Health() != "live" {
		t.Errorf("a path that works again is %s", other.Health())
	}
}

// Tasks that seldom get the processor leave all paths now and then. If one path fails meanwhile,
// the answers by the other show it, and an answer that waited at the socket does not bring back a
// path whose address has gone down: nothing would be sent at all.
func TestFailoverWhileAllSeemSilent(t *testing.T) {
	var longest [2]time.Duration
	for seed := range uint64(40) {
		for i, fail := range []func(r *simNet, path int){
			func(r *simNet, path int) { r.silence(1, path, true) },
			func(r *simNet, path int) { r.down(1, path) },
		} {
			r := newSimNet(t, 2, nil, gigabit(), gigabit())
			starve := r.starve(rand.New(rand.NewPCG(seed, 3)), 100*time.Millisecond,
				30*time.Millisecond)
			r.pingPong(500*time.Millisecond, starve)
			for path := range 2 {
				fail(r, path)
				pause, _ := r.pingPong(time.Second, starve)
				longest[i] = max(longest[i], pause)
				r.up(1, path)
				r.silence(1, path, false)
				r.pingPong(300*time.Millisecond, starve)
			}
		}
	}
	t.Logf("longest pause of a path that is silent %v, that is down at the peer %v", longest[0],
		longest[1])
	if longest[0] > 400*time.Millisecond || longest[1] > 400*time.Millisecond {
		t.Error("it should be a few times of what they sleep")
	}
}

// If the path in use fails before a dead path has answered often enough, the dead path's first
// answer will do.
func TestDeadPathIsBetterThanNone(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit())
	r.pingPong(time.Second, nil)
	r.silence(1, 0, true)
	r.pingPong(2*time.Second, nil)
	if h := r.ms[0].connected(1).paths.At(0).Health(); h != "dead" {
		t.Fatalf("a path that does not work is %s", h)
	}
	r.silence(1, 0, false)
	for i := range r.links {
		r.links[i][1].cut = func(int) bool { return true }
	}
	if pause, _ := r.pingPong(time.Second, nil); pause > 20*time.Millisecond {
		t.Errorf("a pause of %v", pause)
	}
}

// A path that was slow when it was measured first, and is not any more, takes its share of a
// transfer that begins: it is measured again at once.
func TestSlowAtFirst(t *testing.T) {
	slow := gigabit()
	slow.delay = 20 * time.Millisecond
	r := newSimNet(t, 2, nil, slow, gigabit())
	r.pingPong(200*time.Millisecond, nil)
	for task := range r.links {
		r.links[task][0].delay = gigabit().delay
	}
	before := r.sentBy
	s := r.stream(0, 1, 20000)
	r.until(10*time.Second, func() bool { s.feed(); return r.got[1] >= 20000 })
	first, second := r.sentBy[0]-before[0], r.sentBy[1]-before[1]
	t.Logf("%d bytes by the path that was slow, %d by the other", first, second)
	if first < second/3 {
		t.Error("the path that was slow is hardly used")
	}
}

// An outage that is over does not count for a later one, which happens to be under way TIMEOUT after
// the first began.
func TestOutagesDoNotAddUp(t *testing.T) {
	const timeout = 10 * time.Second
	r := newSimNet(t, 2, func(c *Config) { c.Timeout = timeout }, gigabit())
	r.pingPong(100*time.Millisecond, nil)
	var s *stream
	begin := r.now
	outage := func() {
		r.down(0, 0)
		s = r.stream(0, 1, 100)
		s.feed()
		r.pass(time.Second)
		r.want("failures", len(r.failed), 0)
		r.up(0, 0)
		r.until(5*time.Second, s.feed)
	}
	outage()
	r.pass(time.Duration(begin+int64(timeout)-r.now) - 500*time.Millisecond)
	outage()
	r.want("messages of the streams", len(s.free), len(s.ops))
}
