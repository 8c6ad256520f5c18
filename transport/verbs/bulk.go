package verbs

import (
	"lapi/transport"
	"lapi/transport/verbs/adapter"
)

const localWrite = adapter.LocalWrite

// grant is a key that a peer has, for one range and one operation.
type grant struct {
	peer   *peer // nil: free
	region adapter.Region
	reads  bool // the peer reads
}

// onWant gives a peer a key for exactly the range of its operation. Where memory cannot be
// registered, or is not there, there is none: then the data is copied.
func (l *Link) onWant(p *peer, c *control) {
	r := reply{kind: kindGrant, control: control{token: c.token, status: statusRefused}}
	access := transport.AccessRead
	if c.status == wantWrite {
		access = transport.AccessWrite
	}
	if p.granted < callsMax {
		e, err := l.registry.remote(transport.Addr(c.addr), c.n, access)
		if err == nil {
			r.status, r.key = statusOK, e.RKey
			r.offset = uint64(l.newGrant(p, e, c.status == wantRead))
		}
	}
	l.answer(p, r)
}

func (l *Link) newGrant(p *peer, e adapter.Region, reads bool) uint32 {
	p.granted++
	if last := len(l.freeGrant) - 1; last >= 0 {
		i := l.freeGrant[last]
		l.freeGrant = l.freeGrant[:last]
		l.grants[i] = grant{p, e, reads}
		return i
	}
	l.grants = append(l.grants, grant{p, e, reads})
	return uint32(len(l.grants) - 1)
}

// release takes a key back.
func (l *Link) release(i uint32) {
	g := &l.grants[i]
	l.registry.forget(g.region)
	g.peer.granted--
	*g = grant{}
	l.freeGrant = append(l.freeGrant, i)
}

func (l *Link) onFinish(p *peer, c *control) {
	if uint64(c.key) >= uint64(len(l.grants)) || l.grants[c.key].peer != p {
		return // not its own
	}
	kind := transport.NoticePut
	if l.grants[c.key].reads {
		kind = transport.NoticeGet
	}
	l.release(c.key)
	l.answer(p, reply{kind: kindFinished, control: control{token: c.token}})
	if c.status == statusNoticedLast {
		l.notice(kind, p, c.n, c.notice)
	}
}

// onGrant begins to move data.
func (l *Link) onGrant(c *call, m *control) {
	if m.status != statusOK {
		l.copyInstead(c)
		return
	}
	c.key, c.grant, c.sent, c.state = m.key, m.offset, c.done, moving
	_ = l.advance(c)
}

// copyInstead begins c anew with copies. They also find out which address is bad, if one is.
func (l *Link) copyInstead(c *call) {
	if c.memory != nil {
		l.registry.release(c.memory)
		c.memory = nil
	}
	c.state, c.sent, c.done, c.retry, c.over = copying, 0, 0, false, false
	if err := l.advance(c); err != nil && err != transport.ErrBusy {
		l.end(c, err)
	}
}

// move posts RDMA requests for c, as many as may be under way.
func (l *Link) move(c *call) error {
	p := c.peer
	for c.sent < c.upTo && c.parts < piecesOfCall && !c.retry {
		if !p.open || p.broken || p.moving == piecesMax {
			return transport.ErrBusy
		}
		if l.moving >= l.limitMove {
			l.starve(p)
			return transport.ErrBusy
		}
		n := min(c.upTo-c.sent, pieceMax, l.info.MaxMessage)
		w := &l.request
		*w = adapter.Work{ID: idMove | uint64(uint32(c.token)), Op: adapter.Write, Signaled: true,
			Addr: c.op.Local + transport.Addr(c.sent), N: n, LKey: c.memory.Handle.LKey,
			RemoteAddr: c.op.Remote + transport.Addr(c.sent), RKey: c.key}
		if c.get {
			w.Op = adapter.Read
		}
		if l.adapter.Post(p.qp, w) != nil {
			l.fail(p)
			return transport.ErrBusy
		}
		c.sent += n
		c.parts++
		p.moving++
		l.moving++
		l.stats.PacketsSent++
	}
	return nil
}

// moved: an RDMA request of c has ended. Requests of one queue pair end in order.
func (l *Link) moved(p *peer, c *call, state adapter.State) {
	p.moving--
	l.moving--
	c.parts--
	switch state {
	case adapter.OK:
		n := min(c.upTo-c.done, pieceMax, l.info.MaxMessage)
		c.done += n
		p.failures = 0
		if c.get {
			l.stats.DataReceived += n
		} else {
			l.stats.DataSent += n
		}
	case adapter.RemoteAccess, adapter.LocalAccess:
		c.retry = true
		l.fail(p)
	default:
		l.fail(p)
	}
	if c.state == moving && c.done == c.upTo {
		c.state = finishing
	}
	l.attend(p)
	l.feed()
}

// interrupted: the queue pair has failed, and c goes on over another. What was not moved for
// certain is moved again: nobody has been told of it. What an adapter refused is copied.
func (c *call) interrupted() {
	c.parts = 0
	if c.state != moving {
		return
	}
	c.sent = c.done
	if c.retry {
		c.state = finishing
	}
}

// onFinished: the peer has taken its key back.
func (l *Link) onFinished(c *call) {
	if c.retry {
		l.copyInstead(c)
		return
	}
	if c.done == c.op.N {
		l.end(c, nil)
		return
	}
	l.registry.release(c.memory)
	c.memory = nil
	if !l.acquire(c) {
		l.copyInstead(c)
		return
	}
	c.state = asking
	_ = l.advance(c) // no room: it goes on when there is
}
