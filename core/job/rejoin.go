package job

import (
	"lapi/core/job/wire"
)

// A task that has died and is started again rejoins the session of the others: its LAPI_Init finds
// their listeners open. Between each of them and it this happens:
//
//	it:   Hello
//	they: Welcome, with intoSession, once they know of its death
//	it:   its part of the exchange
//	they: TaskRejoined with that part; their owner makes ready for it and answers: their part
//
// A task that has left in good order may be a task of the job's next session. Its hello waits for
// the end of this one, unless the owner expects it to rejoin.

// intoSession is the number of a Welcome from a task that is in its session.
const intoSession = 1

// listenerTag is the watch's tag of the listener and its pending connections.
const listenerTag = -1

// Rejoiner is what a Session offers whose tasks may die and rejoin. Like the rest of a Session it
// is used under its context's lock.
type Rejoiner interface {
	// Answer gives this task's part to a task whose TaskRejoined Poll has told. The files stay
	// the caller's.
	Answer(task int, part Part)
	// Expect says that a task which has left in good order, or will, may rejoin too.
	Expect(task int)
}

var _ Rejoiner = (*standalone)(nil)

// watchListener waits on the listener for tasks that rejoin. They are readmitted only after this
// task's own exchange, in which they have no part.
func (s *standalone) watchListener() error {
	for _, p := range s.listener.pending {
		if err := s.watch.add(p.conn.Fd(), listenerTag); err != nil {
			return err
		}
	}
	return s.watch.add(s.listener.fd, listenerTag)
}

// serveListener readmits the tasks that rejoin, and lets the others wait.
func (s *standalone) serveListener() {
	known := len(s.listener.pending)
	full := s.listener.accept() != nil || len(s.listener.pending) == maxPending
	if full && !s.unwatched { // else the watch would be ready for ever
		s.watch.remove(s.listener.fd)
	}
	s.unwatched = full || s.unwatched && s.watch.add(s.listener.fd, listenerTag) != nil
	waiting := s.listener.pending[:0]
	for i, p := range s.listener.pending {
		if i >= known && s.watch.add(p.conn.Fd(), listenerTag) != nil {
			p.conn.Close()
			continue
		}
		if s.listener.readHello(p, s.scratch) != nil {
			continue
		}
		if !p.known || !s.readmit(p) {
			waiting = append(waiting, p)
		}
	}
	clear(s.listener.pending[len(waiting):])
	s.listener.pending = waiting
}

// readmit makes a pending connection the way to its task in place of the old one, if that is no
// more.
func (s *standalone) readmit(p *pendingConn) bool {
	old := s.peers[p.who.Task]
	if old != nil {
		s.receive(old)
		if old.how == "" || old.left && !old.expected || old.malformed && !old.exited() {
			return false
		}
		s.drop(old)
	}
	s.watch.remove(p.conn.Fd())
	p.conn.Queue(wire.Message{Kind: wire.Welcome, Number: intoSession})
	_, _ = p.conn.Flush() // one small record into an empty socket
	s.adopt(p.who.Task, p.conn, p.pid)
	peer := s.peers[p.who.Task]
	peer.rejoining = true
	if s.watchPeer(peer) != nil {
		s.drop(peer) // it will try again
	}
	return true
}

// rejoined takes in the part of a peer that was readmitted.
func (s *standalone) rejoined(p *peer, m wire.Message) {
	p.rejoining = false
	p.round = m.Number
	s.events = append(s.events, Event{Kind: TaskRejoined, Task: p.task,
		Part: Part{Data: m.Data, Files: m.Files}})
}

// Answer implements Rejoiner.
func (s *standalone) Answer(task int, part Part) {
	if p := s.peers[task]; p != nil && p.how == "" { // else Poll will tell that it has died again
		sendSoon(p.conn, wire.Message{Kind: wire.Part, Number: p.round, Data: part.Data,
			Files: part.Files})
	}
}

// Expect implements Rejoiner.
func (s *standalone) Expect(task int) {
	if p := s.peers[task]; p != nil {
		p.expected = true
		s.serveListener()
	}
}
