package hub

import (
	"encoding/binary"
	"io"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/core/poll"
	"lapi/invariant"
)

// link is a wire.Conn whose goroutines sleep in the runtime's poller. One goroutine receives, one
// sends.
type link struct {
	f       *os.File
	raw     syscall.RawConn
	in, out *wire.Conn // one socket, two Conns, so that the directions share no state
	scratch wire.Scratch
	process *os.File // of the other end, while that is watched; nil: it is not
}

// newLink takes over fd.
func newLink(fd int) (*link, error) {
	out, err := wire.NewConn(fd)
	if err != nil {
		return nil, err
	}
	in, err := wire.NewConn(fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "session") // non-blocking by NewConn, so the poller takes it
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &link{f: f, raw: raw, in: in, out: out}, nil
}

// receive waits for a message.
func (l *link) receive() (m wire.Message, err error) {
	waitErr := l.raw.Read(func(uintptr) bool {
		var ok bool
		m, ok, err = l.in.Receive(&l.scratch)
		return ok || err != nil
	})
	if waitErr != nil {
		return m, waitErr
	}
	return m, err
}

// send sends m, however long the peer takes to read it.
func (l *link) send(m wire.Message) (err error) {
	l.out.Queue(m)
	waitErr := l.raw.Write(func(uintptr) bool {
		var sent bool
		sent, err = l.out.Flush()
		return sent || err != nil
	})
	if waitErr != nil {
		return waitErr
	}
	return err
}

func (l *link) sendAndClose(m wire.Message) {
	invariant.Go(func() {
		_ = l.send(m) // a task that does not read the answer does not need it
		l.close()
	})
}

// shutdown lets receive read what has arrived and then see the end.
func (l *link) shutdown() {
	// an error: it is closed already
	_ = l.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
}

// held says whether a process has the other end open.
func (l *link) held() (held bool) {
	err := l.raw.Control(func(fd uintptr) {
		set := [1]unix.PollFd{{Fd: int32(fd)}} // POLLHUP comes unasked
		_, err := poll.Now(set[:])
		held = err == nil && set[0].Revents&unix.POLLHUP == 0
	})
	return held && err == nil
}

// ended says whether the process at the other end has ended, or has closed its end.
func (l *link) ended() bool {
	if !l.held() {
		return true
	}
	if l.process == nil {
		return false
	}
	raw, err := l.process.SyscallConn()
	ended := false
	if err == nil {
		err = raw.Control(func(fd uintptr) { ended = poll.Readable(int(fd)) })
	}
	return ended || err != nil // it is closed once it has been seen to end
}

func (l *link) close() {
	l.in.Drop()
	l.f.Close()
	if l.process != nil {
		l.process.Close() // its watcher ends
	}
}

// outlet is a link and what waits to be sent on it.
type outlet struct {
	link  *link
	queue queue[outgoing] // of writeAll; completions of sends come from writers
}

func newOutlet(l *link) *outlet { return &outlet{l, newQueue[outgoing]()} }

// outgoing is a message to be sent; one without a kind is only a mark in the queue.
type outgoing struct {
	m    wire.Message
	done func() // m's data and files are no longer needed; may be nil
}

// send queues m for writeAll. It does not block.
func (o *outlet) send(m wire.Message, done func()) {
	if !o.queue.put(outgoing{m, done}) && done != nil {
		done()
	}
}

// writeAll sends until the queue ends or the other side no longer listens.
func (o *outlet) writeAll() {
	for {
		batch := o.queue.take()
		if batch == nil {
			return
		}
		for len(batch) > 0 {
			m, n := merge(batch)
			if m.Kind != 0 && o.link.send(m) != nil {
				o.endQueue()
			}
			for _, sent := range batch[:n] {
				if sent.done != nil {
					sent.done()
				}
			}
			batch = batch[n:]
		}
	}
}

