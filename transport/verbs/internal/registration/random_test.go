package registration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport"
)

// seeds are those of the random tests: REGISTRATION_SEED is one, else there are a few.
func seeds(t *testing.T) []uint64 {
	if text := os.Getenv("REGISTRATION_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	return []uint64{1, 2, 3, 4}
}

// user is a thread that maps, changes, acquires and unmaps memory of its own. The kernel gives it
// addresses that another thread's memory has just left.
type user struct {
	t      *testing.T
	r      *rand.Rand
	c      *Cache
	d      *fakeDevice
	blocks []interval
	held   []heldEntry
	files  map[uint64]int // by the beginning of a shared block
}

type heldEntry struct {
	e      *Entry
	lo, hi uint64
	block  uint64 // where the block of memory begins
}

// TestRandom: by seed, threads do anything to their memory; acquired memory is never stale, and
// held memory stays registered.
func TestRandom(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			config := rand.New(rand.NewPCG(seed, 0))
			d := &fakeDevice{}
			c := open(t, d, Config{Entries: 4 + config.IntN(60), Bytes: uint64(100+config.IntN(400)) * pageSize})
			var wg sync.WaitGroup
			for i := range uint64(4) {
				wg.Add(1)
				go func() {
					defer wg.Done()
					u := &user{t: t, r: rand.New(rand.NewPCG(seed, i+1)), c: c, d: d,
						files: map[uint64]int{}}
					for range 300 {
						u.step()
					}
					u.finish()
				}()
			}
			wg.Wait()
			s := c.Stats()
			if s.Hits == 0 || s.Misses == 0 || s.Invalidations == 0 || s.Unkept == 0 {
				t.Errorf("not everything has happened: %+v", s)
			}
			if d.most > c.config.Bytes {
				t.Errorf("%d bytes were registered at one time, of %d", d.most, c.config.Bytes)
			}
		})
	}
}

func (u *user) step() {
	if len(u.blocks) < 3 {
		n := uint64(1+u.r.IntN(16)) * pageSize
		a := uint64(0)
		if u.r.IntN(3) == 0 {
			a = u.freshShared(n)
		} else {
			a = fresh(u.t, 0, n)
		}
		u.blocks = append(u.blocks, interval{a, a + n})
		return
	}
	i := u.r.IntN(len(u.blocks))
	b := &u.blocks[i]
	switch what := u.r.IntN(20); {
	case what < 13:
		u.acquire(*b)
	case what < 16:
		if len(u.held) > 0 {
			u.release(u.r.IntN(len(u.held)))
		}
	default:
		u.releaseOf(b.lo) // a program does not change memory under a transfer
		u.change(i, b, what)
	}
}

// freshShared maps n bytes of a new file in memory.
func (u *user) freshShared(n uint64) uint64 {
	f := memfd(u.t)
	if err := unix.Ftruncate(f, int64(n)); err != nil {
		u.t.Error(err)
	}
	a := mmapOf(u.t, 0, n, unix.MAP_SHARED, f)
	stamp(a, a+n)
	u.files[a] = f
	return a
}

func (u *user) change(i int, b *interval, what int) {
	n := b.hi - b.lo
	if f, is := u.files[b.lo]; is && what != 16 {
		page := uint64(u.r.IntN(int(n / pageSize)))
		punch(u.t, f, int64(page*pageSize), pageSize)
		stamp(b.lo+page*pageSize, b.lo+(page+1)*pageSize)
		return
	}
	switch what {
	case 16:
		munmap(u.t, b.lo, n)
		delete(u.files, b.lo)
		u.blocks = append(u.blocks[:i], u.blocks[i+1:]...)
	case 17:
		grown := uint64(1+u.r.IntN(24)) * pageSize
		b.lo = mremap(u.t, b.lo, n, grown, unix.MREMAP_MAYMOVE, 0)
		if b.hi = b.lo + grown; grown > n {
			stamp(b.lo+n, b.hi)
		}
	case 18:
		from := b.lo + uint64(u.r.IntN(int(n/pageSize)))*pageSize
		advice := unix.MADV_DONTNEED
		if u.r.IntN(2) == 0 {
			advice = unix.MADV_FREE
		}
		madvise(u.t, from, pageSize, advice)
		stamp(from, from+pageSize)
	case 19:
		fresh(u.t, b.lo, n)
	}
}

func (u *user) acquire(b interval) {
	lo := b.lo + u.r.Uint64N(b.hi-b.lo)
	n := 1 + u.r.Uint64N(b.hi-lo)
	access := transport.Access(u.r.IntN(8))
	e, err := u.c.Acquire(transport.Addr(lo), n, access)
	if err != nil {
		if !errors.Is(err, ErrCopy) {
			u.t.Errorf("Acquire: %v", err)
		}
		return
	}
	u.d.check(u.t, e, lo, lo+n, access)
	if u.r.IntN(4) == 0 {
		u.held = append(u.held, heldEntry{e, lo, lo + n, b.lo})
	} else {
		u.c.Release(e)
	}
}

func (u *user) release(i int) {
	h := u.held[i]
	u.d.check(u.t, h.e, h.lo, h.hi, 0)
	u.c.Release(h.e)
	u.held = append(u.held[:i], u.held[i+1:]...)
}

func (u *user) releaseOf(block uint64) {
	for i := len(u.held) - 1; i >= 0; i-- {
		if u.held[i].block == block {
			u.release(i)
		}
	}
}

func (u *user) finish() {
	for len(u.held) > 0 {
		u.release(0)
	}
	for _, b := range u.blocks {
		munmap(u.t, b.lo, b.hi-b.lo)
	}
}

// Threads pass one address on as fast as they can: when one unmaps a range another maps it at once,
// while the first has not returned from the kernel.
func TestPassedOn(t *testing.T) {
	d := &fakeDevice{}
	c := open(t, d, Config{})
	const rounds = 200
	var wg sync.WaitGroup
	for range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rounds {
				a := fresh(t, 0, pageSize)
				touch(t, c, d, a, pageSize)
				touch(t, c, d, a, pageSize)
				munmap(t, a, pageSize)
			}
		}()
	}
	wg.Wait()
	if s := c.Stats(); s.Hits == 0 || s.Hits+s.Misses != 2*6*rounds {
		t.Errorf("%+v", s)
	}
}
