package registration

import (
	"sync"
	"testing"

	"lapi/transport"
)

// A hit beside the lock and a look into a map, which it cannot do without, and what watching costs
// who unmaps.
func BenchmarkHit(b *testing.B) {
	d := &fakeDevice{}
	c := New(d, Config{})
	defer c.Close()
	a := fresh(b, 0, size)
	b.Run("hit", func(b *testing.B) {
		for b.Loop() {
			e, _ := c.Acquire(transport.Addr(a), size, all)
			c.Release(e)
		}
	})
	b.Run("lock and map", func(b *testing.B) {
		var mu sync.Mutex
		m := map[uint64]*Entry{a: nil}
		for b.Loop() {
			for range 2 {
				mu.Lock()
				_ = m[a]
				mu.Unlock()
			}
		}
	})
	b.Run("munmap, watched", func(b *testing.B) {
		for b.Loop() {
			p := fresh(b, 0, pageSize)
			_ = c.watcher.kernel.Add(p, p+pageSize)
			munmap(b, p, pageSize)
		}
	})
	b.Run("munmap", func(b *testing.B) {
		for b.Loop() {
			p := fresh(b, 0, pageSize)
			munmap(b, p, pageSize)
		}
	})
}
