package send

import (
	"runtime"
	"testing"
	"unsafe"

	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// TestSizesOfWhatWaits: what Full counts is what is allocated.
func TestSizesOfWhatWaits(t *testing.T) {
	if n := int(unsafe.Sizeof(entry{})); n > entrySize || n < entrySize-16 {
		t.Errorf("an entry has %d bytes, entrySize is %d", n, entrySize)
	}
	if n := int(unsafe.Sizeof(Message{})); n > messageSize || n < messageSize-32 {
		t.Errorf("a Message has %d bytes, messageSize is %d", n, messageSize)
	}
}

// TestWaitingPutIsSmall: a put of 8 bytes that waits takes at most 200 bytes, its data included;
// when all has gone, next to nothing is left.
func TestWaitingPutIsSmall(t *testing.T) {
	const puts, most = 20000, 200
	link := &fake{part: 1 << 16}
	s, p, _ := newSender(link)
	word := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	in := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := in()
	for range puts {
		s.Put(p, &wire.Put{TgtAddr: 64}, memory.AddrOf(word), 8, transport.RouteAny, After{})
	}
	if each := (int64(in()) - int64(before)) / puts; each > most || each < 100 {
		t.Errorf("%d bytes for each", each)
	}
	s.cfg.QueueMost = puts * most / 2
	if !s.Full(p) || s.Eased(p) {
		t.Error("it is not full")
	}
	clear(word) // they were copied
	link.room = puts
	s.Progress()
	if len(link.got) != puts || s.Waiting() != 0 || !s.Eased(p) || s.queues[p.ID].bytes != 0 {
		t.Fatalf("%d went, %d wait, %d bytes", len(link.got), s.Waiting(), s.queues[p.ID].bytes)
	}
	for i := range link.got {
		if link.got[i].data[0] != 1 || link.got[i].data[7] != 8 {
			t.Fatal("the data is not what it was")
		}
	}
	link.got = nil
	if left := int64(in()) - int64(before); left > poolMost*1000 {
		t.Errorf("%d bytes are kept", left)
	}
}
