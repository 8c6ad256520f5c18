package udp

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/udp/internal/paths"
)

// unlike is a path that is much slower than gigabit.
func unlike() simLink { return simLink{delay: 3 * time.Millisecond, rate: 125e6, queue: 250e3} }

// Tasks that get a twentieth of the processor look silent by all paths alike: no path is left for
// that, be the paths alike or not, be it a ping-pong or a long transfer.
func TestStarvedPeerIsNotAFailedPath(t *testing.T) {
	for name, other := range map[string]simLink{"alike": gigabit(), "unlike": unlike()} {
		t.Run(name, func(t *testing.T) {
			silent := 0
			for seed := range uint64(20) {
				r := newSimNet(t, 2, nil, gigabit(), other)
				starve := r.starve(rand.New(rand.NewPCG(seed, 5)), 60*time.Millisecond,
					3*time.Millisecond)
				watch := func() {
					starve()
					for i := range r.ms {
						for path := range 2 {
							if o := r.ms[i].connected(transport.Endpoint(1 - i)).paths.At(path); o.Health() == "live" &&
								!o.Works() {
								silent++
							}
						}
					}
				}
				r.pingPong(time.Second, watch)
				s := r.stream(0, 1, 3000)
				r.until(20*time.Second, func() bool { watch(); return s.feed() })
				r.want("packets of the transfer", r.got[1], 3000)
				if r.changes != 0 {
					t.Errorf("seed %d: a path was left or used again %d times", seed, r.changes)
				}
			}
			if silent == 0 {
				t.Error("no path ever looked silent: this tests nothing")
			}
		})
	}
}

// A path that fails is left, in whichever direction, also by tasks that seldom run, and only that
// one; and it is used again. On a machine with time that takes a few milliseconds.
func TestFailedPathIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		other      simLink
		sleep, run time.Duration
		limit      time.Duration
	}{
		"alike":  {other: gigabit(), limit: 20 * time.Millisecond},
		"unlike": {other: unlike(), limit: 60 * time.Millisecond},
		"alike, starved": {gigabit(), 60 * time.Millisecond, 3 * time.Millisecond,
			5 * time.Second},
		"unlike, starved": {unlike(), 60 * time.Millisecond, 3 * time.Millisecond, 5 * time.Second},
	} {
		for path := range 2 {
			t.Run(fmt.Sprintf("%s, path %d", name, path), func(t *testing.T) {
				slowest := time.Duration(0)
				seeds := uint64(2) // one for each direction
				if c.sleep != 0 {
					seeds = 20
				}
				for seed := range seeds {
					r := newSimNet(t, 2, nil, gigabit(), c.other)
					each := func() {}
					if c.sleep != 0 {
						each = r.starve(rand.New(rand.NewPCG(seed, 7)), c.sleep, c.run)
					}
					r.pingPong(500*time.Millisecond, each)
					of := []*paths.Set{&r.ms[0].connected(1).paths, &r.ms[1].connected(0).paths}
					// neither is better: both tasks shall use this one
					if strings.HasPrefix(name, "alike") {
						for _, s := range of {
							s.Opened(s.At(path), r.now)
						}
						r.pingPong(10*time.Millisecond, each)
					}
					used := int(of[0].Usable().Number()) == path &&
						int(of[1].Usable().Number()) == path
					r.links[seed%2][path].cut = func(int) bool { return true } // one direction
					cutAt, leftAt := r.now, int64(0)
					r.pingPong(3*time.Second, func() {
						each()
						if h := of[0].At(path).Health(); leftAt == 0 &&
							(h == "down" || h == "dead") {
							leftAt = r.now
						}
					})
					switch {
					case leftAt == 0:
						t.Errorf("seed %d: the path that fails is %s", seed,
							of[0].At(path).Health())
					// else acknowledgements go by the other, and a probe finds it in its time
					case used:
						slowest = max(slowest, time.Duration(leftAt-cutAt))
					}
					if o := of[0].At(1 - path); o.Health() != "live" {
						t.Errorf("seed %d: the path that works is %s", seed, o.Health())
					}
					r.links[seed%2][path].cut = nil
					r.pingPong(3*time.Second, each)
					if o := of[0].At(path); o.Health() != "live" {
						t.Errorf("seed %d: the path that works again is %s", seed, o.Health())
					}
				}
				t.Logf("left after %v at most", slowest)
				if slowest == 0 && name == "alike" {
					t.Error("the path that failed was not in use")
				}
				if slowest > c.limit {
					t.Errorf("it should be %v", c.limit)
				}
			})
		}
	}
}

