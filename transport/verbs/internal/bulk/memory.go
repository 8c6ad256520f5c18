package bulk

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/registration"
)

// keeper registers user memory with the adapter of one port.
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
		s.releaseWith(&s.grants[k], i)
	}
	for _, r := range s.regions {
		s.leavePort(r, i)
	}
	for _, c := range s.calls {
		c.release(i)
		c.bad &^= 1 << i
	}
	m.cache.Close()
	m.gone = true
}

// reachable is the access to memory that peers may read and write.
const reachable = transport.AccessRead | transport.AccessWrite

// Register implements registration.Device. It is called by any thread. Also what is only read must
// permit writing: else the kernel lets the adapter read memory that the program itself may not.
// Constants are copied.
func (m *keeper) Register(a transport.Addr, n uint64,
	access transport.Access) (registration.Handle, error) {
	permits := ibv.LocalWrite
	if access&transport.AccessRead != 0 {
		permits |= ibv.RemoteRead
	}
	if access&transport.AccessWrite != 0 {
		permits |= ibv.RemoteWrite
	}
	r, err := m.adapter.RegMR(m.pd, uint64(a), n, uint64(a), permits)
	return registration.Handle{LKey: r.Local, RKey: r.Remote, MR: r.MR}, err
}

// Deregister implements registration.Device.
func (m *keeper) Deregister(h registration.Handle) error {
	return m.adapter.DeregMR(h.MR.(ibv.MR))
}

// acquire sees to it that the local memory that c's keys are for is registered with a port.
func (c *call) acquire(port int) bool {
	if port < 0 {
		return false
	}
	bit := uint8(1) << port
	if m := c.set.memory[port]; len(c.held[port]) == 0 && c.bad&bit == 0 && !m.gone {
		one := [1]transport.Range{{Addr: c.op.Local + transport.Addr(c.from), N: c.upTo - c.from}}
		list := one[:]
		if c.list != nil {
			list = c.list.near
		}
		var err error
		if c.held[port], err = m.cache.AcquireAll(c.held[port], list, 0); err != nil {
			c.bad |= bit
		}
	}
	return len(c.held[port]) > 0
}

// releaseMemory ends that with all ports.
func (c *call) releaseMemory() {
	for i := range c.held {
		c.release(i)
	}
	c.set.attendEnding()
}

// release ends it with a port.
func (c *call) release(port int) {
	if len(c.held[port]) > 0 {
		c.set.memory[port].cache.ReleaseAll(c.held[port])
		c.held[port] = c.held[port][:0]
	}
}
