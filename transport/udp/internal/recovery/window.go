package recovery

import (
	"time"

	"lapi/transport"
	"lapi/transport/udp/wire"
)

const (
	// Numbers is how far the newest packet may be ahead of the oldest that is not acknowledged.
	// It is larger than the packets that may be in flight, so that those which the peer is not
	// ready for let others pass. A power of two, and a multiple of wire.BlockSpan.
	Numbers = 2048
	// fewest slots are there for the first packet.
	fewest = 8
	// spare numbers are for the rest of packets that are cut again.
	spare = 2
	// A packet that the peer is not ready for is sent again after notReadyDelay, doubled each
	// time, up to notReadyMost.
	notReadyDelay = 500 * time.Microsecond
	notReadyMost  = 20 * time.Millisecond
)

// Owner is notified what becomes of packets.
type Owner interface {
	// Release is called before k's memory, or the user's that it borrows, changes hands.
	Release(k *Packet)
	// Acked: k has arrived. It is the owner's again.
	Acked(k *Packet)
	// Lost: k was sent before others on its path that have arrived.
	Lost(k *Packet, now int64)
}

// Window is the packets of a session that are not acknowledged yet, by their numbers.
//
//	base               next             end
//	 │ in flight, lost,  │ waiting       │
//	 │ not ready, acked  │               │
type Window struct {
	owner   Owner
	paths   []*Path
	slots   []*Packet // by number, a power of two of them; nil: acknowledged or not yet used
	base    wire.Seq  // the oldest without an acknowledgement
	next    wire.Seq  // the first that was never sent
	end     wire.Seq  // of the next packet
	polling int64     // bounds all times

	inFlight, lost int      // packets in these states, on all paths
	firstLost      wire.Seq // no packet before it is lost
	notReadyDue    int64    // when the first that is not ready is sent again; 0: none

	newsOf uint8 // a bit for each path of which the packet at hand acknowledges something
	ackBy  uint8 // by which the packet at hand came
}

// Init makes an empty window whose first number is first. polling bounds all times.
func (w *Window) Init(owner Owner, first wire.Seq, polling int64) {
	*w = Window{owner: owner, base: first, next: first, end: first, polling: polling}
}

// SetPaths says which paths there are, and bounds the time to a retransmission by retry. Nothing
// may be in flight.
func (w *Window) SetPaths(paths []*Path, retry int64) {
	w.paths = paths
	for i, r := range paths {
		r.number, r.longestRetry = uint8(i), min(retry, w.polling)
	}
}

// At is the packet with number s; nil: it is acknowledged, or not used.
func (w *Window) At(s wire.Seq) *Packet {
	if uint32(s-w.base) >= uint32(w.end-w.base) {
		return nil
	}
	return w.slots[w.slot(s)]
}

func (w *Window) set(s wire.Seq, k *Packet) { w.slots[w.slot(s)] = k }

func (w *Window) slot(s wire.Seq) int { return int(s) & (len(w.slots) - 1) }

// grow makes room for one more packet: most peers never have many under way.
func (w *Window) grow() {
	old := *w
	w.slots = make([]*Packet, max(fewest, 2*len(old.slots)))
	for s := old.base; s != old.end; s++ {
		w.set(s, old.At(s))
	}
}

// Base is the number of the oldest packet without an acknowledgement.
func (w *Window) Base() wire.Seq { return w.base }

// End is the number of the next packet.
func (w *Window) End() wire.Seq { return w.end }

// Unsent is how many packets wait for their first transmission.
func (w *Window) Unsent() int { return int(w.end - w.next) }

// Outstanding says whether anything waits for the peer's acknowledgement.
func (w *Window) Outstanding() bool { return w.base != w.end }

func (w *Window) InFlight() int    { return w.inFlight } // how many packets are, on all paths
func (w *Window) LostPackets() int { return w.lost }     // how many packets are to be sent again

// HasNumber says whether there is a number for one more packet.
func (w *Window) HasNumber() bool { return int(w.end-w.base) < Numbers-spare }

// Last is the packet that was pushed last, which must wait still.
func (w *Window) Last() *Packet { return w.At(w.end - 1) }

// FirstUnsent is the packet whose first transmission is next; nil: none.
func (w *Window) FirstUnsent() *Packet {
	if w.next == w.end {
		return nil
	}
	return w.At(w.next)
}

// FirstLost is the lost packet with the lowest number; nil: none.
func (w *Window) FirstLost() *Packet {
	if w.lost == 0 {
		return nil
	}
	for s := w.firstLost; s != w.next; s++ {
		if k := w.At(s); k != nil && k.state == lost {
			w.firstLost = s
			return k
		}
	}
	panic("udp: lost packets are counted, but none is there")
}

