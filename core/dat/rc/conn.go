package rc

import (
	"errors"

	"lapi/transport"
)

type connState uint8

const (
	idle    connState = iota // not opened yet
	open                     // requests and receives are handled
	closing                  // no new requests; it ends when the posted ones are complete
	over                     // it has ended, and waits until links need none of its memory
)

// The pending messages of a connection to its peer, bits of Conn.unsent.
const (
	tellDone = 1 << iota
	tellReady
	tellEnd
)

// Conn is one end of a connection.
type Conn struct {
	Owner  Owner   // is notified
	Shared *Shared // where its receives come from, nil: from its own queue; set before Open

	e                  *Engine
	index, tag         uint32
	link               transport.Link
	ep                 transport.Endpoint
	fragment           uint32 // bytes of data in one message
	peerIndex, peerTag uint32
	state              connState
	ending             Ending
	listed             bool
	unsent             uint8
	endSeq             uint32 // of tellEnd: the request that has failed
	endStatus          Status
	endFlags           uint8
	ops                int  // fragments whose memory the link needs
	told               bool // the owner was notified of the end
	forgotten          bool
	elsewhere          Elsewhere // another engine has it; nil: this one
	last               *header   // the peer's End, until the answers before it are here

	requester
	responder
}

// Name is what the peer must know to talk to c.
func (c *Conn) Name() (index, tag uint32) { return c.index, c.tag }

// PeerName is how the peer knows the connection.
func (c *Conn) PeerName() (index, tag uint32) { return c.peerIndex, c.peerTag }

// Opened says whether Open was called.
func (c *Conn) Opened() bool { return c.state != idle }

// Peer is by which link, and as which endpoint of it, the peer is reached.
func (c *Conn) Peer() (transport.Link, transport.Endpoint) { return c.link, c.ep }

// Open connects c to the connection that its peer has named so. reads is how many reads and atomic
// operations of c's may be under way; 0: none can be posted.
func (c *Conn) Open(link transport.Link, ep transport.Endpoint, index, tag uint32, reads int) {
	c.link, c.ep, c.peerIndex, c.peerTag = link, ep, index, tag
	c.fragment = uint32(link.Limits().SendMax-askSize) &^ 7
	c.readsMax = reads
	c.state = open
	c.touch()
}

// Elsewhere is another engine that has a connection, from its opening on.
type Elsewhere interface {
	// Message is a message that has arrived for the connection.
	Message(id transport.MsgID, header, data []byte)
	// Cut ends it without a message to the peer.
	Cut(how Ending)
}

// Give gives c, instead of opening it, to another engine, which gets its receives. link and ep are
// where messages for it come from. Forget is its end here.
func (c *Conn) Give(link transport.Link, ep transport.Endpoint, to Elsewhere) []*Receive {
	c.link, c.ep, c.elsewhere, c.state = link, ep, to, open
	list := c.receives.list
	c.receives.list = nil
	return list
}

// Forget forgets a connection that was given away, and is over there.
func (c *Conn) Forget() { c.forget() }

// Discard forgets a connection that was never opened. Its receives complete with Flushed.
func (c *Conn) Discard() {
	c.state = over
	c.flushReceives()
	c.forget()
}

// Disconnect ends the connection: gracefully when all posted requests are complete, else at once.
// The owner is notified of the end. A second call changes nothing, except that it can turn a
// graceful end into an abrupt one.
func (c *Conn) Disconnect(graceful bool) {
	switch {
	case c.state != open && c.state != closing:
	case graceful && len(c.requests) > 0:
		c.state = closing
	default:
		c.tellEnd(0, Success, 0)
		c.end(ByUser)
	}
}

func (c *Conn) tellEnd(seq uint32, status Status, flags uint8) {
	c.unsent |= tellEnd
	c.endSeq, c.endStatus, c.endFlags = seq, status, flags
	c.touch()
}

// breakOff ends the connection for an error of the peer's request seq, and sends the error to the
// peer.
func (c *Conn) breakOff(seq uint32, status Status) {
	if c.state != over {
		c.tellEnd(seq, status, flagError)
		c.end(Broken)
	}
}

// end ends the connection. Posted requests and receives complete when no link uses their memory.
func (c *Conn) end(how Ending) {
	if c.state == over {
		return
	}
	c.state, c.ending = over, how
	c.dropSlots()
	c.settle()
}

