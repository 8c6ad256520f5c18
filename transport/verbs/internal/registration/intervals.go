package registration

import "sort"

// interval is the addresses from lo to hi, hi not included.
type interval struct{ lo, hi uint64 }

// intervals is a set of addresses: sorted, disjoint, not touching.
type intervals []interval

// touching is the run of intervals that overlap lo to hi or end or begin there.
func (s intervals) touching(lo, hi uint64) (from, to int) {
	from = sort.Search(len(s), func(i int) bool { return s[i].hi >= lo })
	to = from
	for to < len(s) && s[to].lo <= hi {
		to++
	}
	return from, to
}

func (s *intervals) replace(from, to int, by ...interval) {
	*s = append((*s)[:from], append(by, (*s)[to:]...)...)
}

func (s *intervals) add(lo, hi uint64) {
	from, to := s.touching(lo, hi)
	if from < to {
		lo, hi = min(lo, (*s)[from].lo), max(hi, (*s)[to-1].hi)
	}
	s.replace(from, to, interval{lo, hi})
}

func (s *intervals) remove(lo, hi uint64) {
	from, to := s.touching(lo, hi)
	var rest []interval
	for _, v := range (*s)[from:to] {
		if v.lo < lo {
			rest = append(rest, interval{v.lo, min(v.hi, lo)})
		}
		if v.hi > hi {
			rest = append(rest, interval{max(v.lo, hi), v.hi})
		}
	}
	s.replace(from, to, rest...)
}

// covers says whether all of lo to hi is in s.
func (s intervals) covers(lo, hi uint64) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].hi >= hi })
	return i < len(s) && s[i].lo <= lo
}

// next is where the first of s from lo on begins, hi if that is not before.
func (s intervals) next(lo, hi uint64) uint64 {
	i := sort.Search(len(s), func(i int) bool { return s[i].lo >= lo })
	if i < len(s) && s[i].lo < hi {
		return s[i].lo
	}
	return hi
}

// overlaps says whether any of lo to hi is in s.
func (s intervals) overlaps(lo, hi uint64) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].hi > lo })
	return i < len(s) && s[i].lo < hi
}
