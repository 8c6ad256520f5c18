package hub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/proved"
	"lapi/core/job/wire"
	"lapi/invariant"
)

// A trunk carries the messages between two hubs of a job, over one TCP connection after another;
// each connection is a way (package proved). After opening and challenge:
//
//	caller  hello   its task, the number of tasks
//	host    taken   its task: this is the way from now on
//	both    note    what span.go has
//
// Two hubs may call each other at once. Of two ways between the same two hubs, the way that the
// higher node's hub has called stays; a way to a node's successor hub replaces a way to its
// predecessor.

const (
	trunkVersion = 0x8002 // no version of a rendezvous
	trunkLimit   = 10 * time.Second
	helloSize    = 8
	maxNote      = wire.MaxMessage + noteHeader
	silenceLimit = 45 * time.Second // after which a node that acknowledges nothing is gone
)

const (
	kindHello proved.Kind = iota + 1
	kindTaken
	kindNote
)

// ErrNotTaken is the error of a call that was accepted by a task which has no hub, or whose hub has
// another way to this one.
var ErrNotTaken = errors.New("it does not take this call")

// trunk is one hub's end. Guarded by Hub.mu.
type trunk struct {
	hub     *Hub
	node    int
	gone    bool   // the node is gone, with all of its tasks
	heard   uint32 // the last of this hub's questions that the other has answered
	task    int    // the last task that is known to have had the node's hub
	way     *Way   // nil: none now
	reached bool   // it was, or the node's hub before this one would have said so
}

// Way is a connection to another hub of the job, which has proved that it is one.
type Way struct {
	Task   int // the task in whose process the other hub is
	called bool
	stream *proved.Stream
	queue  queue[[]byte] // notes
}

// keyFor derives the key by which two hubs prove their messages.
func keyFor(key []byte) ([]byte, error) { return proved.Key(key, "lapi trunk") }

// Call is the side that calls, for the hub in task's process. It takes conn over, and waits for
// limit at most. Attach begins the way.
func Call(conn net.Conn, key []byte, task, numTasks int, limit time.Duration) (*Way, error) {
	return meet(conn, key, proved.ToHost, limit, func(s *proved.Stream) (*Way, error) {
		theirs, err := s.Greet(proved.NewOpening(trunkVersion, true))
		if err != nil {
			return nil, err
		}
		if theirs.Version != trunkVersion {
			return nil, errors.New("it speaks something else")
		}
		if err := s.Send(kindHello, proved.NewContent(hello(task, numTasks))); err != nil {
			return nil, err
		}
		other, err := hear(s, kindTaken, numTasks)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotTaken, err)
		}
		return &Way{Task: other, called: true, stream: s, queue: newQueue[[]byte]()}, nil
	})
}

// Hear is the side that is called, of a job with numTasks tasks. Attach says whether the way is
// taken.
func Hear(conn net.Conn, key []byte, numTasks int) (*Way, error) {
	return meet(conn, key, proved.ToCaller, trunkLimit, func(s *proved.Stream) (*Way, error) {
		theirs, err := s.Challenge(proved.NewOpening(trunkVersion, true))
		if err != nil {
			return nil, err
		}
		if theirs.Version != trunkVersion {
			return nil, errors.New("it speaks something else")
		}
		other, err := hear(s, kindHello, numTasks)
		if err != nil {
			return nil, err
		}
		return &Way{Task: other, stream: s, queue: newQueue[[]byte]()}, nil
	})
}

// meet exchanges the first messages on conn, within limit.
func meet(conn net.Conn, key []byte, out proved.Direction, limit time.Duration,
	words func(*proved.Stream) (*Way, error)) (w *Way, err error) {
	var s *proved.Stream
	derived, err := keyFor(key)
	if err == nil {
		s, err = proved.New(conn, derived, out)
	}
	if err == nil {
		if err = conn.SetDeadline(time.Now().Add(limit)); err == nil {
			if w, err = words(s); err == nil {
				if err = conn.SetDeadline(time.Time{}); err == nil {
					return w, nil
				}
			}
		}
	}
	conn.Close()
	return nil, err
}

