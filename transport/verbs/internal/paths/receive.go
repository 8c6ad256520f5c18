package paths

import (
	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/wire"
)

// want notes that peers may fill n buffers more.
func (pt *Port) want(n int) {
	pt.buffers.Want(n)
	pt.resize()
}

// resize publishes, to C and giveBack, how many receive buffers there are to be.
func (pt *Port) resize() {
	s := &pt.buffers
	pt.Target, pt.Room, pt.Together = int32(s.Target()), int32(s.Room()), int32(s.Together())
}

// adapt gives the queue more buffers where many packets had come at once, which C has seen, too.
func (pt *Port) adapt() {
	most := int(pt.Most)
	pt.Most = 0
	if pt.buffers.Came(most) {
		pt.resize()
	}
	if pt.Receives < pt.Target && !pt.gone() {
		pt.fillReceives()
	}
}

// shrink has the queue have fewer buffers where few packets come. Buffers above that go to the free
// slots as they are filled.
func (pt *Port) shrink() {
	if pt.buffers.Shrink() {
		pt.resize()
	}
}

// fillReceives gives the shared receive queue the buffers that it must have. Where packets find no
// buffer their senders wait: the adapter reports to theirs that it is not ready.
func (pt *Port) fillReceives() {
	for pt.Receives < pt.Target {
		s, ok := pt.set.slots.get()
		if !ok {
			break
		}
		pt.keepBack(s)
		if int(pt.NumBack) == len(pt.Back) && !pt.postBack() {
			return
		}
	}
	pt.postBack()
}

// giveBack has a slot that was received into go to the shared receive queue, with others.
func (pt *Port) giveBack(s int32) {
	if pt.Receives >= pt.Target || s >= pt.set.cfg.Shared.Used || pt.gone() ||
		pt.set.closed {
		pt.set.slots.put(s)
		return
	}
	if pt.keepBack(s); pt.NumBack >= pt.Together {
		pt.postBack()
	}
}

// keepBack has a slot go to the shared receive queue with the next postBack.
func (pt *Port) keepBack(s int32) {
	pt.set.slots.holder[s] = pt.holder()
	pt.Back[pt.NumBack] = layout.VerbsBuffer{Id: idReceive | uint64(s),
		Addr: uint64(pt.set.slots.addr(s)), Lkey: pt.set.slots.key(s, pt)}
	pt.NumBack++
	pt.Receives++
}

// postBack gives to the shared receive queue the buffers that wait for that. False: it does not
// take all.
func (pt *Port) postBack() bool {
	all := pt.given[:pt.NumBack]
	for i, b := range pt.Back[:pt.NumBack] {
		pt.into[i] = ibv.Segment{Addr: b.Addr, N: wire.PacketMax, Key: b.Lkey}
		all[i] = ibv.Recv{ID: b.Id, Segments: pt.into[i : i+1]}
	}
	n, _ := pt.adapter.PostRecv(0, pt.srq, all) // buffers that cannot be posted make n smaller
	for _, b := range all[n:] {
		pt.set.slots.put(int32(b.ID &^ idMask))
		pt.Receives--
	}
	pt.NumBack = 0
	return n == len(all)
}
