package lapi

import (
	"math/bits"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// The values of dest_status in lapi.h: what became of the message of one task that a counter waits for.
const (
	msgInitial    = 0
	msgReceived   = 1
	msgPurged     = 2
	msgPurgedRcvd = 3
	msgInvalid    = 4
)

// maxDestList bounds num_dest: far more than there are tasks, as a task may be listed for several messages.
const maxDestList = 1 << 20

// destList is what LAPI_Setcntr_wstatus has hung on a counter.
type destList struct {
	tasks  []uint32       // a copy of dest_list
	state  []int32        // a copy of dest_status, which is the user's and only written
	status transport.Addr // dest_status
	member transport.Addr // where the counter itself keeps that pointer
	news   bool           // a task of it was purged, and no thread has been told
}

// believed says whether the counter's memory still holds the list: a program may have freed it, and use the place for another counter.
func (l *destList) believed() bool {
	var b [8]byte
	if memory.CopyOut(b[:bits.UintSize/8], l.member) != nil {
		return false
	}
	return transport.Addr(wire.Order.Uint64(b[:])) == l.status
}

// store writes entry i of dest_status.
func (l *destList) store(i int, state int32) error {
	l.state[i] = state
	var b [4]byte
	wire.Order.PutUint32(b[:], uint32(state))
	return memory.CopyIn(l.status+transport.Addr(4*i), b[:])
}

// ListCounter is LAPI_Setcntr_wstatus: counter cntr waits for a message of each of the n tasks at dest, what becomes of it is kept in the n
// ints at status, and the counter holds that address at member. Entries of tasks that are purged become LAPI_MSG_INVALID, all others
// LAPI_MSG_INITIAL. dest 0: the counter has no list. The counter's value is the caller's business.
//
// ErrTgt: n is negative or too large, or an entry names no task. ErrRetPtrNull: the lists cannot be accessed.
func (c *Context) ListCounter(cntr transport.Addr, n int32, dest, status, member transport.Addr) codes.Code {
	memory.Guard()
	if n < 0 || n > maxDestList {
		return codes.ErrTgt
	}
	if dest == 0 || n == 0 {
		delete(c.lists, cntr)
		c.tellLane()
		return codes.Success
	}
	raw := make([]byte, 4*n)
	if err := memory.CopyOut(raw, dest); err != nil {
		c.fault(err, codes.ErrRetPtrNull, IntErr, c.me)
		return codes.ErrRetPtrNull
	}
	l := &destList{tasks: make([]uint32, n), state: make([]int32, n), status: status, member: member}
	for i := range l.tasks {
		l.tasks[i] = wire.Order.Uint32(raw[4*i:])
		if l.tasks[i] >= uint32(len(c.tasks)) {
			return codes.ErrTgt
		}
	}
	for i, id := range l.tasks {
		state := int32(msgInitial)
		if c.tasks[id].purged {
			state = msgInvalid
		}
		if err := l.store(i, state); err != nil {
			c.fault(err, codes.ErrRetPtrNull, IntErr, c.me)
			return codes.ErrRetPtrNull
		}
	}
	if c.lists == nil {
		c.lists = make(map[transport.Addr]*destList)
	}
	c.lists[cntr] = l
	c.tellLane() // from here on no message may pass this package by
	return codes.Success
}

// UnlistCounter takes a counter's list off it.
func (c *Context) UnlistCounter(cntr transport.Addr) {
	memory.Guard()
	delete(c.lists, cntr)
	c.tellLane()
}

// noteReceived: a message between this task and peer is about to change the counter at a.
func (c *Context) noteReceived(a transport.Addr, peer int) {
	l := c.lists[a]
	if l == nil {
		return
	}
	if !l.believed() {
		delete(c.lists, a)
		return
	}
	for i, id := range l.tasks {
		if int(id) == peer && l.state[i] == msgInitial {
			if err := l.store(i, msgReceived); err != nil {
				c.fault(err, codes.ErrRetPtrNull, IntErr, c.me)
			}
			return
		}
	}
}

// notePurged marks a purged task in every list.
func (c *Context) notePurged(purged int) {
	for a, l := range c.lists {
		if !l.believed() {
			delete(c.lists, a)
			continue
		}
		for i, id := range l.tasks {
			if int(id) != purged || l.state[i] != msgInitial && l.state[i] != msgReceived {
				continue
			}
			l.news = true
			state := int32(msgPurged)
			if l.state[i] == msgReceived {
				state = msgPurgedRcvd
			}
			if err := l.store(i, state); err != nil {
				c.fault(err, codes.ErrRetPtrNull, IntErr, c.me)
				break
			}
		}
	}
}

// Answers of CounterPurged, as in cshim/lapi/golapi.h.
const (
	CounterQuiet    = 0
	CounterPurged   = 1
	CounterUnlisted = 2
)

// CounterPurged says what a purge means to a thread that waits for the counter. News of a list is told once, so that the thread
// can go on waiting for the other tasks.
func (c *Context) CounterPurged(cntr transport.Addr) int {
	memory.Guard()
	l := c.lists[cntr]
	switch {
	case l == nil:
		return CounterUnlisted
	case l.news:
		l.news = false
		return CounterPurged
	}
	return CounterQuiet
}
