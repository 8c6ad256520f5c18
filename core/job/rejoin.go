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

// readmit makes a pending connection the way to its task in place of the old one, if that is no
// more; false: it is to wait. A task readmits others only after its own exchange, in which they
// have no part.
func (s *standalone) readmit(p *pendingConn) bool {
	old := s.peers[p.who.Task]
	if old != nil {
		s.receive(old)
		if old.how == "" || old.left && !old.expected || old.malformed && !old.exited() {
			return false
		}
		s.drop(old)
	}
	if s.welcome(p, intoSession) == nil { // else it will try again
		s.peers[p.who.Task].rejoining = true
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
		_ = s.serveListener()
	}
}