// settle completes everything of a connection that is over, once that is possible.
func (c *Conn) settle() {
	if c.state != over || c.ops > 0 || c.forgotten {
		return
	}
	c.flushRequests()
	c.flushReceives()
	if c.unsent&tellEnd == 0 {
		c.forget()
	}
	if !c.told {
		c.told = true
		c.Owner.Ended(c, c.ending)
	}
}

// forget releases c's number.
func (c *Conn) forget() {
	if !c.forgotten {
		c.forgotten = true
		c.e.conns[c.index] = nil
		c.e.free = append(c.e.free, c.index)
	}
}

// onMessage takes a message; false: it contradicts the protocol.
func (c *Conn) onMessage(id transport.MsgID, h *header, data []byte) bool {
	switch id {
	case msgData:
		return c.onData(h, data) && (c.state == over || c.onDone(h.Done))
	case msgAsk:
		return c.onAsk(h)
	case msgReply:
		return c.onReply(h, data) && (c.state == over || c.onDone(h.Done))
	case msgDone:
		return c.onDone(h.Seq)
	case msgNotReady:
		return c.onNotReady(h)
	case msgReady:
		return c.onReady(h)
	case msgEnd:
		return c.onEnd(h)
	case msgPull:
		return c.onPull(h)
	}
	return true
}

// onEnd: the peer has ended the connection. Its latest Done may have been overtaken, so it comes
// along. Answers may have been overtaken by an error: they come first.
func (c *Conn) onEnd(h *header) bool {
	if !c.onDone(h.Number) {
		return false
	}
	if h.Flags&flagError != 0 && c.state != over && c.owesReply(h.Number) {
		last := *h
		c.last = &last
		return true
	}
	if h.Flags&flagError == 0 {
		c.end(ByPeer)
		return true
	}
	if r := c.request(h.Seq); r != nil && h.Status != Success {
		r.Status = h.Status
	}
	c.end(Broken)
	return true
}

// pump sends what is due; false: the link has no room for all of it.
func (c *Conn) pump() bool {
	if c.forgotten || c.state == idle {
		return true
	}
	if c.state != over && !(c.tellReadiness() && c.sendReplies() && c.sendRequests()) {
		return false
	}
	c.complete() // what the owner has returned may be done
	if c.unsent&tellDone != 0 && c.state != over {
		if !c.tell(msgDone, &header{Seq: c.expected}) {
			return false
		}
		c.unsent &^= tellDone
	}
	if c.unsent&tellEnd != 0 {
		if !c.tell(msgEnd, &header{Seq: c.endSeq, Status: c.endStatus, Flags: c.endFlags,
			Number: c.expected}) {
			return false
		}
		c.unsent &^= tellEnd
		if c.told {
			c.forget()
		}
	}
	return true
}

// tell sends a message without data; false: there is no room.
func (c *Conn) tell(id transport.MsgID, h *header) bool {
	return c.send(id, h, nil, Segment{}) == nil
}

// sender has the data of messages that links may need for some time: a request, or a connection, of
// its reply.
type sender interface {
	// held: a link has memory of its until released.
	held()
	released(err error)
}

// send sends a message with a segment of data, of a sender; nil without data. transport.ErrBusy:
// there is no room. Other errors are the local memory's: PeerFailed notifies the owner of a peer
// that is gone.
func (c *Conn) send(id transport.MsgID, h *header, owner sender, data Segment) error {
	h.Conn, h.Tag, h.Done = c.peerIndex, c.peerTag, c.expected
	b := c.e.scratch[:]
	if id == msgAsk {
		b = h.putAsk(b)
	} else {
		b = h.put(b)
	}
	op := c.e.ops.Get()
	op.Local, op.N, op.Owner = data.Addr, uint64(data.N), owner
	status, err := c.link.Send(c.ep, id, b, op)
	if err == nil && status == transport.Queued {
		if owner != nil {
			owner.held()
		}
		return nil
	}
	c.e.ops.Put(op)
	if errors.Is(err, transport.ErrUnreachable) || errors.Is(err, transport.ErrClosed) {
		return nil
	}
	return err
}

// held implements sender.
func (c *Conn) held() {
	c.ops++
	c.reply.ops++
}
