package model

import (
	"fmt"

	"lapi/core/dat/rc"
)

// requester has an end's own requests.
type requester struct {
	requests     []*request // all that were posted, by number
	done         int        // of them are complete
	failed       bool
	failedAt     int // the first request that has failed, and its status
	failedBy     rc.Status
	messages     []*request // those that take a receive
	acknowledged int        // of them are complete
	ownWindow    bool       // some requests have their local memory there
}

// responder is what an end does for its peer.
type responder struct {
	receives      []*receive // all that were posted to it, by number
	received      int        // of them are complete
	arrived       int        // messages
	receiveFailed bool
}

// life is what has become of an end.
type life struct {
	opened       bool
	disconnected bool // by this end, or it is to be
	graceful     bool
	ended        bool
	ending       rc.Ending
	forgotten    bool
}

// process is a process.
type process struct {
	dead, closed bool
	noticed      map[int]bool // processes that are dead
	shared       *shared
	contexts     uint32 // that were made
	word         *wordOf
	memory       []byte // of the common word, and of shared receives
	main         *context
}

// shared is a process's queue of receives.
type shared struct {
	memory  []byte
	posted  uint64
	waiting map[uint64]*receive // that are not complete
	latest  uint64              // of those that are
	short   bool                // some are shorter than the longest message
}

// wordOf is a word that all connections add to.
type wordOf struct {
	added uint64
	seen  map[uint64]bool
}

// world is processes, their connections, and what is known of them.
type world struct {
	driver
	capabilities
	profile
	settings
	procs  []*process
	conns  []*connection // that were not forgotten
	made   int
	giving *end // a request of it is being posted, and counts or does not
	total  result
	steps  []string // what has happened, for a failure
	step   int
	err    error
}

func (w *world) errorf(format string, a ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("step %d: "+format, append([]any{w.step}, a...)...)
	}
}

// failed implements core.
func (w *world) failed() bool { return w.err != nil }

// isDead says whether an end's process is.
func (w *world) isDead(e *end) bool { return w.procs[e.process].dead }

// collect takes the events of both ends of a connection: requests first, so that whatever they say
// of the peer's receives is to be seen there.
func (w *world) collect(c *connection) {
	var lists [2][2][]event
	var heard [2]loudness
	var over [2]bool
	for i, e := range c.ends {
		if w.isDead(e) || e.forgotten {
			continue
		}
		_, over[i] = w.over(e)
		lists[i][0], lists[i][1], heard[i] = w.take(e)
	}
	for i, e := range c.ends {
		w.checkLoudness(e, lists[i][1], heard[i])
		for _, v := range lists[i][1] {
			w.checkReceive(e, v)
		}
	}
	for i, e := range c.ends {
		for _, v := range lists[i][0] {
			w.checkRequest(e, v)
		}
		if !w.isDead(e) && !e.forgotten {
			w.checkSuppressed(e)
		}
		if p := e.peer(); e.acknowledged > p.arrived && !w.isDead(p) {
			w.errorf("%v: %d messages are complete, %d have arrived", e, e.acknowledged, p.arrived)
		}
	}
	for i, e := range c.ends {
		if over[i] && !e.ended {
			w.checkEnd(e)
		}
	}
}

// collectAll takes all events. Then few shared receives are pending that are older than the
// latest that is complete: connections have taken them.
func (w *world) collectAll() {
	for _, c := range w.conns {
		w.collect(c)
	}
	for i, p := range w.procs {
		if p.shared == nil || p.dead {
			continue
		}
		older := 0
		for number := range p.shared.waiting {
			if number < p.shared.latest {
				older++
			}
		}
		if most := w.taken * len(w.conns); older > most {
			w.errorf("process %d: shared receive %d completes before %d older ones", i,
				p.shared.latest, older)
		}
	}
}
