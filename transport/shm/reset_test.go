package shm

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// TestReset lets another process take the place of a killed one again and again, in a ring that the
// old one left in any state. The messages of the new process arrive from the first on, whole and in
// order; none of the old one's comes with them.
func TestReset(t *testing.T) {
	l, child := startChild(t, "flood")
	next, from := uint64(0), 0
	l.Handle(1, func(m *transport.Msg) transport.Verdict {
		if number := binary.LittleEndian.Uint64(m.Hdr); number != next {
			t.Fatalf("process %d: message %d comes where %d should", from, number, next)
		}
		for i, b := range m.Data {
			if b != content(1, next, i) {
				t.Fatalf("process %d: message %d is damaged", from, next)
			}
		}
		next++
		return transport.Accept
	})
	mapped := mappings(t)
	for from = range 20 {
		want := uint64(100 + 77*from)
		until(t, "traffic", func() bool { return next > want }, func() { l.Progress(16) })
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_, _ = child.Process.Wait()
		if err := l.Reset(1); err != transport.ErrBusy {
			t.Fatalf("Reset of a connected peer: %v", err)
		}
		l.Disconnect(1, transport.ErrUnreachable)
		if err := l.Reset(1); err != nil {
			t.Fatal(err)
		}
		next = 0
		child = startAgain(t, l, "flood")
	}
	until(t, "traffic", func() bool { return next > 100 }, func() { l.Progress(16) })
	if now := mappings(t); now != mapped {
		t.Errorf("%d mappings of segments, %d before", now, mapped)
	}
}

// mappings is how many segments this process maps.
func mappings(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "memfd:lapi-shm")
}

// TestResetForgets: flushes, refused messages, failures and an announcement of the peer's
// predecessor are not the new one's.
func TestResetForgets(t *testing.T) {
	var failed []transport.Endpoint
	links := newLinks(t, 2, func(c *Config) {
		c.PeerFailed = func(ep transport.Endpoint, _ error) { failed = append(failed, ep) }
	})
	l, old := links[0], links[1]
	l.Handle(1, func(*transport.Msg) transport.Verdict { return transport.Refuse })
	op := transport.Op{}
	for i := 0; i < 3*ringSlots; i++ { // the ring has wrapped around, and something waits in it
		_, _ = old.Send(0, 1, word(uint64(i)), &op)
		if i < ringSlots {
			l.Progress(64)
		}
	}
	for _, err := l.Send(1, 1, word(1), &op); err == nil; _, err = l.Send(1, 1, word(1), &op) {
	}
	var flush transport.Op
	var flushErr error
	flush.Done = func(_ *transport.Op, err error) { flushErr = err }
	if status, err := l.Flush(1, &flush); status != transport.Queued || err != nil {
		t.Fatalf("Flush: %v, %v", status, err)
	}
	l.Disconnect(1, transport.ErrUnreachable)
	if flushErr != transport.ErrUnreachable {
		t.Errorf("the flush ended with %v", flushErr)
	}
	if err := l.Reconnect(1, transport.Address{}); err != nil { // its announcement finds no room
		t.Fatal(err)
	}
	l.suspect(l.peers[1], errNonsense)
	if err := l.Reset(1); err != nil {
		t.Fatal(err)
	}
	if l.changingEpoch != 0 || l.holding != 0 || len(l.waiting) != 0 || len(l.broken) != 0 {
		t.Errorf("left: %d announcements, %d holding, %d waiting, %d broken",
			l.changingEpoch, l.holding, len(l.waiting), len(l.broken))
	}
	got := listen(l)
	fresh := comeAgain(t, l)
	there := listen(fresh)
	mustSend(t, fresh, 0, 1, word(7), nil)
	mustSend(t, l, 1, 1, word(8), nil)
	drain(l, fresh)
	if len(*got) != 1 || (*got)[0] != 7 || len(*there) != 1 || (*there)[0] != 8 ||
		len(failed) != 0 {
		t.Errorf("got %v here and %v there; %d failures", *got, *there, len(failed))
	}
	if status, err := l.Flush(1, &flush); status != transport.Done || err != nil {
		t.Errorf("Flush: %v, %v", status, err)
	}
}

// comeAgain is another process of task 1, in this one: l, which has vacated task 1, and a new link
// are connected.
func comeAgain(t *testing.T, l *Link) *Link {
	t.Helper()
	fresh, err := New(Config{Task: 1, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fresh.Close() })
	if err := fresh.Connect(0, pass(t, l.Address())); err != nil {
		t.Fatal(err)
	}
	if err := l.Connect(1, pass(t, fresh.Address())); err != nil {
		t.Fatal(err)
	}
	return fresh
}

// TestAwait: operations on a task that is to come are busy, until it comes or is given up.
func TestAwait(t *testing.T) {
	memory.Guard()
	l, err := New(Config{Task: 0, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	op := transport.Op{Done: func(*transport.Op, error) { t.Error("Done of what was not queued") }}
	tries := func(want error) {
		t.Helper()
		if _, err := l.Send(1, 1, nil, &op); err != want {
			t.Errorf("Send: %v, want %v", err, want)
		}
		if _, err := l.Flush(1, &op); err != want {
			t.Errorf("Flush: %v, want %v", err, want)
		}
		if _, err := l.Put(1, &op); err != want {
			t.Errorf("Put: %v, want %v", err, want)
		}
	}
	tries(transport.ErrUnreachable)
	for range 2 {
		if err := l.Await(1); err != nil {
			t.Fatal(err)
		}
		tries(transport.ErrBusy)
		if l.CanDirect(1) {
			t.Error("cross-memory attach reaches nobody")
		}
		l.Disconnect(1, transport.ErrUnreachable)
		tries(transport.ErrUnreachable)
	}
	if err := l.Await(1); err != nil {
		t.Fatal(err)
	}
	fresh := comeAgain(t, l)
	got := listen(fresh)
	mustSend(t, l, 1, 1, word(5), nil)
	drain(l, fresh)
	if len(*got) != 1 {
		t.Errorf("messages: %v", *got)
	}
	if err := l.Await(1); err != transport.ErrBadParam {
		t.Errorf("Await of a connected peer: %v", err)
	}
}

func TestResetErrors(t *testing.T) {
	links := newLinks(t, 3)
	for _, ep := range []transport.Endpoint{-1, 0, 3} {
		if err := links[0].Reset(ep); err != transport.ErrBadParam {
			t.Errorf("Reset(%d): %v", ep, err)
		}
	}
	for _, ep := range []transport.Endpoint{-1, 3} {
		if err := links[0].Await(ep); err != transport.ErrBadParam {
			t.Errorf("Await(%d): %v", ep, err)
		}
	}
	if err := links[0].Connect(1,
		pass(t, links[1].Address())); !errors.Is(err, transport.ErrBadParam) {
		t.Errorf("Connect of a connected peer: %v", err)
	}
	if err := links[2].Close(); err != nil {
		t.Fatal(err)
	}
	if err := links[2].Reset(1); err != transport.ErrClosed {
		t.Errorf("Reset of a closed link: %v", err)
	}
	if err := links[2].Await(1); err != transport.ErrClosed {
		t.Errorf("Await of a closed link: %v", err)
	}
}
