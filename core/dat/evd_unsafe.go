package dat

import (
	"unsafe"

	"lapi/core/dat/codes"
	"lapi/cshim/dat/evd"
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

// EVDState is the state that dat_evd_query returns (DAT_EVD_STATE).
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

// EVD is a queue of events, which C has (cshim/dat/evd): here is only how it was made, and its
// users.
type EVD struct {
	base
	Flags EVDFlags
	CNO   *CNO

	queue     *layout.DatQueue // for reading
	users     int              // endpoints, service points and adapters that post to it
	groups    int              // of useByCore
	solicited int              // endpoints whose receives wake only if they are solicited
	counters  counters         // without those that C has counted since
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
	e := &EVD{Flags: flags}
	if !ia.add(KindEVD, e) {
		return nil, codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	constant := uint32(0)
	if flags&EVDDTO != 0 {
		constant |= layout.QueueDTO
	}
	if flags&EVDSoftware != 0 {
		constant |= layout.QueueSoftware
	}
	if !evd.Open(uint64(e.handle), size, constant, uint64(handleOf(ia.Async))) {
		ia.remove(e)
		return nil, codes.InsufficientResources.With(codes.ResourceTEVD)
	}
	e.queue = queueOf(e.slot)
	e.useByCore(0)
	e.setCNO(c)
	ia.count(iaEVDCreate)
	return e, codes.Success
}

// useByCore counts groups whose events core alone posts: what comes for them is core's to take.
func (e *EVD) useByCore(n int) {
	e.groups += n
	evd.Set(uint64(e.handle), layout.QueueTransfers,
		e.groups == 0 && e.Flags&^(EVDDTO|EVDExtension|EVDBind) == 0)
}

// useSolicited counts endpoints whose receives wake only if they are solicited.
func (e *EVD) useSolicited(n int) {
	e.solicited += n
	evd.Set(uint64(e.handle), layout.QueueSolicited, e.solicited > 0)
}

func (e *EVD) setCNO(c *CNO) {
	e.CNO = c
	evd.SetCNO(uint64(e.handle), uint64(handleOf(c)))
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

// discard implements Object.
func (e *EVD) discard() { e.release() }

func (e *EVD) release() {
	e.collectCounters()
	for _, d := range e.ia.library.devices {
		d.ForgetEVD(uint64(e.handle))
	}
	evd.Close(uint64(e.handle))
	e.ia.remove(e)
	e.queue = new(layout.DatQueue)
}

// Size is how many events fit.
func (e *EVD) Size() int { return int(e.queue.Size) }

// State is the result of a query.
func (e *EVD) State() EVDState {
	s := EVDEnabled
	if e.queue.Flags&layout.QueueDisabled != 0 {
		s = EVDDisabled
	}
	if e.solicited > 0 {
		s |= EVDConfigSolicited
	}
	if e.queue.Flags&layout.QueueUnwaitable != 0 {
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

// post adds an event, which wakes a waiter and triggers the CNO. Without room it is dropped, which
// the adapter's asynchronous EVD reports.
func (e *EVD) post(ev *Event) bool { return e.postEvent(ev, false) }

// postSilent is post of an event that is no news: it waits for the next look, or wake.
func (e *EVD) postSilent(ev *Event) bool { return e.postEvent(ev, true) }

func (e *EVD) postEvent(ev *Event, silent bool) bool {
	return e != nil && !e.freed && evd.Post(uint64(e.handle), unsafe.Pointer(ev), silent)
}

// wake has waiting threads look at all that has come, and triggers the CNO.
func (e *EVD) wake() {
	if !e.freed {
		evd.Wake(uint64(e.handle))
	}
}

// Len is how many events are in the queue.
func (e *EVD) Len() int { return int(e.slot.Length) }

// collectCounters takes in what C has counted.
func (e *EVD) collectCounters() {
	collect(&e.counters, e.queue.Counters[:])
	e.ia.counters[iaAsyncError] += e.queue.Overflows
	e.ia.counters[iaAsyncCQError] += e.queue.Overflows
	e.queue.Overflows = 0
}

// counted implements counted.
func (e *EVD) counted() (*counters, int) {
	e.collectCounters()
	return &e.counters, numEVDCounters
}

// Mergeable says whether streams may share an EVD.
func Mergeable(f EVDFlags) bool { return mergeable(f) }
