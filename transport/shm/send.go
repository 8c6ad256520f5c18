package shm

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
)

const (
	ringSlots = layout.RingSlots
	ringMask  = ringSlots - 1
	slotSize  = layout.SlotSize

	sendMax   = layout.ChunkMax
	slotMax   = layout.MessageSlots*slotSize - int(headWord) // header and data of the longest message without a chunk
	headerMax = 1016                                         // the longest that all kinds share; the lane's active messages have more

	gatherMax = 32 << 10 // a gathered message: both ends are to work at once

)

// The longest message and the padding in front of it must fit an empty ring, wherever it begins; header units must fit a byte and
// the data's length 16 bits of the head word.
var (
	_ [ringSlots - 2*layout.MessageSlots]struct{}
	_ [255 - headerMax/layout.HeaderUnit]struct{}
	_ [slotMax - layout.InlineMax - headerMax]struct{}
	_ [1<<16 - 1 - slotMax]struct{}
)

var errNonsense = errors.New("shm: the peer has written a value that cannot be")

// pack makes the head word of a message. It, sequence and unpack are the only ones that know its form; see cshim/segment.h.
func pack(index uint64, kind uint8, header int, data uint64) uint64 {
	return sequence(index) | uint64(kind)<<32 | uint64(header/layout.HeaderUnit)<<40 | data<<48
}

// sequence is the lower half of the head word of a message in the slot with that index.
func sequence(index uint64) uint64 { return uint64(uint32(index) | layout.SequenceValid) }

func unpack(head uint64) (kind uint8, header, data uint64) {
	return uint8(head >> 32), head >> 40 & 0xff * layout.HeaderUnit, head >> 48
}

// slotsOf is how many slots a message with that much header and data takes.
func slotsOf(header, data uint64) uint64 {
	return (headWord + header + data + slotSize - 1) / slotSize
}

// Send implements transport.Link. It never returns Queued.
func (l *Link) Send(ep transport.Endpoint, id transport.MsgID, hdr []byte, op *transport.Op) (transport.Status, error) {
	return transport.Done, l.send(ep, id, hdr, source{op.N, op.Local, nil})
}

// SendGathered implements transport.Gathering.
func (l *Link) SendGathered(ep transport.Endpoint, id transport.MsgID, hdr []byte, n uint64, from transport.Gatherer) error {
	return l.send(ep, id, hdr, source{n, 0, from})
}

// GatherMax implements transport.Gathering.
func (l *Link) GatherMax(transport.Endpoint) int { return gatherMax }

// source is a message's data: n bytes that lie at local, or come from a Gatherer.
type source struct {
	n     uint64
	local transport.Addr
	from  transport.Gatherer
}

// write fills dst with the data.
func (s *source) write(dst []byte) error {
	switch {
	case s.n == 0:
		return nil
	case s.from != nil:
		return s.from.Gather(dst)
	}
	return memory.CopyOut(dst, s.local)
}

// send is Send and SendGathered.
func (l *Link) send(ep transport.Endpoint, id transport.MsgID, hdr []byte, data source) error {
	p, err := l.path(ep)
	if err != nil {
		return err
	}
	if id == 0 || id > transport.MaxMsgID || len(hdr) > headerMax || len(hdr)%8 != 0 || data.n > uint64(sendMax-len(hdr)) {
		return transport.ErrBadParam
	}
	if !p.announced {
		if err := l.announce(p); err != nil {
			return err
		}
	}
	if data.n > layout.InlineMax {
		err = l.sendChunk(p, id, hdr, &data)
	} else {
		err = l.sendInline(p, id, hdr, &data)
	}
	if err != nil {
		return err // nothing was published: the slots are still free
	}
	l.stats.PacketsSent++
	l.stats.DataSent += data.n
	return l.notify(p)
}

