package lapi

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job"
	"lapi/core/lapi/codes"
	"lapi/transport"
)

// A task that died, was started again by hand and has called LAPI_Init takes its place again also where it is reached by shared memory
// (guide, Chapter 19). Two things must happen, in any order: the session tells that it is there (taskReturned), and Resume.
//
//	died ── Resume ──> absent: messages to it wait ── it is there ──> connected
//	  └── it is there ──> arrived: its messages wait in this task's segment ── Resume ──^
//
// When it is there, its ring in this task's segment is emptied before it gets the segment: nothing that its predecessor sent reaches
// this task's handlers after that, and nothing of this task's to the predecessor reaches it.

// comeback is what a context knows of a task whose process may be replaced.
type comeback struct {
	died    bool              // no process is there: the session has said so, or it was not there in LAPI_Init
	absent  bool              // operations wait for one
	since   int64             // when one that waits was first seen; 0: none
	arrived transport.Address // of one that is there while the task is dead
}

// sharedLink is the link of shared memory.
type sharedLink interface {
	transport.Link
	Vacate(ep transport.Endpoint) error
	Await(ep transport.Endpoint) error
	Left(ep transport.Endpoint) bool
}

// turnAway forgets a process that arrived and was not connected.
func (b *comeback) turnAway() {
	for _, fd := range b.arrived.Files {
		unix.Close(fd)
	}
	b.arrived = transport.Address{}
}

// taskReturned: another process of a task is there, and waits in its LAPI_Init for what this task has to give.
func (c *Context) taskReturned(e job.Event) {
	t, code := c.peer(uint32(e.Task))
	part, err := decodePart(e.Part.Data)
	session, ok := c.session.(job.Rejoiner)
	if code != codes.Success || !ok {
		closeFiles([]job.Part{e.Part})
		return
	}
	if t.shared && err == nil && part.shm == nil {
		err = fmt.Errorf("it has no shared memory any more")
	}
	if t.shared && err == nil {
		if !t.absent {
			c.fail(t, codes.ErrNoConnectivity, "another process has taken its place") // if the session has not said so before
		}
		err = c.shm.Vacate(t.ep)
	}
	if err != nil || !t.shared { // what is left is UDP, which needs nothing from here
		closeFiles([]job.Part{e.Part})
		session.Answer(t.id, c.part(false))
		c.host.Farewell(c.session.ExitNotice())
		if err != nil {
			c.host.Message(0, fmt.Sprintf("task %d: task %d has come back and cannot be reached: %v", c.me, t.id, err))
		}
		return
	}
	session.Answer(t.id, c.part(true))
	c.host.Farewell(c.session.ExitNotice()) // it has a socket of its own
	t.turnAway()
	t.arrived = transport.Address{Bytes: part.shm, Files: e.Part.Files}
	c.host.Message(levelInform, fmt.Sprintf("task %d: task %d has come back", c.me, t.id))
	if !t.absent {
		return
	}
	if err := c.admit(t); err != nil {
		c.fail(t, codes.ErrNoConnectivity, err.Error())
	}
}

// admit connects the process that has arrived.
func (c *Context) admit(t *task) error {
	a := t.arrived
	t.arrived = transport.Address{}
	if err := c.shm.Connect(t.ep, a); err != nil {
		return err
	}
	t.died = false
	t.direct = canDirect(c.shm, t.ep)
	c.setAbsent(t, false)
	return nil
}

// resumeShared is Resume of a task whose process has ended, or its context.
func (c *Context) resumeShared(t *task) error {
	if t.arrived.Bytes != nil {
		return c.admit(t)
	}
	session, ok := c.session.(job.Rejoiner)
	if !ok {
		return fmt.Errorf("its process has ended, and under lapirun no other one can take its place")
	}
	if err := c.shm.Vacate(t.ep); err != nil {
		return err
	}
	t.died = true
	if err := c.await(t); err != nil {
		return err
	}
	session.Expect(t.id)
	return nil
}

// await makes what is sent to t wait until it is there.
func (c *Context) await(t *task) error {
	if err := c.shm.Await(t.ep); err != nil {
		return err
	}
	t.direct = false
	c.setAbsent(t, true)
	return nil
}

func (c *Context) setAbsent(t *task, absent bool) {
	if t.absent == absent {
		return
	}
	t.absent, t.since = absent, 0
	if absent {
		c.absent++
	} else {
		c.absent--
	}
}

// checkAbsent gives up a task that operations have waited for longer than TIMEOUT.
func (c *Context) checkAbsent() {
	for i := range c.tasks {
		t := &c.tasks[i]
		switch {
		case !t.absent:
		case !c.waitedFor(t):
			t.since = 0
		case t.since == 0:
			t.since = c.clock()
		case !c.cfg.NoTimeout && c.clock()-t.since > c.timeout*int64(time.Second):
			c.peerFailed(t.ep, transport.ErrTimeout)
		}
	}
}

// waitedFor says whether something is to be sent to t.
func (c *Context) waitedFor(t *task) bool {
	if t.pending.head != nil {
		return true
	}
	for o := c.getRmw.head; o != nil; o = o.next {
		if o.t == t {
			return true
		}
	}
	return false
}

// absentDeadline is when checkAbsent must run; 0: never.
func (c *Context) absentDeadline() (at int64) {
	if c.absent == 0 || c.cfg.NoTimeout {
		return 0
	}
	for i := range c.tasks {
		if t := &c.tasks[i]; t.absent && t.since != 0 {
			at = earlier(at, t.since+c.timeout*int64(time.Second))
		}
	}
	return at
}
