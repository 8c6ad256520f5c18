// Package window is the packets of a peer: their numbers, how far each side may send ahead, and those
// that are not known to be sent. It has no clock and no adapter: it says which packet is to be
// posted next. All of it lies in the struct that C shares, layout.VerbsPeer, which only this package
// and C write.
//
//	window.go  what is kept of a peer; what comes in
//	ring.go    packets that go out
//	flush.go   marks of flushes
//	share.go   what C may do, and has done
package window

import (
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/wire"
)

const (
	// RingSize is how many packets may be sent and not known to be complete.
	RingSize = layout.VerbsRingOf
	// HeldMax is how many refused messages are kept beyond the window.
	HeldMax = 256
	// signalEach is how many packets make one completion.
	signalEach = layout.VerbsSignal
)

// Slots is what packets lie in.
type Slots interface{ Free(slot int32) }

// Window is the state of a peer's packets. Others read the fields.
type Window struct {
	*layout.VerbsPeer
	slots   Slots
	sending *int32 // slots of packets of all peers
	start   uint64 // the number of the first packet that is sent
	peer    uint64 // of the first that comes; 0: not known yet
}

// Init makes w ready, with the memory of an earlier one's or new. The first packet's number is
// start; sending counts the slots of all.
func (w *Window) Init(at *layout.VerbsPeer, task int32, start uint64, slots Slots, sending *int32) {
	*at = layout.VerbsPeer{Life: at.Life, Task: task, Number: start, Credit: start + wire.Window,
		Granted: wire.Window, Window: wire.Window}
	*w = Window{VerbsPeer: at, slots: slots, sending: sending, start: start}
}

// Say puts the numbers of packets into a Hello.
func (w *Window) Say(h *wire.Hello) {
	h.Start, h.First, h.Expected, h.Credit = w.start, w.first(), w.Expected, w.Grantable()
}

// Meet: the peer's first packet has that number. False: it had another, and packets have come.
func (w *Window) Meet(start uint64) bool {
	if w.Came() {
		return start == w.peer
	}
	w.Expected, w.peer = start, start
	w.Begin()
	return true
}

// Came says whether a packet of the peer's has come.
func (w *Window) Came() bool { return w.Expected != w.peer }

// Misses says whether that number is of a packet that has not come, and that may have been sent.
func (w *Window) Misses(number uint64) bool {
	return w.Expected != 0 && number-w.Expected < wire.Window
}

// Leave gives w's memory to another: w keeps a copy.
func (w *Window) Leave() *layout.VerbsPeer {
	at, c := w.VerbsPeer, *w.VerbsPeer
	w.VerbsPeer = &c
	return at
}

// Grantable is the first number that the peer may not send.
func (w *Window) Grantable() uint64 { return w.Expected + uint64(w.Window) }

// Owes says whether the peer does not know yet of half a window that it may send.
func (w *Window) Owes() bool { return w.Grantable() >= w.Granted+wire.Window/2 }

// Narrow has the peer send less far ahead while many of its messages are held back.
func (w *Window) Narrow(held int) {
	w.VerbsPeer.Window = uint32(wire.Window - min(max(held-HeldMax, 0), wire.Window))
}

// Grant: the peer lets this task send up to credit.
func (w *Window) Grant(credit uint64) {
	w.Credit = max(w.Credit, credit)
}

// Begin: another queue pair is open. Which credit has come of those that went over queue pairs that
// failed, and by Hellos, is not known. With this both have begun.
func (w *Window) Begin() { w.Granted = w.peer + wire.Window }

// Take takes in a packet of that number. False: it is not the next.
func (w *Window) Take(number uint64) bool {
	if number != w.Expected {
		return false
	}
	w.Expected++
	return true
}

// Run says that a handler of a message runs, or has returned: C answers no flush meanwhile.
func (w *Window) Run(runs bool) {
	if runs {
		w.Handling++
	} else {
		w.Handling--
	}
}
