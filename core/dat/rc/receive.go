package rc

import "slices"

// Receive is a posted receive. The owner fills the upper part.
type Receive struct {
	Segments []Segment
	Owner    Posted // nil: its memory stays

	// When it completes:
	Status    Status
	N         uint32 // bytes that have come
	Immediate uint32
	HasData   bool // Immediate is valid
	ByWrite   bool // it was taken by a write with immediate data
	Solicited bool
	Context   uint32 // that the send has invalidated, if Invalidated
	Invalid   bool
	taken     bool
	total     uint64
}

// Room is how many bytes the receive can take.
func (r *Receive) Room() uint64 { return sum(r.Segments) }

// Place writes data to the receive's memory, from offset on. There must be room.
func (r *Receive) Place(offset uint32, data []byte) error {
	return scatter(r.Segments, offset, data)
}

// receives are those of one connection: oldest first, numbered from base on.
type receives struct {
	list []*Receive
	base uint32
}

func (q *receives) post(r *Receive) { q.list = append(q.list, r) }

// take is the receive of that number, which nobody else may take; nil: it is not posted. ok is
// false if it cannot be asked for.
func (q *receives) take(number uint32) (r *Receive, ok bool) {
	at := number - q.base
	if at >= 1<<31 {
		return nil, false
	}
	if int(at) >= len(q.list) {
		return nil, true
	}
	if r = q.list[at]; r.taken {
		return nil, false
	}
	r.taken = true
	return r, true
}

// finish takes the oldest out.
func (q *receives) finish() {
	q.list[0] = nil
	q.list = q.list[1:]
	q.base++
}

// Shared is a queue of receives that several connections take from, as this engine sees it.
type Shared struct {
	// Next takes the oldest receive out; nil: there is none.
	Next func() *Receive
	// Waits says how many requests wait for one.
	Waits   func(n int)
	waiting []waits // requests that found none, oldest first
}

// waits is a request that needs a receive.
type waits struct {
	c   *Conn
	seq uint32
}

// Take takes the oldest receive out; nil: there is none.
func (s *Shared) Take() *Receive {
	r := s.Next()
	if r != nil {
		r.total = sum(r.Segments)
		r.taken = true
	}
	return r
}

// Offer gives receives that were posted to requests that wait for one.
func (s *Shared) Offer() {
	for len(s.waiting) > 0 {
		w := s.waiting[0]
		if w.c.wanting(w.seq) != nil {
			r := s.Take()
			if r == nil {
				break
			}
			w.c.offer(w.seq, r)
		}
		s.waiting = s.waiting[1:]
	}
	s.Waits(len(s.waiting))
}

func (s *Shared) wait(w waits) {
	s.waiting = append(s.waiting, w)
	s.Waits(len(s.waiting))
}

// leave: a connection needs none any more.
func (s *Shared) leave(c *Conn) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w waits) bool { return w.c == c })
	s.Waits(len(s.waiting))
}
