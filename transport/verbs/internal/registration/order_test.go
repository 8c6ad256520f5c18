package registration

import (
	"sync"
	"testing"

	"lapi/cshim/watch"
	"lapi/transport"
)

// fakeSource is a kernel that reports changes when the test says so.
type fakeSource struct {
	mu      sync.Mutex
	under   int           // a change is under way for that number of calls of Look
	coming  []watch.Event // of it: there when it ends
	events  []watch.Event
	lost    bool
	looks   int
	added   []interval
	removed []interval
	over    chan struct{}
}

func (s *fakeSource) Look() (settled, events bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	if s.under > 0 {
		if s.under--; s.under == 0 {
			s.events, s.coming = append(s.events, s.coming...), nil
		}
		return false, len(s.events) > 0 || s.lost
	}
	return true, len(s.events) > 0 || s.lost
}

func (s *fakeSource) Take(f func(watch.Event)) (lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		f(e)
	}
	lost, s.events, s.lost = s.lost, nil, false
	return lost
}

func (s *fakeSource) Add(lo, hi uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added = append(s.added, interval{lo, hi})
	return nil
}

func (s *fakeSource) Remove(lo, hi uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = append(s.removed, interval{lo, hi})
	return nil
}

func (s *fakeSource) Wait() bool { <-s.over; return false }
func (s *fakeSource) End()       { close(s.over) }
func (s *fakeSource) Close()     {}

// tell makes an event come now.
func (s *fakeSource) tell(e ...watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e...)
}

// onFake makes a cache whose kernel is a fakeSource.
func onFake(t *testing.T, d *fakeDevice) (*Cache, *fakeSource) {
	s := &fakeSource{over: make(chan struct{})}
	c := newCache(d, Config{}, func(c *Cache) error {
		newWatcher(s).add(c)
		return nil
	})
	t.Cleanup(func() {
		c.Close()
		if d.registered() != 0 && !t.Failed() {
			t.Errorf("%d registrations are left", d.registered())
		}
	})
	return c, s
}

// duringChange acquires memory, and again twice while a thread that has unmapped it has not
// reported it yet: the kernel says so as many times, and another mapping has the address.
func duringChange(t *testing.T, times int) *Cache {
	t.Helper()
	d := &fakeDevice{}
	c, s := onFake(t, d)
	a := fresh(t, 0, size)
	touch(t, c, d, a, size)
	fresh(t, a, size)
	s.under, s.coming = times, []watch.Event{{Kind: watch.Gone, Lo: a, Hi: a + size}}
	touch(t, c, d, a, size)
	touch(t, c, d, a, size)
	return c
}

// TestChangeUnderWay: the new memory is registered, once.
func TestChangeUnderWay(t *testing.T) {
	counts(t, duringChange(t, 5), 1, 2, 0, 1, 0)
}

// Changes do not end: nothing is found or kept, and no call waits for ever.
func TestChangesWithoutEnd(t *testing.T) {
	counts(t, duringChange(t, 1000*settleMax), 0, 3, 0, 0, 2)
}

// An madvise was reported, and takes the pages only after they were registered anew.
func TestTakenAfterTold(t *testing.T) {
	d := &fakeDevice{}
	c, s := onFake(t, d)
	a := fresh(t, 0, size)
	touch(t, c, d, a, size)
	s.tell(watch.Event{Kind: watch.Taken, Lo: a + pageSize, Hi: a + 2*pageSize})
	touch(t, c, d, a, size)
	stamp(a+pageSize, a+2*pageSize)
	touch(t, c, d, a, size)
	counts(t, c, 0, 3, 0, 1, 2)
}

// The memory changes while it is being registered: the registration is not found again.
func TestChangeWhileRegistering(t *testing.T) {
	for _, kind := range []watch.Kind{watch.Gone, watch.Taken, watch.Moved} {
		d := &fakeDevice{}
		c, s := onFake(t, d)
		a := fresh(t, 0, size)
		d.within = func() {
			s.tell(watch.Event{Kind: kind, Lo: a, Hi: a + pageSize, To: a + 1<<30})
		}
		e, err := c.Acquire(transport.Addr(a), size, all)
		if err != nil {
			t.Fatal(err)
		}
		d.within = nil
		stamp(a, a+pageSize)
		touch(t, c, d, a, size)
		c.Release(e)
		if s := c.Stats(); s.Hits != 0 {
			t.Errorf("kind %d: %+v", kind, s)
		}
	}
}