// A timer that runs out while packets may wait at the sockets, as this task did not run, says
// nothing; but it is not put off for ever.
func TestTimerWaitsForWhatCame(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit())
	r.pingPong(time.Second, nil)
	var op transport.Op
	if _, err := r.ms[0].Send(r.now, 1, 1, nil, &op); err != nil {
		t.Fatal(err)
	}
	p := r.ms[0].connected(1)
	used, again := p.paths.Usable(), r.ms[0].Stats().RetransmittedPackets
	r.asleep = []int64{r.now + int64(10*time.Millisecond), 0}
	r.pass(9 * time.Millisecond) // the answer has come to the socket
	late := r.now
	for i := range mostUnheard {
		r.ms[0].OnTimeout(late, false)
		if !used.Works() || r.ms[0].Stats().RetransmittedPackets != again {
			t.Fatalf("suspected in turn %d, before what came was read", i)
		}
	}
	r.ms[0].OnTimeout(late, false)
	if used.Works() {
		t.Error("it is put off for ever")
	}
	r.asleep = nil
	r.pass(time.Millisecond)
	if !used.Works() || r.changes != 0 {
		t.Errorf("suspected still, or left %d times, though the answer was there", r.changes)
	}
}

// All packets in flight by a path that fails are resent as soon as another path answers: they do
// not wait until that path's timer runs out.
func TestStrandedGoAgain(t *testing.T) {
	r := newSimNet(t, 2, nil, gigabit(), gigabit())
	r.pingPong(time.Second, nil)
	p := r.ms[0].connected(1)
	failed := p.paths.Usable()
	failed.RTT().Renew()
	for range 4 { // so its timer is slow, and slower each time
		failed.RTT().Sample(r.now, int64(5*time.Millisecond))
	}
	s := r.stream(0, 1, 40)
	s.single = true
	s.feed()
	inFlight := failed.InFlight()
	r.silence(1, int(failed.Number()), true)
	for i := range r.queue { // packets on their way are lost, too
		if uint8(r.queue[i].path) == failed.Number() {
			r.queue[i].to = 0
		}
	}
	d := r.until(time.Second, s.feed)
	r.want("packets", r.got[1], 40)
	t.Logf("%d were in flight; all is there after %v", inFlight, d)
	if inFlight < 10 || d > 25*time.Millisecond {
		t.Errorf("%d packets in flight took %v", inFlight, d)
	}
}

// If all paths fail none is left, whichever comes back first is used at once, and the other is left
// then.
func TestAllSilent(t *testing.T) {
	for path := range 2 {
		r := newSimNet(t, 2, nil, gigabit(), gigabit())
		r.pingPong(time.Second, nil)
		r.silence(1, 0, true)
		r.silence(1, 1, true)
		r.pingPong(3*time.Second, nil)
		r.want("changes while nothing answers", r.changes, 0)
		r.silence(1, path, false)
		if pause, _ := r.pingPong(2*time.Second, nil); pause > 300*time.Millisecond {
			t.Errorf("path %d: a pause of %v after it came back", path, pause)
		}
		for i := range r.ms {
			of := &r.ms[i].connected(transport.Endpoint(1 - i)).paths
			if of.At(path).Health() != "live" || of.At(1-path).Health() == "live" {
				t.Errorf("task %d: path %d, which is back, is %s, the other %s", i, path,
					of.At(path).Health(), of.At(1-path).Health())
			}
		}
		r.want("changes", r.changes, 2)
	}
}
