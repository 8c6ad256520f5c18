package counter

import (
	"math/bits"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// The values of dest_status in lapi.h: the state of one task's message that a counter waits for.
const (
	StatusInitial        = 0
	StatusReceived       = 1
	StatusPurged         = 2
	StatusPurgedReceived = 3
	StatusInvalid        = 4
)

// MaxList bounds num_dest: far more than there are tasks, as a task may be listed for several
// messages.
const MaxList = 1 << 20

// list is the list that LAPI_Setcntr_wstatus has given a counter.
type list struct {
	tasks  []uint32       // a copy of dest_list
	state  []int32        // a copy of dest_status, which is the user's and only written
	status transport.Addr // dest_status
	member transport.Addr // where the counter itself keeps that pointer
	news   bool           // a task of it is purged, and no thread was notified
}

// believed says whether the counter's memory still holds the list: a program may have freed it, and
// use the place for another counter.
func (l *list) believed() bool {
	var b [8]byte
	if memory.CopyOut(b[:bits.UintSize/8], l.member) != nil {
		return false
	}
	return transport.Addr(wire.Order.Uint64(b[:])) == l.status
}

// store writes entry i of dest_status.
func (l *list) store(i int, state int32) error {
	l.state[i] = state
	var b [4]byte
	wire.Order.PutUint32(b[:], uint32(state))
	return memory.CopyIn(l.status+transport.Addr(4*i), b[:])
}

// List is LAPI_Setcntr_wstatus: counter cntr waits for a message of each of the n tasks at dest,
// the status of each message is kept in the n ints at status, and the counter holds that address at
// member. Entries of tasks that are purged become LAPI_MSG_INVALID, all others LAPI_MSG_INITIAL.
// dest 0: the counter has no list. The counter's value is the caller's business.
//
// ErrTgt: n is negative or too large, or an entry names no task. ErrRetPtrNull: the lists cannot be
// accessed.
func (c *Counters) List(cntr transport.Addr, n int32, dest, status, member transport.Addr,
	purged func(task uint32) bool) codes.Code {
	if n < 0 || n > MaxList {
		return codes.ErrTgt
	}
	if dest == 0 || n == 0 {
		delete(c.lists, cntr)
		return codes.Success
	}
	raw := make([]byte, 4*n)
	if err := memory.CopyOut(raw, dest); err != nil {
		c.cfg.Fault(err, codes.ErrRetPtrNull, codes.IntErr, c.cfg.Me)
		return codes.ErrRetPtrNull
	}
	l := &list{tasks: make([]uint32, n), state: make([]int32, n), status: status, member: member}
	for i := range l.tasks {
		l.tasks[i] = wire.Order.Uint32(raw[4*i:])
		if l.tasks[i] >= uint32(c.cfg.Tasks) {
			return codes.ErrTgt
		}
	}
	for i, id := range l.tasks {
		state := int32(StatusInitial)
		if purged(id) {
			state, l.news = StatusInvalid, true
		}
		if err := l.store(i, state); err != nil {
			c.cfg.Fault(err, codes.ErrRetPtrNull, codes.IntErr, c.cfg.Me)
			return codes.ErrRetPtrNull
		}
	}
	if c.lists == nil {
		c.lists = make(map[transport.Addr]*list)
	}
	c.lists[cntr] = l
	return codes.Success
}

// Unlist takes a counter's list off it: it is set anew, and no loss so far concerns it.
func (c *Counters) Unlist(cntr transport.Addr) {
	delete(c.lists, cntr)
	c.losses.setReported(cntr, c.losses.count)
}

// Listed says whether any counter has a list: then each count must pass this package.
func (c *Counters) Listed() bool { return len(c.lists) > 0 }

// noteReceived: a message between this task and peer is about to change the counter at a.
func (c *Counters) noteReceived(a transport.Addr, peer int) {
	l := c.lists[a]
	if l == nil {
		return
	}
	if !l.believed() {
		delete(c.lists, a)
		return
	}
	for i, id := range l.tasks {
		if int(id) == peer && l.state[i] == StatusInitial {
			if err := l.store(i, StatusReceived); err != nil {
				c.cfg.Fault(err, codes.ErrRetPtrNull, codes.IntErr, c.cfg.Me)
			}
			return
		}
	}
}

// NotePurged marks a task that is purged, or lost, in every list.
func (c *Counters) NotePurged(purged int) {
	for a, l := range c.lists {
		if !l.believed() {
			delete(c.lists, a)
			continue
		}
		for i, id := range l.tasks {
			if int(id) != purged || l.state[i] != StatusInitial && l.state[i] != StatusReceived {
				continue
			}
			l.news = true
			state := int32(StatusPurged)
			if l.state[i] == StatusReceived {
				state = StatusPurgedReceived
			}
			if err := l.store(i, state); err != nil {
				c.cfg.Fault(err, codes.ErrRetPtrNull, codes.IntErr, c.cfg.Me)
				break
			}
		}
	}
}

// Answers of Purged, as in cshim/context/golapi.h.
const (
	Quiet    = 0
	Purged   = 1
	Unlisted = 2
)

// lossesMax bounds the counters for which it is noted which losses were reported. Beyond it one may
// be reported once more.
const lossesMax = 4096

// losses are those of tasks that were under way with something, which concern every counter without
// a list: which of its operations were lost is not known.
type losses struct {
	count    uint64
	reported map[transport.Addr]uint64 // by counter: how many of them; all when it is set anew
	others   uint64                    // the same for counters that are not in reported
	pending  bool                      // waiting threads have yet to look
}

// NoteLoss: a task is lost with operations of this task under way.
func (c *Counters) NoteLoss() {
	c.losses.count++
	c.losses.pending = true
}

// LossPending says whether waiting threads are to look whether a loss concerns them; TakeLoss, also,
// that they do.
func (c *Counters) LossPending() bool { return c.losses.pending }

// TakeLoss is LossPending, once.
func (c *Counters) TakeLoss() bool {
	pending := c.losses.pending
	c.losses.pending = false
	return pending
}

// reportedTo is how many losses were reported to a counter.
func (l *losses) reportedTo(cntr transport.Addr) uint64 {
	if n, ok := l.reported[cntr]; ok {
		return n
	}
	return l.others
}

// setReported: only losses beyond the first n concern a counter.
func (l *losses) setReported(cntr transport.Addr, n uint64) {
	switch {
	case l.count == 0:
		return
	case len(l.reported) >= lossesMax:
		l.reported, l.others = nil, l.count-1
	}
	if l.reported == nil {
		l.reported = make(map[transport.Addr]uint64)
	}
	l.reported[cntr] = n
}

// Purged says what a purge, or the loss of a task, means to a thread that waits for the counter.
// Each is reported once, so that the thread can go on waiting for the other tasks.
func (c *Counters) Purged(cntr transport.Addr) int {
	l := c.lists[cntr]
	switch {
	case l == nil && c.losses.reportedTo(cntr) < c.losses.count:
		c.losses.setReported(cntr, c.losses.reportedTo(cntr)+1)
		return Purged
	case l == nil:
		return Unlisted
	case l.news:
		l.news = false
		return Purged
	}
	return Quiet
}