// sendInline is Send with header and data in slots.
func (l *Link) sendInline(p *peer, id transport.MsgID, hdr []byte, data *source) error {
	n := slotsOf(uint64(len(hdr)), data.n)
	at, err := l.begin(p, n)
	if err != nil {
		return err
	}
	copy(p.outSlots.body(at, 0, uint64(len(hdr))), hdr)
	if err := data.write(p.outSlots.body(at, uint64(len(hdr)), data.n)); err != nil {
		return err
	}
	p.end(at, n, uint8(id), len(hdr), data.n)
	return nil
}

// sendChunk is Send with the data in a chunk.
func (l *Link) sendChunk(p *peer, id transport.MsgID, hdr []byte, data *source) error {
	n := slotsOf(placeSize+uint64(len(hdr)), 0)
	c, err := l.chunkRoom(p, data.n)
	if err != nil {
		return err
	}
	at, err := l.begin(p, n)
	if err != nil {
		return err
	}
	if err := c.fill(p, at, hdr, data); err != nil {
		return err
	}
	p.end(at, n, uint8(id)|layout.KindChunk, len(hdr), 0)
	c.take(l.paths, &p.path.Chunks, p.sender.Tail)
	return nil
}

// begin finds room for a message of n slots, and returns the position of the first.
func (l *Link) begin(p *peer, n uint64) (at uint64, err error) {
	s := p.sender
	position := s.Tail & ringMask
	var padding uint64
	if position+n > ringSlots {
		padding = ringSlots - position
	}
	if need := s.Tail + padding + n; need-s.Consumed > ringSlots {
		if err := l.consumed(p, need-ringSlots); err != nil {
			return 0, err
		}
	}
	at = (position + padding) & ringMask
	markContinued(s, at, n)
	return at, nil
}

// end publishes the message of n slots at position at, behind the padding that it needs.
func (p *peer) end(at, n uint64, kind uint8, header int, data uint64) {
	s := p.sender
	if padding := (at - s.Tail) & ringMask; padding > 0 {
		// The slots that are skipped count as continuations: they may hold head words of old, and sequences come again after 2^31.
		// Slot 0, where the message begins, never is one.
		markContinued(s, s.Tail&ringMask, padding)
		publishHead(p, s.Tail, layout.KindPadding, 0, 0)
		s.Tail += padding
	}
	p.clearContinued((at + n) & ringMask)
	publishHead(p, s.Tail, kind, header, data)
	s.Tail += n
}

// consumed looks whether the receiver has freed every slot before an index.
func (l *Link) consumed(p *peer, index uint64) error {
	s := p.sender
	consumed := atomic.LoadUint64(&p.outControl.Consumed) // acquire: the receiver has finished reading what is before it
	if consumed-s.Consumed > s.Tail-s.Consumed {
		l.suspect(p, errNonsense)
		return transport.ErrUnreachable
	}
	s.Consumed = consumed
	if consumed >= index {
		p.blocked = false
		return nil
	}
	if atomic.LoadUint64(&p.outHead.Armed) == layout.Closed {
		return transport.ErrUnreachable
	}
	p.blocked = true
	return transport.ErrBusy
}

// markContinued remembers which of the n slots from position on hold no head word after this message.
func markContinued(s *layout.Sender, position, n uint64) {
	for i := position + 1; i < position+n; i++ {
		s.Continued[i/64] |= 1 << (i % 64)
	}
}

// clearContinued makes sure that the receiver, when it comes to the slot at position, does not take the inside of
// a longer message for a head word. The slot is free if it is a continuation: the oldest message that was not consumed begins with a head word.
func (p *peer) clearContinued(position uint64) {
	word, bit := &p.sender.Continued[position/64], uint64(1)<<(position%64)
	if *word&bit != 0 {
		*word &^= bit
		atomic.StoreUint64(p.outSlots.head(position), 0)
	}
}

// publishHead makes the message in the slot with that index visible.
func publishHead(p *peer, index uint64, kind uint8, header int, data uint64) {
	position := index & ringMask
	p.sender.Continued[position/64] &^= 1 << (position % 64)
	// release: pairs with the load in Link.receive. Sequentially consistent too, for the loads in notify.
	atomic.StoreUint64(p.outSlots.head(position), pack(index, kind, header, data))
}

