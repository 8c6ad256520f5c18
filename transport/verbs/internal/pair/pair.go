// Package pair is the handshake by which two queue pairs are joined, as a state machine. It has no
// clock and sends nothing: calls take now, in nanoseconds, and Hellos are returned. The link makes
// and ends queue pairs.
//
//	pair.go    a queue pair, its states, rounds and Hellos
//	states.go  the table of states
//	timer.go   when Hello goes again, when how long a lane is left
//	life.go    connections of two tasks, one after the other
//
// A Hello carries the generation of its sender's queue pair, which counts the queue pairs that the
// sender has made for the receiver: Round. A Hello is a ghost if its generation is older than the
// latest, or is that of a queue pair that was joined and has ended. A Hello of a later generation
// shows that the peer's queue pair has failed. Then this task's queue pair is dropped, too, if it
// was open; else it is reset and joined to the new one, since the peer may know it already.
package pair

import "lapi/transport/verbs/internal/wire"

const (
	// triesMax is how many Hellos go unanswered before another way is tried; after
	// triesToYield the peer's choice is taken for better than this task's.
	triesMax     = 5
	triesToYield = 3
)

// Pair is a queue pair of this task for a peer, made or to be made.
type Pair struct {
	state    State
	lane     int // 0: it carries packets
	qpn, psn uint32
	round    uint64 // the generation: counts the queue pairs made
	peer     uint32 // the peer's queue pair that this is joined to, or was
	latest   uint64 // its generation
	used     uint64 // the peer's latest generation that has ended here
	user     uint32 // this task's queue pair of that generation
	failures int    // queue pairs that failed since something was sent or received
	tries    int    // to say Hello, since there is another queue pair
	timing
}

// Init makes p ready: the queue pair of packets, or of a lane, from 1.
func (p *Pair) Init(lane int, t *Timers, owner Owner) {
	p.lane, p.timers, p.owner = lane, t, owner
}

// Index is which queue pair for the peer this is; 0: it carries packets.
func (p *Pair) Index() int { return p.lane }

func (p *Pair) QPN() uint32 { return p.qpn } // the queue pair's number
func (p *Pair) PSN() uint32 { return p.psn } // the number of the first packet that it sends

// Round is the queue pair's generation: it counts the queue pairs made.
func (p *Pair) Round() uint64 { return p.round }

// Met says whether a queue pair of the peer's was joined, or is.
func (p *Pair) Met() bool { return p.latest > 0 }

// Make: there is a queue pair.
func (p *Pair) Make(qpn, psn uint32) {
	if p.step(made) {
		p.qpn, p.psn, p.tries = qpn, psn, 0
		p.round++
	}
}

// Drop: there is none any more.
func (p *Pair) Drop() {
	p.leave()
	p.step(dropped)
	p.qpn = 0
}

// Fail: the queue pair does not work; it is to be replaced.
func (p *Pair) Fail() {
	p.leave()
	p.step(failed)
}

// leave notes that the connection to the peer's queue pair has ended here.
func (p *Pair) leave() {
	if p.state == Joined || p.state == Open {
		p.used, p.user = p.latest, p.qpn
	}
}

// Part: the queue pair was reset, as a new generation, before anything has gone over it.
func (p *Pair) Part() {
	p.leave()
	if p.step(parted) {
		p.round++
	}
}

// Aim: p is to be joined to the queue pair of h.
func (p *Pair) Aim(h *wire.Hello) { p.peer, p.latest = h.QPN, h.Round }

// Join: it was.
func (p *Pair) Join() { p.step(joined) }

// Open: the peer can receive. False: that was known, or cannot be.
func (p *Pair) Open() bool {
	if !p.step(opened) {
		return false
	}
	p.Stop()
	return true
}

// Failures is how many queue pairs failed, one after the other.
func (p *Pair) Failures() int { return p.failures }

// Again counts a queue pair that has failed.
func (p *Pair) Again() { p.failures++ }

// Succeed: something was sent or received.
func (p *Pair) Succeed() { p.failures = 0 }

// Past says whether h is of a queue pair that the peer, or this task, has parted from. A queue pair
// of this task's may have ended before the peer knew of it; then the peer's has not, and is joined
// to the next.
func (p *Pair) Past(h *wire.Hello) bool {
	next := h.Echo != 0 && h.Echo == p.qpn && p.qpn != p.user
	return h.Round < p.used || h.Round == p.used && !next || h.Round < p.latest || h.Round == p.latest && h.QPN != p.peer
}

// Parts says whether h shows that the peer's queue pair, which this is joined to, has ended.
func (p *Pair) Parts(h *wire.Hello) bool {
	if h.Round <= p.latest || p.state < Joined {
		return false
	}
	if h.QPN == p.peer && p.state == Joined {
		p.latest = h.Round // it has parted from an earlier queue pair
		return false
	}
	return true
}

// Joins says whether it can be joined to the queue pair that h is of, which may be joined to
// another.
func (p *Pair) Joins(h *wire.Hello) bool {
	return p.state == Said && (h.Echo == 0 || h.Echo == p.qpn)
}

// Answers says whether h, by which it was joined or not, is to be answered. An answer that has
// changed nothing is not: Hellos would go to and fro for ever.
func (p *Pair) Answers(h *wire.Hello, joined bool) bool {
	return joined || !h.Answer && (h.Echo != p.qpn || !h.Open)
}

// Yields says whether the peer may choose another way now: nothing is joined, and where this task
// is to choose, its choice seems to lead nowhere.
func (p *Pair) Yields(chooses bool) bool {
	return p.state < Joined && (p.state == None || !chooses || p.tries >= triesToYield)
}

// Exhausted says whether another way is to be tried: triesMax Hellos were not answered.
func (p *Pair) Exhausted() bool { return p.tries >= triesMax }

// Hello is what to say now, as far as it is about the queue pair.
func (p *Pair) Hello(answer bool) wire.Hello {
	h := wire.Hello{Lane: uint8(p.lane), QPN: p.qpn, PSN: p.psn, Open: p.state == Open,
		Answer: answer, Round: p.round}
	if p.state == Joined || p.state == Open {
		h.Echo = p.peer
	}
	return h
}
