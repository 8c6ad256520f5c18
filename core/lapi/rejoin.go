package lapi

import (
	"errors"

	"golang.org/x/sys/unix"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/core/progress"
	"lapi/core/wireup"
	"lapi/transport"
)

// A task that died, was started again by hand and has called LAPI_Init takes its place again also
// where it is reached by shared memory (guide, Chapter 19). Two things must happen, in any order:
// the session reports that it is there (taskReturned), and Resume.
//
//	died ── Resume ──> absent: messages to it wait ── it is there ──> connected
//	  └── it is there ──> arrived: its messages wait in this task's segment ── Resume ──^
//
// When it is there, its ring in this task's segment is emptied before it gets the segment: nothing
// that its predecessor sent reaches this task's handlers after that, and nothing of this task's to
// the predecessor reaches it.

// rejoins is what a context knows of tasks whose processes may be replaced.
type rejoins struct {
	peers   map[int]*rejoin // by task; of most there is nothing to know
	awaited int             // how many are absent
}

type rejoin struct {
	// no process is there: the session has said so, or it was not there in LAPI_Init
	died    bool
	absent  bool              // operations wait for a process
	since   int64             // when a waiting operation was first seen; 0: none waits
	arrived transport.Address // of a process that is there while the task is dead
	moved   transport.Address // where the next process is by UDP, if not where the last one was
}

// of is what is known of a task, to be changed.
func (s *rejoins) of(task int) *rejoin {
	r := s.peers[task]
	if r == nil {
		r = new(rejoin)
		if s.peers == nil {
			s.peers = map[int]*rejoin{}
		}
		s.peers[task] = r
	}
	return r
}

// known is what is known of a task, to be looked at.
func (s *rejoins) known(task int) rejoin {
	if r := s.peers[task]; r != nil {
		return *r
	}
	return rejoin{}
}

// reject drops a process that arrived and was not connected.
func (r *rejoin) reject() {
	for _, fd := range r.arrived.Files {
		unix.Close(fd)
	}
	r.arrived = transport.Address{}
}

// lost: a task's process is gone.
func (s *rejoins) lost(task int) {
	r := s.of(task)
	r.died = true
	r.reject()
}

// setAbsent says whether operations wait for a process of a task.
func (s *rejoins) setAbsent(task int, absent bool) {
	if s.known(task).absent == absent {
		return
	}
	r := s.of(task)
	r.absent, r.since = absent, 0
	if absent {
		s.awaited++
	} else {
		s.awaited--
	}
}

// close releases everything that was kept.
func (s *rejoins) close() {
	for _, r := range s.peers {
		r.reject()
	}
}

// taskReturned: another process of a task is there, and waits in its LAPI_Init for this task's
// part.
func (c *Context) taskReturned(e job.Event) {
	p, code := c.other(uint32(e.Task))
	card, err := wireup.DecodeCard(e.Part.Data, wire.CardVersion)
	session, ok := c.net.Session.(job.Rejoiner)
	if code != codes.Success || !ok {
		wireup.CloseFiles(e.Part)
		return
	}
	p.SetLeft(false)
	r := c.rejoins.of(p.ID)
	if p.Shared && err == nil && card.Shm == nil {
		err = errors.New("it has no shared memory any more")
	}
	if p.Shared && err == nil {
		if !r.absent {
			// if the session has not reported that before
			c.fail(p, codes.ErrNoConnectivity, "another process has taken its place")
		}
		err = c.net.Shm.Reset(p.Ep)
	}
	if err != nil || !p.Shared { // UDP needs nothing from here, RDMA the address
		wireup.CloseFiles(e.Part)
		if c.byRDMA(p) && card.Verbs != nil {
			r.moved = c.net.VerbsAddress(p.Ep, &card)
		}
		session.Answer(p.ID, c.net.Card(false))
		c.host.ExitNotice(c.net.Session.ExitNotice())
		if err != nil {
			c.faults.Message(0, "task %d has rejoined and cannot be reached: %v", p.ID, err)
		}
		return
	}
	session.Answer(p.ID, c.net.Card(true))
	c.host.ExitNotice(c.net.Session.ExitNotice()) // it has a socket of its own
	r.reject()
	r.arrived = transport.Address{Bytes: card.Shm, Files: e.Part.Files}
	c.faults.Message(wireup.LevelInform, "task %d has rejoined", p.ID)
	if !r.absent {
		return
	}
	if err := c.admit(p); err != nil {
		c.fail(p, codes.ErrNoConnectivity, err.Error())
	}
}

// admit connects the process that has arrived.
func (c *Context) admit(p *peer.Peer) error {
	r := c.rejoins.of(p.ID)
	a := r.arrived
	r.arrived = transport.Address{}
	if err := c.net.Shm.Connect(p.Ep, a); err != nil {
		return err
	}
	r.died = false
	p.SingleCopy = wireup.SingleCopy(c.net.Shm, p.Ep)
	c.rejoins.setAbsent(p.ID, false)
	return nil
}

// resumeShared is Resume of a task whose process has ended, or its context.
func (c *Context) resumeShared(p *peer.Peer) error {
	r := c.rejoins.of(p.ID)
	if r.arrived.Bytes != nil {
		return c.admit(p)
	}
	session, ok := c.net.Session.(job.Rejoiner)
	if !ok {
		return errors.New("its process has ended, and under lapirun no other one can take its " +
			"place")
	}
	if err := c.net.Shm.Reset(p.Ep); err != nil {
		return err
	}
	r.died = true
	if err := c.net.Shm.Await(p.Ep); err != nil { // what is sent to p waits until it is there
		return err
	}
	p.SingleCopy = false
	c.rejoins.setAbsent(p.ID, true)
	session.Expect(p.ID)
	return nil
}

// checkAbsent gives up a task that operations have waited for longer than TIMEOUT.
func (c *Context) checkAbsent() {
	for i := range c.peers {
		p, r := &c.peers[i], c.rejoins.peers[i]
		switch {
		case r == nil || !r.absent:
		case !c.waitedFor(p):
			r.since = 0
		case r.since == 0:
			r.since = c.clock()
		case c.timeout() >= 0 && c.clock()-r.since > c.timeout():
			c.peerFailed(p.Ep, transport.ErrTimeout)
		}
	}
}

// waitedFor says whether something is to be sent to p.
func (c *Context) waitedFor(p *peer.Peer) bool {
	_, waits := c.out.Waits(p)
	_, asked := c.waitsForAnswer(p)
	return waits || asked
}

// absentDeadline is when checkAbsent must run; 0: never.
func (c *Context) absentDeadline() (at int64) {
	if c.rejoins.awaited == 0 || c.timeout() < 0 {
		return 0
	}
	for _, r := range c.rejoins.peers {
		if r.absent && r.since != 0 {
			at = progress.Earlier(at, r.since+c.timeout())
		}
	}
	return at
}
