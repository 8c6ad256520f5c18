package verbs

import (
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
)

// reports are those that the owner of a link of a net gets.
type reports struct {
	failed  map[transport.Endpoint]error
	expects bool
}

// ownedNet is a net whose links notify their owners.
func ownedNet(t *testing.T, timeout time.Duration) (*net, []*reports) {
	var all []*reports
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) {
		k := &reports{failed: map[transport.Endpoint]error{}}
		all = append(all, k)
		c.Clock, c.Timeout = fast(), int64(timeout)
		c.PeerFailed = func(ep transport.Endpoint, err error) { k.failed[ep] = err }
		c.Expected = func(transport.Endpoint) bool { return k.expects }
	})
	return n, all
}

// TestSilence: a peer whose process is stopped while its adapter works is given up after the
// timeout, if something waits for it, and only then; the owner gets one report.
func TestSilence(t *testing.T) {
	for _, expected := range []bool{false, true} {
		n, reported := ownedNet(t, 20*time.Second)
		n.sendNumbers(t, 10, func(int) {})
		alone := func(d time.Duration, over func() bool) {
			clock := n.links[0].cfg.Clock
			for end := clock() + int64(d); clock() < end && !over(); n.links[0].Progress(16) {
			}
		}
		never := func() bool { return false }
		if alone(30*time.Second, never); len(reported[0].failed) != 0 {
			t.Fatalf("nobody waits, and the owner gets %v", reported[0].failed)
		}
		var ended error
		if reported[0].expects = expected; expected {
			n.links[0].Expect(1)
		} else if _, err := n.links[0].Flush(1, &transport.Op{
			Done: func(_ *transport.Op, err error) { ended = err }}); err != nil {
			t.Fatal(err)
		}
		// Signs of life: nothing happens for longer than the timeout.
		clock := n.links[0].cfg.Clock
		for end := clock() + int64(40*time.Second); clock() < end && expected; {
			n.links[0].Progress(16)
			n.links[1].Progress(16)
		}
		if len(reported[0].failed) != 0 {
			t.Fatalf("a peer that answers is given up: %v", reported[0].failed)
		}
		alone(10*time.Minute, func() bool { return len(reported[0].failed) > 0 })
		if reported[0].failed[1] != transport.ErrTimeout {
			t.Errorf("expected %v: the owner gets %v", expected, reported[0].failed)
		}
		if !expected && ended != transport.ErrUnreachable {
			t.Errorf("the flush ends with %v", ended)
		}
		n.close(t)
	}
}

// TestSilenceIsPermitted: with NoTimeout nobody is given up.
func TestSilenceIsPermitted(t *testing.T) {
	n, reported := ownedNet(t, time.Second)
	n.sendNumbers(t, 10, func(int) {})
	l := n.links[0]
	l.cfg.NoTimeout = true
	if _, err := l.Flush(1, &transport.Op{Done: func(*transport.Op, error) {}}); err != nil {
		t.Fatal(err)
	}
	for end := l.cfg.Clock() + int64(30*time.Second); l.cfg.Clock() < end; l.Progress(16) {
	}
	if len(reported[0].failed) != 0 {
		t.Errorf("the owner gets %v", reported[0].failed)
	}
	n.close(t)
}

