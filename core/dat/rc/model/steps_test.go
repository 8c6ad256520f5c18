package model

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"lapi/core/dat/rc"
	"lapi/transport/arena"
)

// profile is what a seed decides for all of its steps.
type profile struct {
	length   int    // steps
	most     int    // requests, and receives, of an end that are not complete
	full     bool   // messages take many slots: rings are often full
	large    uint32 // the longest request
	scarce   bool   // there are few receives
	trouble  int    // every trouble-th step may end or break a connection; 0: none
	conns    int
	complete bool // all is to complete before the end
}

const (
	shortest = 4096 // bytes of the longest send, and of a receive that is not too short
	blocks   = 50   // steps during which the same process does little
)

func newProfile(random *rand.Rand) profile {
	p := profile{length: 50 + random.IntN(450), most: 40, full: random.IntN(3) == 0,
		scarce: random.IntN(3) == 0, conns: 1 + random.IntN(4), complete: random.IntN(4) > 0,
		large: 6000}
	if random.IntN(3) == 0 {
		p.most = 100
	}
	if random.IntN(3) == 0 {
		p.large = slotSize - 1024
	}
	if random.IntN(3) > 0 {
		p.trouble = 10 + random.IntN(120)
	}
	return p
}

// note keeps what has happened, for a failure.
func (w *world) note(format string, a ...any) {
	w.steps = append(w.steps, fmt.Sprintf("%4d: ", w.step)+fmt.Sprintf(format, a...))
}

// begin makes processes and connections.
func (w *world) begin() {
	for i := range w.processes {
		b, err := arena.Map(slots*slotSize + 64)
		if err != nil {
			w.errorf("%v", err)
			return
		}
		p := &process{noticed: map[int]bool{}, memory: b,
			word: &wordOf{seen: map[uint64]bool{}}}
		w.procs = append(w.procs, p)
		p.main = w.newContext(i, b, allRights)
		if w.random.IntN(2) == 0 {
			p.shared = &shared{memory: b[64:], waiting: map[uint64]*receive{}}
			w.share(i)
		}
	}
	for range w.profile.conns {
		w.connectTwo(w.random)
	}
}

// connectTwo makes a connection between two processes that live.
func (w *world) connectTwo(random *rand.Rand) {
	c := &connection{index: w.made}
	a := random.IntN(w.processes)
	b := (a + 1 + random.IntN(w.processes-1)) % w.processes
	if w.procs[a].dead || w.procs[b].dead {
		return
	}
	for side, process := range [2]int{a, b} {
		m, err := newMemory()
		if err != nil {
			w.errorf("%v", err)
			return
		}
		e := &end{connection: c, side: side, process: process, memory: m,
			reads: 1 + random.IntN(4), solicited: random.IntN(3) == 0}
		e.shared = w.procs[process].shared != nil && random.IntN(2) == 0
		e.main = w.newContext(process, m.all, allRights)
		c.ends[side] = e
	}
	w.made++
	w.driver.connect(c)
	w.conns = append(w.conns, c)
	w.note("connection %d of processes %d and %d", c.index, a, b)
	for _, e := range c.ends {
		if random.IntN(3) > 0 {
			w.openEnd(e)
		}
	}
}

func (w *world) openEnd(e *end) {
	if e.opened || w.isDead(e) {
		return
	}
	w.note("%v opens", e)
	e.opened = true
	w.open(e)
}

// endSomehow ends a connection, or takes away something that it needs.
func (w *world) endSomehow(random *rand.Rand, e *end) {
	switch random.IntN(16) {
	case 0, 1, 2:
		w.endBy(e, true)
	case 3:
		w.endBy(e, false)
	case 4, 5:
		w.postAReceive(random, e, true)
	case 6:
		if random.IntN(3) == 0 {
			w.kill(e.process, random.IntN(2) == 0)
		}
	case 7:
		w.postBind(random, e, true)
	case 8:
		w.postBind(random, e, false)
	case 9:
		r := []rights{localWrite, remoteRead, remoteWrite, remoteAtomic}[random.IntN(4)]
		w.note("%v: %d is no right any more", e, r)
		e.revoked |= r
		e.main.rights &^= r
		w.publish(e.process, e.main)
	default: // an error may overtake the answer to what is before it
		for range random.IntN(3) {
			w.postOf(random, e, rc.Read, false)
		}
		w.postRequest(random, e, true)
	}
}

func (w *world) endBy(e *end, graceful bool) {
	if !e.opened || e.forgotten || e.ended {
		return
	}
	w.note("%v disconnects, graceful %v", e, graceful)
	e.graceful = graceful && (!e.disconnected || e.graceful)
	e.disconnected = true
	w.disconnect(e, graceful)
}

// kill ends a process; the others notice it later.
func (w *world) kill(i int, closes bool) {
	w.collectAll()
	w.note("process %d dies, and closes: %v", i, closes)
	w.procs[i].dead, w.procs[i].closed = true, closes
	w.die(i, closes)
}

// noticeOne has a process notice that another is dead.
func (w *world) noticeOne(random *rand.Rand) {
	i, k := random.IntN(w.processes), random.IntN(w.processes)
	w.noticeDead(i, k)
}

