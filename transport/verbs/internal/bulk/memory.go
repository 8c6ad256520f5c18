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
	}
	for _, c := range s.calls {
		if e := c.memory[i]; e != nil {
			m.cache.Release(e)
			c.memory[i] = nil
		}
		c.bad &^= 1 << i
	}
	m.cache.Close()
	s.memory[i] = nil
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
		e, err := m.cache.Acquire(c.op.Local+transport.Addr(c.from), c.upTo-c.from, 0)
		if c.memory[port] = e; err != nil {
			c.bad |= bit
		}
	}
	return c.memory[port] != nil
}

// releaseMemory ends that with all ports.
func (c *call) releaseMemory() {
	for i, e := range c.memory {
		if e != nil {
			c.set.memory[i].cache.Release(e)
			c.memory[i] = nil
		}
	}
}
