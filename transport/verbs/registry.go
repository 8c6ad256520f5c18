package verbs

import (
	"lapi/transport"
	"lapi/transport/verbs/adapter"
)

// entry is memory that is registered for an operation.
type entry struct{ adapter.Region }

// registry registers memory for operations. What acquire gives is released once.
type registry interface {
	acquire(a transport.Addr, n uint64, access transport.Access) (*entry, error)
	release(e *entry)
	close() error
}

// plain registers for each operation anew, so that nothing can be stale, and no key is valid after
// its operation.
type plain struct{ adapter adapter.Adapter }

func (p *plain) acquire(a transport.Addr, n uint64, access transport.Access) (*entry, error) {
	r, err := p.adapter.Register(a, n, access)
	if err != nil {
		return nil, err
	}
	return &entry{r}, nil
}

func (p *plain) release(e *entry) { _ = p.adapter.Deregister(e.Region) }

func (p *plain) close() error { return nil }