// notify tells a receiver that is not looking that there is a message. The loads come after the store of the head word, and the
// receiver looks at the ring after its stores of cold and armed: one of the two sees the other.
func (l *Link) notify(p *peer) error {
	if atomic.LoadUint32(&p.outControl.Cold) != 0 {
		atomic.OrUint64(&p.outHead.Pending[l.index/64], 1<<(l.index%64))
	}
	switch atomic.LoadUint64(&p.outHead.Armed) {
	case layout.Awake:
		return nil
	case layout.Closed:
		return transport.ErrUnreachable // the message will not be read any more
	}
	l.wake(p)
	return nil
}

// wake rings p's bell if it sleeps. Then it takes that sleep's armed, so that others need not ring; not before, as others would
// wait for a bell that a task stopped in between has not rung.
func (l *Link) wake(p *peer) {
	armed := atomic.LoadUint64(&p.outHead.Armed)
	if armed&layout.Asleep == 0 {
		return
	}
	l.bellBuffer = [8]byte{1}
	_, _ = unix.Write(p.bell, l.bellBuffer[:]) // EAGAIN: it rings already
	atomic.CompareAndSwapUint64(&p.outHead.Armed, armed, layout.Awake)
}

// Flush implements transport.Link.
func (l *Link) Flush(ep transport.Endpoint, op *transport.Op) (transport.Status, error) {
	p, err := l.path(ep)
	if err != nil {
		return transport.Done, err
	}
	mark := p.sender.Tail
	if done, err := l.flushed(p, mark); done || err != nil {
		return transport.Done, err
	}
	op.Link = transport.OpState{Ep: ep, Mark: mark}
	if p.flushes == nil {
		p.flushes = op
	} else {
		p.lastFlush.Link.Next = op
	}
	p.lastFlush = op
	if !p.flushing {
		p.flushing = true
		l.waiting = append(l.waiting, p)
	}
	return transport.Queued, nil
}

// flushed says whether every message before the slot index mark was accepted; the error is ErrUnreachable if that can not be any more.
func (l *Link) flushed(p *peer, mark uint64) (bool, error) {
	closed := atomic.LoadUint64(&p.outHead.Armed) == layout.Closed // before the others: what they say then is final
	consumed := atomic.LoadUint64(&p.outControl.Consumed)          // before held: the receiver stores held first
	held := atomic.LoadUint64(&p.outControl.Held)
	if consumed-p.sender.Consumed > p.sender.Tail-p.sender.Consumed {
		l.suspect(p, errNonsense)
		return false, transport.ErrUnreachable
	}
	if consumed >= mark && (held == 0 || held > mark) {
		return true, nil
	}
	if closed {
		return false, transport.ErrUnreachable
	}
	return false, nil
}

// checkFlushes completes what flushes it can. Done functions may begin new ones.
func (l *Link) checkFlushes() (n int) {
	for i := 0; i < len(l.waiting); {
		p := l.waiting[i]
		for p.flushes != nil {
			mark := p.flushes.Link.Mark
			done, err := l.flushed(p, mark)
			if !done && err == nil {
				break
			}
			n += l.finishFlushes(p, mark, err)
		}
		if p.flushes != nil {
			i++
			continue
		}
		p.flushing = false
		last := len(l.waiting) - 1
		l.waiting[i] = l.waiting[last]
		l.waiting = l.waiting[:last]
	}
	return n
}

// finishFlushes completes p's flushes with a mark of at most upTo.
func (l *Link) finishFlushes(p *peer, upTo uint64, err error) (n int) {
	for p.flushes != nil && p.flushes.Link.Mark <= upTo {
		op := p.flushes
		p.flushes = op.Link.Next
		op.Link.Next = nil
		op.Done(op, err)
		n++
	}
	return n
}