// The device pins pages only when their changes are reported.
func TestWatchedBeforeRegistered(t *testing.T) {
	d := &fakeDevice{}
	c, s := onFake(t, d)
	a := fresh(t, 0, size)
	d.within = func() {
		if len(s.added) == 0 || s.added[0].lo > a || s.added[0].hi < a+size {
			t.Errorf("registered with %#x watched", s.added)
		}
	}
	touch(t, c, d, a, size)
	touch(t, c, d, a, size)
	d.within = nil
	c.Close()
	if len(s.removed) == 0 {
		t.Error("still watched after Close")
	}
}

// Unmapped memory does not count as watched: the mapping that comes next is watched anew. The same
// holds for a range that was moved away; the range that it was moved to is no longer watched after
// Close.
func TestWatchedAnew(t *testing.T) {
	for _, kind := range []watch.Kind{watch.Gone, watch.Moved} {
		d := &fakeDevice{}
		c, s := onFake(t, d)
		a := fresh(t, 0, 3*size)
		b := a + 2*size
		munmap(t, a+size, size)
		touch(t, c, d, a, size)
		s.tell(watch.Event{Kind: kind, Lo: a, Hi: a + size, To: b})
		touch(t, c, d, a, size)
		if len(s.added) != 2 {
			t.Errorf("kind %d: watched %d times", kind, len(s.added))
		}
		c.Close()
		covers := func(at uint64) (yes bool) {
			for _, v := range s.removed {
				yes = yes || v.lo <= at && v.hi > at
			}
			return yes
		}
		if !covers(a) || kind == watch.Moved && !covers(b) {
			t.Errorf("kind %d: at Close %#x, with %#x and %#x", kind, s.removed, a, b)
		}
	}
}

// Only the range that was asked for is certainly watched, not its neighbours in the mapping:
// another thread may have unmapped them before they were watched.
func TestNeighbourIsWatchedByItself(t *testing.T) {
	d := &fakeDevice{}
	c, s := onFake(t, d)
	a := fresh(t, 0, size)
	touch(t, c, d, a+pageSize, pageSize)
	touch(t, c, d, a+2*pageSize, pageSize)
	if len(s.added) != 2 {
		t.Errorf("watched %d times", len(s.added))
	}
}

// More has happened than was reported: anything may have changed, and be changing.
func TestEventsLost(t *testing.T) {
	d := &fakeDevice{}
	c, s := onFake(t, d)
	a := fresh(t, 0, size)
	touch(t, c, d, a, size)
	stamp(a, a+size)
	s.lost = true
	touch(t, c, d, a, size)
	touch(t, c, d, a, size)
	counts(t, c, 0, 3, 0, 1, 2)
	s.tell(watch.Event{Kind: watch.Gone, Lo: a, Hi: a + size})
	touch(t, c, d, a, size)
	touch(t, c, d, a, size)
	counts(t, c, 1, 4, 0, 1, 2)
}

// A list of taken ranges that grows without end ends as one range.
func TestTakenIsBounded(t *testing.T) {
	d := &fakeDevice{}
	c, s := onFake(t, d)
	a := fresh(t, 0, size)
	for i := range uint64(takenMax + 10) {
		s.tell(watch.Event{Kind: watch.Taken, Lo: 1<<40 + i*2*pageSize, Hi: 1<<40 + (i*2+1)*pageSize})
	}
	touch(t, c, d, a, size)
	if n := len(c.watcher.taken); n == 0 || n > takenMax {
		t.Errorf("%d pieces", n)
	}
	for i := range uint64(takenMax + 10) {
		if !c.watcher.taken.overlaps(1<<40+i*2*pageSize, 1<<40+i*2*pageSize+1) {
			t.Fatalf("piece %d is forgotten", i)
		}
	}
}

// The device frees memory when it registers and deregisters, as libibverbs does: the freed memory
// is watched.
func TestDeviceUnmaps(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{Entries: 1})
	a := fresh(t, 0, size)
	unmapWatched := func() {
		b := fresh(t, 0, size)
		if err := c.watcher.kernel.Add(b, b+size); err != nil {
			t.Error(err)
		}
		munmap(t, b, size)
	}
	d.within = unmapWatched
	d.failDeregister = func() error { unmapWatched(); return nil }
	touch(t, c, d, a, pageSize)
	touch(t, c, d, a+pageSize, pageSize) // evicts
	fresh(t, a, size)                    // the sweep deregisters, or the next
	touch(t, c, d, a, pageSize)
	if s := c.Stats(); s.Misses != 3 {
		t.Errorf("%+v", s)
	}
}
