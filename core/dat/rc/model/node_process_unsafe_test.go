package model

import (
	"math/rand/v2"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/core/dat/rc"
	"lapi/cshim/ctest/ends"
	taken "lapi/cshim/ctest/evd"
	"lapi/cshim/dat/evd"
	engine "lapi/cshim/dat/rc"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
	user "lapi/transport/memory"
	"lapi/transport/shm"
)

// publishLinks gives C the links by which it receives.
func (p *nodeProcess) publishLinks() {
	lane := ends.Enter(p.index)
	lane.NumLinks = 0
	for i := range p.procs {
		if l := p.links[i]; l != nil && !p.left && !p.closed[i] {
			lane.Links[lane.NumLinks] = addressOf(l.Node())
			lane.Bells[lane.NumLinks] = int32(l.Descriptors()[0])
			lane.NumLinks++
		}
	}
}

// to is the link to another process, and which endpoint that is there.
func (p *nodeProcess) to(other int) (*shm.Link, transport.Endpoint) {
	ep := transport.Endpoint(0)
	if p.index < other {
		ep = 1
	}
	return p.links[other], ep
}

// isBusy says whether a link has something for core.
func (p *nodeProcess) isBusy() bool {
	for i, l := range p.links {
		if !p.closed[i] && l.Busy() {
			return true
		}
	}
	return false
}

// wake ends a sleep. A process that is waited in finds nothing unless a peer has rung.
func (p *nodeProcess) wake(lane *layout.DatLane) {
	waits := p.table.Waits != 0
	rung := false
	for i, l := range p.links {
		fds := []unix.PollFd{{Fd: int32(l.Descriptors()[0]), Events: unix.POLLIN}}
		n, _ := unix.Poll(fds, 0)
		rung = rung || n > 0 || p.closed[i]
	}
	p.asleep = false
	ends.Disarm()
	lane.Awake = 0
	atomic.StoreUint32(&p.table.Waits, 0)
	if flags := ends.Turn(); flags&ends.LaneMade != 0 && waits && !rung {
		p.core.errorf("process %d has something to do, and was not woken", p.index)
	}
}

func (p *nodeProcess) some(random *rand.Rand) *nodeEnd {
	if len(p.list) == 0 {
		return nil
	}
	return p.list[random.IntN(len(p.list))]
}

// poll looks as a thread that polls one of the end's EVDs.
func (o *nodeEnd) poll(recv bool) {
	q := o.request
	if recv {
		q = o.recv
	}
	if q.Length > 0 { // it would have been taken first
		ends.Turn()
		return
	}
	var c ends.Completion
	o.polling = true
	taken := ends.Poll(addressOf(q), &c)
	if o.polling = false; !taken {
		return
	}
	if recv {
		o.polled = append(o.polled, eventOf(&c))
	} else {
		o.polledRequests = append(o.polledRequests, eventOf(&c))
	}
}

// coreTurn is what core does in a turn: what C leaves to it, and ends.
func (p *nodeProcess) coreTurn(lane *layout.DatLane) {
	lane.Rings = 0
	for i := range p.procs {
		if l := p.links[i]; l != nil && !p.closed[i] {
			l.Progress(64)
		}
	}
	p.engine.Progress()
	p.collectEnds()
	p.freeOver()
}

// collectEnds takes over the connections that have ended.
func (p *nodeProcess) collectEnds() {
	lane := ends.Enter(p.index)
	for lane.Ended != 0 {
		lane.Ended = 0
		for _, o := range p.list {
			if o.c != nil && o.c.On == 0 && o.c.Collected == 0 {
				o.c.Collected = 1
				o.revoke()
				engine.Flush(o.c)
				o.over, o.how = true, rc.Ending(o.c.How)
				o.posts.State = layout.DatEpOver
			}
		}
	}
}

func (o *nodeEnd) revoke() {
	index, tag := o.conn.Name()
	if w := &o.table.Ends[index]; w.Tag == tag {
		atomic.StoreUint32(&w.Open, 0)
	}
}

// freeOver frees connections that the harness has forgotten, when their last message is sent.
func (p *nodeProcess) freeOver() {
	kept := p.list[:0]
	for _, o := range p.list {
		if o.freed && (o.c == nil || o.c.Tell&layout.RcTellEnd == 0 || p.closed[o.peer().process]) {
			o.free()
		} else {
			kept = append(kept, o)
		}
	}
	p.list = kept
}

