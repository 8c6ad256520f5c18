package registration

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"lapi/transport"
)

// fakeDevice stands for an adapter. An adapter pins pages; this remembers
// their contents: the first word of each page, which tests set to a value never used before
// whenever they get a page from the kernel.
type fakeDevice struct {
	mu    sync.Mutex
	live  map[uint32]*pinned
	next  uint32
	most  uint64 // bytes registered at one time
	bytes uint64
	calls int

	// failRegister and failDeregister, if not nil, decide about a call; within runs in Register
	failRegister   func(call int) error
	failDeregister func() error
	within         func()
}

// pinned is a registration of the fake device.
type pinned struct {
	lo, hi uint64
	access transport.Access
	stamps []uint64
}

func (d *fakeDevice) Register(addr transport.Addr, n uint64, access transport.Access) (Handle, error) {
	d.mu.Lock()
	d.calls++
	call := d.calls
	d.mu.Unlock()
	if d.failRegister != nil {
		if err := d.failRegister(call); err != nil {
			return Handle{}, err
		}
	}
	p := &pinned{lo: uint64(addr), hi: uint64(addr) + n, access: access}
	p.stamps = stampsOf(p.lo, p.hi)
	if d.within != nil {
		d.within()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live == nil {
		d.live = map[uint32]*pinned{}
	}
	d.next++
	d.live[d.next] = p
	d.bytes += n
	d.most = max(d.most, d.bytes)
	return Handle{LKey: d.next, RKey: d.next, MR: p}, nil
}

var errTwice = errors.New("deregistered twice")

func (d *fakeDevice) Deregister(h Handle) error {
	if d.failDeregister != nil {
		if err := d.failDeregister(); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.live[h.LKey] == nil {
		return errTwice
	}
	d.bytes -= d.live[h.LKey].hi - d.live[h.LKey].lo
	delete(d.live, h.LKey)
	return nil
}

// registered says how many registrations there are.
func (d *fakeDevice) registered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// stampsOf reads the first word of each page from lo to hi.
func stampsOf(lo, hi uint64) (s []uint64) {
	for p := lo &^ (pageSize - 1); p < hi; p += pageSize {
		s = append(s, atomic.LoadUint64(word(p)))
	}
	return s
}

var lastStamp atomic.Uint64

// stamp marks the pages from lo to hi as new ones.
func stamp(lo, hi uint64) {
	for p := lo &^ (pageSize - 1); p < hi; p += pageSize {
		atomic.StoreUint64(word(p), lastStamp.Add(1))
	}
}

// fresh maps n bytes of new pages.
func fresh(t testing.TB, at, n uint64) uint64 {
	a := mmap(t, at, n)
	stamp(a, a+n)
	return a
}

// check fails if e is not a live registration of the pages that are from lo to hi now.
func (d *fakeDevice) check(t testing.TB, e *Entry, lo, hi uint64, access transport.Access) {
	t.Helper()
	d.mu.Lock()
	p := d.live[e.Handle.LKey]
	d.mu.Unlock()
	if p == nil {
		t.Fatalf("%#x to %#x: the registration is deregistered", lo, hi)
	}
	if p.lo > lo || p.hi < hi || p.access&access != access {
		t.Fatalf("%#x to %#x, access %d, got a registration of %#x to %#x, access %d", lo, hi, access,
			p.lo, p.hi, p.access)
	}
	skip := lo/pageSize - p.lo/pageSize
	for i, now := range stampsOf(lo, hi) {
		if then := p.stamps[skip+uint64(i)]; then != now {
			t.Fatalf("stale: page %d of %#x to %#x was %d when registered, is %d", i, lo, hi, then, now)
		}
	}
}

const all = transport.AccessRead | transport.AccessWrite

// acquire is AcquireAll of one range, which must succeed, checked.
func acquire(t testing.TB, c *Cache, d *fakeDevice, lo, n uint64) *Entry {
	t.Helper()
	held, err := c.AcquireAll(nil, []transport.Range{{Addr: transport.Addr(lo), N: n}}, all)
	if err != nil {
		t.Fatalf("%d bytes at %#x: %v", n, lo, err)
	}
	d.check(t, held[0], lo, lo+n, all)
	return held[0]
}

// touch acquires and releases.
func touch(t testing.TB, c *Cache, d *fakeDevice, lo, n uint64) {
	t.Helper()
	c.Release(acquire(t, c, d, lo, n))
}

// open makes a cache that keeps, or skips the test where the kernel does not report changes. At the
// test's end all must be deregistered.
func open(t testing.TB, d *fakeDevice, config Config) *Cache {
	t.Helper()
	config.Say = func(text string) { t.Skip(text) }
	c := New(d, config)
	t.Cleanup(func() {
		c.Close()
		if n := d.registered(); n != 0 && !t.Failed() {
			t.Errorf("%d registrations are left after Close", n)
		}
		if s := c.Stats(); (s.Entries != 0 || s.Bytes != 0) && !t.Failed() {
			t.Errorf("after Close: %+v", s)
		}
	})
	return c
}

// counts compares the counters that matter.
func counts(t testing.TB, c *Cache, hits, misses, evictions, invalidations, unkept uint64) {
	t.Helper()
	s := c.Stats()
	got := [...]uint64{s.Hits, s.Misses, s.Evictions, s.Invalidations, s.Unkept}
	if want := [...]uint64{hits, misses, evictions, invalidations, unkept}; got != want {
		t.Errorf("hits, misses, evictions, invalidations, unkept: %v, want %v", got, want)
	}
}