// Push gives k its number. Nothing joins the packet before it any more.
func (w *Window) Push(k *Packet) {
	if w.Unsent() > 0 {
		w.Last().Shut()
	}
	if int(w.end-w.base) == len(w.slots) {
		w.grow()
	}
	k.seq = w.end
	k.state = waiting
	w.set(k.seq, k)
	w.end++
}

// HasNumberForRest says whether what is left of k, which is cut, may have another number. The last
// one is for the oldest packet: else nothing might move.
func (w *Window) HasNumberForRest(k *Packet) bool {
	used := int(w.end - w.base)
	return used < Numbers-1 || used < Numbers && k.seq == w.base
}

// Replace puts part, which was taken off k, in k's place. k is not there any more; Repush gives the
// rest of k another number.
func (w *Window) Replace(k, part *Packet) {
	w.move(k, waiting)
	part.seq, part.path, part.sends = k.seq, k.path, k.sends
	w.set(k.seq, part)
	if k.seq != w.next {
		w.move(part, lost)
	}
}

// Repush gives k, which was replaced, a number behind all others.
func (w *Window) Repush(k *Packet) {
	k.sends, k.notReady, k.lostTx = 0, 0, 0
	w.Push(k)
}

// Sent notes that k was sent by path. True: for the first time.
func (w *Window) Sent(k *Packet, path uint8, now int64, flags wire.Flags) (first bool) {
	k.overdue = k.state == inFlight
	w.move(k, waiting) // off the path that it took before
	if k.path != path {
		k.lostTx = 0 // of that path
	}
	k.path = path
	w.move(k, inFlight)
	if k.seq == w.next {
		w.next++
	}
	first = k.sends == 0
	k.sends++
	k.Shut()
	r := w.paths[path]
	r.sent(k, now, flags)
	if r.retryDue == 0 {
		r.arm(now)
	}
	return first
}

// Unsend takes back the latest transmission of k, which went nowhere. True: it was the first.
func (w *Window) Unsend(k *Packet) (first bool) {
	k.sends--
	if k.state == inFlight {
		w.move(k, lost)
	}
	return k.sends == 0
}

// Void takes the message whose data cannot be read out of k; see packet.Content.Void.
func (w *Window) Void(k *Packet) (op *transport.Op, fault transport.Addr) {
	before := k.Size()
	op, fault = k.Void()
	if k.state == inFlight {
		w.paths[k.path].bytes -= before - k.Size()
	}
	return op, fault
}

// SetLost declares k, which is in flight, lost.
func (w *Window) SetLost(k *Packet) { w.move(k, lost) }

// Strand declares everything lost that is in flight on r.
func (w *Window) Strand(r *Path) {
	for s := w.base; r.inFlight > 0 && s != w.next; s++ {
		if k := w.At(s); k != nil && k.state == inFlight && k.path == r.number {
			w.move(k, lost)
		}
	}
	r.retryDue = 0
}

// Oldest is the packet in flight on r with the lowest number. There must be one.
func (w *Window) Oldest(r *Path) *Packet {
	for s := w.base; s != w.next; s++ {
		if k := w.At(s); k != nil && k.state == inFlight && k.path == r.number {
			return k
		}
	}
	panic("udp: packets in flight are counted, but none is there")
}

// NotReadyDue is when the first packet that the peer was not ready for is resent; 0: none.
func (w *Window) NotReadyDue() int64 { return w.notReadyDue }

// RetryNotReady lets those be resent whose pause is over.
func (w *Window) RetryNotReady(now int64) {
	w.notReadyDue = 0
	for s := w.base; s != w.next; s++ {
		k := w.At(s)
		if k == nil || k.state != notReady {
			continue
		}
		if now >= k.due {
			w.move(k, lost)
		} else if w.notReadyDue == 0 || k.due < w.notReadyDue {
			w.notReadyDue = k.due
		}
	}
}

// Drain empties the window, and gives each packet to drop.
func (w *Window) Drain(drop func(k *Packet)) {
	for s := w.base; s != w.end; s++ {
		if k := w.At(s); k != nil {
			w.set(s, nil)
			drop(k)
		}
	}
	w.base, w.next = w.end, w.end
	w.inFlight, w.lost, w.notReadyDue = 0, 0, 0
	for _, r := range w.paths {
		r.inFlight, r.bytes, r.retryDue = 0, 0, 0
	}
}

// move accounts for k's way from its state to another.
func (w *Window) move(k *Packet, to state) {
	r := w.paths[k.path]
	switch k.state {
	case inFlight:
		w.inFlight--
		r.inFlight--
		r.bytes -= k.Size()
	case lost:
		w.lost--
	}
	k.state = to
	switch to {
	case inFlight:
		w.inFlight++
		r.inFlight++
		r.bytes += k.Size()
	case lost:
		if w.lost == 0 || k.seq.Before(w.firstLost) {
			w.firstLost = k.seq
		}
		w.lost++
	}
}
