package shm

import (
	"sync/atomic"

	"lapi/cshim/node"
	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/layout"
)

// heldMax is how many bytes of refused messages of one peer are kept; beyond that the next one
// refused stops its ring.
const heldMax = 4 << 20

// Progress implements transport.Link.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	v := l.node
	v.Turn++
	n := 0
	if l.holding > 0 {
		n = l.offerHeld(max)
	}
	if l.changingEpoch > 0 {
		l.announceAll()
	}
	if l.queued > 0 {
		n += l.advanceQueues()
	}
	if pending := l.somePending(); pending || v.Rings > node.HotRings {
		l.lookSoon = l.lookSoon || pending // a peer may have left
		node.LookAround(v)
	}
	if v.NumActive > 0 {
		if v.First++; v.First >= v.NumActive {
			v.First = 0
		}
		// The list may change under a handler (Disconnect): then a ring is looked at in the
		// next call.
		for i, at := uint32(0), v.First; i < v.NumActive && n < max; i++ {
			if at >= v.NumActive {
				at = 0
			}
			n += l.receive(l.rings[v.Active[at]], max-n)
			at++
		}
	}
	if len(l.waiting) > 0 {
		n += l.checkFlushes()
	}
	l.lookAtPeers()
	if len(l.broken) > 0 {
		n += l.reportBroken()
	}
	return n
}

// somePending says whether a peer has something to tell beside the messages in active rings.
func (l *Link) somePending() bool {
	own := l.own.head()
	return atomic.LoadUint64(&own.Pending[0])|atomic.LoadUint64(&own.Pending[1]) != 0
}

// receive deals with at most max messages of p's ring, and returns how many were taken or held.
func (l *Link) receive(p *peer, max int) (n int) {
	took := uint32(node.Left)
	for ; n < max; n++ {
		if p.awaiting {
			took |= node.Skip
		}
		result := node.Step(l.node, p.ring, took)
		took &= node.Received
		switch result {
		case node.None: // which ends the look at this ring
			return n
		case node.Cannot:
			l.suspect(p, errNonsense)
			return n
		}
		verdict := l.heed(p, result)
		if p.gone {
			return n
		}
		if verdict == stay {
			break
		}
		took = node.Received | verdict
	}
	node.Stop(l.node, p.ring, took)
	return n
}

// stay is heed's word for a message that is left at the head of the ring.
const stay = ^uint32(0)

// heed acts on the result of a step. It returns the outcome of the message: node.Left if it was out
// of the ring before, or stay.
func (l *Link) heed(p *peer, result node.Result) (took uint32) {
	e := &l.node.Event
	switch result {
	case node.Some:
		return l.deliver(p)
	case node.Later:
		if l.TakeLater(uint32(p.ring)) {
			return node.Took
		}
		return stay
	case node.Others:
		return stay
	case node.Arrived, node.WasRead:
		if l.notices != nil {
			kind := transport.NoticePut
			if result == node.WasRead {
				kind = transport.NoticeGet
			}
			l.notices(kind, p.ep, e.N, e.Notice)
		}
	case node.Fault:
		of := [...]transport.NoticeKind{transport.NoticePut,
			layout.NodeOpGet: transport.NoticeGet, layout.NodeOpRmw: transport.NoticeRmw}
		l.tellFault(p, of[e.Op], e.Addr)
	case node.Answered:
		l.answered(nil)
	case node.Failed:
		l.answered(&transport.FaultError{Addr: transport.Addr(e.Addr), Remote: true, Told: true})
	case node.Stranded:
		l.answered(&transport.FaultError{Addr: transport.Addr(e.Addr)})
	case node.Epoch:
		p.epochBegan()
	}
	return node.Left
}

// answered ends the operation of this link whose answer has come.
func (l *Link) answered(err error) {
	e := &l.node.Event
	index := e.Done
	op := l.inFlight[index]
	if op == nil {
		return
	}
	l.inFlight[index] = nil
	op.Result = e.Value
	op.Done(op, err)
}

// deliver offers the message of the event to its handler.
func (l *Link) deliver(p *peer) (took uint32) {
	if p.reoffered {
		l.stats.RetransmittedPackets++
	}
	h := l.handlers[l.node.Event.Arrival.Kind]
	if h == nil {
		l.stats.GhostPackets++
		return node.Drop
	}
	return l.offer(p, h)
}

// offer is deliver with a handler.
func (l *Link) offer(p *peer, h transport.MsgHandler) (took uint32) {
	a := l.node.Event.Arrival // a handler may send, which uses it
	l.msg = transport.Msg{From: p.ep, Hdr: bytesAt(a.Body, a.Header),
		Data: bytesAt(a.Bytes, a.Data)}
	verdict := h(&l.msg)
	l.node.Event.Arrival = a
	if p.gone {
		return stay
	}
	if verdict == transport.Refuse && !l.holdBack(p, &a) {
		p.stall(true)
		return stay
	}
	p.stall(false)
	if verdict == transport.Accept {
		return node.Took
	}
	return node.Drop
}

// Take offers the message at the head of a ring to h, instead of its kind's handler. There must be
// one; C has seen it.
func (l *Link) Take(ring uint32, h transport.MsgHandler) {
	p := l.rings[ring]
	if node.Step(l.node, p.ring, node.Left) != node.Some {
		l.suspect(p, errNonsense) // it was another when C looked
		return
	}
	if took := l.offer(p, h); took != stay {
		node.Stop(l.node, p.ring, took)
	}
}

// holdBack copies a refused message aside, so that others pass. False: no more of this peer's can
// be held.
func (l *Link) holdBack(p *peer, a *layout.NodeArrival) bool {
	if p.held.Bytes() >= heldMax {
		return false
	}
	m, err := p.held.New(p.ep, transport.MsgID(a.Kind), bytesAt(a.Body, a.Header), int(a.Data))
	if err != nil {
		return false // the kernel has no memory
	}
	copy(m.Data, bytesAt(a.Bytes, a.Data))
	m.Refused = true
	head := p.node.Receiver.Head
	p.held.Append(m, head)
	if !p.holding {
		p.holding = true
		l.holding++
		p.settle()
		// release: before the consumed that passes the message
		atomic.StoreUint64(&p.inControl.Held, head+1)
	}
	return true
}

// offerHeld offers refused messages again.
func (l *Link) offerHeld(max int) (n int) {
	for _, p := range l.rings {
		if p == nil || !p.holding {
			continue
		}
		before, _ := p.held.Oldest()
		accepted := p.held.Offer(max-n, l.config.Clock)
		n += accepted
		if p.gone {
			continue
		}
		oldest, some := p.held.Oldest()
		if some && oldest == before {
			continue
		}
		held := uint64(0)
		if some {
			held = oldest + 1
		}
		// release: the handlers have accepted what is before
		atomic.StoreUint64(&p.inControl.Held, held)
		node.WakeWaiting(l.node, p.ring)
		l.settleHolding(p)
	}
	return n
}

// settleHolding keeps the count of peers with held messages.
func (l *Link) settleHolding(p *peer) {
	if p.holding && p.held.Len() == 0 {
		p.holding = false
		l.holding--
		p.settle()
	}
}

// deliverHeld offers a message that was refused to its handler again.
func (l *Link) deliverHeld(p *peer, m *hold.Message) transport.Verdict {
	l.stats.RetransmittedPackets++
	data := uint64(len(m.Data)) // the handler may change m
	l.msg = m.Msg
	if l.handlers[m.ID](&l.msg) == transport.Refuse {
		return transport.Refuse
	}
	l.stats.PacketsReceived++
	l.stats.DataReceived += data
	return transport.Accept
}
