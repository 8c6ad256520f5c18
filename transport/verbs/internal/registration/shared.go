package registration

import (
	"encoding/binary"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Another process can take pages out of shared memory, by fallocate or ftruncate, and there is no event
// for it. Therefore a shared mapping that holds registered memory is mapped a second time: its alias. The
// alias's page tables are filled before the adapter pins the pages, and nobody ever touches it. The
// kernel takes a page out of all page tables before it takes it out of the file, and only a touch
// would bring another one in: the alias is watched, too, since there the kernel brings in one page
// at a touch and not its neighbours. So a page that is present in the alias is the pinned
// page.

// alias is the second mapping, at at, of the shared memory that is mapped from lo to hi.
type alias struct {
	lo, hi uint64
	at     uint64
	sure   bool      // it is watched, and was the same memory since
	gone   bool      // the program's mapping was unmapped, or moved
	filled intervals // pages, by the program's addresses, that were brought in
}

// aliasesMax bounds how many there are.
const aliasesMax = 1024

const (
	present   = uint64(1) << 63 // of an entry of /proc/self/pagemap
	entrySize = 8
)

// newAlias maps what m is a second time.
func (w *watcher) newAlias(m mapping) (*alias, error) {
	// of a shared mapping, an old length of 0 asks for that
	at, _, e := unix.Syscall6(unix.SYS_MREMAP, uintptr(m.lo), 0, uintptr(m.hi-m.lo),
		unix.MREMAP_MAYMOVE, 0, 0)
	if e != 0 {
		return nil, e
	}
	a := &alias{lo: m.lo, hi: m.hi, at: uint64(at)}
	n := uintptr(a.hi - a.lo)
	_, _, protect := unix.Syscall(unix.SYS_MPROTECT, at, n, unix.PROT_READ)
	err := errnoOf(protect)
	// A child does not keep the memory. No page comes in by itself, as a part of a huge one.
	for _, advice := range []int{unix.MADV_DONTFORK, unix.MADV_DONTDUMP, unix.MADV_NOHUGEPAGE} {
		// the last fails where there are no huge pages
		if e := advise(a.at, uint64(n), advice); e != nil && advice != unix.MADV_NOHUGEPAGE {
			err = e
		}
	}
	if err == nil {
		err = w.kernel.Add(a.at, a.at+uint64(n))
	}
	if err != nil {
		w.unmap(a)
		return nil, err
	}
	return a, nil
}

func errnoOf(e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

func advise(at, n uint64, advice int) error {
	_, _, e := unix.Syscall(unix.SYS_MADVISE, uintptr(at), uintptr(n), uintptr(advice))
	return errnoOf(e)
}

// unmap unmaps a. No event is wanted of that.
func (w *watcher) unmap(a *alias) {
	_ = w.kernel.Remove(a.at, a.at+a.hi-a.lo)
	_, _, _ = unix.Syscall(unix.SYS_MUNMAP, uintptr(a.at), uintptr(a.hi-a.lo), 0)
}

// firstAbsent is the first page from lo to hi, page numbers of the program's mapping, that is not
// in a's page tables; hi: all are in them, or, with an error, this is not known.
func (a *alias) firstAbsent(pagemap *os.File, lo, hi, page uint64) (uint64, error) {
	var buffer [512 * entrySize]byte
	shift := a.at/page - a.lo/page // wraps
	for lo < hi {
		b := buffer[:min(hi-lo, uint64(len(buffer)/entrySize))*entrySize]
		if _, err := pagemap.ReadAt(b, int64((lo+shift)*entrySize)); err != nil {
			return hi, err
		}
		for i := 0; i < len(b); i, lo = i+entrySize, lo+1 {
			if binary.NativeEndian.Uint64(b[i:])&present == 0 {
				return lo, nil
			}
		}
	}
	return hi, nil
}

// aliasOf is that of the memory from lo to hi, nil if there is none. w.mu is held.
func (w *watcher) aliasOf(lo, hi uint64) *alias {
	for _, a := range w.aliases {
		if a.sure && a.lo <= lo && hi <= a.hi {
			return a
		}
	}
	return nil
}

// retire ends the aliases of mappings from lo to hi, and the registrations of them. w.mu is held:
// sweep unmaps them.
func (w *watcher) retire(lo, hi uint64) {
	w.aliases = slices.DeleteFunc(w.aliases, func(a *alias) bool {
		if a.lo >= hi || a.hi <= lo {
			return false
		}
		a.gone = true
		w.retired = append(w.retired, a)
		w.watched.remove(a.lo, a.hi)
		w.changed(a.lo, a.hi)
		return true
	})
}

// unmapRetired unmaps them. w.mu is not held.
func (w *watcher) unmapRetired() {
	w.mu.Lock()
	list := w.retired
	w.retired = nil
	w.mu.Unlock()
	for _, a := range list {
		w.unmap(a)
	}
}

// watchShared is watch for e in a shared mapping m. A mapping that mremap has moved is not kept: the
// kernel reports the alias of a watched mapping as a move.
func (w *watcher) watchShared(e *Entry, m mapping) bool {
	a, err := w.newAlias(m)
	if err != nil {
		return false
	}
	w.mu.Lock()
	keep := w.pagemap != nil && len(w.aliases) < aliasesMax && !w.maybeWatched.overlaps(m.lo, m.hi)
	if keep {
		w.aliases = append(w.aliases, a) // from now on an event of its memory ends it
		w.maybeWatched.add(m.lo, m.hi)
	}
	w.mu.Unlock()
	if !keep {
		w.unmap(a)
		return false
	}
	ok := w.kernel.Add(m.lo, m.hi) == nil && sameMemory(m, a.at)
	w.mu.Lock()
	a.sure = ok && !a.gone
	if a.sure {
		w.watched.add(a.lo, a.hi)
	} else if !a.gone {
		w.retire(a.lo, a.hi)
	}
	w.mu.Unlock()
	if !a.sure {
		w.unmapRetired()
		return false
	}
	return w.fill(e, a)
}

// fill makes e, which is being registered, one of a's memory, and brings its pages into a's page
// tables. A page that was there before and is not now has been changed: entries that hold it are
// dropped first. A present page is left alone: to bring it in could hide a change at the same
// moment.
func (w *watcher) fill(e *Entry, a *alias) bool {
	page := uint64(os.Getpagesize())
	lo, hi := e.lo/page, (e.hi+page-1)/page
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.gone {
		return false
	}
	e.alias = a
	for lo < hi {
		absent, err := a.firstAbsent(w.pagemap, lo, hi, page)
		if err != nil {
			return false
		}
		if absent == hi {
			return true
		}
		end := absent + 1
		if !a.filled.overlaps(absent*page, end*page) {
			end = a.filled.next(absent*page, hi*page) / page
		}
		if a.filled.overlaps(absent*page, end*page) {
			was := e.changed
			w.changed(absent*page, end*page)
			e.changed = was
		}
		if advise(a.at+absent*page-a.lo, (end-absent)*page, unix.MADV_POPULATE_READ) != nil {
			return false
		}
		a.filled.add(absent*page, end*page)
		lo = end
	}
	return true
}

// holds says whether the pages from lo to hi are the ones that e has registered. w.mu is held.
func (w *watcher) holds(e *Entry, lo, hi uint64) bool {
	a, page := e.alias, uint64(os.Getpagesize())
	if a == nil {
		return true
	}
	last := (hi + page - 1) / page
	absent, err := a.firstAbsent(w.pagemap, lo/page, last, page)
	return !a.gone && err == nil && absent == last
}