func hello(task, numTasks int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(task))
	return binary.LittleEndian.AppendUint32(b, uint32(numTasks))
}

// hear reads which task the other side is.
func hear(s *proved.Stream, want proved.Kind, numTasks int) (task int, err error) {
	_, b, err := s.Receive(func(k proved.Kind) int {
		if k == want {
			return helloSize
		}
		return -1
	})
	if err != nil {
		return 0, err
	}
	if len(b) != helloSize || binary.LittleEndian.Uint32(b[4:]) != uint32(numTasks) ||
		binary.LittleEndian.Uint32(b) >= uint32(numTasks) {
		return 0, proved.ErrStranger
	}
	return int(binary.LittleEndian.Uint32(b)), nil
}

// Close ends a way that was not attached.
func (w *Way) Close() { w.stream.Close() }

// Attach makes w the way to its node, and reads it. If w cannot be that, Attach closes it and
// returns an error.
func (h *Hub) Attach(w *Way) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.trunkFor(w)
	if t == nil {
		w.Close()
		return fmt.Errorf("the hub of task %d is here already, or none of this job's", w.Task)
	}
	if t.way != nil {
		t.way.queue.end()
		t.way.Close()
	}
	t.task, t.way, t.reached = w.Task, w, true
	watchSilence(w.stream.TCPConn)
	for _, b := range h.snapshot() {
		w.queue.put(b)
	}
	h.changed.Broadcast()
	invariant.Go(func() { t.writeAll(w) })
	invariant.Go(func() { t.readAll(w) })
	return nil
}

// trunkFor is the trunk that w can be a way of; nil: there is none. mu is held.
func (h *Hub) trunkFor(w *Way) *trunk {
	if h.span == nil || w.Task >= len(h.span.nodes) {
		return nil
	}
	t := h.span.trunks[h.span.nodes[w.Task]]
	switch {
	case t == nil || t.gone || w.Task < t.task:
		return nil
	case t.way == nil || w.Task > t.task:
		return t
	case (h.span.me > t.node) == w.called && t.way.called != w.called:
		return t
	}
	return nil
}

// watchSilence makes the kernel end a connection whose other end acknowledges nothing: the process
// there may be stopped for any time, but the machine must be there.
func watchSilence(c *net.TCPConn) {
	_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second,
		Interval: 5 * time.Second, Count: 7})
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
				int(silenceLimit/time.Millisecond))
		})
	}
}

func (t *trunk) writeAll(w *Way) {
	if !w.called && w.stream.Send(kindTaken, proved.NewContent(hello(t.hub.span.task,
		len(t.hub.tasks)))) != nil {
		return // readAll gets the reason
	}
	for {
		batch := w.queue.take()
		if batch == nil {
			return
		}
		for _, b := range batch {
			if w.stream.Send(kindNote, proved.NewContent(b)) != nil {
				return
			}
		}
	}
}

func (t *trunk) readAll(w *Way) {
	most := func(k proved.Kind) int {
		if k == kindNote {
			return maxNote
		}
		return -1
	}
	var err error
	for err == nil {
		var b []byte
		if _, b, err = w.stream.Receive(most); err == nil {
			err = t.hub.heard(w, t.node, b)
		}
	}
	w.queue.end()
	w.Close()
	t.hub.ended(t, w, err)
}

// ended handles the end of a way. If the node acknowledges nothing it is lost; else missed finds
// out which task has the node's hub now.
func (h *Hub) ended(t *trunk, w *Way, err error) {
	h.mu.Lock()
	last := t.way == w
	if last {
		t.way = nil
	}
	h.changed.Broadcast()
	h.mu.Unlock()
	if !last {
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) {
		h.Lost(t.node, fmt.Sprintf("is on a node that does not answer (%v)", err))
		return
	}
	if h.span.missed != nil {
		h.span.missed(t.node)
	}
}
