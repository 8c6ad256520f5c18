package dat

import (
	"lapi/core/dat/codes"
	"lapi/transport/layout"
)

// EVDFlags are the streams of an EVD (DAT_EVD_FLAGS).
type EVDFlags uint32

// The streams.
const (
	EVDSoftware   EVDFlags = 0x1
	EVDCR         EVDFlags = 0x10
	EVDDTO        EVDFlags = 0x20
	EVDConnection EVDFlags = 0x40
	EVDBind       EVDFlags = 0x80
	EVDAsync      EVDFlags = 0x100
	EVDExtension  EVDFlags = 0x200

	evdAll = EVDSoftware | EVDCR | EVDDTO | EVDConnection | EVDBind | EVDAsync | EVDExtension
)

// EVDState is what dat_evd_query tells (DAT_EVD_STATE).
type EVDState uint32

// The states.
const (
	EVDEnabled         EVDState = 0x1
	EVDDisabled        EVDState = 0x2
	EVDWaitable        EVDState = 0x4
	EVDUnwaitable      EVDState = 0x8
	EVDConfigSolicited EVDState = 0x20
)

// EVDMax is the longest queue of an EVD.
const EVDMax = 1 << 22

// EVD is a queue of events.
type EVD struct {
	base
	Flags EVDFlags
	CNO   *CNO
	Size  int // events that fit

	queue     queue
	users     int // endpoints, service points and adapters that post to it
	disabled  bool
	groups    int // of useByCore
	solicited int // endpoints whose receives wake only if they are solicited
	counters  counters
}

// mergeable says whether streams may share an EVD: any may, but completions with connection events,
// and asynchronous errors with others.
func mergeable(f EVDFlags) bool {
	return f != 0 && f&^evdAll == 0 && f&(EVDDTO|EVDConnection) != EVDDTO|EVDConnection &&
		(f&EVDAsync == 0 || f == EVDAsync)
}

