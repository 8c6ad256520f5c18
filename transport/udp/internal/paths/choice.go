package paths

import "lapi/transport/udp/internal/recovery"

// For is the path that k is to take now, beside fewer than most packets in flight. Nil: there is
// none with room.
func (s *Set) For(k *recovery.Packet, most int) *Path {
	r := &s.all[0]
	if s.Several() {
		if r = s.Usable(); r.Works() {
			return s.fastestFor(k, r, most)
		}
	}
	if s.admits(r, k, most) {
		return r
	}
	return nil
}

// Usable is the path for packets that must be sent: the best of those that work, or one of the
// others in turn. If this task can send by none, the path is offline.
func (s *Set) Usable() *Path {
	best := &s.all[s.best]
	if !s.Several() || best.Works() && s.window.InFlight() > 0 {
		return best
	}
	for i := range s.all {
		if r := &s.all[i]; r.Works() && (!best.Works() ||
			r.Latency() < best.Latency()-best.Latency()/4) {
			best = r
		}
	}
	if best.Works() {
		s.best = int(best.Number())
		return best
	}
	for range s.all {
		if !s.all[s.turn].offline {
			break
		}
		s.NextTurn()
	}
	return &s.all[s.turn]
}

// NextTurn is where to try next while no path works.
func (s *Set) NextTurn() {
	if s.turn++; s.turn == len(s.all) {
		s.turn = 0
	}
}

// Turn is the path to try next, whether it works or not, unless it is offline.
func (s *Set) Turn() *Path {
	if r := &s.all[s.turn]; !r.offline {
		return r
	}
	return s.Usable()
}

// fastestFor is the path that works and delivers k first, if it has room. A small packet waits for
// the path that is fastest for it, and prefers the best; a packet that must not be spread (Single)
// stays on the best. A packet of a long transfer takes another path if it arrives there before all
// that waits could go by the fastest.
func (s *Set) fastestFor(k *recovery.Packet, best *Path, most int) *Path {
	if k.Single() {
		if s.admits(best, k, most) {
			return best
		}
		return nil
	}
	fastest, at := best, best.arrival(k)
	if !k.Long() {
		at -= at / 4
	}
	for i := range s.all {
		if r := &s.all[i]; r.Works() && !r.offline && r.arrival(k) < at {
			fastest, at = r, r.arrival(k)
		}
	}
	if s.admits(fastest, k, most) {
		return fastest
	}
	if !k.Long() {
		return nil
	}
	limit := fastest.RTT().Shortest()/2 + fastest.Queued(s.window.Unsent()*k.Size())
	var other *Path
	for i := range s.all {
		if r := &s.all[i]; r.Works() && r.arrival(k) < limit && s.admits(r, k, most) {
			other, limit = r, r.arrival(k)
		}
	}
	return other
}
