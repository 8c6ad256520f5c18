package congestion

// flight are the packets in flight when the latest loss was noticed that counted: all their losses
// make one reduction. If all of them that seemed to be lost turn out to have been late, the
// reduction is undone, as RFC 9438, section 4.9, and RFC 4015 (Eifel) have it.
type flight struct {
	first, last uint64 // transmissions that are of it
	missing     int    // of these, as far as is known
	reduced     bool   // the window was, for it
	before      before
}

// before is the state of a law before a reduction.
type before struct {
	window float64
	cubic  cubic
	start  start
}

// kept is what c has now.
func (c *law) kept() before { return before{c.window, c.cubic, c.start} }

// restore gives c back what it had.
func (c *law) restore(b before) {
	if c.window < b.window {
		c.window, c.cubic, c.start = b.window, b.cubic, b.start
	}
}

// lost takes in a loss. True: it is the first of another flight.
func (f *flight) lost(l Loss) bool {
	if l.Tx <= f.last {
		if l.Tx >= f.first {
			f.missing++
		}
		return false
	}
	*f = flight{first: f.last + 1, last: l.Newest, missing: 1}
	return true
}

// reduces notes what c has before it is reduced for f.
func (f *flight) reduces(c *law) {
	if !f.reduced {
		f.reduced, f.before = true, c.kept()
	}
}

// late takes in that a transmission that was lost has arrived, and undoes the reduction if it was
// the last of these.
func (f *flight) late(l Loss, c *law) {
	if l.Tx < f.first || l.Tx > f.last {
		return
	}
	if f.missing--; f.missing > 0 || !f.reduced {
		return
	}
	f.reduced = false
	c.restore(f.before)
}
