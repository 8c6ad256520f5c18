package shm

import (
	"errors"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
)

const limit = 10 * time.Second

// watched makes two links, whose clock is the test's. failed has what the first one says of the
// other.
func watched(t *testing.T, change ...func(*Config)) (a, b *Link, now *time.Duration,
	failed *[]error) {
	now, failed = new(time.Duration), new([]error)
	*now = time.Hour
	links := newLinks(t, 2, append(change, func(c *Config) {
		c.Clock = func() int64 { return int64(*now) }
		c.Timeout = limit
		if c.Task == 0 {
			c.PeerFailed = func(_ transport.Endpoint, err error) { *failed = append(*failed, err) }
		}
	})...)
	ignore := func(*transport.Msg) transport.Verdict { return transport.Accept }
	links[0].Handle(1, ignore)
	links[1].Handle(1, ignore)
	return links[0], links[1], now, failed
}

// watchFor lets a make progress calls for d, by the test's clock, or until failed. each runs now
// and then. It returns how long that was.
func watchFor(a *Link, now *time.Duration, failed *[]error, d time.Duration,
	each func(at time.Duration)) time.Duration {
	begun := *now
	for len(*failed) == 0 && *now-begun < d {
		*now += 100 * time.Millisecond
		for range lookTurns {
			a.Progress(64)
		}
		each(*now - begun)
	}
	return *now - begun
}

func idle(time.Duration) {}

// TestSilentPeer: a peer that has consumed nothing for TIMEOUT has failed, not sooner; a peer that
// consumes something now and then, or from which nothing is due, has not.
func TestSilentPeer(t *testing.T) {
	send := func(a *Link) { mustSend(t, a, 1, 1, word(1), nil) }
	for name, c := range map[string]struct {
		begin func(a *Link)
		runs  time.Duration // the peer makes a progress call so often; 0: never
		fails bool
		off   bool
		lives bool // which the link is notified of
	}{
		"message":  {begin: send, fails: true},
		"lives":    {begin: send, lives: true},
		"consumes": {begin: send, runs: limit / 2},
		"nothing":  {begin: func(*Link) {}},
		"off":      {begin: send, off: true},
		"get": {begin: func(a *Link) {
			here := userMemory(t, 8)
			op := &transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(here), N: 8,
				Route: transport.RouteMessages, Done: func(*transport.Op, error) {}}
			if status, err := a.GetNotice(1, op); status != transport.Queued || err != nil {
				t.Fatal(status, err)
			}
		}, fails: true},
		"barrier":        {begin: func(a *Link) { a.node.Barrier.Arrived = 1 }, fails: true},
		"barrier, alive": {begin: func(a *Link) { a.node.Barrier.Arrived = 1 }, runs: limit / 2},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, now, failed := watched(t, func(config *Config) {
				config.NoTimeout = c.off
				config.Runs = func(transport.Endpoint) bool { return c.lives }
			})
			c.begin(a)
			next := c.runs
			took := watchFor(a, now, failed, 5*limit, func(at time.Duration) {
				if c.runs > 0 && at >= next {
					next += c.runs
					b.Progress(64)
					if name == "consumes" {
						mustSend(t, a, 1, 1, word(1), nil)
					}
				}
			})
			if !c.fails {
				if len(*failed) > 0 {
					t.Fatalf("failed after %v: %v", took, *failed)
				}
				return
			}
			if len(*failed) != 1 || (*failed)[0] != transport.ErrTimeout {
				t.Fatalf("after %v: %v, want one time-out", took, *failed)
			}
			if took < limit || took > limit*3/2 {
				t.Errorf("after %v, want about %v", took, limit)
			}
			if _, err := a.Send(1, 1, word(1), &transport.Op{}); err != transport.ErrUnreachable {
				t.Errorf("then Send: %v", err)
			}
		})
	}
}

// TestStoppedTogether: a task that was stopped for long, together with its peers, gives them time
// first.
func TestStoppedTogether(t *testing.T) {
	a, b, now, failed := watched(t)
	mustSend(t, a, 1, 1, word(1), nil)
	watchFor(a, now, failed, time.Second, idle)
	*now += 100 * limit
	watchFor(a, now, failed, time.Second, idle)
	b.Progress(64)
	if watchFor(a, now, failed, 2*limit, idle); len(*failed) > 0 {
		t.Error(*failed)
	}
}

