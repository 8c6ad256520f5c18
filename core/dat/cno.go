package dat

import (
	"lapi/core/dat/codes"
	"lapi/cshim/dat/evd"
)

// Agent is a DAT_OS_WAIT_PROXY_AGENT: what a CNO calls, by the host.
type Agent struct{ Instance, Function uint64 }

// CNO wakes one thread, and calls its agent, if it has one, when one of its EVDs has news: in C
// (cshim/dat/evd).
type CNO struct{ base }

// NewCNO is dat_cno_create; fd: as dat_cno_fd_create, readable when triggered. -1: none. The CNO
// closes it.
func (ia *IA) NewCNO(agent Agent, fd int) (*CNO, codes.Return) {
	c := &CNO{}
	if !ia.add(KindCNO, c) {
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	if !evd.OpenCNO(uint64(c.handle), agent.Function, agent.Instance, fd) {
		ia.remove(c)
		return nil, codes.InsufficientResources.With(codes.ResourceMemory)
	}
	return c, codes.Success
}

// Free is dat_cno_free.
func (c *CNO) Free() codes.Return {
	if of := cnoOf(c.slot); of.Evds > 0 || of.Waiting > 0 {
		return codes.InvalidState.With(codes.InvalidStateCNOInUse)
	}
	c.release()
	return codes.Success
}

// discard implements Object.
func (c *CNO) discard() { c.release() }

// release frees it: EVDs that name it are freed before.
func (c *CNO) release() {
	evd.CloseCNO(uint64(c.handle))
	c.ia.remove(c)
}

// Agent is the agent that it calls; without a function it has none.
func (c *CNO) Agent() Agent {
	of := cnoOf(c.slot)
	return Agent{Instance: of.Instance, Function: of.Function}
}

// FD is its descriptor; -1: none.
func (c *CNO) FD() int { return int(cnoOf(c.slot).Fd) }
