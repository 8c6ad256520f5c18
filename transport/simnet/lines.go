package simnet

import (
	"net/netip"
	"time"

	"lapi/transport/udp"
)

// Way is how a path treats packets, each direction by itself. Shares are of packets, 0 to 1.
type Way struct {
	Loss      float64
	Duplicate float64
	Stray     float64       // packets that are followed by a forged or replayed one
	Damage    float64       // packets that arrive with bits flipped
	DelayMin  time.Duration // of a packet on its way; the spread between the two reorders
	DelayMax  time.Duration
	Rate      int  // bytes a second that leave a task's adapter, and that enter one; 0: no limit
	Queue     int  // bytes that may wait in front of each of these; further packets are dropped
	MTU       int  // longer packets vanish, both ways; 0: no limit
	Tells     bool // their sender's kernel learns of it, as from a router
}

// line is one direction of a path between two nodes.
type line struct {
	way   *Way
	cut   int  // disturbances that break it
	mtu   int  // the MTU under a disturbance; 0: there is none
	tells bool // it tells
	told  int  // the MTU that the sender's kernel learned last; 0: none
}

func (s *Net) line(from, to int, path udp.Path) *line {
	return &s.lines[(from*len(s.nodes)+to)*udp.MaxPaths+int(path)]
}

// route decides what becomes of packet i, which n sends to an address.
func (s *Net) route(n *Node, to netip.AddrPort, i int32) {
	k := &s.packets.all[i]
	target := s.owner(to)
	if target == nil || to != address(target.index, k.path) {
		s.fail("task %d sends from path %d to %v", n.index, k.path, to)
		s.packets.drop(i)
		return
	}
	k.to = int32(target.index)
	l := s.line(n.index, target.index, k.path)
	r := s.random
	if w := l.way; w.Stray > 0 && r.Float64() < w.Stray {
		s.Counts.Strays++
		s.remember(i)
		j := s.stray(i)
		s.note("stray", j)
		s.deliver(l, n, j)
	}
	switch w := l.way; {
	case l.cut > 0:
		s.lose(i, &s.Counts.Cut, "cut")
	case l.tooLong(len(k.b)):
		s.lose(i, &s.Counts.TooLong, "too long")
	case w.Loss > 0 && r.Float64() < w.Loss:
		s.lose(i, &s.Counts.Lost, "lost")
	default:
		if w.Duplicate > 0 && r.Float64() < w.Duplicate {
			s.Counts.Duplicated++
			j := s.copyOf(i)
			s.note("duplicate", j)
			s.deliver(l, n, j)
		}
		if w.Damage > 0 && r.Float64() < w.Damage {
			s.damage(i)
		}
		s.note("", i)
		s.deliver(l, n, i)
	}
}

// lose ends the way of packet i, for a reason that is counted.
func (s *Net) lose(i int32, count *int, why string) {
	*count++
	s.note(why, i)
	s.packets.drop(i)
}

// tooLong says whether a packet of n bytes does not pass, and then notifies its sender's kernel.
func (l *line) tooLong(n int) bool {
	switch {
	case l.mtu > 0 && n > l.mtu:
		if l.tells {
			l.told = l.mtu
		}
	case l.way.MTU > 0 && n > l.way.MTU:
		if l.way.Tells {
			l.told = l.way.MTU
		}
	default:
		return false
	}
	return true
}

// owner is the node that has this address.
func (s *Net) owner(a netip.AddrPort) *Node {
	if !a.Addr().Is4() {
		return nil
	}
	b := a.Addr().As4()
	i := int(b[2])<<8 | int(b[3])
	if i >= len(s.nodes) || int(b[1]) >= len(s.nodes[i].addrs) {
		return nil
	}
	return s.nodes[i]
}

func (s *Net) copyOf(i int32) int32 {
	j := s.packets.make(len(s.packets.all[i].b))
	k, c := &s.packets.all[i], &s.packets.all[j]
	copy(c.b, k.b)
	c.from, c.to, c.path = k.from, k.to, k.path
	return j
}

// deliver sends packet i on its way through the adapters of both ends.
func (s *Net) deliver(l *line, from *Node, i int32) {
	w, k := l.way, &s.packets.all[i]
	at, ok := pass(&from.out[k.path], s.now, len(k.b), w)
	if ok {
		at += int64(w.DelayMin)
		if spread := int64(w.DelayMax - w.DelayMin); spread > 0 {
			at += s.random.Int64N(spread)
		}
		at, ok = pass(&s.nodes[k.to].in[k.path], at, len(k.b), w)
	}
	if !ok {
		s.lose(i, &s.Counts.Dropped, "dropped")
		return
	}
	s.queue.add(at, i)
}

// pass lets n bytes through an adapter that is busy until free. It returns when they have passed;
// false: its queue is full.
func pass(free *int64, at int64, n int, w *Way) (int64, bool) {
	if w.Rate == 0 {
		return at, true
	}
	start := max(at, *free)
	if (start-at)*int64(w.Rate)/int64(time.Second) > int64(w.Queue) {
		return 0, false
	}
	*free = start + int64(n)*int64(time.Second)/int64(w.Rate)
	return *free, true
}
