package simnet

import (
	"slices"
	"time"

	"lapi/transport"
)

// end lets the tasks leave, each at a time of its own.
func (s *run) end() {
	s.ending = true
	mean := pick(s.random, 5*time.Millisecond, time.Second) // together, or one long after the other
	for i := range s.tasks {
		s.net.Schedule(s.pause(mean), codeLeave|int32(i))
	}
}

// leave is what LAPI_Term does: task i flushes to all others, then leaves. Those that left before
// it have nothing more to say.
func (s *run) leave(i int) {
	s.net.Note("task %d flushes to leave", i)
	k := s.tasks[i]
	waits := 1
	done := func() {
		if waits--; waits == 0 {
			s.net.Note("task %d leaves", i)
			s.checkIdle(i)
			k.link.Leave(s.net.Now())
			k.leftAt = s.net.Now()
			s.net.Schedule(time.Duration(lingerMax), codeClose|int32(i))
		}
	}
	for j := range s.tasks {
		if j == i {
			continue
		}
		op := &transport.Op{Done: func(*transport.Op, error) { done() }}
		status, err := k.link.Flush(transport.Endpoint(j), op)
		if err == nil && status == transport.Queued {
			waits++
		}
	}
	done()
	k.link.Push()
}

// close ends the link of task i, as udp.Link does when all have answered, or after a while. That a
// task has left is known some time later even if the network has lost every Bye: the job's session
// tells it.
func (s *run) close(i int) {
	k := s.tasks[i]
	if !k.link.Left() && k.node.LastAsleep() < k.leftAt {
		s.fail("task %d has said Bye for %v and goes on", i, time.Duration(lingerMax))
	}
	s.net.Note("task %d is gone", i)
	s.retire(i)
	s.closed++
	s.net.Schedule(between(s.random, time.Millisecond, time.Second), codeGone|int32(i))
}

func (s *run) gone(i int) {
	for j, k := range s.tasks {
		if k.link != nil && j != i {
			s.checkClose(i, j)
			k.link.Disconnect(transport.Endpoint(i), transport.ErrUnreachable)
			k.node.Touch()
		}
	}
}

// checkClose: where the network loses nothing, task j has learned from i itself that i has left.
func (s *run) checkClose(i, j int) {
	k := s.tasks[j]
	if !s.sc.clean() || k.leftAt != 0 || !s.have(i, j) {
		return
	}
	var op transport.Op
	if _, err := k.link.Send(transport.Endpoint(i), msgID, nil,
		&op); err != transport.ErrUnreachable {
		s.fail("task %d has left, and task %d can still send to it: %v", i, j, err)
	}
	s.closes++
}

// have says whether a message has gone between two tasks.
func (s *run) have(i, j int) bool {
	for id := range s.messages {
		if m := &s.messages[id]; m.accepted > 0 &&
			(m.from == i && m.to == j || m.from == j && m.to == i) {
			return true
		}
	}
	return false
}

// clean says whether nothing gets lost: but for forged packets and duplicates, which do not count.
func (sc *Scenario) clean() bool {
	if sc.Disturbances+sc.Restarts > 0 || sc.Full > 0 || sc.Service > 20*time.Microsecond {
		return false
	}
	for _, w := range sc.Ways[:slices.Max(sc.Addresses)] {
		if w.Loss > 0 || w.Damage > 0 || w.Rate > 0 || w.DelayMax > 20*time.Millisecond {
			return false
		}
	}
	return true
}

// retire ends the link of task i and takes its numbers.
func (s *run) retire(i int) {
	k := s.tasks[i]
	if k.link == nil {
		return
	}
	k.link.Abandon()
	st := k.link.Stats()
	if int(st.PacketsSent) != k.link.Sent() ||
		int(st.PacketsReceived+st.GhostPackets+st.DuplicatePackets) != k.link.Got() {
		s.fail("task %d has sent %d packets and got %d; its statistics: %+v", i, k.link.Sent(),
			k.link.Got(), *st)
	}
	addStats(&s.stats, st)
	k.link = nil
}
