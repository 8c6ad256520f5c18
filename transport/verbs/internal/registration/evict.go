package registration

// lru is the list of the entries that are kept and not in use, the one longest unused first.
type lru struct{ first, last *Entry }

func (l *lru) push(e *Entry) {
	e.before, e.after = l.last, nil
	if l.last != nil {
		l.last.after = e
	} else {
		l.first = e
	}
	l.last = e
}

func (l *lru) remove(e *Entry) {
	if e.before != nil {
		e.before.after = e.after
	} else {
		l.first = e.after
	}
	if e.after != nil {
		e.after.before = e.before
	} else {
		l.last = e.before
	}
	e.before, e.after = nil, nil
}

// drop: e has left the index. It is deregistered when the lock is given up, or, in use, at its
// release.
func (c *Cache) drop(e *Entry) {
	e.kept = false
	if e.uses == 0 {
		c.unused.remove(e)
		c.leave(e)
	}
}

// leave has e deregistered when the lock is given up.
func (c *Cache) leave(e *Entry) {
	c.account(e, -1)
	c.leaving = append(c.leaving, e)
}

// account adds e to the sums of registered memory, or takes it off.
func (c *Cache) account(e *Entry, sign int) {
	c.stats.Entries += sign
	c.stats.Bytes += uint64(sign) * c.pages(e.lo, e.hi)
}

// pages is how many bytes are pinned for lo to hi.
func (c *Cache) pages(lo, hi uint64) uint64 {
	return (hi-1)/c.page*c.page + c.page - lo/c.page*c.page
}

// evict gives up the entry that is longest unused; false: there is none.
func (c *Cache) evict() bool {
	e := c.unused.first
	if e == nil {
		return false
	}
	c.stats.Evictions++
	c.index.remove(e)
	c.drop(e)
	return true
}

// makeRoom evicts until e is within the limits; false, and nothing is evicted: entries in use leave
// no room.
func (c *Cache) makeRoom(e *Entry) bool {
	entries, bytes := c.stats.Entries+1, c.stats.Bytes+c.pages(e.lo, e.hi)
	over := func() bool { return entries > c.config.Entries || bytes > c.config.Bytes }
	victims := 0
	for v := c.unused.first; v != nil && over(); v = v.after {
		entries, bytes = entries-1, bytes-c.pages(v.lo, v.hi)
		victims++
	}
	if over() {
		return false
	}
	for range victims {
		c.evict()
	}
	return true
}

// takeLeaving returns the entries to deregister, for deregister. The lock is held.
func (c *Cache) takeLeaving() (list []*Entry) {
	list, c.leaving = c.leaving, nil
	c.deregistering += len(list)
	return list
}

// unlock gives up the lock and deregisters the entries that have left.
func (c *Cache) unlock() {
	if len(c.leaving) == 0 {
		c.watcher.mu.Unlock()
		return
	}
	leaving := c.takeLeaving()
	c.watcher.mu.Unlock()
	c.deregister(leaving)
}

// deregister deregisters what takeLeaving returned. The lock is not held: the device may unmap
// memory.
func (c *Cache) deregister(list []*Entry) {
	lost := uint64(0)
	for _, e := range list {
		if c.device.Deregister(e.Handle) != nil {
			lost++
		}
	}
	c.lock()
	c.stats.Lost += lost
	c.deregistering -= len(list)
	c.watcher.mu.Unlock()
	c.moved.Broadcast()
}

// giveUp deregisters all that is unused, and waits for what others are deregistering. It says
// whether there was any. The lock is held, and given up meanwhile.
func (c *Cache) giveUp() bool {
	for c.evict() {
	}
	any := len(c.leaving) > 0 || c.deregistering > 0
	c.unlock()
	c.lock()
	for c.deregistering > 0 {
		c.moved.Wait()
	}
	return any
}
