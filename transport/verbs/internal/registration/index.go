package registration

import (
	"slices"
	"sort"

	"lapi/transport"
)

// index holds the entries that Acquire may find: a list for each access that was asked for, of
// which there are a few.
type index []accessList

// accessList is the entries of one access. No entry lies within another; so, sorted by their
// beginnings, they are sorted by their ends as well.
type accessList struct {
	access  transport.Access
	entries []*Entry
}

// from is the first entry that begins at lo or behind.
func (l *accessList) from(lo uint64) int {
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].lo >= lo })
}

// cut takes entries i to j out and returns them.
func (l *accessList) cut(i, j int) []*Entry {
	out := slices.Clone(l.entries[i:j])
	l.entries = slices.Delete(l.entries, i, j)
	return out
}

// find returns an entry that holds lo to hi with at least the given access, or nil. If any entry of
// a list holds them, so does the last that begins at lo or before: of those it ends last.
func (x index) find(lo, hi uint64, access transport.Access) *Entry {
	for k := range x {
		l := &x[k]
		if l.access&access != access {
			continue
		}
		if i := l.from(lo + 1); i > 0 && l.entries[i-1].hi >= hi {
			return l.entries[i-1]
		}
	}
	return nil
}

// list is that of access.
func (x *index) list(access transport.Access) *accessList {
	for k := range *x {
		if (*x)[k].access == access {
			return &(*x)[k]
		}
	}
	*x = append(*x, accessList{access: access})
	return &(*x)[len(*x)-1]
}

// insert adds e, which no entry holds, and takes out and returns those that e can stand for.
func (x *index) insert(e *Entry) (superseded []*Entry) {
	own := x.list(e.access)
	for k := range *x {
		l := &(*x)[k]
		if l.access&e.access != l.access {
			continue
		}
		i := l.from(e.lo)
		j := i
		for j < len(l.entries) && l.entries[j].hi <= e.hi {
			j++
		}
		superseded = append(superseded, l.cut(i, j)...)
	}
	own.entries = slices.Insert(own.entries, own.from(e.lo), e)
	return superseded
}

// remove takes e out.
func (x *index) remove(e *Entry) {
	l := x.list(e.access)
	i := l.from(e.lo)
	l.cut(i, i+1)
}

// removeOverlapping takes out and returns the entries that have a byte from lo to hi.
func (x index) removeOverlapping(lo, hi uint64) (removed []*Entry) {
	for k := range x {
		l := &x[k]
		i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].hi > lo })
		if j := l.from(hi); i < j {
			removed = append(removed, l.cut(i, j)...)
		}
	}
	return removed
}
