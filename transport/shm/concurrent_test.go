package shm

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/invariant"
	"lapi/transport"
	"lapi/transport/memory"
)

// content is byte i of message number from a task.
func content(from int, number uint64, i int) byte {
	return byte(uint64(from)*77 + number*13 + uint64(i)*7)
}

// endpoint is one link and the goroutine that drives it.
type endpoint struct {
	t       *testing.T
	link    *Link
	task    int
	random  *rand.Rand
	buffer  []byte
	next    []uint64          // by sender: the message expected, refused ones aside
	refused []map[uint64]bool // by sender: those that will come again
	got     int
	sleeps  bool
}

// handle checks content and order, and refuses one message in twenty.
func (e *endpoint) handle(m *transport.Msg) transport.Verdict {
	from, number := int(m.From), binary.LittleEndian.Uint64(m.Hdr)
	for i, b := range m.Data {
		if b != content(from, number, i) {
			e.t.Errorf("message %d of %d with %d bytes is damaged at byte %d",
				number, from, len(m.Data), i)
			return transport.Accept
		}
	}
	if !e.refused[from][number] {
		if number != e.next[from] {
			e.t.Errorf("message %d of %d comes where %d should", number, from, e.next[from])
		}
		e.next[from] = number + 1
	}
	if e.random.IntN(20) == 0 {
		e.refused[from][number] = true
		return transport.Refuse
	}
	delete(e.refused[from], number)
	e.got++
	return transport.Accept
}

// turn makes progress, and sleeps if there was none and this one sleeps.
func (e *endpoint) turn() {
	if e.link.Progress(32) > 0 || !e.sleeps {
		return
	}
	if e.link.Arm() {
		return
	}
	wait := 20_000 // ms, only against a hang: a lost wake-up shows as a slow test and is reported
	if e.link.NextTimeout() != 0 {
		wait = 1
	}
	files := []unix.PollFd{{Fd: int32(e.link.bell), Events: unix.POLLIN}}
	if n, err := unix.Poll(files, wait); n == 0 && err == nil && wait > 1 {
		e.t.Error("nothing woke a sleeping link")
	}
	e.link.Disarm()
}

// run sends messages to all others and receives until it has all of theirs and has flushed its own.
func (e *endpoint) run(peers, messages int, running *atomic.Int32) {
	memory.Guard()
	sent := make([]uint64, peers)
	for total := 0; total < messages*(peers-1); {
		to := e.random.IntN(peers)
		if to == e.task || sent[to] == uint64(messages) {
			continue
		}
		n := e.random.IntN(200)
		if e.random.IntN(20) == 0 {
			n = e.random.IntN(sendMax - 8 + 1)
		}
		for i := range e.buffer[:n] {
			e.buffer[i] = content(e.task, sent[to], i)
		}
		op := transport.Op{Local: memory.AddrOf(e.buffer), N: uint64(n)}
		switch _, err := e.link.Send(transport.Endpoint(to), 1, word(sent[to]), &op); err {
		case nil:
			sent[to]++
			total++
		case transport.ErrBusy:
			e.turn()
		default:
			e.t.Errorf("Send: %v", err)
			return
		}
		if e.random.IntN(8) == 0 {
			e.link.Progress(32)
		}
	}
	flushes := 0
	for to := range peers {
		op := &transport.Op{Done: func(_ *transport.Op, err error) {
			if err != nil {
				e.t.Errorf("Flush: %v", err)
			}
			flushes++
		}}
		if status, err := e.link.Flush(transport.Endpoint(to), op); err != nil {
			e.t.Errorf("Flush: %v", err)
		} else if status == transport.Done {
			flushes++
		}
	}
	for e.got < messages*(peers-1) || flushes < peers {
		e.turn()
	}
	running.Add(-1)
}

// together runs n links on n goroutines against each other.
func together(t *testing.T, n, messages int, sleeps bool) {
	links := newLinks(t, n)
	var all invariant.Group
	var running atomic.Int32
	running.Store(int32(n))
	for i, l := range links {
		e := &endpoint{t: t, link: l, task: i, random: rand.New(rand.NewPCG(uint64(i), 9)),
			buffer: userMemory(t, sendMax), next: make([]uint64, n), sleeps: sleeps}
		for range n {
			e.refused = append(e.refused, map[uint64]bool{})
		}
		l.Handle(1, e.handle)
		all.Go(func() { e.run(n, messages, &running) })
	}
	finished := make(chan struct{})
	go func() { all.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%d of %d links have not finished", running.Load(), n)
	}
}

func TestTogether(t *testing.T) { together(t, 2, 30_000, false) }

func TestTogetherAsleep(t *testing.T) { together(t, 2, 5_000, true) }

// TestTogetherMany has more tasks than processors, and cold rings.
func TestTogetherMany(t *testing.T) { together(t, 7, 700, true) }
