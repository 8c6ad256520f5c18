package coll

// clock is a group's clock, in nanoseconds. It never goes back.
type clock struct {
	base uint64 // its reading
	at   int64  // when
	last uint64 // the last value read
}

func (c *clock) begin(now int64) { c.at = now }

func (c *clock) reading(now int64) uint64 { return c.base + uint64(max(now-c.at, 0)) }

// atLeast sets the clock, unless it is past that.
func (c *clock) atLeast(v uint64, now int64) {
	if v > c.reading(now) {
		c.base, c.at = v, now
	}
}

// ReadClock reads the group's clock: more each time.
func (g *Group) ReadClock() uint64 {
	c := &g.clock
	c.last = max(c.last+1, c.reading(g.cfg.Clock()))
	return c.last
}

// beginClock sets the clock here and has the others set theirs. A member that gets the
// message reads as much as this member did when the message left, or more, so two clocks differ by
// what a message takes.
func (g *Group) beginClock(o *Operation) {
	g.clock.atLeast(o.Clock, g.cfg.Clock())
	for i := range g.members {
		m := &g.members[i]
		if i == g.Self || m.ended {
			continue
		}
		m.clockNum++
		m.clockDue = true
		g.notify(i, noticeClock)
		o.pending++
	}
}
