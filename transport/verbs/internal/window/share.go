package window

// Use lets C use the peer's queue pair, over a port, whose addresses these are.
func (w *Window) Use(qp, port uint64) { w.Qp, w.Port, w.Usable = qp, port, 1 }

// Unuse has C send nothing over it. It has failed, or nothing goes to the peer any more.
func (w *Window) Unuse() { w.Usable = 0 }

// Reclaim: the queue pair has ended, with the posts of C's that failed over it.
func (w *Window) Reclaim() { w.Usable, w.Qp, w.Failed = 0, 0, 0 }

// End: the connection is over.
func (w *Window) End() {
	w.Usable = 0
	w.Life++
}

// Close has C send nothing, as messages wait in front, or permits it again.
func (w *Window) Close(closed bool) {
	w.Closed = 0
	if closed {
		w.Closed = 1
	}
}

// Starve says that something waits for room: C takes no packet that would make some. Or not any
// more.
func (w *Window) Starve(waits bool) {
	w.Waits = 0
	if waits {
		w.Waits = 1
	}
}

// News takes in what C has noted of the peer: something has come; a post has failed; the peer asks
// for a flush up to a mark, if that is not 0. Not ok: nothing.
func (w *Window) News() (came, failed bool, mark uint64, ok bool) {
	if w.Listed == 0 {
		return
	}
	came, failed, mark = w.Heard != 0, w.Failed != 0, w.Wanted
	w.Listed, w.Heard, w.Failed, w.Wanted = 0, 0, 0, 0
	return came, failed, mark, true
}