// endQueue discards everything unsent and ends writeAll.
func (o *outlet) endQueue() {
	for _, unsent := range o.queue.end() {
		if unsent.done != nil {
			unsent.done()
		}
	}
}

// notice is the message that tasks have left, or have said Ending.
func notice(kind wire.Kind, taskID int) wire.Message {
	return wire.Message{Kind: kind, Data: binary.LittleEndian.AppendUint32(nil, uint32(taskID))}
}

// merge makes one message of the first of a batch: where many tasks leave at once, many notices are
// as one.
func merge(batch []outgoing) (m wire.Message, n int) {
	for n = range batch {
		next := batch[n].m
		switch {
		case next.Kind == 0:
		case m.Kind == 0:
			m = next
		case m.Kind == next.Kind && (m.Kind == wire.Left || m.Kind == wire.Ending) &&
			len(m.Data) < wire.MaxRecord/2:
			m.Data = append(slices.Clip(m.Data), next.Data...)
		default:
			return m, n
		}
	}
	return m, len(batch)
}

// session is one task's part in a group. task, hub, link, group and id are constant once it has
// joined.
type session struct {
	*outlet
	hub   *Hub
	task  int
	group *group
	id    groupID

	// Guarded by Hub.mu.
	round    uint32 // exchanges that it has contributed to
	left     bool
	answered bool // the latest Leave or Ending
	closed   bool // its socket has ended
	finished bool // finish has run
	// of a task that was started by hand (byhand.go)
	rejoin  *rejoin           // nil: it does not, or has
	expects []int             // tasks that have left its group, and may rejoin
	life    wire.Life         // known from its first part on
	lives   map[int]wire.Life // of the others that it knows, by task
}

// readAll receives until the socket ends.
func (s *session) readAll() {
	for {
		m, err := s.link.receive()
		if err != nil || s.received(m) != nil {
			break
		}
	}
	s.hub.closed(s)
	s.endQueue()
	s.link.close()
}

// answer answers a Leave or an Ending, as kind says, once it is known wherever it must be, so that
// the process may end. mu is held.
func (s *session) answer(kind wire.Kind) {
	if s.hub.span != nil {
		invariant.Go(func() { s.answerKnown(kind) })
	}
}

// answerOnce is answer, where all keepers that must know have come. mu is held.
func (s *session) answerOnce(kind wire.Kind) {
	h := s.hub
	h.drain(func() {
		if kind == wire.Left && s.task == h.span.task {
			h.linger(s)
		}
		h.Flush(flushLimit)
		s.send(notice(kind, s.task), func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			s.answered = true
			h.changed.Broadcast()
		})
	})
}

// linger waits for the other sessions of a group to be answered, too: mostly tasks leave together,
// and each task that has to go to another hub for its answer costs connections. mu is not held.
func (h *Hub) linger(of *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.await(lingerLimit, func() bool {
		for _, s := range of.group.members {
			if s != nil && s != of && !s.answered && !s.closed {
				return false
			}
		}
		return true
	})
}

func (s *session) received(m wire.Message) error {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.hand != nil && s.hub.receivedByHand(s, m) {
		return nil
	}
	switch m.Kind {
	case wire.Part:
		return s.group.contribute(s, m)
	case wire.Ending:
		s.hub.end(s.group, s.task)
		s.hub.tellNodes(noteEnding, s.id, 0, s.task, nil)
		s.answer(wire.Ending)
		return nil
	case wire.Leave:
		s.left = true
		s.hub.leave(s.group, s.task)
		s.hub.tellNodes(noteLeft, s.id, 0, s.task, nil)
		s.answer(wire.Left)
		return nil
	case wire.Moved:
		m.CloseFiles()
		s.hub.tellNodes(noteMoved, s.id, 0, s.task, m.Data)
		return s.hub.move(s.group, s.task, m.Data)
	}
	m.CloseFiles()
	return io.ErrUnexpectedEOF
}
