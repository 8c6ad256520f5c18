package simnet

import (
	"time"

	"lapi/transport"
)

// news is the notice that a task has died; the others get it one by one, unless they find out by
// themselves.
type news struct {
	at           int64
	task         int // the task that is notified
	of           int
	back         bool // that it is there again
	life, ofLife int  // generations of both: news of an earlier one are dropped
}

// noLife in simTask.view: the session has failed, and there is no other yet.
const noLife = -1

// restart kills a task and starts it again somewhat later, at the same addresses. Packets on their
// way stay so.
func (s *run) restart() {
	s.restarts++
	i := s.random.IntN(s.sc.Tasks)
	k := s.tasks[i]
	if k.away {
		return
	}
	s.net.Note("task %d dies", i)
	for id := range s.messages {
		if m := &s.messages[id]; m.from == i || m.to == i {
			s.doubt(int32(id))
		}
	}
	for to := range k.pending {
		s.forget(i, to)
	}
	k.life++ // before the link ends: operations that it completes now do not count
	k.away = true
	s.retire(i)
	dead := between(s.random, 100*time.Microsecond, 100*time.Millisecond)
	if !s.sc.Unannounced {
		for j, other := range s.tasks {
			if j != i && !other.away {
				// the death is known before the new task can be connected
				s.later(dead, news{task: j, of: i})
				s.later(dead+between(s.random, time.Microsecond, 50*time.Millisecond),
					news{task: j, of: i, back: true})
			}
		}
	}
	s.later(dead, news{task: i, of: i, back: true})
}

func (s *run) later(d time.Duration, n news) {
	n.at, n.life, n.ofLife = s.net.Now()+int64(d), s.tasks[n.task].life, s.tasks[n.of].life
	s.news = append(s.news, n)
	s.net.Schedule(d, codeTold)
}

// hear hands out the news that are due.
func (s *run) hear() {
	for i := 0; i < len(s.news); {
		n := s.news[i]
		if n.at > s.net.Now() {
			i++
			continue
		}
		s.news = append(s.news[:i], s.news[i+1:]...)
		s.learn(n)
	}
}

func (s *run) learn(n news) {
	k := s.tasks[n.task]
	switch {
	case n.life != k.life || n.ofLife != s.tasks[n.of].life:
	case n.task == n.of:
		s.net.Note("task %d starts again", n.of)
		s.start(n.of)
		s.net.Schedule(s.pause(s.sc.Think), codeUser|int32(n.of))
	case k.away || k.view[n.of] == s.tasks[n.of].life: // it has begun later itself
	case n.back:
		s.meetAgain(n.task, n.of)
	default:
		s.net.Note("task %d gives up task %d", n.task, n.of)
		s.lose(n.task, n.of)
		k.link.Disconnect(transport.Endpoint(n.of), transport.ErrUnreachable)
		k.node.Touch()
	}
}

// meetAgain begins a new session of task i with j, which has been restarted.
func (s *run) meetAgain(i, j int) {
	s.net.Note("task %d reconnects to task %d", i, j)
	k := s.tasks[i]
	k.view[j] = s.tasks[j].life
	if err := k.link.Reconnect(transport.Endpoint(j), s.tasks[j].node.Address()); err != nil {
		s.fail("task %d: Reconnect to %d: %v", i, j, err)
	}
	k.link.Push()
}

// lose drops what task i has for j, and waits for none of it any more.
func (s *run) lose(i, j int) {
	for id := range s.messages {
		if m := &s.messages[id]; m.from == i && m.to == j {
			s.doubt(int32(id))
		}
	}
	s.forget(i, j)
}

func (s *run) forget(i, j int) {
	k := s.tasks[i]
	for q := &k.pending[j]; q.len() > 0; q.take() {
		f := &s.fragments[q.items[q.head]]
		f.given, f.done = true, true
		k.waiting--
		s.undone--
	}
}

// peerFailed: task i has given up j by its timeout. That is right only if restarts are not
// announced and one of the two was restarted: then the other has a session with a dead task, and
// does not answer the new one; and the task that gives up first leaves the other with a session of
// the same kind.
func (s *run) peerFailed(i, j int, err error) {
	if !s.sc.Unannounced || s.tasks[i].life+s.tasks[j].life == 0 {
		s.fail("task %d: peer %d failed: %v", i, j, err)
		return
	}
	s.net.Note("task %d gives up task %d by its timeout", i, j)
	s.lose(i, j)
	s.tasks[i].view[j] = noLife
	s.later(between(s.random, time.Microsecond, 50*time.Millisecond),
		news{task: i, of: j, back: true})
}
