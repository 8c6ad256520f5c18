package model

import (
	"math/rand/v2"

	"lapi/core/dat/rc"
)

// driver is an engine between processes, numbered from 0. All of it is called by one goroutine.
type driver interface {
	// connect makes both ends of a connection, which receives can be posted to; open lets one of
	// them send.
	connect(c *connection)
	open(e *end)
	// post posts a request, and postReceive a receive; false: the connection is over, or is to be.
	post(e *end, r *request) bool
	postReceive(e *end, r *receive) bool
	// share makes a process's shared queue, postShared posts a receive to it, unshared is how
	// many are posted that no message has taken.
	share(process int)
	postShared(process int, r *receive) bool
	unshared(process int) int
	// pending is how many requests are not complete, and receives of the end's own.
	pending(e *end) (requests, receives int)
	disconnect(e *end, graceful bool)
	// turn gives a process a turn, pass lets time pass, sleep has the process wait for what comes.
	turn(process int)
	pass(long bool)
	sleep(process int)
	// take takes events, and says whether a waiting thread would have seen the receives.
	take(e *end) (requests, receives []event, heard loudness)
	// over says whether the connection has ended here, and how.
	over(e *end) (rc.Ending, bool)
	// die kills a process, which may close its links first. notice has another notice it.
	die(process int, closes bool)
	notice(process, dead int)
	// publish says what a context of a process names from now on.
	publish(process int, c *context)
	// forget is the end of an end that is over; close that of everything. They return what is left
	// that should not be.
	forget(e *end) error
	close() error
}

// core is what an engine asks its owner for.
type core interface {
	// bound: it is a bind's turn; false: it cannot take effect. steady: all events are to be taken.
	bound(e *end, number uint64, steady bool) bool
	// invalidated: the peer takes a context away; false: it may not.
	invalidated(e *end, context uint32) bool
	errorf(format string, a ...any)
	// failed says whether the run has failed, and what is left may be so for that reason.
	failed() bool
}

// Engines differ in these, beside their speed.
type capabilities struct {
	// taken is how many receives of a shared queue a connection may have taken that are not
	// complete: over links requests arrive in any order, within a node one after the other.
	taken int
}

// loudness is whether a thread that waits for events is woken by some.
type loudness uint8

const (
	unknown loudness = iota // a poll has taken some
	silent
	loud
)

// rights are what a context allows.
type rights uint8

const (
	localWrite rights = 1 << iota
	remoteRead
	remoteWrite
	remoteAtomic
	allRights = localWrite | remoteRead | remoteWrite | remoteAtomic
)

// context names memory of a process.
type context struct {
	number uint32
	at     []byte // nil: nothing any more
	rights rights
	window bool // it is an RMR's
	// the connections are of another protection zone
	foreign bool
}

// piece is memory of a process's by a context.
type piece struct {
	at      []byte
	context uint32
}

// request is a posted request.
type request struct {
	number                                  uint64 // from 0 on
	op                                      rc.Op
	immediate, invalidate, solicited, fence bool
	suppress, unsignalled                   bool
	window                                  bool // the local memory is an RMR's
	ofWindow                                bool // the remote memory is
	common                                  bool // it adds to a word that others add to
	local                                   []piece
	remote                                  piece  // of a read, write, or atomic operation
	context                                 uint32 // that a send invalidates
	data                                    uint32
	operand, compare                        uint64
	n                                       uint32
	failing                                 cause    // it cannot succeed
	place                                   int      // that it writes or reads; -1: none
	want                                    uint64   // that an atomic operation finds
	expect                                  []byte   // that a read finds; nil: that is not known
	bind                                    *context // what a bind makes of the window
	late                                    bool     // the peer's end was over when it was posted
	under                                   []byte   // what was there where a write goes
}

// takes says whether the request takes a receive.
func (r *request) takes() bool { return r.op == rc.Send || r.immediate }

// receive is a posted receive.
type receive struct {
	number uint64
	local  []piece
	n      uint32
}

// event is a completion.
type event struct {
	number    uint64
	status    rc.Status
	bind      bool
	n         uint32 // of a success
	immediate bool
	data      uint32
	invalid   bool
	context   uint32
}

// end is one end of a connection.
type end struct {
	*connection
	side    int
	process int
	shared  bool // its receives are the process's
	reads   int  // and atomic operations that may be under way
	// receives wake a waiting thread only if they are solicited
	solicited bool
	impl      any // the driver's

	memory
	requester
	responder
	life
}

func (e *end) peer() *end { return e.ends[1-e.side] }

// connection is a connection.
type connection struct {
	index int
	ends  [2]*end
}

// settings are what a seed decides for a driver.
type settings struct {
	seed      uint64
	random    *rand.Rand
	processes int
	core      core
}