func (w *world) noticeDead(i, k int) {
	p := w.procs[i]
	if p.dead || !w.procs[k].dead || p.noticed[k] {
		return
	}
	p.noticed[k] = true
	w.note("process %d notices that %d is dead", i, k)
	w.notice(i, k)
}

// oneStep does one thing. It draws from random alone, so that it does the same when others are left
// out.
func (w *world) oneStep(random *rand.Rand, quiet int) {
	if len(w.conns) == 0 {
		w.connectTwo(random)
		return
	}
	c := w.conns[random.IntN(len(w.conns))]
	e := c.ends[random.IntN(2)]
	if e.process == quiet && random.IntN(10) > 0 || w.isDead(e) {
		e = e.peer()
	}
	if w.isDead(e) || e.process == quiet && random.IntN(10) > 0 {
		w.noticeOne(random)
		return
	}
	what := random.IntN(1000)
	if (c.ends[0].ended || c.ends[1].ended) && random.IntN(4) == 0 {
		w.renew(random, c)
		return
	}
	if w.trouble > 0 && random.IntN(w.trouble) == 0 {
		w.endSomehow(random, e)
		return
	}
	receives := 220
	if w.scarce {
		receives = 130
	}
	switch {
	case w.full && what < 30:
		w.burst(random, e)
	case what < 400:
		w.postRequest(random, e, false)
	case what < 400+receives:
		w.postAReceive(random, e, false)
	case what < 640:
		w.postBind(random, e, false)
	case what < 860:
		for range 1 + random.IntN(3) {
			w.note("process %d has a turn", e.process)
			w.turn(e.process)
		}
		w.checkVisible(e)
		w.checkVisible(e.peer())
	case what < 910:
		w.collect(c)
	case what < 930:
		w.collectAll()
	case what < 960:
		w.note("time passes")
		w.pass(random.IntN(8) == 0)
	case what < 970:
		w.note("process %d sleeps", e.process)
		w.sleep(e.process)
	case what < 985:
		w.openEnd(e)
	case what < 992:
		w.noticeOne(random)
	default:
		w.renew(random, c)
	}
	w.learn(e)
}

// burst posts many requests; then the peer asks for something, and sends something behind that,
// whose turn comes while the answer finds no room.
func (w *world) burst(random *rand.Rand, e *end) {
	for range 30 + random.IntN(70) {
		w.postRequest(random, e, false)
	}
	if p := e.peer(); !w.isDead(p) {
		w.postOf(random, p, rc.FetchAdd, false)
		w.postOf(random, p, rc.Send, false)
		w.turn(e.process)
		if w.complete && w.isWhole() {
			w.completeAll()
		}
	}
}

// isWhole says whether all processes live, and all ends are open.
func (w *world) isWhole() bool {
	for _, c := range w.conns {
		for _, e := range c.ends {
			if w.isDead(e) || !e.opened {
				return false
			}
		}
	}
	return true
}

// learn: a peer learns by which context it may use a window.
func (w *world) learn(e *end) {
	for _, e := range e.ends {
		if e.window != nil && (e.known == nil || e.known.number < e.window.number) &&
			e.peer().unlessUsed(e.window.number) {
			e.known = e.window
		}
	}
}

// renew forgets what is over of a connection, and makes another.
func (w *world) renew(random *rand.Rand, c *connection) {
	w.collect(c)
	for _, e := range c.ends {
		if e.ended && random.IntN(2) == 0 {
			w.forgetEnd(e)
		}
	}
	if w.forgetOver(c) || len(w.conns) < 6 {
		w.connectTwo(random)
	}
}

// forgetEnd forgets an end that is over; its peer may not know that yet.
func (w *world) forgetEnd(e *end) {
	if e.forgotten {
		return
	}
	w.note("%v is forgotten", e)
	e.forgotten = true
	if err := w.driver.forget(e); err != nil {
		w.errorf("%v: %v", e, err)
	}
}

// forgetOver forgets a connection that is over at both ends.
func (w *world) forgetOver(c *connection) bool {
	for _, e := range c.ends {
		if !e.ended && !w.isDead(e) {
			return false
		}
	}
	w.finalCheck(c)
	for _, e := range c.ends {
		if err := w.strict(e); err != nil && !w.isDead(e) {
			w.errorf("%v: %v", e, err)
		}
		w.forgetEnd(e)
	}
	for i, o := range w.conns {
		if o == c {
			w.conns = append(w.conns[:i:i], w.conns[i+1:]...)
		}
	}
	for _, e := range c.ends {
		arena.Unmap(e.all)
	}
	return true
}

// commonCheck: the words that all add to have what was added.
func (w *world) commonCheck(whole bool) {
	for i, p := range w.procs {
		got := binary.LittleEndian.Uint64(p.memory)
		if got > p.word.added || uint64(len(p.word.seen)) > got || whole && got != p.word.added {
			w.errorf("process %d: the common word is %d, of %d; %d were successful", i, got,
				p.word.added, len(p.word.seen))
		}
	}
}
