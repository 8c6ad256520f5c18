package verbs

import (
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/registration"
)

// registry registers user memory with one adapter, for operations. What this task's own requests
// name comes from a cache, without access for peers. What peers may reach is registered for one
// operation, so that no key is valid after it.
type registry struct {
	port  *port
	cache *registration.Cache
}

func newRegistry(pt *port, c *Config) *registry {
	return &registry{port: pt, cache: registration.New(pinner{pt}, registration.Config{
		Bytes: c.RegistrationLimit, Off: c.KeepNoRegistrations, Say: c.Say})}
}

// pinner is an adapter as the cache needs it. It is called by any thread.
type pinner struct{ port *port }

func (p pinner) Register(a transport.Addr, n uint64,
	_ transport.Access) (registration.Handle, error) {
	r, err := p.port.register(a, n, ibv.LocalWrite)
	return registration.Handle{LKey: r.Local, RKey: r.Remote, MR: r.MR}, err
}

func (p pinner) Deregister(h registration.Handle) error {
	return p.port.adapter.DeregMR(h.MR.(ibv.MR))
}

// local is memory that this task's requests may name, for one release. Also what is only read must
// permit writing: else the kernel lets the adapter read memory that the program itself may not.
// Constants are copied.
func (r *registry) local(a transport.Addr, n uint64) (*registration.Entry, error) {
	return r.cache.Acquire(a, n, 0)
}

func (r *registry) release(e *registration.Entry) { r.cache.Release(e) }

// remote is memory that a peer may reach, for one forget.
func (r *registry) remote(a transport.Addr, n uint64,
	access ibv.Access) (ibv.Region, error) {
	return r.port.register(a, n, access|ibv.LocalWrite)
}

func (r *registry) forget(region ibv.Region) {
	_ = r.port.adapter.DeregMR(region.MR)
}

// register registers memory in the port's domain.
func (pt *port) register(a transport.Addr, n uint64, access ibv.Access) (ibv.Region, error) {
	return pt.adapter.RegMR(pt.pd, uint64(a), n, uint64(a), access)
}

// close deregisters what is kept; everything was released.
func (r *registry) close() { r.cache.Close() }
