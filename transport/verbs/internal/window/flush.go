package window

// CountBurst: a flush covers all that was sent. How many packets it was decides which of the next will
// ask by itself: the last of as many, if it was so twice.
func (w *Window) CountBurst() {
	if w.Since == 0 {
		return
	}
	w.Burst = 0
	if w.Since == w.Last {
		w.Burst = w.Since
	}
	w.Last, w.Since = w.Since, 0
}

// AsksByItself says whether a packet of a message, which is made now, does.
func (w *Window) AsksByItself() bool {
	w.Since++
	return w.Since == w.Burst
}

// Accept: the peer has accepted all before mark. False: it was not asked for that.
func (w *Window) Accept(mark uint64) bool {
	if mark > w.Asked {
		return false
	}
	w.Flushed = max(w.Flushed, mark)
	return true
}

// Wait notes how many flushes of this task wait, and Hold how many messages and flushes of the peer
// are to be answered before C answers one.
func (w *Window) Wait(flushes int) { w.Flushing = uint32(flushes) }

// Hold has C answer no flush while there are n messages, or flushes, that are answered first.
func (w *Window) Hold(n int) { w.Held = uint32(n) }
