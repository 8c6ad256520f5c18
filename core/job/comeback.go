package job

import (
	"lapi/core/job/wire"
)

// A task that has died and is started again comes back into the session of the others: its LAPI_Init finds their places open. Between
// each of them and it this happens:
//
//	it: Hello ──> they, once they know of its death: Welcome, with welcomeBack ──> it: its part of the exchange
//	  ──> they: TaskReturned with that part; their owner makes ready for it and answers ──> it: their part
//
// A task that has left in good order may be a task of the job's next session, and its greeting waits for the end of this one, unless
// the owner expects it back.

// welcomeBack is the number of a Welcome from a task that is in its session.
const welcomeBack = 1

// visitors is the watch's tag of the place and its guests.
const visitors = -1

// Comeback is what a Session offers whose tasks may die and come back. Like the rest of a Session it is used under its context's lock.
type Comeback interface {
	// Answer gives this task's part to a task whose TaskReturned Poll has told. The files stay the caller's.
	Answer(task int, part Part)
	// Expect says that a task which has left in good order, or will, may come back too.
	Expect(task int)
}

var _ Comeback = (*standalone)(nil)

// watchPlace keeps the place open for those who come back. They are welcomed only after this task's own exchange, in which they have
// no part.
func (s *standalone) watchPlace() error {
	for _, g := range s.place.guests {
		if err := s.watch.add(g.conn.Fd(), visitors); err != nil {
			return err
		}
	}
	return s.watch.add(s.place.listener, visitors)
}

// receiveVisitors serves the place: it welcomes who comes back, and lets the others wait.
func (s *standalone) receiveVisitors() {
	known := len(s.place.guests)
	full := s.place.accept() != nil || len(s.place.guests) == maxGuests
	if full && !s.deaf { // else the watch would be ready for ever
		s.watch.remove(s.place.listener)
	}
	s.deaf = full || s.deaf && s.watch.add(s.place.listener, visitors) != nil
	waiting := s.place.guests[:0]
	for i, g := range s.place.guests {
		if i >= known && s.watch.add(g.conn.Fd(), visitors) != nil {
			g.conn.Close()
			continue
		}
		if s.place.hear(g, s.scratch) != nil {
			continue
		}
		if !g.known || !s.welcome(g) {
			waiting = append(waiting, g)
		}
	}
	clear(s.place.guests[len(waiting):])
	s.place.guests = waiting
}

// welcome lets a guest take the place of its predecessor, if that is no more.
func (s *standalone) welcome(g *guest) bool {
	old := s.peers[g.who.Task]
	if old != nil {
		s.receive(old)
		if old.how == "" || old.left && !old.expected || old.nonsense && !old.exited() {
			return false
		}
		s.drop(old)
	}
	s.watch.remove(g.conn.Fd())
	g.conn.Queue(wire.Message{Kind: wire.Welcome, Number: welcomeBack})
	_, _ = g.conn.Flush() // one small record into an empty socket
	s.adopt(g.who.Task, g.conn, g.pid)
	p := s.peers[g.who.Task]
	p.returning = true
	if s.watchPeer(p) != nil {
		s.drop(p) // it will try again
	}
	return true
}

// returned takes in the part of a peer that was welcomed back.
func (s *standalone) returned(p *peer, m wire.Message) {
	p.returning = false
	p.round = m.Number
	s.events = append(s.events, Event{Kind: TaskReturned, Task: p.task, Part: Part{Data: m.Data, Files: m.Files}})
}

// Answer implements Comeback.
func (s *standalone) Answer(task int, part Part) {
	if p := s.peers[task]; p != nil && p.how == "" { // else Poll will tell that it has died again
		sendSoon(p.conn, wire.Message{Kind: wire.Part, Number: p.round, Data: part.Data, Files: part.Files})
	}
}

// Expect implements Comeback.
func (s *standalone) Expect(task int) {
	if p := s.peers[task]; p != nil {
		p.expected = true
		s.receiveVisitors()
	}
}