func (o *nodeEnd) free() {
	index, _ := o.conn.Name()
	o.ends[index] = 0
	if o.c != nil {
		engine.Close(o.c)
		o.conn.Forget()
		o.c = nil
	} else {
		o.conn.Discard()
	}
	evd.Close(addressOf(o.recv))
	evd.Close(addressOf(o.request))
	delete(o.eps, addressOf(o.ep))
	*o.ep, *o.recv, *o.request = layout.DatSlot{}, layout.DatSlot{}, layout.DatSlot{}
	arena.Unmap(unsafe.Slice((*byte)(unsafe.Pointer(o.posts)), unsafe.Sizeof(*o.posts)))
}

// sleep arms a process, and looks a last time: peers send then what they would else only store.
func (n *node) sleep(process int) {
	p := n.procs[process]
	if p.asleep {
		return
	}
	lane := ends.Enter(process)
	atomic.StoreUint32(&p.table.Waits, n.random.Uint32N(2))
	p.asleep = true
	for i, l := range p.links {
		if !p.closed[i] && l.Arm() {
			p.asleep = false
		}
	}
	if ends.Turn()&(ends.LaneMade|ends.LaneCore) != 0 || !p.asleep {
		ends.Disarm()
		lane.Awake = 0
		p.asleep = false
		atomic.StoreUint32(&p.table.Waits, 0)
	}
	p.collectEnds()
}

func eventOf(c *ends.Completion) event {
	v := event{number: c.Cookie(), status: rc.Status(c.Status()), n: c.Length(),
		bind: c.Number() == ends.EventBind}
	v.immediate = c.Number() == ends.EventExtended && c.Operation() == ends.ReceivedImmediate
	if v.immediate {
		v.data = c.Data()
	}
	if v.invalid = c.Operation() == ends.ReceivedInvalid && !v.bind; v.invalid {
		v.context = c.Context()
	}
	return v
}

func takeOne(q *layout.DatSlot) event {
	var c ends.Completion
	taken.Take(addressOf(q), unsafe.Pointer(&c))
	return eventOf(&c)
}

func (n *node) die(process int, closes bool) {
	p := n.procs[process]
	p.dead = true
	lane := ends.Enter(process)
	for _, o := range p.list {
		if o.c != nil && o.c.Collected == 0 {
			engine.Cut(o.c, layout.RcByUser)
			o.c.Collected = 1
			engine.Flush(o.c)
		}
		o.freed = true
	}
	lane.NumLinks = 0
	p.left = closes
	for _, l := range p.links {
		if closes {
			l.Close()
		}
	}
}

// fails: the link to another process has found that it is gone.
func (p *nodeProcess) fails(other int) {
	if p.closed[other] {
		return
	}
	p.closed[other] = true
	link, ep := p.to(other)
	p.engine.PeerFailed(link, ep)
	p.publishLinks()
	p.collectEnds()
}

func (n *node) notice(process, dead int) {
	p := n.procs[process]
	link, ep := p.to(dead)
	ends.Enter(process)
	if p.closed[dead] {
		p.engine.PeerFailed(link, ep) // what was opened since
	} else {
		p.coreTurn(ends.Enter(process))
		link.Disconnect(ep, transport.ErrUnreachable)
		p.fails(dead)
	}
	p.collectEnds()
}

func (n *node) publish(process int, c *context) {
	name := &n.procs[process].table.Names[c.number&layout.DatContextIndex]
	if c.at == nil {
		atomic.StoreUint32(&name.Context, 0)
		return
	}
	name.Addr, name.N, name.Pz = uint64(user.AddrOf(c.at)), uint64(len(c.at)), nodeZone
	name.Privileges, name.Window = ends.LocalRead, 0
	for right, privilege := range map[rights]uint16{localWrite: ends.LocalWrite,
		remoteRead: ends.RemoteRead, remoteWrite: ends.RemoteWrite,
		remoteAtomic: ends.RemoteAtomic} {
		if c.rights&right != 0 {
			name.Privileges |= privilege
		}
	}
	if c.window {
		name.Window = 1
	}
	if c.foreign {
		name.Pz++
	}
	atomic.StoreUint32(&name.Context, c.number)
}
