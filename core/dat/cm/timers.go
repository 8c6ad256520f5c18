package cm

import "container/heap"

// Times in nanoseconds. They are waits for a peer that may be busy or away, none of them is felt
// where nothing is lost.
const (
	firstPause = 20e6 // between a message and its repetition; doubled each time,
	lastPause  = 1e9  // so far at the most
	// what an accepted connection may take to become ready, and how long a rejection is
	// remembered
	answerTimeout = 20e9
)

// timer says when a connection's message is repeated, and when that ends.
type timer struct {
	c         *Conn
	due       int64
	pause     int64
	sent      int64 // when the message was last sent
	begun     int64 // when it was first sent
	end       int64 // 0: never
	refusedAt int64 // the sending that was last refused
	at        int   // place in timers, from 1; 0: it does not run
}

// begin sets a timer of a message that is being sent; timeout 0: it is repeated for ever.
func (t *timer) begin(now, timeout int64) {
	t.pause, t.sent, t.due, t.end, t.refusedAt = firstPause, now, now+firstPause, 0, -1
	t.begun = now
	if timeout > 0 {
		t.end = now + timeout
		t.due = min(t.due, t.end)
	}
}

// timers has those that run, the next one first.
type timers []*timer

// Len implements heap.Interface.
func (t timers) Len() int { return len(t) }

// Less implements heap.Interface.
func (t timers) Less(i, j int) bool { return t[i].due < t[j].due }

// Swap implements heap.Interface.
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].at, t[j].at = i+1, j+1
}

// Push implements heap.Interface.
func (t *timers) Push(x any) {
	e := x.(*timer)
	*t = append(*t, e)
	e.at = len(*t)
}

// Pop implements heap.Interface.
func (t *timers) Pop() any {
	last := len(*t) - 1
	e := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	e.at = 0
	return e
}

func (t *timers) add(e *timer) {
	t.stop(e)
	heap.Push(t, e)
}

func (t *timers) stop(e *timer) {
	if e.at != 0 {
		heap.Remove(t, e.at-1)
	}
}

// slow makes repetition rare: the peer has answered, and will say more by itself.
func (t *timers) slow(e *timer, now int64) {
	if e.at == 0 {
		return
	}
	e.pause = lastPause
	e.due = now + lastPause
	if e.end != 0 {
		e.due = min(e.due, e.end)
	}
	heap.Fix(t, e.at-1)
}

// NextTimeout is when OnTimeout has something to do; 0: never.
func (m *Machine) NextTimeout() int64 {
	if len(m.timers) == 0 {
		return 0
	}
	return m.timers[0].due
}

// OnTimeout repeats and ends what is due.
func (m *Machine) OnTimeout(now int64) {
	for len(m.timers) > 0 && m.timers[0].due <= now {
		m.timers[0].c.onTimer(now)
	}
}

func (c *Conn) onTimer(now int64) {
	t := &c.timer
	if t.end != 0 && now >= t.end {
		c.timedOut(now)
		return
	}
	if c.state == rejected || c.state == established { // it is said again when it is asked for
		t.due = t.end
		heap.Fix(&c.m.timers, t.at-1)
		return
	}
	t.sent, t.pause = now, min(2*t.pause, lastPause)
	t.due = now + t.pause
	if t.end != 0 {
		t.due = min(t.due, t.end)
	}
	heap.Fix(&c.m.timers, t.at-1)
	switch c.state {
	case accepting:
		c.send(Accept)
	case withdrawn:
		c.send(Reject)
	case requesting, waiting:
		c.send(Request)
		c.noteUnanswered(now)
	}
}

func (c *Conn) timedOut(now int64) {
	switch c.state {
	case rejected, withdrawn, established:
		c.forget()
	case accepting: // the peer may have Accept, and regard the connection as established
		c.withdraw(now)
		c.failed(TimedOut, nil)
		c.Owner = nil
	default:
		if c.Active {
			c.send(Cancel)
		}
		c.fail(TimedOut, nil)
	}
}
