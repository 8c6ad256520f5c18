// Package pool decides how many receive buffers the shared receive queue of a port has: as many as
// its peers may fill while these are few, and of many peers as many as packets come at once.
package pool

import "lapi/transport/layout"

const (
	// Floor is the least number where peers may fill as many: 2 MiB, all that 15 peers may send
	// ahead.
	Floor = 512
	// Each is how many go back to an adapter together. There are Each more than peers may fill.
	Each = layout.VerbsBack / 4
	// enough of a queue, so that some may wait to go back together
	enough = 4 * Each
)

// Size is that of one port. It counts in buffers.
type Size struct {
	limit   int // as many as the adapter and the link permit
	wanted  int // as many as all peers may fill
	allowed int // as many as the packets that came at once permit
	most    int // that has come at once since Shrink
}

// New is the size of a queue that can have limit buffers, and whose peers may fill wanted.
func New(limit, wanted int) Size { return Size{limit: limit, wanted: wanted, allowed: Floor} }

// Wanted is how many all peers may fill.
func (s *Size) Wanted() int { return s.wanted }

// Limit is how many there may be.
func (s *Size) Limit() int { return s.limit }

// Want notes that peers may fill n more.
func (s *Size) Want(n int) { s.wanted += n }

// Room is how many there could be with the peers that there are.
func (s *Size) Room() int {
	if s.wanted == 0 {
		return 0
	}
	return min(s.wanted+Each, s.limit)
}

// Target is how many there should be.
func (s *Size) Target() int { return min(s.Room(), s.allowed) }

// Together is how many go back to the adapter in one call: where there are few, one, since peers
// wait for what waits here.
func (s *Size) Together() int {
	if t := s.Target(); t < s.wanted+Each && t < enough {
		return 1
	}
	return Each
}

// Came notes that n packets had come at once. More than half of the queue: the next time it might
// be empty, so there are to be twice as many. True: Target has changed.
func (s *Size) Came(n int) bool {
	s.most = max(s.most, n)
	t := s.Target()
	if 2*n < t || t == s.Room() {
		return false
	}
	s.allowed = 2 * t
	return true
}

// Shrink halves the allowed number if not an eighth of it has come at once since the last Shrink.
// True: Target has changed.
func (s *Size) Shrink() bool {
	few, t := 8*s.most < s.allowed && s.allowed > Floor, s.Target()
	s.most = 0
	if few {
		s.allowed = max(Floor, s.allowed/2)
	}
	return s.Target() != t
}
