package registration

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lapi/cshim/watch"
	"lapi/invariant"
)

// settleMax bounds how often Acquire asks whether memory is still being changed, with pauses in the
// second half. The program's other threads may do nothing but unmap.
const settleMax, settlePause = 64, 50 * time.Microsecond

// takenMax bounds the list of what madvise has taken pages from. Further ones are taken for one
// piece with the memory between.
const takenMax = 4096

// source reports changes of watched memory: a watch.Watch, or a test's.
type source interface {
	Look() (settled, events bool)
	Take(f func(watch.Event)) (lost bool)
	Add(lo, hi uint64) error
	Remove(lo, hi uint64) error
	Wait() bool
	End()
	Close()
}

// watcher knows of changes of memory, for all caches of the process: a mapping can be watched by
// one only.
type watcher struct {
	// mu is the caches' lock as well. It is the innermost: neither is a device called nor
	// memory unmapped with it.
	mu     sync.Mutex
	kernel source // nil: nothing is kept
	caches []*Cache

	watched      intervals // certain: the kernel reports changes here
	maybeWatched intervals // things that close has to end
	taken        intervals // madvise has taken pages, perhaps not yet all

	pagemap *os.File // of this process; nil: shared memory is not kept
	aliases []*alias // of shared memory
	retired []*alias // to be unmapped by sweep

	swept chan struct{} // closed when sweep has ended
}

// shared is the watcher of the process. There is one while there are caches that may keep.
var shared struct {
	mu sync.Mutex
	w  *watcher
}

// join makes c one of the caches of the process's watcher.
func join(c *Cache) error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.w == nil {
		kernel, err := watch.Open()
		if err != nil {
			return err
		}
		shared.w = newWatcher(kernel)
	}
	shared.w.add(c)
	return nil
}

// leave ends that; the last ends the watcher.
func leave(c *Cache) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	w := c.watcher
	if w.drop(c) {
		w.close()
		if w == shared.w {
			shared.w = nil
		}
	}
}

func newWatcher(kernel source) *watcher {
	w := &watcher{kernel: kernel, swept: make(chan struct{})}
	w.pagemap, _ = os.Open("/proc/self/pagemap")
	invariant.Go(w.sweep)
	return w
}

func (w *watcher) add(c *Cache) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.watcher = w
	w.caches = append(w.caches, c)
}

// drop says whether c was the last.
func (w *watcher) drop(c *Cache) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.caches {
		if w.caches[i] == c {
			w.caches = append(w.caches[:i], w.caches[i+1:]...)
			break
		}
	}
	return len(w.caches) == 0
}

// settle applies events until no change is under way, and says whether it came to that. If it did,
// every change that has ended, or that any thread can have noticed, has been applied. w.mu is held.
func (w *watcher) settle() bool {
	if w.kernel == nil {
		return false
	}
	for try := range settleMax {
		settled, events := w.kernel.Look()
		if events {
			w.applyAll()
		}
		if settled {
			return true
		}
		// the thread that changes memory, or the reading one, has to run
		if try < settleMax/2 {
			_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		} else {
			time.Sleep(settlePause)
		}
	}
	return false
}

// applyAll applies the events that are there. w.mu is held.
func (w *watcher) applyAll() {
	if w.kernel.Take(w.apply) { // more than there was room for
		w.changed(0, ^uint64(0))
		w.gone(0, ^uint64(0))
		w.take(0, ^uint64(0))
	}
}

func (w *watcher) apply(e watch.Event) {
	w.changed(e.Lo, e.Hi)
	switch e.Kind {
	case watch.Gone:
		w.gone(e.Lo, e.Hi)
	case watch.Taken:
		w.take(e.Lo, e.Hi)
	case watch.Moved:
		w.gone(e.Lo, e.Hi)
		w.maybeWatched.add(e.To, e.To+e.Hi-e.Lo) // the kernel watches it on
	}
}

// changed drops the registrations that have a byte from lo to hi.
func (w *watcher) changed(lo, hi uint64) {
	for _, c := range w.caches {
		c.changed(lo, hi)
	}
}

// gone: the mappings from lo to hi are gone: they are no longer watched, and new mappings there do
// not count as taken.
func (w *watcher) gone(lo, hi uint64) {
	w.watched.remove(lo, hi)
	w.maybeWatched.remove(lo, hi)
	w.taken.remove(lo, hi)
	w.retire(lo, hi)
}

// take notes that madvise takes pages from lo to hi.
func (w *watcher) take(lo, hi uint64) {
	w.taken.add(lo, hi)
	if n := len(w.taken); n > takenMax {
		w.taken = intervals{{w.taken[0].lo, w.taken[n-1].hi}}
	}
}

// sweep applies events, and deregisters entries that they have made useless, while nobody acquires.
func (w *watcher) sweep() {
	defer close(w.swept)
	for w.kernel.Wait() {
		w.mu.Lock()
		w.applyAll()
		caches := append([]*Cache(nil), w.caches...)
		w.mu.Unlock()
		w.unmapRetired()
		for _, c := range caches {
			c.lock()
			c.unlock()
		}
	}
}

// watch has the kernel report changes of e's memory from now on, and says whether it does. e is
// being registered. w.mu is not held.
func (w *watcher) watch(e *Entry) bool {
	w.mu.Lock()
	known, a := w.watched.covers(e.lo, e.hi), w.aliasOf(e.lo, e.hi)
	w.mu.Unlock()
	switch {
	case a != nil:
		return w.fill(e, a)
	case known:
		return true
	}
	at, m, err := hullOf(e.lo, e.hi)
	if err == nil && m.shared {
		return w.watchShared(e, m)
	}
	if err != nil || w.kernel.Add(at.lo, at.hi) != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.maybeWatched.add(at.lo, at.hi)
	// Only the memory in use is certain: other threads may have unmapped the rest before it was
	// watched, and mapped it since.
	if !e.changed {
		w.watched.add(e.lo, e.hi)
	}
	return true
}

// close gives every mapping back to the kernel, and ends the watching. A child of this process may
// hold the userfaultfd: then closing it here would end nothing, and a thread that unmaps would wait
// for ever.
func (w *watcher) close() {
	w.mu.Lock()
	w.applyAll()
	w.retire(0, ^uint64(0))
	all := append(intervals(nil), w.maybeWatched...) // sweep goes on with it
	w.mu.Unlock()
	w.unmapRetired()
	for _, v := range all {
		_ = eachMapping(v.lo, v.hi, func(m mapping) bool {
			if m.watchable || m.shared { // an error: it is gone
				_ = w.kernel.Remove(m.lo, m.hi)
			}
			return true
		})
	}
	w.kernel.End()
	<-w.swept
	w.kernel.Close()
	if w.pagemap != nil {
		_ = w.pagemap.Close()
	}
}
