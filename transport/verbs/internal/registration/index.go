package registration

import (
	"slices"
	"sort"

	"lapi/transport"
)

// anyAccess is every bit of transport.Access.
const anyAccess = transport.AccessRead | transport.AccessWrite | transport.AccessAtomic

// index holds the entries that Acquire may find: a list for each access. In a list no entry lies
// within another; so, sorted by their beginnings, they are sorted by their ends as well.
type index [anyAccess + 1][]*Entry

// find returns an entry that holds lo to hi with at least the given access, or nil. If any entry of
// a list does, the last that begins at lo or before does: it ends last of those.
func (x *index) find(lo, hi uint64, access transport.Access) *Entry {
	for a := access; a <= anyAccess; a++ {
		list := x[a]
		if a&access != access || len(list) == 0 {
			continue
		}
		i := sort.Search(len(list), func(i int) bool { return list[i].lo > lo })
		if i > 0 && list[i-1].hi >= hi {
			return list[i-1]
		}
	}
	return nil
}

// insert adds e, which no entry holds, and takes out and returns those that e can stand for.
func (x *index) insert(e *Entry) (superseded []*Entry) {
	for a := transport.Access(1); a <= e.access; a++ {
		if a&e.access != a {
			continue
		}
		list := x[a]
		from := sort.Search(len(list), func(i int) bool { return list[i].lo >= e.lo })
		to := from
		for to < len(list) && list[to].hi <= e.hi {
			to++
		}
		superseded = append(superseded, list[from:to]...)
		if a == e.access {
			x[a] = slices.Replace(list, from, to, e)
		} else {
			x[a] = slices.Delete(list, from, to)
		}
	}
	return superseded
}

// remove takes e out.
func (x *index) remove(e *Entry) {
	list := x[e.access]
	i := sort.Search(len(list), func(i int) bool { return list[i].lo >= e.lo })
	x[e.access] = slices.Delete(list, i, i+1)
}

// removeOverlapping takes out and returns the entries that have a byte from lo to hi.
func (x *index) removeOverlapping(lo, hi uint64) (removed []*Entry) {
	for a, list := range x {
		from := sort.Search(len(list), func(i int) bool { return list[i].hi > lo })
		to := from
		for to < len(list) && list[to].lo < hi {
			to++
		}
		if from < to {
			removed = append(removed, list[from:to]...)
			x[a] = slices.Delete(list, from, to)
		}
	}
	return removed
}