// TestOwnerReconnects: two tasks that gave each other up begin anew: no earlier message reaches
// them, each later one does. A message to a task that has not begun anew yet arrives once it has.
func TestOwnerReconnects(t *testing.T) {
	n, reported := ownedNet(t, 10*time.Minute)
	var got [2][]byte
	for i, l := range n.links {
		l.Handle(3, func(m *transport.Msg) transport.Verdict {
			got[i] = append(got[i], m.Hdr[0])
			return transport.Accept
		})
	}
	send := func(from int, value byte) {
		t.Helper()
		if _, err := n.links[from].Send(transport.Endpoint(1-from), 3,
			[]byte{value, 0, 0, 0, 0, 0, 0, 0}, &transport.Op{}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range byte(4) {
		got = [2][]byte{}
		send(0, 10*round+1)
		send(1, 10*round+2)
		n.until(t, "messages", func() bool { return len(got[0]) == 1 && len(got[1]) == 1 })
		if got[0][0] != 10*round+2 || got[1][0] != 10*round+1 {
			t.Fatalf("round %d: %v", round, got)
		}
		send(1, 100) // on its way when task 0 gives up task 1
		if err := n.links[0].Reconnect(1, n.links[1].Address()); err != transport.ErrBusy {
			t.Errorf("Reconnect of what is connected: %v", err)
		}
		n.links[0].Disconnect(1, transport.ErrUnreachable)
		if _, err := n.links[0].Send(1, 3, nil, &transport.Op{}); err != transport.ErrUnreachable {
			t.Errorf("a send to a peer given up: %v", err)
		}
		if err := n.links[0].Reconnect(1, n.links[0].AddressOf(1)); err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 {
			send(0, 10*round+5) // waits
			for range 1000 {
				n.links[0].Progress(16)
				n.links[1].Progress(16)
			}
			if len(got[1]) != 1 {
				t.Fatalf("round %d: task 1 has %v, and did not begin anew", round, got[1])
			}
		}
		n.links[1].Disconnect(0, transport.ErrUnreachable)
		if err := n.links[1].Reconnect(0, n.links[1].AddressOf(0)); err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 {
			n.until(t, "what waited", func() bool { return len(got[1]) == 2 })
			if got[1][1] != 10*round+5 || len(got[0]) != 1 {
				t.Fatalf("round %d: %v", round, got)
			}
		}
	}
	if len(reported[0].failed)+len(reported[1].failed) != 0 {
		t.Errorf("owners get %v, %v", reported[0].failed, reported[1].failed)
	}
	n.close(t)
}

// TestRestarted: another process takes the place of a process that is gone.
func TestRestarted(t *testing.T) {
	n, _ := ownedNet(t, 10*time.Minute)
	n.sendNumbers(t, 10, func(int) {})
	n.devices[1].Kill()
	n.links[0].Disconnect(1, transport.ErrUnreachable)
	d, err := n.fabric.Device()
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Adapter: d, Task: 1, Key: []byte("a key"), Clock: fast()})
	if err != nil {
		t.Fatal(err)
	}
	n.links[1].Close()
	n.links[1], n.devices[1] = l, d
	if err := l.Connect(0, n.links[0].Address()); err != nil {
		t.Fatal(err)
	}
	if err := n.links[0].Reconnect(1, l.Address()); err != nil {
		t.Fatal(err)
	}
	n.sendNumbers(t, 10, func(int) {})
	n.close(t)
}

// TestLeaves: a peer that closes in good order has left; messages that it took are delivered,
// others are missed.
func TestLeaves(t *testing.T) {
	for _, missed := range []bool{false, true} {
		n, reported := ownedNet(t, 10*time.Minute)
		n.sendNumbers(t, 10, func(int) {})
		if n.links[0].HasLeft(1) {
			t.Error("it has left")
		}
		if missed {
			if _, err := n.links[0].Send(1, 3, nil, &transport.Op{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.links[1].Close(); err != nil {
			t.Fatal(err)
		}
		n.until(t, "the end", func() bool { return n.links[0].HasLeft(1) })
		_, err := n.links[0].Flush(1, &transport.Op{Done: func(*transport.Op, error) {}})
		if missed != (err == transport.ErrUnreachable) {
			t.Errorf("missed %v: a flush ends with %v", missed, err)
		}
		if len(reported[0].failed) != 0 {
			t.Errorf("the owner gets %v", reported[0].failed)
		}
		n.close(t)
	}
}

// TestKeys: a long transfer takes one key after the other, and the target's owner gets one report.
func TestKeys(t *testing.T) {
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.keyMax = 70_000 })
	const length = 1_000_000
	here, there := userMemory(t, length), userMemory(t, length)
	reported := 0
	for _, l := range n.links {
		l.HandleNotices(func(_ transport.NoticeKind, _ transport.Endpoint, n uint64,
			_ transport.Notice) {
			if reported++; n != length {
				t.Errorf("a notice of %d bytes", n)
			}
		}, nil)
	}
	for i := range here {
		here[i] = byte(i * 7)
	}
	for i, start := range []func(transport.Endpoint, *transport.Op) (transport.Status, error){
		n.links[0].PutNotice, n.links[0].GetNotice} {
		ended := 0
		if _, err := start(1, &transport.Op{Local: memory.AddrOf(here),
			Remote: memory.AddrOf(there), N: length, Notice: transport.Notice{1},
			Done: func(_ *transport.Op, err error) {
				if ended++; err != nil {
					t.Error(err)
				}
			}}); err != nil {
			t.Fatal(err)
		}
		n.until(t, "the end", func() bool { return ended == 1 && reported == i+1 })
		if string(here) != string(there) {
			t.Fatal("damaged")
		}
		clear(here)
	}
	n.close(t)
}
