package progress

import "lapi/transport"

// Links are the links of one owner, for what is asked of all of them.
type Links struct {
	all     []transport.Link
	waiters []transport.Waiter
}

// NewLinks is the set of those links.
func NewLinks(all []transport.Link) *Links {
	s := &Links{all: all}
	for _, l := range all {
		if w, ok := l.(transport.Waiter); ok {
			s.waiters = append(s.waiters, w)
		}
	}
	return s
}

// All are the links.
func (s *Links) All() []transport.Link { return s.all }

// SendMax is the most that one of them takes in one message, header and data, bytes.
func (s *Links) SendMax() (most int) {
	for _, l := range s.all {
		most = max(most, l.Limits().SendMax)
	}
	return most
}

// Descriptors are those of all links.
func (s *Links) Descriptors() (all []int) {
	for _, w := range s.waiters {
		all = append(all, w.Descriptors()...)
	}
	return all
}

// NextTimeout is when a link must make progress even if nothing arrives; 0 if never.
func (s *Links) NextTimeout() (next int64) {
	for _, w := range s.waiters {
		next = Earlier(next, w.NextTimeout())
	}
	return next
}

// Arm notifies peers that this task is about to sleep. False: there is work now, and nothing has
// changed.
func (s *Links) Arm() bool {
	for _, w := range s.waiters {
		if w.Arm() {
			s.Disarm()
			return false
		}
	}
	return true
}

// Disarm: awake again.
func (s *Links) Disarm() {
	for _, w := range s.waiters {
		w.Disarm()
	}
}

// Earlier is the earlier of two times, where 0 is never.
func Earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
