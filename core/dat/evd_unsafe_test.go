package dat

import (
	"unsafe"

	"lapi/core/dat/codes"
	"lapi/cshim/ctest/evd"
)

// Program calls on EVDs and CNOs that C implements alone (cshim/dat/api).

// Look has the library make progress, if no event is there.
func (e *EVD) Look() {
	if e.Len() > 0 {
		return
	}
	e.queue.Counters[evdDequeuePoll]++
	if e.ia.library.Progress(); e.Len() > 0 {
		e.queue.Counters[evdDequeuePollFound]++
	}
}

// Dequeue is dat_evd_dequeue. Look has run before.
func (e *EVD) Dequeue() (ev Event, r codes.Return) {
	r = codes.Return(evd.Take(uint64(e.handle), unsafe.Pointer(&ev)))
	return ev, r
}

// take takes the oldest event of at least one.
func (e *EVD) take() Event {
	ev, r := e.Dequeue()
	if r != codes.Success {
		panic(r)
	}
	return ev
}

// fired is how many EVDs have triggered the CNO and were not taken.
func (c *CNO) fired() (n int) {
	for at := cnoOf(c.slot).First; at != 0; n++ {
		at = queueOf(objectAt[Slot](at)).Next
	}
	return n
}

// WaitBegin begins dat_evd_wait.
func (e *EVD) WaitBegin(threshold int, blocks bool) codes.Return {
	r := codes.Return(evd.WaitBegins(uint64(e.handle), int32(threshold), blocks))
	if r == codes.Success && e.solicited > 0 {
		e.ia.library.Progress()
		e.slot.Ready = e.slot.Length
	}
	return r
}

// WaitEnd ends it.
func (e *EVD) WaitEnd(threshold int) (ev Event, more int, r codes.Return) {
	if e.solicited > 0 && e.Len() < threshold {
		e.ia.library.Progress()
	}
	left, result := evd.WaitEnds(uint64(e.handle), int32(threshold), unsafe.Pointer(&ev))
	return ev, int(left), codes.Return(result)
}

// PostSE is dat_evd_post_se.
func (e *EVD) PostSE(number EventNumber, pointer uint64) codes.Return {
	return codes.Return(evd.PostSoftware(uint64(e.handle), uint32(number), pointer))
}

// Resize is dat_evd_resize.
func (e *EVD) Resize(size int) codes.Return {
	return codes.Return(evd.SetSize(uint64(e.handle), int32(size)))
}

// SetEnabled is dat_evd_enable and dat_evd_disable.
func (e *EVD) SetEnabled(on bool) codes.Return {
	evd.Enable(uint64(e.handle), on)
	return codes.Success
}

// SetWaitable is dat_evd_clear_unwaitable and dat_evd_set_unwaitable.
func (e *EVD) SetWaitable(on bool) codes.Return {
	evd.SetWaitable(uint64(e.handle), on)
	return codes.Success
}

// Take is dat_cno_trigger.
func (c *CNO) Take() (Handle, codes.Return) {
	h, r := evd.TakeEVD(uint64(c.handle))
	return Handle(h), codes.Return(r)
}
