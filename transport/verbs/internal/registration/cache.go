package registration

import (
	"fmt"
	"sync"

	"lapi/transport"
)

// Cache keeps registrations of one device (protection domain).
type Cache struct {
	device Device
	mu     sync.Mutex
	stats  Stats
	closed bool
}

// Entry is a registration in use.
type Entry struct {
	Handle Handle
	addr   transport.Addr
	n      uint64
}

// New makes a cache of d's registrations. It never fails: where nothing can be kept, each Acquire
// registers.
func New(d Device, _ Config) *Cache { return &Cache{device: d} }

// Acquire returns a registration that holds the n bytes at addr with at least the given access, for
// one Release. Its memory must stay as it is until then.
func (c *Cache) Acquire(addr transport.Addr, n uint64, access transport.Access) (*Entry, error) {
	if n == 0 || access == 0 || uint64(addr)+n < uint64(addr) {
		return nil, ErrParam
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	h, err := c.device.Register(addr, n, access)
	if err != nil {
		c.stats.Refused++
		return nil, fmt.Errorf("%w: %w", ErrCopy, err)
	}
	c.stats.Misses++
	return &Entry{Handle: h, addr: addr, n: n}, nil
}

// Release gives back what Acquire returned. The adapter must be done with it.
func (c *Cache) Release(e *Entry) {
	if c.device.Deregister(e.Handle) != nil {
		c.mu.Lock()
		c.stats.Lost++
		c.mu.Unlock()
	}
}

// Close deregisters what is unused; what is in use is deregistered at its release.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
