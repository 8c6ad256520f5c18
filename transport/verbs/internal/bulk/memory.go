package bulk

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/registration"
)

// keeper registers user memory with the adapter of one port. Memory that this task's own requests
// name comes from a cache, without access for peers. Memory that peers may reach is registered for
// one operation, so that no key is valid after it.
type keeper struct {
	adapter ibv.Device
	pd      ibv.PD
	most    uint64 // the longest request
	cache   *registration.Cache
	gone    bool // the adapter is: nothing is registered with it any more
}

// Open has port i be over an adapter.
func (s *Set) Open(i int, a ibv.Device, pd ibv.PD) {
	m := &keeper{adapter: a, pd: pd, most: a.Info().MaxMessage}
	m.cache = registration.New(m, s.cfg.Registrations)
	s.cfg.Registrations.Say = nil // once is enough
	s.memory[i] = m
	s.segments = min(s.segments, Segments(a.Info()))
}

// Lose notes that the adapter of port i is gone. Its registrations stay until Drop.
func (s *Set) Lose(i int) { s.memory[i].gone = true }

// Close ends all that there is with the adapters, whose queue pairs are gone.
func (s *Set) Close() {
	for i, m := range s.memory {
		if m != nil {
			s.Drop(i)
		}
	}
}

// Drop ends all that there is with the adapter of port i, whose queue pairs are gone.
func (s *Set) Drop(i int) {
	m := s.memory[i]
	for k := range s.grants {
		if r := &s.grants[k].regions[i]; *r != (ibv.Region{}) {
			m.forget(*r)
			*r = ibv.Region{}
		}
		s.grants[k].releaseList(s, i)
	}
	for _, c := range s.calls {
		c.release(i)
		c.bad &^= 1 << i
	}
	m.cache.Close()
	m.gone = true
}

// Register implements registration.Device. It is called by any thread. Also what is only read must
// permit writing: else the kernel lets the adapter read memory that the program itself may not.
// Constants are copied.
func (m *keeper) Register(a transport.Addr, n uint64,
	_ transport.Access) (registration.Handle, error) {
	r, err := m.adapter.RegMR(m.pd, uint64(a), n, uint64(a), ibv.LocalWrite)
	return registration.Handle{LKey: r.Local, RKey: r.Remote, MR: r.MR}, err
}

// Deregister implements registration.Device.
func (m *keeper) Deregister(h registration.Handle) error {
	return m.adapter.DeregMR(h.MR.(ibv.MR))
}

// remote is memory that a peer may reach, for one forget.
func (m *keeper) remote(a transport.Addr, n uint64, access ibv.Access) (ibv.Region, error) {
	return m.adapter.RegMR(m.pd, uint64(a), n, uint64(a), access|ibv.LocalWrite)
}

func (m *keeper) forget(r ibv.Region) { _ = m.adapter.DeregMR(r.MR) }

// acquire sees to it that the local memory that c's keys are for is registered with a port.
func (c *call) acquire(port int) bool {
	if port < 0 {
		return false
	}
	bit := uint8(1) << port
	if m := c.set.memory[port]; c.memory[port] == nil && c.bad&bit == 0 && !m.gone {
		var err error
		if c.list != nil {
			c.memory[port], err = c.acquireList(port)
		} else {
			c.memory[port], err = m.cache.Acquire(c.op.Local+transport.Addr(c.from),
				c.upTo-c.from, 0)
		}
		if err != nil {
			c.bad |= bit
		}
	}
	return c.memory[port] != nil
}

// releaseMemory ends that with all ports.
func (c *call) releaseMemory() {
	for i := range c.memory {
		c.release(i)
	}
}

// release ends it with a port.
func (c *call) release(port int) {
	e := c.memory[port]
	switch {
	case e == nil:
	case c.list != nil:
		c.releaseList(port)
	default:
		c.set.memory[port].cache.Release(e)
	}
	c.memory[port] = nil
}