// TestSetTimeout: the timeout of LAPI_Senv holds for operations under way.
func TestSetTimeout(t *testing.T) {
	a, _, now, failed := watched(t)
	a.SetTimeout(3 * limit)
	mustSend(t, a, 1, 1, word(1), nil)
	if took := watchFor(a, now, failed, 5*limit, idle); took < 3*limit || len(*failed) != 1 {
		t.Error(took, *failed)
	}
}

// TestSleepAndSilence: a task that sleeps wakes in time to look after its peers, and looks then.
func TestSleepAndSilence(t *testing.T) {
	a, b, now, failed := watched(t)
	if a.Arm() {
		t.Error("there is nothing to do")
	}
	mustSend(t, a, 1, 1, word(1), nil) // by another thread, in C
	if next := a.NextTimeout(); next <= int64(*now) || next > int64(*now+limit/2) {
		t.Errorf("a look is due at %v, now %v", next, *now)
	}
	a.Disarm()
	begun := *now
	for len(*failed) == 0 && *now-begun < 5*limit {
		if a.Arm() {
			t.Fatal("there is nothing to do")
		}
		next := a.NextTimeout()
		if next <= int64(*now) {
			t.Fatalf("now %v, due %v", *now, next)
		}
		*now = time.Duration(next)
		a.Disarm()
		a.Progress(64)
	}
	if took := *now - begun; len(*failed) != 1 || took < limit || took > limit*3/2 {
		t.Error(*now-begun, *failed)
	}
	b.Progress(64)
}

// TestPeerLeaves: of a peer that closes its link everything it sent arrives, then all that waits
// for it ends, in a progress call of anybody who polls or sleeps; and its memory is not touched any
// more, although it is still there.
func TestPeerLeaves(t *testing.T) {
	a, b, _, failed := watched(t)
	got := listen(a)
	here, there := userMemory(t, 4096), userMemory(t, 4096)
	ends := []error{}
	op := transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: 4096,
		Route: transport.RouteMessages,
		Done: func(_ *transport.Op, err error) {
			ends = append(ends, err)
			if len(*got) != 2 {
				t.Errorf("it ends after %d of 2 messages", len(*got))
			}
		}}
	if status, err := a.GetNotice(1, &op); status != transport.Queued || err != nil {
		t.Fatal(status, err)
	}
	mustSend(t, b, 0, 1, word(7), nil)
	mustSend(t, b, 0, 1, word(8), nil)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !a.Arm() {
		t.Error("the peer has left, and this task sleeps")
	}
	a.Disarm()
	for range 4 {
		a.Progress(1)
	}
	if len(*got) != 2 || len(ends) != 1 || ends[0] != transport.ErrUnreachable || len(*failed) != 0 {
		t.Fatalf("got %v, ended with %v, failed %v", *got, ends, *failed)
	}
	single := transport.Op{Local: memory.AddrOf(here), Remote: memory.AddrOf(there), N: 4096,
		Route: transport.RouteSingleCopy}
	list := []transport.Range{{Addr: memory.AddrOf(here), N: 4096}}
	far := []transport.Range{{Addr: memory.AddrOf(there), N: 4096}}
	for name, f := range map[string]func() error{
		"Put":       func() error { _, err := a.Put(1, &single); return err },
		"Get":       func() error { _, err := a.Get(1, &single); return err },
		"PutVector": func() error { return a.PutVector(1, list, far) },
		"GetVector": func() error { return a.GetVector(1, list, far) },
		"PutNotice": func() error { _, err := a.PutNotice(1, &single); return err },
		"GetNotice": func() error { _, err := a.GetNotice(1, &single); return err },
		"Send":      func() error { _, err := a.Send(1, 1, word(1), &transport.Op{}); return err },
		"Atomic": func() error {
			_, err := a.Atomic(1, transport.AtomicAdd, &transport.Op{Remote: single.Remote, Width: 8})
			return err
		},
	} {
		if err := f(); !errors.Is(err, transport.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
