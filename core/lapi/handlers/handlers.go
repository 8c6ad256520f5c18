// Package handlers holds the calls of the user's functions that are due: send completion handlers,
// which run at the end of an entry into the library, and completion handlers, which the handler
// threads take from a queue.
package handlers

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/progress"
	"lapi/transport"
)

// Callback is what follows when an operation's data may be overwritten (of a get: is there): a
// function of the user's with its parameter, or, for one of a multicast's messages, the multicast.
// The zero Callback is nothing.
type Callback struct {
	Handler, Info transport.Addr
	many          *multicast
}

// multicast is a send completion handler that runs once, when the last of several messages needs
// the origin's data no more.
type multicast struct {
	next *multicast
	left int      // messages that still need the data
	done Callback // the user's
	// the handler's argument: the group, or the first task whose message was given up
	of   int
	code codes.Code
}

// sent is a send completion handler that is due.
type sent struct {
	Callback
	tgt  int // a task, or the group of a multicast
	code codes.Code
}

// Completion is a completion handler to run, and what follows it.
type Completion struct {
	Handler, Info     transport.Addr
	Origin            int
	Epoch             uint32 // the origin's generation when its message came
	TgtCntr, CmplCntr transport.Addr
}

// keptSent bounds the list of send completion handlers while one after the other goes on sending.
const keptSent = 256

// Due is what is due in one context.
type Due struct {
	host    *host.Host
	wake    *progress.Block
	sent    []sent
	calling bool // a send completion handler runs
	free    *multicast

	ring    []Completion // queued completion handlers: a ring that grows
	head, n int
	running []Completion // index = id - 1; Handler 0: free
}

// New is empty. h is looked at for each call.
func New(h *host.Host, wake *progress.Block) Due { return Due{host: h, wake: wake} }

// Sent notes that an operation's data may be overwritten, or why it has failed. Its handler runs at
// the end of the current entry into the library, when everything is in order: it may begin
// operations of its own.
func (d *Due) Sent(done Callback, p *peer.Peer, code codes.Code) {
	if m := done.many; m != nil {
		d.partSent(m, p, code)
	} else if done.Handler != 0 {
		d.sent = append(d.sent, sent{done, p.ID, code})
	}
}

// Many makes one callback for n messages to the tasks of a group.
func (d *Due) Many(done Callback, group uint32, n int) Callback {
	if done.Handler == 0 {
		return Callback{}
	}
	m := d.free
	if m == nil {
		m = new(multicast)
	} else {
		d.free = m.next
	}
	*m = multicast{left: n, done: done, of: int(group), code: codes.Success}
	return Callback{many: m}
}

// partSent: one of m's messages, that to p, needs the data no more.
func (d *Due) partSent(m *multicast, p *peer.Peer, code codes.Code) {
	if code != codes.Success && m.code == codes.Success {
		m.of, m.code = p.ID, code
	}
	if m.left--; m.left > 0 {
		return
	}
	d.sent = append(d.sent, sent{m.done, m.of, m.code})
	m.next = d.free
	d.free = m
}

// RunSent runs the send completion handlers that are due, and those that become due meanwhile, one
// after the other.
func (d *Due) RunSent() {
	if len(d.sent) == 0 || d.calling {
		return
	}
	d.calling = true
	for i := 0; i < len(d.sent); i++ {
		s := d.sent[i]
		(*d.host).SendHandler(s.Handler, s.Info, int32(s.tgt), s.code)
		if i == keptSent-1 {
			d.sent = append(d.sent[:0], d.sent[i+1:]...)
			i = -1
		}
	}
	d.sent = d.sent[:0]
	d.calling = false
}

// Queue hands a completion handler to the handler threads.
func (d *Due) Queue(c Completion) {
	if d.n == len(d.ring) {
		grown := make([]Completion, max(64, 2*len(d.ring)))
		for i := range d.n {
			grown[i] = d.ring[(d.head+i)%len(d.ring)]
		}
		d.ring, d.head = grown, 0
	}
	d.ring[(d.head+d.n)%len(d.ring)] = c
	d.n++
	d.wake.Completion()
}

// Queued is how many completion handlers no thread has taken.
func (d *Due) Queued() int { return d.n }

// Take takes the oldest queued completion handler; its thread runs it without the lock and then
// ends it.
func (d *Due) Take() (handler, info transport.Addr, id uint64, ok bool) {
	if d.n == 0 {
		return 0, 0, 0, false
	}
	c := d.ring[d.head]
	d.head = (d.head + 1) % len(d.ring)
	d.n--
	for i := range d.running {
		if d.running[i].Handler == 0 {
			d.running[i] = c
			return c.Handler, c.Info, uint64(i + 1), true
		}
	}
	d.running = append(d.running, c)
	return c.Handler, c.Info, uint64(len(d.running)), true
}

// End follows a completion handler's return. False: there is none of that id.
func (d *Due) End(id uint64) (c Completion, ok bool) {
	if id == 0 || id > uint64(len(d.running)) || d.running[id-1].Handler == 0 {
		return c, false
	}
	c = d.running[id-1]
	d.running[id-1] = Completion{}
	return c, true
}
