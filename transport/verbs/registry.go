package verbs

import (
	"lapi/transport"
	"lapi/transport/verbs/adapter"
	"lapi/transport/verbs/internal/registration"
)

// registry registers user memory with one adapter, for operations. What this task's own requests
// name comes from a cache, without access for peers. What peers may reach is registered for one
// operation, so that no key is valid after it.
type registry struct {
	adapter adapter.Adapter
	cache   *registration.Cache
}

func newRegistry(a adapter.Adapter, c *Config) *registry {
	return &registry{adapter: a, cache: registration.New(pinner{a}, registration.Config{
		Bytes: c.RegistrationLimit, Off: c.KeepNoRegistrations, Say: c.Say})}
}

// pinner is an adapter as the cache needs it. It is called by any thread.
type pinner struct{ adapter adapter.Adapter }

func (p pinner) Register(a transport.Addr, n uint64,
	access transport.Access) (registration.Handle, error) {
	r, err := p.adapter.Register(a, n, access)
	return registration.Handle{LKey: r.LKey, RKey: r.RKey, MR: r}, err
}

func (p pinner) Deregister(h registration.Handle) error {
	return p.adapter.Deregister(h.MR.(adapter.Region))
}

// local is memory that this task's requests may name, for one release. Also what is only read must
// permit writing: else the kernel lets the adapter read memory that the program itself may not.
// Constants are copied.
func (r *registry) local(a transport.Addr, n uint64) (*registration.Entry, error) {
	return r.cache.Acquire(a, n, localWrite)
}

func (r *registry) release(e *registration.Entry) { r.cache.Release(e) }

// remote is memory that a peer may reach, for one forget.
func (r *registry) remote(a transport.Addr, n uint64,
	access transport.Access) (adapter.Region, error) {
	return r.adapter.Register(a, n, access|localWrite)
}

func (r *registry) forget(region adapter.Region) { _ = r.adapter.Deregister(region) }

// close deregisters what is kept; everything was released.
func (r *registry) close() { r.cache.Close() }
