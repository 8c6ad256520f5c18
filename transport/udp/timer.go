package udp

// timers is when a machine's peers are to be looked at.
type timers struct {
	active  []*peer // those that may have a timer running
	due     int64   // no timer runs out before; 0: none runs
	unheard int     // timers in a row that ran out while packets may have waited at the sockets
	turns   int     // since the last run of the acknowledge and retransmit logic
}

// NextTimeout is when OnTimeout must run even if nothing arrives; 0: never. It may be earlier than
// necessary.
func (m *Machine) NextTimeout() int64 {
	if m.done.first != nil {
		return 1 // completions wait: at once
	}
	return m.timers.due
}

// OnTimeout runs the acknowledge and retransmit logic of the peers whose timers are due. The second
// argument says that every packet that came before now has been taken in. Only then an answer is
// known to be missing: it may wait at a socket while this task does not run. Otherwise the
// retransmit logic is put off, but not for ever, since there are tasks whose sockets are never
// empty.
func (m *Machine) OnTimeout(now int64, heard bool) {
	t := &m.timers
	if t.due == 0 || now < t.due {
		return
	}
	if t.unheard++; heard || t.unheard > mostUnheard {
		heard, t.unheard = true, 0
	}
	t.run(now, false, heard)
}

// Turn counts calls of the owner's Progress. True: RETRANSMIT_INTERVAL of them went without a run
// of the acknowledge and retransmit logic; call Check.
func (m *Machine) Turn() bool {
	m.timers.turns++
	return m.timers.turns >= m.cfg.RetransmitInterval
}

// turnTime is how long a call of Progress takes that finds nothing, about. A thread that waits
// asleep makes none: each turnTime of its sleep counts as one.
const turnTime = 1000

// WakeBy is NextTimeout for an owner that sleeps from now on: it wakes when RETRANSMIT_INTERVAL
// turns would be over.
func (m *Machine) WakeBy(now int64) int64 {
	due := m.NextTimeout()
	if due <= now {
		return due
	}
	return min(due, now+int64(max(m.cfg.RetransmitInterval-m.timers.turns, 1))*turnTime)
}

// Slept counts the turns of a sleep of d nanoseconds.
func (m *Machine) Slept(d int64) {
	if m.timers.due != 0 {
		m.timers.turns += int(min(d/turnTime, int64(m.cfg.RetransmitInterval)))
	}
}

// Check runs the acknowledge and retransmit logic now: every delayed acknowledgement goes, and
// packets older than a round trip allows are resent, whatever the backoff says.
func (m *Machine) Check(now int64) { m.timers.run(now, true, true) }

// run looks at each active peer. Callbacks may add peers meanwhile.
func (t *timers) run(now int64, all, heard bool) {
	t.turns = 0
	t.due = 0
	keep, due := 0, int64(0)
	for i := 0; i < len(t.active); i++ {
		p := t.active[i]
		p.onTimers(now, all, heard)
		d := p.nextDue()
		if d == 0 {
			p.listed = false
			continue
		}
		due = earlier(due, d)
		t.active[keep] = p
		keep++
	}
	clear(t.active[keep:])
	t.active = t.active[:keep]
	t.due = earlier(t.due, due)
}

// earlier is the earlier of two times, where 0 is never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// over says whether the time t, if it is set, has come.
func over(t, now int64) bool { return t != 0 && now >= t }
