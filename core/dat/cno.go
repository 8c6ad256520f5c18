package dat

import (
	"slices"

	"lapi/core/dat/codes"
)

// Agent is a DAT_OS_WAIT_PROXY_AGENT: what a CNO calls, by the host.
type Agent struct{ Instance, Function uint64 }

// CNO wakes one thread, and calls its agent, if it has one, when one of its EVDs has news.
type CNO struct {
	base
	Agent Agent // called once a trigger
	FD    int   // of dat_cno_fd_create; -1: none

	evds    []*EVD
	fired   []*EVD // have triggered it and were not taken yet, each once
	waiting int
	called  bool // the agent was, since the CNO was last taken
}

// NewCNO is dat_cno_create; fd: as dat_cno_fd_create, readable when triggered.
func (ia *IA) NewCNO(agent Agent, fd int) (*CNO, codes.Return) {
	c := &CNO{Agent: agent, FD: fd}
	if !ia.add(KindCNO, c) {
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	return c, codes.Success
}

// Free is dat_cno_free.
func (c *CNO) Free() codes.Return {
	if len(c.evds) > 0 || c.waiting > 0 {
		return codes.InvalidState.With(codes.InvalidStateCNOInUse)
	}
	c.release()
	return codes.Success
}

func (c *CNO) release() {
	for len(c.evds) > 0 {
		c.evds[0].setCNO(nil)
	}
	c.ia.library.host.CloseFD(c.FD)
	c.ia.remove(c)
}

// ModifyAgent is dat_cno_modify_agent.
func (c *CNO) ModifyAgent(a Agent) { c.Agent, c.called = a, false }

func (c *CNO) remove(e *EVD) {
	c.evds = slices.DeleteFunc(c.evds, func(o *EVD) bool { return o == e })
	c.fired = slices.DeleteFunc(c.fired, func(o *EVD) bool { return o == e })
	c.settle()
}

// settle tells waiting threads and the descriptor whether the CNO is triggered.
func (c *CNO) settle() {
	ready := min(uint32(len(c.fired)), 1)
	if ready != c.slot.Ready {
		c.slot.Ready = ready
		c.ia.library.host.SignalFD(c.FD, ready == 1)
		c.ia.library.host.Changed()
	}
}

// trigger: an EVD has an event. The CNO is triggered until each EVD that has fired was taken. The
// agent is called at the first event since one was taken, or since the agent was set.
func (c *CNO) trigger(e *EVD) {
	if c.Agent.Function != 0 && !c.called {
		c.called = true
		c.ia.library.host.CallAgent(c.Agent, e.handle)
	}
	if !slices.Contains(c.fired, e) {
		c.fired = append(c.fired, e)
		c.settle()
	}
}

// WaitBegin begins dat_cno_wait: the caller waits until the slot is ready.
func (c *CNO) WaitBegin() { c.waiting++ }

// WaitCancel ends it without an EVD: the thread is cancelled.
func (c *CNO) WaitCancel() { c.waiting-- }

// WaitEnd ends it. evd is the one that has fired.
func (c *CNO) WaitEnd() (evd Handle, r codes.Return) {
	c.waiting--
	return c.Take()
}

// Take takes the trigger, if there is one.
func (c *CNO) Take() (evd Handle, r codes.Return) {
	if len(c.fired) == 0 {
		return 0, codes.QueueEmpty.Raw() // as programs expect it
	}
	evd = c.fired[0].handle
	c.called = false
	c.fired = slices.Delete(c.fired, 0, 1)
	c.settle()
	return evd, codes.Success
}
