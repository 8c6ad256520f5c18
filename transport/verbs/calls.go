package verbs

import (
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/internal/registration"
)

// call is a put or get of this task under way.
//
//	                   key refused, memory not registered
//	asking ──Want──> waiting ───────────────────────────────> copying ──last part in place──> over
//	                   │ Grant                                   ▲
//	                   ▼                refused by an adapter    │
//	                 moving ──────────────────────────────> giving back
//	                   │ all moved                               ▲
//	                   ▼                                         │
//	                finishing ──Finish──> finished ──Finished── over
//
// A short one begins with copying. In asking and finishing a packet waits for room.
type call struct {
	op    *transport.Op
	peer  *peer
	token uint64 // the place in Link.calls, and above 32 bits how often it was used
	issue uint64
	get   bool
	state callState
	sent  uint64 // bytes that were sent, asked for, or posted
	done  uint64 // of a get: bytes that came; of RDMA: bytes that were moved

	tells bool // the target's owner gets op.Notice, and hears of its bad addresses
	over  bool // of copies: the last part was sent

	// Of RDMA.
	from, upTo uint64                        // what the keys are for
	memory     [PortsMax]*registration.Entry // op's memory, registered with the ports in use
	bad        uint8                         // a bit for each port that it cannot be registered with
	grant      uint64                        // the peer's name of the keys
	keys       keys
	pieces     [piecesMax]piece
	length     uint64 // of a piece
	parts      int    // requests under way
	retry      bool   // copy when the keys have been given back
}

type callState uint8

const (
	copying callState = iota
	asking
	waiting
	moving
	finishing
	finished
)

// Put implements transport.Link.
func (l *Link) Put(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return l.start(ep, op, false)
}

// Get implements transport.Link.
func (l *Link) Get(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	return l.start(ep, op, true)
}

func (l *Link) start(ep transport.Endpoint, op *transport.Op, get bool) (transport.Status, error) {
	p, err := l.usable(ep)
	switch {
	case err != nil:
		return transport.Done, err
	case op.N > oneSidedMax:
		return transport.Done, transport.ErrBadParam
	case op.N == 0:
		return transport.Done, nil
	case len(p.calls) == callsMax:
		return transport.Done, transport.ErrBusy
	}
	return l.launch(l.newCall(p, op, get), op.N >= l.cfg.BulkMin)
}

// launch begins c, by RDMA if that is wanted and its memory can be registered.
func (l *Link) launch(c *call, rdma bool) (transport.Status, error) {
	p := c.peer
	if c.upTo = min(c.op.N, l.keyMax); rdma && l.acquire(c, p.port) {
		c.state, c.length = asking, l.pieceLength(c)
	}
	if err := l.advance(c); err != nil && err != transport.ErrBusy {
		p.removeCall(c)
		l.free(c)
		return transport.Done, err
	}
	return transport.Queued, nil
}

func (l *Link) newCall(p *peer, op *transport.Op, get bool) *call {
	var c *call
	if last := len(l.freeCalls) - 1; last >= 0 {
		c = l.freeCalls[last]
		l.freeCalls = l.freeCalls[:last]
	} else {
		c = &call{token: uint64(len(l.calls))}
		l.calls = append(l.calls, c)
	}
	*c = call{op: op, peer: p, token: c.token + 1<<32, issue: p.issued, get: get}
	p.issued++
	p.calls = append(p.calls, c)
	return c
}

// acquire sees to it that the local memory that c's keys are for is registered with pt.
func (l *Link) acquire(c *call, pt *port) bool {
	if pt.isSpare() {
		return false
	}
	bit := uint8(1) << pt.index
	if c.memory[pt.index] == nil && c.bad&bit == 0 && pt.state != PortGone {
		e, err := pt.registry.local(c.op.Local+transport.Addr(c.from), c.upTo-c.from)
		if c.memory[pt.index] = e; err != nil {
			c.bad |= bit
		}
	}
	return c.memory[pt.index] != nil
}

// releaseMemory ends that with all ports.
func (l *Link) releaseMemory(c *call) {
	for i, e := range c.memory {
		if e != nil {
			l.ports[i].registry.release(e)
			c.memory[i] = nil
		}
	}
}

// portsFor is of which of the peer's ports c wants keys: those that it may go over now.
func (c *call) portsFor() uint32 {
	p := c.peer
	mask := uint32(1) << p.his // of the spare port there are no keys
	if c.op.N >= lanesMin {
		for k := range p.lanes {
			mask |= 1 << p.ways[k].his
		}
	}
	return mask
}

