package registration

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"lapi/transport"
)

// Cache keeps registrations of one device (protection domain). It is guarded by its watcher's lock.
type Cache struct {
	device  Device
	config  Config
	page    uint64
	watcher *watcher

	moved   *sync.Cond // making or deregistering has shrunk
	stats   Stats
	closed  bool
	index   index
	unused  lru      // of the entries in index
	leaving []*Entry // to be deregistered when the lock is given up
	making  []*Entry // being registered by Acquire
	// how many are being deregistered
	deregistering int
}

// Entry is a registration in use.
type Entry struct {
	Handle Handle

	lo, hi        uint64
	access        transport.Access
	uses          int
	kept          bool   // in the index
	changed       bool   // its memory was changed while it was registered
	alias         *alias // of the shared memory that it lies in
	before, after *Entry // in the list of the unused
}

// New makes a cache of d's registrations. It never fails: where nothing can be kept, each Acquire
// registers.
func New(d Device, config Config) *Cache { return newCache(d, config, join) }

// newCache has attach give the cache a watcher.
func newCache(d Device, config Config, attach func(*Cache) error) *Cache {
	c := &Cache{device: d, config: config, page: uint64(os.Getpagesize())}
	c.config.Bytes = c.config.Limit()
	if c.config.Entries == 0 {
		c.config.Entries = DefaultEntries
	}
	var err error
	switch {
	case config.Off:
	case config.ForkUnsafe:
		err = errors.New("a forked child may get pages that the adapter knows as this process's")
	default:
		err = attach(c)
	}
	if c.watcher == nil {
		c.watcher = &watcher{caches: []*Cache{c}}
	}
	c.moved = sync.NewCond(&c.watcher.mu)
	if err != nil && config.Say != nil {
		config.Say(fmt.Sprintf("memory is registered for each transfer: %v", err))
	}
	return c
}

func (c *Cache) lock() { c.watcher.mu.Lock() }

// Acquire returns a registration that holds the n bytes at addr with at least the given access (of
// which the device may know more bits than package transport), for one Release. It must remain the
// caller's memory until then.
func (c *Cache) Acquire(addr transport.Addr, n uint64, access transport.Access) (*Entry, error) {
	lo, hi := uint64(addr), uint64(addr)+n
	if !c.valid(addr, n) {
		return nil, ErrParam
	}
	c.lock()
	if c.closed {
		c.watcher.mu.Unlock()
		return nil, ErrClosed
	}
	keep := c.watcher.settle()
	if keep {
		if e := c.find(lo, hi, access); e != nil {
			c.use(e)
			c.unlock()
			return e, nil
		}
		keep = !c.watcher.taken.overlaps(lo, hi)
	}
	e := &Entry{lo: lo, hi: hi, access: access, uses: 1}
	if !c.makeRoom(e) {
		c.stats.Refused++
		c.unlock()
		return nil, fmt.Errorf("%w: the limit is in use", ErrCopy)
	}
	c.account(e, 1)
	c.making = append(c.making, e)
	c.unlock()
	if err := c.make(e, keep); err != nil {
		return nil, err
	}
	return e, nil
}

// AcquireAll is Acquire for each of list, appended to held, or for none of them. While all are found
// the kernel is asked once.
func (c *Cache) AcquireAll(held []*Entry, list []transport.Range,
	access transport.Access) ([]*Entry, error) {
	first := len(held)
	held = c.hits(held, list, access)
	for _, r := range list[len(held)-first:] {
		e, err := c.Acquire(r.Addr, r.N, access)
		if err != nil {
			c.ReleaseAll(held[first:])
			return held[:first], err
		}
		held = append(held, e)
	}
	return held, nil
}

// hits appends registrations of the first ranges of list, up to the first range that is not found.
func (c *Cache) hits(held []*Entry, list []transport.Range, access transport.Access) []*Entry {
	c.lock()
	defer c.unlock()
	if c.closed || !c.watcher.settle() {
		return held
	}
	for _, r := range list {
		if !c.valid(r.Addr, r.N) {
			break
		}
		e := c.find(uint64(r.Addr), uint64(r.Addr)+r.N, access)
		if e == nil {
			break
		}
		c.use(e)
		held = append(held, e)
	}
	return held
}

// valid says whether n bytes at addr can be memory.
func (c *Cache) valid(addr transport.Addr, n uint64) bool {
	hi := uint64(addr) + n
	return n > 0 && hi >= n && hi <= -c.page
}