// NewEVD is dat_evd_create.
func (ia *IA) NewEVD(size int, cno Handle, flags EVDFlags) (*EVD, codes.Return) {
	c, r := findIn[*CNO](ia, cno, codes.InvalidHandleCNO, true)
	switch {
	case size <= 0:
		return nil, codes.Arg(2)
	case r != codes.Success:
		return nil, r
	case !mergeable(flags):
		return nil, codes.Arg(4)
	case size > EVDMax:
		return nil, codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	e := &EVD{Flags: flags, Size: size}
	if !ia.add(KindEVD, e) {
		return nil, codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	if !e.queue.open(&ia.library.rings, e.slot, size) {
		ia.remove(e)
		return nil, codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	e.queue.set(layout.QueueTransfers, flags&^(EVDDTO|EVDExtension|EVDBind) == 0)
	e.queue.set(layout.QueueDTO, flags&EVDDTO != 0)
	e.setCNO(c)
	ia.count(iaEVDCreate)
	return e, codes.Success
}

// useByCore counts groups whose events core alone posts: what comes for them is core's to take.
func (e *EVD) useByCore(n int) {
	e.groups += n
	e.queue.set(layout.QueueTransfers, e.groups == 0 && e.Flags&^(EVDDTO|EVDExtension|EVDBind) == 0)
}

func (e *EVD) setCNO(c *CNO) {
	if e.CNO != nil {
		e.CNO.remove(e)
	}
	e.queue.set(layout.QueueCNO, c != nil)
	if e.CNO = c; c != nil {
		e.recall()
		c.evds = append(c.evds, e)
		if e.queue.length() > 0 && !e.disabled {
			c.trigger(e)
		}
	}
}

// recall takes the connections back whose completions the EVD is to have. Of one that the lane has,
// the peer wakes nobody for a completion unless a thread waits; and a CNO is to hear of each.
func (e *EVD) recall() {
	for _, o := range e.ia.objects {
		if ep, ok := o.(*EP); ok && ep.Request == e {
			ep.way.Recall()
		}
	}
}

// Free is dat_evd_free.
func (e *EVD) Free() codes.Return {
	if e.users > 0 {
		return codes.InvalidState.With(codes.InvalidStateEVDInUse)
	}
	e.release()
	e.ia.count(iaEVDFree)
	return codes.Success
}

func (e *EVD) release() {
	e.setCNO(nil)
	e.queue.close(&e.ia.library.rings)
	e.ia.remove(e)
}

// State is what a query tells.
func (e *EVD) State() EVDState {
	s := EVDEnabled
	if e.disabled {
		s = EVDDisabled
	}
	if e.solicited > 0 {
		s |= EVDConfigSolicited
	}
	if e.queue.has(layout.QueueUnwaitable) {
		return s | EVDUnwaitable
	}
	return s | EVDWaitable
}

// ModifyCNO is dat_evd_modify_cno.
func (e *EVD) ModifyCNO(cno Handle) codes.Return {
	c, r := findIn[*CNO](e.ia, cno, codes.InvalidHandleCNO, true)
	if r == codes.Success {
		e.setCNO(c)
	}
	return r
}

// SetEnabled is dat_evd_enable and dat_evd_disable: a disabled EVD queues events, and triggers
// nothing.
func (e *EVD) SetEnabled(on bool) codes.Return {
	e.disabled = !on
	if on && e.CNO != nil && e.queue.length() > 0 {
		e.CNO.trigger(e)
	}
	return codes.Success
}

// SetWaitable is dat_evd_clear_unwaitable and dat_evd_set_unwaitable, which ends a wait.
func (e *EVD) SetWaitable(on bool) codes.Return {
	e.queue.set(layout.QueueUnwaitable, !on)
	if !on {
		e.poke()
	}
	return codes.Success
}

// poke ends the wait of a thread in C.
func (e *EVD) poke() {
	e.slot.Poked++
	e.ia.library.host.Changed()
}

// Resize is dat_evd_resize.
func (e *EVD) Resize(size int) codes.Return {
	switch {
	case size <= 0:
		return codes.Arg(2)
	case size < e.queue.length():
		return codes.InvalidState.With(codes.NoSubtype)
	case size > EVDMax:
		return codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	e.Size, e.queue.Size = size, uint32(size)
	return codes.Success
}

// post adds an event, which wakes a waiter and triggers the CNO. One that does not fit is dropped,
// and the adapter's asynchronous EVD is told.
func (e *EVD) post(ev *Event) bool {
	if !e.postSilent(ev) {
		return false
	}
	e.wake()
	return true
}

// wake has who waits look at all that has come, and triggers the CNO.
func (e *EVD) wake() {
	if e.freed || e.queue.length() == 0 {
		return
	}
	e.slot.Ready = e.slot.Length
	e.ia.library.host.Changed()
	if e.CNO != nil && !e.disabled {
		e.CNO.trigger(e)
	}
}

// postSilent is post of an event that is no news: it waits for who looks.
func (e *EVD) postSilent(ev *Event) bool {
	if e == nil || e.freed {
		return false
	}
	if e.queue.length() >= e.Size {
		e.overflow()
		return false
	}
	ev.EVD = e.handle
	if !e.queue.push(&e.ia.library.rings, ev) {
		e.overflow()
		return false
	}
	e.countPosted(ev.Number)
	return true
}

func (e *EVD) overflow() {
	if async := e.ia.Async; !e.queue.has(layout.QueueOverflowed) && async != e {
		e.queue.set(layout.QueueOverflowed, true)
		e.ia.count(iaAsyncCQError)
		e.ia.asyncError(EventEVDOverflow, e.handle, 0)
	}
}

// PostSE is dat_evd_post_se.
func (e *EVD) PostSE(number EventNumber, pointer uint64) codes.Return {
	switch {
	case e.Flags&EVDSoftware == 0 || number != EventSoftware:
		return codes.Arg(2)
	case e.queue.length() >= e.Size:
		return codes.QueueFull.With(codes.NoSubtype)
	}
	ev := Event{Number: EventSoftware}
	ev.setPointer(pointer)
	e.post(&ev)
	return codes.Success
}

// Len is how many events are in the queue.
func (e *EVD) Len() int { return e.queue.length() }

// take takes the oldest event.
func (e *EVD) take() Event {
	ev := e.queue.pop()
	e.slot.Ready = e.slot.Length
	return ev
}

// Look has the library make progress, if no event is there.
func (e *EVD) Look() {
	if e.queue.length() > 0 {
		return
	}
	e.counters[evdDequeuePoll]++
	e.ia.library.Progress()
	if e.queue.length() > 0 {
		e.counters[evdDequeuePollFound]++
	}
}

// Dequeue is dat_evd_dequeue. Look has run before.
func (e *EVD) Dequeue() (Event, codes.Return) {
	e.counters[evdDequeue]++
	switch {
	case e.queue.has(layout.QueueWaiting):
		return Event{}, codes.InvalidState.With(codes.InvalidStateEVDWaiter)
	case e.queue.length() > 0:
		e.counters[evdDequeueFound]++
		return e.take(), codes.Success
	}
	e.counters[evdDequeueNotFound]++
	if e.Flags&EVDDTO != 0 { // as programs expect it
		return Event{}, codes.QueueEmpty.Raw()
	}
	return Event{}, codes.QueueEmpty.With(codes.NoSubtype)
}

// WaitBegin begins dat_evd_wait: the caller waits until the slot has threshold events, or is
// poked, and then calls WaitEnd. blocks: it has time to wait.
func (e *EVD) WaitBegin(threshold int, blocks bool) codes.Return {
	e.counters[evdWait]++
	switch {
	case threshold < 1 || threshold > e.Size:
		return codes.Arg(3)
	case e.queue.has(layout.QueueUnwaitable):
		return codes.InvalidState.With(codes.InvalidStateEVDUnwaitable)
	case e.queue.has(layout.QueueWaiting):
		return codes.InvalidState.With(codes.InvalidStateEVDWaiter)
	}
	if e.solicited > 0 { // an adapter keeps them until somebody looks
		e.ia.library.Progress()
	}
	blocks = blocks && e.queue.length() < threshold
	e.queue.set(layout.QueueWaiting, true)
	e.queue.set(layout.QueueBlocked, blocks)
	if blocks {
		e.counters[evdWaitBlocked]++
	}
	e.slot.Ready = e.slot.Length // silent ones are found, too
	return codes.Success
}

// WaitCancel ends it without an event: the thread is cancelled.
func (e *EVD) WaitCancel() { e.queue.set(layout.QueueWaiting, false) }

// WaitEnd ends it: with the oldest event if there are enough; more is how many are left.
func (e *EVD) WaitEnd(threshold int) (ev Event, more int, r codes.Return) {
	if e.solicited > 0 && e.queue.length() < threshold {
		e.ia.library.Progress()
	}
	e.queue.set(layout.QueueWaiting, false)
	switch {
	case e.queue.has(layout.QueueUnwaitable):
		return ev, e.queue.length(), codes.InvalidState.With(codes.InvalidStateEVDUnwaitable)
	case e.queue.length() < threshold:
		return ev, e.queue.length(), codes.TimeoutExpired.With(codes.NoSubtype)
	}
	if e.queue.has(layout.QueueBlocked) {
		e.counters[evdWaitNotify]++
	}
	ev = e.take()
	return ev, e.queue.length(), codes.Success
}
