package receive

import "lapi/core/lapi/peer"

// Tally counts the parts of puts, and of answers to gets of vectors, that come in any order: each
// finds its place by itself.
type Tally struct {
	from []*Parts // by task
	free *Parts
}

// Parts is one message of several parts.
type Parts struct {
	Failed   bool // an address was bad: the rest is counted and dropped
	next     *Parts
	id       uint32
	received uint64
}

// NewTally is a Tally for that number of tasks.
func NewTally(tasks int) *Tally { return &Tally{from: make([]*Parts, tasks)} }

// Of is the count of message id of p's, which begins with its first part.
func (t *Tally) Of(p *peer.Peer, id uint32) *Parts {
	for m := t.from[p.ID]; m != nil; m = m.next {
		if m.id == id {
			return m
		}
	}
	m := t.free
	if m == nil {
		m = new(Parts)
	} else {
		t.free = m.next
	}
	*m = Parts{id: id, next: t.from[p.ID]}
	t.from[p.ID] = m
	return m
}

// Add counts n bytes of total. True: all are here, and m is gone.
func (t *Tally) Add(p *peer.Peer, m *Parts, n, total uint64) bool {
	if m.received += n; m.received < total {
		return false
	}
	for at := &t.from[p.ID]; *at != nil; at = &(*at).next {
		if *at == m {
			*at = m.next
			break
		}
	}
	m.next = t.free
	t.free = m
	return true
}

// Busy says whether messages of p's are under way.
func (t *Tally) Busy(p *peer.Peer) bool { return t.from[p.ID] != nil }

// GiveUp drops them.
func (t *Tally) GiveUp(p *peer.Peer) {
	for t.from[p.ID] != nil {
		t.Add(p, t.from[p.ID], 0, 0)
	}
}