// find is an entry of the index that holds lo to hi. It drops one whose shared memory has lost
// pages.
func (c *Cache) find(lo, hi uint64, access transport.Access) *Entry {
	for {
		e := c.index.find(lo, hi, access)
		if e == nil || c.watcher.holds(e, lo, hi) {
			return e
		}
		c.stats.Invalidations++
		c.index.remove(e)
		c.drop(e)
	}
}

// use counts a hit of e.
func (c *Cache) use(e *Entry) {
	c.stats.Hits++
	if e.uses == 0 {
		c.unused.remove(e)
	}
	e.uses++
}

// make registers e, and keeps it if that is wanted and right.
func (c *Cache) make(e *Entry, keep bool) error {
	// watched first: a change after the device has pinned the pages must be reported
	keep = keep && c.watcher.watch(e)
	err := c.register(e)
	c.lock()
	defer c.unlock()
	// while e is among those that a change marks
	keep = keep && c.watcher.settle() && c.watcher.holds(e, e.lo, e.hi)
	c.making = slices.DeleteFunc(c.making, func(m *Entry) bool { return m == e })
	c.moved.Broadcast()
	if err != nil {
		c.stats.Refused++
		c.account(e, -1)
		return fmt.Errorf("%w: %w", ErrCopy, err)
	}
	c.stats.Misses++
	if keep && !e.changed && !c.closed && c.index.find(e.lo, e.hi, e.access) == nil {
		e.kept = true
		for _, old := range c.index.insert(e) {
			c.stats.Evictions++
			c.drop(old)
		}
	} else {
		c.stats.Unkept++
	}
	return nil
}

// register has the device register e; for lack of lockable memory it gives up unused entries first.
func (c *Cache) register(e *Entry) (err error) {
	e.Handle, err = c.device.Register(transport.Addr(e.lo), e.hi-e.lo, e.access)
	if !errors.Is(err, unix.ENOMEM) && !errors.Is(err, unix.EAGAIN) {
		return err
	}
	c.lock()
	any := c.giveUp()
	c.watcher.mu.Unlock()
	if any {
		e.Handle, err = c.device.Register(transport.Addr(e.lo), e.hi-e.lo, e.access)
	}
	return err
}

// Release gives back what Acquire returned. The adapter must be done with it.
func (c *Cache) Release(e *Entry) {
	c.lock()
	defer c.unlock()
	c.release(e)
}

// ReleaseAll is Release for each of held.
func (c *Cache) ReleaseAll(held []*Entry) {
	c.lock()
	defer c.unlock()
	for _, e := range held {
		c.release(e)
	}
}

func (c *Cache) release(e *Entry) {
	e.uses--
	switch {
	case e.uses > 0:
	case e.kept:
		c.unused.push(e)
	default:
		c.leave(e)
	}
}

// Discard is Release of a registration by which a request may still come that nobody waits for: no
// other Acquire finds it, and it is deregistered with its last use, as Ended says.
func (c *Cache) Discard(e *Entry) {
	c.lock()
	defer c.unlock()
	if e.kept {
		c.index.remove(e)
		c.drop(e)
	}
	c.release(e)
}

// Ended says whether a registration that was discarded is deregistered, if no other thread is in a
// call of c.
func (c *Cache) Ended(e *Entry) bool {
	c.lock()
	defer c.watcher.mu.Unlock()
	return e.uses == 0
}

// changed drops the registrations that have a byte from lo to hi, also those being made.
func (c *Cache) changed(lo, hi uint64) {
	for _, e := range c.index.removeOverlapping(lo, hi) {
		c.stats.Invalidations++
		c.drop(e)
	}
	for _, e := range c.making {
		if e.lo < hi && e.hi > lo {
			e.changed = true
		}
	}
}

// Close deregisters unused entries; an entry in use is deregistered at its release. It waits for
// calls of Acquire under way.
func (c *Cache) Close() {
	c.lock()
	if c.closed {
		c.watcher.mu.Unlock()
		return
	}
	c.closed = true
	for len(c.making) > 0 {
		c.moved.Wait()
	}
	for _, e := range c.index.removeOverlapping(0, ^uint64(0)) {
		c.drop(e)
	}
	c.giveUp()
	c.watcher.mu.Unlock()
	if c.watcher.kernel != nil {
		leave(c)
	}
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	c.lock()
	defer c.watcher.mu.Unlock()
	return c.stats
}
