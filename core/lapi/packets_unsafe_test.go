package lapi

import (
	"testing"
	"unsafe"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport/ibv/fake"
	"lapi/transport/layout"
)

// usedByC is an adapter that C could use.
type usedByC struct{ *fake.Device }

func (usedByC) Native() {}

// packetsJob is two tasks over adapters that C could use, of which the first has put something to
// the second; link and p are what C finds of that.
func packetsJob(t *testing.T, more ...string) (j *testJob, link *layout.VerbsLink,
	p *layout.VerbsPeer) {
	t.Helper()
	j = newJob(t, 2, with(append(more, "TEST_NATIVE=yes")...))
	k := j.tasks[0]
	if k.lane == nil || k.lane.packets == nil {
		return j, nil, nil
	}
	got := new(int32)
	j.ok(k.Put(1, 0, 0, 0, at(got), 0, 0))
	j.until("a put", func() bool { return *got == 1 })
	link = (*layout.VerbsLink)(pointer(k.lane.Verbs))
	of := unsafe.Slice((*uint64)(pointer(link.PeerOf)), link.Tasks)
	return j, link, (*layout.VerbsPeer)(pointer(of[1]))
}

func pointer(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// TestPacketsOfC: a task without rings has a lane for packets, where C may have one; of what C sends
// a fence asks the link, and its completions are owed.
func TestPacketsOfC(t *testing.T) {
	j, link, p := packetsJob(t)
	if p == nil || p.Usable != 1 {
		t.Fatal("C finds no peer")
	}
	k := j.tasks[0]
	if node := (*layout.NodeLink)(pointer(k.lane.Link)); node.NumActive != 0 || node.OwnHead == 0 ||
		k.lane.TurnsMax != laneTurns {
		t.Errorf("the link without rings: %d are active, a turn each %d", node.NumActive,
			k.lane.TurnsMax)
	}
	j.fence(0)
	if _, owes := k.out.Owes(&k.peers[1]); owes {
		t.Error("something is owed after a fence")
	}
	j.until("rest", func() bool { k.Dispatch(0); return k.lane.GoWork == 0 })
	p.Owner = [3]uint32{layout.PeerUsed: 1, layout.PeerKind: uint32(codes.PutErr) + 1,
		layout.PeerExpected: 2}
	p.Listed, link.News[0], link.NumNews = 1, 1, 1
	k.Dispatch(0)
	if n := k.counters.Outstanding(1); n != 2 || p.Owner != [3]uint32{} {
		t.Errorf("%d completions are owed, %v is noted still", n, p.Owner)
	}
	if _, owes := k.out.Owes(&k.peers[1]); !owes || k.lane.GoBusy == 0 {
		t.Error("a fence would ask nobody")
	}
	noted := func(used, kind, completions uint32) bool {
		p.Owner = [3]uint32{layout.PeerUsed: used, layout.PeerKind: kind + 1,
			layout.PeerExpected: completions}
		p.Listed, link.News[0], link.NumNews, k.lane.Dirty = 1, 1, 1, 1
		_, owes := k.out.Owes(&k.peers[1])
		return owes
	}
	if noted(1, uint32(codes.AmErr), ^uint32(1)) {
		t.Error("operations whose counters have changed are owed")
	}
	if !noted(1|layout.PeerUsedUncounted, uint32(codes.RmwErr), 0) {
		t.Error("a put without a counter, before another operation, is not owed")
	}
	j.fence(0)
}

// TestPacketsHeld: nothing of C's overtakes what waits for room, and turns are core's meanwhile.
func TestPacketsHeld(t *testing.T) {
	j, _, p := packetsJob(t)
	k := j.tasks[0]
	sent, got := 0, new(int32)
	for ; p.Closed == 0; sent++ {
		j.ok(k.Put(1, 0, 0, 0, at(got), 0, 0))
	}
	if k.lane.GoWork == 0 {
		t.Error("core gets no turn for what waits")
	}
	j.until("all puts", func() bool { return int(*got) == sent })
	j.until("room", func() bool { k.Dispatch(0); return p.Closed == 0 })
}

// TestPacketHandled: an active message that C has taken, and whose header handler has said more than
// C can do, ends here.
func TestPacketHandled(t *testing.T) {
	j, link, _ := packetsJob(t)
	k := j.tasks[0].Context
	var got int32
	here, data := make([]byte, 8), []byte("contents")
	link.NumFree--
	slot := link.Free[link.NumFree]
	b := unsafe.Slice((*byte)(pointer(link.Chunks[slot/layout.VerbsChunkOf].Memory+
		uint64(slot%layout.VerbsChunkOf)*layout.VerbsSlot)), layout.VerbsSlot)
	const head, header = 24, 24
	copy(b, []byte{1, byte(wire.MsgAmSmall), header, 0, byte(len(data))})
	wire.Order.PutUint64(b[head:], 1<<40)
	wire.Order.PutUint64(b[head+8:], uint64(at(&got)))
	copy(b[head+header:], data)
	k.LanePacketHandled(1, slot, uint32(head+header+len(data)),
		&HeaderResult{Buffer: at(&here[0])})
	if string(here) != "contents" || got != 1 {
		t.Errorf("%q is there, and %d counts", here, got)
	}
	link.Free[link.NumFree] = slot
	link.NumFree++
}

// TestPacketsAreNotC: with the switch off, or under a trace, C takes no part.
func TestPacketsAreNotC(t *testing.T) {
	for _, env := range [][]string{{"LAPI_FASTLANE=off"},
		{"MP_LAPI_TRACE_LEVEL=2", "LAPI_TRACE_DIR=" + t.TempDir()}} {
		if j, _, p := packetsJob(t, env...); p != nil || j.tasks[0].lane != nil {
			t.Errorf("%s: there is a lane", env[0])
		}
	}
}
