package rendezvous

import (
	"context"
	"net"
	"os"
	"os/signal"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/proved"
)

// hosted is task 0 with its inside.
type hosted struct {
	*host
	words *said
	end   chan outcome
}

func newHosted(t *testing.T, address string, numTasks int, change func(*rendezvous)) *hosted {
	t.Helper()
	h := &hosted{words: &said{}, end: make(chan outcome, 1)}
	r := mustOpen(t, config(address, 0, numTasks, func(c *Config) { c.Say = h.words.say }))
	if change != nil {
		change(r)
	}
	h.host = newHost(r, card(0))
	go func() {
		cards, err := h.run(r.ctx)
		h.end <- outcome{cards, err}
	}()
	return h
}

// introduced is a task's connection after hello. The test is the rest of the task.
func introduced(t *testing.T, r *rendezvous, card []byte) *proved.Stream {
	t.Helper()
	c, err := net.Dial("tcp", r.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := proved.New(c, r.key, proved.ToHost)
	if err == nil {
		err = r.introduce(s, card)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestComeAgain: a task is killed before all have met, and another process takes its place.
func TestComeAgain(t *testing.T) {
	address := freeAddress(t)
	h := newHosted(t, address, 3, nil)
	one := mustOpen(t, config(address, 1, 3, nil))
	killed := introduced(t, one, []byte("of the dead"))
	awaitMissing(t, h.host, 1)
	killed.Close()
	again := begin(one, card(1)) // maybe before task 0 has seen the end
	eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return string(h.members.all[1].card) == string(card(1))
	}, func() string { return "it has not come again" })
	two := begin(mustOpen(t, config(address, 2, 3, nil)), card(2))
	for _, end := range []<-chan outcome{h.end, again, two} {
		met(t, end, card(0), card(1), card(2))
	}
}

// TestGone: a task that has gone is missing again.
func TestGone(t *testing.T) {
	address := freeAddress(t)
	h := newHosted(t, address, 3, nil)
	s := introduced(t, mustOpen(t, config(address, 1, 3, nil)), card(1))
	awaitMissing(t, h.host, 1)
	s.Close()
	awaitMissing(t, h.host, 2)
}

// lostLate is a job of 3 tasks, of which task 1 has gone after all had met: it has not said bye.
func lostLate(t *testing.T, address string, change func(*rendezvous)) (h *hosted) {
	t.Helper()
	h = newHosted(t, address, 3, change)
	s := introduced(t, mustOpen(t, config(address, 1, 3, nil)), card(1))
	awaitMissing(t, h.host, 1)
	two := begin(mustOpen(t, config(address, 2, 3, nil)), card(2))
	met(t, two, card(0), card(1), card(2))
	s.Close()
	eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.members.all[1].here == nil
	}, func() string { return "its end is not seen" })
	return h
}

func TestComeAgainForCards(t *testing.T) {
	address := freeAddress(t)
	h := lostLate(t, address, nil)
	one := begin(mustOpen(t, config(address, 1, 3, nil)), card(1))
	met(t, one, card(0), card(1), card(2))
	met(t, h.end, card(0), card(1), card(2))
}

// TestOtherCardTooLate: the others have the first one.
func TestOtherCardTooLate(t *testing.T) {
	address := freeAddress(t)
	h := lostLate(t, address, nil)
	refused(t, begin(mustOpen(t, config(address, 1, 3, nil)), []byte("other")),
		"after all tasks had met")
	h.Abort(0)
	refused(t, h.end, "aborted")
}

func TestLostLate(t *testing.T) {
	h := lostLate(t, freeAddress(t), func(r *rendezvous) { r.pauses.again = time.Millisecond })
	refused(t, h.end, "task 1 was lost")
}

// TestHostAgain: task 0's process dies, and another takes its place.
func TestHostAgain(t *testing.T) {
	address := freeAddress(t)
	first := newHosted(t, address, 3, nil)
	var words said
	one := begin(mustOpen(t, config(address, 1, 3, func(c *Config) { c.Say = words.say })), card(1))
	awaitMissing(t, first.host, 1)
	first.Abort(0) // without notice: task 1 sees the same as if the process died
	refused(t, first.end, "aborted")
	words.await(t, "task 1 tries again")
	second := newHosted(t, address, 3, nil)
	two := begin(mustOpen(t, config(address, 2, 3, nil)), card(2))
	for _, end := range []<-chan outcome{second.end, one, two} {
		met(t, end, card(0), card(1), card(2))
	}
}

// TestNoSignal: a connection that the other side has closed is an error, and no SIGPIPE, for which
// the user's program may have a handler.
func TestNoSignal(t *testing.T) {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, unix.SIGPIPE)
	defer signal.Stop(pipes)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	s, err := proved.New(c, nil, proved.ToHost)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { _, err := s.Write([]byte{1}); return err == unix.EPIPE },
		func() string { return "it can be written to" })
	select {
	case <-pipes:
		t.Fatal("SIGPIPE")
	case <-time.After(20 * time.Millisecond):
	}
}

// TestJustInTime: all have met, and the time is over: whichever is seen first, they have met.
func TestJustInTime(t *testing.T) {
	h := newHost(mustOpen(t, config(freeAddress(t), 0, 2, nil)), card(0))
	h.members.all[1] = member{card: card(1), bye: true}
	h.members.absent, h.members.unready = 0, 0
	close(h.members.complete)
	ctx, stop := context.WithTimeout(context.Background(), 0)
	defer stop()
	for range 100 {
		if err := h.wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
