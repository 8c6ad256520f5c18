package window

import (
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/wire"
)

// The ring has the packets that were made and are not known to be complete, in the order of their
// numbers. Those before Posted are with the adapter.

func (w *Window) at(i int32) *layout.VerbsSent { return &w.Ring.Packets[(w.Ring.Head+i)%RingSize] }

// Room says whether there is room for a packet, with a number or without.
func (w *Window) Room(numbered bool) bool {
	return (!numbered || w.Number < w.Credit) && w.Ring.Count < RingSize
}

// Push adds the packet that lies in n bytes of a slot, whose head is h.
func (w *Window) Push(slot int32, n int, h *wire.Head) {
	made := layout.VerbsSent{Slot: uint32(slot), N: uint32(n), Number: w.Number}
	*w.sending++
	if h.Kind != wire.KindCredit {
		made.Numbered = 1
		w.Number++
	}
	w.push(made)
	if h.Kind == wire.KindMessage || h.Kind == wire.KindPut {
		w.Laden = w.Number
	}
	if h.Asks {
		w.Asked = w.Number
	}
}

func (w *Window) push(s layout.VerbsSent) {
	w.Ring.Count++
	*w.at(w.Ring.Count - 1) = s
}

// Next is the packet to be posted next: n bytes of a slot, the upTo-th. False: there is none.
func (w *Window) Next() (slot int32, n uint32, upTo uint64, ok bool) {
	r := &w.Ring
	if r.Posted == r.Count {
		return 0, 0, 0, false
	}
	s := w.at(r.Posted)
	return int32(s.Slot), s.N, r.Done + uint64(r.Posted) + 1, true
}

// Signals says whether the next packet asks for a completion, as it must where few slots are left.
func (w *Window) Signals(must bool) bool {
	w.Ring.Since++
	return must || w.Ring.Since >= signalEach
}

// Posted: the adapter has the next packet, with that credit.
func (w *Window) Posted(signaled bool, credit uint64) {
	if signaled {
		w.Ring.Since = 0
	}
	w.Ring.Posted++
	w.Granted = max(w.Granted, credit)
}

// Complete: the adapter has brought all packets up to that one to the peer's memory. False: that was
// known, or cannot be.
func (w *Window) Complete(upTo uint64) bool {
	r := &w.Ring
	if upTo <= r.Done || upTo > r.Done+uint64(r.Posted) {
		return false
	}
	for ; r.Done < upTo; r.Done++ {
		w.release()
	}
	return true
}

// release forgets the oldest packet.
func (w *Window) release() {
	r := &w.Ring
	w.free(w.at(0))
	r.Head = (r.Head + 1) % RingSize
	r.Count--
	r.Posted = max(r.Posted-1, 0)
}

func (w *Window) free(s *layout.VerbsSent) {
	w.slots.Free(int32(s.Slot))
	*w.sending--
}

// Clear forgets all packets.
func (w *Window) Clear() {
	for w.Ring.Count > 0 {
		w.release()
	}
}

// first is the number of the oldest packet that there is.
func (w *Window) first() uint64 {
	for i := range w.Ring.Count {
		if s := w.at(i); s.Numbered != 0 {
			return s.Number
		}
	}
	return w.Number
}

// Restart makes the ring ready for another queue pair: packets that the peer has are forgotten, the
// others are to be posted again. Those that it expects and there are not any more its adapter has
// acknowledged. again is how many of them were posted. False: the peer wants a packet that was
// never made.
func (w *Window) Restart(expected uint64) (again int, ok bool) {
	if expected > w.Number {
		return 0, false
	}
	var left []layout.VerbsSent
	for i := range w.Ring.Count {
		s := *w.at(i)
		if s.Numbered != 0 && s.Number >= expected {
			left = append(left, s)
			continue
		}
		w.free(&s)
	}
	again = min(int(w.Ring.Posted), len(left))
	w.Ring = layout.VerbsRing{}
	for _, s := range left {
		w.push(s)
	}
	return again, true
}

// All says whether the adapter has all packets.
func (w *Window) All() bool { return w.Ring.Posted == w.Ring.Count }

// Under lists the slots that packets lie in.
func (w *Window) Under(used []bool) {
	for i := range w.Ring.Count {
		used[w.at(i).Slot] = true
	}
}

// Of is the upTo-th packet: n bytes of a slot. False: it is not with the adapter.
func (w *Window) Of(upTo uint64) (slot int32, n uint32, ok bool) {
	r := &w.Ring
	if upTo <= r.Done || upTo > r.Done+uint64(r.Posted) {
		return 0, 0, false
	}
	s := w.at(int32(upTo - r.Done - 1))
	return int32(s.Slot), s.N, true
}
