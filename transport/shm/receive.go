package shm

import (
	"math/bits"
	"sync/atomic"

	"lapi/transport"
	"lapi/transport/hold"
	"lapi/transport/layout"
)

const (
	hotTasks   = 4    // with at most so many tasks on the node every ring is looked at in each turn
	coldTurns  = 8192 // turns without a message after which a ring is not looked at any more
	coldLook   = 1024 // how often, in turns, such rings are looked for; a power of two
	publishMin = ringSlots / 4
	heldMax    = 4 << 20 // bytes of refused messages of one peer; beyond that the next one refused stops its ring
)

// Progress implements transport.Link.
func (l *Link) Progress(max int) int {
	if l.closed {
		return 0
	}
	v := l.paths
	v.Turn++
	n := 0
	if l.holding > 0 {
		n = l.offerHeld(max)
	}
	if l.renewing > 0 {
		l.announceAll()
	}
	if len(l.tasks) > hotTasks {
		l.takePending()
		if v.Turn-l.cooled >= coldLook {
			l.cooled = v.Turn
			l.coolDown()
		}
	}
	if v.NumActive > 0 {
		if v.First++; v.First >= v.NumActive {
			v.First = 0
		}
		// The list may change under a handler (Disconnect): then a ring is looked at in the next turn.
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
	if len(l.broken) > 0 {
		n += l.reportBroken()
	}
	return n
}

// receive offers at most max messages of p's ring to their handlers, and returns how many were accepted or held.
func (l *Link) receive(p *peer, max int) (n int) {
	r := p.receiver
	for n < max {
		// acquire: pairs with the store in publishHead; what is read of the message was written before it.
		head := atomic.LoadUint64(p.inSlots.head(r.Head & ringMask))
		if uint64(uint32(head)) != sequence(r.Head) {
			break
		}
		position := r.Head & ringMask
		if uint8(head>>32) == layout.KindPadding && position != 0 {
			r.Head += ringSlots - position
			continue
		}
		if uint8(head>>32) == kindRenewed && head>>40 == 0 {
			p.renewed()
			r.Head++
			n++
			continue
		}
		a, ok := p.examine(head, position)
		if !ok {
			l.suspect(p, errNonsense)
			return n
		}
		if a.id == layout.MsgLaneReply && !p.awaiting {
			break // the lane takes it
		}
		if !p.awaiting && !l.deliver(p, &a) {
			break
		}
		n++
		l.advance(p, &a)
	}
	if n > 0 {
		r.Turn = l.paths.Turn
	}
	if r.Head != r.Published && !p.gone {
		l.publishConsumed(p)
	}
	return n
}

// advance passes a message that was taken, and gives its slots back as soon as enough are free to be worth it.
func (l *Link) advance(p *peer, a *arrival) {
	r := p.receiver
	r.Head += a.slots
	if a.n > layout.InlineMax {
		r.Chunked += a.n
	}
	if r.Head-r.Published >= publishMin || r.Chunked >= layout.ChunkPublish {
		l.publishConsumed(p)
	}
}

// arrival is a message in a ring, found to be possible.
type arrival struct {
	id              transport.MsgID
	position, slots uint64
	header, n       uint64 // bytes of header and data
	hdr, data       []byte
}

// examine finds header and data of the message at position with that head word. False: it cannot be.
func (p *peer) examine(head, position uint64) (a arrival, ok bool) {
	kind, header, n := unpack(head)
	chunked := kind&layout.KindChunk != 0
	a.id = transport.MsgID(kind &^ layout.KindChunk)
	a.position, a.header, a.n = position, header, n
	a.slots = slotsOf(header, n)
	if chunked {
		a.slots = slotsOf(placeSize+header, 0)
	}
	if a.id == 0 || a.id > transport.MaxMsgID || a.slots > layout.MessageSlots || position+a.slots > ringSlots || header+n > uint64(slotMax) {
		return a, false
	}
	if chunked {
		return a, p.arrived(&a)
	}
	a.hdr, a.data = p.inSlots.body(position, 0, header), p.inSlots.body(position, header, n)
	return a, true
}

// deliver offers a message to its handler. False: it stays where it is, for p is gone or too much is held.
func (l *Link) deliver(p *peer, a *arrival) bool {
	if p.reoffered {
		l.stats.RetransmittedPackets++
	}
	h := l.handlers[a.id]
	if h == nil {
		l.stats.GhostPackets++
		return true
	}
	return l.offer(p, h, a)
}

// offer is deliver with a handler.
func (l *Link) offer(p *peer, h transport.MsgHandler, a *arrival) bool {
	l.msg = transport.Msg{From: p.ep, Hdr: a.hdr, Data: a.data}
	verdict := h(&l.msg)
	if p.gone {
		return false
	}
	if verdict == transport.Refuse && !l.holdBack(p, a) {
		p.reoffered = true
		p.settle()
		return false
	}
	if p.reoffered {
		p.reoffered = false
		p.settle()
	}
	if verdict == transport.Accept {
		l.stats.PacketsReceived++
		l.stats.DataReceived += a.n
	}
	return true
}

// holdBack copies a refused message aside, so that others pass. False: no more of this peer's can be held.
func (l *Link) holdBack(p *peer, a *arrival) bool {
	if p.held.Bytes() >= heldMax {
		return false
	}
	m, err := p.held.New(p.ep, a.id, a.hdr, int(a.n))
	if err != nil {
		return false // the kernel has no memory
	}
	copy(m.Data, a.data)
	m.Refused = true
	p.held.Append(m, p.receiver.Head)
	if !p.holding {
		p.holding = true
		l.holding++
		atomic.StoreUint64(&p.inControl.Held, p.receiver.Head+1) // release: before the consumed that passes the message
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
		atomic.StoreUint64(&p.inControl.Held, held) // release: the handlers have accepted what is before
		l.wakeWaiting(p)
		l.settleHolding(p)
	}
	return n
}

// settleHolding keeps the count of peers with held messages.
func (l *Link) settleHolding(p *peer) {
	if p.holding && p.held.Len() == 0 {
		p.holding = false
		l.holding--
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

// publishConsumed gives the slots before the head back to the sender, and wakes it if it waits for that.
func (l *Link) publishConsumed(p *peer) {
	p.receiver.Published, p.receiver.Chunked = p.receiver.Head, 0
	// release: the handlers have finished reading. Sequentially consistent for the load of waiting.
	atomic.StoreUint64(&p.inControl.Consumed, p.receiver.Head)
	l.wakeWaiting(p)
}

// wakeWaiting wakes a sender that sleeps until consumed or held changes. Its load comes after the store of those; the sender
// looks at them after its store of waiting.
func (l *Link) wakeWaiting(p *peer) {
	if atomic.LoadUint32(&p.inControl.Waiting) != 0 {
		atomic.StoreUint32(&p.inControl.Waiting, 0)
		l.wake(p)
	}
}

// activate puts p's ring into the list of those that are looked at.
func (l *Link) activate(p *peer) {
	if p.path.Active != 0 || p.gone {
		return
	}
	v := l.paths
	p.path.Active = 1
	p.receiver.Turn = v.Turn
	v.Active[v.NumActive] = uint8(p.ring)
	v.NumActive++
	if atomic.LoadUint32(&p.inControl.Cold) != 0 {
		atomic.StoreUint32(&p.inControl.Cold, 0)
	}
}

// deactivate takes p's ring out of the list.
func (l *Link) deactivate(p *peer) {
	if p.path.Active == 0 {
		return
	}
	p.path.Active = 0
	v := l.paths
	for i, ring := range v.Active[:v.NumActive] {
		if int(ring) == p.ring {
			v.NumActive--
			v.Active[i] = v.Active[v.NumActive]
			return
		}
	}
}

// takePending activates the cold rings whose senders say that there is a message.
func (l *Link) takePending() {
	pending := &l.own.head().Pending
	for w := range pending {
		if atomic.LoadUint64(&pending[w]) == 0 {
			continue
		}
		for set := atomic.SwapUint64(&pending[w], 0); set != 0; set &= set - 1 {
			if ring := w*64 + bits.TrailingZeros64(set); ring < len(l.rings) && l.rings[ring] != nil {
				l.activate(l.rings[ring])
			}
		}
	}
}

// coolDown takes rings that were silent for long out of the list, so that they cost nothing.
func (l *Link) coolDown() {
	if l.unordered {
		return
	}
	v := l.paths
	silent := false
	for _, ring := range v.Active[:v.NumActive] {
		if p := l.rings[ring]; v.Turn-p.receiver.Turn >= coldTurns {
			atomic.StoreUint32(&p.inControl.Cold, 1)
			silent = true
		}
	}
	if !silent {
		return
	}
	ordered := l.orderPeers() // a sender stores its message, then looks at cold, without a fence: see docs/fastlane.md
	for i := uint32(0); i < v.NumActive; {
		p := l.rings[v.Active[i]]
		if atomic.LoadUint32(&p.inControl.Cold) == 0 {
			i++
			continue
		}
		if !ordered || p.hasMessage() {
			atomic.StoreUint32(&p.inControl.Cold, 0)
			p.receiver.Turn = v.Turn
			i++
			continue
		}
		l.deactivate(p)
	}
}

// hasMessage says whether the next slot of p's ring holds a message.
func (p *peer) hasMessage() bool {
	return uint64(uint32(atomic.LoadUint64(p.inSlots.head(p.receiver.Head&ringMask)))) == sequence(p.receiver.Head)
}