// free forgets c, which is in no list.
func (l *Link) free(c *call) {
	l.releaseMemory(c)
	c.op, c.peer = nil, nil
	l.freeCalls = append(l.freeCalls, c)
}

// end completes c.
func (l *Link) end(c *call, err error) {
	op, p := c.op, c.peer
	p.removeCall(c)
	l.free(c)
	op.Done(op, err)
	l.flushesDone(p)
}

// advance sends what c can send now. ErrBusy: it goes on when there is room. Another error is that
// of the local memory, and only copies tell it.
func (l *Link) advance(c *call) (err error) {
	switch c.state {
	case copying:
		if c.get {
			err = l.askParts(c)
		} else {
			err = l.putParts(c)
		}
	case asking:
		want := control{token: c.token, addr: uint64(c.op.Remote) + c.from, n: c.upTo - c.from,
			status: wantWrite, ports: c.portsFor()}
		if c.get {
			want.status = wantRead
		}
		if err = l.control(c.peer, kindWant, &want, 0, 0); err == nil {
			c.state = waiting
		}
	case moving:
		err = l.move(c)
	case finishing:
		end := control{token: c.token, offset: c.grant}
		if c.tells && !c.retry && c.done == c.op.N {
			end.status, end.n, end.notice = statusNoticedLast, c.op.N, c.op.Notice
		}
		if err = l.control(c.peer, kindFinish, &end, 0, 0); err == nil {
			c.state = finished
		}
	}
	return err
}

func (l *Link) putParts(c *call) error {
	for ; c.sent < c.op.N || c.op.N == 0 && !c.over; c.over = c.sent == c.op.N {
		n := min(c.op.N-c.sent, chunkMax)
		part := control{token: c.token, addr: uint64(c.op.Remote) + c.sent,
			status: c.part(n)}
		if part.status == statusNoticedLast {
			part.n, part.notice = c.op.N, c.op.Notice
		}
		if err := l.control(c.peer, kindPut, &part, c.op.Local+transport.Addr(c.sent),
			n); err != nil {
			return err
		}
		c.sent += n
		l.stats.DataSent += n
	}
	return nil
}

func (l *Link) askParts(c *call) error {
	for c.sent < c.op.N && c.sent-c.done < askedMax*chunkMax {
		n := min(c.op.N-c.sent, chunkMax)
		ask := control{token: c.token, n: n, offset: c.sent, addr: uint64(c.op.Remote) + c.sent,
			status: c.part(n)}
		if ask.status == statusNoticedLast {
			ask.notice = c.op.Notice
		}
		if err := l.control(c.peer, kindAsk, &ask, 0, 0); err != nil {
			return err
		}
		c.sent += n
	}
	return nil
}

// onAnswer takes in an answer to a call. One that is over, by Disconnect or a fault, misses none.
func (l *Link) onAnswer(p *peer, k kind, m *control, data []byte) {
	if uint64(uint32(m.token)) >= uint64(len(l.calls)) {
		return
	}
	c := l.calls[uint32(m.token)]
	if c.token != m.token || c.peer != p || c.op == nil {
		return
	}
	switch {
	case k == kindGrant && c.state == waiting:
		l.onGrant(c, m)
	case k == kindFinished && c.state == finished:
		l.onFinished(c)
	case c.state != copying:
	case m.status == statusFault:
		l.end(c, &transport.FaultError{Addr: transport.Addr(m.addr), Remote: true, Told: c.tells})
	case k == kindPutDone && !c.get && c.sent == c.op.N:
		l.end(c, nil)
	case k == kindGot && c.get:
		l.onGot(c, m, data)
	}
}

// onGot writes a part of a copied get to memory.
func (l *Link) onGot(c *call, m *control, data []byte) {
	n := uint64(len(data))
	if n == 0 || m.offset != c.done || c.done+n > c.sent {
		return // not what was asked for
	}
	if err := memory.CopyIn(c.op.Local+transport.Addr(c.done), data); err != nil {
		l.end(c, err)
		return
	}
	l.stats.DataReceived += n
	if c.done += n; c.done == c.op.N {
		l.end(c, nil)
		return
	}
	if err := l.advance(c); err != nil && err != transport.ErrBusy {
		l.end(c, err)
	}
}

// pump lets p's calls go on.
func (l *Link) pump(p *peer) {
	for i := 0; i < len(p.calls); {
		c := p.calls[i]
		err := l.advance(c)
		switch {
		case err == transport.ErrBusy:
			return
		case err != nil:
			l.end(c, err) // takes it out of the list, and more if Done says so
		default:
			i++
		}
	}
}
