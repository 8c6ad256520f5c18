package hub

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
)

// link is a wire.Conn whose goroutines sleep in the runtime's poller. One goroutine receives, one
// sends.
type link struct {
	f       *os.File
	raw     syscall.RawConn
	in, out *wire.Conn // one socket, two Conns, so that the directions share no state
	scratch wire.Scratch
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
	go func() {
		_ = l.send(m) // who does not listen to the answer does not need it
		l.close()
	}()
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
		_, err := unix.Poll(set[:], 0)
		held = err == nil && set[0].Revents&unix.POLLHUP == 0
	})
	return held && err == nil
}

func (l *link) close() {
	l.in.Drop()
	l.f.Close()
}

// session is one task's part in a group. task, hub, link, group and id are constant once it has
// joined.
type session struct {
	hub   *Hub
	task  int
	link  *link
	group *group
	id    groupID

	// Guarded by Hub.mu.
	round    uint32 // exchanges that it has contributed to
	left     bool
	closed   bool // its socket has ended
	finished bool // finish has run

	queue queue[outgoing] // of writeAll; completions of sends come from writers
}

type outgoing struct {
	m    wire.Message
	done func() // m's data and files are no longer needed; may be nil
}

// send queues m for writeAll. It does not block.
func (s *session) send(m wire.Message, done func()) {
	if !s.queue.put(outgoing{m, done}) && done != nil {
		done()
	}
}

// writeAll sends until the session ends or its task no longer listens.
func (s *session) writeAll() {
	for {
		batch := s.queue.take()
		if batch == nil {
			return
		}
		for _, o := range batch {
			if s.link.send(o.m) != nil {
				s.endQueue()
			}
			if o.done != nil {
				o.done()
			}
		}
	}
}

// endQueue lets go of everything unsent and ends writeAll.
func (s *session) endQueue() {
	for _, o := range s.queue.end() {
		if o.done != nil {
			o.done()
		}
	}
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

// answerEnding tells a task that may have this hub in its process that it can go.
func (s *session) answerEnding() {
	s.hub.Flush(flushLimit)
	s.send(wire.Message{Kind: wire.Ending}, nil)
}

func (s *session) received(m wire.Message) error {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	switch m.Kind {
	case wire.Part:
		return s.group.contribute(s, m)
	case wire.Ending:
		s.group.ending[s.task] = true
		s.hub.tellNodes(noteEnding, s.id, 0, s.task, nil)
		if s.hub.span != nil {
			go s.answerEnding()
		}
		return nil
	case wire.Leave:
		s.left = true
		s.group.left[s.task] = true
		s.group.failWithout(s.task)
		s.hub.tellNodes(noteLeft, s.id, 0, s.task, nil)
		s.hub.tasks[s.task].left[s.id.instance]++
		s.hub.changed.Broadcast()
		return nil
	}
	m.CloseFiles()
	return io.ErrUnexpectedEOF
}
